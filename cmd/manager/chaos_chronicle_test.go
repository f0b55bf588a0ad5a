// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

// chronicle is what was seen to happen to a town, by those who are no part of the operator: each state of each item, in the API
// server, and each request to post.
type chronicle struct {
	town *town

	mu    sync.Mutex
	lines []chronicleLine
	items map[types.UID]*chronicledItem
	order []types.UID
	// lost is when replicas have ended without writing down what they had counted.
	lost []time.Time
	// gone is when replicas have ended, or were frozen: another one may go on, and knows only what is written down.
	gone []time.Time
	// hiccups is when an answer of the model may have been lost: it was frozen or ended who had asked, or the network broke.
	hiccups []time.Time
	// answers counts the summaries that the model has written, by story.
	answers map[string]int
}

type chronicleLine struct {
	at    time.Duration
	story string // empty: it concerns them all
	text  string
}

// chronicledItem is an item that there is, or was.
type chronicledItem struct {
	story string
	// last state that was seen of it.
	last    *v1alpha1.FeedItem
	deleted bool
	// unwanted is set if a person has deleted it, or was about to when it was removed.
	unwanted bool
	// notices are the keys of all notices that were ever queued, by what was last seen of them.
	notices map[string]v1alpha1.NotificationState
	// made and summarized are when it was seen first, and first with its summary.
	made, summarized time.Time
	// done is when its posts were seen to be noted, by destination.
	done map[string]time.Time
}

// newChronicle writes down what happens to the items of a town until the test ends.
func newChronicle(t *testing.T, n *town) *chronicle {
	t.Helper()
	c := &chronicle{town: n, items: map[types.UID]*chronicledItem{}, answers: map[string]int{}}
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context())) // the managers end after the test
	var seen sync.WaitGroup
	t.Cleanup(func() {
		end()
		seen.Wait()
	})
	for _, list := range []client.ObjectList{&v1alpha1.FeedItemList{}, &v1alpha1.FeedSourceList{}} {
		events, err := server.Client.Watch(ctx, list, client.InNamespace(n.namespace))
		if err != nil {
			t.Fatal(err)
		}
		context.AfterFunc(ctx, events.Stop)
		seen.Go(func() {
			for event := range events.ResultChan() {
				if ctx.Err() == nil {
					c.see(event)
				}
			}
			if ctx.Err() == nil {
				n.fail("a watch has ended")
			}
		})
	}
	return c
}

func (c *chronicle) see(event watch.Event) {
	how := strings.ToLower(string(event.Type))
	switch object := event.Object.(type) {
	case *v1alpha1.FeedItem:
		c.note(c.seeItem(object, event.Type == watch.Deleted), "%s %s is %s", how, object.Name, stateOf(object))
	case *v1alpha1.FeedSource:
		status := &object.Status
		c.note("", "%s %s was polled at %s for %s of %s, counts %+v, and has failed %d times", how, object.Name, status.LastPollTime,
			status.LastHandledPoll, object.Annotations[v1alpha1.AnnotationPoll], status.Items, status.ConsecutiveFailures)
	default:
		c.town.fail("a watch says %+v", event.Object)
	}
}

// seeItem takes in a state of an item, and returns its story.
func (c *chronicle) seeItem(item *v1alpha1.FeedItem, deleted bool) (story string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.items[item.UID]
	if known == nil {
		known = &chronicledItem{
			story: storyOf(item.Spec.URL), made: time.Now(),
			notices: map[string]v1alpha1.NotificationState{}, done: map[string]time.Time{},
		}
		c.items[item.UID], c.order = known, append(c.order, item.UID)
	}
	known.last, known.deleted = item, deleted
	if known.summarized.IsZero() && item.Status.Summary != nil {
		known.summarized = time.Now()
	}
	for _, row := range item.Status.Deliveries {
		if known.done[row.Destination].IsZero() && row.State == v1alpha1.DeliveryDone {
			known.done[row.Destination] = time.Now()
		}
	}
	for _, row := range item.Status.Notifications {
		known.notices[row.Key] = row.State
	}
	return known.story
}

// stateOf is an item in a line.
func stateOf(item *v1alpha1.FeedItem) string {
	var b strings.Builder
	status := &item.Status
	fmt.Fprintf(&b, "%s/%s", status.Phase, status.Reason)
	if status.NextRetryTime != nil {
		fmt.Fprintf(&b, " until %s", status.NextRetryTime.UTC().Format(time.DateTime))
	}
	if status.Failure != nil {
		fmt.Fprintf(&b, " (%s at %s: %s)", status.Failure.Type, status.Failure.Stage, status.Failure.Message)
	}
	for _, row := range status.Deliveries {
		fmt.Fprintf(&b, "; %s %s", row.Destination, row.State)
		if row.NotAfter != nil {
			fmt.Fprintf(&b, " not after %s", row.NotAfter.UTC().Format(time.DateTime))
		}
		if row.NextRetryTime != nil {
			fmt.Fprintf(&b, " next %s", row.NextRetryTime.UTC().Format(time.DateTime))
		}
		if row.Failure != nil {
			fmt.Fprintf(&b, " (%d failed, %s)", row.FailedAttempts, row.Failure.Type)
		}
		if row.ID != "" {
			fmt.Fprintf(&b, " as %s", row.ID)
		}
	}
	for _, row := range status.Notifications {
		fmt.Fprintf(&b, "; notice %s %s %s", row.Key, row.Destination, row.State)
		if row.NextRetryTime != nil {
			fmt.Fprintf(&b, " next %s", row.NextRetryTime.UTC().Format(time.DateTime))
		}
	}
	return b.String()
}

