// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"errors"
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
)

// R1.9, R6.3: a leader that was frozen during a poll tells of it when it wakes. The one after it has made, and told of, a poll since that a
// person has asked for: that stays told, or who waits for it waits for the next one.
func TestAnOlderPollIsNotToldAfterANewerOne(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]bool{"went well": false, "failed": true} {
		t.Run("it "+name, func(t *testing.T) {
			t.Parallel()
			web := feedtest.New(t)
			w := newWorld(t)
			source := w.source("news", web.FeedURL())
			w.poll("news")
			events, err := w.client.Watch(t.Context(), &v1alpha1.FeedSourceList{}, client.InNamespace(w.namespace))
			if err != nil {
				t.Fatal(err)
			}
			defer events.Stop()
			web.OnRequest(func(rw http.ResponseWriter, _ *http.Request) bool {
				web.OnRequest(nil)
				w.annotate(source.DeepCopy(), v1alpha1.AnnotationPoll, "newer")
				told := client.RawPatch(types.MergePatchType, []byte(`{"status":{"lastHandledPoll":"newer"}}`))
				if err := w.client.Status().Patch(t.Context(), source.DeepCopy(), told); err != nil {
					t.Error(err)
				}
				if fails {
					rw.WriteHeader(http.StatusNotFound)
				}
				return fails
			})
			w.annotate(source.DeepCopy(), v1alpha1.AnnotationPoll, "older")
			w.untilSource("news", func(source *v1alpha1.FeedSource) error {
				if source.Annotations[v1alpha1.AnnotationPoll] != "newer" {
					return errors.New("not polled")
				}
				return nil
			})
			w.change(source, `{"spec":{"timeout":"20s"}}`) // when it is told of the poll for that, it was of the one before, or never is
			for event := range events.ResultChan() {
				seen, ok := event.Object.(*v1alpha1.FeedSource)
				switch {
				case !ok || seen.Status.LastHandledPoll == "older":
					t.Fatalf("the poll that was frozen is told of: %+v", event.Object)
				case seen.Status.ObservedGeneration > source.Generation:
					return
				}
			}
		})
	}
}
