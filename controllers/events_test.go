// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/eventstream"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/webhooktest"
)

// getsEvents has a webhook get events with some statuses; all, where none is named.
func getsEvents(statuses ...v1alpha1.EventStatus) func(*v1alpha1.FeedDestination) {
	return func(described *v1alpha1.FeedDestination) {
		described.Spec.Webhook.Events = &v1alpha1.EventStream{Statuses: statuses}
	}
}

// lookAtEvents has the events of a destination looked at now.
func (w *world) lookAtEvents(name string) {
	w.lookAt(controllers.EventsKey, types.NamespacedName{Namespace: w.namespace, Name: name})
}

// eventsOf reads what a receiver has taken as events, as others do, and holds their data against the schema.
func eventsOf(t *testing.T, server *webhooktest.Server) []logLine {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(apitest.ModuleRoot(t), "docs", "schemas", "event-v1.json"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []logLine
	for _, taken := range server.Taken() {
		var event cloudevents.Event
		if err := json.Unmarshal([]byte(taken.Body), &event); err != nil {
			t.Fatalf("%v in %s", err, taken.Body)
		}
		if err := event.Validate(); err != nil {
			t.Error(err)
		}
		var data any
		if err := json.Unmarshal(event.Data(), &data); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(data); err != nil {
			t.Errorf("%v in %s", err, taken.Body)
		}
		var line logLine
		if err := event.DataAs(&line); err != nil {
			t.Fatal(err)
		}
		line.Message = data.(map[string]any)["message"].(string)
		if want := "application/cloudevents+json"; taken.Header.Get("Content-Type") != want || taken.Key != event.ID() {
			t.Errorf("%v with the key %q", taken.Header, taken.Key)
		}
		if "/namespaces/"+strings.Replace(line.Source, "/", "/feedsources/", 1) != event.Source() || !strings.HasSuffix(line.Item, "/"+event.Subject()) ||
			event.ID() != line.ID || event.Type() != "io.feed-operator.feeds."+line.Type+".v1" || line.Time != event.Time().Format(eventstream.TimeFormat) {
			t.Errorf("the event %s has the data %+v", event, line)
		}
		lines = append(lines, line)
	}
	return lines
}

// untilEvents waits until a receiver has taken so many events at least.
func (w *world) untilEvents(name string, server *webhooktest.Server, n int) {
	w.t.Helper()
	await(w.t, func() error {
		if got := len(server.Taken()); got < n {
			w.clock.Step(time.Second)
			w.lookAtEvents(name)
			return fmt.Errorf("%d of %d events", got, n)
		}
		return nil
	})
}

// R3.11, R4.2: all that the log says of an item leaves as CloudEvents, in the same order and signed as any request of a webhook; to a destination that
// asks for some statuses, those; and to none of another namespace.
func TestTheLifeOfAnItemLeavesAsEvents(t *testing.T) {
	t.Parallel()
	log := &logged{}
	w := newWorld(t, func(w *world) { w.log = zap.New(zap.WriteTo(log)) })
	w.stop()
	other := &world{t: t, client: w.client, namespace: apiServer().Namespace(t), clock: w.clock}
	w.others = []string{other.namespace}
	w.start()
	other.lookAt = w.lookAt
	all, some, foreign := w.webhook(), w.webhook(), w.webhook()
	w.secretOf("ops", map[string]string{"token": hookToken, "signingKey": hookKey})
	w.webhookTo("all", all.URL, getsEvents(), withSecret("ops"))
	w.webhookTo("some", some.URL, getsEvents("success", "failed"))
	other.webhookTo("foreign", foreign.URL, getsEvents())
	social := w.mastodon()
	w.openDestination("social", social.URL)
	posts := 0
	social.OnPost(func(p *mastodontest.Pending) bool {
		if posts++; posts == 1 {
			p.Answer(http.StatusTooManyRequests, "application/json", `{"error":"slow down"}`)
		}
		return posts == 1
	})
	w.oneItem("social")
	item := w.untilEnded("news", 1)[0]
	const want = 10
	var lines []logLine
	await(t, func() error {
		if lines = log.lines(t, "stream"); len(lines) < want {
			return errNotYet
		}
		return nil
	})
	w.untilEvents("all", all, want)
	got := eventsOf(t, all)
	slices.SortStableFunc(got, func(a, b logLine) int { // whoever makes an item may be slower than who works on it
		return strings.Compare(fmt.Sprint(a.Type != "item.created"), fmt.Sprint(b.Type != "item.created"))
	})
	ids := func(lines []logLine) (ids []string) {
		for i := range lines {
			ids = append(ids, lines[i].ID+" "+lines[i].ParentID+" "+lines[i].short())
		}
		return ids
	}
	if diff := cmp.Diff(ids(lines), ids(got)); diff != "" || len(lines) != want {
		t.Errorf("%d lines (-log +events):\n%s", len(lines), diff)
	}
	lines = slices.DeleteFunc(lines, func(line logLine) bool { return line.Status != "success" })
	w.untilEvents("some", some, len(lines))
	if diff := cmp.Diff(ids(lines), ids(eventsOf(t, some))); diff != "" || len(lines) != 4 {
		t.Errorf("of some statuses (-log +events):\n%s", diff)
	}
	for _, taken := range all.Taken() {
		if taken.Header.Get("Authorization") != "Bearer "+hookToken || taken.Header.Get("Webhook-Signature") == "" {
			t.Errorf("header %v", taken.Header)
		}
	}
	if foreign.Requests() != 0 {
		t.Errorf("%d events of %s went to another namespace", foreign.Requests(), item.Name)
	}
	w.untilDestination("all", func(described *v1alpha1.FeedDestination) error {
		if counted := described.Status.Events; counted == nil || *counted != (v1alpha1.EventCounts{Sent: want}) || described.Status.Delivered != 0 {
			return fmt.Errorf("counted: %+v", counted)
		}
		return nil
	})
}

// R3.11, R3.13: a receiver that hangs holds up no item, what it has not got is bounded, and that it is dropped is counted and said once; and the operator
// stops though a request is under way.
func TestAReceiverOfEventsThatHangsHoldsUpNoItem(t *testing.T) {
	t.Parallel()
	const items, each = 12, 8_000
	log := &logged{}
	w := newWorld(t, func(w *world) { w.eventBytes, w.log = each, zap.New(zap.WriteTo(log)) })
	hangs := w.webhook()
	release := make(chan struct{})
	free := sync.OnceFunc(func() { close(release) })
	t.Cleanup(free)
	hangs.OnRequest(func(*webhooktest.Pending) bool { <-release; return false })
	w.webhookTo("hangs", hangs.URL, patient, getsEvents())
	web := feedtest.New(t)
	web.List(web.Entries("news", items)...)
	w.source("news", web.FeedURL())
	w.untilItems("news", allProcessed(items))
	w.untilDestination("hangs", func(described *v1alpha1.FeedDestination) error {
		if counted := described.Status.Events; counted == nil || counted.Dropped == 0 || counted.Sent != 0 {
			w.lookAtEvents("hangs")
			return fmt.Errorf("counted: %+v", counted)
		}
		return nil
	})
	if hangs.Requests() != 1 {
		t.Errorf("%d requests are under way", hangs.Requests())
	}
	said := func() (times int) {
		for _, object := range w.everything() {
			if reason, _, _ := strings.Cut(fmt.Sprint(object.Object["reason"]), " "); object.GetKind() == "Event" && reason == v1alpha1.ReasonEventsDropped {
				times++
			}
		}
		return times
	}
	await(t, func() error {
		if said() == 0 {
			return errNotYet
		}
		return nil
	})
	free()
	lines := slices.DeleteFunc(log.lines(t, "stream"), func(line logLine) bool { return line.Type == "item.created" })
	var kept []logLine
	await(t, func() error {
		kept = eventsOf(t, hangs)
		if !slices.ContainsFunc(kept, func(event logLine) bool { return event.ID == lines[len(lines)-1].ID }) {
			w.lookAtEvents("hangs")
			return fmt.Errorf("%d events, and not the last", len(kept))
		}
		return nil
	})
	if len(kept) < 3 || len(kept)*300 > each {
		t.Errorf("%d events were kept", len(kept))
	}
	for _, event := range kept[1:] { // the first was under way
		if old := lines[:len(lines)/2]; slices.ContainsFunc(old, func(line logLine) bool { return line.ID == event.ID }) {
			t.Errorf("of %d events, this one was kept: %+v", len(lines), event)
		}
	}
	underWay := make(chan struct{})
	once := sync.OnceFunc(func() { close(underWay) })
	hangs.OnRequest(func(p *webhooktest.Pending) bool { once(); p.Hang(); return true })
	web.List(web.Entries("more", 1)...)
	w.poll("news")
	<-underWay
	w.stop()
	if n := strings.Count(log.text(), `"msg":"Events dropped"`); n < 1 || n > 2 { // at once, and at the end
		t.Errorf("it was said %d times", n)
	}
}

// R3.11, R3.13: when the operator stops, receivers of one namespace that hang keep no other namespace from getting its last events.
func TestReceiversThatHangKeepNoOtherNamespaceFromItsLastEvents(t *testing.T) {
	t.Parallel()
	portion.Whole(t, "it takes more receivers than there are places")
	const greedy, modest = 60, 6
	w := newWorld(t)
	w.stop()
	other := &world{t: t, client: w.client, namespace: apiServer().Namespace(t), clock: w.clock}
	w.others = []string{other.namespace}
	w.start()
	other.lookAt = w.lookAt
	hang := func(p *webhooktest.Pending) bool { p.Hang(); return true }
	hangs, waits := w.webhook(), [modest]*webhooktest.Server{}
	hangs.OnRequest(hang)
	for i := range greedy {
		w.webhookTo(fmt.Sprint("hangs-", i), hangs.URL, patient, getsEvents())
	}
	for i := range waits {
		waits[i] = w.webhook()
		waits[i].OnRequest(hang)
		other.webhookTo(fmt.Sprint("waits-", i), waits[i].URL, patient, getsEvents())
	}
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	for _, namespace := range []*world{w, other} {
		namespace.source("news", web.FeedURL())
		namespace.untilItems("news", allProcessed(1))
	}
	for i := range waits {
		waits[i].OnRequest(nil)
	}
	w.stop()
	for i := range waits {
		if got := len(waits[i].Taken()); got == 0 {
			t.Errorf("the receiver %d of the other namespace has got nothing", i)
		}
	}
}

// R3.11: when the operator stops, an event that its receiver refuses does not cost it those that follow. What has not left by then is counted and said, once:
// at a receiver that hangs, at one that fails, and at one that nothing is sent to for now.
func TestTheLastEventsAreSentOrCounted(t *testing.T) {
	t.Parallel()
	const events = 6
	log := &logged{}
	w := newWorld(t, func(w *world) { w.log = zap.New(zap.WriteTo(log)) })
	hang := func(p *webhooktest.Pending) bool { p.Hang(); return true }
	asked := map[string]*atomic.Int32{}
	last := map[string]func(*webhooktest.Pending) bool{
		"refuses": func(p *webhooktest.Pending) bool {
			if asked["refuses"].Add(1) > 2 {
				return false
			}
			p.Answer(http.StatusUnprocessableEntity, "application/json", `{"error":"no such topic"}`)
			return true
		},
		"hangs": hang,
		"fails": func(p *webhooktest.Pending) bool {
			p.Answer(http.StatusInternalServerError, "text/plain", "")
			return true
		},
		"gone":      func(p *webhooktest.Pending) bool { p.Answer(http.StatusGone, "text/plain", ""); return true },
		"suspended": hang,
	}
	servers := map[string]*webhooktest.Server{}
	for name := range last {
		asked[name] = &atomic.Int32{}
		servers[name] = w.webhook()
		servers[name].OnRequest(hang)
		w.webhookTo(name, servers[name].URL, patient, getsEvents())
	}
	w.oneItem()
	w.untilItems("news", allProcessed(1))
	w.changeDestination("suspended", `{"spec":{"suspend":true}}`)
	w.untilDestination("suspended", isClosed(v1alpha1.ReasonSuspended))
	for name, answers := range last {
		servers[name].OnRequest(answers)
	}
	w.stop()
	for name, want := range map[string]v1alpha1.EventCounts{
		"refuses": {Sent: events - 2, Dropped: 2}, "hangs": {Dropped: events}, "fails": {Dropped: events}, "gone": {Dropped: events}, "suspended": {Dropped: events},
	} {
		w.untilDestination(name, func(described *v1alpha1.FeedDestination) error {
			if counted := described.Status.Events; counted == nil || *counted != want {
				t.Errorf("%s: counted %+v, want %+v", name, counted, want)
			}
			return nil
		})
		if n := strings.Count(log.text(), `"msg":"Events dropped"`); n != len(last) || !strings.Contains(log.text(), w.namespace+"/"+name+`"`) {
			t.Errorf("that events of %s were dropped is not said: %d lines", name, n)
		}
	}
}

// R3.11, R3.8, R5.6: refused credentials end the requests, and nothing but the receiver learns them; with a new Secret, what has waited arrives.
func TestEventsWaitForCredentialsThatAreTaken(t *testing.T) {
	t.Parallel()
	log := &logged{}
	w := newWorld(t, func(w *world) { w.log = zap.New(zap.WriteTo(log), zap.UseDevMode(true)) })
	server := w.webhook(func(o *webhooktest.Options) { o.Token = "good" })
	server.OnRequest(func(p *webhooktest.Pending) bool {
		if p.Request.Header.Get("Authorization") == "Bearer good" {
			return false
		}
		p.Answer(http.StatusUnauthorized, "application/json", fmt.Sprintf(`{"error":"POST %s by %s"}`, p.Delivery.Path, hookToken))
		return true
	})
	w.secretOf("ops", map[string]string{"token": hookToken, "url": server.URL + hookPath})
	w.webhookTo("ops", "", withSecret("ops"), getsEvents(), func(described *v1alpha1.FeedDestination) {
		described.Spec.Webhook.URLFrom = &v1alpha1.WebhookURLFrom{}
	})
	web := feedtest.New(t)
	web.List(web.Entries("news", 3)...)
	w.source("news", web.FeedURL())
	w.untilItems("news", allProcessed(3))
	w.untilDestination("ops", isClosed(v1alpha1.ReasonCredentialsRefused))
	if server.Requests() != 1 {
		t.Errorf("%d requests were made with what is refused", server.Requests())
	}
	w.secretOf("ops", map[string]string{"token": "good", "url": server.URL + hookPath})
	w.untilDestination("ops", isOpen)
	const each = 6
	w.untilEvents("ops", server, 3*each)
	for _, line := range eventsOf(t, server) {
		if line.Error != nil {
			t.Errorf("the item has failed for that: %+v", line)
		}
	}
	texts := map[string]string{"the log": log.text()}
	for _, taken := range server.Taken() {
		texts["an event"] += taken.Body
	}
	for _, object := range w.everything() {
		text, err := json.Marshal(object.Object)
		if err != nil {
			t.Fatal(err)
		}
		texts[object.GetKind()+" "+object.GetName()] = string(text)
	}
	for where, text := range texts {
		for _, part := range []string{"pathSecret0123456789", "B0RECOGNISABLE", hookToken[6:30]} {
			if strings.Contains(text, part) {
				t.Errorf("%s holds %s", where, part)
			}
		}
	}
}

// R3.11: what may pass is tried again with the same key, and what is refused is dropped; neither is lost to those that follow.
func TestEventsThatFailAreRepeated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.webhook()
	keys := map[string]int{}
	var refused, fails string
	server.OnRequest(func(p *webhooktest.Pending) bool { // one at a time
		keys[p.Delivery.Key]++
		switch {
		case refused == "" || refused == p.Delivery.Key:
			refused = p.Delivery.Key
			p.Answer(http.StatusBadRequest, "application/json", `{}`)
		case fails == "":
			fails = p.Delivery.Key
			p.Answer(http.StatusInternalServerError, "application/json", `{}`)
		default:
			return false
		}
		return true
	})
	w.webhookTo("ops", server.URL, getsEvents())
	w.oneItem()
	w.untilItems("news", allProcessed(1))
	w.untilEvents("ops", server, 5)
	w.untilDestination("ops", func(described *v1alpha1.FeedDestination) error {
		if counted := described.Status.Events; counted == nil || *counted != (v1alpha1.EventCounts{Sent: 5, Dropped: 1}) {
			w.lookAtEvents("ops")
			return fmt.Errorf("counted: %+v", counted)
		}
		return nil
	})
	w.stop()
	if keys[refused] != 1 || keys[fails] != 2 || len(keys) != 6 {
		t.Errorf("%q was refused, %q has failed: %v", refused, fails, keys)
	}
}

