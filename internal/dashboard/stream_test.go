// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/dashboard/paged"
)

// events is what a viewer is sent.
type events struct {
	answer *http.Response
	lines  *bufio.Scanner
}

// watch opens a stream at a server of the page.
func watch(t *testing.T, address string, headers ...string) *events {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // in which nothing that is waited for fails to come
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	return &events{answer, bufio.NewScanner(answer.Body)}
}

// version waits for the next version that a viewer is told of.
func (e *events) version(t *testing.T) string {
	t.Helper()
	for e.lines.Scan() {
		if version, is := strings.CutPrefix(e.lines.Text(), "data: "); is {
			return version
		}
	}
	t.Fatal("the stream has ended")
	return ""
}

// R5.4: a viewer is told of a change by itself, with the version that the page then has.
func TestAViewerIsToldOfAChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, twoTenants()...)
	server := httptest.NewServer(w.handler)
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(w.ended) })
	stream := watch(t, server.URL)
	if kind := stream.answer.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("it is %s", kind)
	}
	first := stream.version(t)
	if page := w.see("/").all("main", "data-version")[0]; page != first {
		t.Errorf("the stream begins with %s, the page with %s", first, page)
	}
	item := w.item("a", "dead-a")
	item.Status.Phase = v1alpha1.PhaseProcessed
	if err := w.client.Update(t.Context(), &item); err != nil {
		t.Fatal(err)
	}
	w.pass(time.Second)
	if next := stream.version(t); next == first {
		t.Error("it is told of the same")
	} else if page := w.see("/").all("main", "data-version")[0]; page != next {
		t.Errorf("it is told of %s, the page has %s", next, page)
	}
}

// R5.4: so many pages are kept up to date and not one more; the next one is told so, and a place that is left is taken.
func TestViewersAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withAuth, twoTenants()...)
	server := httptest.NewServer(w.handler)
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(w.ended) })
	var open []*events
	for i := range MostViewers {
		name := fmt.Sprint("of-", i/mostOfOne)
		w.mu.Lock()
		w.may[name] = []string{"list feeditems a"}
		w.mu.Unlock()
		stream := watch(t, server.URL, "Authorization", "Bearer "+name)
		if stream.answer.StatusCode != http.StatusOK {
			t.Fatalf("viewer %d: %d", i, stream.answer.StatusCode)
		}
		stream.version(t)
		open = append(open, stream)
		if i == mostOfOne-1 {
			if more := watch(t, server.URL, "Authorization", "Bearer "+name); more.answer.StatusCode != http.StatusServiceUnavailable {
				t.Errorf("one person has %d pages: %d", mostOfOne+1, more.answer.StatusCode)
			}
		}
	}
	w.mu.Lock()
	w.may["of-late"] = []string{"list feeditems a"}
	w.mu.Unlock()
	late := []string{"Authorization", "Bearer of-late"}
	got := w.ask(http.MethodGet, "/events", nil, late...)
	if got.Code != http.StatusServiceUnavailable || got.Header().Get("Retry-After") == "" {
		t.Errorf("one more: %d", got.Code)
	}
	got.has("64 pages are being kept up to date already")
	w.see("/", late...).has("dead-a") // the page itself is served all the same
	_ = open[0].answer.Body.Close()
	for {
		again := watch(t, server.URL, late...) // when the server has heard that somebody has gone
		if again.answer.StatusCode == http.StatusOK {
			break
		}
		_ = again.answer.Body.Close()
		if t.Context().Err() != nil {
			t.Fatal("the place is not given back")
		}
	}
}

// R5.4: another site cannot take the places of viewers by opening streams.
func TestAnotherSiteOpensNoStream(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, twoTenants()...)
	for _, site := range []string{"cross-site", "same-site", "none"} {
		if got := w.ask(http.MethodGet, "/events", nil, "Sec-Fetch-Site", site); got.Code != http.StatusForbidden {
			t.Errorf("%s: %d", site, got.Code)
		}
	}
}

// pipe is a listener with one connection, whose other end a test holds.
type pipe struct {
	ends   chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipe) Accept() (net.Conn, error) {
	select {
	case end := <-p.ends:
		return end, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipe) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipe) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8083} }

// R5.4: a viewer that reads nothing is let go as soon as a write takes too long, and its place is free again; nobody else waits for it.
func TestAViewerThatHangsIsLetGo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, twoTenants()...)
		ours, theirs := net.Pipe() // without any buffer: each write waits for a reader
		listener := &pipe{ends: make(chan net.Conn, 1), closed: make(chan struct{})}
		listener.ends <- theirs
		left := make(chan struct{})
		server := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
			defer close(left)
			w.handler.ServeHTTP(answer, r)
		})}
		go func() { _ = server.Serve(listener) }()
		began := time.Now()
		if _, err := fmt.Fprint(ours, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		select {
		case <-left:
		case <-time.After(time.Hour):
			_ = ours.Close() // or it would never end
			t.Fatal("it holds its place for an hour")
		}
		if took := time.Since(began); took > writeTimeout+time.Second {
			t.Errorf("it is let go after %s", took)
		}
		_ = server.Close()
		_ = ours.Close()
		synctest.Wait()
	})
}

