// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package results

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/itemwrites"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// known is a result that is refused as often as it is told to.
type known struct {
	refused []error
	written int
}

func (*known) About() string  { return "summary" }
func (*known) PutAway() int64 { return 1 }

func (k *known) Write(context.Context, *v1alpha1.FeedItem, int) (*v1alpha1.FeedItem, error) {
	if len(k.refused) > 0 {
		err := k.refused[0]
		k.refused = k.refused[1:]
		return nil, err
	}
	k.written++
	return nil, nil
}

func newResults(objects ...client.Object) *Results {
	clock := clocktesting.NewFakeClock(time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC))
	api, waker := fake.NewClientBuilder().WithScheme(apitest.Scheme()).WithObjects(objects...).Build(), &queue.Waker{}
	plan := schedule.New(clock, waker.Wake, map[schedule.Kind]schedule.Limit{schedule.KindWrites: {}})
	return &Results{Clock: clock, Client: api, Live: api, Waker: waker, Writes: &itemwrites.Writes{
		Clock: clock, Schedule: plan, Recorder: events.NewFakeRecorder(10), Log: logr.Discard(), Sources: api, Waker: waker,
	}}
}

// R3.14: what is known and was not taken is kept, and written once, for the item that it is of.
func TestWhatIsNotTakenIsKept(t *testing.T) {
	t.Parallel()
	away := errors.New("connection refused")
	refused := apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind("FeedItem").GroupKind(), "item", nil)
	for name, test := range map[string]struct {
		refused     []error
		uid         types.UID // of the item that is there when it is written
		wantKept    bool
		wantWritten int
	}{
		"it is taken":                     {nil, "1", false, 1},
		"the API server is away":          {[]error{away}, "1", true, 1},
		"it is away for longer":           {[]error{away, away}, "1", true, 0},
		"it is refused for good":          {[]error{refused}, "1", false, 0},
		"the item is another of its name": {[]error{away}, "2", true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			item := &v1alpha1.FeedItem{ObjectMeta: metav1.ObjectMeta{Namespace: "news", Name: "item", UID: "1"}}
			there := item.DeepCopy()
			there.UID = test.uid
			r, result := newResults(there), &known{refused: test.refused}
			_, _ = r.WriteResult(t.Context(), item, result)
			if _, kept := r.Kept.Has(client.ObjectKeyFromObject(item)); kept != test.wantKept {
				t.Errorf("kept: %t", kept)
			}
			_ = r.WriteAllKept(t.Context(), client.ObjectKeyFromObject(item))
			if result.written != test.wantWritten {
				t.Errorf("written %d times, want %d", result.written, test.wantWritten)
			}
			left := test.wantKept && test.uid == "1" && test.wantWritten == 0
			if _, kept := r.Kept.Has(client.ObjectKeyFromObject(item)); kept != left {
				t.Errorf("kept in the end: %t, want %t", kept, left)
			}
		})
	}
}

// R3.14: what is kept is written when the operator ends, though it is stopping.
func TestWhatIsKeptIsWrittenLast(t *testing.T) {
	t.Parallel()
	item := &v1alpha1.FeedItem{ObjectMeta: metav1.ObjectMeta{Namespace: "news", Name: "item", UID: "1"}}
	r, result := newResults(item), &known{refused: []error{errors.New("connection refused")}}
	_, _ = r.WriteResult(t.Context(), item, result)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	r.WriteLast(stopped)
	if result.written != 1 {
		t.Errorf("written %d times", result.written)
	}
}

// R4.4: the posts that a result announces are not made before it is written. What is kept announces none: it may be written an hour later.
func TestWhatIsKeptAnnouncesNoPost(t *testing.T) {
	t.Parallel()
	item := &v1alpha1.FeedItem{}
	result := &attemptResult{began: item, source: &v1alpha1.FeedSource{}, outcome: lifecycle.Outcome{
		Summary: &v1alpha1.Summary{Text: "All is well."}, Intents: []lifecycle.Intent{{Destination: "press"}},
	}}
	if result.PutAway(); len(result.outcome.Intents) > 0 || result.outcome.Summary == nil {
		t.Errorf("%+v", result.outcome)
	}
}
