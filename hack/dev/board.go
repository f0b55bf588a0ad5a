// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/terminal"
)

// titleWidth is how many columns of a terminal a title may take.
const titleWidth = 64

// board shows what happens to sources, items, providers and destinations, a line for each change that a
// person wants to see.
type board struct {
	stop func()
	// postLinks has it say where a finished item was posted, if nothing else shows the posts.
	postLinks bool

	mu    sync.Mutex
	out   io.Writer
	lines int
	// shown is what was last said about each object.
	shown map[types.UID]string
	// phases of the items that exist.
	phases map[types.UID]v1alpha1.Phase
	// written are the items of which was said who summarized them.
	written map[types.UID]bool
	// chains are the providers of each source.
	chains map[client.ObjectKey][]string
}

func newBoard(out io.Writer) *board {
	return &board{
		stop: func() {}, out: out, shown: map[types.UID]string{}, phases: map[types.UID]v1alpha1.Phase{},
		written: map[types.UID]bool{}, chains: map[client.ObjectKey][]string{},
	}
}

// watchBoard makes a board of what the API server reports, until its stop is called.
func watchBoard(ctx context.Context, config *rest.Config, scheme *runtime.Scheme, out io.Writer, postLinks bool) (*board, error) {
	b := newBoard(out)
	b.postLinks = postLinks
	objects, err := cache.New(config, cache.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	for _, kind := range []client.Object{&v1alpha1.FeedSource{}, &v1alpha1.FeedItem{}, &v1alpha1.AIProvider{}, &v1alpha1.FeedDestination{}} {
		informer, err := objects.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, err
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    b.saw,
			UpdateFunc: func(_, object any) { b.saw(object) },
			DeleteFunc: b.gone,
		})
		if err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = objects.Start(ctx)
	}()
	b.stop = func() {
		cancel()
		<-ended
	}
	return b, nil
}

func (b *board) saw(object any) {
	switch object := object.(type) {
	case *v1alpha1.FeedItem:
		b.sawItem(object, time.Now())
	case *v1alpha1.FeedSource:
		b.sawChain(object)
		b.sawReady(object, object.Status.Conditions, time.Now())
	case *v1alpha1.AIProvider:
		b.sawProvider(object, time.Now())
	case *v1alpha1.FeedDestination:
		b.sawReady(object, object.Status.Conditions, time.Now())
	}
}

func (b *board) sawItem(item *v1alpha1.FeedItem, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.phases[item.UID] = item.Status.Phase

	said := fmt.Sprint(item.Status.Phase, item.Status.Reason, item.Status.RetryCount, item.Status.Summary != nil)
	if b.shown[item.UID] == said {
		return
	}
	b.shown[item.UID] = said
	b.line(now, item.Spec.SourceRef.Name, string(item.Status.Phase), string(item.Status.Reason), item.Spec.Title)
	if item.Status.Summary != nil && !b.written[item.UID] {
		b.written[item.UID] = true
		b.detail(whoWrote(item, b.chains[sourceOf(item)]))
	}
	detail := whyItem(item)
	if b.postLinks && item.Status.Phase == v1alpha1.PhaseProcessed {
		detail = whereItem(item)
	}
	if detail != "" {
		b.detail(detail)
	}
}

func (b *board) detail(text string) { _, _ = fmt.Fprintf(b.out, "%10s└ %s\n", "", text) }

// whereItem returns where an item was posted.
func whereItem(item *v1alpha1.FeedItem) string {
	var where []string
	for i := range item.Status.Deliveries {
		if row := &item.Status.Deliveries[i]; row.State == v1alpha1.DeliveryDone && row.URL != "" { // a webhook names none
			where = append(where, "Posted: "+row.URL)
		}
	}
	return strings.Join(where, " ")
}

// whyItem returns what went wrong with an item and when it is tried again.
func whyItem(item *v1alpha1.FeedItem) string {
	var said []string
	judged := item.Status.Screening
	ready := apimeta.FindStatusCondition(item.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case item.Status.Reason == v1alpha1.ReasonWaiting && ready != nil:
		said = append(said, ready.Message+".")
	case item.Status.Failure != nil:
		said = append(said, item.Status.Failure.Message)
	case judged != nil && !judged.Passed():
		said = append(said, judged.Provider+" says: "+judged.Explanation)
	}
	if next := item.Status.NextRetryTime; next != nil && item.Status.Phase == v1alpha1.PhaseDeferred {
		said = append(said, "Next retry at "+next.Local().Format(time.TimeOnly)+".")
	}
	return strings.Join(said, " ")
}

// sawReady shows when a source, provider or destination becomes ready or ceases to be.
func (b *board) sawReady(object client.Object, conditions []metav1.Condition, now time.Time) {
	ready := apimeta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
	if ready == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.showReady(object, ready, now)
}

// showReady shows whether something is ready, under the lock, unless that was shown last.
func (b *board) showReady(object client.Object, ready *metav1.Condition, now time.Time) {
	said := string(ready.Status) + ready.Reason
	if b.shown[object.GetUID()] == said {
		return
	}
	b.shown[object.GetUID()] = said
	if ready.Status == metav1.ConditionTrue {
		b.line(now, object.GetName(), "Ready", ready.Reason, ready.Message)
		return
	}
	b.line(now, object.GetName(), "Not ready", ready.Reason, "")
	b.detail(ready.Message)
}

func (b *board) gone(object any) {
	if unknown, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	if item, ok := object.(*v1alpha1.FeedItem); ok {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.phases, item.UID)
		delete(b.shown, item.UID)
		delete(b.written, item.UID)
	}
}

// note writes something between the lines.
func (b *board) note(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, _ = fmt.Fprintln(b.out, text)
}

// firstItemsDone reports whether there are items, one of them processed, and all others tried at least
// once; when it is late, one that is processed is enough.
func (b *board) firstItemsDone(late bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	processed := false
	for _, phase := range b.phases {
		switch phase {
		case v1alpha1.PhaseProcessed:
			processed = true
		case v1alpha1.PhaseDeferred, v1alpha1.PhaseFailed:
		default:
			if !late {
				return false
			}
		}
	}
	return processed
}

func (b *board) line(now time.Time, source, phase, reason, title string) {
	if b.lines == 0 {
		b.row("TIME", "NAME", "PHASE", "REASON", "TITLE")
	}
	b.lines++
	b.row(now.Format(time.TimeOnly), source, phase, reason, terminal.Clip(terminal.Line(title), titleWidth))
}

func (b *board) row(when, source, phase, reason, title string) {
	_, _ = fmt.Fprintln(b.out, strings.TrimRight(fmt.Sprintf("%-8s  %-18s  %-11s  %-18s  %s", when, source, phase, reason, title), " "))
}
