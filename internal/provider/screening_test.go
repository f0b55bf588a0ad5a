// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/provider"
)

// judge is a provider that answers as it is told, and notes whether it was asked to judge.
type judge struct {
	response provider.Response
	err      error
	asked    []bool
}

func (j *judge) Generate(_ context.Context, request provider.Request) (provider.Response, error) {
	j.asked = append(j.asked, request.Screening != nil)
	return j.response, j.err
}

// R2.4, R2.6, R2.8, R3.6
func TestGenerateWithScreening(t *testing.T) {
	t.Parallel()
	worthy := &provider.Verdict{Valuable: true, Complete: true}
	against := &provider.Verdict{Complete: true, Explanation: "A ceremony."}
	broken := failure.New(v1alpha1.CategoryAPI, failure.TypeTruncated, "It was cut off.")
	type outcome struct {
		Writer, Judge, Summary string
		Against, Failed        bool
		// First and Second say whether the links were asked to judge, in each of their calls.
		First, Second []bool
		Failures      int
	}
	for name, test := range map[string]struct {
		first, second provider.Response
		firstErr      error
		firstJudges   bool
		secondJudges  bool
		want          outcome
	}{
		"one call judges and summarizes": {
			first: provider.Response{Verdict: worthy, Summary: "News."}, firstJudges: true,
			want: outcome{Writer: "first", Judge: "first", Summary: "News.", First: []bool{true}},
		},
		"a verdict against the article ends it": {
			first: provider.Response{Verdict: against}, firstJudges: true, secondJudges: true,
			want: outcome{Writer: "first", Judge: "first", Against: true, First: []bool{true}},
		},
		"a verdict against the article counts though the call failed": {
			first: provider.Response{Verdict: against}, firstErr: broken, firstJudges: true, secondJudges: true,
			want: outcome{Writer: "first", Judge: "first", Against: true, First: []bool{true}},
		},
		"who cannot judge is passed over": {
			first: provider.Response{Summary: "Unjudged."}, second: provider.Response{Verdict: worthy, Summary: "News."}, secondJudges: true,
			want: outcome{Writer: "second", Judge: "second", Summary: "News.", Second: []bool{true}},
		},
		"a verdict whose summary failed is not asked for again": {
			first: provider.Response{Verdict: worthy}, firstErr: broken, firstJudges: true,
			second: provider.Response{Summary: "Extracted."},
			want:   outcome{Writer: "second", Judge: "first", Summary: "Extracted.", First: []bool{true}, Second: []bool{false}, Failures: 1},
		},
		"a verdict is returned though nobody wrote a summary": {
			first: provider.Response{Verdict: worthy}, firstErr: broken, firstJudges: true,
			want: outcome{Judge: "first", Failed: true, First: []bool{true}, Second: []bool{false}, Failures: 2},
		},
		"an answer without the verdict is a failure": {
			first: provider.Response{Summary: "Unjudged."}, firstJudges: true,
			second: provider.Response{Verdict: worthy, Summary: "News."}, secondJudges: true,
			want: outcome{Writer: "second", Judge: "second", Summary: "News.", First: []bool{true}, Second: []bool{true}, Failures: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := &judge{response: test.first, err: test.firstErr}, &judge{response: test.second}
			links := []provider.Link{
				{Name: "first", Provider: first, Screens: test.firstJudges}, {Name: "second", Provider: second, Screens: test.secondJudges},
			}
			request := provider.Request{MaxCharacters: 100, Screening: &provider.Screening{Criteria: "All news"}}
			var attempt provider.Attempt
			result, err := provider.Generate(t.Context(), provider.Chain{Links: links, Acquire: (&ledger{}).acquire}, request, &attempt)
			got := outcome{
				Writer: result.Provider, Judge: result.Judge, Summary: result.Response.Summary,
				Against: result.Response.Verdict.Against(), Failed: err != nil,
				First: first.asked, Second: second.asked, Failures: len(attempt.Failures),
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
