// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/polling"
)

// isRead checks that a feed was read, with what is in force now.
func isRead(source *v1alpha1.FeedSource) error {
	if source.Status.ObservedGeneration != source.Generation {
		return errors.New("not looked at yet")
	}
	return hasReady(source.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
}

// pollsEvery checks the interval in force.
func pollsEvery(want time.Duration) func(*v1alpha1.FeedSource) error {
	return func(source *v1alpha1.FeedSource) error {
		if err := isRead(source); err != nil {
			return err
		}
		if got := source.Status.EffectiveInterval.Duration; got != want {
			return fmt.Errorf("polled every %s, want %s", got, want)
		}
		return nil
	}
}

// R1.3: a feed that says for how long it does not change is polled less often, also when it is
// unchanged, and after a restart; one that says less than the interval is polled as often as before.
func TestAFeedThatSaysHowLongItStaysIsPolledLessOften(t *testing.T) {
	t.Parallel()
	rss := func(rw http.ResponseWriter, ttl string) {
		rw.Header().Set("ETag", `"1"`)
		_, _ = fmt.Fprintf(rw, `<rss version="2.0"><channel><title>News</title><ttl>%s</ttl></channel></rss>`, ttl)
	}
	for name, test := range map[string]struct {
		first http.HandlerFunc
		want  time.Duration
	}{
		"by its ttl": {func(rw http.ResponseWriter, _ *http.Request) { rss(rw, "120") }, 2 * time.Hour},
		"by max-age": {func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Cache-Control", "max-age=3600")
			rss(rw, "30")
		}, time.Hour},
		"by Expires": {func(rw http.ResponseWriter, _ *http.Request) { expireIn(rw, 45*time.Minute); rss(rw, "") }, 45 * time.Minute},
		"for a year": {func(rw http.ResponseWriter, _ *http.Request) { rss(rw, "525600") }, 24 * time.Hour},
		"by less than it is": {func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Cache-Control", "max-age=60")
			rss(rw, "5")
		}, 15 * time.Minute},
		"and is not to be kept": {func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Cache-Control", "no-cache, max-age=3600")
			rss(rw, "")
		}, 15 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			web := feedtest.New(t)
			web.OnRequest(func(rw http.ResponseWriter, r *http.Request) bool {
				if r.Header.Get("If-None-Match") != "" {
					rw.WriteHeader(http.StatusNotModified)
				} else {
					test.first(rw, r)
				}
				return true
			})
			w := newWorld(t)
			w.source("news", web.FeedURL())
			source := w.untilSource("news", pollsEvery(test.want))
			if lengthened := strings.Contains(readyOfSource(source).Message, "spec.interval is 15m"); lengthened != (test.want > 15*time.Minute) {
				t.Errorf("condition %+v", readyOfSource(source))
			}

			// The next poll is at its time, and not before it, also by another operator.
			w.restart()
			next := slotAfter(source, test.want)
			w.clock.SetTime(next.Add(-time.Second))
			w.lookAtSource("news")
			if polls := web.Hits("/feed.xml"); polls != 1 {
				t.Fatalf("polled %d times before it was time", polls)
			}
			w.clock.SetTime(begun(next))
			w.untilAskedFor(web, 2)
		})
	}
}

// slotAfter is when a source is polled after its first poll, with an interval.
func slotAfter(source *v1alpha1.FeedSource, interval time.Duration) time.Time {
	last := source.Status.LastPollTime.Time
	if interval > source.Interval() { // not before what the feed has said, but for a tenth
		last = last.Add(interval - interval/10)
	}
	return polling.NextSlot(string(source.UID), interval, last)
}

func expireIn(rw http.ResponseWriter, d time.Duration) {
	now := time.Now().UTC()
	rw.Header().Set("Date", now.Format(http.TimeFormat))
	rw.Header().Set("Expires", now.Add(d).Format(http.TimeFormat))
}

// lookAtSource has the operator look at a source, and waits until it has.
func (w *world) lookAtSource(name string) {
	w.t.Helper()
	w.lookAt(controllers.SourceKey, types.NamespacedName{Namespace: w.namespace, Name: name})
	w.poll(w.marker()) // looked at after it
}

// marker is a source of another host, whose poll shows that what was looked at before has happened.
func (w *world) marker() string {
	w.t.Helper()
	if w.marks == nil {
		w.marks = feedtest.NewAt(w.t, "127.0.0.99")
		w.source("marker", w.marks.FeedURL())
	}
	return "marker"
}

