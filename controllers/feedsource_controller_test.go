// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
)

// titles are those of a source's items, sorted.
func titles(items []v1alpha1.FeedItem) []string {
	var all []string
	for i := range items {
		all = append(all, items[i].Spec.Title)
	}
	slices.Sort(all)
	return all
}

// creations watches a namespace from now on. The function that it returns lists the titles of the
// items of which the creation was seen until then, those that are deleted by now among them.
func (w *world) creations() func() []string {
	w.t.Helper()
	watch, err := w.client.Watch(w.t.Context(), &v1alpha1.FeedItemList{}, client.InNamespace(w.namespace))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(watch.Stop)
	return func() []string {
		w.t.Helper()
		last := &v1alpha1.FeedItem{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "last"}}
		last.Spec.SourceRef = v1alpha1.SourceReference{Name: "none", UID: "none"}
		if err := w.client.Create(w.t.Context(), last); err != nil {
			w.t.Fatal(err)
		}
		created := map[types.UID]string{}
		for event := range watch.ResultChan() {
			item, ok := event.Object.(*v1alpha1.FeedItem)
			if ok && item.Name == last.Name {
				break
			}
			if ok {
				created[item.UID] = item.Spec.Title
			}
		}
		return slices.Sorted(maps.Values(created))
	}
}

// R1.2: whatever a feed does to the entries it lists, each of them becomes one item, once.
func TestNoEntryBecomesTwoItemsAndNoneIsLost(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		// first is what the feed lists at first, then what it lists one poll after the other.
		first func(*feedtest.Server) []feedtest.Entry
		then  []func([]feedtest.Entry) []feedtest.Entry
		want  int
	}{
		"the feed is turned around": {
			first: fiveEntries, want: 5,
			then: []func([]feedtest.Entry) []feedtest.Entry{reversed},
		},
		"titles are edited": {
			first: fiveEntries, want: 5,
			then: []func([]feedtest.Entry) []feedtest.Entry{each(func(e *feedtest.Entry) { e.Title += " (corrected)" })},
		},
		"titles are edited where there are links only": {
			first: without(func(e *feedtest.Entry) { e.GUID = "" }), want: 5,
			then: []func([]feedtest.Entry) []feedtest.Entry{each(func(e *feedtest.Entry) { e.Title += " (corrected)" })},
		},
		"http becomes https": {
			first: without(func(e *feedtest.Entry) { e.GUID = "" }), want: 5,
			then: []func([]feedtest.Entry) []feedtest.Entry{each(func(e *feedtest.Entry) { e.Link = strings.Replace(e.Link, "http:", "https:", 1) })},
		},
		"links get tracking parameters": {
			first: without(func(e *feedtest.Entry) { e.GUID = "" }), want: 5,
			then: []func([]feedtest.Entry) []feedtest.Entry{each(func(e *feedtest.Entry) { e.Link += "?utm_source=rss" })},
		},
		"GUIDs change": {
			first: fiveEntries, want: 5,
			then: []func([]feedtest.Entry) []feedtest.Entry{each(func(e *feedtest.Entry) { e.GUID = "new:" + e.GUID })},
		},
		"the feed shrinks and grows again": {
			first: fiveEntries, want: 5,
			then: []func([]feedtest.Entry) []feedtest.Entry{firstOnly, nothing, identity},
		},
		"all entries share one link, and the feed shrinks": {
			first: without(func(e *feedtest.Entry) { e.Link = "http://127.0.0.1:1/all" }), want: 6,
			then: []func([]feedtest.Entry) []feedtest.Entry{firstOnly, nothing, func([]feedtest.Entry) []feedtest.Entry {
				return []feedtest.Entry{{GUID: "tag:late", Link: "http://127.0.0.1:1/all", Title: "Late"}}
			}},
		},
		"all entries share one GUID": {
			first: without(func(e *feedtest.Entry) { e.GUID = "same" }), want: 5,
			then: []func([]feedtest.Entry) []feedtest.Entry{firstOnly, reversed},
		},
		"entries have neither GUID nor link": {
			first: without(func(e *feedtest.Entry) { e.GUID, e.Link = "", "" }), want: 5,
			then: []func([]feedtest.Entry) []feedtest.Entry{reversed, firstOnly, identity},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			web := feedtest.New(t)
			entries := test.first(web)
			web.List(entries...)
			w := newWorld(t)
			created := w.creations()
			w.source("news", web.FeedURL(), func(source *v1alpha1.FeedSource) {
				source.Spec.Article = &v1alpha1.ArticlePolicy{Source: v1alpha1.ArticleSourceFeed}
			})
			w.untilItems("news", hasItems(5))
			w.poll("news")
			for i, change := range test.then {
				if i == 0 { // the memory outlives the items and the process
					w.deleteItems("news")
					w.restart()
				}
				web.List(change(slices.Clone(entries))...)
				w.poll("news")
			}
			if got := created(); len(got) != test.want {
				t.Errorf("%d items were created, want %d: %v", len(got), test.want, got)
			}
		})
	}
}

