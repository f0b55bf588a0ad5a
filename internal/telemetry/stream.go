// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/conditions"
	"github.com/feed-operator/feed-operator/internal/eventstream"
	"github.com/feed-operator/feed-operator/internal/failure"
)

// The types of the lines of the stream.
const (
	// TypeItemCreated: an entry of a feed has become an item, and waits for its first attempt.
	TypeItemCreated = "item.created"
	// TypeItemWaiting: what the item needs is unavailable for long.
	TypeItemWaiting = "item.waiting"
	// TypeItemRetried: a retry was requested, or the credentials that it had failed for were replaced.
	TypeItemRetried = "item.retried"
	// TypeItemEnded: the item is processed, or has failed for good.
	TypeItemEnded = "item.ended"
	// TypeStageStarted: a page is fetched, a provider or a destination is called.
	TypeStageStarted = "stage.started"
	// TypeStageEnded: an attempt has ended at a stage.
	TypeStageEnded = "stage.ended"
	// TypeCallFailed: a call has failed. What the attempt comes to is told apart: another provider may
	// succeed.
	TypeCallFailed = "call.failed"
	// TypeDeliveryQueued: a post waits for its turn.
	TypeDeliveryQueued = "delivery.queued"
)

// The statuses of lines, beside those that an attempt may end with.
const (
	statusPending = "pending"
	statusRunning = "running"
)

// Severities of lines that somebody should look at. The levels of logging know no warnings.
const (
	severityWarning = "warning"
	severityError   = "error"
)

// KeyTrace is the field of a line that has the id of the trace to which it belongs, as OpenTelemetry names it in logs of JSON
// (https://opentelemetry.io/docs/specs/otel/compatibility/logging_trace_context/).
const KeyTrace = "trace_id"

// maxWords bounds what a line says an item waits for, in characters.
const maxWords = 1000

// StreamName is the name of the logger of the stream.
const StreamName = "stream"

// Stream writes what happens to items, one line for each event. A line that reports what was
// written to the API server is written after that.
type Stream struct {
	log  logr.Logger
	hear []func(*v1alpha1.FeedItem, eventstream.Entry)
}

// NewStream returns the stream that goes to a log, and to whoever else hears it. Those must not block.
func NewStream(log logr.Logger, hear ...func(*v1alpha1.FeedItem, eventstream.Entry)) Stream {
	return Stream{log: log.WithName(StreamName), hear: hear}
}

// Attempt is what a line needs to know of the attempt that it belongs to.
type Attempt struct {
	// Began is when it began; the zero time where none was made.
	Began time.Time
	// MaxRetries is how many retries there are at most.
	MaxRetries int
	// FailedProviders names the providers that have failed, in the order of the calls. One of them may have succeeded when it was called again, or
	// have failed after its verdict.
	FailedProviders []string
	// Found is set if a post was not made but found: an earlier attempt had published it.
	Found bool
	// Trace is the id of the trace that it belongs to; empty where there is none.
	Trace string
}

// fallbackFrom names the providers that had failed before the one that has given a verdict, or has written the summary.
func (a Attempt) fallbackFrom(entry v1alpha1.HistoryEntry) []string {
	if entry.Status != v1alpha1.HistorySuccess {
		return nil
	}
	switch at := slices.Index(a.FailedProviders, entry.Object); {
	case entry.Stage == v1alpha1.StageScreen && at >= 0: // what failed after that was the summary
		return a.FailedProviders[:at]
	case entry.Stage == v1alpha1.StageScreen:
		return a.FailedProviders
	case entry.Stage == v1alpha1.StageSummarize:
		return slices.DeleteFunc(slices.Clone(a.FailedProviders), func(name string) bool { return name == entry.Object })
	}
	return nil
}

// id marks what belongs to an attempt. It begins with the item's own.
func (a Attempt) id(item *v1alpha1.FeedItem) string {
	if a.Began.IsZero() {
		return string(item.UID)
	}
	return string(item.UID) + "." + strconv.FormatInt(a.Began.UnixNano(), 36)
}

// line is one line of the stream.
type line struct {
	message, kind, status string
	id, parent            string
	stage                 v1alpha1.Stage
	object                string
	at                    time.Time
	duration              *metav1.Duration
	severity              string
	reason                v1alpha1.Reason
	failure               *eventstream.Error
	retry                 *eventstream.Retry
	more                  []any
	trace                 string
}

// write writes a line about an item.
func (s Stream) write(item *v1alpha1.FeedItem, l *line) {
	if l.parent == "" {
		l.parent = string(item.UID)
	}
	if l.id == "" { // the same event has the same id, whoever writes it
		sum := sha256.Sum256([]byte(strings.Join([]string{
			l.parent, l.kind, string(l.stage), l.object, l.status, strconv.FormatInt(l.at.UnixNano(), 36),
		}, "\n")))
		l.id = hex.EncodeToString(sum[:16])
	}
	fields := []any{
		"id", l.id, "parentId", l.parent, "type", l.kind, "status", l.status, "time", l.at.UTC().Format(eventstream.TimeFormat),
		"source", item.Namespace + "/" + item.Spec.SourceRef.Name, "item", item.Namespace + "/" + item.Name,
	}
	if l.stage != "" {
		fields = append(fields, "stage", string(l.stage))
	}
	if l.object != "" {
		fields = append(fields, "object", l.object)
	}
	if l.duration != nil {
		fields = append(fields, "durationMs", l.duration.Milliseconds())
	}
	if l.reason != v1alpha1.ReasonNone {
		fields = append(fields, "reason", string(l.reason))
	}
	if l.failure != nil {
		fields = append(fields, "error", *l.failure)
	}
	if l.retry != nil {
		fields = append(fields, "retry", *l.retry)
	}
	if l.severity != "" {
		fields = append(fields, "severity", l.severity)
	}
	fields = append(fields, l.more...)
	logged := fields
	if l.trace != "" { // for who runs the operator, and not for tenants that are sent the event
		logged = append(slices.Clip(fields), KeyTrace, l.trace)
	}
	s.log.Info(l.message, logged...)
	if len(s.hear) == 0 {
		return
	}
	told := eventstream.Entry{
		Namespace: item.Namespace, Item: item.Name, Source: item.Spec.SourceRef.Name,
		ID: l.id, Type: l.kind, Status: v1alpha1.EventStatus(l.status), Time: l.at, Fields: map[string]any{"message": l.message},
	}
	for i := 0; i < len(fields); i += 2 {
		told.Fields[fields[i].(string)] = fields[i+1]
	}
	for _, hear := range s.hear {
		hear(item, told)
	}
}

