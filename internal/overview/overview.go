// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package overview says to a person how all is going: what is polled, what waits and why, what needs them,
// and which services are not available.
//
// It knows the kinds and the words for them. It reads nothing and writes to a terminal only.
package overview

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/derive"
	"github.com/feed-operator/feed-operator/internal/polling"
	"github.com/feed-operator/feed-operator/internal/terminal"
)

const (
	// widest is how wide a column may be that is not the last one.
	widest = 40
	// listed is how many items are named of those that failed.
	listed = 20
)

// State is all that there is to be told, as of one moment.
type State struct {
	Sources      []v1alpha1.FeedSource
	Items        []v1alpha1.FeedItem
	Providers    []v1alpha1.AIProvider
	Destinations []v1alpha1.FeedDestination
	Now          time.Time
	// Everywhere is set if the objects are of several namespaces, so that these are told.
	Everywhere bool
}

// Write writes the overview.
func Write(to io.Writer, state State) error {
	w := &writer{to: to, State: state}
	w.sources()
	w.items()
	w.failed()
	w.services("Providers", w.providerRows())
	w.services("Destinations", w.destinationRows())
	return w.err
}

type writer struct {
	State
	to  io.Writer
	err error
}

func (w *writer) line(format string, arguments ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.to, format+"\n", arguments...)
	}
}

func (w *writer) table(rows [][]string) {
	if w.err == nil {
		w.err = terminal.Table(w.to, widest, rows...)
	}
}

// name is what an object goes by in a list.
func (w *writer) name(object metav1.Object) string {
	if w.Everywhere {
		return object.GetNamespace() + "/" + object.GetName()
	}
	return object.GetName()
}

func (w *writer) sources() {
	if len(w.Sources) == 0 {
		w.line("There is no FeedSource here. `kubectl feed preview URL` shows what one would do.")
		return
	}
	rows := [][]string{{"SOURCE", "LAST POLL", "NEXT POLL", "OPEN", "DONE", "FAILED", "STATUS"}}
	for i := range w.Sources {
		source := &w.Sources[i]
		counts := w.countsOf(source)
		rows = append(rows, []string{
			w.name(source), w.ago(source.Status.LastPollTime), w.nextPoll(source),
			fmt.Sprint(counts.Active()), fmt.Sprint(counts.Processed), fmt.Sprint(counts.Failed), OfSource(source, counts),
		})
	}
	w.table(rows)
}

// countsOf counts the items themselves: the counts on the status are up to a minute old.
func (w *writer) countsOf(source *v1alpha1.FeedSource) v1alpha1.ItemCounts {
	var counts v1alpha1.ItemCounts
	for i := range w.Items {
		if item := &w.Items[i]; item.Spec.SourceRef.UID == source.UID {
			counts.Add(item.Status.Phase, 1)
		}
	}
	return counts
}

// OfSource returns what is wrong with a source, or that nothing is.
func OfSource(source *v1alpha1.FeedSource, items v1alpha1.ItemCounts) string {
	conditions := source.Status.Conditions
	said := "not seen by the operator yet: is it running?"
	if items != (v1alpha1.ItemCounts{}) {
		said = "read, and its first items are being worked on"
	}
	if ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady); ready != nil {
		said = ready.Message
		if ready.Status != metav1.ConditionTrue {
			said = ready.Reason + ": " + said
		}
	}
	for _, kind := range []string{
		v1alpha1.ConditionCreationPaused, v1alpha1.ConditionDamaged, v1alpha1.ConditionMemoryRebuilt, v1alpha1.ConditionNotificationsBlocked,
		v1alpha1.ConditionFiltersFailing, v1alpha1.ConditionIdentityShared,
	} {
		if condition := meta.FindStatusCondition(conditions, kind); condition != nil && condition.Status == metav1.ConditionTrue {
			said += ". " + condition.Message
		}
	}
	return said
}

// nextPoll is when the operator polls a source next, as far as the source itself says it.
func (w *writer) nextPoll(source *v1alpha1.FeedSource) string {
	at, unless := NextPoll(source, w.Now)
	if unless != "" {
		return unless
	}
	return w.in(at)
}

// NextPoll is when the operator polls a source next, as far as the source itself says it; or else a word that says why it does not.
func NextPoll(source *v1alpha1.FeedSource, now time.Time) (at time.Time, unless string) {
	switch {
	case source.Spec.Suspend:
		return time.Time{}, "suspended"
	case ended(source):
		return time.Time{}, "never"
	}
	timing := derive.Timing(source, now)
	timing.FirstSeen = now
	return polling.Due(timing), ""
}

