// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets_test

import (
	"testing"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/secrets"
)

// R1.7, R4.6: what is read with credentials is not for everybody, unless a person says so; nor do the
// credentials go where everybody on the way can read them.
func TestWhatIsReadWithCredentialsIsPrivate(t *testing.T) {
	t.Parallel()
	secret := &v1alpha1.SecretReference{Name: "reader"}
	for name, test := range map[string]struct {
		spec             v1alpha1.FeedSourceSpec
		publishes, clear bool
	}{
		"a public feed":                 {spec: v1alpha1.FeedSourceSpec{URL: "https://x.example/feed?format=rss&page=2"}, publishes: true},
		"one by plain http":             {spec: v1alpha1.FeedSourceSpec{URL: "http://x.example/feed"}, publishes: true},
		"a public feed that is kept":    {spec: v1alpha1.FeedSourceSpec{URL: "https://x.example/feed", Publish: new(false)}},
		"a Secret":                      {spec: v1alpha1.FeedSourceSpec{URL: "https://x.example/feed", SecretRef: secret}},
		"a Secret, and it is published": {spec: v1alpha1.FeedSourceSpec{URL: "https://x.example/feed", SecretRef: secret, Publish: new(true)}, publishes: true},
		"a Secret by plain http":        {spec: v1alpha1.FeedSourceSpec{URL: "http://x.example/feed", SecretRef: secret}, clear: true},
		"in capitals":                   {spec: v1alpha1.FeedSourceSpec{URL: "HTTP://x.example/feed", SecretRef: secret}, clear: true},
		"a Secret, and http is allowed": {spec: v1alpha1.FeedSourceSpec{URL: "http://x.example/feed", SecretRef: secret, AllowInsecure: true}},
		"a user in the URL":             {spec: v1alpha1.FeedSourceSpec{URL: "http://u:p@x.example/feed"}, clear: true},
		"a user in the URL by https":    {spec: v1alpha1.FeedSourceSpec{URL: "https://u:p@x.example/feed"}},
		"a token in the URL":            {spec: v1alpha1.FeedSourceSpec{URL: "https://x.example/feed?feed_token=abc"}},
		"a token by plain http":         {spec: v1alpha1.FeedSourceSpec{URL: "http://x.example/feed?token=abc123def456"}, clear: true},
		"a token, and http is allowed":  {spec: v1alpha1.FeedSourceSpec{URL: "http://x.example/feed?token=abc123def456", AllowInsecure: true}},
		"a token, and it is published":  {spec: v1alpha1.FeedSourceSpec{URL: "http://x.example/feed?token=abc123def456", Publish: new(true)}, publishes: true, clear: true},
		"a token that is badly escaped": {spec: v1alpha1.FeedSourceSpec{URL: "http://x.example/feed?token=abc%zz123"}, clear: true},
		"a token after some space":      {spec: v1alpha1.FeedSourceSpec{URL: " http://x.example/feed?token=abc123def456"}, clear: true},
		"a key in the URL":              {spec: v1alpha1.FeedSourceSpec{URL: "https://x.example/feed?API-KEY=abc"}},
		"a password that is a word":     {spec: v1alpha1.FeedSourceSpec{URL: "http://x.example/feed?password=sesame"}, clear: true},
		"a word called key":             {spec: v1alpha1.FeedSourceSpec{URL: "http://x.example/feed?key=politics"}, publishes: true},
		"a word like a key":             {spec: v1alpha1.FeedSourceSpec{URL: "https://x.example/feed?keyword=abc&monkey=1"}, publishes: true},
		"a URL that cannot be read":     {spec: v1alpha1.FeedSourceSpec{URL: "http://x.example/%zz"}}, // nothing is sent to it
	} {
		source := &v1alpha1.FeedSource{Spec: test.spec}
		if got := secrets.Published(source); got != test.publishes {
			t.Errorf("%s: published %t", name, got)
		}
		if got := secrets.SentInClear(source); got != test.clear {
			t.Errorf("%s: sent in clear %t", name, got)
		}
	}
}
