// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/backoff"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/provider"
)

// answers gives one answer after the other, and the last one for ever.
func answers(all ...answer) answer {
	return func(ctx context.Context) (provider.Response, error) {
		next := all[0]
		if len(all) > 1 {
			all = all[1:]
		}
		return next(ctx)
	}
}

// R3.3, R3.6: a call that may go better in a moment is made again, before the next provider is asked;
// and whoever is busy is waited for within the attempt.
func TestAnAttemptThatWaits(t *testing.T) {
	t.Parallel()
	paced := failure.New(v1alpha1.CategoryRateLimit, "", "Slower, please.")
	cut := failure.New(v1alpha1.CategoryNetwork, "", "The connection broke.")
	later := failure.New(v1alpha1.CategoryAPI, "", "Come back later.")
	later.RetryAfter = time.Minute
	for what, test := range map[string]struct {
		a, b         answer
		busy, down   string        // while the attempt waits for the first time, and before and after that
		goesDown     string        // after the first wait
		wantEvents   string        // with "wait" where it waits for a time
		wantFailures []string      // "name calls"
		wantWaited   time.Duration // before the jitter
	}{
		"one that fails once is called again": {
			a: answers(fails(overloaded), says("From a.")), b: says("From b."),
			wantEvents: "+a -a:API wait +a -a:ok", wantFailures: []string{"a 1"}, wantWaited: 500 * time.Millisecond,
		},
		"one that goes on failing is called four times in all": {
			a: fails(overloaded), b: says("From b."),
			wantEvents:   "+a -a:API wait +a -a:API wait +a -a:API wait +a -a:API +b -b:ok",
			wantFailures: []string{"a 4"}, wantWaited: 3500 * time.Millisecond,
		},
		"the network is waited for longer, and ten seconds are enough for all": {
			a: fails(cut), b: fails(cut),
			wantEvents: "+a -a:Network wait +a -a:Network wait +a -a:Network wait +a -a:Network " +
				"+b -b:Network wait +b -b:Network wait +b -b:Network",
			wantFailures: []string{"a 4", "b 3"}, wantWaited: 10 * time.Second, // as this item's jitter has it
		},
		"a pace is not pressed": {
			a: fails(paced), b: says("From b."),
			wantEvents: "+a -a:RateLimit +b -b:ok", wantFailures: []string{"a 1"},
		},
		"who says when to come back is left alone": {
			a: fails(later), b: says("From b."),
			wantEvents: "+a -a:API +b -b:ok", wantFailures: []string{"a 1"},
		},
		"credentials are not tried again": {
			a: fails(badKey), b: says("From b."),
			wantEvents: "+a -a:Auth +b -b:ok", wantFailures: []string{"a 1"},
		},
		"the next one is busy, and is waited for": {
			a: fails(tooLong), b: says("From b."), busy: "b",
			wantEvents: "+a -a:Validation ~b +b -b:ok", wantFailures: []string{"a 1"},
		},
		"one that is down by the time of its repetition hands over": {
			a: fails(overloaded), b: says("From b."), goesDown: "a",
			wantEvents: "+a -a:API wait ?a +b -b:ok", wantFailures: []string{"a 1"}, wantWaited: 500 * time.Millisecond,
		},
		"the next one goes down while it is waited for": {
			a: fails(tooLong), b: says("From b."), busy: "b", goesDown: "b",
			wantEvents: "+a -a:Validation ~b ?b", wantFailures: []string{"a 1"},
		},
		"another way of failing counts on": {
			a: answers(fails(overloaded), fails(cut), fails(paced)), b: says("From b."),
			wantEvents:   "+a -a:API wait +a -a:Network wait +a -a:RateLimit +b -b:ok",
			wantFailures: []string{"a 3"}, wantWaited: 2500 * time.Millisecond,
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			clock := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			log := &ledger{unavailable: strings.Fields(test.down), busy: strings.Fields(test.busy)}
			chain := provider.Chain{
				Links:    []provider.Link{{Name: "a", Provider: test.a}, {Name: "b", Provider: test.b}},
				Acquire:  log.acquire,
				Now:      func() time.Time { return clock },
				Patience: backoff.DefaultInPlace.MaxWait,
				Repeat: func(failed *failure.Error, calls int, waited time.Duration) (time.Duration, bool) {
					return backoff.DefaultInPlace.Wait(v1alpha1.StageSummarize, failed, calls, waited, "an item")
				},
			}
			var attempt provider.Attempt
			var waited time.Duration
			result, err := provider.Generate(t.Context(), chain, provider.Request{MaxCharacters: 10}, &attempt)
			for ; errors.Is(err, provider.ErrWaits); result, err = provider.Generate(t.Context(), chain, provider.Request{MaxCharacters: 10}, &attempt) {
				if !attempt.Begun() {
					t.Fatal("waits, but has called nobody")
				}
				if !attempt.NotBefore.IsZero() {
					log.events = append(log.events, "wait")
					waited += attempt.NotBefore.Sub(clock)
					clock = attempt.NotBefore
				}
				log.busy, log.unavailable = nil, strings.Fields(test.goesDown)
			}
			if got := strings.Join(log.events, " "); got != test.wantEvents {
				t.Errorf("events\n%q, want\n%q", got, test.wantEvents)
			}
			var failures []string
			for _, failed := range attempt.Failures {
				failures = append(failures, failed.Name+" "+string(rune('0'+failed.Calls)))
			}
			if diff := cmp.Diff(test.wantFailures, failures); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
			if waited < test.wantWaited*8/10 || waited > min(test.wantWaited*12/10, 10*time.Second) {
				t.Errorf("waited %s, want %s", waited, test.wantWaited)
			}
			if (err == nil) != strings.HasSuffix(test.wantEvents, "ok") || err == nil && result.Provider == "" {
				t.Errorf("result %+v, error %v", result, err)
			}
		})
	}
}