// counting counts how often a cache is read.
type counting struct {
	client.Reader
	lists, items atomic.Int32
	fail         atomic.Bool
}

func (c *counting) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if c.fail.Load() {
		return errors.New("not now")
	}
	switch list.(type) {
	case *v1alpha1.FeedSourceList:
		c.lists.Add(1)
	case *v1alpha1.FeedItemList:
		c.items.Add(1)
	}
	return c.Reader.List(ctx, list, options...)
}

// R5.4: one snapshot is shared by all, is taken once a second at most, and only while somebody looks.
func TestOneSnapshotIsSharedByAll(t *testing.T) {
	t.Parallel()
	objects := newWorld(t, nil, twoTenants()...).client
	synctest.Test(t, func(t *testing.T) {
		cache := &counting{Reader: objects}
		board := NewBoard(cache, time.Now)
		for range 1000 { // nobody looks
			board.Changed()
			time.Sleep(time.Second)
		}
		if lists := cache.lists.Load(); lists != 0 {
			t.Fatalf("it is read %d times while nobody looks", lists)
		}
		for range 100 {
			if _, err := board.Current(t.Context()); err != nil {
				t.Fatal(err)
			}
			board.Changed()
		}
		if lists := cache.lists.Load(); lists != 1 {
			t.Errorf("it is read %d times in one moment", lists)
		}
		var leave []func()
		for range 50 {
			_, stop := board.Watch()
			leave = append(leave, stop)
		}
		before := cache.lists.Load()
		for range 1000 { // ten seconds
			board.Changed()
			time.Sleep(10 * time.Millisecond)
		}
		if lists := cache.lists.Load() - before; lists < 9 || lists > 11 {
			t.Errorf("with 50 viewers it is read %d times in ten seconds", lists)
		}
		time.Sleep(time.Second)
		before = cache.lists.Load()
		time.Sleep(time.Minute) // nothing changes but the time
		if lists := cache.lists.Load() - before; lists > 6 {
			t.Errorf("it is read %d times in a minute though nothing changes", lists)
		}
		cache.fail.Store(true)
		board.Changed()
		time.Sleep(5 * time.Second)
		cache.fail.Store(false)
		next, stop := board.Watch()
		board.Changed()
		<-next()
		for _, stop := range append(leave, stop) {
			stop()
		}
		synctest.Wait()
	})
}

// R5.4: of what has changed the items of that source are read again, and no others; the page then shows what a new one would.
func TestOnlyWhatHasChangedIsReadAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, twoTenants()...)
	cache := &counting{Reader: w.client}
	board := NewBoard(cache, w.time)
	see := func(board *Board) (string, paged.Page[*Item]) {
		t.Helper()
		snapshot, err := board.Current(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all := snapshot.cut(func(string) bool { return true })
		return all.Version(), all.Find(Query{})
	}
	before, _ := see(board)
	first := cache.items.Load()
	item := w.item("a", "dead-a")
	item.Status.Phase = v1alpha1.PhaseDeferred
	if err := w.client.Update(t.Context(), &item); err != nil {
		t.Fatal(err)
	}
	gone := w.item("b", "done-b")
	if err := w.client.Delete(t.Context(), &gone); err != nil {
		t.Fatal(err)
	}
	w.pass(time.Second)
	board.hear(&item)
	board.hear(toolscache.DeletedFinalStateUnknown{Obj: &gone})
	after, found := see(board)
	if reads := cache.items.Load() - first; first != 2 || reads != 2 {
		t.Errorf("the items of %d sources are read, and then of %d", first, reads)
	}
	want, all := see(NewBoard(w.client, w.time))
	if before == after || after != want || !reflect.DeepEqual(found, all) {
		t.Errorf("from %s to %s with %+v, want %s with %+v", before, after, found, want, all)
	}
	w.pass(time.Second)
	board.hear(&v1alpha1.FeedSource{}) // of no item
	if see(board); cache.items.Load() != first+2 {
		t.Error("items are read again though none has changed")
	}
}

