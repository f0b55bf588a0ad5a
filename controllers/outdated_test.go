// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/geminitest"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// at has a world begin at an API server of its own.
func at(api *apitest.Server) func(*world) {
	return func(w *world) { w.api, w.client, w.namespace = api, api.Client, api.Namespace(w.t) }
}

// isOutdated checks that conditions say that a CRD is older than the operator, and what is to be done.
func isOutdated(conditions []metav1.Condition, words ...string) error {
	if err := hasReady(conditions, metav1.ConditionFalse, v1alpha1.ReasonCRDOutdated); err != nil {
		return err
	}
	for _, condition := range conditions {
		for _, word := range append(words, "kubectl apply -k config/crd") {
			if condition.Type == v1alpha1.ConditionReady && !strings.Contains(condition.Message, word) {
				return fmt.Errorf("%q is not said: %s", word, condition.Message)
			}
		}
	}
	return nil
}

// outdatedEvents counts the Events about an object that say so.
func (w *world) outdatedEvents(name string) (count int) {
	w.t.Helper()
	var all eventsv1.EventList
	if err := w.client.List(w.t.Context(), &all, client.InNamespace(w.namespace)); err != nil {
		w.t.Fatal(err)
	}
	for _, event := range all.Items {
		if event.Reason == v1alpha1.ReasonCRDOutdated && event.Regarding.Name == name {
			count++
		}
	}
	return count
}

// R2.8, R4.4: an operator whose CRDs are older says once what is missing where, begins nothing that could not be recorded, and
// goes on by itself once they are updated.
func TestAnOperatorNewerThanItsCRDsBeginsNothing(t *testing.T) {
	t.Parallel()
	portion.Leave(t, left) // before an API server of its own is started
	api := apitest.StartOlder(t, apitest.Without{
		"FeedItem":   {"status.deliveries[].notAfter", "status.summary.text"},
		"AIProvider": {"status.tokensToday"},
	})
	var complaints atomic.Int32
	w := newWorld(t, at(api), func(w *world) {
		w.log = funcr.New(func(_, line string) {
			if strings.Contains(line, "paused the work that needs it") {
				complaints.Add(1)
			}
		}, funcr.Options{})
	})
	press := w.mastodon()
	w.openDestination("press", press.URL) // its own CRD is as it should be
	gemini := w.gemini("gemini")
	web := feedtest.New(t)
	web.List(web.Entries("news", 2)...)
	w.source("news", web.FeedURL(), summarizedBy("gemini"), postsTo("press"))
	says := func(source *v1alpha1.FeedSource) error {
		return isOutdated(source.Status.Conditions, "feeditems.feeds.feed-operator.io", "status.deliveries[].notAfter", "status.summary.text")
	}
	w.untilSource("news", says)
	w.untilProvider("gemini", func(p *v1alpha1.AIProvider) error {
		return isOutdated(p.Status.Conditions, "aiproviders.feeds.feed-operator.io", "status.tokensToday")
	})
	for range 3 {
		w.clock.Step(time.Minute)
		w.lookAt(controllers.SourceKey, client.ObjectKey{Namespace: w.namespace, Name: "news"})
	}
	w.restart()
	w.untilSource("news", says)
	if web.Hits("/feed.xml") != 0 || len(gemini.Calls()) != 0 || len(press.Posts()) != 0 {
		t.Errorf("%d polls, %d calls, %d posts", web.Hits("/feed.xml"), len(gemini.Calls()), len(press.Posts()))
	}
	await(t, func() error {
		if got := w.outdatedEvents("news"); got != 1 {
			return fmt.Errorf("%d Events", got)
		}
		return nil
	})
	if got := complaints.Load(); got != 2*2 {
		t.Errorf("%d complaints in the log of two starts with two CRDs", got)
	}

	api.Install(t, nil)
	w.untilSourceIn(time.Minute, "news", isReadySource)
	w.minutesPass(5, "news", allProcessed(2))
	w.untilProvider("gemini", isReady)
	posts(t, press, 2)
}