// R3.11, R3.13: a receiver that refuses all it gets, of many, does not fill the log of those who run the operator with it: that is said once in a while.
func TestAReceiverThatRefusesAllEventsDoesNotFillTheLog(t *testing.T) {
	t.Parallel()
	const items, each = 6, 6
	log := &logged{}
	w := newWorld(t, func(w *world) { w.log = zap.New(zap.WriteTo(log)) })
	server := w.webhook()
	server.OnRequest(func(p *webhooktest.Pending) bool {
		p.Answer(http.StatusBadRequest, "application/json", `{"error":"no such topic"}`)
		return true
	})
	w.webhookTo("ops", server.URL, getsEvents())
	web := feedtest.New(t)
	web.List(web.Entries("news", items)...)
	w.source("news", web.FeedURL())
	w.untilItems("news", allProcessed(items))
	await(t, func() error {
		if got := server.Requests(); got < items*each {
			w.clock.Step(time.Second)
			w.lookAtEvents("ops")
			return fmt.Errorf("%d events were refused", got)
		}
		return nil
	})
	w.stop()
	if n := strings.Count(log.text(), `"msg":"Event refused"`); n < 1 || n > 2 || !strings.Contains(log.text(), "no such topic") {
		t.Errorf("of %d refusals, %d are in the log", items*each, n)
	}
}

