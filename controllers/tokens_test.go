// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/geminitest"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// tokensPerDay limits a provider.
func tokensPerDay(tokens int64) func(*v1alpha1.AIProvider) {
	return func(described *v1alpha1.AIProvider) { described.Spec.TokensPerDay = &tokens }
}

// setTokensPerDay changes the limit of a provider; "null" takes it away.
func (w *world) setTokensPerDay(name, limit string) {
	w.t.Helper()
	w.changeProvider(name, fmt.Sprintf(`{"spec":{"tokensPerDay":%s}}`, limit))
}

// changeProvider merges a patch into a provider.
func (w *world) changeProvider(name, patch string) {
	w.t.Helper()
	described := &v1alpha1.AIProvider{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	if err := w.client.Patch(w.t.Context(), described, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		w.t.Fatal(err)
	}
}

// tokensAreSpent checks that a provider is closed for its spec.tokensPerDay until a time, after calls
// that have cost so much.
func tokensAreSpent(until time.Time, used int64) func(*v1alpha1.AIProvider) error {
	return func(p *v1alpha1.AIProvider) error {
		if err := isNotReady(v1alpha1.ReasonTokensPerDaySpent)(p); err != nil {
			return err
		}
		stands, today := p.Status.Availability, p.Status.TokensToday
		if stands == nil || stands.State != "QuotaSpent" || stands.Failures != 0 || !stands.Until.Time.Equal(until) {
			return fmt.Errorf("availability %+v, want until %s", stands, until)
		}
		if today == nil || today.Used != used || today.Reserved < used || today.Day != until.Add(-time.Second).Format(time.DateOnly) {
			return fmt.Errorf("tokens today %+v, want %d", today, used)
		}
		for _, condition := range p.Status.Conditions {
			if condition.Type == v1alpha1.ConditionReady && !strings.Contains(condition.Message, "spec.tokensPerDay") {
				return fmt.Errorf("message %q", condition.Message)
			}
		}
		return nil
	}
}

// calledTimes checks how often a server was called.
func calledTimes(server *geminitest.Server, n int) func() error {
	return func() error {
		if got := len(server.Calls()); got != n {
			return fmt.Errorf("%d calls, want %d", got, n)
		}
		return nil
	}
}

func (w *world) midnight() time.Time {
	return w.clock.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
}

// R3.5, R3.9, R3.12: when the tokens of a day are used up, the provider rests until midnight UTC, and
// says why, as do its items. Neither a restart nor a crash forgets that; the next day begins by
// itself.
func TestTokensPerDayEndWithTheDay(t *testing.T) {
	t.Parallel()
	const n = 3
	w := newWorld(t)
	w.clock.SetTime(w.midnight().Add(9 * time.Hour))
	server := w.gemini("gemini", tokensPerDay(1)) // room for one call, whatever it costs
	web := feedtest.New(t)
	web.List(web.Entries("news", n)...)
	w.source("news", web.FeedURL(), summarizedBy("gemini"))
	midnight := w.midnight()
	items := w.awaitItems("news", processed(n, 1))
	cost := tokensOf(items)
	w.untilProvider("gemini", tokensAreSpent(midnight, cost))
	more := feedtest.New(t)
	more.List(more.Entries("more", 1)...)
	w.source("more", more.FeedURL(), summarizedBy("gemini"))
	w.awaitItem("more", waitsFor("spec.tokensPerDay"))

	w.restart()
	w.clock.Step(time.Hour)
	w.untilProvider("gemini", tokensAreSpent(midnight, cost))
	w.crash()
	w.untilProvider("gemini", tokensAreSpent(midnight, cost))
	w.clock.SetTime(midnight.Add(-time.Second))
	w.lookAtItems("news")
	w.untilProvider("gemini", tokensAreSpent(midnight, cost))
	if err := calledTimes(server, 1)(); err != nil {
		t.Fatal(err)
	}

	w.clock.SetTime(midnight)
	await(t, calledTimes(server, 2))
	await(t, func() (err error) { // the other source's item may have come first
		if items, err = w.allItems(); err != nil {
			return err
		}
		return processed(n+1, 2)(items)
	})
	w.untilProvider("gemini", tokensAreSpent(midnight.Add(24*time.Hour), tokensOf(items)-cost))
	w.lookAtItems("news")
	if err := calledTimes(server, 2)(); err != nil {
		t.Error(err)
	}
	for _, item := range items {
		if item.Status.RetryCount != 0 || item.Status.FirstFailureTime != nil {
			t.Errorf("waiting was counted: %+v", item.Status)
		}
	}
}

// allItems lists the items of all sources.
func (w *world) allItems() ([]v1alpha1.FeedItem, error) {
	var list v1alpha1.FeedItemList
	err := w.client.List(w.t.Context(), &list, client.InNamespace(w.namespace))
	return list.Items, err
}

// processed checks that so many of n items have a summary.
func processed(n, done int) func([]v1alpha1.FeedItem) error {
	return func(items []v1alpha1.FeedItem) error {
		got := 0
		for i := range items {
			if items[i].Status.Summary != nil {
				got++
			}
		}
		if got != done {
			return fmt.Errorf("%d of %d processed, want %d", got, len(items), done)
		}
		return hasItems(n)(items)
	}
}

func tokensOf(items []v1alpha1.FeedItem) (sum int64) {
	for i := range items {
		if summary := items[i].Status.Summary; summary != nil {
			sum += summary.Tokens
		}
	}
	return sum
}

// R3.9: raising the limit, or taking it away, ends the pause at once; lowering it below what is used
// begins one.
func TestTheLimitOfTokensCanBeChanged(t *testing.T) {
	t.Parallel()
	const n = 6
	w := newWorld(t)
	server := w.gemini("gemini", tokensPerDay(1))
	web := feedtest.New(t)
	web.List(web.Entries("news", n)...)
	w.source("news", web.FeedURL(), summarizedBy("gemini"))
	cost := tokensOf(w.awaitItems("news", processed(n, 1)))
	w.untilProvider("gemini", tokensAreSpent(w.midnight(), cost))
	w.setTokensPerDay("gemini", fmt.Sprint(2*cost+cost/2)) // room for one call more, not for two
	used := tokensOf(w.awaitItems("news", processed(n, 2)))
	w.untilProvider("gemini", tokensAreSpent(w.midnight(), used))
	w.setTokensPerDay("gemini", "null")
	w.awaitItems("news", allProcessed(n))
	w.untilProvider("gemini", isReady)
	w.setTokensPerDay("gemini", "5")
	used = tokensOf(w.awaitItems("news", allProcessed(n)))
	w.untilProvider("gemini", tokensAreSpent(w.midnight(), used))
	if err := calledTimes(server, n)(); err != nil {
		t.Error(err)
	}
}

// R3.6, R3.9: who has another provider goes on to that one. What somebody has written on the status
// counts after a restart, and does no harm.
func TestTheNextProviderTakesOverWhenTokensAreSpent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.gemini("gemini", tokensPerDay(1_000_000))
	w.provider("local", func(*v1alpha1.AIProvider) {})
	w.untilProvider("local", isReady)
	found := w.untilProvider("gemini", isReady)
	w.stop()
	patch := fmt.Appendf(nil, `{"status":{"tokensToday":{"day":"9999-99-99","reserved":%d}}}`, int64(1)<<62)
	if err := w.client.Status().Patch(t.Context(), found, client.RawPatch(types.MergePatchType, patch)); err != nil {
		t.Fatal(err)
	}
	w.start()
	w.untilProvider("gemini", isNotReady(v1alpha1.ReasonTokensPerDaySpent))
	web := feedtest.New(t)
	web.List(web.Entries("news", 3)...)
	w.source("news", web.FeedURL(), summarizedBy("gemini", "local"))
	for _, item := range w.awaitItems("news", allProcessed(3)) {
		if by := item.Status.Summary.Provider; by != "local" {
			t.Errorf("%s is by %s", item.Name, by)
		}
	}
	if err := calledTimes(server, 0)(); err != nil {
		t.Error(err)
	}
	w.clock.SetTime(w.midnight())
	w.untilProvider("gemini", isReady)
}

