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
			"Interval": 15 * time.Minute, "FetchTimeout": 30 * time.Second, "InitialItems": 5, "MaxActiveItems": 1000, "MaxItemsPerDay": 500, "KeepMost": 1000,
			"ArticleSource": v1alpha1.ArticleSourceAuto, "MaxArticleBytes": int64(5 << 20), "MaxCharacters": 400, "MaxRetries": 5,
			"RetryDelays": []any{5 * time.Minute, 24 * time.Hour, 2},
			"KeepFor":     []time.Duration{7 * 24 * time.Hour, 30 * 24 * time.Hour}, "KeepLast": 20,
		}},
		"everything is said": {
			spec: v1alpha1.FeedSourceSpec{
				Interval: duration(time.Hour), Timeout: duration(time.Second), InitialItems: new(int32(1)), MaxActiveItems: new(int32(2)), MaxItemsPerDay: new(int32(13)),
				Article:   &v1alpha1.ArticlePolicy{Source: v1alpha1.ArticleSourcePage, MaxBytes: new(int64(3))},
				Summary:   &v1alpha1.SummaryPolicy{MaxCharacters: new(int32(4))},
				Retry:     &v1alpha1.RetryPolicy{MaxRetries: new(int32(6)), InitialDelay: duration(7), MaxDelay: duration(8), Multiplier: new(int32(9))},
				Retention: &v1alpha1.RetentionPolicy{Processed: duration(10), Failed: duration(11), KeepLast: new(int32(12)), KeepMost: new(int32(14))},
			},
			want: map[string]any{
				"Interval": time.Hour, "FetchTimeout": time.Second, "InitialItems": 1, "MaxActiveItems": 2, "MaxItemsPerDay": 13, "KeepMost": 14,
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
				"Interval": 15 * time.Minute, "FetchTimeout": 30 * time.Second, "InitialItems": 0, "MaxActiveItems": 1000, "MaxItemsPerDay": 500, "KeepMost": 1000,
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
	if nothing.Timeout() != time.Minute || nothing.MaxConcurrent() != 4 || nothing.RequestsPerMinute() != 0 || nothing.TokensPerDay() != 0 {
		t.Errorf("defaults are %s, %d, %d", nothing.Timeout(), nothing.MaxConcurrent(), nothing.RequestsPerMinute())
	}
	said := &v1alpha1.AIProvider{Spec: v1alpha1.AIProviderSpec{
		Timeout: duration(time.Second), MaxConcurrent: new(int32(2)), RequestsPerMinute: new(int32(3)), TokensPerDay: new(int64(4)),
	}}
	if said.Timeout() != time.Second || said.MaxConcurrent() != 2 || said.RequestsPerMinute() != 3 || said.TokensPerDay() != 4 {
		t.Errorf("%s, %d, %d", said.Timeout(), said.MaxConcurrent(), said.RequestsPerMinute())
	}
}

// R4.1: a service is called with what its Secret holds; the built-in summarizer needs none, and
// cannot judge (R2.4).
func TestGettersOfServices(t *testing.T) {
	t.Parallel()
	secret := v1alpha1.SecretReference{Name: "key"}
	extractive := &v1alpha1.AIProvider{Spec: v1alpha1.AIProviderSpec{Extractive: &v1alpha1.ExtractiveProvider{}}}
	gemini := &v1alpha1.AIProvider{Spec: v1alpha1.AIProviderSpec{Gemini: &v1alpha1.GeminiProvider{SecretRef: secret}, Suspend: true}}
	mastodon := &v1alpha1.FeedDestination{Spec: v1alpha1.FeedDestinationSpec{Mastodon: &v1alpha1.MastodonDestination{SecretRef: secret}, Suspend: true}}
	unknown := &v1alpha1.FeedDestination{}
	for name, test := range map[string]struct {
		service interface {
			SecretRef() *v1alpha1.SecretReference
			Suspended() bool
		}
		secret    *v1alpha1.SecretReference
		suspended bool
	}{
		"the built-in summarizer":                            {extractive, nil, false},
		"Gemini, suspended":                                  {gemini, &secret, true},
		"Mastodon, suspended":                                {mastodon, &secret, true},
		"a destination of a kind that is not known any more": {unknown, nil, false},
	} {
		if diff := cmp.Diff(test.secret, test.service.SecretRef()); diff != "" || test.service.Suspended() != test.suspended {
			t.Errorf("%s: suspended %t, Secret (-want +got):\n%s", name, test.service.Suspended(), diff)
		}
	}
	ollama := &v1alpha1.AIProvider{Spec: v1alpha1.AIProviderSpec{OpenAI: &v1alpha1.OpenAIProvider{Endpoint: "http://ollama.example:11434/v1"}}}
	openAI := &v1alpha1.AIProvider{Spec: v1alpha1.AIProviderSpec{OpenAI: &v1alpha1.OpenAIProvider{}}}
	if extractive.ReadsDocuments() || ollama.ReadsDocuments() || !gemini.ReadsDocuments() || !openAI.ReadsDocuments() {
		t.Error("Gemini and OpenAI read documents, others do not")
	}
	if extractive.Screens() || !gemini.Screens() {
		t.Errorf("extractive screens: %t, Gemini screens: %t", extractive.Screens(), gemini.Screens())
	}
}

// R3.4, R4.1
func TestGettersOfADestination(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spec v1alpha1.FeedDestinationSpec
		want map[string]any
	}{
		"nothing is said": {want: map[string]any{
			"Timeout": 30 * time.Second, "MinInterval": time.Duration(0), "MaxConcurrent": 1, "MaxRetries": 10,
			"RetryDelays": []any{5 * time.Minute, 24 * time.Hour, 2}, "MaxHashtags": 5, "Suspended": false,
		}},
		"everything is said": {
			spec: v1alpha1.FeedDestinationSpec{
				Mastodon: &v1alpha1.MastodonDestination{Hashtags: &v1alpha1.Hashtags{Max: new(int32(1))}},
				Timeout:  duration(2), MinInterval: duration(3), MaxConcurrent: new(int32(4)), Suspend: true,
				Retry: &v1alpha1.DeliveryRetryPolicy{MaxRetries: new(int32(5)), InitialDelay: duration(6), MaxDelay: duration(7), Multiplier: new(int32(8))},
			},
			want: map[string]any{
				"Timeout": time.Duration(2), "MinInterval": time.Duration(3), "MaxConcurrent": 4, "MaxRetries": 5,
				"RetryDelays": []any{time.Duration(6), time.Duration(7), 8}, "MaxHashtags": 1, "Suspended": true,
			},
		},
		"no retry is wanted, which is not the same as nothing said": {
			spec: v1alpha1.FeedDestinationSpec{Retry: &v1alpha1.DeliveryRetryPolicy{MaxRetries: new(int32(0))}},
			want: map[string]any{
				"Timeout": 30 * time.Second, "MinInterval": time.Duration(0), "MaxConcurrent": 1, "MaxRetries": 0,
				"RetryDelays": []any{5 * time.Minute, 24 * time.Hour, 2}, "MaxHashtags": 5, "Suspended": false,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, destinationSays(&v1alpha1.FeedDestination{Spec: test.spec})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// R2.4: an article passes when it is both worth a summary and all there.
func TestAnArticlePassesScreening(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		verdict *v1alpha1.Screening
		want    bool
	}{
		"it was not screened":              {nil, false},
		"it is neither":                    {&v1alpha1.Screening{}, false},
		"it is valuable, but not complete": {&v1alpha1.Screening{Valuable: true}, false},
		"it is complete, but not valuable": {&v1alpha1.Screening{Complete: true}, false},
		"it is both":                       {&v1alpha1.Screening{Valuable: true, Complete: true}, true},
	} {
		if got := test.verdict.Passed(); got != test.want {
			t.Errorf("%s: passed is %t", sentence, got)
		}
	}
	source := &v1alpha1.FeedSource{}
	if criteria := source.Criteria(); criteria != "" {
		t.Errorf("without screening, the criteria are %q", criteria)
	}
	source.Spec.Screening = &v1alpha1.ScreeningPolicy{Criteria: "New rules."}
	if criteria := source.Criteria(); criteria != "New rules." {
		t.Errorf("the criteria are %q", criteria)
	}
}

// R4.5: what is posted where, and what still happens to it.
func TestGettersOfADelivery(t *testing.T) {
	t.Parallel()
	source := &v1alpha1.FeedSource{Spec: v1alpha1.FeedSourceSpec{Destinations: []v1alpha1.DestinationReference{{Name: "mastodon"}, {Name: "second"}}}}
	for name, want := range map[string]bool{"mastodon": true, "second": true, "third": false, "": false} {
		if source.Delivers(name) != want {
			t.Errorf("destination %q: delivers is %t", name, !want)
		}
	}
	for state, want := range map[v1alpha1.DeliveryState]bool{
		"": false, v1alpha1.DeliveryQueued: false, v1alpha1.DeliveryIntent: false,
		v1alpha1.DeliveryDone: true, v1alpha1.DeliveryDead: true, v1alpha1.DeliveryDropped: true,
	} {
		if ended := (&v1alpha1.Delivery{State: state}).Ended(); ended != want {
			t.Errorf("state %q: ended is %t", state, ended)
		}
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