func (w *world) deleteItems(source string) {
	w.t.Helper()
	items, err := w.items(w.t.Context(), source)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range items {
		if err := w.client.Delete(w.t.Context(), &items[i]); err != nil {
			w.t.Fatal(err)
		}
	}
}

func hasItems(n int) func([]v1alpha1.FeedItem) error {
	return func(items []v1alpha1.FeedItem) error {
		if len(items) != n {
			return fmt.Errorf("%d items, want %d: %v", len(items), n, titles(items))
		}
		return nil
	}
}

func fiveEntries(web *feedtest.Server) []feedtest.Entry { return web.Entries("five", 5) }

func without(change func(*feedtest.Entry)) func(*feedtest.Server) []feedtest.Entry {
	return func(web *feedtest.Server) []feedtest.Entry { return each(change)(fiveEntries(web)) }
}

func each(change func(*feedtest.Entry)) func([]feedtest.Entry) []feedtest.Entry {
	return func(entries []feedtest.Entry) []feedtest.Entry {
		for i := range entries {
			change(&entries[i])
		}
		return entries
	}
}

func reversed(entries []feedtest.Entry) []feedtest.Entry  { slices.Reverse(entries); return entries }
func firstOnly(entries []feedtest.Entry) []feedtest.Entry { return entries[:1] }
func nothing([]feedtest.Entry) []feedtest.Entry           { return nil }
func identity(entries []feedtest.Entry) []feedtest.Entry  { return entries }

// R1.5, R1.2: the first poll does not flood; what it leaves out never becomes an item.
func TestTheFirstPollTakesTheNewestOnly(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	entries := web.Entries("many", 12)
	web.List(entries[2:]...)
	w := newWorld(t)
	w.source("news", web.FeedURL(), func(source *v1alpha1.FeedSource) { source.Spec.InitialItems = nil })
	items := w.untilItems("news", allProcessed(5))
	if diff := cmp.Diff([]string{"News about many-10", "News about many-6", "News about many-7", "News about many-8", "News about many-9"}, titles(items)); diff != "" {
		t.Error(diff)
	}
	web.List(entries...) // two new ones
	w.poll("news")
	w.untilItems("news", allProcessed(7))
}

// R1.5: above maxActiveItems creation pauses and says so, and goes on when there is room.
func TestCreationPausesAtTheLimitAndLosesNothing(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	mend := failing(web)
	web.List(web.Entries("wave", 10)...)
	w := newWorld(t)
	w.source("news", web.FeedURL(), func(source *v1alpha1.FeedSource) { source.Spec.MaxActiveItems = new(int32(4)) })
	items := w.untilItems("news", hasItems(4))
	if diff := cmp.Diff([]string{"News about wave-1", "News about wave-2", "News about wave-3", "News about wave-4"}, titles(items)); diff != "" {
		t.Errorf("the oldest go first: %s", diff)
	}
	source := w.poll("news")
	if paused := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionCreationPaused); paused == nil || !strings.Contains(paused.Message, "6 entries") {
		t.Errorf("condition %+v", paused)
	}
	mend()
	for range 3 {
		w.clock.Step(time.Hour)
		w.untilItems("news", func(items []v1alpha1.FeedItem) error { return allProcessed(len(items))(items) })
		w.poll("news")
	}
	w.untilItems("news", allProcessed(10))
	source = w.poll("news")
	if meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionCreationPaused) != nil {
		t.Error("the pause is still shown")
	}
}