// R2.8, R4.4: the CRDs are replaced by older ones while the operator runs, so that it cannot know: the claim of a post is
// refused whole, and not made without its end. What was paid for is written down all the same.
func TestAClaimThatWouldLoseAFieldIsNoClaim(t *testing.T) {
	t.Parallel()
	portion.Leave(t, left) // before an API server of its own is started
	api := apitest.StartOlder(t, nil)
	w := newWorld(t, at(api))
	press := w.mastodon()
	closed := w.openDestination("press", press.URL)
	w.suspend(closed, true)
	w.untilDestination("press", isClosed(v1alpha1.ReasonSuspended))
	web := feedtest.New(t)
	web.List(web.Entries("news", 3)...)
	w.source("news", web.FeedURL(), postsTo("press"))
	w.awaitItems("news", eachOf(3, waitsFor(`"press"`)))

	// An item that is being summarized meanwhile, for a destination that is open.
	desk := w.mastodon()
	w.openDestination("desk", desk.URL)
	gemini := w.gemini("gemini")
	w.untilProvider("gemini", isReady)
	asked, goOn := holdsCalls(gemini)
	other := feedtest.New(t)
	other.List(other.Entries("other", 1)...)
	w.source("other", other.FeedURL(), summarizedBy("gemini"), postsTo("desk"))
	<-asked

	api.Install(t, apitest.Without{"FeedItem": {"status.deliveries[].notAfter"}})
	w.untilDropped(`{"deliveries":[{"destination":"x","state":"Intent","notAfter":"2020-01-01T00:00:00Z"}]}`)
	close(goOn)
	w.untilItem("other", func(item *v1alpha1.FeedItem) error {
		if item.Status.Summary == nil {
			return errNotYet
		}
		return inState("desk", v1alpha1.DeliveryQueued)(item)
	})
	w.suspend(closed, false)
	w.untilSource("news", func(source *v1alpha1.FeedSource) error {
		return isOutdated(source.Status.Conditions, "feeditems.feeds.feed-operator.io", "status.deliveries[].notAfter")
	})
	w.lookAtAll("news")
	w.lookAtAll("other")
	w.clock.Step(2 * time.Minute)
	w.untilItems("news", eachOf(3, inState("press", v1alpha1.DeliveryQueued)))
	if len(press.Posts()) != 0 || len(desk.Posts()) != 0 {
		t.Errorf("%d and %d posts", len(press.Posts()), len(desk.Posts()))
	}

	api.Install(t, nil)
	w.untilSourceIn(time.Minute, "news", isReadySource)
	// What the API server publishes is ahead of what it keeps, for a moment: then a claim is refused once more, and it is asked a minute later.
	w.minutesPass(5, "news", allProcessed(3))
	w.minutesPass(5, "other", allProcessed(1))
	posts(t, press, 3)
	posts(t, desk, 1)
	if got := len(gemini.Calls()); got != 1 {
		t.Errorf("%d calls for one summary", got)
	}
}

// holdsCalls has the calls of a model wait for goOn to be closed. Asked hears of the first.
func holdsCalls(gemini *geminitest.Server) (asked, goOn chan struct{}) {
	goOn, asked = make(chan struct{}), make(chan struct{}, 1)
	gemini.OnCall(func(geminitest.Call) (geminitest.Answer, bool) {
		asked <- struct{}{}
		<-goOn
		return geminitest.Answer{}, false
	})
	return asked, goOn
}

// lookAtAll has the operator look at the items of a source.
func (w *world) lookAtAll(source string) {
	w.t.Helper()
	items, err := w.items(w.t.Context(), source)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range items {
		w.lookAt(controllers.ItemKey, client.ObjectKeyFromObject(&items[i]))
	}
}

