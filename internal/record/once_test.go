// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/record"
)

// errLost has a write taken, and its answer lost.
var errLost = errors.New("the answer is lost")

// api is an API server with one item, and that item as it was read. Before each write, before is called; an error is the answer.
func api(t *testing.T, before func(client.SubResourcePatchOptions) error) (client.Client, *v1alpha1.FeedItem) {
	t.Helper()
	return apiWith(t, before, v1alpha1.FeedItemStatus{Deliveries: []v1alpha1.Delivery{{Destination: "press", State: v1alpha1.DeliveryQueued}}})
}

// apiWith is an API server with one item that has such a status.
func apiWith(t *testing.T, before func(client.SubResourcePatchOptions) error, status v1alpha1.FeedItemStatus) (client.Client, *v1alpha1.FeedItem) {
	t.Helper()
	item := &v1alpha1.FeedItem{ObjectMeta: metav1.ObjectMeta{Namespace: "news", Name: "item"}, Status: status}
	with := interceptor.Funcs{SubResourcePatch: func(ctx context.Context, c client.Client, of string, object client.Object, patch client.Patch,
		options ...client.SubResourcePatchOption,
	) error {
		var asked client.SubResourcePatchOptions
		for _, option := range options {
			option.ApplyToSubResourcePatch(&asked)
		}
		switch err := before(asked); {
		case errors.Is(err, errLost):
			return errors.Join(err, c.SubResource(of).Patch(ctx, object, patch))
		case err != nil:
			return err
		}
		return c.SubResource(of).Patch(ctx, object, patch)
	}}
	c := fake.NewClientBuilder().WithScheme(apitest.Scheme()).WithStatusSubresource(item).WithObjects(item).WithInterceptorFuncs(with).Build()
	read := &v1alpha1.FeedItem{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(item), read); err != nil {
		t.Fatal(err)
	}
	return c, read
}

func taken(client.SubResourcePatchOptions) error { return nil }

// as sets the phase of an item.
func as(phase v1alpha1.Phase) func(*v1alpha1.FeedItem) bool {
	return func(item *v1alpha1.FeedItem) bool {
		item.Status.Phase = phase
		return true
	}
}

// R4.4: of two who have read the same state and claim what is to be done next, one has the right to do it. A result is not lost for that.
func TestAClaimIsLostWhereAResultIsNot(t *testing.T) {
	t.Parallel()
	c, first := api(t, taken)
	second, third := first.DeepCopy(), first.DeepCopy()
	if err := record.Claim(t.Context(), c, first, as(v1alpha1.PhasePending)); err != nil {
		t.Fatal(err)
	}
	if err := record.Claim(t.Context(), c, second, as(v1alpha1.PhaseDeferred)); !apierrors.IsConflict(err) {
		t.Errorf("both have claimed it (%v)", err)
	}
	if err := record.Write(t.Context(), c, c, third, as(v1alpha1.PhaseProcessed)); err != nil || third.Status.Phase != v1alpha1.PhaseProcessed {
		t.Errorf("the result is lost: %s (%v)", third.Status.Phase, err)
	}
}

// R4.4: the same holds for the first that is written on an item, and all of it is.
func TestTheFirstClaimOfAnItemIsLostToAnotherOne(t *testing.T) {
	t.Parallel()
	c, first := apiWith(t, taken, v1alpha1.FeedItemStatus{Phase: v1alpha1.PhaseUnprocessed})
	second := first.DeepCopy()
	err := record.Claim(t.Context(), c, first, func(item *v1alpha1.FeedItem) bool {
		item.Status.Phase, item.Status.Deliveries = v1alpha1.PhasePending, []v1alpha1.Delivery{{Destination: "press", State: v1alpha1.DeliveryQueued}}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	var live v1alpha1.FeedItem
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(first), &live); err != nil || live.Status.Phase != v1alpha1.PhasePending || len(live.Status.Deliveries) != 1 {
		t.Errorf("what stands there is %+v (%v)", live.Status, err)
	}
	if err := record.Claim(t.Context(), c, second, as(v1alpha1.PhaseDeferred)); !apierrors.IsConflict(err) {
		t.Errorf("both have claimed it (%v)", err)
	}
}

// R3.14: a result is written again when the API server is away for a moment, and not where it has refused it for good.
func TestAResultIsWrittenAgain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer error
		want   int
	}{
		"no answer":   {errors.New("connection reset"), 3},
		"it is busy":  {apierrors.NewTooManyRequests("busy", 0), 3},
		"it is wrong": {apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind("FeedItem").GroupKind(), "item", nil), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tries := 0
			c, item := api(t, func(client.SubResourcePatchOptions) error {
				if tries++; tries < 3 {
					return test.answer
				}
				return nil
			})
			err := record.Write(t.Context(), c, c, item, as(v1alpha1.PhaseProcessed))
			if tries != test.want || (err == nil) != (test.want > 1) {
				t.Errorf("%d tries, want %d (%v)", tries, test.want, err)
			}
		})
	}
}