// R3.11: a destination gets events or posts. An item that is to be posted to one that gets events says so, and is posted when that is changed.
func TestADestinationOfEventsGetsNoPosts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.webhook()
	w.webhookTo("ops", server.URL, getsEvents("retrying"))
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), postsTo("ops"), func(s *v1alpha1.FeedSource) {
		s.Spec.Notifications = []v1alpha1.DestinationReference{{Name: "ops"}}
	})
	w.untilItem("news", waitsFor(`FeedDestination "ops": it gets events of items (spec.webhook.events), so it gets no posts`))
	w.untilSourceIn(5*time.Second, "news", func(source *v1alpha1.FeedSource) error {
		for _, said := range source.Status.Conditions {
			if said.Type == v1alpha1.ConditionNotificationsBlocked && said.Reason == v1alpha1.ReasonEventsOnly {
				return saysOf(v1alpha1.ReasonSucceeded)(source)
			}
		}
		return errNotYet
	})
	if server.Requests() != 0 {
		t.Errorf("%d requests", server.Requests())
	}
	w.changeDestination("ops", `{"spec":{"webhook":{"events":null}}}`)
	w.untilItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	if taken := server.Taken(); len(taken) != 1 || taken[0].Header.Get("Content-Type") != "application/json" {
		t.Errorf("taken: %+v", taken)
	}
}

