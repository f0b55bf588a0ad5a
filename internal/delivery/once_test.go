// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/backoff"
	"github.com/feed-operator/feed-operator/internal/derive"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/intents"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/posted"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// R4.4: a process that was stopped between an intent and its call makes that call no more once the intent has ended: somebody else may
// have looked for the post by then, and be making it. It gives back what it has.
func TestNothingIsPostedAfterTheEndOfItsIntent(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		stoppedFor time.Duration
		wantCalls  int
	}{
		"a second before the end": {29 * time.Second, 1},
		"at the end":              {30 * time.Second, 0},
		"a day after it":          {24 * time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := newSource("blog")
			item := newItem(source, intends)
			w := newWorld(t, source, item)
			p := w.claimed(item, source)
			w.clock.Step(test.stoppedFor)
			outcome, _ := w.call(t.Context(), w.live(item), p)
			if made := outcome != nil; w.press.calls != test.wantCalls || made != (test.wantCalls > 0) {
				t.Errorf("%d calls, with the outcome %+v; want %d", w.press.calls, outcome, test.wantCalls)
			}
			if most := 30*time.Second - test.stoppedFor; w.press.calls > 0 && w.press.left > most {
				t.Errorf("the call may take %s, and its intent ends in %s", w.press.left, most)
			}
			cancelUnused([]*post{p})
			w.wantFree()
		})
	}
}

// R4.4: for how long a post may have been there is counted from before its call, and not from when somebody has asked first: a key is
// trusted for so much longer otherwise.
func TestAnIntentIsKnownBeforeItsCall(t *testing.T) {
	t.Parallel()
	const took = 20 * time.Second
	source := newSource("blog")
	item := newItem(source, intends)
	w := newWorld(t, source, item)
	w.press.deliver = func() (destination.Receipt, error) {
		w.clock.Step(took)
		return destination.Receipt{}, errors.New("the answer is lost")
	}
	written, err := w.publish(t.Context(), w.live(item), w.claimed(item, source))
	if err != nil || written == nil || !lifecycle.MustLookUp(lifecycle.RowOf(written, "press")) {
		t.Fatalf("%+v (%v)", written, err)
	}
	if known := w.Observed.Since(written, lifecycle.RowOf(written, "press"), w.clock); known != took {
		t.Errorf("after a call of %s it is known for %s", took, known)
	}
}

// R3.3: a call is made again only for what the intent was written for.
func TestWhatHasChangedSinceItsIntentIsNotPosted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*world, *v1alpha1.FeedSource, *v1alpha1.FeedItem) error
		want   bool
	}{
		"nothing": {func(*world, *v1alpha1.FeedSource, *v1alpha1.FeedItem) error { return nil }, true},
		"the destination has another Secret": {func(w *world, _ *v1alpha1.FeedSource, _ *v1alpha1.FeedItem) error {
			w.open("2")
			return nil
		}, false},
		"the destination has another spec": {func(w *world, _ *v1alpha1.FeedSource, _ *v1alpha1.FeedItem) error {
			var described v1alpha1.FeedDestination
			if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: "news", Name: "press"}, &described); err != nil {
				return err
			}
			described.Generation++
			return w.Client.Update(t.Context(), &described)
		}, false},
		"the destination is being asked about itself": {func(w *world, _ *v1alpha1.FeedSource, _ *v1alpha1.FeedItem) error {
			w.Services.Withhold(pressID)
			return nil
		}, false},
		"the source is suspended": {func(w *world, source *v1alpha1.FeedSource, _ *v1alpha1.FeedItem) error {
			source.Spec.Suspend = true
			return w.Client.Update(t.Context(), source)
		}, false},
		"the source posts elsewhere": {func(w *world, source *v1alpha1.FeedSource, _ *v1alpha1.FeedItem) error {
			source.Spec.Destinations[0].Name = "elsewhere"
			return w.Client.Update(t.Context(), source)
		}, false},
		"the source is gone": {func(w *world, source *v1alpha1.FeedSource, _ *v1alpha1.FeedItem) error {
			return w.Client.Delete(t.Context(), source)
		}, false},
		"the item is gone": {func(w *world, _ *v1alpha1.FeedSource, item *v1alpha1.FeedItem) error {
			return w.Client.Delete(t.Context(), item)
		}, false},
		"the item is another one of its name": {func(w *world, _ *v1alpha1.FeedSource, item *v1alpha1.FeedItem) error {
			if err := w.Client.Delete(t.Context(), item); err != nil {
				return err
			}
			item.UID, item.ResourceVersion = "another", ""
			return w.Client.Create(t.Context(), item)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := newSource("blog")
			item := newItem(source, intends)
			w := newWorld(t, source, item)
			p, began := w.claimed(item, source), w.live(item)
			var now v1alpha1.FeedSource
			if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(source), &now); err != nil {
				t.Fatal(err)
			}
			if err := test.change(w, &now, w.live(item)); err != nil {
				t.Fatal(err)
			}
			if got := w.stillWanted(t.Context(), began, p); got != test.want {
				t.Errorf("it is to be posted: %t", got)
			}
		})
	}
}

