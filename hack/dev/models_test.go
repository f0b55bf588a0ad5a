// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAStandInRefusesAllCallsWhileItAsksToBeLeftAlone(t *testing.T) {
	t.Parallel()
	now := noon
	r := newRhythm([]step{takes, throttles(8 * time.Second), overloaded}, func() time.Time { return now })
	for _, call := range []struct {
		after time.Duration
		want  step
	}{
		{0, takes},
		{0, throttles(8 * time.Second)},
		{time.Second, throttles(7 * time.Second)},
		{2 * time.Second, throttles(5 * time.Second)},
		{5 * time.Second, overloaded},
		{0, takes},
	} {
		now = now.Add(call.after)
		if got := r.next(); got != call.want {
			t.Errorf("at %s: got %v, want %v", now.Format(time.TimeOnly), got, call.want)
		}
	}
}

// The stand-ins answer in the wire formats, in their rhythm; a wrong key is refused out of it.
func TestTheStandInsThrottle(t *testing.T) {
	t.Parallel()
	models := startModels(access{}, func() time.Time { return noon })
	if len(models) != 2 {
		t.Fatalf("there are %d", len(models))
	}
	for _, model := range models {
		t.Cleanup(model.close)
		path, body := "/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}]}`
		header := http.Header{"X-Api-Key": {model.key}, "Anthropic-Version": {"2023-06-01"}}
		want, refusal := []int{200, 429, 429}, "rate_limit_error"
		if model.name == gptSample {
			path, header = "/chat/completions", http.Header{"Authorization": {"Bearer " + model.key}}
			want, refusal = []int{200, 503, 503}, "server_is_overloaded"
		}
		for i, status := range want {
			got, wait, text := ask(t, model.endpoint+path, body, header)
			if got != status || strings.Contains(text, refusal) != (status != http.StatusOK) {
				t.Errorf("%s answers call %d with %d: %s", model.name, i, got, text)
			}
			if status == http.StatusTooManyRequests && wait != "8" {
				t.Errorf("%s asks to be left alone for %q", model.name, wait)
			}
		}
		other := http.Header{"X-Api-Key": {"other"}, "Authorization": {"Bearer other"}}
		if got, _, _ := ask(t, model.endpoint+path, body, other); got != http.StatusUnauthorized {
			t.Errorf("%s takes any key: %d", model.name, got)
		}
	}
}

func ask(t *testing.T, address, body string, header http.Header) (status int, retryAfter, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // read only
	read, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header.Get("Retry-After"), string(read)
}

func TestThereIsNoStandInWhereThereIsAKey(t *testing.T) {
	t.Parallel()
	if models := startModels(access{openAI: &serviceAccess{key: "k"}, anthropic: &serviceAccess{key: "k"}}, time.Now); len(models) != 0 {
		t.Errorf("%d were started", len(models))
	}
}

func TestItIsSaidWhoSummarizes(t *testing.T) {
	t.Parallel()
	const stop = ", so that you can watch others take over."
	const chat = "\nMessages to a chat, and a webhook in batches, go to a stand-in for those: " + chatURL + "/"
	key := &serviceAccess{key: "key-1"}
	for name, test := range map[string]struct {
		access  access
		sources []string
		want    string
	}{
		"without a key": {
			want: "The AIProviders claude and gpt are stand-ins on this machine: they copy the beginning of an article, and refuse many calls" + stop +
				"\n(The real ones write where you set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY in the environment.)" +
				"\nPosts go to a stand-in for Mastodon on this machine: " + standInURL + "/" + chat,
		},
		"with one": {
			access: access{anthropic: key},
			want: "The AIProvider gpt is a stand-in on this machine: it copies the beginning of an article, and refuses many calls" + stop +
				"\nThe AIProvider claude is the real service, with your key." +
				"\n(The real ones write where you set OPENAI_API_KEY, GEMINI_API_KEY in the environment.)" +
				"\nPosts go to a stand-in for Mastodon on this machine: " + standInURL + "/" + chat,
		},
		"with all": {
			access: access{anthropic: key, openAI: key, gemini: key, mastodon: &mastodonAccess{}},
			want: "The AIProviders claude and gpt are the real services, with your keys." +
				"\nGemini screens the press releases and summarizes them, with your key." + chat,
		},
		"with sources of one's own": {
			access: access{anthropic: key, openAI: key}, sources: []string{"mine.yaml"},
			want: "The AIProviders claude and gpt are the real services, with your keys." +
				"\nThe FeedDestination mastodon is a stand-in on this machine: " + standInURL + "/" +
				"\nThe FeedDestinations chat and ops are webhooks of a stand-in on this machine: " + chatURL + "/",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, test.access, test.sources...)
			if w.standIn != nil {
				w.standIn.URL = standInURL
			}
			w.chat.URL = chatURL
			if diff := cmp.Diff(test.want, w.words()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
