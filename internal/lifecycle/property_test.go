// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

// server is a destination: what is published there, and what it can be asked.
type server struct {
	canRead     bool
	honoursKeys bool
	posts       int
	published   time.Time // the post that the key stands for
	// decided counts how often a person wanted a post although nobody can say whether it is there.
	decided int
}

// keeps is for how long a server remembers a key.
const keeps = time.Hour

func (s *server) publish(at time.Time) {
	if s.honoursKeys && s.posts > 0 && at.Before(s.published.Add(keeps)) {
		return
	}
	s.posts++
	s.published = at
}

// life is an item in the hands of an operator that is cut off, forced and replaced at any time.
type life struct {
	t       *rapid.T
	item    *v1alpha1.FeedItem
	now     time.Time
	posting lifecycle.DeliveryPolicy
	servers map[string]*server
	late    []lifecycle.DeliveryOutcome // results of calls that are not written down yet
	tokens  int
	calm    bool // nothing goes wrong any more
}

func newLife(t *rapid.T) *life {
	l := &life{t: t, item: newItem(), now: created, posting: posting, servers: map[string]*server{}}
	l.posting.MaxRetries = rapid.IntRange(0, 10).Draw(t, "max retries")
	l.posting.InitialDelay = time.Duration(rapid.IntRange(1, 600).Draw(t, "initial delay")) * time.Second
	for _, name := range []string{here, there} {
		l.servers[name] = &server{
			canRead:     rapid.Bool().Draw(t, name+" can be read"),
			honoursKeys: rapid.Bool().Draw(t, name+" honours keys"),
		}
	}
	return l
}

// chance draws whether something happens, never when all is calm.
func (l *life) chance(what string) bool { return !l.calm && rapid.Bool().Draw(l.t, what) }

// change makes a change on the item, and on a copy, which must not differ.
func (l *life) change(what string, change func(item *v1alpha1.FeedItem)) {
	before, twin := l.item.DeepCopy(), l.item.DeepCopy()
	change(l.item)
	change(twin)
	if diff := cmp.Diff(l.item, twin); diff != "" {
		l.t.Fatalf("%s is not deterministic: %s", what, diff)
	}
	l.checkChange(what, before)
}

func (l *life) checkChange(what string, before *v1alpha1.FeedItem) {
	status := &l.item.Status
	for i := range before.Status.Deliveries {
		was, is := before.Status.Deliveries[i], status.Deliveries[i]
		if was.State == v1alpha1.DeliveryDone {
			if diff := cmp.Diff(was, is); diff != "" {
				l.t.Fatalf("%s changes a post that was made: %s", what, diff)
			}
		}
		if was.Key != is.Key {
			l.t.Fatalf("%s changes the key of %s", what, is.Destination)
		}
		// The calls, and the looks for what may have come of them, of which there may be ten more.
		if int(is.FailedAttempts) > l.posting.MaxRetries+12 {
			l.t.Fatalf("%s: %s has failed %d times, with %d retries", what, is.Destination, is.FailedAttempts, l.posting.MaxRetries)
		}
	}
	if before.Status.Summary != nil && status.Summary == nil {
		l.t.Fatalf("%s loses the summary", what)
	}
	if before.Status.Phase != status.Phase && !status.LastCheckTime.Time.Equal(l.now) {
		l.t.Fatalf("%s changes %s to %s unseen", what, before.Status.Phase, status.Phase)
	}
	if int(status.RetryCount) > max(l.posting.MaxRetries+11, usual.MaxRetries) {
		l.t.Fatalf("%s leaves %d retries", what, status.RetryCount)
	}
	if (status.NextRetryTime != nil) != (status.Phase == v1alpha1.PhaseDeferred) {
		l.t.Fatalf("%s leaves %s with next retry %v", what, status.Phase, status.NextRetryTime)
	}
	if l.item.Terminal() && status.Summary != nil {
		for i := range status.Deliveries {
			if row := &status.Deliveries[i]; !row.Ended() {
				l.t.Fatalf("%s ends the item, but %s is %s", what, row.Destination, row.State)
			} else if row.State == v1alpha1.DeliveryDead && status.Phase != v1alpha1.PhaseFailed {
				l.t.Fatalf("%s leaves %s although %s is dead", what, status.Phase, row.Destination)
			}
		}
	}
	checkConditions(l.t, l.item)
}

// check holds what must be true at any time.
func (l *life) check(*rapid.T) {
	for name, s := range l.servers {
		if s.posts > 1+s.decided { // R4.4
			l.t.Fatalf("%d posts at %s, of which a person wanted %d", s.posts, name, 1+s.decided)
		}
		if row := lifecycle.RowOf(l.item, name); row != nil && row.State == v1alpha1.DeliveryDone && s.posts == 0 {
			l.t.Fatalf("%s is done, but nothing was posted", name)
		}
	}
}