// timelapse is a clock by which everything that is waited for is over at once.
type timelapse struct{ *clocktesting.FakeClock }

func (c timelapse) After(d time.Duration) <-chan time.Time {
	c.Step(d)
	over := make(chan time.Time, 1)
	over <- c.Now()
	return over
}

// R3.3, R3.14: a call is made again only where what it comes to can be written down, where it is still wanted, and where its intent lasts for
// long enough.
func TestWhenACallIsMadeAgain(t *testing.T) {
	t.Parallel()
	const wait = time.Second
	for name, test := range map[string]struct {
		written   error
		suspended bool
		after     time.Duration
		want      bool
	}{
		"nothing has changed":         {want: true},
		"the API server is off":       {written: errors.New("connection refused")},
		"the source is suspended":     {suspended: true},
		"half of its time has passed": {after: 15 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := newSource("blog")
			item := newItem(source, intends)
			w := newWorld(t, source, item)
			p := w.claimed(item, source)
			p.Ticket.Done()
			w.clock.Step(test.after)
			if test.suspended {
				source.Spec.Suspend = true
				if err := w.Client.Update(t.Context(), source); err != nil {
					t.Fatal(err)
				}
			}
			w.Writes.Ended(t.Context(), client.ObjectKeyFromObject(item), test.written)
			w.Clock = timelapse{w.clock}
			if got := w.mayCallAgain(t.Context(), w.live(item), p, wait); got != test.want {
				t.Errorf("it is called again: %t", got)
			}
		})
	}
}

// R4.4, R4.7: what another item posts there at this moment, or may have posted, is not posted.
func TestWhoHoldsAnEntry(t *testing.T) {
	t.Parallel()
	blog, copied := newSource("blog"), newSource("copy")
	for name, test := range map[string]struct {
		other                         []client.Object
		after                         time.Duration
		wantHeld, wantDoubt, wantPost bool
	}{
		"nobody":                                     {},
		"one that has not begun":                     {other: []client.Object{copied, newItem(copied)}},
		"one that may have posted it":                {other: []client.Object{copied, newItem(copied, intends)}, wantHeld: true},
		"one that may have posted it, an hour later": {other: []client.Object{copied, newItem(copied, intends)}, after: time.Hour, wantHeld: true},
		"one that has posted it": {other: []client.Object{copied, newItem(copied, intends, func(item *v1alpha1.FeedItem) {
			row := lifecycle.RowOf(item, "press")
			row.State, row.URL, row.Time = v1alpha1.DeliveryDone, "https://press.example/1", &metav1.Time{Time: noon}
		})}, wantPost: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := blog.DeepCopy()
			item := newItem(source)
			objects := []client.Object{source, item}
			for _, object := range test.other {
				copied, _ := object.DeepCopyObject().(client.Object)
				objects = append(objects, copied)
			}
			w := newWorld(t, objects...)
			w.clock.Step(test.after)
			p, err := w.postTo(t.Context(), source, "press")
			if err != nil {
				t.Fatal(err)
			}
			before, holder, err := w.postedBefore(t.Context(), p, item, source)
			if err != nil || (holder != "") != test.wantHeld || (before != nil) != test.wantPost || p.doubt != nil {
				t.Errorf("held by %q, posted before: %+v, in doubt: %+v (%v)", holder, before, p.doubt, err)
			}
		})
	}
}