// R5.4: a change is told as soon where the only viewer loads the page again meanwhile.
func TestAChangeIsToldToWhoLoadsThePageAgain(t *testing.T) {
	t.Parallel()
	objects := newWorld(t, nil, twoTenants()...).client
	synctest.Test(t, func(t *testing.T) {
		board := NewBoard(objects, time.Now)
		look := func() {
			t.Helper()
			if _, err := board.Current(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		_, stop := board.Watch()
		time.Sleep(11 * time.Second)
		board.Changed()
		time.Sleep(1100 * time.Millisecond)
		look()
		board.Changed()
		synctest.Wait() // it waits for its turn
		stop()
		time.Sleep(200 * time.Millisecond)
		look()
		news, stop := board.Watch()
		defer stop()
		next := news()
		look()
		select {
		case <-next:
		case <-time.After(2 * time.Second):
			t.Error("it was not told")
		}
	})
}

// R5.4: a viewer is told of a change within five seconds, though the clock is set back or forward by a day meanwhile.
func TestAChangeIsToldThoughTheClockIsSet(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{-24 * time.Hour, -30 * time.Second, 24 * time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			objects := newWorld(t, nil, twoTenants()...).client
			synctest.Test(t, func(t *testing.T) {
				var ahead atomic.Int64
				board := NewBoard(objects, func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) })
				news, stop := board.Watch()
				if _, err := board.Current(t.Context()); err != nil {
					t.Fatal(err)
				}
				ahead.Store(int64(by))
				next, began := news(), time.Now()
				board.Changed()
				<-next
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("it takes %s", took)
				}
				stop()
				synctest.Wait()
			})
		})
	}
}

// R5.4: while the operator hears nothing from the API server, what the page shows may be no more, and it says so and since when, to who looks already, too.
// When that is over it says nothing of it.
func TestThePageSaysThatNothingIsHeardFromTheAPIServer(t *testing.T) {
	t.Parallel()
	var silence atomic.Int64
	w := newWorld(t, func(options *Options) {
		options.Silence = func(namespaces []string) time.Duration {
			if !slices.Contains(namespaces, "a") {
				t.Errorf("it is asked about %v", namespaces)
			}
			return time.Duration(silence.Load())
		}
	}, twoTenants()...)
	server := httptest.NewServer(w.handler)
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(w.ended) })
	stream := watch(t, server.URL)
	const words = "The operator does not hear from the API server what changes. What is here is as it was "
	silence.Store(int64(awayAfter - time.Second))
	before := stream.version(t)
	w.see("/").lacks("does not hear")

	silence.Store(int64(10 * time.Minute))
	w.pass(time.Second)
	if told, shown := stream.version(t), w.see("/"); told == before || told != shown.all("main", "data-version")[0] {
		t.Errorf("the stream tells %s, the page has %s, it was %s", told, shown.all("main", "data-version"), before)
	}
	for _, path := range []string{"/", "/items", "/items/a/dead-a", "/sources"} {
		w.see(path).has(words + "10 min ago")
	}

	silence.Store(0)
	w.pass(time.Second)
	if told := stream.version(t); told != before {
		t.Errorf("afterwards it is %s, and was %s", told, before)
	}
	w.see("/").lacks("does not hear")
}

// R5.4, R5.7: that nothing is heard of one namespace is told to those who see it, and changes nothing for who sees another one.
func TestThatANamespaceIsNotHeardIsToldToThoseWhoSeeIt(t *testing.T) {
	t.Parallel()
	var failing atomic.Bool
	w := newWorld(t, func(options *Options) {
		withAuth(options)
		options.Silence = func(namespaces []string) time.Duration {
			if failing.Load() && slices.Contains(namespaces, "a") {
				return awayAfter
			}
			return 0
		}
	}, twoTenants()...)
	w.may["of-a"], w.may["of-b"] = []string{"list feeditems a"}, []string{"list feeditems b"}
	ofB := []string{"Authorization", "Bearer of-b"}
	before := w.see("/", ofB...).all("main", "data-version")[0]
	failing.Store(true)
	w.pass(time.Second)
	w.see("/", bearer...).has("does not hear from the API server")
	after := w.see("/", ofB...)
	after.lacks("does not hear")
	if now := after.all("main", "data-version")[0]; now != before {
		t.Errorf("who sees another namespace is told of %s, after %s", now, before)
	}
}

// patient is an answer that can be written at any time.
type patient struct{ *httptest.ResponseRecorder }

func (patient) SetWriteDeadline(time.Time) error { return nil }

// R5.4: who has a page open is told nothing any more soon after their token is revoked: as soon as answers of the API server are not believed any longer, and
// they are written to next.
func TestAStreamEndsWithItsToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, withAuth, twoTenants()...)
		w.may["of-a"] = []string{"list feeditems a"}
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/events", nil)
		request.Host = "localhost"
		request.Header.Set(bearer[0], bearer[1])
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			w.handler.ServeHTTP(patient{httptest.NewRecorder()}, request)
		}()
		time.Sleep(4 * heartbeat)
		select {
		case <-ended:
			t.Fatal("it has ended while the token was good")
		default:
		}
		w.mu.Lock()
		delete(w.may, "of-a")
		w.mu.Unlock()
		w.pass(time.Minute + time.Second)
		began := time.Now()
		select {
		case <-ended:
		case <-time.After(time.Hour):
			close(w.ended)
			t.Error("who may not look any more is told of changes for an hour")
		}
		if took := time.Since(began); took > heartbeat {
			t.Errorf("it has ended after %s", took)
		}
		synctest.Wait()
	})
}