// R4.4: what announces a call is kept whole or refused; anything else is better kept without a field than not at all.
func TestAnIntentMayLoseNoField(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		change func(*v1alpha1.FeedItem) bool
		want   string
	}{
		"an intent": {func(item *v1alpha1.FeedItem) bool {
			lifecycle.Intend(item, "press", "", time.Minute, now)
			return true
		}, metav1.FieldValidationStrict},
		"a result": {as(v1alpha1.PhaseProcessed), metav1.FieldValidationWarn},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := ""
			c, item := api(t, func(options client.SubResourcePatchOptions) error {
				asked = options.FieldValidation
				return nil
			})
			if err := record.Claim(t.Context(), c, item, test.change); err != nil || asked != test.want {
				t.Errorf("unknown fields: %q, want %q (%v)", asked, test.want, err)
			}
		})
	}
}

// R3.14: what a policy says is its own, whatever it repeats.
func TestWhatAPolicySaysIsNoDroppedField(t *testing.T) {
	t.Parallel()
	unknown := `unknown field "status.deliveries[0].notAfter"`
	for said, want := range map[string]bool{
		`FeedItem in version "v1alpha1" cannot be handled as a FeedItem: strict decoding error: ` + unknown:             true,
		`admission webhook "guard.example" denied the request: strict decoding error: ` + unknown:                       false,
		`feeditems.feeds.feed-operator.io "item" is forbidden: ValidatingAdmissionPolicy 'guard' denied it: ` + unknown: false,
	} {
		_, dropped := errors.AsType[*record.DroppedError](record.AsDropped(errors.New(said)))
		if dropped != want {
			t.Errorf("taken for a dropped field: %t: %s", dropped, said)
		}
	}
}

// R3.14: a stop of the operator does not end the writing of a result.
func TestAStopDoesNotEndAWrite(t *testing.T) {
	t.Parallel()
	stopped, stop := context.WithCancel(t.Context())
	stop()
	writing, cancel := record.Context(stopped)
	defer cancel()
	if _, bounded := writing.Deadline(); writing.Err() != nil || !bounded {
		t.Errorf("ended: %v, bounded: %t", writing.Err(), bounded)
	}
}

// R1.2, R4.4: what is known of an object is not written on another one that has its name by now.
func TestAResultIsNotWrittenOnWhatReplacesItsObject(t *testing.T) {
	t.Parallel()
	c, read := api(t, taken)
	if err := c.Delete(t.Context(), read.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	other := &v1alpha1.FeedItem{ObjectMeta: metav1.ObjectMeta{Namespace: read.Namespace, Name: read.Name, UID: "other"}}
	if err := c.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if err := record.Write(t.Context(), c, c, read, as(v1alpha1.PhaseProcessed)); !apierrors.IsNotFound(err) {
		t.Errorf("the answer is %v", err)
	}
	var live v1alpha1.FeedItem
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(other), &live); err != nil || live.Status.Phase != "" {
		t.Errorf("the other one is %q (%v)", live.Status.Phase, err)
	}
	if read.UID != "" {
		t.Errorf("the object became %q", read.UID)
	}
}
