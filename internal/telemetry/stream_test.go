// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/eventstream"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/telemetry"
)

var noon = time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC)

// written is the line that tell writes, through the logger of production and without its own time.
func written(t *testing.T, tell func(telemetry.Stream)) map[string]any {
	t.Helper()
	var out bytes.Buffer
	tell(telemetry.NewStream(zap.New(zap.WriteTo(&out))))
	line := map[string]any{}
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("%v in %q", err, out.String())
	}
	delete(line, "ts")
	return line
}

func anItem(change ...func(*v1alpha1.FeedItem)) *v1alpha1.FeedItem {
	item := itemOf("press", 1, v1alpha1.PhaseDeferred)
	item.CreationTimestamp = metav1.NewTime(noon.Add(-time.Hour))
	for _, c := range change {
		c(item)
	}
	return item
}

// R3.11: the end of an attempt has all fields that there are.
func TestALineHasAllFields(t *testing.T) {
	t.Parallel()
	item := anItem(func(item *v1alpha1.FeedItem) {
		item.Status.Reason = v1alpha1.ReasonAPIFailed
		item.Status.NextRetryTime = &metav1.Time{Time: noon.Add(5 * time.Minute)}
		item.Status.Failure = &v1alpha1.Failure{Category: v1alpha1.CategoryAPI, Message: "It broke."}
	})
	entry := v1alpha1.HistoryEntry{
		Time: metav1.NewTime(noon), Stage: v1alpha1.StageSummarize, Status: v1alpha1.HistoryRetrying, Category: v1alpha1.CategoryAPI,
		Retry: 2, Duration: &metav1.Duration{Duration: 1234 * time.Millisecond}, Object: "gemini",
	}
	tell := func(now time.Time) map[string]any {
		return written(t, func(s telemetry.Stream) {
			s.StageEnded(item, entry, telemetry.Attempt{Began: noon.Add(-time.Second), MaxRetries: 5}, now)
		})
	}
	got := tell(noon)
	id, _ := got["id"].(string)
	parent, _ := got["parentId"].(string)
	if again := tell(noon); again["id"] != id {
		t.Errorf("the same event has the ids %q and %q", id, again["id"])
	}
	if later := tell(noon.Add(time.Millisecond)); later["id"] == id {
		t.Errorf("two events have the id %q", id)
	}
	other := written(t, func(s telemetry.Stream) {
		s.StageEnded(itemOf("press", 2, v1alpha1.PhaseDeferred), entry, telemetry.Attempt{Began: noon.Add(-time.Second)}, noon)
	})
	if other["id"] == id {
		t.Errorf("events of two items have the id %q", id)
	}
	if len(id) != 32 || len(parent) <= len("press-1.") || parent[:len("press-1.")] != "press-1." {
		t.Errorf("id %q, parentId %q", id, parent)
	}
	delete(got, "id")
	delete(got, "parentId")
	if diff := cmp.Diff(map[string]any{
		"level": "info", "logger": "stream", "msg": "Attempt failed, will retry", "type": "stage.ended", "status": "retrying",
		"time": "2026-04-01T12:00:00.000Z", "source": "news/press", "item": "news/press-1", "stage": "summarize", "object": "gemini",
		"durationMs": 1234.0, "reason": "APIFailed", "error": map[string]any{"category": "API", "message": "It broke."},
		"retry": map[string]any{"count": 2.0, "max": 5.0, "retryable": true, "nextTime": "2026-04-01T12:05:00Z"},
	}, got); diff != "" {
		t.Errorf("line (-want +got):\n%s", diff)
	}
}

