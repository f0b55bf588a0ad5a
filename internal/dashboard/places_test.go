// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/dashboard/people"
)

// R5.4: who makes ServiceAccounts in their namespace gets no more places by that: those of others stay free.
func TestServiceAccountsOfANamespaceShareTheirPlaces(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withAuth, twoTenants()...)
	server := httptest.NewServer(w.handler)
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(w.ended) })
	as := func(namespace string, n int) []string {
		name := fmt.Sprintf("system:serviceaccount:%s:reader-%d", namespace, n)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.may[name] = []string{"list feeditems " + namespace}
		return []string{"Authorization", "Bearer " + name}
	}
	for i := range mostOfOne {
		if stream := watch(t, server.URL, as("a", i)...); stream.answer.StatusCode != http.StatusOK {
			t.Fatalf("viewer %d: %d", i, stream.answer.StatusCode)
		}
	}
	if more := watch(t, server.URL, as("a", mostOfOne)...); more.answer.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("the ServiceAccounts of one namespace have %d pages: %d", mostOfOne+1, more.answer.StatusCode)
	}
	if other := watch(t, server.URL, as("b", 0)...); other.answer.StatusCode != http.StatusOK {
		t.Errorf("one of another namespace: %d", other.answer.StatusCode)
	}
}

// hanging is an API server that answers nobody who reads an item, until it is let.
type hanging struct {
	client.Reader
	only    string // the namespace
	let     chan struct{}
	reading atomic.Int32
}

func (h *hanging) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if key.Namespace == h.only {
		h.reading.Add(1)
		select {
		case <-h.let:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return h.Reader.Get(ctx, key, object, options...)
}

// R5.4: who opens many items while the API server is slow holds up nobody else, neither their items nor what is known already.
func TestWhoWaitsForTheAPIServerHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		objects := twoTenants()
		for i := range 30 {
			objects = append(objects, anItem(aSource("a", "press-a"), fmt.Sprint("item-", i), v1alpha1.PhaseProcessed))
		}
		slow := &hanging{only: "a", let: make(chan struct{})}
		w := newWorld(t, func(options *Options) {
			withAuth(options)
			slow.Reader, options.Live = options.Live, slow
		}, objects...)
		w.may["of-a"], w.may["of-b"] = []string{"list feeditems a"}, []string{"list feeditems b"}
		var all sync.WaitGroup
		for i := range 30 {
			all.Go(func() { w.ask(http.MethodGet, fmt.Sprint("/items/a/item-", i), nil, bearer...) })
		}
		synctest.Wait()
		if reads := slow.reading.Load(); reads != readsOfOne {
			t.Errorf("for one tenant %d items are read at the same time", reads)
		}
		began := time.Now()
		w.see("/items/b/dead-b", "Authorization", "Bearer of-b").has("Title of dead-b")
		w.see("/", "Authorization", "Bearer of-b").has("dead-b")
		w.see("/", bearer...).has("dead-a")
		if took := time.Since(began); took > 0 {
			t.Errorf("others wait for %s", took)
		}
		close(slow.let)
		all.Wait()
	})
}

// R5.4: pages for which nobody waits any more, because who has asked for them hangs up, are bounded, and for one tenant so that others have theirs.
func TestWhoHangsUpHasFewPagesUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, withAuth, twoTenants()...)
		w.may["of-a"], w.may["of-b"] = []string{"list feeditems a"}, []string{"list feeditems b"}
		w.see("/", bearer...)
		w.pass(2 * time.Minute) // what is known of them is to be asked anew
		let := make(chan struct{})
		w.reviewing = func(object client.Object) error {
			if review, is := object.(*authorizationv1.SubjectAccessReview); is && review.Spec.User == "user of of-a" {
				<-let
			}
			return nil
		}
		ctx, hangUp := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range underWayOfOne {
			all.Go(func() {
				request := httptest.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprint("/items?page=", i), nil)
				request.Host = "127.0.0.1:8083"
				request.Header.Set(bearer[0], bearer[1])
				w.handler.ServeHTTP(httptest.NewRecorder(), request)
			})
		}
		synctest.Wait()
		hangUp()
		all.Wait()
		began := time.Now()
		if got := w.ask(http.MethodGet, "/items?q=one+more", nil, bearer...); got.Code != http.StatusServiceUnavailable || time.Since(began) > 0 {
			t.Errorf("one more page: %d after %s", got.Code, time.Since(began))
		}
		w.see("/", "Authorization", "Bearer of-b").has("dead-b")
		close(let)
		synctest.Wait()
		w.see("/", bearer...).has("dead-a")
	})
}

