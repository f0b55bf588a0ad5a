// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package people

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
