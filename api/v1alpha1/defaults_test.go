// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// created returns the object as the API server holds it.
func created(t *testing.T, object *unstructured.Unstructured) map[string]any {
	t.Helper()
	if err := server.Client.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	if err := server.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		t.Fatal(err)
	}
	return object.Object
}

// R1.1, R1.5, R3.4, R4.1: what a person leaves out is filled in, visibly.
func TestTheAPIServerFillsInDefaults(t *testing.T) {
	t.Parallel()
	namespace := server.Namespace(t)
	tests := map[string]struct {
		kind string
		// given is what a person writes beyond what must be there.
		given map[string]any
		want  map[string]any // by path
	}{
		"a source that says nothing but a URL": {
			kind: "FeedSource",
			want: map[string]any{
				"spec.interval": "15m", "spec.timeout": "30s", "spec.initialItems": int64(5), "spec.maxActiveItems": int64(1000), "spec.maxItemsPerDay": int64(500),
				"spec.suspend": nil, "spec.article": nil, "spec.retry": nil, "spec.retention": nil, "spec.summary": nil,
				"status.observedGeneration": int64(-1), // never seen is not the same as current
			},
		},
		"a source that begins to say something about everything": {
			kind: "FeedSource",
			given: map[string]any{
				"spec.article": map[string]any{}, "spec.summary": map[string]any{}, "spec.retry": map[string]any{}, "spec.retention": map[string]any{},
			},
			want: map[string]any{
				"spec.article.source": "Auto", "spec.article.maxBytes": int64(5 << 20),
				"spec.summary.maxCharacters": int64(400),
				"spec.retry.maxRetries":      int64(5), "spec.retry.initialDelay": "5m", "spec.retry.maxDelay": "24h", "spec.retry.multiplier": int64(2),
				"spec.retention.processed": "168h", "spec.retention.failed": "720h", "spec.retention.keepLast": int64(20),
				"spec.retention.keepMost": int64(1000),
			},
		},
		"a source that says what is not the default": {
			kind:  "FeedSource",
			given: map[string]any{"spec.interval": "1h", "spec.initialItems": int64(0), "spec.retry": map[string]any{"maxRetries": int64(0)}},
			want:  map[string]any{"spec.interval": "1h", "spec.initialItems": int64(0), "spec.retry.maxRetries": int64(0)},
		},
		"a source that screens and delivers": { // R2.4, R4.5
			kind: "FeedSource",
			given: map[string]any{
				"spec.screening": map[string]any{"criteria": "New rules."}, "spec.destinations": []any{map[string]any{"name": "mastodon"}},
				"spec.summary": map[string]any{"language": "ja"}, "spec.providers": []any{map[string]any{"name": "gemini"}},
			},
			want: map[string]any{
				"spec.screening":    map[string]any{"criteria": "New rules."},
				"spec.destinations": []any{map[string]any{"name": "mastodon"}},
				"spec.summary":      map[string]any{"language": "ja", "maxCharacters": int64(400)},
			},
		},
		"a destination that says nothing but where": { // R3.4, R4.1
			kind: "FeedDestination",
			want: map[string]any{
				"spec.timeout": "30s", "spec.maxConcurrent": int64(1), "spec.minInterval": nil, "spec.template": nil, "spec.retry": nil,
				"spec.suspend": nil, "spec.mastodon": aMastodon,
				"status": map[string]any{"observedGeneration": int64(-1)},
			},
		},
		"a destination that begins to say something about everything": {
			kind:  "FeedDestination",
			given: map[string]any{"spec.retry": map[string]any{}, "spec.mastodon.hashtags": map[string]any{}},
			want: map[string]any{
				"spec.retry.maxRetries": int64(10), "spec.retry.initialDelay": "5m", "spec.retry.maxDelay": "24h", "spec.retry.multiplier": int64(2),
				"spec.mastodon.hashtags": map[string]any{"max": int64(5)},
			},
		},
		"Gemini": {
			kind:  "AIProvider",
			given: map[string]any{"spec.extractive": absent{}, "spec.gemini": aGemini},
			want:  map[string]any{"spec.gemini": aGemini, "spec.timeout": "60s", "spec.maxConcurrent": int64(4)},
		},
		"a provider": {
			kind: "AIProvider",
			want: map[string]any{
				"spec.timeout": "60s", "spec.maxConcurrent": int64(4), "spec.requestsPerMinute": nil, "status.observedGeneration": int64(-1),
			},
		},
		"an item": {
			kind: "FeedItem",
			want: map[string]any{"status": map[string]any{"phase": "Unprocessed"}, "spec.publishedTime": nil},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := objectOf(test.kind, namespace)
			for path, value := range test.given {
				set(object.Object, path, value)
			}
			live := created(t, object)
			for path, want := range test.want {
				if got := at(live, path); !cmp.Equal(got, want) {
					t.Errorf("%s is %v, want %v", path, got, want)
				}
			}
		})
	}
}