// R5.4: what is asked of the API server about somebody is asked once, however many of their pages wait for the answer.
func TestTheSameIsAskedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, withAuth, twoTenants()...)
		w.may["of-a"] = []string{"list feeditems a"}
		let := make(chan struct{})
		w.reviewing = func(client.Object) error { <-let; return nil }
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() { w.ask(http.MethodGet, fmt.Sprint("/items?page=", i), nil, bearer...) })
		}
		for range 5 { // one after the other waits for an answer
			synctest.Wait()
			select {
			case let <- struct{}{}:
			default:
			}
		}
		synctest.Wait()
		close(let)
		all.Wait()
		if tokens, access := w.count("token"), w.count("access"); tokens != 1 || access != 3 {
			t.Errorf("20 pages ask %d times who it is, and %d times what they may see", tokens, access)
		}
	})
}

// R5.4: who makes tokens up keeps nobody from signing in who comes from elsewhere; and all together cannot make the API server busy.
func TestTokensMadeUpKeepOutNobodyElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withAuth, twoTenants()...)
	w.may["of-a"] = []string{"list feeditems a"}
	madeUp := func(from string, n int) {
		for i := range n {
			w.ask(http.MethodGet, "/", nil, "Authorization", fmt.Sprint("Bearer made-up-", from, i), "from", from)
		}
	}
	madeUp("10.0.0.1:4000", 3*people.NewTokensAtOnce)
	if got := w.ask(http.MethodGet, "/", nil, "Authorization", "Bearer of-a", "from", "10.0.0.1:4001"); got.Code != http.StatusServiceUnavailable {
		t.Errorf("from the same address: %d", got.Code)
	}
	for i := range 200 { // each address of a network of IPv6 is the same one
		madeUp(fmt.Sprintf("[2001:db8::%x]:4000", i), 1)
	}
	if asked := w.count("token"); asked != 2*people.NewTokensAtOnce {
		t.Errorf("the API server was asked about %d made-up tokens of two", asked)
	}
	w.see("/", "Authorization", "Bearer of-a", "from", "10.0.0.2:4000").has("dead-a")
	before := w.count("token")
	for i := range 100 {
		madeUp(fmt.Sprintf("10.0.1.%d:4000", i), 10)
	}
	if asked := w.count("token") - before; asked > 6*people.NewTokensAtOnce {
		t.Errorf("the API server was asked about %d made-up tokens of many", asked)
	}
	w.pass(time.Second)
	w.may["of-late"] = w.may["of-a"]
	w.see("/", "Authorization", "Bearer of-late", "from", "10.0.0.1:4002").has("dead-a")
}

// R5.4: what the API server says of somebody is believed for a minute, though the clock is set back by a day meanwhile.
func TestAnswersAreBelievedForAMinuteWhateverTheClockSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withAuth, twoTenants()...)
	w.may["of-a"], w.may["of-b"] = []string{"list feeditems a"}, []string{"list feeditems b"}
	w.see("/items", bearer...).has("dead-a")
	w.see("/items", "Authorization", "Bearer of-b").has("dead-b")
	w.mu.Lock()
	delete(w.may, "of-a") // the token is revoked
	w.may["of-b"] = nil   // the right is withdrawn
	w.now = w.now.Add(-24 * time.Hour)
	w.mu.Unlock()
	w.pass(61 * time.Second)
	if got := w.ask(http.MethodGet, "/items", nil, bearer...); got.Code != http.StatusUnauthorized {
		t.Errorf("a token that was revoked a minute ago: %d", got.Code)
	}
	w.see("/items", "Authorization", "Bearer of-b").lacks("dead-b")
}

