// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/aitest"
	"github.com/feed-operator/feed-operator/internal/anthropictest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
	"github.com/feed-operator/feed-operator/internal/openaitest"
)

// declined is how a service refuses a call, and for how long it asks not to be called.
type declined struct {
	answer   aitest.Answer
	category v1alpha1.Category
	pause    time.Duration
}

// ledger is what a service itself knows of its calls.
type ledger struct {
	now func() time.Time
	// refusals of the first calls, one for each; nil where it answers, as it does in the end.
	refusals []*declined

	mu       sync.Mutex
	calls    int64
	answered int64
	failures map[v1alpha1.Category]int64
	until    time.Time // it has asked not to be called
	early    int       // calls before that
}

func (l *ledger) take(aitest.Call) (aitest.Answer, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, call := l.now(), int(l.calls)
	l.calls++
	if now.Before(l.until) {
		l.early++
	}
	if call >= len(l.refusals) || l.refusals[call] == nil {
		l.answered++
		return aitest.Answer{}, false
	}
	refused := l.refusals[call]
	l.failures[refused.category]++
	l.until = now.Add(refused.pause)
	return refused.answer, true
}

// agrees reports whether a provider counts what its service knows.
func (l *ledger) agrees(provider *v1alpha1.AIProvider) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	counted := map[v1alpha1.Category]int64{}
	for _, failure := range provider.Status.Failures {
		counted[failure.Category] = failure.Count
	}
	if provider.Status.Calls != l.calls || !maps.Equal(counted, l.failures) {
		return fmt.Errorf("%s counts %d calls and %v, but there were %d and %v", provider.Name, provider.Status.Calls, counted, l.calls, l.failures)
	}
	return nil
}

// R3.6, R3.9, R4.4: services that refuse calls, and the account that is posted to, know what the operator knows: each
// call is counted with what became of it, none comes while a service has asked not to be called, each summary that was asked
// for is there, and each post belongs to one item.
func TestWhatTheServicesSawIsWhatTheOperatorHasCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	throttled := func(pause time.Duration) *declined {
		return &declined{anthropictest.Throttled(pause), v1alpha1.CategoryRateLimit, pause}
	}
	overloaded := &declined{openaitest.Overloaded(), v1alpha1.CategoryAPI, 0}
	ledgers := map[string]*ledger{
		// It is waited for once, and the second time it is not.
		"claude": {refusals: []*declined{nil, throttled(8 * time.Second), nil, throttled(75 * time.Second)}},
		// It fails until its circuit opens, and leaves the rest to the built-in summarizer.
		"gpt": {refusals: []*declined{nil, overloaded, overloaded, overloaded, overloaded, overloaded}},
	}
	for name, kind := range map[string]service{"claude": ofAnthropic, "gpt": ofOpenAI} {
		ledgers[name].now, ledgers[name].failures = w.clock.Now, map[v1alpha1.Category]int64{}
		server := w.service(kind, name, func(described *v1alpha1.AIProvider) { described.Spec.MaxConcurrent = new(int32(1)) })
		server.OnCall(ledgers[name].take)
		w.untilProvider(name, isReady)
	}
	w.provider("built-in", func(*v1alpha1.AIProvider) {})
	account := w.mastodon()
	w.openDestination("press", account.URL)
	web := feedtest.New(t)
	const articles = 8
	web.List(web.Entries("news", articles)...)
	w.source("news", web.FeedURL(), summarizedBy("claude", "gpt", "built-in"), postsTo("press"), func(source *v1alpha1.FeedSource) {
		source.Spec.InitialItems = new(int32(articles))
	})

	items := w.itemsInTime("news", allProcessed(articles))
	wrote := map[string]int64{}
	for i := range items {
		wrote[items[i].Status.Summary.Provider]++
	}
	for name, l := range ledgers {
		w.timePasses(func() error { // what is counted is written from time to time
			var provider v1alpha1.AIProvider
			if err := w.client.Get(t.Context(), types.NamespacedName{Namespace: w.namespace, Name: name}, &provider); err != nil {
				return err
			}
			return l.agrees(&provider)
		})
		if l.early > 0 || wrote[name] != l.answered {
			t.Errorf("%s was called %d times too early, and asked for %d summaries, of which %d are there", name, l.early, l.answered, wrote[name])
		}
	}
	for _, name := range []string{"claude", "gpt", "built-in"} {
		if wrote[name] == 0 {
			t.Errorf("%s wrote nothing: %v", name, wrote)
		}
	}
	if wrong := notPostedOnce(items, account.Posts()); len(wrong) > 0 {
		t.Errorf("the posts are not those of the items:\n  %s", strings.Join(wrong, "\n  "))
	}
}

// notPostedOnce lists items whose post is missing or about something else, and posts that belong to none or to another's too.
func notPostedOnce(items []v1alpha1.FeedItem, posts []mastodontest.Post) (wrong []string) {
	left := map[string]mastodontest.Post{}
	for _, post := range posts {
		left[post.ID] = post
	}
	for i := range items {
		for _, row := range items[i].Status.Deliveries {
			if post, is := left[row.ID]; !is || !strings.Contains(post.Text, items[i].Spec.URL) {
				wrong = append(wrong, fmt.Sprintf("%s is said to be posted as %q", items[i].Name, row.ID))
			}
			delete(left, row.ID)
		}
	}
	for id, post := range left {
		wrong = append(wrong, fmt.Sprintf("%s belongs to no item: %q", id, post.Text))
	}
	return wrong
}