// ended reports whether a source is not polled until a person changes something, which nobody has yet. One
// that is gone is polled once more where that is asked for.
func ended(source *v1alpha1.FeedSource) bool {
	stalled := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionStalled)
	if stalled == nil || stalled.Status != metav1.ConditionTrue || source.Status.ObservedGeneration != source.Generation {
		return false
	}
	return stalled.Reason != v1alpha1.ReasonFeedGone || !derive.PollForced(source)
}

func (w *writer) items() {
	if len(w.Items) == 0 {
		return
	}
	var counts v1alpha1.ItemCounts
	var open []*v1alpha1.FeedItem
	for i := range w.Items {
		item := &w.Items[i]
		counts.Add(item.Status.Phase, 1)
		if !item.Terminal() {
			open = append(open, item)
		}
	}
	w.line("\n%d unprocessed, %d pending, %d deferred, %d processed, %d failed",
		counts.Unprocessed, counts.Pending, counts.Deferred, counts.Processed, counts.Failed)
	if len(open) == 0 {
		return
	}
	oldest := slices.MinFunc(open, func(a, b *v1alpha1.FeedItem) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	w.line("Oldest unfinished item, for %s: %s, %s", w.since(oldest.CreationTimestamp.Time), w.name(oldest), w.why(oldest))
	reasons := map[v1alpha1.Reason]int{}
	for _, item := range open {
		reasons[item.Status.Reason]++
	}
	var said []string
	for reason, n := range reasons {
		if reason != v1alpha1.ReasonNone {
			said = append(said, fmt.Sprintf("%d %s", n, reason))
		}
	}
	if slices.Sort(said); len(said) > 0 {
		w.line("Waiting for: %s", strings.Join(said, ", "))
	}
}

// why returns how an item is, in words.
func (w *writer) why(item *v1alpha1.FeedItem) string {
	said := strings.ToLower(string(cmp.Or(item.Status.Phase, v1alpha1.PhaseUnprocessed)))
	if item.Status.Reason != v1alpha1.ReasonNone {
		said += " (" + string(item.Status.Reason) + ")"
	}
	if message := messageOf(item); message != "" {
		said += ": " + terminal.Line(message)
	}
	if next := item.Status.NextRetryTime; next != nil && next.After(w.Now) && !item.Terminal() {
		said = strings.TrimRight(said, ".") + ". Next retry " + w.in(next.Time)
	}
	return said
}

// messageOf returns what went wrong with an item last, or what it waits for.
func messageOf(item *v1alpha1.FeedItem) string {
	if item.Status.Failure != nil {
		return item.Status.Failure.Message
	}
	for i := range item.Status.Deliveries {
		if failed := item.Status.Deliveries[i].Failure; failed != nil {
			return failed.Message
		}
	}
	if ready := meta.FindStatusCondition(item.Status.Conditions, v1alpha1.ConditionReady); ready != nil && ready.Status != metav1.ConditionTrue {
		return ready.Message
	}
	return ""
}

// failed names the dead letters, the newest first.
func (w *writer) failed() {
	var dead []*v1alpha1.FeedItem
	for i := range w.Items {
		if w.Items[i].Status.Phase == v1alpha1.PhaseFailed {
			dead = append(dead, &w.Items[i])
		}
	}
	if len(dead) == 0 {
		return
	}
	slices.SortFunc(dead, func(a, b *v1alpha1.FeedItem) int {
		return cmp.Or(b.LastCheck().Compare(a.LastCheck().Time), cmp.Compare(a.Name, b.Name))
	})
	w.line("")
	rows := [][]string{{"FAILED", "SINCE", "REASON", "TITLE", "WHY"}}
	for _, item := range dead[:min(len(dead), listed)] {
		rows = append(rows, []string{
			w.name(item), w.since(item.LastCheck().Time), string(item.Status.Reason), cmp.Or(item.Spec.Title, item.Spec.URL), messageOf(item),
		})
	}
	w.table(rows)
	if more := len(dead) - listed; more > 0 {
		w.line("and %d more: kubectl get feeditems --field-selector status.phase=Failed", more)
	}
	w.line("After fixing the cause: kubectl feed retry NAME, or kubectl feed retry --all --failed.")
	w.line("Items that failed for credentials are retried automatically.")
	if slices.ContainsFunc(dead, func(item *v1alpha1.FeedItem) bool { return item.Status.Reason == v1alpha1.ReasonDeliveryUncertain }) {
		w.line("DeliveryUncertain: look first whether the post is there; a retry posts it again.")
	}
}
