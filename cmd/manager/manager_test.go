// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/tooltest"
)

var server *apitest.Server

// patience is how long a test waits for what must happen. It is generous: it says that something
// does not happen at all, not that it is slow.
const patience = 2 * time.Minute

// binary is the manager, built once for all tests.
var binary string

// testsAtOnce is how many tests run at the same time. Each has several managers: of forty on two cores some cannot renew their Leases.
const (
	testsAtOnce       = 6
	testsAtOnceInPart = 12
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	folder, err := os.MkdirTemp("", "feed-operator-manager-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if binary, err = tooltest.Manager(folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return apitest.RunAtOnce(m, &server, portion.Of(testsAtOnce, testsAtOnceInPart))
}

// R2.8, R3.5: wherever the manager is stopped, the item ends Processed, once.
func TestAnItemSurvivesTheEndOfTheManager(t *testing.T) {
	t.Parallel()
	// Each moment returns when the manager is to be stopped.
	moments := map[string]func(*testing.T, *moment){
		"when the item is created": func(t *testing.T, m *moment) {
			m.untilSeen(t, func(*v1alpha1.FeedItem) bool { return true })
		},
		"while the article is fetched": func(t *testing.T, m *moment) { <-m.asked },
		"when the article has come":    func(t *testing.T, m *moment) { <-m.asked; m.release(); <-m.answered },
		"while a failed item waits": func(t *testing.T, m *moment) {
			<-m.asked
			m.release()
			m.untilSeen(t, func(item *v1alpha1.FeedItem) bool { return item.Status.Phase == v1alpha1.PhaseDeferred })
		},
		"when the item is done": func(t *testing.T, m *moment) {
			<-m.asked
			m.release()
			m.untilSeen(t, func(item *v1alpha1.FeedItem) bool { return item.Status.Phase == v1alpha1.PhaseProcessed })
		},
	}
	signals := map[string]syscall.Signal{"killed": syscall.SIGKILL, "stopped": syscall.SIGTERM}
	for name, when := range moments {
		for _, signal := range portion.Across(name, moments, signals) {
			t.Run(fmt.Sprintf("%s/%s", name, signal), func(t *testing.T) {
				t.Parallel()
				namespace := server.Namespace(t)
				m := newMoment(t, namespace)
				m.fails = name == "while a failed item waits"

				first := start(t, namespace)
				when(t, m)
				m.releaseAfter(signal == syscall.SIGTERM)
				first.end(t, signal)
				m.release()

				second := start(t, namespace)
				done := m.untilSeen(t, func(item *v1alpha1.FeedItem) bool { return item.Status.Phase == v1alpha1.PhaseProcessed })
				second.end(t, syscall.SIGKILL)

				items := &v1alpha1.FeedItemList{}
				if err := server.Client.List(t.Context(), items, client.InNamespace(namespace)); err != nil {
					t.Fatal(err)
				}
				if len(items.Items) != 1 || items.Items[0].UID != done.UID {
					t.Fatalf("there are %d items", len(items.Items))
				}
				if m.ends() != 1 {
					t.Errorf("the item became Processed %d times", m.ends())
				}
				if items.Items[0].Status.Summary == nil || !strings.HasSuffix(items.Items[0].Status.Summary.Text, ".") {
					t.Errorf("summary %+v", items.Items[0].Status.Summary)
				}
			})
		}
	}
}

// moment is a source with one entry, of which the article is served when the test says so.
type moment struct {
	watch    watch.Interface
	fails    bool
	failOnce sync.Once
	askOnce  sync.Once
	asked    chan struct{}
	answered chan struct{}
	gate     chan struct{}
	open     sync.Once

	last      v1alpha1.FeedItem
	processed int
}

func newMoment(t *testing.T, namespace string) *moment {
	t.Helper()
	m := &moment{asked: make(chan struct{}), answered: make(chan struct{}, 100), gate: make(chan struct{})}
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	web.OnRequest(func(rw http.ResponseWriter, r *http.Request) bool {
		name, article := strings.CutPrefix(r.URL.Path, "/articles/")
		if !article {
			return false
		}
		m.askOnce.Do(func() { close(m.asked) })
		<-m.gate
		failed := false
		if m.fails {
			m.failOnce.Do(func() { failed = true })
		}
		if failed {
			rw.WriteHeader(http.StatusServiceUnavailable)
		} else {
			feedtest.ServeArticle(rw, name)
		}
		_ = http.NewResponseController(rw).Flush()
		m.answered <- struct{}{}
		return true
	})
	t.Cleanup(m.release)

	// The watch ends when what the test waits for does not happen at all.
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	var err error
	if m.watch, err = server.Client.Watch(ctx, &v1alpha1.FeedItemList{}, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.watch.Stop)
	source := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "news"}}
	source.Spec.URL = web.FeedURL()
	source.Spec.Retry = &v1alpha1.RetryPolicy{InitialDelay: &metav1.Duration{Duration: 1e9}}
	if err := server.Client.Create(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	return m
}

// release lets articles through.
func (m *moment) release() { m.open.Do(func() { close(m.gate) }) }

// releaseAfter lets articles through where the manager is to finish what is under way.
func (m *moment) releaseAfter(graceful bool) {
	if graceful {
		m.release()
	}
}

// untilSeen waits for a state of the item.
func (m *moment) untilSeen(t *testing.T, state func(*v1alpha1.FeedItem) bool) v1alpha1.FeedItem {
	t.Helper()
	if m.last.UID != "" && state(&m.last) {
		return m.last
	}
	for event := range m.watch.ResultChan() {
		item, ok := event.Object.(*v1alpha1.FeedItem)
		if !ok {
			continue
		}
		if item.Status.Phase == v1alpha1.PhaseProcessed && m.last.Status.Phase != v1alpha1.PhaseProcessed {
			m.processed++
		}
		m.last = *item
		if state(item) {
			return *item
		}
	}
	t.Fatalf("waited %s in vain; the item is %+v", patience, m.last.Status)
	return v1alpha1.FeedItem{}
}

// ends returns how often the item was seen to become Processed.
func (m *moment) ends() int { return m.processed }

func TestFlagsThatMakeNoSenseAreExplained(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]string{
		"--allow-cidr=localhost":       "is not an address range",
		"--deny-cidr=10.0.0.1":         "is not an address range",
		"--workers=0":                  "must be at least 1",
		"--shards=0":                   "must be from 1 to 64",
		"--shards=65":                  "must be from 1 to 64",
		"--shards=2":                   "--shards needs --leader-elect", // R6.3
		"--zap-log-level=6":            "Secrets included",              // R5.6
		"--feeds-base-url=example.org": "must be a full http:// or https:// URL",
		"--kubeconfig=/does/not/exist": "/does/not/exist",
		"extra":                        "unexpected argument",
		"--no-such-flag":               "unknown flag",
	} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			out, err := exec.CommandContext(t.Context(), binary, flag).CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !strings.Contains(string(out), want) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