// ItemCreated reports that an entry of a feed has become an item.
func (s Stream) ItemCreated(item *v1alpha1.FeedItem, now time.Time) {
	s.write(item, &line{
		message: "Item created", kind: TypeItemCreated, status: statusPending, at: now,
		id: string(item.UID), parent: string(item.Spec.SourceRef.UID),
	})
}

// ItemWaits reports that what an item needs is unavailable for long, and what that is.
func (s Stream) ItemWaits(item *v1alpha1.FeedItem, why string, now time.Time) {
	s.write(item, &line{
		message: "Item waits", kind: TypeItemWaiting, status: statusPending, at: now,
		reason: item.Status.Reason, more: []any{"waitsFor", conditions.Cut(why, maxWords)},
	})
}

// ItemRetried reports that an item is due, because a person asked for it (forced) or because the
// credentials that it had failed for were replaced. Revived means that it was finished before.
func (s Stream) ItemRetried(item *v1alpha1.FeedItem, revived, forced bool, now time.Time) {
	s.write(item, &line{
		message: "Item retried", kind: TypeItemRetried, status: statusPending, at: now,
		more: []any{"revived", revived, "forced", forced},
	})
}

// ItemEnded reports that an item is processed, or has failed for good. Its duration is its whole life.
func (s Stream) ItemEnded(item *v1alpha1.FeedItem, now time.Time) {
	ended := &line{
		message: "Item processed", kind: TypeItemEnded, status: string(v1alpha1.HistorySuccess), at: now,
		duration: &metav1.Duration{Duration: max(now.Sub(v1alpha1.Created(item).Time), 0)}, reason: item.Status.Reason,
	}
	if item.Status.Summary != nil {
		ended.more = []any{"provider", item.Status.Summary.Provider}
	}
	if item.Status.Phase == v1alpha1.PhaseFailed {
		ended.message, ended.status, ended.severity = "Item failed for good", string(v1alpha1.HistoryFailed), severityWarning
		ended.failure = errorOf(item.Status.Failure)
		ended.more = append(ended.more, "retries", item.Status.RetryCount)
	}
	s.write(item, ended)
}

// StageStarted reports that the page of an item is being fetched, or a provider or a destination called.
func (s Stream) StageStarted(item *v1alpha1.FeedItem, attempt Attempt, stage v1alpha1.Stage, object string, now time.Time) {
	s.write(item, &line{
		message: "Stage started", kind: TypeStageStarted, status: statusRunning, at: now,
		parent: attempt.id(item), stage: stage, object: object, trace: attempt.Trace,
	})
}

// ArticleRead reports that the page of an item was fetched. A page that could not be is told by what the
// attempt has come to.
func (s Stream) ArticleRead(item *v1alpha1.FeedItem, attempt Attempt, host string, now time.Time) {
	s.write(item, &line{
		message: "Article read", kind: TypeStageEnded, status: string(v1alpha1.HistorySuccess), at: now, parent: attempt.id(item),
		stage: v1alpha1.StageArticle, object: host, duration: &metav1.Duration{Duration: max(now.Sub(attempt.Began), 0)},
		trace: attempt.Trace,
	})
}

// CallFailed reports that one provider has failed, or that a call has failed which is made again at once
// or does not count.
func (s Stream) CallFailed(item *v1alpha1.FeedItem, attempt Attempt, stage v1alpha1.Stage, name string, err *failure.Error, now time.Time) {
	message := "Provider failed"
	switch stage { //nolint:exhaustive // the others are the providers'
	case v1alpha1.StageDeliver, v1alpha1.StageNotify:
		message = "Destination failed"
	case v1alpha1.StageArticle:
		message = "Page not read"
	}
	s.write(item, &line{
		message: message, kind: TypeCallFailed, status: string(v1alpha1.HistoryFailed), at: now, parent: attempt.id(item),
		stage: stage, object: name, failure: &eventstream.Error{
			Category: err.Category, Message: failure.Record(err, stage, name, now).Message, // bounded, as it would be on the item
		},
		trace: attempt.Trace,
	})
}

// DeliveryQueued reports that a post waits for its turn.
func (s Stream) DeliveryQueued(item *v1alpha1.FeedItem, destination string, now time.Time) {
	s.write(item, &line{
		message: "Post queued", kind: TypeDeliveryQueued, status: statusPending, at: now,
		stage: v1alpha1.StageDeliver, object: destination,
	})
}

func errorOf(failed *v1alpha1.Failure) *eventstream.Error {
	if failed == nil {
		return nil
	}
	return &eventstream.Error{Category: failed.Category, Message: failed.Message}
}