// work does what a reconcile does.
func (l *life) work() {
	step := lifecycle.Next(l.item, l.now)
	if step.Action == lifecycle.Rest && lifecycle.Revived(l.item, func(v1alpha1.Stage, string) time.Time {
		if l.chance("was cured") {
			return l.now
		}
		return time.Time{}
	}) {
		step.Action = lifecycle.Reset
	}
	switch step.Action {
	case lifecycle.Rest, lifecycle.SendNotifications:
	case lifecycle.Wait:
		if !step.Until.After(l.now) {
			l.t.Fatalf("waits until %s, which is over", step.Until)
		}
	case lifecycle.Acknowledge:
		l.item.Status.LastHandledRetry = lifecycle.Token(l.item)
	case lifecycle.Reset:
		l.change("a release", func(item *v1alpha1.FeedItem) { lifecycle.RetryNow(item, usual, l.now) })
		if again := lifecycle.Next(l.item, l.now); again.Action == lifecycle.Reset {
			l.t.Fatal("a release leads to a release")
		}
	case lifecycle.Finish:
		l.change("the end", func(item *v1alpha1.FeedItem) { lifecycle.Complete(item, usual, l.now) })
	case lifecycle.Summarize:
		l.summarize()
	case lifecycle.Deliver:
		worked := false
		for _, name := range []string{here, there} {
			if at, open := lifecycle.Due(lifecycle.RowOf(l.item, name), l.now); open && !at.After(l.now) {
				worked = true
				l.deliver(name)
			}
		}
		if !worked {
			l.t.Fatal("nothing is due for delivery")
		}
	}
}

func (l *life) summarize() {
	if l.item.Status.Summary != nil {
		l.t.Fatal("a summary is asked for twice")
	}
	outcome := lifecycle.Outcome{Token: lifecycle.Token(l.item)}
	switch {
	case l.chance("the summary fails"):
		category := rapid.SampledFrom(categories).Draw(l.t, "category")
		outcome.Failure, outcome.Reason = failure(category, retryable(category)), v1alpha1.ReasonAPIFailed
		outcome.ProviderFailures = []v1alpha1.ProviderFailure{{Name: "gemini", Category: category, Count: 1, Time: metav1.NewTime(l.now)}}
	case l.chance("the verdict is against it"):
		outcome.Verdict = judged(l.chance("valuable"), false)
		outcome.Verdict.Complete = !outcome.Verdict.Valuable && l.chance("complete")
	case l.chance("it is too large"):
		outcome.Skipped = v1alpha1.ReasonLargeFileSkipped
	default:
		outcome.Summary = &v1alpha1.Summary{Text: "All is well.", Provider: "gemini"}
		outcome.Destinations = []v1alpha1.DestinationReference{{Name: here}, {Name: there}}
		for name := range map[string]bool{there: true} {
			outcome.Intents = append(outcome.Intents, lifecycle.Intent{Destination: name, TextHash: "hash", Timeout: callTimeout})
		}
	}
	l.change("a summary", func(item *v1alpha1.FeedItem) { lifecycle.Settle(item, outcome, usual, l.now) })
	for _, intent := range outcome.Intents {
		l.call(intent.Destination)
	}
}

var categories = []v1alpha1.Category{
	v1alpha1.CategoryNetwork, v1alpha1.CategoryRateLimit, v1alpha1.CategoryAPI,
	v1alpha1.CategoryAuth, v1alpha1.CategoryValidation, v1alpha1.CategoryUnknown,
}

func retryable(category v1alpha1.Category) bool {
	return category == v1alpha1.CategoryNetwork || category == v1alpha1.CategoryRateLimit || category == v1alpha1.CategoryAPI
}

