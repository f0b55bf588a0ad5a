// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/posted"
)

// permissions are what the operator's role gives it in a namespace. The reviews are for the page and the metrics, which are not of the controllers.
func permissions(t *testing.T) []rbacv1.PolicyRule {
	t.Helper()
	return slices.DeleteFunc(apitest.Permissions(t, "role.yaml"), func(p rbacv1.PolicyRule) bool {
		return p.APIGroups[0] == "authentication.k8s.io" || p.APIGroups[0] == "authorization.k8s.io"
	})
}

// denials notes what the API server forbids an operator.
type denials struct {
	// older has the API server be one that cannot stream what there is (https://kep.k8s.io/3157), as those before Kubernetes 1.32.
	older atomic.Bool

	mu   sync.Mutex
	what []string
}

func (f *denials) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if f.older.Load() && r.URL.Query().Has("sendInitialEvents") {
			const body = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,` +
				`"message":"sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"}`
			return &http.Response{
				StatusCode: http.StatusUnprocessableEntity, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(strings.NewReader(body)), Request: r,
			}, nil
		}
		response, err := next.RoundTrip(r)
		if err == nil && response.StatusCode == http.StatusForbidden {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.what = append(f.what, r.Method+" "+r.URL.String())
		}
		return response, err
	})
}

func (f *denials) all() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.what)
}

// under has a world's operator be a user who may do so much in the world's namespace and nothing else, and notes what it is forbidden.
func under(t *testing.T, may []rbacv1.PolicyRule, forbidden *denials) func(*world) {
	return func(w *world) {
		t.Helper()
		onRealServer(w)
		user := "operator-" + w.namespace
		w.api.Allow(t, user, w.namespace, "operator", may)
		w.reaches = func(config *rest.Config) {
			config.Impersonate.UserName = user
			config.Wrap(forbidden.wrap)
		}
	}
}

// grant has the operator be allowed all it needs, so that it can be stopped: one whose cache is not filled goes on waiting for that.
func (w *world) grant(all []rbacv1.PolicyRule) {
	w.t.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "operator"}, Rules: all}
	if err := w.client.Update(w.t.Context(), role); err != nil {
		w.t.Fatal(err)
	}
	if !w.manager.GetCache().WaitForCacheSync(w.t.Context()) {
		w.t.Error("the cache was never filled")
	}
}

// mainJob is what the operator is there for, from the first poll to what is too old. It ends early when something is forbidden.
func (w *world) mainJob(forbidden *denials) {
	w.t.Helper()
	until := func(check func(ctx context.Context) error) {
		apitest.Eventually(w.t, func(ctx context.Context) error {
			if len(forbidden.all()) > 0 {
				return nil
			}
			return check(ctx)
		})
	}
	news := func(check func([]v1alpha1.FeedItem) error) func(context.Context) error {
		return func(ctx context.Context) error {
			items, err := w.items(ctx, "news")
			return errors.Join(err, check(items))
		}
	}
	phases := func(processed, deferred, failed int) func(context.Context) error {
		return news(func(items []v1alpha1.FeedItem) error {
			got := map[v1alpha1.Phase]int{}
			for i := range items {
				got[items[i].Status.Phase]++
			}
			if got[v1alpha1.PhaseProcessed] != processed || got[v1alpha1.PhaseDeferred] != deferred || got[v1alpha1.PhaseFailed] != failed {
				return fmt.Errorf("%v", got)
			}
			return nil
		})
	}
	memories := func(most int) func(context.Context) error {
		return func(ctx context.Context) error {
			var list v1alpha1.FeedMemoryList
			if err := w.client.List(ctx, &list, client.InNamespace(w.namespace)); err != nil || len(list.Items) <= most {
				return err
			}
			return fmt.Errorf("%d memories", len(list.Items))
		}
	}
	w.gemini("writer")
	w.destination("press", w.mastodon().URL)
	web := feedtest.New(w.t)
	web.List(web.Entries("news", 3)...)
	web.OnRequest(func(rw http.ResponseWriter, r *http.Request) bool {
		gone := r.URL.Path == "/articles/news-1"
		if gone {
			http.NotFound(rw, r)
		}
		return gone
	})
	w.source("news", web.FeedURL(), postsTo("press"), summarizedBy("writer"), triedAgain(2), keepMost(3))
	until(phases(2, 1, 0))
	web.List(web.Entries("news", 4)...)
	w.annotate(&v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "news"}}, v1alpha1.AnnotationPoll, "now")
	until(phases(3, 1, 0))
	w.clock.Step(time.Hour)
	until(news(func(items []v1alpha1.FeedItem) error {
		if slices.ContainsFunc(items, func(item v1alpha1.FeedItem) bool { return item.Status.RetryCount == 2 || item.Status.RetryCount == 1 }) {
			return nil
		}
		return errNotYet
	}))
	w.clock.Step(time.Hour)
	until(func(ctx context.Context) error {
		if err := phases(3, 0, 1)(ctx); err != nil {
			return phases(2, 0, 1)(ctx) // one too many is removed by and by
		}
		return nil
	})
	if len(forbidden.all()) > 0 {
		return
	}
	w.stop()
	forbidden.older.Store(true)
	w.start()
	until(func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if !w.manager.GetCache().WaitForCacheSync(ctx) {
			return errNotYet
		}
		return nil
	})
	if len(forbidden.all()) > 0 {
		return
	}
	hourly := func(check func(context.Context) error) {
		w.timePassesBy(time.Hour, func() error {
			if len(forbidden.all()) > 0 {
				return nil
			}
			return check(w.t.Context())
		})
	}
	w.clock.Step(31 * 24 * time.Hour)
	hourly(news(hasItems(0)))
	w.clock.Step(posted.KeptFor)
	hourly(memories(1)) // what is known of the feed stays
}

// R6.2: what the operator's role gives is what its main job takes: nothing is missing, and nothing is there for nothing. Without any one of its
// permissions the API server forbids the operator something.
func TestTheRoleOfTheOperatorIsWhatItsJobTakes(t *testing.T) {
	t.Parallel()
	all := permissions(t)
	t.Run("with all of it", func(t *testing.T) {
		t.Parallel()
		forbidden := &denials{}
		newWorld(t, under(t, all, forbidden)).mainJob(forbidden)
		for _, what := range forbidden.all() {
			t.Errorf("forbidden: %s", what)
		}
	})
	for _, missing := range portion.SomeOf(all, 4) {
		name := fmt.Sprintf("to %s %s", missing.Verbs[0], strings.Trim(missing.Resources[0]+"."+missing.APIGroups[0], "."))
		t.Run("without permission "+name, func(t *testing.T) {
			t.Parallel()
			forbidden := &denials{}
			w := newWorld(t, under(t, slices.DeleteFunc(slices.Clone(all), func(p rbacv1.PolicyRule) bool { return reflect.DeepEqual(p, missing) }), forbidden))
			w.mainJob(forbidden)
			w.grant(all)
			if len(forbidden.all()) == 0 {
				t.Errorf("without it nothing was forbidden: %s", name)
			}
		})
	}
}
