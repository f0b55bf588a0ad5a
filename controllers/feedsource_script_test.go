// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/polling"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// serverScript is one source, and one server that answers each of its polls as the test says. The source is
// polled when it is due by the clock, and by nothing else.
type serverScript struct {
	*world
	web *feedtest.Server
	key client.ObjectKey
	// due is when the source is to be polled next.
	due time.Time

	mu      sync.Mutex
	written writeCounts
}

// writeCounts is how often something of the source was written.
type writeCounts struct{ Source, Memory int }

// step is one answer of the server, and what is to come of it.
type step struct {
	answer feedtest.Hook
	// change is a change of the spec that has the source polled at once, in place of the clock.
	change string
	// unchanged is set where the poll is to leave no trace at all.
	unchanged bool
	// memory is how often the memory is to be written.
	memory int
	// reason of Ready, and what its message says.
	reason string
	says   []string
	// failures in a row, and the pause that the server has asked for.
	failures int32
	pause    time.Duration
	// check looks at what else there is.
	check func(*v1alpha1.FeedSource) error
}

const scriptInterval = 15 * time.Minute

// newServerScript makes a source that was never polled, and goes to the middle of its interval.
func newServerScript(t *testing.T, change func(*v1alpha1.FeedSource)) *serverScript {
	t.Helper()
	s := &serverScript{world: newWorld(t), web: feedtest.New(t)}
	fence := feedtest.New(t)
	s.source("fence", fence.FeedURL())
	s.poll("fence")
	source := s.source("news", s.web.FeedURL()+"?token=geheim", change, func(source *v1alpha1.FeedSource) {
		source.Spec.Suspend, source.Spec.AllowInsecure = true, true
	})
	s.key = client.ObjectKeyFromObject(source)
	s.untilSource("news", func(source *v1alpha1.FeedSource) error {
		if ready := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionReady); ready == nil || ready.Reason != v1alpha1.ReasonSuspended {
			return fmt.Errorf("condition %+v", ready)
		}
		return nil
	})
	s.clock.SetTime(polling.NextSlot(string(source.UID), scriptInterval, s.clock.Now()).Add(time.Minute).Truncate(time.Second))
	s.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method == http.MethodGet {
			return nil
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case strings.Contains(r.URL.Path, "/feedsources/news"):
			s.written.Source++
		case strings.HasSuffix(r.URL.Path, "/feedmemories"), strings.Contains(r.URL.Path, "/feedmemories/news-"):
			s.written.Memory++
		}
		return nil
	})
	return s
}

func (s *serverScript) writes() writeCounts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.written
}

