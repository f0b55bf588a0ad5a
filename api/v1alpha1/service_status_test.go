// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// fullServiceStatus is all that can be known about something that is called.
func fullServiceStatus() v1alpha1.ServiceStatus {
	now := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	return v1alpha1.ServiceStatus{
		ObservedGeneration: 1,
		Conditions: []metav1.Condition{{
			Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonCoolingDown, LastTransitionTime: now, ObservedGeneration: 1,
		}},
		Availability: &v1alpha1.Availability{State: "CoolingDown", Until: &now, Failures: 2},
		CheckedTime:  &now,
		Failures:     []v1alpha1.CategoryCount{{Category: v1alpha1.CategoryAPI, Count: 3}, {Category: v1alpha1.CategoryRateLimit, Count: 4}},
		LastFailure: &v1alpha1.Failure{
			Category: v1alpha1.CategoryRateLimit, Type: "Throttled", Message: "Asked too often.", Retryable: true,
			Stage: v1alpha1.StageSummarize, Object: "gemini", Time: now, HTTPStatus: 429,
		},
		RefusedCredentials:      "3e9b8f7c-0000-4000-8000-000000000001/12345",
		CredentialsRestoredTime: &metav1.MicroTime{Time: time.Date(2026, 1, 2, 3, 4, 5, 678_901_000, time.UTC)},
		LastHandledRetry:        "monday",
		RetryRequestedTime:      &metav1.MicroTime{Time: time.Date(2026, 1, 2, 3, 5, 5, 678_901_000, time.UTC)},
	}
}

func fullDestinationStatus() v1alpha1.FeedDestinationStatus {
	return v1alpha1.FeedDestinationStatus{
		ServiceStatus: fullServiceStatus(),
		Server: &v1alpha1.DestinationServer{
			Account: "@press@mastodon.example", Software: "mastodon 4.5.0", MaxCharacters: 500, CharactersPerURL: 23, HonoursKeys: true, CanRead: true,
		},
		Delivered:        42,
		LastDeliveryTime: &metav1.Time{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
	}
}

// R3.9, R4.1: what is known about a service comes back as it was written, so that it survives a
// restart. The release keeps its microseconds: it is compared with the times of failures.
func TestWhatIsKnownOfAServiceIsKept(t *testing.T) {
	t.Parallel()
	namespace := server.Namespace(t)
	provider := &v1alpha1.AIProvider{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "gemini"}}
	provider.Spec.Extractive = &v1alpha1.ExtractiveProvider{}
	destination := &v1alpha1.FeedDestination{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "mastodon"}}
	destination.Spec.Mastodon = &v1alpha1.MastodonDestination{Server: mastodonServer, SecretRef: v1alpha1.SecretReference{Name: "mastodon"}}
	calls := v1alpha1.AIProviderStatus{ServiceStatus: fullServiceStatus(), Calls: 1234, Tokens: 987_654, LastSuccessTime: &metav1.Time{Time: fullServiceStatus().CheckedTime.Time}}
	calls.TokensToday = &v1alpha1.TokensToday{Day: "2026-01-02", Used: 54_321, Reserved: 60_000}
	keep(t, provider, func() { provider.Status = *calls.DeepCopy() })
	keep(t, destination, func() { destination.Status = fullDestinationStatus() })
	if diff := cmp.Diff(calls, provider.Status); diff != "" {
		t.Errorf("provider (-written +read):\n%s", diff)
	}
	if diff := cmp.Diff(fullDestinationStatus(), destination.Status); diff != "" {
		t.Errorf("destination (-written +read):\n%s", diff)
	}
	if provider.Service() != &provider.Status.ServiceStatus || destination.Service() != &destination.Status.ServiceStatus {
		t.Error("what is common is not what stands on the status")
	}
}

// keep writes an object and its status as the operator does, and reads it again.
func keep(t *testing.T, object client.Object, setStatus func()) {
	t.Helper()
	if err := server.Client.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	before := object.DeepCopyObject().(client.Object)
	setStatus()
	if err := server.Client.Status().Patch(t.Context(), object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		t.Fatal(err)
	}
	if err := server.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		t.Fatal(err)
	}
}

// R5.1, R5.6: a status is written by the operator alone, at an endpoint of its own: whoever applies
// a manifest with a status in it changes nothing there.
func TestAStatusInAManifestIsNotTaken(t *testing.T) {
	t.Parallel()
	namespace := server.Namespace(t)
	for kind, claim := range map[string]map[string]any{
		"FeedDestination": {"status.delivered": int64(9), "status.server.account": "@other@mastodon.example", "status.availability.state": "Down"},
		"AIProvider":      {"status.tokens": int64(9), "status.credentialsRestoredTime": "2026-01-02T03:04:05.000000Z", "status.availability.state": "Down"},
		"FeedItem":        {"status.deliveries": []any{delivery(0)}, "status.articleHash": strings.Repeat("0", 64), "status.screening.valuable": true},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			object := objectOf(kind, namespace)
			for path, value := range claim {
				set(object.Object, path, value)
			}
			live := created(t, object)
			for path := range claim {
				if got := at(live, path); got != nil {
					t.Errorf("%s is %v", path, got)
				}
			}
		})
	}
}
