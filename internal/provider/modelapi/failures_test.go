// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelapi

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/redact"
)

// R5.6: what is cut off a key would hide that the rest is one.
func TestWordsAreMaskedBeforeTheyAreCut(t *testing.T) {
	t.Parallel()
	const shape, own = "sk-proj-Recognisable0123456789abcdefghijklmnop", "own-key-Recognisable0123456789abcdefghijklmnop"
	api := &API{sent: redact.NewSent(own)}
	for before := maxQuoted - len(own); before < maxQuoted; before++ {
		key := []string{shape, own}[before%2]
		got := api.Quoted(strings.Repeat("é", before/2) + " " + key)
		if strings.Contains(got, key[:9]) || !strings.Contains(got, failure.Masked[:3]) && before < maxQuoted-10 {
			t.Errorf("%d bytes before it: %q", before, got)
		}
		if len(got) > maxQuoted+len("…") || !utf8.ValidString(got) {
			t.Errorf("%d bytes: %q", len(got), got)
		}
	}
	if got := api.Quoted(" one\n\t two \xff"); got != "one two" {
		t.Errorf("%q", got)
	}
	if got := api.Quoted(" \n"); got != "it did not say why." {
		t.Errorf("%q", got)
	}
}

// R3.8: what an API says of a key that it refuses stays readable.
func TestWordsAboutAKeyAreNotTakenForIt(t *testing.T) {
	t.Parallel()
	api := &API{Model: "a-model", Endpoint: &url.URL{Host: "api.example.com"}}
	for _, test := range []struct{ key, want string }{
		{"recognisable", "api.example.com refused the API key (invalid x-api-key). Put a key"},
		{"", "api.example.com wants an API key (invalid x-api-key). Name a Secret"},
	} {
		api.Key = test.key
		failed := api.Refused(Refusal{Status: 401, Spoken: true, Words: "invalid x-api-key."})
		if !strings.HasPrefix(failed.Message, test.want) {
			t.Errorf("%q, want %q", failed.Message, test.want)
		}
	}
}

// R1.10: only the beginning of an answer without end is looked through. Not parallel: it counts allocations.
func TestWordsWithoutEndAreNotLookedThrough(t *testing.T) {
	api := &API{sent: redact.NewSent("own-key-Recognisable0123456789")}
	words := strings.Repeat("api_key: x1234; ", maxLookedAt) + "own-key-Recognisable0123456789"
	if got := api.Quoted(words); len(got) > maxQuoted+len("…") || !strings.HasPrefix(got, "api_key: ***MASKED***; api_key") {
		t.Errorf("%q", got)
	}
	// The race detector allocates several times as much, of the one as of the other.
	enough := words[:2*maxLookedAt]
	most := 2 * testing.AllocsPerRun(1, func() { api.Quoted(enough) })
	if work := testing.AllocsPerRun(1, func() { api.Quoted(words) }); work > most {
		t.Errorf("it takes %.0f allocations, more than %.0f", work, most)
	}
}