// play has the source polled once, and checks what the operator makes of the answer.
func (s *serverScript) play(name string, step step) *v1alpha1.FeedSource {
	s.t.Helper()
	s.web.OnRequest(step.answer)
	polls, before := s.web.Hits("/feed.xml"), s.writes()
	if step.change != "" {
		s.clock.Step(time.Second)
		s.world.change(&v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: s.key.Name}}, step.change)
	} else {
		s.clock.SetTime(s.due.Add(-time.Second))
		s.fence()
		if got := s.web.Hits("/feed.xml"); got != polls {
			s.t.Fatalf("%s: polled %d times before it was due", name, got-polls)
		}
		s.clock.SetTime(begun(s.due))
	}
	now := s.clock.Now()
	recorded := now.Truncate(time.Second) // what is written down has no parts of seconds
	source := s.untilSource("news", func(source *v1alpha1.FeedSource) error {
		if s.web.Hits("/feed.xml") == polls {
			return errNotYet
		}
		if step.unchanged {
			return nil
		}
		if last := source.Status.LastPollTime; last == nil || !last.Time.Equal(recorded) {
			return fmt.Errorf("%s: the last poll was at %s, want %s", name, last, recorded)
		}
		if err := step.met(source, recorded); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
	if step.unchanged {
		s.fence() // gives a wrong write the time to happen
	}
	if got := s.web.Hits("/feed.xml") - polls; got != 1 {
		s.t.Errorf("%s: polled %d times", name, got)
	}
	after := s.writes()
	want := writeCounts{Source: before.Source + 1, Memory: before.Memory + step.memory}
	if step.unchanged {
		want = before
	}
	if step.memory == 0 && after != want { // new items are counted too
		s.t.Errorf("%s: written (-want +got):\n%s", name, cmp.Diff(want, after))
	}
	if after.Memory != want.Memory {
		s.t.Errorf("%s: the memory was written %d times, want %d", name, after.Memory-before.Memory, step.memory)
	}
	s.due = s.next(source, now)
	return source
}

// met compares what the source says with what it is to say.
func (step step) met(source *v1alpha1.FeedSource, now time.Time) error {
	status := source.Status
	ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	wantReady, wantReconciling := metav1.ConditionTrue, false
	if step.failures > 0 {
		wantReady, wantReconciling = metav1.ConditionFalse, true
	}
	if ready == nil || ready.Status != wantReady || ready.Reason != step.reason || ready.ObservedGeneration != source.Generation {
		return fmt.Errorf("condition %+v, want %s %s", ready, wantReady, step.reason)
	}
	if got := meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReconciling); got != wantReconciling {
		return fmt.Errorf("reconciling %t: %+v", got, status.Conditions)
	}
	if meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionStalled) != nil {
		return fmt.Errorf("stalled: %+v", status.Conditions)
	}
	for _, words := range step.says {
		if !strings.Contains(ready.Message, words) {
			return fmt.Errorf("message %q, want %q in it", ready.Message, words)
		}
	}
	if strings.Contains(fmt.Sprintf("%+v", status), "geheim") {
		return fmt.Errorf("a query string is shown: %+v", status)
	}
	if status.ConsecutiveFailures != step.failures || (status.Failure != nil) != (step.failures > 0) {
		return fmt.Errorf("%d failures in a row, the last one %+v, want %d", status.ConsecutiveFailures, status.Failure, step.failures)
	}
	if got, want := status.EffectiveInterval, polling.EffectiveInterval(scriptInterval, int(step.failures)); got == nil || got.Duration != want {
		return fmt.Errorf("interval %v, want %s", got, want)
	}
	switch until := status.NotBefore; {
	case step.pause == 0 && until != nil, step.pause > 0 && (until == nil || !until.Time.Equal(now.Add(step.pause))):
		return fmt.Errorf("a pause until %v, want %s from now", until, step.pause)
	}
	if step.failures > 0 {
		next := now.Add(max(status.EffectiveInterval.Duration, step.pause)).UTC().Format(time.RFC3339)
		if words := fmt.Sprintf(". Failure %d in a row; the next poll is at %s", step.failures, next); !strings.HasSuffix(ready.Message, words) {
			return fmt.Errorf("message %q, want %q at its end", ready.Message, words)
		}
	}
	if step.check != nil {
		return step.check(source)
	}
	return nil
}

// next is when a source that was polled now is due: after a failure when its interval and the pause are
// over, else at its next slot.
func (s *serverScript) next(source *v1alpha1.FeedSource, now time.Time) time.Time {
	if source.Status.ConsecutiveFailures == 0 {
		return polling.NextSlot(string(source.UID), scriptInterval, now)
	}
	next := now.Add(source.Status.EffectiveInterval.Duration)
	if until := source.Status.NotBefore; until != nil && until.After(next) {
		return until.Time
	}
	return next
}

// begun is when polls are begun that are due at a time: those of a quarter of a second together.
func begun(due time.Time) time.Time {
	const together = 250 * time.Millisecond
	return due.Add(together - 1).Truncate(together)
}

// fence has the operator look at the source, and returns when it has polled another one after that.
func (s *serverScript) fence() {
	s.t.Helper()
	s.lookAt(controllers.SourceKey, s.key)
	s.poll("fence")
}

// counted waits until the source has counted so many processed items.
func (s *serverScript) counted(processed int) {
	s.t.Helper()
	s.untilItems("news", allProcessed(processed))
	s.clock.Step(2 * time.Minute) // the counts are written once a minute
	s.untilCounted("news", func(source *v1alpha1.FeedSource) error {
		if source.Status.Items.Processed != int32(processed) || source.Status.Items.Active() != 0 {
			return fmt.Errorf("counted %+v", source.Status.Items)
		}
		return nil
	})
}

// contained are entries with a content of their own, so that no page is asked for.
func contained(entries []feedtest.Entry) []feedtest.Entry {
	for i := range entries {
		entries[i].Content = "The committee met on Tuesday and agreed on a new plan for the coming year. " +
			"The plan names the people who are responsible for each goal of " + entries[i].GUID + "."
	}
	return entries
}

