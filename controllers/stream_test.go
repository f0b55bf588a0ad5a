// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/derive"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/geminitest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// logLine is a line of the log, as a program reads it.
type logLine struct {
	Level, Logger, Message      string
	ID, ParentID, Type, Status  string
	Source, Item, Stage, Object string
	Time, Reason, Severity, URL string
	DurationMs                  *int64
	Error                       *struct{ Category, Message string }
	Retry                       *struct {
		Count, Max int
		Retryable  bool
		NextTime   string
	}
	FallbackFrom               []string
	WaitsFor, Provider         string
	Size, Processed, Succeeded int
	Failed                     int
	ProcessedInTotal           int
}

// UnmarshalJSON implements json.Unmarshaler: the message is in "msg".
func (l *logLine) UnmarshalJSON(text []byte) error {
	type plain logLine
	var message struct{ Msg string }
	if err := json.Unmarshal(text, &message); err != nil {
		return err
	}
	if err := json.Unmarshal(text, (*plain)(l)); err != nil {
		return err
	}
	l.Message = message.Msg
	return nil
}

// loggingWorld is a world with the logger of production, and what it logs.
func loggingWorld(t *testing.T, change ...func(*world)) (*world, *logged) {
	t.Helper()
	log := &logged{}
	return newWorld(t, append(change, func(w *world) { w.log = zap.New(zap.WriteTo(log)) })...), log
}

// lines are the lines of one logger. Every line of any logger has to be JSON.
func (l *logged) lines(t *testing.T, logger string) []logLine {
	t.Helper()
	var found []logLine
	for text := range strings.Lines(l.text()) {
		if !strings.HasSuffix(text, "\n") {
			continue // it is being written
		}
		var line struct{ Logger string }
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		if line.Logger != logger {
			continue
		}
		var full logLine
		if err := json.Unmarshal([]byte(text), &full); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		if full.Type == "item.created" { // whoever makes an item may be slower than who works on it
			found = slices.Insert(found, 0, full)
			continue
		}
		found = append(found, full)
	}
	return found
}

// short is what a line says, without what differs from run to run.
func (l *logLine) short() string {
	words := []string{l.Type, l.Status}
	for _, word := range []string{l.Stage, l.Object, l.Reason, l.Severity} {
		if word != "" {
			words = append(words, word)
		}
	}
	if l.Error != nil {
		words = append(words, l.Error.Category)
	}
	if l.Retry != nil {
		words = append(words, fmt.Sprintf("%d/%d", l.Retry.Count, l.Retry.Max))
		if l.Retry.Retryable {
			words = append(words, "again")
		}
	}
	return strings.Join(words, " ") + ": " + l.Message
}

func short(lines []logLine) []string {
	texts := make([]string, 0, len(lines))
	for i := range lines {
		texts = append(texts, lines[i].short())
	}
	return texts
}

// ofHistory is what the entries of a history say, without what differs from run to run.
func ofHistory(item *v1alpha1.FeedItem) []string {
	var entries []string
	for _, entry := range item.Status.History {
		entries = append(entries, fmt.Sprintf("%s %s %s #%d %s timed=%t", entry.Stage, entry.Status, entry.Category, entry.Retry, entry.Object, entry.Duration != nil))
	}
	return entries
}