// R1.2: the memory is deleted. Nothing is published twice, and the source says what happened.
func TestALostMemoryMarksEverythingAsSeen(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	entries := web.Entries("old", 4)
	web.List(entries[1:]...)
	w := newWorld(t)
	w.source("news", web.FeedURL())
	w.untilItems("news", allProcessed(3))
	w.deleteItems("news")
	if err := w.client.DeleteAllOf(t.Context(), &v1alpha1.FeedMemory{}, client.InNamespace(w.namespace)); err != nil {
		t.Fatal(err)
	}
	w.restart()
	web.List(entries...)
	source := w.poll("news")
	w.untilItems("news", hasItems(0))
	if !meta.IsStatusConditionTrue(source.Status.Conditions, v1alpha1.ConditionMemoryRebuilt) {
		t.Errorf("conditions %+v", source.Status.Conditions)
	}
	web.List(append(web.Entries("new", 1), entries...)...)
	w.poll("news")
	w.untilItems("news", allProcessed(1))
}

// R1.3: a feed that has not changed costs no write, whether its server knows validators or not.
func TestAnUnchangedFeedCostsNoWrite(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*feedtest.Server){
		"with 304":           func(*feedtest.Server) {},
		"without validators": func(web *feedtest.Server) { web.WithoutValidators() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			web := feedtest.New(t)
			prepare(web)
			web.List(web.Entries("same", 2)...)
			w := newWorld(t)
			w.source("news", web.FeedURL())
			w.untilItems("news", allProcessed(2))
			w.clock.Step(2 * time.Minute)
			before := w.untilCounted("news", func(source *v1alpha1.FeedSource) error {
				if source.Status.Items.Processed != 2 {
					return errors.New("not counted yet")
				}
				return nil
			})
			polls := web.Hits("/feed.xml")
			for range 3 { // 45 minutes are less than the heartbeat
				w.clock.Step(15 * time.Minute)
				want := web.Hits("/feed.xml") + 1
				apitest.Eventually(t, func(context.Context) error {
					w.lookAt(controllers.SourceKey, client.ObjectKeyFromObject(before))
					if web.Hits("/feed.xml") < want {
						return errors.New("not polled")
					}
					return nil
				})
			}
			w.stop()
			var after v1alpha1.FeedSource
			if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(before), &after); err != nil {
				t.Fatal(err)
			}
			if after.ResourceVersion != before.ResourceVersion {
				t.Errorf("the source was written: %s", cmp.Diff(before.Status, after.Status))
			}
			// In the two minutes before there may be a slot of the source, whose poll has just begun.
			if got := web.Hits("/feed.xml") - polls; got < 3 || got > 4 {
				t.Errorf("%d polls, want 3", got)
			}
		})
	}
}

// R1.3: a restart polls nothing early.
func TestARestartPollsNothingEarly(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("one", 1)...)
	w := newWorld(t)
	w.source("news", web.FeedURL())
	w.untilItems("news", allProcessed(1))
	w.restart()
	web2 := feedtest.New(t)
	web2.List(web2.Entries("other", 1)...)
	w.source("other", web2.FeedURL()) // by when this one is done, the first has been looked at
	w.untilItems("other", allProcessed(1))
	if got := web.Hits("/feed.xml"); got != 1 {
		t.Errorf("%d polls, want 1", got)
	}
}

