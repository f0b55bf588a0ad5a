// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/internal/budget"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// countedClient is a client with a budget of the default size.
func countedClient(t *testing.T) (*Client, *budget.Budget) {
	t.Helper()
	memory := budget.New(budget.Default, time.Now)
	return newTestClient(t, Config{AllowCIDRs: []netip.Prefix{loopback}, AllowHTTP: true, Budget: memory}), memory
}

// compressedFeed sends so many bytes, compressed to next to nothing, but for the end of them, which comes when the
// request is let go.
func compressedFeed(t *testing.T, size int64, sent *sync.WaitGroup, end <-chan struct{}) http.HandlerFunc {
	whole := gzipped(t, size)
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(whole[:len(whole)-8])
		_ = http.NewResponseController(w).Flush()
		sent.Done()
		select {
		case <-end:
		case <-r.Context().Done():
		}
		_, _ = w.Write(whole[len(whole)-8:])
	}
}

// R1.6, R1.10: a hundred bodies that would be 1 GB, and of which the end does not come, hold what was sent of them and
// no more; a neighbour's document is read meanwhile. Not parallel: it looks at the memory of the whole process.
func TestSlowSendersHoldWhatTheyHaveSent(t *testing.T) {
	const size = 9 << 20
	senders := portion.Of(100, 10) // more than the 60 MiB below
	client, memory := countedClient(t)
	var sent, read sync.WaitGroup
	sent.Add(senders)
	end := make(chan struct{})
	slow := serve(t, compressedFeed(t, size, &sent, end))
	before := heapInUse()
	for range senders {
		read.Go(func() {
			room := memory.Document("slow")
			defer room.Release()
			err := client.Read(t.Context(), Request{URL: slow.URL, Timeout: time.Minute, Room: room}, func(response *Response) error {
				if len(response.Body) != size {
					t.Errorf("a body of %d bytes", len(response.Body))
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	sent.Wait()
	if held := memory.Usage().Documents; held > int64(senders)*(64<<10) {
		t.Errorf("%d bytes of the budget are held", held)
	}
	if grown := heapInUse() - before; grown > 60<<20 {
		t.Errorf("%d MiB of memory are held", grown>>20)
	}
	page := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, size)) })
	room := memory.Document("neighbour")
	if err := client.Read(t.Context(), Request{URL: page.URL, Room: room}, func(*Response) error { return nil }); err != nil {
		t.Errorf("a neighbour's document is not read: %v", err)
	}
	close(end)
	read.Wait()
	if left := memory.Usage(); left != (budget.Usage{}) {
		t.Errorf("%+v is not given back", left)
	}
}

// R1.6, R1.10: what was taken for a document is given back also where the work on it panics, which a reconcile survives.
func TestWorkThatPanicsGivesItsMemoryBack(t *testing.T) {
	t.Parallel()
	client, memory := countedClient(t)
	page := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("a page")) })
	room := memory.Document("a")
	defer room.Release()
	func() {
		defer func() { _ = recover() }()
		_ = client.Read(t.Context(), Request{URL: page.URL, Room: room}, func(*Response) error { panic("on a bad day") })
		t.Error("nothing has panicked")
	}()
	if left := memory.Usage(); left != (budget.Usage{}) {
		t.Errorf("%+v is not given back", left)
	}
}

