// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
)

// awaitItems waits until the items of a source pass a check, and returns them. Unlike untilItems it
// never has the operator look at them: what has to bring them back is the operator itself.
func (w *world) awaitItems(source string, check func([]v1alpha1.FeedItem) error) []v1alpha1.FeedItem {
	w.t.Helper()
	var items []v1alpha1.FeedItem
	apitest.Eventually(w.t, func(ctx context.Context) error {
		var err error
		if items, err = w.items(ctx, source); err != nil {
			return err
		}
		return check(items)
	})
	return items
}

// awaitItem is awaitItems for a source with one item.
func (w *world) awaitItem(source string, check func(*v1alpha1.FeedItem) error) *v1alpha1.FeedItem {
	w.t.Helper()
	items := w.awaitItems(source, eachOf(1, check))
	return &items[0]
}

// eachOf checks that there are n items, and each of them. Its error says how many are still wrong.
func eachOf(n int, check func(*v1alpha1.FeedItem) error) func([]v1alpha1.FeedItem) error {
	return func(items []v1alpha1.FeedItem) error {
		if err := hasItems(n)(items); err != nil {
			return err
		}
		var first error
		wrong := 0
		for i := range items {
			if err := check(&items[i]); err != nil {
				first = cmp.Or(first, err)
				wrong++
			}
		}
		if wrong == 0 {
			return nil
		}
		return fmt.Errorf("%d of %d items are wrong, the first: %w", wrong, n, first)
	}
}

// errNotYet is what a check returns of something that has not happened yet.
var errNotYet = errors.New("it has not happened yet")

// await waits until a check passes of what no object of the API server tells.
func await(t *testing.T, check func() error) {
	t.Helper()
	apitest.Eventually(t, func(context.Context) error { return check() })
}

// waitsFor checks that an item waits, and says for what.
func waitsFor(what string) func(*v1alpha1.FeedItem) error {
	return func(item *v1alpha1.FeedItem) error {
		if message := readyMessage(item); item.Status.Reason != v1alpha1.ReasonWaiting || !strings.Contains(message, what) {
			return fmt.Errorf("item %s is %s/%q: %q", item.Name, item.Status.Phase, item.Status.Reason, message)
		}
		return nil
	}
}

// isReady and isNotReady check the Ready condition of a provider.
func isReady(p *v1alpha1.AIProvider) error {
	return hasReady(p.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
}

func isNotReady(reason string) func(*v1alpha1.AIProvider) error {
	return func(p *v1alpha1.AIProvider) error {
		return hasReady(p.Status.Conditions, metav1.ConditionFalse, reason)
	}
}

// isClosed checks the Ready condition of a destination that is not posted to.
func isClosed(reason string) func(*v1alpha1.FeedDestination) error {
	return func(d *v1alpha1.FeedDestination) error {
		return hasReady(d.Status.Conditions, metav1.ConditionFalse, reason)
	}
}

// onItemWrites answers, in place of the API server, the writes of items; nil leaves one to it.
func (w *world) onItemWrites(answer func(r *http.Request, body string) *metav1.Status) {
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method != http.MethodPatch || !strings.Contains(r.URL.Path, "/feeditems/") {
			return nil
		}
		body, err := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if err != nil {
			return nil
		}
		return answer(r, string(body))
	})
}
