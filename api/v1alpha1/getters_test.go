// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

func duration(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }

func TestGettersOfASource(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spec v1alpha1.FeedSourceSpec
		want map[string]any
	}{
		"nothing is said": {want: map[string]any{
			"Interval": 15 * time.Minute, "FetchTimeout": 30 * time.Second, "InitialItems": 5, "MaxActiveItems": 1000,
			"ArticleSource": v1alpha1.ArticleSourceAuto, "MaxArticleBytes": int64(5 << 20), "MaxCharacters": 400, "MaxRetries": 5,
			"RetryDelays": []any{5 * time.Minute, 24 * time.Hour, 2},
			"KeepFor":     []time.Duration{7 * 24 * time.Hour, 30 * 24 * time.Hour}, "KeepLast": 20,
		}},
		"everything is said": {
			spec: v1alpha1.FeedSourceSpec{
				Interval: duration(time.Hour), Timeout: duration(time.Second), InitialItems: new(int32(1)), MaxActiveItems: new(int32(2)),
				Article:   &v1alpha1.ArticlePolicy{Source: v1alpha1.ArticleSourcePage, MaxBytes: new(int64(3))},
				Summary:   &v1alpha1.SummaryPolicy{MaxCharacters: new(int32(4))},
				Retry:     &v1alpha1.RetryPolicy{MaxRetries: new(int32(6)), InitialDelay: duration(7), MaxDelay: duration(8), Multiplier: new(int32(9))},
				Retention: &v1alpha1.RetentionPolicy{Processed: duration(10), Failed: duration(11), KeepLast: new(int32(12))},
			},
			want: map[string]any{
				"Interval": time.Hour, "FetchTimeout": time.Second, "InitialItems": 1, "MaxActiveItems": 2,
				"ArticleSource": v1alpha1.ArticleSourcePage, "MaxArticleBytes": int64(3), "MaxCharacters": 4, "MaxRetries": 6,
				"RetryDelays": []any{time.Duration(7), time.Duration(8), 9}, "KeepFor": []time.Duration{10, 11}, "KeepLast": 12,
			},
		},
		"none is said, which is not the same as nothing": {
			spec: v1alpha1.FeedSourceSpec{
				InitialItems: new(int32(0)), Retry: &v1alpha1.RetryPolicy{MaxRetries: new(int32(0))},
				Retention: &v1alpha1.RetentionPolicy{KeepLast: new(int32(0))},
			},
			want: map[string]any{
				"Interval": 15 * time.Minute, "FetchTimeout": 30 * time.Second, "InitialItems": 0, "MaxActiveItems": 1000,
				"ArticleSource": v1alpha1.ArticleSourceAuto, "MaxArticleBytes": int64(5 << 20), "MaxCharacters": 400, "MaxRetries": 0,
				"RetryDelays": []any{5 * time.Minute, 24 * time.Hour, 2},
				"KeepFor":     []time.Duration{7 * 24 * time.Hour, 30 * 24 * time.Hour}, "KeepLast": 0,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, sayings(&v1alpha1.FeedSource{Spec: test.spec})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestGettersOfAProvider(t *testing.T) {
	t.Parallel()
	nothing := &v1alpha1.AIProvider{}
	if nothing.Timeout() != time.Minute || nothing.MaxConcurrent() != 4 || nothing.RequestsPerMinute() != 0 {
		t.Errorf("defaults are %s, %d, %d", nothing.Timeout(), nothing.MaxConcurrent(), nothing.RequestsPerMinute())
	}
	said := &v1alpha1.AIProvider{Spec: v1alpha1.AIProviderSpec{
		Timeout: duration(time.Second), MaxConcurrent: new(int32(2)), RequestsPerMinute: new(int32(3)),
	}}
	if said.Timeout() != time.Second || said.MaxConcurrent() != 2 || said.RequestsPerMinute() != 3 {
		t.Errorf("%s, %d, %d", said.Timeout(), said.MaxConcurrent(), said.RequestsPerMinute())
	}
}

// R1.6, R2.7: until it was published or looked at, an item's creation stands for it.
func TestGettersOfAnItem(t *testing.T) {
	t.Parallel()
	creation, later := metav1.NewTime(time.Unix(100, 0)), metav1.NewTime(time.Unix(200, 0))
	item := &v1alpha1.FeedItem{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: creation}}
	if item.Published() != creation || item.LastCheck() != creation {
		t.Errorf("without times: %s, %s", item.Published(), item.LastCheck())
	}
	item.Spec.PublishedTime, item.Status.LastCheckTime = &later, &later
	if item.Published() != later || item.LastCheck() != later {
		t.Errorf("with times: %s, %s", item.Published(), item.LastCheck())
	}
	for phase, want := range map[v1alpha1.Phase]bool{
		"": false, v1alpha1.PhaseUnprocessed: false, v1alpha1.PhaseDeferred: false, v1alpha1.PhasePending: false,
		v1alpha1.PhaseProcessed: true, v1alpha1.PhaseFailed: true,
	} {
		item.Status.Phase = phase
		if item.Terminal() != want {
			t.Errorf("phase %q: terminal is %t", phase, item.Terminal())
		}
	}
	if active := (v1alpha1.ItemCounts{Unprocessed: 1, Deferred: 20, Pending: 300, Processed: 4000, Failed: 50_000}).Active(); active != 321 {
		t.Errorf("%d items are active", active)
	}
}