// R5.5: each end has words of its own.
func TestTheEndOfAnAttemptIsToldInWords(t *testing.T) {
	t.Parallel()
	const (
		success, failed, retrying = v1alpha1.HistorySuccess, v1alpha1.HistoryFailed, v1alpha1.HistoryRetrying
		fallback, found           = true, true
	)
	judged := func(valuable bool) func(*v1alpha1.FeedItem) {
		return func(item *v1alpha1.FeedItem) {
			item.Status.Screening = &v1alpha1.Screening{Valuable: valuable, Complete: true, Provider: "gemini"}
		}
	}
	posts := func(state v1alpha1.DeliveryState) func(*v1alpha1.FeedItem) {
		return func(item *v1alpha1.FeedItem) {
			item.Status.Deliveries = []v1alpha1.Delivery{{Destination: "other", State: v1alpha1.DeliveryDone}, {Destination: "x", State: state}}
		}
	}
	for want, test := range map[string]struct {
		item            *v1alpha1.FeedItem
		stage           v1alpha1.Stage
		status          v1alpha1.HistoryStatus
		retry           int32
		fallback, found bool
	}{
		"Summarized":                                      {anItem(), v1alpha1.StageSummarize, success, 0, false, false},
		"Summarized after a retry":                        {anItem(), v1alpha1.StageSummarize, success, 2, false, false},
		"Summarized by a fallback":                        {anItem(), v1alpha1.StageSummarize, success, 0, fallback, false},
		"Summarized by a fallback after a retry":          {anItem(), v1alpha1.StageSummarize, success, 1, fallback, false},
		"Attempt failed, will retry":                      {anItem(), v1alpha1.StageSummarize, retrying, 1, false, false},
		"Attempt failed for good":                         {anItem(), v1alpha1.StageArticle, failed, 5, false, false},
		"Article found worth a summary":                   {anItem(judged(true)), v1alpha1.StageScreen, success, 0, false, false},
		"Article skipped":                                 {anItem(judged(false)), v1alpha1.StageScreen, success, 5, false, false},
		"Post sent":                                       {anItem(posts(v1alpha1.DeliveryDone)), v1alpha1.StageDeliver, success, 0, false, false},
		"Post resent":                                     {anItem(posts(v1alpha1.DeliveryDone)), v1alpha1.StageDeliver, success, 3, false, false},
		"Post spooled":                                    {anItem(posts(v1alpha1.DeliveryQueued)), v1alpha1.StageDeliver, retrying, 0, false, false},
		"Post uncertain, will be looked up":               {anItem(posts(v1alpha1.DeliveryIntent)), v1alpha1.StageDeliver, retrying, 0, false, false},
		"Post given up":                                   {anItem(posts(v1alpha1.DeliveryDead)), v1alpha1.StageDeliver, failed, 10, false, false},
		"Post found: an earlier attempt had published it": {anItem(posts(v1alpha1.DeliveryDone)), v1alpha1.StageDeliver, success, 1, false, found},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			attempt := telemetry.Attempt{Began: noon, MaxRetries: 10, Found: test.found}
			if test.fallback {
				attempt.FailedProviders = []string{"first"}
			}
			got := written(t, func(s telemetry.Stream) {
				s.StageEnded(test.item, v1alpha1.HistoryEntry{Stage: test.stage, Status: test.status, Retry: test.retry, Object: "x"}, attempt, noon)
			})
			if got["msg"] != want {
				t.Errorf("it says %q", got["msg"])
			}
			if _, said := got["fallbackFrom"]; said != test.fallback {
				t.Errorf("fallbackFrom %v", got["fallbackFrom"])
			}
			if dead := want == "Post given up"; dead != (got["severity"] == "error") {
				t.Errorf("severity %v", got["severity"])
			}
		})
	}
}

// R5.5: what failed for good is a warning; what is skipped is not.
func TestTheEndOfAnItemIsTold(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		phase    v1alpha1.Phase
		reason   v1alpha1.Reason
		wantWord string
		severity any
	}{
		"processed": {v1alpha1.PhaseProcessed, v1alpha1.ReasonNone, "Item processed", nil},
		"skipped":   {v1alpha1.PhaseProcessed, v1alpha1.ReasonNotValuable, "Item processed", nil},
		"failed":    {v1alpha1.PhaseFailed, v1alpha1.ReasonRetryLimitExceeded, "Item failed for good", "warning"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			item := anItem(func(item *v1alpha1.FeedItem) { item.Status.Phase, item.Status.Reason = test.phase, test.reason })
			got := written(t, func(s telemetry.Stream) { s.ItemEnded(item, noon) })
			reason, _ := got["reason"].(string)
			if got["msg"] != test.wantWord || got["severity"] != test.severity || reason != string(test.reason) || got["durationMs"] != 3600000.0 {
				t.Errorf("line %v", got)
			}
		})
	}
}