// R4.4: an entry that an item has posted which is gone, perhaps, is in doubt once that has settled; before that it is held.
func TestWhatAnItemThatIsGoneMayHavePostedIsInDoubt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		after    time.Duration
		wantHeld bool
	}{
		"before it has settled": {30*time.Second + lifecycle.SettleTime - time.Second, true},
		"when it has settled":   {30*time.Second + lifecycle.SettleTime, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, copied := newSource("blog"), newSource("copy")
			item, gone := newItem(source), newItem(copied, intends)
			w := newWorld(t, source, copied, item, gone)
			p, err := w.postTo(t.Context(), source, "press")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Posted.At(t.Context(), p.Target); err != nil { // while it is there
				t.Fatal(err)
			}
			if err := w.Client.Delete(t.Context(), w.live(gone)); err != nil {
				t.Fatal(err)
			}
			w.clock.Step(test.after)
			before, holder, err := w.postedBefore(t.Context(), p, item, source)
			if err != nil || before != nil || (holder != "") != test.wantHeld || (p.doubt != nil) == test.wantHeld {
				t.Errorf("held by %q, in doubt: %+v, posted before: %+v (%v)", holder, p.doubt, before, err)
			}
		})
	}
}

// refusedCall is a failure that is certain and not repeated.
func refusedCall() (destination.Receipt, error) {
	refused := failure.New(v1alpha1.CategoryValidation, failure.TypeUnsupported, "too long")
	refused.Status = 422
	return destination.Receipt{}, refused
}

// R3.13: whatever way a post is made, and however that ends, the place and the right to call are given back.
func TestPostsGiveBackWhatTheyHave(t *testing.T) {
	t.Parallel()
	deliver := func(ctx context.Context, w *world, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) error {
		turn := w.plan.Enter("item")
		defer turn.Leave()
		_, err := w.Deliver(ctx, turn, item, source)
		return err
	}
	withTheSummary := func(ctx context.Context, w *world, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) error {
		turn := w.plan.Enter("item")
		defer turn.Leave()
		_, err := w.SettleAndPost(ctx, turn, item, source, lifecycle.Outcome{
			Summary: &v1alpha1.Summary{Text: "All is well.", Provider: "gemini"}, Destinations: source.Spec.Destinations,
		})
		return err
	}
	toTwo := func(source *v1alpha1.FeedSource) {
		source.Spec.Destinations = append(source.Spec.Destinations, v1alpha1.DestinationReference{Name: "missing"})
	}
	bare := func(item *v1alpha1.FeedItem) { item.Status = v1alpha1.FeedItemStatus{} }
	for name, test := range map[string]struct {
		source []func(*v1alpha1.FeedSource)
		item   []func(*v1alpha1.FeedItem)
		work   func(context.Context, *world, *v1alpha1.FeedItem, *v1alpha1.FeedSource) error
	}{
		"after a wait":                       {work: deliver},
		"with the summary":                   {item: []func(*v1alpha1.FeedItem){bare}, work: withTheSummary},
		"apart, with others":                 {source: []func(*v1alpha1.FeedSource){toTwo}, work: deliver},
		"apart, with others and the summary": {[]func(*v1alpha1.FeedSource){toTwo}, []func(*v1alpha1.FeedItem){bare}, withTheSummary},
	} {
		for how, answer := range map[string]func() (destination.Receipt, error){
			"it is made": nil, "it is refused": refusedCall, "it panics": func() (destination.Receipt, error) { panic("out of order") },
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				source := newSource("blog", test.source...)
				item := newItem(source, test.item...)
				w := newWorld(t, source, item)
				w.press.deliver = answer
				if err := test.work(t.Context(), w, w.live(item), source); err != nil {
					t.Fatal(err)
				}
				w.settle()
				if w.press.calls != 1 || w.Work.UnderWay(item, "press") {
					t.Errorf("%d calls; one is under way: %t", w.press.calls, w.Work.UnderWay(item, "press"))
				}
				w.wantFree()
			})
		}
	}
}

