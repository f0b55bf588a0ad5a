// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/backoff"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/geminitest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/promtest"
)

// watched is a world of which Prometheus scrapes the operator, by the clock of the world.
type watched struct {
	*world
	registry   *prometheus.Registry
	prometheus *promtest.Recording
}

// shows waits until the metrics are as they should be. What the API server has is in the operator's cache a moment later.
func (w *watched) shows(want map[string]float64) {
	w.t.Helper()
	await(w.t, showsInMetrics(w.registry, want))
}

// watchedWorld starts an operator with scripted providers that is scraped.
func watchedWorld(t *testing.T, scripts map[string]*script, change ...func(*world)) *watched {
	t.Helper()
	registry := prometheus.NewRegistry()
	w := scriptedWorld(t, scripts, append(change, func(w *world) { w.metrics, w.inPlace = registry, backoff.InPlace{} })...)
	scraped := &watched{w, registry, promtest.Record(t, w.clock.Now, registry)}
	scraped.shows(map[string]float64{`items{phase="Failed"}`: 0}) // it leads
	return scraped
}

// pass lets so much time pass, and has the metrics scraped every five minutes.
func (w *watched) pass(d time.Duration) {
	w.t.Helper()
	w.prometheus.Scrape()
	for every := 5 * time.Minute; d > 0; d -= every {
		w.clock.Step(min(d, every))
		w.prometheus.Scrape()
	}
}

// calm lets time pass in which nothing is broken, after which no alert fires.
func (w *watched) calm() {
	w.t.Helper()
	w.pass(20 * time.Minute)
	w.prometheus.Firing()
}

// news makes a source with one entry that is processed.
func (w *watched) news(change ...func(*v1alpha1.FeedSource)) *feedtest.Server {
	w.t.Helper()
	web := feedtest.New(w.t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), change...)
	w.itemsInTime("news", allProcessed(1))
	return web
}

// processedOr checks that an item is processed, or has failed for good for a reason.
func processedOr(reason v1alpha1.Reason) func(*v1alpha1.FeedItem) error {
	return func(item *v1alpha1.FeedItem) error {
		if item.Status.Phase == v1alpha1.PhaseProcessed {
			return nil
		}
		return inPhase(v1alpha1.PhaseFailed, reason)(item)
	}
}

// R5.3: a provider that fails ten times in a row, while another one writes in its place, alerts.
func TestTenFailuresInARowAtAProviderAlert(t *testing.T) {
	t.Parallel()
	broken, steady := &script{}, &script{}
	w := watchedWorld(t, map[string]*script{"broken": broken, "steady": steady})
	web := w.news(summarizedBy("broken", "steady"))
	w.calm()
	broken.mu.Lock()
	broken.answer = failsFor(1000, v1alpha1.CategoryAPI)
	broken.mu.Unlock()
	listed := 1
	w.failTenTimes("AIProvider", func(more int) {
		listed += more
		web.List(web.Entries("news", listed)...)
		w.poll("news")
		w.itemsInTime("news", allProcessed(listed))
	})
	w.prometheus.Firing("FeedOperatorProviderFailing")
}

// failTenTimes gives a service something to fail at half an hour after half an hour, until it has failed ten times in a row. Nine times must not alert.
func (w *watched) failTenTimes(kind string, give func(more int)) {
	w.t.Helper()
	give(5) // which opens the circuit
	for range 40 {
		w.pass(31 * time.Minute) // no circuit is open for longer
		failures := w.prometheus.Last("feed_operator_service_failures_in_a_row", map[string]string{"kind": kind})
		if failures >= 10 {
			w.pass(2 * time.Minute)
			return
		}
		if failures == 9 {
			w.prometheus.Firing()
		}
		give(1)
	}
	w.t.Fatalf("no %s has failed ten times in a row", kind)
}

// R5.3: a destination that fails ten times in a row alerts, while others get on.
func TestTenFailuresInARowAtADestinationAlert(t *testing.T) {
	t.Parallel()
	portion.Whole(t, "promtool holds its rule to its cases, and what it is about is tried without alerts")
	w := watchedWorld(t, nil)
	server := w.mastodon()
	w.openDestination("press", server.URL, retries(100))
	web := w.news(postsTo("press"))
	w.calm()
	server.OnPost(func(p *mastodontest.Pending) bool {
		p.Answer(http.StatusServiceUnavailable, "text/html", "busy")
		return true
	})
	other := feedtest.New(t)
	w.source("other", other.FeedURL())
	listed := 1
	w.failTenTimes("FeedDestination", func(more int) {
		listed += more
		other.List(other.Entries("other", listed)...)
		w.poll("other")
		w.itemsInTime("other", allProcessed(listed))
		web.List(web.Entries("news", listed)...)
		w.poll("news")
		w.awaitItems("news", hasItems(listed))
	})
	w.prometheus.Firing("FeedOperatorDestinationFailing")
}