// R5.6: a line is bounded, whatever strangers have said and tenants have named: a thousand a minute fill no disk.
func TestALineOfTheStreamIsBounded(t *testing.T) {
	t.Parallel()
	const most = 8 << 10
	name, words := strings.Repeat("n", 253), strings.Repeat("<言>\n", 100_000)
	item := anItem(func(item *v1alpha1.FeedItem) {
		item.Namespace, item.Name, item.Spec.SourceRef.Name = strings.Repeat("s", 63), name, name
		item.Status.Phase, item.Status.Reason = v1alpha1.PhaseFailed, v1alpha1.ReasonInvalidContent
		item.Status.Failure = failure.Record(failure.New(v1alpha1.CategoryAPI, "", words), v1alpha1.StageDeliver, name, noon)
		item.Status.Summary = &v1alpha1.Summary{Text: words, Provider: name}
		item.Status.Deliveries = []v1alpha1.Delivery{{Destination: name, State: v1alpha1.DeliveryDone, URL: strings.Repeat("u", 2048), Failure: item.Status.Failure}}
	})
	attempt := telemetry.Attempt{Began: noon, MaxRetries: 10, FailedProviders: slices.Repeat([]string{name}, 10), Trace: strings.Repeat("a", 32)}
	ended := func(stage v1alpha1.Stage, status v1alpha1.HistoryStatus) func(telemetry.Stream) {
		entry := v1alpha1.HistoryEntry{Stage: stage, Status: status, Object: name, Category: v1alpha1.CategoryAPI}
		return func(s telemetry.Stream) { s.StageEnded(item, entry, attempt, noon) }
	}
	for what, tell := range map[string]func(telemetry.Stream){
		"an item that has failed": func(s telemetry.Stream) { s.ItemEnded(item, noon) },
		"an item that waits":      func(s telemetry.Stream) { s.ItemWaits(item, words, noon) },
		"a call that has failed": func(s telemetry.Stream) {
			s.CallFailed(item, attempt, v1alpha1.StageSummarize, name, failure.New(v1alpha1.CategoryAPI, "", words), noon)
		},
		"a post":         ended(v1alpha1.StageDeliver, v1alpha1.HistorySuccess),
		"a dead post":    ended(v1alpha1.StageDeliver, v1alpha1.HistoryFailed),
		"a fallback":     ended(v1alpha1.StageScreen, v1alpha1.HistorySuccess),
		"a failed stage": ended(v1alpha1.StageSummarize, v1alpha1.HistoryRetrying),
	} {
		var out bytes.Buffer
		tell(telemetry.NewStream(zap.New(zap.WriteTo(&out))))
		if out.Len() == 0 || out.Len() > most {
			t.Errorf("%s takes %d bytes, want %d at most: %.200s", what, out.Len(), most, out.String())
		}
	}
}

// R5.5: the trace of an attempt is in the log, and in nothing that tenants hear.
func TestTheTraceIsInTheLogAlone(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	heard := 0
	stream := telemetry.NewStream(zap.New(zap.WriteTo(&out)), func(_ *v1alpha1.FeedItem, entry eventstream.Entry) {
		heard++
		if _, told := entry.Fields[telemetry.KeyTrace]; told {
			t.Errorf("heard %v", entry.Fields)
		}
	})
	stream.StageStarted(anItem(), telemetry.Attempt{Began: noon, Trace: "0af7"}, v1alpha1.StageArticle, "example.org", noon)
	if heard != 1 || !strings.Contains(out.String(), `"trace_id":"0af7"`) {
		t.Errorf("heard %d, logged %s", heard, out.String())
	}
}