// R3.11, R3.12: items go on when their destination becomes one that gets posts by and by, or one that sends each by itself, though the operator hears late
// that they wait.
func TestItemsGoOnWhenTheirDestinationBecomesOneForThem(t *testing.T) {
	t.Parallel()
	const none = `{"spec":{"suspend":false,"webhook":{"events":null,"batch":null}}}`
	becomes := map[string]func(*world, *webhooktest.Server){
		"at once": func(w *world, _ *webhooktest.Server) { w.changeDestination("ops", none) },
		"while it is suspended": func(w *world, _ *webhooktest.Server) {
			w.changeDestination("ops", `{"spec":{"suspend":true}}`)
			w.changeDestination("ops", `{"spec":{"webhook":{"events":null,"batch":null}}}`)
			w.changeDestination("ops", none)
		},
		"as another object": func(w *world, server *webhooktest.Server) {
			gone := &v1alpha1.FeedDestination{}
			gone.Namespace, gone.Name = w.namespace, "ops"
			if err := w.client.Delete(w.t.Context(), gone); err != nil {
				w.t.Fatal(err)
			}
			w.awaitItem("news", waitsFor("does not exist"))
			w.webhookTo("ops", server.URL)
		},
	}
	for what, before := range map[string]func(*v1alpha1.FeedDestination){"of events": getsEvents("failed"), "of batches": inBatches(100, time.Hour)} {
		for name, change := range portion.Across(what, becomes, becomes) {
			t.Run(what+", "+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				server := w.webhook()
				w.webhookTo("ops", server.URL, before)
				web := feedtest.New(t)
				web.List(web.Entries("news", 1)...)
				mend := failing(web)
				w.source("news", web.FeedURL(), postsTo("ops"))
				item := w.awaitItem("news", inPhase(v1alpha1.PhaseDeferred, v1alpha1.ReasonDownloadFailed))
				w.untilUpToDate()
				mend()
				hear := w.faults.behind.close(t)
				w.clock.SetTime(item.Status.NextRetryTime.Time)
				w.lookAtItems("news")
				w.awaitItem("news", func(item *v1alpha1.FeedItem) error {
					if item.Status.Summary == nil || what == "of events" && item.Status.Reason != v1alpha1.ReasonWaiting {
						return errNotYet
					}
					return nil
				})
				w.settles()
				change(w, server)
				hear()
				w.untilItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
				if got := len(server.Taken()); got != 1 {
					t.Errorf("%d posts", got)
				}
			})
		}
	}
}