// R1.3: nor does one that comes while the operator still waits to hear what becomes of the items of a first poll, to say both in one.
func TestARestartBeforeTheFirstReportPollsNothingEarly(t *testing.T) {
	t.Parallel()
	web, other := feedtest.New(t), feedtest.New(t)
	web.List(web.Entries("one", 1)...)
	w := newWorld(t)
	w.poll(w.marker()) // the operator is at work
	hear := w.faults.behind.close(t)
	w.source("news", web.FeedURL())
	w.untilItems("news", hasItems(1))
	w.untilRemembered(2)
	w.stop()
	hear()
	w.start()
	other.List(other.Entries("other", 1)...)
	w.source("other", other.FeedURL()) // by when this one is done, the first has been looked at
	w.untilItems("other", allProcessed(1))
	if got := web.Hits("/feed.xml"); got != 1 {
		t.Errorf("%d polls, want 1", got)
	}
	w.untilItems("news", allProcessed(1))
	w.untilCounted("news", hasCome(v1alpha1.ItemCounts{Processed: 1}, 1, 0))
}

// R1.3: an operator that stops long after another one has taken over its work says nothing of the first poll any more: what the other has counted stands.
func TestAStopSaysNothingOfAFirstPollThatAnotherHasReported(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("one", 1)...)
	w := newWorld(t)
	w.poll(w.marker()) // the operator is at work
	hear := w.faults.behind.close(t)
	source := w.source("news", web.FeedURL())
	w.untilItems("news", hasItems(1))
	w.untilRemembered(2)
	by := client.ObjectKeyFromObject(source)
	if err := w.client.Get(t.Context(), by, source); err != nil {
		t.Fatal(err)
	}
	before := source.DeepCopy()
	source.Status.Format, source.Status.Items = "rss", v1alpha1.ItemCounts{Processed: 1}
	source.Status.Totals = v1alpha1.ItemTotals{Processed: 1, Succeeded: 1}
	said := source.DeepCopy()
	if err := w.client.Status().Patch(t.Context(), source, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	w.stop()
	hear()
	if err := w.client.Get(t.Context(), by, source); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(said.Status, source.Status); diff != "" {
		t.Errorf("the other's status has become another (-want +got)\n%s", diff)
	}
}

// R1.4: a failing feed is asked less often, never given up, and recovers by itself.
func TestAFailingFeedBacksOffAndRecovers(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("one", 1)...)
	var broken atomic.Bool
	broken.Store(true)
	web.OnRequest(func(rw http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/feed.xml" || !broken.Load() {
			return false
		}
		rw.WriteHeader(http.StatusBadGateway)
		return true
	})
	w := newWorld(t)
	w.source("news", web.FeedURL()+"?token=geheim", func(source *v1alpha1.FeedSource) { source.Spec.AllowInsecure = true })
	failures := func(n int32) func(*v1alpha1.FeedSource) error {
		return func(source *v1alpha1.FeedSource) error {
			if source.Status.ConsecutiveFailures != n {
				return fmt.Errorf("%d failures, want %d", source.Status.ConsecutiveFailures, n)
			}
			return nil
		}
	}
	source := w.untilSource("news", failures(1))
	for n, want := range []time.Duration{30 * time.Minute, time.Hour, 2 * time.Hour} {
		if got := source.Status.EffectiveInterval.Duration; got != want {
			t.Errorf("interval %s after %d failures, want %s", got, n+1, want)
		}
		ready := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionReady)
		if ready.Status != metav1.ConditionFalse || ready.Reason != v1alpha1.ReasonPollFailed ||
			!strings.Contains(ready.Message, "502") || strings.Contains(ready.Message, "geheim") {
			t.Errorf("condition %+v", ready)
		}
		w.clock.SetTime(source.Status.LastPollTime.Add(want))
		source = w.untilSource("news", failures(int32(n)+2))
	}
	broken.Store(false)
	w.clock.Step(24 * time.Hour)
	source = w.untilSource("news", failures(0))
	if !meta.IsStatusConditionTrue(source.Status.Conditions, v1alpha1.ConditionReady) || source.Status.EffectiveInterval.Duration != 15*time.Minute {
		t.Errorf("status %+v", source.Status)
	}
	w.untilItems("news", allProcessed(1))
}