// deliver looks for a post that may be there, and else makes it.
func (l *life) deliver(name string) {
	row, s := lifecycle.RowOf(l.item, name), l.servers[name]
	if row.State == v1alpha1.DeliveryIntent && l.now.Before(row.NotAfter.Add(lifecycle.SettleTime)) {
		l.t.Fatalf("%s is touched %s after its call at the latest", name, l.now.Sub(row.NotAfter.Time))
	}
	if lifecycle.MustLookUp(row) {
		var found func(*lifecycle.DeliveryOutcome)
		switch {
		case s.canRead && l.chance("looking fails"):
			found = lookingFailed(l.now)
		case s.canRead && s.posts > 0:
			found = posted
		case s.canRead:
			found = missing
		case !lifecycle.MayRepeat(row, s.honoursKeys, l.now, 0):
			found = unverifiable
		case lifecycle.Postpones(row, l.item, l.posting, l.now):
			found = protected
		case row.State == v1alpha1.DeliveryQueued:
			s.decided++
		}
		if found != nil {
			l.settle(result(row, found))
		}
		if at, open := lifecycle.Due(row, l.now); !open || at.After(l.now) || found != nil && lifecycle.MustLookUp(row) {
			return
		}
	} else if l.chance("it is not wanted any more") && l.chance("really") {
		l.settle(result(row, dropped))
		return
	}
	l.change("an intent", func(item *v1alpha1.FeedItem) { lifecycle.Intend(item, name, "hash", callTimeout, l.now) })
	l.call(name)
}

// call makes one call. Its result may come late, or never.
func (l *life) call(name string) {
	row, s := lifecycle.RowOf(l.item, name), l.servers[name]
	outcome := result(row, posted)
	switch {
	case l.chance("the operator is cut off before the call"):
		return
	case l.chance("it is refused"):
		outcome = result(row, failed(rapid.SampledFrom(categories).Draw(l.t, "category"), l.now))
	case l.chance("it does not count"):
		outcome = result(row, again)
	case l.chance("nobody knows"):
		outcome = result(row, failed(rapid.SampledFrom(categories).Draw(l.t, "category"), l.now), isUncertain)
		if l.chance("it works") {
			s.publish(l.now)
		}
	default:
		s.publish(l.now)
	}
	outcome.RetryAfter = time.Duration(rapid.IntRange(0, 7200).Draw(l.t, "retry after")) * time.Second
	outcome.Token = lifecycle.Token(l.item)
	switch {
	case l.chance("the result is lost"):
	case l.chance("the result comes late"):
		l.late = append(l.late, outcome)
	default:
		l.settle(outcome)
	}
}

func (l *life) settle(outcome lifecycle.DeliveryOutcome) {
	before := *lifecycle.RowOf(l.item, outcome.Destination).DeepCopy()
	l.change(fmt.Sprintf("the result %+v", outcome), func(item *v1alpha1.FeedItem) {
		lifecycle.SettleDelivery(item, outcome, l.posting, l.now)
	})
	row := lifecycle.RowOf(l.item, outcome.Destination)
	if outcome.Posted && row.State != v1alpha1.DeliveryDone {
		l.t.Fatalf("a post that was made is lost: %+v", row)
	}
	asked := l.now.Add(outcome.RetryAfter)
	if lifecycle.Queues(row) { // its cool-down has the fraction of the second
		asked = asked.Truncate(time.Second)
	}
	if outcome.Failure != nil && row.State == v1alpha1.DeliveryQueued && row.FailedAttempts > before.FailedAttempts && row.NextRetryTime.Time.Before(asked) {
		l.t.Fatalf("tried again at %s, but asked for %s", row.NextRetryTime, asked)
	}
}

// R2.7, R2.8, R3.4, R3.7, R4.4, R4.5: whatever happens, in whatever order, nothing is posted twice
// unless a person wants that, nothing is tried before its time or more often than it may, and when
// all is well again, every item comes to its end.
func TestLifeKeepsItsPromises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := newLife(t)
		t.Repeat(map[string]func(*rapid.T){
			"":     l.check,
			"work": func(*rapid.T) { l.work() },
			"time passes": func(t *rapid.T) {
				l.now = l.now.Add(time.Duration(rapid.IntRange(1, 4*3600*1000).Draw(t, "milliseconds")) * time.Millisecond)
			},
			"its time comes": func(*rapid.T) {
				if step := lifecycle.Next(l.item, l.now); step.Action == lifecycle.Wait {
					l.now = step.Until
				}
			},
			"a person wants a retry": func(*rapid.T) {
				l.tokens++
				token(fmt.Sprint(l.tokens))(l.item)
			},
			"a late result": func(t *rapid.T) {
				if len(l.late) > 0 {
					i := rapid.IntRange(0, len(l.late)-1).Draw(t, "which")
					outcome := l.late[i]
					l.late = append(l.late[:i:i], l.late[i+1:]...)
					l.settle(outcome)
				}
			},
		})
		l.calm = true
		for range 40 {
			if step := lifecycle.Next(l.item, l.now); step.Action == lifecycle.Wait {
				l.now = step.Until
			}
			l.work()
			l.check(t)
		}
		if step := lifecycle.Next(l.item, l.now); step.Action != lifecycle.Rest {
			t.Fatalf("it does not come to rest: %+v", step)
		}
	})
}