// R5.3: a key that is refused makes no row of failures, because it is not tried again. It alerts all the same, as do the source that has no other provider, and
// the item that has failed for it.
func TestARefusedKeyAlerts(t *testing.T) {
	t.Parallel()
	w := watchedWorld(t, nil)
	server := w.gemini("gemini")
	web := w.news(summarizedBy("gemini"))
	w.calm()
	server.OnCall(func(geminitest.Call) (geminitest.Answer, bool) { return geminitest.KeyInvalid(), true })
	web.List(web.Entries("news", 2)...)
	w.poll("news")
	w.untilItems("news", eachOf(2, processedOr(v1alpha1.ReasonAuthenticationFailed)))
	w.shows(map[string]float64{
		`dead_letters{reason="AuthenticationFailed"}`: 1, `services{kind="AIProvider",state="Down"}`: 1, `sources_without_provider`: 1,
		`service_failures_in_a_row{kind="AIProvider"}`: 0,
	})
	w.pass(2 * time.Minute)
	w.prometheus.Firing("FeedOperatorDeadLetters")
	w.pass(14 * time.Minute)
	w.prometheus.Firing("FeedOperatorDeadLetters", "FeedOperatorProvidersUnavailable", "FeedOperatorServiceDown")
}

// R5.3: one dead letter alerts; and so does another one, hours later, while that is left.
func TestDeadLettersAlertAlsoWhileOneIsLeft(t *testing.T) {
	t.Parallel()
	portion.Whole(t, "promtool holds its rule to its cases, and what it is about is tried without alerts")
	w := watchedWorld(t, nil)
	server := w.mastodon()
	w.openDestination("press", server.URL, retries(0))
	web := w.news(postsTo("press"))
	w.calm()
	server.OnPost(func(p *mastodontest.Pending) bool {
		p.Answer(http.StatusTooManyRequests, "application/json", `{"error":"Too many requests"}`)
		return true
	})
	for n := range 2 {
		web.List(web.Entries("news", n+2)...)
		w.poll("news")
		w.itemsInTime("news", eachOf(n+2, processedOr(v1alpha1.ReasonRetryLimitExceeded)))
		w.shows(map[string]float64{
			`dead_letters{reason="RetryLimitExceeded"}`: float64(n + 1), `items_ended_total{result="failed",retried="true"}`: float64(n + 1),
		})
		w.pass(2 * time.Minute)
		if n > 0 {
			break
		}
		w.prometheus.Firing("FeedOperatorDeadLetters")
		w.pass(3 * time.Hour)
		w.prometheus.Firing("FeedOperatorDeadLetters")
	}
	w.prometheus.Firing("FeedOperatorDeadLetters", "FeedOperatorMoreDeadLetters")
}

// R5.3: a post of which nobody knows whether it was made alerts, by a name of its own.
func TestAnUncertainDeliveryAlerts(t *testing.T) {
	t.Parallel()
	w := watchedWorld(t, nil)
	server := w.mastodon(both(ignoresKeys, writeOnly))
	w.openDestination("press", server.URL)
	web := w.news(postsTo("press"))
	w.calm()
	server.OnPost(func(p *mastodontest.Pending) bool {
		p.Commit()
		p.Reset()
		return true
	})
	web.List(web.Entries("news", 2)...)
	w.poll("news")
	w.itemsInTime("news", eachOf(2, processedOr(v1alpha1.ReasonDeliveryUncertain)))
	w.shows(map[string]float64{`dead_letters{reason="DeliveryUncertain"}`: 1})
	w.pass(2 * time.Minute)
	w.prometheus.Firing("FeedOperatorDeliveryUncertain")
}

// R5.3: a feed that cannot be read alerts when it is stale, and not before.
func TestADeadFeedAlertsWhenItIsStale(t *testing.T) {
	t.Parallel()
	w := watchedWorld(t, nil)
	web := w.news()
	w.calm()
	var dead atomic.Bool
	web.OnRequest(func(rw http.ResponseWriter, r *http.Request) bool {
		if dead.Load() {
			rw.WriteHeader(http.StatusBadGateway)
		}
		return dead.Load()
	})
	dead.Store(true)
	read := w.poll("news").Status.LastSuccessTime
	w.pass(read.Add(3*15*time.Minute + time.Hour).Sub(w.clock.Now()))
	w.pass(14 * time.Minute)
	w.prometheus.Firing()
	w.pass(10 * time.Minute)
	w.prometheus.Firing("FeedOperatorSourceStale")
}

