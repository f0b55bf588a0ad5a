// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package preview_test

import (
	"strings"
	"testing"

	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/geminitest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// R5.6, R6.5: a source is served by what its own namespace has, whatever has the same name elsewhere.
func TestANameMeansAnotherThingInAnotherNamespace(t *testing.T) {
	t.Parallel()
	const otherKey, otherToken = "AIzaSy-PREVIEW-other-0123456789abcde", "PREVIEW-other-mastodon-0123456789"
	namesakes := geminitest.New(otherKey)
	t.Cleanup(namesakes.Close)
	ai := newGemini(t)
	account := mastodontest.New(mastodontest.Options{Token: accessToken, TokenMayRead: true, MaxCharacters: 200})
	t.Cleanup(account.Close)
	otherAccount := mastodontest.New(mastodontest.Options{Token: otherToken, TokenMayRead: true, MaxCharacters: 300})
	t.Cleanup(otherAccount.Close)
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	bot := source(web, "providers: [{name: gemini}]", "destinations: [{name: bot}]")
	in := func(namespace, manifests string) string {
		manifests = strings.ReplaceAll(manifests, "metadata: {", "metadata: {namespace: "+namespace+", ")
		return strings.ReplaceAll(manifests, "metadata:\n", "metadata:\n  namespace: "+namespace+"\n")
	}
	others := strings.NewReplacer(apiKey, otherKey, accessToken, otherToken).Replace(gemini(namesakes) + mastodon(otherAccount))
	said, err := show(t, newPreviewer(t, in("ns1", gemini(ai)+mastodon(account)+bot)+in("ns2", others+bot)))
	if err != nil {
		t.Fatal(err)
	}
	mustContain(t, said, " of 200 characters", " of 300 characters")
	if mine, others := len(ai.Calls()), len(namesakes.Calls()); mine != 1 || others != 1 {
		t.Errorf("the providers of the two namespaces were called %d and %d times, want once each", mine, others)
	}

	// Only the one of ns2 is without its key, so only it is not called.
	withoutKey, _, _ := strings.Cut(others, "apiVersion: v1\n")
	said, err = show(t, newPreviewer(t, in("ns1", gemini(ai)+bot)+in("ns2", withoutKey+"---\n"+bot)))
	if err != nil {
		t.Fatal(err)
	}
	mustContain(t, strings.Join(strings.Fields(said), " "), "by gemini (", `(Waiting): gemini: Secret "keys" does not exist`)
}