// TestDefaultsAreTheSameOnTheServerAndInTheProgram compares what the getters say of an object that
// went through the API server with what they say of one that did not.
func TestDefaultsAreTheSameOnTheServerAndInTheProgram(t *testing.T) {
	t.Parallel()
	namespace := server.Namespace(t)
	for name, given := range map[string]map[string]any{
		"nothing is said": nil,
		"structures are there, and empty": {
			"spec.article": map[string]any{}, "spec.summary": map[string]any{}, "spec.retry": map[string]any{}, "spec.retention": map[string]any{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := objectOf("FeedSource", namespace)
			for path, value := range given {
				set(object.Object, path, value)
			}
			var source v1alpha1.FeedSource
			decode(t, created(t, object), &source)
			if diff := cmp.Diff(sayings(&v1alpha1.FeedSource{}), sayings(&source)); diff != "" {
				t.Errorf("program and server differ (-program +server):\n%s", diff)
			}
		})
	}
	var provider v1alpha1.AIProvider
	decode(t, created(t, objectOf("AIProvider", namespace)), &provider)
	empty := &v1alpha1.AIProvider{}
	for name, given := range map[string]map[string]any{
		"nothing is said of a destination":    nil,
		"its structures are there, and empty": {"spec.retry": map[string]any{}, "spec.mastodon.hashtags": map[string]any{}},
	} {
		object := objectOf("FeedDestination", namespace)
		for path, value := range given {
			set(object.Object, path, value)
		}
		var destination v1alpha1.FeedDestination
		decode(t, created(t, object), &destination)
		if diff := cmp.Diff(destinationSays(&v1alpha1.FeedDestination{}), destinationSays(&destination)); diff != "" {
			t.Errorf("%s: program and server differ (-program +server):\n%s", name, diff)
		}
	}
	if provider.Timeout() != empty.Timeout() || provider.MaxConcurrent() != empty.MaxConcurrent() || provider.RequestsPerMinute() != empty.RequestsPerMinute() {
		t.Errorf("program and server differ: %+v", provider.Spec)
	}
}

// sayings are what the getters of a source say.
func sayings(source *v1alpha1.FeedSource) map[string]any {
	initial, longest, multiplier := source.RetryDelays()
	return map[string]any{
		"Interval": source.Interval(), "FetchTimeout": source.FetchTimeout(), "InitialItems": source.InitialItems(),
		"MaxActiveItems": source.MaxActiveItems(), "MaxItemsPerDay": source.MaxItemsPerDay(), "KeepMost": source.KeepMost(), "ArticleSource": source.ArticleSource(), "MaxArticleBytes": source.MaxArticleBytes(),
		"MaxCharacters": source.MaxCharacters(), "MaxRetries": source.MaxRetries(), "RetryDelays": []any{initial, longest, multiplier},
		"KeepFor": []time.Duration{source.KeepFor(v1alpha1.PhaseProcessed), source.KeepFor(v1alpha1.PhaseFailed)}, "KeepLast": source.KeepLast(),
	}
}

// destinationSays is what the getters of a destination say.
func destinationSays(destination *v1alpha1.FeedDestination) map[string]any {
	initial, longest, multiplier := destination.RetryDelays()
	hashtags := &v1alpha1.Hashtags{}
	if mastodon := destination.Spec.Mastodon; mastodon != nil && mastodon.Hashtags != nil {
		hashtags = mastodon.Hashtags
	}
	return map[string]any{
		"Timeout": destination.Timeout(), "MinInterval": destination.MinInterval(), "MaxConcurrent": destination.MaxConcurrent(),
		"MaxRetries": destination.MaxRetries(), "RetryDelays": []any{initial, longest, multiplier}, "MaxHashtags": hashtags.MaxHashtags(),
		"Suspended": destination.Suspended(),
	}
}

func decode(t *testing.T, from map[string]any, into any) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(from, into); err != nil {
		t.Fatal(err)
	}
}