// R5.3: items that wait for nothing but a provider that is not there alert after an hour. One that waits for its own time does not, however long that is.
func TestNothingProcessedAlertsAndAQuietWeekendDoesNot(t *testing.T) {
	t.Parallel()
	portion.Whole(t, "promtool holds its rule to its cases, and what it is about is tried without alerts")
	w := watchedWorld(t, nil)
	server := w.mastodon()
	w.openDestination("press", server.URL)
	web := w.news(postsTo("press"))
	server.OnPost(func(p *mastodontest.Pending) bool {
		p.Header().Set("Retry-After", "172800")
		p.Answer(http.StatusTooManyRequests, "application/json", `{"error":"Too many requests"}`)
		return true
	})
	web.List(web.Entries("news", 3)...)
	w.poll("news")
	w.untilItems("news", func(items []v1alpha1.FeedItem) error {
		waiting := 0
		for i := range items {
			if items[i].Status.Phase == v1alpha1.PhaseDeferred || items[i].Status.Phase == v1alpha1.PhasePending {
				waiting++
			}
		}
		if waiting != 2 || len(server.Posts()) != 1 {
			return fmt.Errorf("%d of %d items wait", waiting, len(items))
		}
		return nil
	})
	w.untilDestination("press", isClosed(v1alpha1.ReasonCoolingDown))
	w.shows(map[string]float64{`items_due`: 0})
	w.pass(5 * time.Hour)
	w.prometheus.Firing()

	other := feedtest.New(t)
	other.List(other.Entries("other", 3)...)
	w.source("other", other.FeedURL(), summarizedBy("nobody"))
	w.awaitItems("other", eachOf(3, waitsFor("nobody")))
	w.shows(map[string]float64{`items_due`: 3, `sources_without_provider`: 1})
	w.pass(55 * time.Minute)
	w.prometheus.Firing("FeedOperatorProvidersUnavailable")
	w.pass(10 * time.Minute)
	w.prometheus.Firing("FeedOperatorProvidersUnavailable", "FeedOperatorNothingProcessed")
}

// R5.3, R5.4: lists and watches of items that are refused alert, though every gauge stays as it was, and the page knows since when. When they succeed again,
// work goes on, and nothing is left of that.
func TestItemsThatCannotBeWatchedAlert(t *testing.T) {
	t.Parallel()
	// Each namespace has a watch of its own, so that there are errors enough before the real waits between two attempts become long.
	w := watchedWorld(t, nil, func(w *world) {
		for range 11 {
			w.others = append(w.others, w.api.Namespace(t))
		}
	})
	web := w.news()
	w.calm()
	w.faults.refuse(func(r *http.Request) bool {
		return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/feeditems")
	})
	refused := 10.0 // at first
	for range 4 {
		await(t, func() error {
			if now := w.errorsOf("feeditems"); now < refused {
				return fmt.Errorf("%g lists and watches were refused, and not %g", now, refused)
			}
			return nil
		})
		w.prometheus.Scrape()
		refused = w.errorsOf("feeditems") + 1
		w.clock.Step(2 * time.Minute)
	}
	w.shows(map[string]float64{`items{phase="Processed"}`: 1, `items_due`: 0, `api_list_watch_errors_total{resource="feedsources"}`: 0})
	w.prometheus.Firing("FeedOperatorWatchFailing")
	if silence := w.watches.Silence([]string{w.namespace}); silence < 6*time.Minute {
		t.Errorf("it is known for %s that nothing is heard of the items", silence)
	}
	w.faults.refuse(nil)
	web.List(web.Entries("news", 2)...)
	w.poll("news")
	w.itemsInTime("news", allProcessed(2))
	await(t, func() error {
		if silence := w.watches.Silence(append(w.others, w.namespace)); silence > 0 {
			return fmt.Errorf("nothing is heard of some namespaces for %s", silence)
		}
		return nil
	})
	w.calm()
}

// errorsOf is how many lists and watches of a resource have failed.
func (w *watched) errorsOf(resource string) (failed float64) {
	w.t.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == "feed_operator_api_list_watch_errors_total" && labelsOf(metric) == fmt.Sprintf("{resource=%q}", resource) {
				failed += metric.GetCounter().GetValue()
			}
		}
	}
	return failed
}

// R5.3: a queue that has more than a hundred items, and twice those of the day before, alerts after half an hour.
func TestAQueueThatGrowsAlerts(t *testing.T) {
	t.Parallel()
	portion.Whole(t, "promtool holds its rule to its cases, and what it is about is tried without alerts")
	w := watchedWorld(t, nil)
	w.news(func(source *v1alpha1.FeedSource) { source.Spec.Interval = &metav1.Duration{Duration: 24 * time.Hour} })
	w.prometheus.Scrape()
	w.clock.Step(12 * time.Hour)
	w.calm()
	many := feedtest.New(t)
	many.List(many.Entries("many", 101)...)
	w.source("many", many.FeedURL(), summarizedBy("nobody"))
	w.awaitItems("many", hasItems(101))
	w.shows(map[string]float64{`items{phase="Unprocessed"}`: 101, `sources_without_provider`: 1})
	w.pass(5 * time.Minute)
	w.prometheus.Firing()
	w.pass(28 * time.Minute)
	w.prometheus.Firing("FeedOperatorQueueGrowing", "FeedOperatorProvidersUnavailable")
}

// R5.3: an operator that has ended says nothing any more; that alerts.
func TestAnOperatorThatHasEndedAlerts(t *testing.T) {
	t.Parallel()
	w := watchedWorld(t, nil)
	w.news()
	w.calm()
	w.stop()
	w.clock.Step(time.Minute)
	w.prometheus.Gone()
	w.clock.Step(14 * time.Minute)
	w.prometheus.Gone()
	w.prometheus.Firing()
	w.clock.Step(2 * time.Minute)
	w.prometheus.Gone()
	w.prometheus.Firing("FeedOperatorMetricsAbsent")
}