// untilAskedFor waits until a feed was asked for n times.
func (w *world) untilAskedFor(web *feedtest.Server, n int) {
	w.t.Helper()
	apitest.Eventually(w.t, func(ctx context.Context) error {
		if polls := web.Hits("/feed.xml"); polls != n {
			var sources v1alpha1.FeedSourceList
			if err := w.client.List(ctx, &sources, client.InNamespace(w.namespace)); err != nil {
				return err
			}
			for i := range sources.Items {
				w.lookAt(controllers.SourceKey, client.ObjectKeyFromObject(&sources.Items[i]))
			}
			return fmt.Errorf("polled %d times, want %d", polls, n)
		}
		return nil
	})
}

func readyOfSource(source *v1alpha1.FeedSource) metav1.Condition {
	for _, condition := range source.Status.Conditions {
		if condition.Type == v1alpha1.ConditionReady {
			return condition
		}
	}
	return metav1.Condition{}
}

// R1.3: a feed that is unchanged costs no write, though its server says another max-age each time.
func TestAMaxAgeThatCountsDownCostsNoWrites(t *testing.T) {
	t.Parallel()
	var age atomic.Int64
	age.Store(1800)
	web := feedtest.New(t)
	web.OnRequest(func(rw http.ResponseWriter, _ *http.Request) bool {
		rw.Header().Set("Cache-Control", "max-age="+strconv.FormatInt(age.Add(-7), 10))
		return false
	})
	w := newWorld(t)
	w.source("news", web.FeedURL())
	source := w.untilSource("news", pollsEvery(30*time.Minute))
	version := source.ResourceVersion
	w.clock.SetTime(slotAfter(source, 30*time.Minute)) // within the hour of the sign of life
	w.untilAskedFor(web, 2)
	w.lookAtSource("news")
	if now := w.untilSource("news", isRead); now.ResourceVersion != version {
		t.Errorf("written again: %+v", now.Status)
	}
}

// R1.4: what a feed has declared holds also while it fails.
func TestAFailureDoesNotShortenWhatAFeedDeclares(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	var broken atomic.Bool
	web.OnRequest(func(rw http.ResponseWriter, _ *http.Request) bool {
		rw.Header().Set("Cache-Control", "max-age=21600")
		if broken.Load() {
			rw.WriteHeader(http.StatusBadGateway)
		}
		return broken.Load()
	})
	w := newWorld(t)
	w.source("news", web.FeedURL())
	w.untilSource("news", pollsEvery(6*time.Hour))
	broken.Store(true)
	w.clock.Step(12 * time.Hour)
	source := w.untilSource("news", func(source *v1alpha1.FeedSource) error {
		return hasReady(source.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonPollFailed)
	})
	if got := source.Status.EffectiveInterval.Duration; got != 6*time.Hour {
		t.Errorf("polled every %s", got)
	}
}

// R1.3: a host that refuses one feed for its pace is left alone by all of its feeds for a while. The
// one that was refused waits as long as was asked.
func TestAHostThatAsksForAPauseIsLeftAlone(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	var busy atomic.Bool
	web.OnRequest(func(rw http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/busy.xml" || !busy.Load() {
			return false
		}
		rw.Header().Set("Retry-After", "7200")
		rw.WriteHeader(http.StatusTooManyRequests)
		return true
	})
	busy.Store(true)
	w := newWorld(t)
	w.source("busy", web.URL+"/busy.xml")
	refused := w.untilSource("busy", func(source *v1alpha1.FeedSource) error {
		return hasReady(source.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonPollFailed)
	})
	if until := refused.Status.NotBefore; until == nil || until.Sub(refused.Status.LastPollTime.Time) != 2*time.Hour {
		t.Errorf("not before %v", until)
	}
	w.source("news", web.FeedURL())
	w.lookAtSource("news")
	if polls := web.Hits("/feed.xml"); polls != 0 {
		t.Fatalf("polled %d times during the pause", polls)
	}
	w.clock.Step(5*time.Minute - time.Second)
	w.lookAtSource("news")
	if polls := web.Hits("/feed.xml"); polls != 0 {
		t.Fatalf("polled %d times during the pause", polls)
	}
	w.clock.Step(time.Second)
	w.untilSource("news", isRead)
	if polls := web.Hits("/busy.xml"); polls != 1 {
		t.Errorf("the feed that was refused was polled %d times", polls)
	}
}

