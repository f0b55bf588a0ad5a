// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// apiProxy stands between a manager and the API server. It passes everything on, watches too, but
// for what a trap is set for.
type apiProxy struct {
	kubeconfig []byte
	// ahead is how far the clock of the API server is ahead of the machine's, by what it answers.
	ahead atomic.Int64

	upstream *httputil.ReverseProxy
	heard    atomic.Pointer[func(*http.Request)]
	// mood is what the API server does with a request; nil for what it always does.
	mood atomic.Pointer[mood]
	// silence is closed when watches say something again; nil while they do.
	silence atomic.Pointer[chan struct{}]
	mu      sync.Mutex
	armed   *trap
}

// trap catches the first write of a delivery's state, or of a batch that is in flight or not any more.
type trap struct {
	state v1alpha1.DeliveryState
	// batch is set for writes of batches: then Intent is for one in flight, and Done for one that is not.
	batch bool
	// answered means that the write reaches the API server, and that it is the answer that is held.
	answered bool
	// broken is set if the connection breaks instead of the answer being held.
	broken bool

	sprung chan struct{}
	gate   chan struct{}
}

// newAPIProxy starts a proxy that stops with the test. Start it before the managers that use it, so
// that it ends after them.
func newAPIProxy(t *testing.T) *apiProxy {
	t.Helper()
	target, _, err := rest.DefaultServerUrlFor(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	p := &apiProxy{}
	p.upstream = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: target.Scheme, Host: target.Host}) },
		Transport:     transport,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0), // managers that are killed break their connections
		ModifyResponse: func(answer *http.Response) error {
			answer.Header.Set("Date", time.Now().Add(time.Duration(p.ahead.Load())).UTC().Format(http.TimeFormat))
			return nil
		},
	}
	front := httptest.NewServer(p)
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	p.kubeconfig = openKubeconfig(front.URL)
	return p
}