// R3.13: what was granted for a post that does not begin is given back: its destination was opened just now, or the item is gone.
func TestPostsThatDoNotBeginGiveBackWhatTheyHave(t *testing.T) {
	t.Parallel()
	for name, work := range map[string]func(*world, *schedule.Turn, *v1alpha1.FeedItem, *v1alpha1.FeedSource) error{
		"nobody knows yet what calls its destination": func(w *world, turn *schedule.Turn, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) error {
			w.Services.Forget(pressID)
			w.plan.Configure(pressID, schedule.Limit{Concurrent: 1})
			again, err := w.Deliver(t.Context(), turn, w.live(item), source)
			if again.RequeueAfter != time.Second {
				t.Errorf("looked at again after %s, want a second", again.RequeueAfter)
			}
			return err
		},
		"the item is gone": func(w *world, turn *schedule.Turn, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) error {
			gone := w.live(item)
			if err := w.Client.Delete(t.Context(), w.live(item)); err != nil {
				return err
			}
			gone.Status = v1alpha1.FeedItemStatus{}
			_, err := w.SettleAndPost(t.Context(), turn, gone, source, lifecycle.Outcome{
				Summary: &v1alpha1.Summary{Text: "All is well.", Provider: "gemini"}, Destinations: source.Spec.Destinations,
			})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := newSource("blog")
			item := newItem(source)
			w := newWorld(t, source, item)
			turn := w.plan.Enter("item")
			err := work(w, turn, item, source)
			turn.Leave()
			if w.settle(); err != nil || w.press.calls > 0 {
				t.Errorf("%d calls (%v)", w.press.calls, err)
			}
			w.wantFree()
		})
	}
}

// R4.4: without an intent there is no call, whatever has become of it.
func TestNothingIsPostedWithoutItsIntent(t *testing.T) {
	t.Parallel()
	source := newSource("blog")
	item := newItem(source, intends, func(item *v1alpha1.FeedItem) { lifecycle.RowOf(item, "press").State = v1alpha1.DeliveryQueued })
	w := newWorld(t, source, item)
	p := w.claimed(item, source)
	if outcome, _ := w.call(t.Context(), w.live(item), p); outcome != nil || w.press.calls > 0 {
		t.Errorf("%d calls, with the outcome %+v", w.press.calls, outcome)
	}
}

// R3.3, R4.4: a call that may have published is not made again within its intent; one that never left is.
func TestWhatIsRepeatedInPlace(t *testing.T) {
	t.Parallel()
	for name, unsent := range map[string]bool{"it never left": true, "its answer is lost": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := newSource("blog")
			item := newItem(source, intends)
			w := newWorld(t, source, item)
			w.InPlace = backoff.DefaultInPlace
			w.press.deliver = func() (destination.Receipt, error) {
				failed := failure.New(v1alpha1.CategoryNetwork, "ConnectionReset", "connection reset")
				failed.Unsent = unsent
				return destination.Receipt{}, failed
			}
			outcome, wait := w.call(t.Context(), w.live(item), w.claimed(item, source))
			if outcome == nil || outcome.Uncertain == unsent || (wait > 0) != unsent {
				t.Errorf("made again after %s; %+v", wait, outcome)
			}
		})
	}
}

// R4.4: whoever has looked for a post decides about the intent that he has looked for. Somebody else has gone on with it meanwhile.
func TestAClaimIsLostWhereSomebodyElseHasGoneOn(t *testing.T) {
	t.Parallel()
	source := newSource("blog")
	item := newItem(source, intends)
	w := newWorld(t, source, item)
	began := w.live(item)
	others := w.live(item)
	lifecycle.Intend(others, "press", "", time.Minute, noon.Add(5*time.Minute))
	if err := w.Client.Status().Update(t.Context(), others); err != nil {
		t.Fatal(err)
	}
	w.clock.Step(5 * time.Minute)
	p := w.claimed(began, source)
	p.decided = &lifecycle.DeliveryOutcome{Missing: true}
	written, err := w.runDelivery(t.Context(), began, source, p)
	if err != nil || written != nil || w.press.calls > 0 {
		t.Errorf("%d calls beside another; %+v (%v)", w.press.calls, written, err)
	}
}

// R2.9, R4.4: what was stopped while its article was summarized, or while it was looked for, is not posted.
func TestWhatIsStoppedBeforeItsClaimIsNotPosted(t *testing.T) {
	t.Parallel()
	for name, work := range map[string]func(*world, *v1alpha1.FeedItem, *v1alpha1.FeedSource) error{
		"after a look": func(w *world, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) error {
			_, err := w.runDelivery(t.Context(), item, source, w.claimed(item, source))
			return err
		},
		"with the summary": func(w *world, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) error {
			item.Status = v1alpha1.FeedItemStatus{}
			_, err := w.SettleAndPost(t.Context(), w.turn(item), item, source, lifecycle.Outcome{
				Summary: &v1alpha1.Summary{Text: "All is well."}, Destinations: source.Spec.Destinations,
			})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := newSource("blog")
			item := newItem(source)
			stopped := newSource("blog", func(source *v1alpha1.FeedSource) { source.Spec.Suspend = true })
			w := newWorld(t, stopped, item)
			err := work(w, w.live(item), source)
			if w.settle(); err != nil || w.press.calls > 0 {
				t.Errorf("%d calls (%v)", w.press.calls, err)
			}
		})
	}
}