// R2.4, R3.6: a verdict of another, cheaper provider is all that it is asked for.
func TestAVerdictAlone(t *testing.T) {
	t.Parallel()
	request := provider.Request{MaxCharacters: 100, Screening: &provider.Screening{Criteria: "All news"}}
	cheap := &judge{response: provider.Response{Verdict: &provider.Verdict{Valuable: true, Complete: true}, Tokens: 7}}
	chain := provider.Chain{
		Links:   []provider.Link{{Name: "cheap", Provider: cheap, Screens: true, VerdictOnly: true}},
		Acquire: (&ledger{}).acquire,
	}
	result, err := provider.Generate(t.Context(), chain, request, &provider.Attempt{})
	if err != nil || result.Judge != "cheap" || result.Provider != "" || result.Response.Verdict.Against() || result.Response.Tokens != 7 {
		t.Errorf("result %+v, error %v", result, err)
	}
	only := request
	only.Screening = &provider.Screening{Criteria: "All news", Only: true}
	schema := provider.AnswerSchema(only)
	if len(schema.Properties) != 1 {
		t.Errorf("asked for %+v, want the judgement alone", schema.Properties)
	}
	system := provider.NewPrompt(only).System
	if strings.Contains(system, "Rules of the summary") || !strings.Contains(system, "All news") {
		t.Errorf("the prompt is\n%s", system)
	}
	parsed, err := provider.ParseAnswer(`{"screening":{"complete":true,"explanation":"News.","valuable":true}}`, only)
	if err != nil || parsed.Verdict == nil || parsed.Verdict.Against() {
		t.Errorf("parsed %+v, error %v", parsed, err)
	}
	if _, err := provider.ParseAnswer(`{"summary":"Unjudged."}`, only); err == nil {
		t.Error("an answer without a verdict was taken")
	}
	for _, property := range schema.Properties {
		if !slices.ContainsFunc(property.Properties, func(p provider.Property) bool { return p.Name == "valuable" }) {
			t.Errorf("schema %+v", property)
		}
	}
}