// R5.4: nothing that a person is sent tells when something happens in a namespace that they do not see: not even the time that the page says it is of.
func TestNoAnswerTellsWhenSomethingHappensElsewhere(t *testing.T) {
	t.Parallel()
	var seen [2][]string
	for happens := range 2 {
		w := newWorld(t, withAuth, twoTenants()...)
		w.may["of-a"] = []string{"list feeditems a"}
		first := w.see("/", bearer...)
		for second := range 12 {
			w.mu.Lock()
			w.now, w.passed = w.now.Add(time.Second), w.passed+time.Second
			w.mu.Unlock()
			if item := w.item("b", "dead-b"); happens == 1 && second%3 == 0 {
				item.Status.RetryCount++
				if err := w.client.Update(t.Context(), &item); err != nil {
					t.Fatal(err)
				}
				w.board.hear(&item)
			}
			page := w.see("/", bearer...)
			seen[happens] = append(seen[happens], strings.NewReplacer(first.form(), "", first.all("main", "data-version")[0], "").Replace(page.Body.String()))
		}
	}
	for second, quiet := range seen[0] {
		if quiet != seen[1][second] {
			t.Errorf("after %d seconds it can be told that something has happened:\n%s\n%s", second+1, quiet, seen[1][second])
			break
		}
	}
}

// R5.4: while the API server is away, viewers are told in words; that makes one line of the log in a minute, in which no token is, however often they look.
func TestAnAPIServerThatIsAwayDoesNotFloodTheLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withAuth, twoTenants()...)
	w.may["of-a"] = []string{"list feeditems a"}
	w.reviewing = func(client.Object) error { return errors.New("connection refused") }
	for i := range 10 {
		got := w.ask(http.MethodGet, fmt.Sprintf("/items?page=%d", i), nil, bearer...)
		if got.Code != http.StatusServiceUnavailable || got.Header().Get("Retry-After") == "" {
			t.Fatalf("%d: %s", got.Code, got.text())
		}
		got.has("The API server does not answer")
		got.lacks("connection refused", "of-a")
	}
	if log := w.log.String(); strings.Count(log, "Page not served") != 1 || !strings.Contains(log, "connection refused") || strings.Contains(log, "of-a") {
		t.Errorf("log: %s", log)
	}
	w.reviewing = nil
	w.see("/items", bearer...).has("dead-a")
}

// unfilled is a cache that is being filled: whoever reads waits until they wait no longer.
type unfilled struct {
	client.Reader
	reads atomic.Int32
}

func (u *unfilled) List(ctx context.Context, _ client.ObjectList, _ ...client.ListOption) error {
	u.reads.Add(1)
	<-ctx.Done()
	return ctx.Err()
}

// R5.4: while the cache is filled, all viewers wait together, and not one after the other; that one of them goes away is nothing to the others.
func TestViewersWaitTogetherForTheCache(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cache := &unfilled{}
		board := NewBoard(cache, time.Now)
		began := time.Now()
		gone, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range 20 {
			ctx := t.Context()
			if i == 0 {
				ctx = gone
			}
			all.Go(func() {
				if _, err := board.Current(ctx); err == nil || errors.Is(err, context.Canceled) != (i == 0) {
					t.Errorf("viewer %d: %v", i, err)
				}
			})
		}
		time.Sleep(time.Second)
		leave()
		all.Wait()
		if took := time.Since(began); took > readTimeout || cache.reads.Load() != 1 {
			t.Errorf("20 viewers wait for %s, and for %d reads", took, cache.reads.Load())
		}
	})
}