// R3.11, R5.5: an item that is deferred, then summarized by the second of its providers, and
// delivered at the second attempt, tells just that, in order, as JSON; and its history as well.
func TestTheStreamTellsTheLifeOfAnItem(t *testing.T) {
	t.Parallel()
	w, log := loggingWorld(t)
	first, second := w.gemini("first"), w.gemini("second")
	w.untilProvider("first", isReady)
	w.untilProvider("second", isReady)
	social := w.mastodon()
	w.openDestination("social", social.URL)
	first.Next(geminitest.Internal(), geminitest.Internal())
	second.Next(geminitest.Internal())
	posts := 0
	social.OnPost(func(p *mastodontest.Pending) bool {
		posts++
		if posts == 1 {
			p.Answer(http.StatusUnprocessableEntity+7, "application/json", `{"error":"slow down"}`)
			return true
		}
		return false
	})
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	source := w.source("news", web.FeedURL(), summarizedBy("first", "second"), postsTo("social"), func(s *v1alpha1.FeedSource) {
		s.Spec.Article = &v1alpha1.ArticlePolicy{Source: v1alpha1.ArticleSourcePage}
	})
	item := w.untilEnded("news", 1)[0]
	host := "127.0.0.1"
	want := []string{
		"item.created pending: Item created",
		"stage.started running article " + host + ": Stage started",
		"stage.ended success article " + host + ": Article read",
		"stage.started running summarize first: Stage started",
		"call.failed failed summarize first API: Provider failed",
		"stage.started running summarize second: Stage started",
		"call.failed failed summarize second API: Provider failed",
		"stage.ended retrying summarize first APIFailed API 0/5 again: Attempt failed, will retry",
		"stage.started running article " + host + ": Stage started",
		"stage.ended success article " + host + ": Article read",
		"stage.started running summarize first: Stage started",
		"call.failed failed summarize first API: Provider failed",
		"stage.started running summarize second: Stage started",
		"stage.ended success summarize second 1/5: Summarized by a fallback after a retry",
		"stage.started running deliver social: Stage started",
		"stage.ended retrying deliver social RateLimit 0/10 again: Post spooled",
		"stage.started running deliver social: Stage started",
		"stage.ended success deliver social 1/10: Post resent",
		"item.ended success: Item processed",
	}
	var lines []logLine
	await(t, func() error { // the last line is written after the item
		lines = log.lines(t, "stream")
		if len(lines) < len(want) {
			return errNotYet
		}
		return nil
	})
	if diff := cmp.Diff(want, short(lines)); diff != "" {
		t.Fatalf("stream (-want +got):\n%s", diff)
	}
	checkStream(t, &item, source, lines)
	if last := lines[13]; len(last.FallbackFrom) != 1 || last.FallbackFrom[0] != "first" {
		t.Errorf("the summary fell back from %v", last.FallbackFrom)
	}
	if diff := cmp.Diff([]string{
		"summarize retrying API #0 first timed=true",
		"summarize success  #1 second timed=true",
		"deliver retrying RateLimit #0 social timed=true",
		"deliver success  #1 social timed=true",
	}, ofHistory(&item)); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

// checkStream checks what holds of all lines of an item.
func checkStream(t *testing.T, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource, lines []logLine) {
	t.Helper()
	ids := map[string]bool{}
	for i := range lines {
		line := &lines[i]
		if _, err := time.Parse(time.RFC3339, line.Time); err != nil {
			t.Errorf("%s: %v", line.short(), err)
		}
		if line.Item != item.Namespace+"/"+item.Name || line.Source != source.Namespace+"/"+source.Name {
			t.Errorf("%s is of %q from %q", line.short(), line.Item, line.Source)
		}
		if line.ID == "" || ids[line.ID] {
			t.Errorf("%s has the id %q, which is empty or of another line", line.short(), line.ID)
		}
		ids[line.ID] = true
		switch {
		case line.Type == "item.created":
			if line.ID != string(item.UID) || line.ParentID != string(source.UID) {
				t.Errorf("%s has the id %q and the parent %q", line.short(), line.ID, line.ParentID)
			}
		case !strings.HasPrefix(line.ParentID, string(item.UID)):
			t.Errorf("%s has the parent %q", line.short(), line.ParentID)
		}
		if done := line.Type == "stage.ended" || line.Type == "item.ended"; done != (line.DurationMs != nil) {
			t.Errorf("%s: duration %v", line.short(), line.DurationMs)
		}
		if line.Retry != nil && line.Retry.Retryable != (line.Retry.NextTime != "") {
			t.Errorf("%s: the next time is %q", line.short(), line.Retry.NextTime)
		}
		if line.Error != nil && line.Error.Message == "" {
			t.Errorf("%s gives no message", line.short())
		}
	}
}

// R5.5, R3.11: what fails for good is a warning, and a post that is given up an error; a retry brings
// the item back.
func TestTheStreamTellsOfFailuresForGood(t *testing.T) {
	t.Parallel()
	w, log := loggingWorld(t)
	social := w.mastodon()
	w.openDestination("social", social.URL)
	social.OnPost(func(p *mastodontest.Pending) bool {
		p.Answer(http.StatusUnprocessableEntity, "application/json", `{"error":"no"}`)
		return true
	})
	w.oneItem("social")
	item := w.untilItem("news", inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonInvalidConfiguration))
	social.OnPost(nil)
	w.retry(item.Name, "again")
	w.untilItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	want := []string{
		"item.created pending: Item created",
		"stage.started running article 127.0.0.1: Stage started",
		"stage.ended success article 127.0.0.1: Article read",
		"stage.started running summarize " + derive.BuiltinProvider + ": Stage started",
		"stage.ended success summarize " + derive.BuiltinProvider + " 0/5: Summarized",
		"stage.started running deliver social: Stage started",
		"stage.ended failed deliver social error Validation 0/10: Post given up",
		"item.ended failed InvalidConfiguration warning Validation: Item failed for good",
		"item.retried pending: Item retried",
		"stage.started running deliver social: Stage started",
		"stage.ended success deliver social 0/10: Post sent",
		"item.ended success: Item processed",
	}
	var got []string
	await(t, func() error {
		if got = short(log.lines(t, "stream")); len(got) < len(want) {
			return errNotYet
		}
		return nil
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stream (-want +got):\n%s", diff)
	}
}

// R3.11: an item that waits for what is not there is pending, which is told once, and its post queues
// while the destination is suspended.
func TestTheStreamTellsWhatWaits(t *testing.T) {
	t.Parallel()
	w, log := loggingWorld(t)
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("later"), postsTo("nowhere"))
	item := w.untilItem("news", waitsFor("later"))
	for range 3 {
		w.lookAt(controllers.ItemKey, client.ObjectKeyFromObject(item))
	}
	w.gemini("later")
	w.untilProvider("later", isReady)
	w.untilItem("news", waitsFor("nowhere"))
	var waits, queued []string
	await(t, func() error {
		waits, queued = nil, nil
		for _, line := range log.lines(t, "stream") {
			switch line.Type {
			case "item.waiting":
				waits = append(waits, line.Status+" "+line.Reason+" "+line.WaitsFor)
			case "delivery.queued":
				queued = append(queued, line.Status+" "+line.Object)
			}
		}
		if len(waits) < 2 {
			return errNotYet
		}
		return nil
	})
	if diff := cmp.Diff([]string{
		`pending Waiting AIProvider "later": it does not exist in this namespace`,
		`pending Waiting FeedDestination "nowhere": it does not exist in this namespace`,
	}, waits); diff != "" {
		t.Errorf("waiting (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"pending nowhere"}, queued); diff != "" {
		t.Errorf("queued (-want +got):\n%s", diff)
	}
}