// rss answers with a feed that lists the entries, with an ETag or without.
func rss(etag string, entries []feedtest.Entry) feedtest.Hook {
	body := feedtest.RSS(entries)
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "application/rss+xml")
		if etag != "" {
			w.Header().Set("ETag", etag)
		}
		_, _ = w.Write(body)
		return true
	}
}

// refuse answers with a status and headers.
func refuse(status int, header ...string) feedtest.Hook {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		return true
	}
}

// text answers with a body of that type.
func text(kind, body string) feedtest.Hook {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write([]byte(body))
		return true
	}
}

// heap are the bytes of the heap that are in use, and those that were ever allocated.
func heap() (live, allocated uint64) {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc, stats.TotalAlloc
}

// R1.2, R1.3, R1.4, R1.5, R1.6, R1.7: the life of a source whose server does all that servers do, one after
// the other. Each time the source says what happened and when it is polled next, and is; what changes
// nothing writes nothing; and in the end each entry is one item. Not parallel: it looks at what the
// whole process allocates.
func TestASourceOutlivesAllThatItsServerDoes(t *testing.T) {
	most, all, listed := portion.Of(200, 12), portion.Of(10_000, 80), portion.Of(450, 27)
	s := newServerScript(t, func(source *v1alpha1.FeedSource) {
		source.Spec.Interval = &metav1.Duration{Duration: scriptInterval}
		source.Spec.Timeout = &metav1.Duration{Duration: 2 * time.Minute}
		source.Spec.MaxActiveItems = new(int32(most))
		source.Spec.Article = &v1alpha1.ArticlePolicy{Source: v1alpha1.ArticleSourceFeed}
	})
	host := strings.TrimPrefix(s.web.URL, "http://")
	first := contained(s.web.Entries("first", 3))
	wave := contained(s.web.Entries("wave", all))
	bomb := feedtest.Bomb(t, int64(portion.Of(200, 20))<<20)
	liveBefore, _ := heap()

	const reads = `Reads "Test feed" (RSS 2.0) every 15m`
	s.play("a feed", step{
		answer: rss(`"1"`, first), change: `{"spec":{"suspend":false}}`, memory: 1, reason: v1alpha1.ReasonSucceeded, says: []string{reads},
	})
	s.counted(3)

	s.play("304", step{unchanged: true, answer: func(w http.ResponseWriter, r *http.Request) bool {
		if got := r.Header.Get("If-None-Match"); got != `"1"` {
			t.Errorf("asked with the validator %q", got)
		}
		w.WriteHeader(http.StatusNotModified)
		return true
	}})
	s.play("the same ETag with another body", step{unchanged: true, answer: rss(`"1"`, first[:2])})
	s.play("the same body without validators", step{unchanged: true, answer: rss("", first)})

	failed := func(failures int32, says ...string) step {
		return step{failures: failures, reason: v1alpha1.ReasonPollFailed, says: says}
	}
	throttled := failed(1, "The server "+host+" answered 429 Too Many Requests")
	throttled.answer, throttled.pause = refuse(http.StatusTooManyRequests, "Retry-After", "10800"), 3*time.Hour
	s.play("429 with seconds", throttled)

	busy := failed(2, "The server "+host+" answered 503 Service Unavailable")
	busy.pause = 5 * time.Hour
	busy.answer = refuse(http.StatusServiceUnavailable,
		"Date", s.due.UTC().Format(http.TimeFormat), "Retry-After", s.due.Add(busy.pause).UTC().Format(http.TimeFormat))
	s.play("503 with a date", busy)

	s.play("a new path", step{
		answer: func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/feed.xml" {
				return refuse(http.StatusMovedPermanently, "Location", "/new.xml?key=geheim")(w, r)
			}
			return rss(`"1"`, first)(w, r)
		},
		reason: v1alpha1.ReasonSucceeded, says: []string{reads, "The feed has moved permanently: set spec.url to " + s.web.URL + "/new.xml (its query is not shown here)"},
	})

	for _, next := range []struct {
		name   string
		answer feedtest.Hook
		step   step
	}{
		{"a circle", func(w http.ResponseWriter, r *http.Request) bool {
			return refuse(http.StatusMovedPermanently, "Location", map[string]string{"/feed.xml": "/other.xml"}[r.URL.Path]+"?token=geheim")(w, r)
		}, failed(1, host+" redirects in a circle: after 2 redirects it leads back")},
		{"the metadata of a cloud", refuse(http.StatusFound, "Location", "http://169.254.169.254/latest/meta-data?token=geheim"),
			failed(2, "The address of 169.254.169.254 is private, reserved or denied, and therefore refused")},
		{"a web page", text("text/html", `<!doctype html><html><head><link rel="alternate" type="application/rss+xml" href="/rss.xml"></head><body>News</body></html>`),
			step{failures: 3, reason: v1alpha1.ReasonNotAFeed, says: []string{"a web page, not with a feed", s.web.URL + "/rss.xml"}}},
		{"a bomb", bomb, failed(4, "The answer of "+host+" is larger than the limit of 10 MiB")},
		{"an error in JSON", text("application/json", `{"error":1}`),
			step{failures: 5, reason: v1alpha1.ReasonNotAFeed, says: []string{"JSON that is no JSON Feed"}}},
	} {
		next.step.answer = next.answer
		_, before := heap()
		s.play(next.name, next.step)
		_, after := heap()
		t.Logf("%s: %d MiB were allocated", next.name, (after-before)>>20)
		if after-before > 256<<20 { // what was allocated bounds what was in use
			t.Errorf("%s: %d MiB were allocated", next.name, (after-before)>>20)
		}
	}

	s.play("JSON Feed with nulls", step{
		answer: text("application/feed+json", `{"version":"https://jsonfeed.org/version/1.1","title":"Test feed","items":[null,
			{"id":"tag:json","title":"News about json","content_text":"It rains today, and tomorrow it will rain again.","authors":[null],"tags":[null]},null]}`),
		memory: 1, reason: v1alpha1.ReasonSucceeded, says: []string{`Reads "Test feed" (JSON Feed 1.1) every 15m`},
	})
	s.counted(4)

	slow := failed(1, host)
	slow.answer, slow.change = feedtest.Trickle, `{"spec":{"timeout":"1s"}}`
	slow.check = func(source *v1alpha1.FeedSource) error {
		if got := source.Status.Failure.Type; got != failure.TypeTimeout {
			return fmt.Errorf("failure of type %s: %s", got, source.Status.Failure.Message)
		}
		return nil
	}
	s.play("a server that trickles", slow)
	broken := failed(2, "The connection to "+host)
	broken.answer, broken.change = feedtest.Reset, `{"spec":{"timeout":"2m"}}`
	s.play("a connection that is reset", broken)

	held := func(waiting int) func(*v1alpha1.FeedSource) error {
		return func(source *v1alpha1.FeedSource) error {
			paused := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionCreationPaused)
			if waiting == 0 && paused != nil || waiting > 0 && (paused == nil || !strings.Contains(paused.Message, fmt.Sprintf("; %d entries wait", waiting))) {
				return fmt.Errorf("condition %+v, want %d entries to wait", paused, waiting)
			}
			return nil
		}
	}
	s.play("ten thousand entries", step{
		answer: rss(`"2"`, wave), memory: 1, reason: v1alpha1.ReasonSucceeded, says: []string{reads}, check: held(all - most),
	})
	s.counted(4 + most)

	// The oldest go first, so what the feed lists again are the oldest.
	oldest := wave[all-listed:]
	s.play("fewer of them", step{
		answer: rss(`"3"`, oldest), memory: 1, reason: v1alpha1.ReasonSucceeded, says: []string{reads}, check: held(listed - 2*most),
	})
	s.counted(4 + 2*most)
	s.play("the same again", step{answer: rss(`"3"`, oldest), memory: 1, reason: v1alpha1.ReasonSucceeded, says: []string{reads}, check: held(0)})
	s.counted(4 + listed)
	s.play("the same once more", step{unchanged: true, answer: rss(`"3"`, oldest)})

	items := s.untilItems("news", allProcessed(4+listed))
	want := map[string]bool{"News about json": true}
	for _, entry := range append(first, oldest...) {
		want[entry.Title] = true
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), titles(items)); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
	live, _ := heap()
	t.Logf("%d KiB in use at the beginning, %d KiB at the end", liveBefore>>10, live>>10)
	if live > liveBefore+64<<20 {
		t.Errorf("%d MiB more are in use than at the beginning", (live-liveBefore)>>20)
	}
}
