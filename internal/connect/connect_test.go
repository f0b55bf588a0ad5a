// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package connect_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/connect"
	"github.com/feed-operator/feed-operator/internal/outbound"
	"github.com/feed-operator/feed-operator/internal/secrets"
)

// R4.7, R5.6: a webhook that would be called by plain http is refused before an item is sent there, unless the operator was started to allow
// it; and nothing of a secret URL, a token or a key is said where they cannot be used.
func TestAWebhookThatCannotBeCalledIsRefused(t *testing.T) {
	t.Parallel()
	const path = "/services/T000/B000/secret0123456789"
	for name, test := range map[string]struct {
		values    secrets.Values
		allowHTTP bool
		says      string
	}{
		"https":                     {values: secrets.Values{"url": "https://chat.example" + path}},
		"plain http":                {values: secrets.Values{"url": "http://chat.example" + path}, says: "--allow-http"},
		"plain http that is wanted": {values: secrets.Values{"url": "http://chat.example" + path}, allowHTTP: true},
		"another scheme":            {values: secrets.Values{"url": "ftp://chat.example" + path}, says: "it must look like https://"},
		"no URL at all":             {values: secrets.Values{"url": "chat.example" + path}, says: "it must look like https://"},
		"credentials in the URL":    {values: secrets.Values{"url": "https://user:secret0123456789@chat.example/"}, says: "it must look like https://"},
		"a token with a line break": {values: secrets.Values{"url": "https://chat.example" + path, "token": "secret0123456789\nX"}, says: "line break"},
		"a signing key that is short": {
			values: secrets.Values{"url": "https://chat.example" + path, "signingKey": "whsec_c2VjcmV0MDEyMzQ1Njc4OQ=="}, says: "24 bytes",
		},
		"a signing key that is none": {values: secrets.Values{"url": "https://chat.example" + path, "signingKey": "secret0123456789"}, says: "whsec_"},
	} {
		described := &v1alpha1.FeedDestination{ObjectMeta: metav1.ObjectMeta{Namespace: "news", Name: "chat"}}
		described.Spec.Webhook = &v1alpha1.WebhookDestination{URLFrom: &v1alpha1.WebhookURLFrom{}, SecretRef: &v1alpha1.SecretReference{Name: "chat"}}
		_, err := connect.Destinations(outbound.New(outbound.Config{AllowHTTP: test.allowHTTP}))(described, test.values)
		switch {
		case test.says == "" && err != nil:
			t.Errorf("%s: refused: %v", name, err)
		case test.says != "" && err == nil:
			t.Errorf("%s: taken", name)
		case err != nil && (!strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "secret0") || strings.Contains(err.Error(), "T000")):
			t.Errorf("%s: says %q", name, err)
		}
	}
}
