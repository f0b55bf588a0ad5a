// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package secrets reads what feeds, providers and destinations are asked with out of Secrets, and
// has it masked in the log from then on.
//
// It knows which keys a Secret may have, and for which of them the value is never shown; and what follows where a feed is
// asked for with credentials, be they in its URL: who may read what comes of it, and which way they may go. It must never let
// a value into an error.
package secrets

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/outbound"
	"github.com/feed-operator/feed-operator/internal/redact"
)

// The keys of Secrets.
const (
	// KeyAPIKey is that of an AI provider.
	KeyAPIKey = "apiKey"
	// KeyAccess is the token of a Mastodon account.
	KeyAccess = "accessToken"
	// KeyToken is a bearer token, of a feed or a webhook.
	KeyToken = "token"
	// KeySigning is what requests to a webhook are signed with.
	KeySigning  = "signingKey"
	keyUsername = "username"
	keyPassword = "password"
)

// credentialKeys are those of which the values are never shown. A user name is none, so that it may be
// any word; nor is what else a Secret may hold, such as the address of a server.
var credentialKeys = []string{keyPassword, KeyToken, KeyAPIKey, KeyAccess, KeySigning}

// Unusable is what a person has to change about a Secret. It never holds a value of it.
type Unusable struct {
	name, problem string
	// Forbidden is set if the operator may not read it: nothing says that it has changed.
	Forbidden bool
}

func unusable(name, problem string) *Unusable { return &Unusable{name: name, problem: problem} }

// Error names the Secret and its problem.
func (e *Unusable) Error() string { return fmt.Sprintf("Secret %q %s", e.name, e.problem) }

// secretOf reads a Secret, always from the API server. Tokens of service accounts are refused:
// who may write a FeedSource must not be able to send one to a URL of their own.
func secretOf(ctx context.Context, live Reader, namespace string, ref v1alpha1.SecretReference) (*corev1.Secret, error) {
	var secret corev1.Secret
	err := live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, &secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, unusable(ref.Name, "does not exist in this namespace")
	case apierrors.IsForbidden(err):
		const mayNot = "may not be read by the operator: allow its service account to get Secrets in this namespace"
		return nil, &Unusable{name: ref.Name, problem: mayNot, Forbidden: true}
	case err != nil:
		return nil, err
	case secret.Type == corev1.SecretTypeServiceAccountToken:
		return nil, unusable(ref.Name, "is the token of a service account, which is never sent anywhere: use a Secret of your own")
	}
	for key, value := range secret.Data {
		if slices.Contains(credentialKeys, key) {
			redact.Remember(namespace, string(value))
		}
	}
	return &secret, nil
}

// Reader gets objects, such as Secrets, by their name.
type Reader interface {
	Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error
}

// longestSent bounds what a feed is sent of a Secret, in bytes. Servers take no more, and what it takes to find a value in
// an answer grows with it.
const longestSent = 8 << 10

// Feed is what a source's feed is asked with.
type Feed struct {
	// Header holds the extra headers, and basic or bearer credentials.
	Header http.Header
	// Sent is what of it, and of the URL, is not to be shown where the server repeats it.
	Sent *redact.Sent
}

// SentTo returns what the server was sent that a document has come from in the end. Where a redirect has led
// elsewhere, that is what stands in the address there.
func (f Feed) SentTo(response *outbound.Response) *redact.Sent {
	if response.Home {
		return f.Sent
	}
	return f.Sent.In(response.URL)
}

// OfFeed returns what a source's feed is asked with.
func OfFeed(ctx context.Context, live Reader, source *v1alpha1.FeedSource) (Feed, error) {
	sent := redact.CredentialsIn(source.Spec.URL)
	var header http.Header
	if source.Spec.SecretRef != nil {
		secret, err := secretOf(ctx, live, source.Namespace, *source.Spec.SecretRef)
		if err != nil {
			return Feed{}, err
		}
		var values []string
		if header, values, err = headerOf(source, secret); err != nil {
			return Feed{}, err
		}
		sent = append(sent, values...)
	}
	for _, value := range sent {
		redact.Remember(source.Namespace, value)
	}
	return Feed{header, redact.NewSent(sent...)}, nil
}

// headerOf returns the header with which a feed is asked for, and what of it is a secret.
func headerOf(source *v1alpha1.FeedSource, secret *corev1.Secret) (header http.Header, sent []string, err error) {
	value := func(key string) string { return strings.TrimRight(string(secret.Data[key]), "\r\n") }
	header = http.Header{}
	for _, extra := range source.Spec.Headers {
		if _, there := secret.Data[extra.SecretKey]; !there {
			return nil, nil, unusable(secret.Name, fmt.Sprintf("has no key %q, which the header %s needs", extra.SecretKey, extra.Name))
		}
		sent = append(sent, value(extra.SecretKey))
		if !httpguts.ValidHeaderFieldValue(value(extra.SecretKey)) {
			return nil, nil, unusable(secret.Name, fmt.Sprintf("has a line break, or another character that HTTP does not allow, in the key %q, "+
				"which the header %s needs", extra.SecretKey, extra.Name))
		}
		header.Set(extra.Name, value(extra.SecretKey))
	}
	switch {
	case !httpguts.ValidHeaderFieldValue(value(KeyToken)):
		return nil, nil, unusable(secret.Name, "has a line break, or another character that HTTP does not allow, in the key token")
	case value(KeyToken) != "":
		sent = append(sent, value(KeyToken))
		header.Set("Authorization", "Bearer "+value(KeyToken))
	case strings.Contains(value(keyUsername), ":"):
		return nil, nil, unusable(secret.Name, "has a colon in the key username, where HTTP allows none")
	case value(keyUsername) != "" || value(keyPassword) != "":
		sent = append(sent, cmp.Or(value(keyPassword), value(keyUsername))) // some services take a key for the name
		header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(value(keyUsername)+":"+value(keyPassword))))
	case len(source.Spec.Headers) == 0:
		return nil, nil, unusable(secret.Name, "has none of the keys token, or username and password")
	}
	length := 0
	for _, value := range sent {
		length += len(value)
	}
	if length > longestSent {
		return nil, nil, unusable(secret.Name, fmt.Sprintf("holds %d bytes that the feed is to be sent: servers take %d at most", length, longestSent))
	}
	return header, sent, nil
}