// R1.4: 410 stalls the source, until a person changes it.
func TestAFeedThatIsGoneStallsItsSource(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.OnRequest(func(rw http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/feed.xml" {
			rw.WriteHeader(http.StatusGone)
			return true
		}
		return false
	})
	w := newWorld(t)
	w.source("news", web.FeedURL())
	stalled := func(source *v1alpha1.FeedSource) error {
		if condition := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionStalled); condition == nil || condition.Reason != v1alpha1.ReasonFeedGone {
			return fmt.Errorf("conditions %+v", source.Status.Conditions)
		}
		return nil
	}
	source := w.untilSource("news", stalled)
	other := feedtest.New(t)
	w.source("other", other.FeedURL())
	for range 2 {
		w.clock.Step(48 * time.Hour)
		w.lookAt(controllers.SourceKey, client.ObjectKeyFromObject(source))
		w.poll("other") // gives a wrong poll the time to happen
		w.restart()
	}
	web.List(web.Entries("one", 1)...)
	web.OnRequest(nil)
	w.poll("news") // a person asks for one more try
	w.untilItems("news", allProcessed(1))
	if got := web.Hits("/feed.xml"); got != 2 {
		t.Errorf("%d polls, want 2", got)
	}
}

// R1.6: what is no feed is told from an empty one, in words.
func TestWhatIsNoFeedIsSaid(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"a web page":   "<!doctype html><html><head><title>Hello</title></head><body><p>Not a feed</p></body></html>",
		"empty JSON":   "{}",
		"a JSON error": `{"error":"no such feed"}`,
		"nothing":      "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			web := feedtest.New(t)
			web.OnRequest(func(rw http.ResponseWriter, _ *http.Request) bool {
				_, _ = rw.Write([]byte(body))
				return true
			})
			w := newWorld(t)
			w.source("news", web.FeedURL())
			w.untilSource("news", func(source *v1alpha1.FeedSource) error {
				ready := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionReady)
				if ready == nil || ready.Reason != v1alpha1.ReasonNotAFeed {
					return fmt.Errorf("condition %+v", ready)
				}
				return nil
			})
		})
	}
}

// R1.6: of a feed that is cut off, what is whole is used, and the rest is said.
func TestAFeedThatIsCutOffIsUsedAsFarAsItGoes(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.OnRequest(func(rw http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/feed.xml" {
			return false
		}
		whole := feedtest.RSS(web.Entries("cut", 3))
		_, _ = rw.Write(whole[:len(whole)-60])
		return true
	})
	w := newWorld(t)
	w.source("news", web.FeedURL())
	w.untilItems("news", allProcessed(2))
	w.untilSource("news", func(source *v1alpha1.FeedSource) error {
		if !meta.IsStatusConditionTrue(source.Status.Conditions, v1alpha1.ConditionDamaged) {
			return fmt.Errorf("conditions %+v", source.Status.Conditions)
		}
		return nil
	})
}

// R1.7
func TestInsideAddressesAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.source("metadata", "http://169.254.169.254/latest/meta-data")
	source := w.untilSource("metadata", func(source *v1alpha1.FeedSource) error {
		if source.Status.Failure == nil {
			return errors.New("not polled")
		}
		return nil
	})
	if got := source.Status.Failure; got.Type != "AddressRefused" || !strings.Contains(got.Message, "--allow-cidr") {
		t.Errorf("failure %+v", got)
	}
}