// deletedByPerson notes that a person deletes an item.
func (c *chronicle) deletedByPerson(item types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.items[item].unwanted = true
}

// note writes down a line about a story; an empty one is for what concerns all.
func (c *chronicle) note(story, format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, chronicleLine{time.Since(c.town.began), story, fmt.Sprintf(format, args...)})
}

// all are all items that there ever were, the first one first.
func (c *chronicle) all() []chronicledItem {
	c.mu.Lock()
	defer c.mu.Unlock()
	items := make([]chronicledItem, 0, len(c.order))
	for _, uid := range c.order {
		items = append(items, *c.items[uid])
	}
	return items
}

// itemsOf are those of a story.
func (c *chronicle) itemsOf(story string) []chronicledItem {
	return slices.DeleteFunc(c.all(), func(item chronicledItem) bool { return item.story != story })
}

// newest is the item of a story that there is, or nil.
func (c *chronicle) newest(story string) *v1alpha1.FeedItem {
	all := c.itemsOf(story)
	if len(all) == 0 || all[len(all)-1].deleted {
		return nil
	}
	return all[len(all)-1].last
}

// isCutOff reports whether what a replica does at most so long after a post may have been cut off by its end. What it wrote before that may be heard
// of after it: the watch is as late as the machine is busy.
func isCutOff(heard, ended time.Time, atMost time.Duration) bool {
	const late = 5 * time.Second
	return heard.Sub(ended) < late && ended.Sub(heard) < atMost
}

// uncounted is how many posts to a destination may be missing in what it counts: counters are written every half a minute, and what a
// replica has counted since is lost when it is killed, or ends while the API server takes no writes. Nor is one counted that may have been made, of an
// item that was deleted before anybody has looked.
func (c *chronicle) uncounted(destination string) int64 {
	const atMost = 30*time.Second + longestOutage
	c.mu.Lock()
	defer c.mu.Unlock()
	var missing int64
	for _, item := range c.items {
		done, was := item.done[destination]
		if was && slices.ContainsFunc(c.lost, func(lost time.Time) bool { return isCutOff(done, lost, atMost) }) {
			missing++
		}
		if !was && item.deleted && lifecycle.Announced(lifecycle.RowOf(item.last, destination)) {
			missing++
		}
	}
	return missing
}

// forgotten reports whether a post of an item that was deleted may be forgotten. A destination writes down what was posted there within a minute
// where it can, and not what may have been posted: who goes on after a replica has gone knows nothing of that.
func (c *chronicle) forgotten(item chronicledItem, destination string) bool {
	const atMost = time.Minute + longestOutage
	c.mu.Lock()
	defer c.mu.Unlock()
	if row := lifecycle.RowOf(item.last, destination); lifecycle.Announced(row) {
		return len(c.gone) > 0
	}
	done, was := item.done[destination]
	return was && slices.ContainsFunc(c.gone, func(gone time.Time) bool { return isCutOff(done, gone, atMost) })
}

// leave notes that a replica has ended, or was frozen.
func (c *chronicle) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = append(c.gone, time.Now())
}

// lose notes that what a replica had counted may be lost.
func (c *chronicle) lose() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = append(c.lost, time.Now())
}

// hiccup notes that an answer of the model may be lost.
func (c *chronicle) hiccup() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hiccups = append(c.hiccups, time.Now())
}

// answered notes that the model writes about a story.
func (c *chronicle) answered(story string) {
	c.mu.Lock()
	c.answers[story]++
	c.mu.Unlock()
	c.note(story, "the model writes about %q", story)
}

// paid returns how often the model has written about a story, and how often each replica may have asked it to: once, and once more for each
// answer that may have been lost while the story had no summary.
func (c *chronicle) paid(story string) (times, perReplica int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, item := range c.items {
		if item.story != story {
			continue
		}
		perReplica++
		for _, hiccup := range c.hiccups {
			if hiccup.After(item.made) && (item.summarized.IsZero() || hiccup.Before(item.summarized)) {
				perReplica++
			}
		}
	}
	return c.answers[story], perReplica
}

// about is what is written down about a story, in lines.
func (c *chronicle) about(story string) string {
	named := regexp.MustCompile(`\b` + story + `\b`)
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, line := range c.lines {
		if line.story == story || line.story == "" && named.MatchString(line.text) {
			fmt.Fprintf(&b, "  %8s  %s\n", line.at.Truncate(time.Millisecond), line.text)
		}
	}
	return b.String()
}

// String is all that is written down.
func (c *chronicle) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, line := range c.lines {
		fmt.Fprintf(&b, "%10s  %-12s  %s\n", line.at.Truncate(time.Millisecond), line.story, line.text)
	}
	return b.String()
}