// R2.8: a person has removed the summary of an item of which a post was given up. It is written again, and what is recorded of the post
// counts.
func TestASummaryThatIsWrittenAgainPostsNothingAgain(t *testing.T) {
	t.Parallel()
	source := newSource("blog")
	item := newItem(source, func(item *v1alpha1.FeedItem) {
		lifecycle.RowOf(item, "press").State = v1alpha1.DeliveryDead
		item.Status.Summary, item.Status.Phase = nil, v1alpha1.PhasePending
	})
	w := newWorld(t, source, item)
	_, err := w.SettleAndPost(t.Context(), w.turn(item), w.live(item), source, lifecycle.Outcome{
		Summary: &v1alpha1.Summary{Text: "All is well."}, Destinations: source.Spec.Destinations,
	})
	if w.settle(); err != nil || w.press.calls > 0 {
		t.Errorf("%d calls (%v)", w.press.calls, err)
	}
}

// R4.4: an intent that this process has just seen is not touched for as long as its call may go on, and settle, by the time that passes
// here; whatever end an API server with another clock has written on it.
func TestAnIntentOfAnotherClockIsNotTouchedEarly(t *testing.T) {
	t.Parallel()
	source := newSource("blog")
	item := newItem(source, func(item *v1alpha1.FeedItem) {
		lifecycle.Intend(item, "press", "", 30*time.Second, noon.Add(-time.Hour))
	})
	w := newWorld(t, source, item)
	due := func() int {
		posts, err := w.duePosts(t.Context(), item, item, source)
		if err != nil {
			t.Fatal(err)
		}
		return len(posts)
	}
	settled := 30*time.Second + lifecycle.SettleTime - intents.ClockTolerance
	if due() != 0 {
		t.Error("it is looked for at once")
	}
	if w.clock.Step(settled - time.Second); due() != 0 {
		t.Error("it is looked for before it has settled")
	}
	if w.clock.Step(time.Second); due() != 1 {
		t.Error("it is not looked for when it has settled")
	}
}

// R4.4: a post is looked for since a day before its first attempt was noted, by a clock that may have been wrong.
func TestSinceWhenAPostIsLookedFor(t *testing.T) {
	t.Parallel()
	source := newSource("blog")
	item := newItem(source, intends)
	w := newWorld(t, source, item)
	p := w.claimed(item, source)
	outcome := w.find(t.Context(), item, source, p, lifecycle.RowOf(item, "press"))
	if outcome == nil || !outcome.Missing || w.press.since.After(noon.Add(-24*time.Hour)) {
		t.Errorf("looked for since %s: %+v", w.press.since, outcome)
	}
}

// R4.4: a look takes many requests. Each may take as long as one that posts, and all of them longer: an account that is not read in the time of one
// request could never be.
func TestALookMayTakeLongerThanOneOfItsRequests(t *testing.T) {
	t.Parallel()
	source := newSource("blog")
	item := newItem(source, intends)
	w := newWorld(t, source, item)
	for _, one := range []time.Duration{time.Second, 30 * time.Second, 5 * time.Minute} {
		p := w.claimed(item, source)
		p.Timeout = one
		w.press.left = 0
		outcome := w.find(t.Context(), item, source, p, lifecycle.RowOf(item, "press"))
		p.GiveBack()
		if outcome == nil || !outcome.Missing {
			t.Fatalf("it comes to %+v", outcome)
		}
		if all := w.press.left; w.press.each != one || all < 4*time.Minute || all > 5*time.Minute {
			t.Errorf("where a request may take %s, each may take %s and all of a look %s", one, w.press.each, all)
		}
	}
}

// R3.1, R2.8: a look that panics is a failure like others: it is on the item, and ends some time.
func TestALookThatPanicsIsAFailure(t *testing.T) {
	t.Parallel()
	source := newSource("blog")
	item := newItem(source, intends)
	w := newWorld(t, source, item)
	w.press.broken = true
	outcome := w.find(t.Context(), item, source, w.claimed(item, source), lifecycle.RowOf(item, "press"))
	if outcome == nil || !outcome.Looking || outcome.Failure == nil {
		t.Errorf("it comes to %+v", outcome)
	}
}

