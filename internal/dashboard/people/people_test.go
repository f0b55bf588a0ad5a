// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package people

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/internal/share"
)

// reviewer is an API server that takes all tokens. Whose each is, it says itself.
type reviewer struct {
	client.Client
	asked map[string]int // how often about each, where that is counted
}

func (r reviewer) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	if review, is := object.(*authenticationv1.TokenReview); is {
		review.Status.Authenticated, review.Status.User.Username = true, review.Spec.Token
		if r.asked != nil {
			r.asked[review.Spec.Token]++
		}
	}
	return nil
}

// R5.4: who may make tokens in a namespace, and reaches the page from many addresses, has nobody else forgotten who is known.
func TestTokensOfOneTenantDisplaceNobody(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	people := New(reviewer{}, func() time.Time { return now })
	if _, err := people.Who(t.Context(), "ann", "10.9.9.9:1"); err != nil {
		t.Fatal(err)
	}
	taken := 0
	for second := 1; second <= 600; second++ {
		for i := range allNewTokensPerSecond {
			of, err := people.Who(t.Context(), fmt.Sprintf("system:serviceaccount:b:robot-%d-%d", second, i), fmt.Sprintf("10.0.0.%d:40000", i%10))
			switch {
			case err == nil && strings.HasPrefix(of.Name, "system:serviceaccount:b:"):
				taken++
			case !errors.Is(err, ErrBusy):
				t.Fatal(err)
			}
		}
		if second%100 == 0 {
			if _, err := people.Who(t.Context(), "ann", "10.9.9.9:1"); err != nil {
				t.Errorf("after %d s who is known is answered: %v", second, err)
			}
		}
		now = now.Add(time.Second)
	}
	if most := 600*ArrivalsPerSecond + ArrivalsAtOnce; taken > most || taken < most/2 {
		t.Errorf("%d tokens of one namespace were taken in, want %d at the most", taken, most)
	}
}

// R5.4: whoever has had thousands of good tokens taken in has the API server asked about them no more often than that, and has no answer about others forgotten.
func TestTokensThatAreFamiliarAreAskedAboutSeldom(t *testing.T) {
	t.Parallel()
	now, asked := time.Unix(0, 0), map[string]int{}
	people := New(reviewer{asked: asked}, func() time.Time { return now })
	robot := func(i int) string { return fmt.Sprint("system:serviceaccount:b:robot-", i) }
	const robots = mostIdentities + 100
	for i := range robots {
		if _, err := people.Who(t.Context(), robot(i), "10.0.0.1:40000"); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Second)
	}
	for _, person := range []string{"ann", "system:serviceaccount:monitoring:prometheus"} {
		for range 3 {
			if _, err := people.Who(t.Context(), person, "10.9.9.9:1"); err != nil {
				t.Fatal(err)
			}
			clear(asked)
			taken := 0
			for range 3 {
				for i := range robots {
					switch _, err := people.Who(t.Context(), robot(i), "10.0.0.1:40000"); {
					case err == nil:
						taken++
					case !errors.Is(err, ErrBusy):
						t.Fatal(err)
					}
				}
			}
			if _, err := people.Who(t.Context(), person, "10.9.9.9:1"); err != nil || asked[person] > 0 {
				t.Errorf("it is asked anew who %s is (%v)", person, err)
			}
			if most := ReviewsAtOnce + int(2*identityKept.Seconds()); len(asked) > most || taken == 0 {
				t.Errorf("it was asked about %d tokens of one namespace at once, want %d at the most; %d were answered", len(asked), most, taken)
			}
			now = now.Add(2 * identityKept)
		}
	}
}

// hanging is an API server that does not answer what somebody may do until it is let go.
type hanging struct {
	client.Client
	asked *atomic.Int32 // so many wait for an answer
	goOn  chan struct{}
}

func (h hanging) Create(ctx context.Context, object client.Object, _ ...client.CreateOption) error {
	review, is := object.(*authorizationv1.SubjectAccessReview)
	if !is || review.Spec.ResourceAttributes.Namespace == "" {
		return nil
	}
	h.asked.Add(1)
	defer h.asked.Add(-1)
	select {
	case <-h.goOn:
		review.Status.Allowed = true
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// R5.4: however many people and robots open the page at the same time, few questions about what they see are before the API server at once, and no tenant
// has so many of them that others wait for it.
func TestFewQuestionsAreAskedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var namespaces []string
		for i := range 100 {
			namespaces = append(namespaces, fmt.Sprint("namespace-", i))
		}
		api := hanging{asked: new(atomic.Int32), goOn: make(chan struct{})}
		people := New(api, time.Now)
		answers := make(chan error)
		look := func(name string) {
			go func() {
				seen, err := people.Sees(t.Context(), &Person{Name: name, Token: name}, namespaces)
				if err == nil && len(seen) != len(namespaces) {
					err = fmt.Errorf("%s is told of %d namespaces", name, len(seen))
				}
				answers <- err
			}()
			synctest.Wait()
		}
		const robots, others = 20, 10
		for i := range robots {
			look(fmt.Sprint("system:serviceaccount:b:robot-", i))
		}
		if got := api.asked.Load(); got != reviewsOfOne {
			t.Errorf("%d questions of one namespace are asked at once, want %d", got, reviewsOfOne)
		}
		look("ann")
		if got := api.asked.Load(); got != 2*reviewsOfOne {
			t.Errorf("%d questions are asked at once for two, want %d", got, 2*reviewsOfOne)
		}
		for i := range others {
			look(fmt.Sprint("person-", i))
		}
		if got := api.asked.Load(); got != reviewsAtOnce {
			t.Errorf("%d questions are asked at once in all, want %d", got, reviewsAtOnce)
		}
		close(api.goOn)
		for range robots + 1 + others {
			if err := <-answers; err != nil {
				t.Error(err)
			}
		}
	})
}

// R5.4: who waits for a turn in vain, because the API server does not answer the questions of others, is told that, and waits for no longer than a few seconds.
func TestWhoWaitsForAQuestionInVainIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := hanging{asked: new(atomic.Int32), goOn: make(chan struct{})}
		people := New(api, time.Now)
		answers := make(chan error)
		ask := func(namespace string) {
			_, err := people.May(t.Context(), &Person{Name: "ann", Token: "ann"}, "list", "feeditems", namespace)
			answers <- err
		}
		for i := range reviewsOfOne {
			go ask(fmt.Sprint("namespace-", i))
		}
		synctest.Wait()
		began := time.Now()
		go ask("one-more")
		if err := <-answers; !errors.Is(err, share.ErrCrowded) || time.Since(began) > askTimeout/2 {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		close(api.goOn)
		for range reviewsOfOne {
			if err := <-answers; err != nil {
				t.Error(err)
			}
		}
	})
}
