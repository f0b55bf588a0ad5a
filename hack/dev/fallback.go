// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// whoWrote returns who summarized an item, and why not those that come first in its chain.
func whoWrote(item *v1alpha1.FeedItem, chain []string) string {
	said := "Summarized by " + item.Status.Summary.Provider
	if why := passedOver(item, chain); why != "" {
		said += ", because " + why
	}
	return said + "."
}

// passedOver returns why an item was not summarized by those that come before who did it; it is empty
// where nobody does. Who was not asked was unavailable.
func passedOver(item *v1alpha1.FeedItem, chain []string) string {
	at := slices.Index(chain, item.Status.Summary.Provider)
	if at < 0 {
		return ""
	}
	var why []string
	for _, name := range chain[:at] {
		failed := slices.IndexFunc(item.Status.ProviderFailures, func(failure v1alpha1.ProviderFailure) bool { return failure.Name == name })
		if failed < 0 {
			why = append(why, name+" was unavailable")
			continue
		}
		why = append(why, fmt.Sprintf("%s failed (%s)", name, item.Status.ProviderFailures[failed].Category))
	}
	return strings.Join(why, " and ")
}

// chainOf are the names of those who summarize the items of a source, in their order.
func chainOf(source *v1alpha1.FeedSource) []string {
	chain := make([]string, 0, len(source.Spec.Providers))
	for _, provider := range source.Spec.Providers {
		chain = append(chain, provider.Name)
	}
	return chain
}

// sourceOf is the source of an item.
func sourceOf(item *v1alpha1.FeedItem) client.ObjectKey {
	return client.ObjectKey{Namespace: item.Namespace, Name: item.Spec.SourceRef.Name}
}

// pauseOf returns until when a provider is not called, and why; empty where it may be called now. What the
// status holds is rounded up to the second, so the last one may be over already.
func pauseOf(provider *v1alpha1.AIProvider, now time.Time) (until, why string) {
	availability := provider.Status.Availability
	if availability == nil || availability.Until == nil || !availability.Until.After(now.Add(time.Second)) {
		return "", ""
	}
	until = "Paused until " + availability.Until.Local().Format(time.TimeOnly)
	if availability.State == v1alpha1.AvailabilityState(schedule.StateCircuitOpen) {
		until += fmt.Sprintf(", after %d failures in a row", availability.Failures)
	}
	if last := provider.Status.LastFailure; last != nil {
		why = last.Message
	}
	return until, why
}

func (b *board) sawChain(source *v1alpha1.FeedSource) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.chains[client.ObjectKeyFromObject(source)] = chainOf(source)
}

// sawProvider shows when a provider may be called, when it ceases to be, and when it may again. After a
// pause of less than a minute its status says so only with the next call.
func (b *board) sawProvider(provider *v1alpha1.AIProvider, now time.Time) {
	ready := apimeta.FindStatusCondition(provider.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	until, why := pauseOf(provider, now)
	if until == "" {
		b.showReady(provider, ready, now)
		return
	}
	if b.shown[provider.UID] == until {
		return
	}
	b.shown[provider.UID] = until
	phase := "Ready"
	if ready.Status != metav1.ConditionTrue {
		phase = "Not ready"
	}
	b.line(now, provider.Name, phase, string(provider.Status.Availability.State), until)
	b.detail(cmp.Or(why, ready.Message))
}
