// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
)

// R1.9, R1.4: a poll whose items the API server did not take is made again later and later; a person who
// has mended that and asks for a poll need not wait for it.
func TestAPersonNeedNotWaitForARepetition(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("one", 1)...)
	w := newWorld(t)
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/feeditems") {
			return &metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "the quota is used up"}
		}
		return nil
	})
	w.source("news", web.FeedURL())
	w.untilSource("news", saysOf(v1alpha1.ReasonItemsNotCreated, "quota"))

	w.faults.on(nil)
	w.poll("news") // no time passes
	w.untilItems("news", allProcessed(1))
}

// R1.9: the same for credentials that were missing.
func TestAPersonNeedNotWaitForCredentialsToBeLookedAt(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("one", 1)...)
	w := newWorld(t)
	source := w.source("news", web.FeedURL(), func(source *v1alpha1.FeedSource) {
		source.Spec.SecretRef, source.Spec.AllowInsecure = &v1alpha1.SecretReference{Name: "missing"}, true
	})
	w.untilSource("news", saysOf(string(v1alpha1.ReasonWaiting), "missing"))
	w.change(source, `{"spec":{"secretRef":null}}`)
	w.untilItems("news", allProcessed(1))
}

// R1.9: what is written about a source that was suspended says nothing of what a person has changed
// meanwhile: it is polled at once.
func TestASourceThatIsResumedWhileItsSuspensionIsWrittenIsPolled(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	w := newWorld(t)
	source := w.source("news", web.FeedURL())
	w.untilSource("news", saysOf(v1alpha1.ReasonSucceeded))
	polls := web.Hits("/feed.xml")

	resume := sync.OnceFunc(func() { w.change(source, `{"spec":{"suspend":false}}`) })
	w.faults.on(func(r *http.Request) *metav1.Status {
		if r.Method != http.MethodPatch || !strings.Contains(r.URL.Path, "/feedsources/") {
			return nil
		}
		body, err := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if err == nil && bytes.Contains(body, []byte(v1alpha1.ReasonSuspended)) {
			resume()
		}
		return nil
	})
	w.change(source, `{"spec":{"suspend":true}}`)
	await(t, func() error {
		if web.Hits("/feed.xml") == polls {
			return errNotYet
		}
		return nil
	})
	w.untilSource("news", saysOf(v1alpha1.ReasonSucceeded))
}

// R1.9, R2.3: the time of an item comes while its source is suspended. It goes on when that ends.
func TestTheItemsOfAResumedSourceGoOn(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("one", 1)...)
	web.OnRequest(func(rw http.ResponseWriter, r *http.Request) bool {
		if !strings.HasPrefix(r.URL.Path, "/articles/") {
			return false
		}
		rw.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	w := newWorld(t)
	source := w.source("news", web.FeedURL())
	items := w.untilItems("news", func(items []v1alpha1.FeedItem) error {
		if len(items) != 1 || items[0].Status.NextRetryTime == nil {
			return errNotYet
		}
		return nil
	})
	w.change(source, `{"spec":{"suspend":true}}`)
	w.untilSource("news", saysOf(v1alpha1.ReasonSuspended))
	w.clock.SetTime(items[0].Status.NextRetryTime.Time)
	w.pause("news")
	web.OnRequest(nil)

	w.change(source, `{"spec":{"suspend":false}}`)
	w.awaitItems("news", allProcessed(1))
}