// heapInUse is how much memory lives.
func heapInUse() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// R1.10: however many large bodies come at once, what is made of them fits the budget, and each is read in the end.
func TestAllBodiesAtOnceFitTheBudget(t *testing.T) {
	t.Parallel()
	bodies := portion.Of(128, 20)
	client, memory := countedClient(t)
	packed := gzipped(t, 5<<20)
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed)
	})
	alone := memory.Document("alone")
	err := client.Read(t.Context(), Request{
		URL: server.URL, Room: alone, Weigh: func(_ string, body []byte) int64 { return 3 * int64(len(body)) },
	}, func(*Response) error {
		if counted := memory.Usage().Work; counted < 20<<20 {
			t.Errorf("%d bytes are counted of a body of 5 MiB that takes three times as much beside it", counted)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	alone.Release()
	var atWork, most, reads atomic.Int64
	var group sync.WaitGroup
	for i := range bodies {
		group.Go(func() {
			room := memory.Document("tenant-" + strconv.Itoa(i%4))
			err := client.Read(t.Context(), Request{
				URL: server.URL, Room: room, Weigh: func(_ string, body []byte) int64 { return int64(len(body)) },
			}, func(*Response) error {
				reads.Add(1)
				for now := atWork.Add(1); ; {
					if known := most.Load(); now <= known || most.CompareAndSwap(known, now) {
						break
					}
				}
				runtime.Gosched()
				atWork.Add(-1)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			room.Release()
		})
	}
	group.Wait()
	if fit := memory.Document("").Most() / (10 << 20); most.Load() > fit || reads.Load() != int64(bodies) {
		t.Errorf("%d bodies were read, %d at once; %d fit", reads.Load(), most.Load(), fit)
	}
}

// R1.10, R3.12: what there is no room for says so, holds nothing, and is nobody's fault; its host is not even asked.
func TestADocumentWithoutRoom(t *testing.T) {
	t.Parallel()
	client, memory := countedClient(t)
	var asked atomic.Int32
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = w.Write(make([]byte, 2<<20))
	})
	read := func(owner string) error {
		room := memory.Document(owner)
		err := client.Read(t.Context(), Request{URL: server.URL, Room: room}, func(*Response) error { return nil })
		if held := room.Held(); held != 0 {
			t.Errorf("%d bytes are still held", held)
		}
		return err
	}
	other := memory.Document("other") // has the turn of the large
	for more := true; more; {
		more = other.Grow(1<<20) == nil
	}
	tight := memory.Document("tight")
	for more := true; more; {
		more = tight.Grow(1<<20) == nil
	}
	wantFull := func(err error) {
		t.Helper()
		if !errors.Is(err, budget.ErrFull) || failure.Classify(err).Type != failure.TypeNoRoom || ReachOf(err) != NotTried {
			t.Errorf("got %v, which says %v about the network", err, ReachOf(err))
		}
	}
	wantFull(read("tight"))
	if before := asked.Load(); before != 1 {
		t.Errorf("%d requests, want one that finds out how large it is", before)
	}
	for more := true; more; {
		more = tight.Grow(1<<10) == nil
	}
	wantFull(read("tight"))
	if after := asked.Load(); after != 1 {
		t.Errorf("%d requests were made for what there is no room for", after)
	}
	if err := read("neighbour"); err != nil {
		t.Errorf("a neighbour finds no room: %v", err)
	}
}

// R1.6: who waits for its turn at work gives up with its context.
func TestWaitingForWorkEndsWithTheContext(t *testing.T) {
	t.Parallel()
	client, memory := countedClient(t)
	_, done, err := memory.Document("other").Work(t.Context(), budget.Default)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("text")) })
	ctx, cancel := context.WithCancel(t.Context())
	room := memory.Document("one")
	err = client.Read(ctx, Request{URL: server.URL, Room: room, Received: cancel}, func(*Response) error {
		t.Error("it is read, though all work is taken")
		return nil
	})
	if !errors.Is(err, context.Canceled) || ReachOf(err) != NotTried {
		t.Errorf("got %v", err)
	}
	if left := memory.Usage().Documents; left != 0 {
		t.Errorf("%d bytes are not given back", left)
	}
}

// R1.6: an answer of a service that its client would make a gigabyte of is refused; one of usual size is read
// although there is no room, because it may have been paid for; what it takes is given back.
func TestAnswersOfServicesAreCounted(t *testing.T) {
	t.Parallel()
	client, memory := countedClient(t)
	full := memory.Document("tenant")
	for more := true; more; {
		more = full.Grow(64<<10) == nil
	}
	full.Charge(1 << 20)
	taken := memory.Usage()
	for name, test := range map[string]struct {
		owner, answer, want string
	}{
		"a usual answer":                {"tenant", `{"choices":[{"message":{"content":"` + strings.Repeat("A sentence. ", 2_000) + `"}}]}`, ""},
		"a million empty objects":       {"other", `{"choices":[` + strings.Repeat("{},", 1<<20) + `{}]}`, "more values"},
		"many values, and no room":      {"tenant", `{"choices":[` + strings.Repeat("{},", 3_000) + `{}]}`, "memory for documents is full"},
		"much text, and no room for it": {"tenant", `{"text":"` + strings.Repeat("x", 1<<20) + `"}`, "memory for documents is full"},
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, test.answer) })
			service := &http.Client{Transport: client.Transport(TransportOptions{Owner: test.owner})}
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := service.Do(request)
			if err == nil {
				if held := memory.Usage().Documents; held <= taken.Documents {
					t.Error("the answer is not counted")
				}
				if body, _ := io.ReadAll(answer.Body); string(body) != test.answer {
					t.Errorf("%d bytes were read", len(body))
				}
				_ = answer.Body.Close()
			}
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if now := memory.Usage(); now != taken {
				t.Errorf("%+v is taken, before it was %+v", now, taken)
			}
		})
	}
}

// R1.6: a library that panics on what a stranger has sent costs nobody any memory.
func TestAPanicGivesBackWhatWasTaken(t *testing.T) {
	t.Parallel()
	client, memory := countedClient(t)
	page := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("text")) })
	room := memory.Document("a")
	func() {
		defer func() { _ = recover() }()
		_ = client.Read(t.Context(), Request{URL: page.URL, Room: room}, func(*Response) error { panic("of a library") })
	}()
	if left := memory.Usage(); left != (budget.Usage{}) {
		t.Errorf("%+v are left", left)
	}
}