// R1.3: a source that a person has just made does not wait behind all those that are polled anyway.
func TestANewSourceIsPolledBeforeThoseThatWaitForTheSameHost(t *testing.T) {
	t.Parallel()
	const others = 6
	web := feedtest.New(t)
	w := newWorld(t, func(w *world) { w.perHost = 1 })
	for i := range others {
		w.source(fmt.Sprint("old-", i), fmt.Sprintf("%s/old-%d.xml", web.URL, i))
	}
	for i := range others {
		w.untilSource(fmt.Sprint("old-", i), func(source *v1alpha1.FeedSource) error {
			if source.Status.LastPollTime == nil {
				return errNotYet
			}
			return nil
		})
	}
	order, free := make(chan string, 100), make(chan struct{}, 100)
	web.OnRequest(func(_ http.ResponseWriter, r *http.Request) bool {
		order <- r.URL.Path
		<-free
		return false
	})
	t.Cleanup(func() { close(free) })
	w.clock.Step(24 * time.Hour)
	for i := range others {
		w.lookAt(controllers.SourceKey, types.NamespacedName{Namespace: w.namespace, Name: fmt.Sprint("old-", i)})
	}
	<-order // one is asked for; the others wait, or will
	w.source("new", web.FeedURL())
	w.untilWaiting("new")
	free <- struct{}{}
	if second := <-order; second != "/feed.xml" {
		t.Errorf("%s goes before what a person waits for", second)
	}
}

// untilWaiting waits until the operator has seen a source, by looking at it and another one after it.
func (w *world) untilWaiting(name string) {
	w.t.Helper()
	for range 3 {
		w.lookAtSource(name)
	}
}

// operatorPod is the name of the operator's pod.
const operatorPod = "operator"

// hosts are feeds on hosts of their own, behind a network that can be cut.
type hosts struct {
	web      []*feedtest.Server
	networks []*network
}

func newHosts(t *testing.T, w *world, n int) *hosts {
	t.Helper()
	h := &hosts{}
	for i := range n {
		address := fmt.Sprintf("127.0.%d.1", 10+i) // each in a network of its own
		web := feedtest.NewAt(t, address)
		between := newNetworkAt(t, address, web.URL)
		h.web, h.networks = append(h.web, web), append(h.networks, between)
		w.source(fmt.Sprint("news-", i), between.URL+"/feed.xml")
	}
	for i := range n {
		w.untilSource(fmt.Sprint("news-", i), isRead)
	}
	return h
}

func (h *hosts) cut() {
	for _, between := range h.networks {
		between.cut()
	}
}

func (h *hosts) heal() {
	for _, between := range h.networks {
		between.heal()
	}
}

// blamed counts the sources that say of themselves that they could not be read.
func (w *world) blamed(ctx context.Context) (int, error) {
	var sources v1alpha1.FeedSourceList
	if err := w.client.List(ctx, &sources, client.InNamespace(w.namespace)); err != nil {
		return 0, err
	}
	failing := 0
	for i := range sources.Items {
		w.lookAt(controllers.SourceKey, client.ObjectKeyFromObject(&sources.Items[i]))
		if sources.Items[i].Status.ConsecutiveFailures > 0 {
			failing++
		}
	}
	return failing, nil
}

// podEvents are the Events of the operator's pod, by reason.
func (w *world) podEvents(ctx context.Context) (map[string]int, error) {
	var events eventsv1.EventList
	if err := w.client.List(ctx, &events, client.InNamespace(w.namespace)); err != nil {
		return nil, err
	}
	told := map[string]int{}
	for i := range events.Items {
		if e := &events.Items[i]; e.Regarding.Kind == "Pod" && e.Regarding.Name == operatorPod {
			told[e.Reason]++
			if e.Series != nil {
				told[e.Reason] += int(e.Series.Count) - 1
			}
		}
	}
	return told, nil
}

// R1.4: when most hosts are out of reach at once, that is one event of the operator and no error of
// every feed. What waits is polled soon after the network is back; items wait without using up a retry.
func TestAnOutageOfTheNetworkIsNoFaultOfItsFeeds(t *testing.T) {
	t.Parallel()
	const n, enough = 12, 5
	w := newWorld(t, func(w *world) {
		w.self = &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: w.namespace, Name: operatorPod}
	})
	h := newHosts(t, w, n)
	h.cut()
	w.clock.Step(30 * time.Minute)
	w.untilTold(v1alpha1.ReasonNetworkDown)

	// An item of a host that is out of reach waits.
	item := w.itemOf("news-0", strings.Replace(h.web[0].ArticleURL("late"), h.web[0].URL, h.networks[0].URL, 1))

	// Each is tried in a while, and none is blamed for that.
	w.untilBlamed(enough - 1)
	w.clock.Step(time.Minute)
	w.untilBlamed(enough - 1)
	h.heal()
	w.clock.Step(2 * time.Minute)
	w.untilTold(v1alpha1.ReasonRecovered)
	w.untilBlamed(enough - 1)
	if told, err := w.podEvents(t.Context()); err != nil || told[v1alpha1.ReasonNetworkDown] != 1 || told[v1alpha1.ReasonRecovered] != 1 {
		t.Errorf("told %v (%v)", told, err)
	}
	w.untilItem("news-0", func(now *v1alpha1.FeedItem) error {
		if now.Name != item.Name || now.Status.RetryCount != 0 || now.Status.FirstFailureTime != nil {
			t.Errorf("item %+v", now.Status)
		}
		return inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)(now)
	})

	// All who waited are polled within ten minutes; those who were blamed, after their interval.
	w.clock.Step(10 * time.Minute)
	apitest.Eventually(t, func(ctx context.Context) error {
		if _, err := w.blamed(ctx); err != nil {
			return err
		}
		again := 0
		for _, web := range h.web {
			again += web.Hits("/feed.xml") - 1
		}
		if again < n-enough+1 {
			return fmt.Errorf("%d polled again, want %d", again, n-enough+1)
		}
		return nil
	})
	w.clock.Step(time.Hour)
	w.untilBlamed(0)
}

