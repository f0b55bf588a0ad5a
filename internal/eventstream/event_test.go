// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package eventstream_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/eventstream"
)

var noon = time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC)

// R3.11: what others have written reads the event of an entry, with all of its fields.
func TestAnEventIsRead(t *testing.T) {
	t.Parallel()
	entry := eventstream.Entry{
		Namespace: "news", Item: "press-1", Source: "press", ID: "4f1a", Type: "stage.ended", Status: "retrying", Time: noon.Add(1500 * time.Microsecond),
		Fields: map[string]any{
			"id": "4f1a", "message": "Attempt failed, will retry <&>", "error": eventstream.Error{Category: v1alpha1.CategoryAPI, Message: "It broke."},
			"retry": eventstream.Retry{Count: 1, Max: 5, Retryable: true, NextTime: "2026-04-01T12:05:00Z"},
		},
	}
	made, err := eventstream.Make(entry)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := eventstream.Make(entry); err != nil || again != made || made.ID != "4f1a" || !strings.Contains(made.Body, "<&>") {
		t.Errorf("the same entry gives %+v and %+v, %v", made, again, err)
	}
	var event cloudevents.Event
	if err := json.Unmarshal([]byte(made.Body), &event); err != nil {
		t.Fatal(err)
	}
	if err := event.Validate(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"4f1a", "/namespaces/news/feedsources/press", "io.feed-operator.feeds.stage.ended.v1", "press-1", "2026-04-01T12:00:00.001Z"},
		[]string{event.ID(), event.Source(), event.Type(), event.Subject(), event.Time().Format(eventstream.TimeFormat)}); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
	data := map[string]any{}
	if err := event.DataAs(&data); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{
		"id": "4f1a", "message": "Attempt failed, will retry <&>", "error": map[string]any{"category": "API", "message": "It broke."},
		"retry": map[string]any{"count": 1.0, "max": 5.0, "retryable": true, "nextTime": "2026-04-01T12:05:00Z"},
	}, data); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
}

// R5.6, R3.11: what looks like a secret leaves in no text that others have written, and none of these is endless.
func TestAnEventHoldsNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "Authorization: Bearer recognisable-0123456789"
	made, err := eventstream.Make(eventstream.Entry{ID: "1", Type: "item.waiting", Fields: map[string]any{
		"error": eventstream.Error{Message: secret + strings.Repeat(" x", 10_000)}, "waitsFor": secret, "url": "https://example.org/1?token=recognisable",
	}})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(made.Body, "recognisable") || len(made.Body) > 3000 {
		t.Errorf("%d bytes: %.500s", len(made.Body), made.Body)
	}
}