// openKubeconfig reaches an API server that wants no credentials.
func openKubeconfig(serverURL string) []byte {
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: proxy, cluster: {server: %q}}]
users: [{name: nobody, user: {}}]
contexts: [{name: proxy, context: {cluster: proxy, user: nobody}}]
current-context: proxy
`, serverURL)
}

// holdWrite sets a trap for a write that never reaches the API server.
func (p *apiProxy) holdWrite(state v1alpha1.DeliveryState) *trap {
	return p.arm(&trap{state: state, sprung: make(chan struct{})})
}

// holdAnswer sets a trap for a write that succeeds without its writer hearing of it.
func (p *apiProxy) holdAnswer(state v1alpha1.DeliveryState) *trap {
	return p.arm(&trap{state: state, answered: true, sprung: make(chan struct{}), gate: make(chan struct{})})
}

// loseAnswer sets a trap for a write that succeeds, and whose writer sees the connection break.
func (p *apiProxy) loseAnswer(state v1alpha1.DeliveryState) {
	p.arm(&trap{state: state, answered: true, broken: true, sprung: make(chan struct{})})
}

func (p *apiProxy) arm(armed *trap) *trap {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = armed
	return armed
}

// wait returns when something is caught.
func (c *trap) wait(t *testing.T) {
	t.Helper()
	select {
	case <-c.sprung:
	case <-time.After(patience):
		t.Fatalf("waited %s in vain for the write of %s", patience, c.state)
	}
}

// release lets a held answer through.
func (c *trap) release() { close(c.gate) }

// mood says what is wrong with a request: what is answered in place of doing it, or that the connection breaks once it is done, or before.
type mood func(*http.Request) (refused int, lost, broken bool)

func (p *apiProxy) setMood(now mood) { p.mood.Store(&now) }

// silent has watches say nothing until it is called with false. What there is to say is not lost.
func (p *apiProxy) silent(yes bool) {
	if yes {
		gate := make(chan struct{})
		p.silence.Store(&gate)
	} else if gate := p.silence.Swap(nil); gate != nil {
		close(*gate)
	}
}

// watching is the answer to a watch.
type watching struct {
	http.ResponseWriter
	ctx   context.Context //nolint:containedctx // of the request that is answered
	proxy *apiProxy
}

func (w watching) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w watching) Write(said []byte) (int, error) {
	if gate := w.proxy.silence.Load(); gate != nil {
		select {
		case <-*gate:
		case <-w.ctx.Done():
		}
	}
	return w.ResponseWriter.Write(said)
}

// inMood does what is wrong with a request, and reports whether anything is.
func (p *apiProxy) inMood(w http.ResponseWriter, r *http.Request) bool {
	now := p.mood.Load()
	if now == nil || *now == nil {
		return false
	}
	refused, lost, broken := (*now)(r)
	switch {
	case broken:
		panic(http.ErrAbortHandler)
	case lost:
		p.upstream.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case refused != 0:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(refused)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(refused), Reason: reasons[refused],
		})
		return true
	}
	return false
}

var reasons = map[int]metav1.StatusReason{
	http.StatusConflict: metav1.StatusReasonConflict, http.StatusTooManyRequests: metav1.StatusReasonTooManyRequests,
	http.StatusInternalServerError: metav1.StatusReasonInternalError, http.StatusGatewayTimeout: metav1.StatusReasonTimeout,
}

// hear has somebody hear of each request.
func (p *apiProxy) hear(heard func(*http.Request)) { p.heard.Store(&heard) }

func (p *apiProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if heard := p.heard.Load(); heard != nil {
		(*heard)(r)
	}
	if p.inMood(w, r) {
		return
	}
	if r.URL.Query().Has("watch") {
		w = watching{w, r.Context(), p}
	}
	caught := p.caught(r)
	switch {
	case caught == nil:
		p.upstream.ServeHTTP(w, r)
	case !caught.answered:
		close(caught.sprung)
		<-r.Context().Done() // the writer is gone
	default:
		answer := httptest.NewRecorder()
		p.upstream.ServeHTTP(answer, r)
		if answer.Code == http.StatusOK {
			close(caught.sprung)
			if caught.broken {
				panic(http.ErrAbortHandler)
			}
			select {
			case <-caught.gate:
			case <-r.Context().Done():
			}
		} else { // it was not written: the next one is
			p.arm(caught)
		}
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	}
}

// caught returns the trap that a request springs, or nil. A trap springs once.
func (p *apiProxy) caught(r *http.Request) *trap {
	ofBatch := strings.Contains(r.URL.Path, "/feeddestinations/")
	if r.Method != http.MethodPatch || !ofBatch && !strings.Contains(r.URL.Path, "/feeditems/") || !strings.HasSuffix(r.URL.Path, "/status") {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	state := stateIn(body, ofBatch)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.armed == nil || p.armed.batch != ofBatch || state != p.armed.state {
		return nil
	}
	caught := p.armed
	p.armed = nil
	return caught
}

// stateIn is what a patch of a status says of the first delivery, or of the first batch; empty for nothing.
func stateIn(body []byte, ofBatch bool) v1alpha1.DeliveryState {
	var patch struct {
		Status struct {
			Deliveries []v1alpha1.Delivery `json:"deliveries"`
			Batches    []v1alpha1.Batch    `json:"batches"`
		} `json:"status"`
	}
	switch err := json.Unmarshal(body, &patch); {
	case err != nil:
	case ofBatch && len(patch.Status.Batches) > 0 && patch.Status.Batches[0].InFlight:
		return v1alpha1.DeliveryIntent
	case ofBatch && len(patch.Status.Batches) > 0:
		return v1alpha1.DeliveryDone
	case !ofBatch && len(patch.Status.Deliveries) > 0:
		return patch.Status.Deliveries[0].State
	}
	return ""
}

// ofBatches has a trap catch writes of batches.
func (c *trap) ofBatches(yes bool) *trap {
	c.batch = yes
	return c
}