// R1.9: credentials and headers come from a Secret; a missing one is named, and waited for.
func TestCredentialsComeFromASecret(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("one", 1)...)
	web.OnRequest(func(rw http.ResponseWriter, r *http.Request) bool {
		user, password, _ := r.BasicAuth()
		if r.URL.Path == "/feed.xml" && (user != "reader" || password != "geheim" || r.Header.Get("X-Api-Key") != "schluessel") {
			rw.WriteHeader(http.StatusUnauthorized)
			return true
		}
		if r.URL.Path != "/feed.xml" && (r.Header.Get("Authorization") != "" || r.Header.Get("X-Api-Key") != "") {
			t.Errorf("credentials of the feed were sent to %s", r.URL.Path)
		}
		return false
	})
	w := newWorld(t)
	w.source("news", web.FeedURL(), func(source *v1alpha1.FeedSource) {
		source.Spec.SecretRef, source.Spec.AllowInsecure = &v1alpha1.SecretReference{Name: "feed"}, true
		source.Spec.Headers = []v1alpha1.FeedHeader{{Name: "X-Api-Key", SecretKey: "key"}}
	})
	w.untilSource("news", func(source *v1alpha1.FeedSource) error {
		ready := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.Reason != string(v1alpha1.ReasonWaiting) || !strings.Contains(ready.Message, `"feed" does not exist`) {
			return fmt.Errorf("condition %+v", ready)
		}
		return nil
	})
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "feed"},
		StringData: map[string]string{"username": "reader", "password": "geheim", "key": "schluessel\n"},
	}
	if err := w.client.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	w.clock.Step(time.Minute)
	w.untilSource("news", func(source *v1alpha1.FeedSource) error {
		if !meta.IsStatusConditionTrue(source.Status.Conditions, v1alpha1.ConditionReady) {
			return fmt.Errorf("conditions %+v", source.Status.Conditions)
		}
		return nil
	})
	w.untilItems("news", allProcessed(1))
}

// A tenant must not be able to have a service account's token sent to a URL of their own.
func TestTokensOfServiceAccountsAreNeverSent(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	w := newWorld(t, onRealServer)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "robot"}}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "robot-token", Annotations: map[string]string{corev1.ServiceAccountNameKey: "robot"}},
		Type:       corev1.SecretTypeServiceAccountToken, StringData: map[string]string{"token": "geheim"},
	}
	for _, object := range []client.Object{account, secret} {
		if err := w.client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	w.source("news", web.FeedURL(), func(source *v1alpha1.FeedSource) {
		source.Spec.SecretRef, source.Spec.AllowInsecure = &v1alpha1.SecretReference{Name: "robot-token"}, true
	})
	w.untilSource("news", func(source *v1alpha1.FeedSource) error {
		ready := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || !strings.Contains(ready.Message, "service account") {
			return fmt.Errorf("condition %+v", ready)
		}
		return nil
	})
	if web.Hits("/feed.xml") != 0 {
		t.Error("the feed was asked for")
	}
}

// R1.9
func TestASuspendedSourceRests(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("one", 1)...)
	w := newWorld(t)
	source := w.source("news", web.FeedURL(), func(source *v1alpha1.FeedSource) { source.Spec.Suspend = true })
	w.untilSource("news", func(source *v1alpha1.FeedSource) error {
		ready := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.Reason != v1alpha1.ReasonSuspended {
			return fmt.Errorf("condition %+v", ready)
		}
		return nil
	})
	if web.Hits("/feed.xml") != 0 {
		t.Error("a suspended source was polled")
	}
	if err := w.client.Patch(t.Context(), source, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"suspend":false}}`))); err != nil {
		t.Fatal(err)
	}
	w.untilItems("news", allProcessed(1))
}

// R2.10: finished items go after their time; the newest stay; and they never come again.
func TestFinishedItemsAreRemovedAfterTheirTime(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("old", 6)...)
	w := newWorld(t)
	source := w.source("news", web.FeedURL(), func(source *v1alpha1.FeedSource) {
		source.Spec.Retention = &v1alpha1.RetentionPolicy{KeepLast: new(int32(2))}
	})
	w.untilItems("news", allProcessed(6))
	w.clock.Step(8 * 24 * time.Hour)
	w.restart() // looks through all sources at once
	items := w.untilItems("news", hasItems(2))
	if diff := cmp.Diff([]string{"News about old-5", "News about old-6"}, titles(items)); diff != "" {
		t.Error(diff)
	}
	w.poll(source.Name)
	w.untilItems("news", hasItems(2))
}
