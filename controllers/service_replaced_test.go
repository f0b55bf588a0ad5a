// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
)

// R4.6, R4.7: a destination is deleted and made again by the same name, for another account, while it is asked who it is. The answer says nothing of the
// one that replaces it.
func TestTheAnswerOfADestinationIsNotThatOfTheOneThatReplacesIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.mastodon()
	var asked gate
	server.OnRequest(func(_ http.ResponseWriter, r *http.Request) bool {
		asked.pass(r)
		return false
	})
	open := asked.close(t)
	replaced := w.destination("press", server.URL)
	apitest.Eventually(t, func(context.Context) error { return asked.isHeld() })
	if err := w.client.Delete(t.Context(), replaced); err != nil {
		t.Fatal(err)
	}
	fresh := &v1alpha1.FeedDestination{}
	fresh.Namespace, fresh.Name = w.namespace, "press"
	fresh.Spec.Mastodon = &v1alpha1.MastodonDestination{Server: server.URL, SecretRef: v1alpha1.SecretReference{Name: "none-yet"}}
	if err := w.client.Create(t.Context(), fresh); err != nil {
		t.Fatal(err)
	}
	open()

	got := w.untilDestination("press", isClosed(v1alpha1.ReasonCredentialsMissing)) // written by the turn after that of the question
	if got.UID != fresh.UID {
		t.Fatalf("it is %s, want %s", got.UID, fresh.UID)
	}
	if got.Status.Server != nil || got.Status.CheckedTime != nil {
		t.Errorf("its status speaks of the other one: %+v", got.Status)
	}
}