// R4.4: a post that is recorded on one item is no other's, however alike they are.
func TestAPostOfAnotherItemIsPassedOver(t *testing.T) {
	t.Parallel()
	theirs := destination.Receipt{ID: "7", URL: "https://press.example/7"}
	source, copied := newSource("blog"), newSource("copy")
	item := newItem(source, intends)
	other := newItem(copied, func(item *v1alpha1.FeedItem) {
		row := lifecycle.RowOf(item, "press")
		row.State, row.ID, row.URL = v1alpha1.DeliveryDone, theirs.ID, theirs.URL
	})
	w := newWorld(t, source, copied, item, other)
	w.press.posts = []destination.Receipt{theirs}
	p := w.claimed(item, source)
	if outcome := w.find(t.Context(), item, source, p, lifecycle.RowOf(item, "press")); outcome == nil || !outcome.Missing || !outcome.Mistaken {
		t.Errorf("theirs: %+v", outcome)
	}
	mine := destination.Receipt{ID: "8", URL: "https://press.example/8"}
	w.press.posts = append(w.press.posts, mine)
	if outcome := w.find(t.Context(), item, source, p, lifecycle.RowOf(item, "press")); outcome == nil || !outcome.Posted || outcome.ID != mine.ID {
		t.Errorf("with its own: %+v", outcome)
	}
}

// R4.4: where nobody can be asked, a post is made again only in the trust in its key.
func TestWhatCannotBeLookedUpIsRepeatedByItsKeyAlone(t *testing.T) {
	t.Parallel()
	for name, honoured := range map[string]bool{"keys are honoured": true, "keys are ignored": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := newSource("blog")
			item := newItem(source, intends)
			w := newWorld(t, source, item)
			p := w.claimed(item, source)
			p.Publisher.Server = v1alpha1.DestinationServer{HonoursKeys: honoured}
			w.clock.Step(time.Minute)
			outcome := w.find(t.Context(), item, source, p, lifecycle.RowOf(item, "press"))
			if again := outcome == nil; again != honoured || !again && !outcome.Unverifiable {
				t.Errorf("it may be posted again: %t; %+v", again, outcome)
			}
		})
	}
}

// R4.4, R4.7: what this process has posted, or may have posted, is no other item's to post from that moment on.
func TestWhatWasPostedJustNowIsKnown(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"it was made": false, "its answer is lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, copied := newSource("blog"), newSource("copy")
			item, other := newItem(source), newItem(copied)
			w := newWorld(t, source, copied, item, other)
			if lost {
				w.press.deliver = func() (destination.Receipt, error) { return destination.Receipt{}, errors.New("the answer is lost") }
			}
			_, err := w.Deliver(t.Context(), w.turn(item), w.live(item), source)
			if w.settle(); err != nil || w.press.calls != 1 {
				t.Fatalf("%d calls (%v)", w.press.calls, err)
			}
			p, err := w.postTo(t.Context(), copied, "press")
			if err != nil {
				t.Fatal(err)
			}
			before, holder, err := w.postedBefore(t.Context(), p, other, copied)
			if err != nil || (before != nil) == lost || (holder != "") != lost {
				t.Errorf("held by %q, posted before: %+v (%v)", holder, before, err)
			}
		})
	}
}

// R4.4: an entry is held for one item from its claim on, until its call has ended and settled.
func TestAnEntryIsHeldForOneItem(t *testing.T) {
	t.Parallel()
	source, copied := newSource("blog"), newSource("copy")
	item, other := newItem(source), newItem(copied)
	w := newWorld(t, source, copied, item, other)
	first, second := w.claimed(item, source), &post{}
	*second = *first
	if before, mine := first.hold(item, source, noon); before != nil || !mine {
		t.Fatalf("it is not held: %t, %+v", mine, before)
	}
	if before, mine := second.hold(other, copied, noon); before != nil || mine {
		t.Errorf("it is held for two: %t, %+v", mine, before)
	}
	holder, held, err := first.memory.Holder(t.Context(), posted.OfItem(other, derive.FeedOf(copied)), other)
	if until := noon.Add(first.Timeout + lifecycle.SettleTime); err != nil || !held || holder.Settled.Before(until) {
		t.Errorf("held: %t, until %s, want %s (%v)", held, holder.Settled, until, err)
	}
}