// R3.9: a whole day's tokens are spent in about 20 writes, not one for each call, and what is spent
// has been reserved on the status before.
func TestADayOfTokensCostsFewWrites(t *testing.T) {
	t.Parallel()
	portion.Whole(t, "it takes a day")
	const n, room = 90, 60
	w := newWorld(t)
	w.clock.SetTime(w.midnight().Add(time.Hour))
	server := w.gemini("gemini", tokensPerDay(1))
	web := feedtest.New(t)
	entries := web.Entries("news", n)
	web.List(entries...)
	w.source("news", web.FeedURL(), summarizedBy("gemini"))
	cost := tokensOf(w.awaitItems("news", processed(n, 1)))
	w.untilProvider("gemini", isNotReady(v1alpha1.ReasonTokensPerDaySpent))
	var writes, unreserved atomic.Int32
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/aiproviders/") {
			writes.Add(1)
		}
		return nil
	})
	server.OnCall(func(geminitest.Call) (geminitest.Answer, bool) {
		var p v1alpha1.AIProvider
		err := w.client.Get(t.Context(), types.NamespacedName{Namespace: w.namespace, Name: "gemini"}, &p)
		began := int64(len(server.Calls())) // this one too
		if today := p.Status.TokensToday; err != nil || today == nil || today.Reserved < began*cost*9/10 {
			unreserved.Add(1)
		}
		return geminitest.Answer{}, false
	})
	limit := room * cost
	w.setTokensPerDay("gemini", fmt.Sprint(limit))
	items := w.awaitItems("news", func(items []v1alpha1.FeedItem) error {
		if used := tokensOf(items); used < limit-2*cost || len(server.Calls()) > len(items) {
			return fmt.Errorf("%d tokens used of %d", used, limit)
		}
		return nil
	})
	w.untilProvider("gemini", isNotReady(v1alpha1.ReasonTokensPerDaySpent))
	if used := tokensOf(items); used > limit+cost {
		t.Errorf("%d tokens used of %d", used, limit)
	}
	if got := writes.Load(); got > 30 {
		t.Errorf("%d writes of the provider for %d calls", got, len(server.Calls()))
	}
	if got := unreserved.Load(); got > 0 {
		t.Errorf("%d calls were made with tokens that were not reserved", got)
	}
}

// R3.9: without a limit the tokens of the day are counted all the same, for whoever looks.
func TestTokensOfTheDayAreCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.gemini("gemini")
	web := feedtest.New(t)
	web.List(web.Entries("news", 2)...)
	w.source("news", web.FeedURL(), summarizedBy("gemini"))
	used := tokensOf(w.awaitItems("news", allProcessed(2)))
	today := w.clock.Now().UTC().Format(time.DateOnly)
	w.untilProvider("gemini", func(p *v1alpha1.AIProvider) error {
		if got := p.Status.TokensToday; got == nil || got.Used != used || got.Day != today {
			return fmt.Errorf("tokens today %+v, want %d", got, used)
		}
		if p.Status.Tokens != used {
			return errors.New("tokens in all")
		}
		return isReady(p)
	})
	w.clock.SetTime(w.midnight())
	w.untilProvider("gemini", func(p *v1alpha1.AIProvider) error {
		if got := p.Status.TokensToday; got.Used != 0 || got.Day == today || p.Status.Tokens != used {
			return fmt.Errorf("tokens %d, today %+v", p.Status.Tokens, got)
		}
		return nil
	})
}