// R1.4: a poll that has hung since the network was down fails when it is back, and is no fault of the feed: it is made again.
func TestAPollThatHangsFromBeforeTheNetworkWasBackBlamesNobody(t *testing.T) {
	t.Parallel()
	const n = 6
	w := newWorld(t, func(w *world) {
		w.self = &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: w.namespace, Name: operatorPod}
	})
	h := newHosts(t, w, n)
	h.cut()
	w.clock.Step(30 * time.Minute)
	w.untilTold(v1alpha1.ReasonNetworkDown)
	// One is tried again, and gets nothing, not even a refusal; meanwhile the others are back.
	waiting := func(name string) bool {
		source := w.untilSource(name, func(*v1alpha1.FeedSource) error { return nil })
		return source.Status.ConsecutiveFailures == 0
	}
	victim := 0
	for !waiting(fmt.Sprint("news-", victim)) {
		victim++
	}
	address := h.networks[victim].proxy.Listen
	slow, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	held := make(chan net.Conn, 1)
	go func() {
		if conn, err := slow.Accept(); err == nil {
			held <- conn
		}
	}()
	w.clock.Step(time.Minute)
	conn := <-held
	_ = slow.Close()
	h.heal()
	w.untilSource(fmt.Sprint("news-", victim), func(*v1alpha1.FeedSource) error { // how long each waits depends on how often it was tried
		told, err := w.podEvents(t.Context())
		if err == nil && told[v1alpha1.ReasonRecovered] == 0 {
			w.clock.Step(time.Minute)
			err = fmt.Errorf("it was not told at %s: %v", w.clock.Now(), told)
		}
		return err
	})
	_ = conn.Close()
	w.untilSource(fmt.Sprint("news-", victim), func(source *v1alpha1.FeedSource) error {
		if source.Status.ConsecutiveFailures > 0 {
			t.Fatalf("it is blamed: %+v", source.Status)
		}
		if hits := h.web[victim].Hits("/feed.xml"); hits < 2 {
			w.clock.Step(time.Minute)
			return fmt.Errorf("it was asked %d times at %s", hits, w.clock.Now())
		}
		return nil
	})
}

// untilTold waits until the operator's pod has told something.
func (w *world) untilTold(reason string) {
	w.t.Helper()
	apitest.Eventually(w.t, func(ctx context.Context) error {
		if _, err := w.blamed(ctx); err != nil {
			return err
		}
		told, err := w.podEvents(ctx)
		if err == nil && told[reason] == 0 {
			err = fmt.Errorf("%s was not told: %v", reason, told)
		}
		return err
	})
}

// untilBlamed waits until so many sources say that they could not be read.
func (w *world) untilBlamed(want int) {
	w.t.Helper()
	apitest.Eventually(w.t, func(ctx context.Context) error {
		got, err := w.blamed(ctx)
		if err == nil && got != want {
			err = fmt.Errorf("%d sources are blamed, want %d", got, want)
		}
		return err
	})
}

// itemOf makes an item of a source, as a poll does.
func (w *world) itemOf(name, url string) *v1alpha1.FeedItem {
	w.t.Helper()
	source := w.untilSource(name, func(*v1alpha1.FeedSource) error { return nil })
	item := &v1alpha1.FeedItem{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name + "-item"}}
	item.Spec.SourceRef = v1alpha1.SourceReference{Name: source.Name, UID: source.UID}
	item.Spec.Title, item.Spec.URL = "Late news", url
	if err := w.client.Create(w.t.Context(), item); err != nil {
		w.t.Fatal(err)
	}
	return item
}