// R3.11, R3.12, R3.14: a receiver takes no events for an hour, in any way, and the clock is set meanwhile. It is not asked more often than what is down may
// be asked, no item waits for it, and when it works again the next events arrive.
func TestAReceiverThatTakesNoEventsForAnHourIsAskedSeldom(t *testing.T) {
	t.Parallel()
	portion.Whole(t, "it takes an hour in small steps")
	type takesNone struct {
		answer func(*webhooktest.Pending)
		most   int
		gone   bool
	}
	faults := map[string]takesNone{
		"it answers 429 for two hours": {most: 2, answer: func(p *webhooktest.Pending) {
			p.Header().Set("Retry-After", "7200")
			p.Answer(http.StatusTooManyRequests, "text/plain", "")
		}},
		"it answers 429 and not for how long": {most: 30, answer: hookAnswers(http.StatusTooManyRequests)},
		"it answers 410":                      {most: 1, gone: true, answer: hookAnswers(http.StatusGone)},
		"it answers 500":                      {most: 30, answer: hookAnswers(http.StatusInternalServerError)},
		"it breaks off":                       {most: 30, answer: (*webhooktest.Pending).Reset},
	}
	clocks := map[string]time.Duration{"goes on": 0, "is set back": -time.Hour, "is set forth": time.Hour}
	for what, fault := range portion.Some(faults, 3) {
		for when, ahead := range portion.Across(what, faults, clocks) {
			t.Run(what+", and the clock "+when, func(t *testing.T) {
				t.Parallel()
				const items = 3
				w := newWorld(t)
				server := w.webhook()
				server.OnRequest(func(p *webhooktest.Pending) bool { fault.answer(p); return true })
				w.webhookTo("ops", server.URL, getsEvents())
				web := feedtest.New(t)
				entries := web.Entries("news", items)
				web.List(entries...)
				w.source("news", web.FeedURL())
				w.untilItems("news", allProcessed(items))
				await(t, func() error {
					if server.Requests() == 0 {
						return errNotYet
					}
					return nil
				})
				w.ahead.Store(int64(ahead))
				for range 120 {
					w.clock.Step(30 * time.Second)
					w.lookAtEvents("ops")
				}
				w.poll("news")
				if n := server.Requests(); n > fault.most {
					t.Errorf("%d requests in an hour, want %d at most", n, fault.most)
				}
				server.OnRequest(nil)
				if fault.gone {
					w.annotate(&v1alpha1.FeedDestination{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "ops"}}, v1alpha1.AnnotationRetry, "now")
				}
				web.List(append(web.Entries("more", 1), entries...)...)
				w.poll("news")
				more := ""
				for _, item := range w.untilItems("news", allProcessed(items+1)) {
					if strings.HasSuffix(item.Spec.URL, "more-1") {
						more = item.Name
					}
				}
				await(t, func() error {
					if taken := server.Taken(); len(taken) == 0 || !strings.Contains(taken[len(taken)-1].Body, more) {
						w.clock.Step(5 * time.Minute)
						w.lookAtEvents("ops")
						return fmt.Errorf("%d events", len(taken))
					}
					return nil
				})
			})
		}
	}
}