// untilDropped waits until the API server does not know a field of the status of an item any more.
func (w *world) untilDropped(status string) {
	w.t.Helper()
	apitest.Eventually(w.t, func(ctx context.Context) error {
		item := &unstructured.Unstructured{}
		if err := item.UnmarshalJSON(fmt.Appendf(nil, `{"apiVersion":%q,"kind":"FeedItem","metadata":{"namespace":%q,"name":"probe"},`+
			`"spec":{"sourceRef":{"name":"x","uid":"x"}},"status":%s}`, v1alpha1.GroupVersion.String(), w.namespace, status)); err != nil {
			return err
		}
		err := w.client.Create(ctx, item, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
		if err != nil && strings.Contains(err.Error(), "unknown field") {
			return nil
		}
		return errors.Join(errors.New("the field is known"), err)
	})
}

// R1.8, R4.2: the CRDs are replaced by older ones while the operator runs. What was posted is not written without the posts, so nothing is posted again, also
// not for a source that is applied anew and after a restart.
func TestPostsOutliveACRDThatDoesNotKnowThem(t *testing.T) {
	t.Parallel()
	portion.Whole(t, "it starts an API server of its own")
	const n = 3
	api := apitest.StartOlder(t, nil)
	w := newWorld(t, at(api))
	press := w.mastodon()
	w.openDestination("press", press.URL)
	web := feedtest.New(t)
	web.List(web.Entries("news", n)...)
	w.source("news", web.FeedURL(), postsTo("press"))
	w.awaitItems("news", allProcessed(n))
	api.Install(t, apitest.Without{"FeedMemory": {"posted"}})
	outdated := func(source *v1alpha1.FeedSource) error {
		return isOutdated(source.Status.Conditions, "feedmemories.feeds.feed-operator.io", "posted")
	}
	w.untilSourceIn(time.Minute, "news", outdated)
	w.clock.Step(10 * time.Minute)
	w.untilSource("news", outdated)
	api.Install(t, nil)
	w.untilSourceIn(time.Minute, "news", isReadySource)
	await(t, func() error {
		var memories v1alpha1.FeedMemoryList
		if err := w.client.List(t.Context(), &memories, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		for i := range memories.Items {
			if kept := memories.Items[i].Posted; kept != nil && kept.Posts == n {
				return nil
			}
		}
		w.clock.Step(time.Second)
		return errors.New("the posts are not written")
	})
	w.remove("news")
	w.restart()
	w.source("news", web.FeedURL(), postsTo("press"))
	w.minutesPass(5, "news", allSkipped(n, "press"))
	posts(t, press, n)
}

// R3.14: the CRDs are replaced by older ones while a summary is made. It is kept until it can be written, and not made again.
func TestASummaryOutlivesACRDThatDoesNotKnowIt(t *testing.T) {
	t.Parallel()
	portion.Whole(t, "it starts an API server of its own")
	api := apitest.StartOlder(t, nil)
	w := newWorld(t, at(api))
	gemini := w.gemini("gemini")
	w.untilProvider("gemini", isReady)
	asked, goOn := holdsCalls(gemini)
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("gemini"))
	<-asked
	api.Install(t, apitest.Without{"FeedItem": {"status.summary"}})
	w.untilDropped(`{"summary":{"text":"x"}}`)
	close(goOn)
	w.untilSource("news", func(source *v1alpha1.FeedSource) error {
		return isOutdated(source.Status.Conditions, "feeditems.feeds.feed-operator.io", "status.summary")
	})
	w.lookAtAll("news")
	w.clock.Step(2 * time.Minute)
	api.Install(t, nil)
	w.untilSourceIn(time.Minute, "news", isReadySource)
	w.minutesPass(15, "news", allProcessed(1))
	if got := len(gemini.Calls()); got != 1 {
		t.Errorf("%d calls for one summary", got)
	}
}

// R2.8: the CRDs are replaced by older ones while there is nothing to write. That is noticed within minutes, and so is that they are as they should be.
func TestOlderCRDsAreNoticedWhileNothingIsWritten(t *testing.T) {
	t.Parallel()
	portion.Whole(t, "it starts an API server of its own")
	api := apitest.StartOlder(t, nil)
	w := newWorld(t, at(api))
	w.provider("local", func(*v1alpha1.AIProvider) {})
	w.untilProvider("local", isReady)
	minutes := 0
	until := func(check func(*v1alpha1.AIProvider) error) func(*v1alpha1.AIProvider) error {
		return func(p *v1alpha1.AIProvider) error {
			if err := check(p); err != nil {
				w.clock.Step(time.Minute)
				minutes++
				return fmt.Errorf("after %d minutes: %w", minutes, err)
			}
			return nil
		}
	}
	api.Install(t, apitest.Without{"AIProvider": {"status.tokensToday"}})
	w.untilProvider("local", until(func(p *v1alpha1.AIProvider) error {
		return isOutdated(p.Status.Conditions, "aiproviders.feeds.feed-operator.io", "status.tokensToday")
	}))
	api.Install(t, nil)
	w.untilProvider("local", until(isReady))
}
