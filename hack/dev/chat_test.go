// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/destination/webhook"
	"github.com/feed-operator/feed-operator/internal/webhooktest"
)

const chatURL = "http://127.0.0.1:8090"

// composed is the body of an item in a format.
func composed(t *testing.T, format v1alpha1.WebhookFormat) string {
	t.Helper()
	writer, err := webhook.NewWriter(format, "")
	if err != nil {
		t.Fatal(err)
	}
	post, err := writer.Compose(destination.Material{Title: "Q&A <in short>", Summary: "It says this.", URL: "https://example.org/1?a=1&b=2", Key: "k"}, destination.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return post.Text
}

func TestMessagesAreReadInATerminal(t *testing.T) {
	t.Parallel()
	const item = "Q&A <in short>\nIt says this.\nhttps://example.org/1?a=1&b=2"
	long := strings.Repeat("word ", 30)
	for name, test := range map[string]struct{ path, body, want string }{
		"of Slack":         {"/chat", composed(t, v1alpha1.WebhookSlack), strings.Replace(item, "<in", "<\u2060in", 1)},
		"of an item":       {"/ops", composed(t, v1alpha1.WebhookJSON), item},
		"of a batch":       {"/ops", `{"batchIdempotencyKey":"k","records":[{"title":"One"},{"title":"Two\n2"},{"url":"https://example.org/3"}]}`, "Batch of 3:\n· One\n· Two 2\n· https://example.org/3"},
		"of another chat":  {"/mine", `{"text":"<b> &lt;"}`, "<b> &lt;"},
		"of nothing known": {"/mine", `{"a":1}`, `{"a":1}`},
		"that is no JSON":  {"/mine", `hello`, `hello`},
		"with escapes":     {"/mine", `{"text":"a\u001b[31mb"}`, "a[31mb"},
		"with other types": {"/mine", `{"title":1}`, `{"title":1}`},
		"that is wrapped":  {"/mine", `{"text":"` + long + `"}`, strings.TrimSpace(strings.Repeat("word ", 17)) + "\n" + strings.TrimSpace(strings.Repeat("word ", 13))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := "          ┌ Message 2 · " + strings.Trim(test.path, "/") + " · " + chatURL + "/\n"
			for line := range strings.SplitSeq(test.want, "\n") {
				want += "          │ " + line + "\n"
			}
			if diff := cmp.Diff(want+"          └", readableMessage(webhooktest.Delivery{Path: test.path, Body: test.body}, 2, chatURL+"/")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// R6.1: each message is shown once, as it arrives or, where nobody waits for more, at the end.
func TestEachMessageIsShownOnce(t *testing.T) {
	t.Parallel()
	c, err := startChat(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for i, text := range []string{"one", "two"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.urlOf(chatSample), strings.NewReader(`{"text":"`+text+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Idempotency-Key", `"`+text+`"`)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		var shown []string
		if total := c.showNew(func(text string) { shown = append(shown, text) }); total != i+1 || len(shown) != 1 || !strings.Contains(shown[0], "│ "+text) {
			t.Errorf("shown %d: %q", total, shown)
		}
		if total := c.showNew(func(text string) { t.Errorf("shown again: %s", text) }); total != i+1 {
			t.Errorf("%d were shown", total)
		}
	}
}
