// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// fallbackSurvey is what there is to see after a run of three items that went well.
func fallbackSurvey() *survey {
	source := newSource(metav1.ConditionTrue, "")
	source.Spec.Providers = []v1alpha1.ProviderReference{{Name: "claude"}, {Name: "gpt"}, {Name: "built-in"}}
	counted := func(name string, calls int64, failures ...v1alpha1.CategoryCount) v1alpha1.AIProvider {
		provider := newProvider(name, metav1.ConditionTrue, v1alpha1.ReasonSucceeded, "")
		provider.Status.Calls, provider.Status.Failures = calls, failures
		return *provider
	}
	return &survey{
		samples: true,
		sources: []v1alpha1.FeedSource{*source},
		items:   []v1alpha1.FeedItem{*writtenBy("one", "claude"), *writtenBy("two", "gpt", "claude"), *writtenBy("three", "built-in")},
		providers: []v1alpha1.AIProvider{
			counted("built-in", 1),
			counted("claude", 2, v1alpha1.CategoryCount{Category: v1alpha1.CategoryRateLimit, Count: 1}),
			counted("gpt", 5, v1alpha1.CategoryCount{Category: v1alpha1.CategoryAPI, Count: 4}),
		},
		asked: map[string]record{
			"claude": {calls: 2, failures: map[v1alpha1.Category]int64{v1alpha1.CategoryRateLimit: 1}},
			"gpt":    {calls: 5, failures: map[v1alpha1.Category]int64{v1alpha1.CategoryAPI: 4}},
		},
	}
}

// R3.6, R3.9: `make run ONCE=1` ends well only when the calls were what the operator says.
func TestWhatIsWrongWithTheCalls(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spoil func(s *survey)
		want  []string
	}{
		"nothing": {spoil: func(*survey) {}},
		"a call that was not counted": {
			spoil: func(s *survey) { s.providers[2].Status.Calls = 4 },
			want:  []string{"gpt was called 5 times, and refused 4 API; but its status counts 4 calls, and as failures 4 API"},
		},
		"a failure of another kind": {
			spoil: func(s *survey) { s.providers[1].Status.Failures[0].Category = v1alpha1.CategoryNetwork },
			want:  []string{"claude was called 2 times, and refused 1 RateLimit; but its status counts 2 calls, and as failures 1 Network"},
		},
		"a call during a pause": {
			spoil: func(s *survey) {
				asked := s.asked["claude"]
				asked.early = 1
				s.asked["claude"] = asked
			},
			want: []string{"claude was called 1 times while it had asked to be left alone"},
		},
		"a summary that was asked for twice": {
			spoil: func(s *survey) {
				s.providers[1].Status.Calls = 3
				s.asked["claude"] = record{calls: 3, failures: s.asked["claude"].failures}
			},
			want: []string{"claude was asked for 2 summaries, of which 1 are there"},
		},
		"nothing was refused": {
			spoil: func(s *survey) {
				s.providers[1].Status.Calls, s.providers[1].Status.Failures = 1, nil
				s.asked["claude"] = record{calls: 1}
			},
			want: []string{"no call was refused: nothing was there to fall back from"},
		},
		"nobody has stood in": {
			spoil: func(s *survey) { s.sources[0].Spec.Providers = nil },
			want:  []string{"no summary was taken over by gpt", "no summary was taken over by built-in"},
		},
		"a service that is not a stand-in": {
			spoil: func(s *survey) {
				delete(s.asked, "gpt")
				s.providers[2].Status.Calls = 77
			},
		},
		"sources of a developer need not show fallback": {
			spoil: func(s *survey) { s.samples, s.sources = false, nil },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fallbackSurvey()
			test.spoil(s)
			if diff := cmp.Diff(test.want, s.wrongCalls()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWrongCallsFailTheRun(t *testing.T) {
	t.Parallel()
	s := fallbackSurvey()
	s.providers[2].Status.Calls = 4
	if err := s.verdict(); err == nil || !strings.HasPrefix(err.Error(), "the AI services were not called as they should be:\n  gpt was called 5 times") {
		t.Errorf("got %v", err)
	}
}

func TestTheReportShowsCallsAndFallback(t *testing.T) {
	t.Parallel()
	s := fallbackSurvey()
	s.items = append(s.items, *writtenBy("four", "extractive (built in)"))
	s.items[3].Spec.SourceRef.Name = "status"
	var out strings.Builder
	reportProviders(&out, s)
	want := `
PROVIDER               CALLS  ANSWERED  FAILED       SUMMARIES
built-in               1      1                      1
claude                 2      1         1 RateLimit  1
gpt                    5      1         4 API        1
extractive (built in)                                1

Fallback: 2 of 4 summaries are not by the first provider of their source.
  Title of two: by gpt, because claude failed (RateLimit)
  Title of three: by built-in, because claude was unavailable and gpt was unavailable
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
