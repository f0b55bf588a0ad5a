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
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/provider"
)

// answer is a Provider that is one function.
type answer func(ctx context.Context) (provider.Response, error)

func (a answer) Generate(ctx context.Context, _ provider.Request) (provider.Response, error) {
	return a(ctx)
}

func says(summary string) answer {
	return func(context.Context) (provider.Response, error) {
		return provider.Response{Summary: summary, Model: "test"}, nil
	}
}

func fails(err error) answer {
	return func(context.Context) (provider.Response, error) { return provider.Response{}, err }
}

var (
	overloaded = failure.New(v1alpha1.CategoryAPI, "Overloaded", "The service is overloaded.")
	badKey     = failure.New(v1alpha1.CategoryAuth, "", "The key is refused.")
	tooLong    = failure.New(v1alpha1.CategoryValidation, "", "The article is too long.")
	strange    = failure.New(v1alpha1.CategoryUnknown, "", "Something odd happened.")
)

// R3.6: a provider that fails or is down hands over to the next in the same attempt.
func TestGenerate(t *testing.T) {
	t.Parallel()
	hangs := answer(func(ctx context.Context) (provider.Response, error) {
		<-ctx.Done()
		return provider.Response{}, errors.New("stream closed") // as a library might put it
	})
	panics := answer(func(context.Context) (provider.Response, error) { panic("index out of range") })

	tests := map[string]struct {
		links         []provider.Link
		unavailable   string // names, separated by spaces
		wantProvider  string
		wantFailures  []string // "name category type"
		wantEvents    string
		wantNone      bool
		wantRetryable bool
	}{
		"the first that succeeds wins, the rest are not called": {
			links:        []provider.Link{{Name: "a", Provider: says("From a.")}, {Name: "b", Provider: says("From b.")}},
			wantProvider: "a",
			wantEvents:   "+a -a:ok",
		},
		"one that fails hands over": {
			links:        []provider.Link{{Name: "a", Provider: fails(overloaded)}, {Name: "b", Provider: says("From b.")}},
			wantProvider: "b",
			wantFailures: []string{"a API Overloaded"},
			wantEvents:   "+a -a:API +b -b:ok",
		},
		"one that fails for good hands over too": {
			links:        []provider.Link{{Name: "a", Provider: fails(badKey)}, {Name: "b", Provider: fails(tooLong)}, {Name: "c", Provider: says("From c.")}},
			wantProvider: "c",
			wantFailures: []string{"a Auth ", "b Validation "},
			wantEvents:   "+a -a:Auth +b -b:Validation +c -c:ok",
		},
		"one that is not available is skipped, and has not failed": {
			links:        []provider.Link{{Name: "a", Provider: fails(overloaded)}, {Name: "b", Provider: says("From b.")}, {Name: "c", Provider: says("From c.")}},
			unavailable:  "b",
			wantProvider: "c",
			wantFailures: []string{"a API Overloaded"},
			wantEvents:   "+a -a:API ?b +c -c:ok",
		},
		"a panic is a failure with a stack": {
			links:        []provider.Link{{Name: "a", Provider: panics}, {Name: "b", Provider: says("From b.")}},
			wantProvider: "b",
			wantFailures: []string{"a Unknown Panic"},
			wantEvents:   "+a -a:Unknown +b -b:ok",
		},
		"a missing provider is a failure, not a crash": {
			links:        []provider.Link{{Name: "a"}, {Name: "b", Provider: says("From b.")}},
			wantProvider: "b",
			wantFailures: []string{"a Unknown Panic"},
			wantEvents:   "+a -a:Unknown +b -b:ok",
		},
		"a call that outlasts its timeout is a timeout, whatever the library calls it": {
			links:        []provider.Link{{Name: "a", Provider: hangs, Timeout: time.Millisecond}, {Name: "b", Provider: says("From b.")}},
			wantProvider: "b",
			wantFailures: []string{"a Network Timeout"},
			wantEvents:   "+a -a:Network +b -b:ok",
		},
		"an empty or blank summary is a failure": {
			links:        []provider.Link{{Name: "a", Provider: says("")}, {Name: "b", Provider: says(" \n")}, {Name: "c", Provider: says("From c.")}},
			wantProvider: "c",
			wantFailures: []string{"a API Empty", "b API Empty"},
			wantEvents:   "+a -a:API +b -b:API +c -c:ok",
		},
		"a summary above the limit is a failure, one at the limit is none": {
			links:        []provider.Link{{Name: "a", Provider: says(strings.Repeat("か\u3099", 11))}, {Name: "b", Provider: says(strings.Repeat("か\u3099", 10))}},
			wantProvider: "b",
			wantFailures: []string{"a API Malformed"},
			wantEvents:   "+a -a:API +b -b:ok",
		},
		"an error that nobody classified is classified": {
			links:        []provider.Link{{Name: "a", Provider: fails(errors.New("connection reset by peer"))}, {Name: "b", Provider: says("From b.")}},
			wantProvider: "b",
			wantFailures: []string{"a Network "},
			wantEvents:   "+a -a:Network +b -b:ok",
		},
		"all failed, one of them not for good": {
			links:         []provider.Link{{Name: "a", Provider: fails(badKey)}, {Name: "b", Provider: fails(overloaded)}},
			wantFailures:  []string{"a Auth ", "b API Overloaded"},
			wantEvents:    "+a -a:Auth +b -b:API",
			wantRetryable: true,
		},
		"all failed, one of them in an unknown way": {
			links:         []provider.Link{{Name: "a", Provider: fails(badKey)}, {Name: "b", Provider: fails(strange)}},
			wantFailures:  []string{"a Auth ", "b Unknown "},
			wantEvents:    "+a -a:Auth +b -b:Unknown",
			wantRetryable: true,
		},
		"all failed for good": {
			links:        []provider.Link{{Name: "a", Provider: fails(badKey)}, {Name: "b", Provider: fails(tooLong)}},
			wantFailures: []string{"a Auth ", "b Validation "},
			wantEvents:   "+a -a:Auth +b -b:Validation",
		},
		"none was available": { // R3.12: waiting is not an attempt
			links:       []provider.Link{{Name: "a", Provider: says("From a.")}, {Name: "b", Provider: says("From b.")}},
			unavailable: "a b",
			wantEvents:  "?a ?b",
			wantNone:    true,
		},
		"no links at all": {wantNone: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := &ledger{unavailable: strings.Fields(test.unavailable)}
			var attempt provider.Attempt
			result, err := provider.Generate(t.Context(), provider.Chain{Links: test.links, Acquire: log.acquire},
				provider.Request{MaxCharacters: 10}, &attempt)
			failures := attempt.Failures

			if result.Provider != test.wantProvider || (err == nil) != (test.wantProvider != "") {
				t.Errorf("provider = %q, error = %v, want provider %q", result.Provider, err, test.wantProvider)
			}
			if err == nil && result.Response.Model != "test" {
				t.Errorf("response = %+v, want the provider's own", result.Response)
			}
			var got []string
			for _, failed := range failures {
				got = append(got, failed.Name+" "+string(failed.Err.Category)+" "+failed.Err.Type)
				if failed.Err.Type == failure.TypePanic && failed.Err.Stack == "" {
					t.Error("a panic has no stack")
				}
			}
			if diff := cmp.Diff(test.wantFailures, got); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
			if got := strings.Join(log.events, " "); got != test.wantEvents {
				t.Errorf("events = %q, want %q", got, test.wantEvents)
			}
			if errors.Is(err, provider.ErrNoneAvailable) != test.wantNone {
				t.Errorf("error = %v, want ErrNoneAvailable: %t", err, test.wantNone)
			}
			var chainError *provider.ChainError
			if wantChain := test.wantProvider == "" && !test.wantNone; errors.As(err, &chainError) != wantChain {
				t.Fatalf("error = %v, want a ChainError: %t", err, wantChain)
			}
			if chainError != nil && chainError.Retryable() != test.wantRetryable {
				t.Errorf("retryable = %t, want %t", chainError.Retryable(), test.wantRetryable)
			}
		})
	}
}

// ledger hands out tickets and notes: +name acquired, ?name down, ~name busy, -name:outcome released.
type ledger struct {
	unavailable, busy []string
	events            []string
}

func (l *ledger) acquire(_ context.Context, links []provider.Link) (provider.Call, error) {
	for _, link := range links {
		if slices.Contains(l.unavailable, link.Name) {
			l.events = append(l.events, "?"+link.Name)
			continue
		}
		if slices.Contains(l.busy, link.Name) {
			l.events = append(l.events, "~"+link.Name)
			return provider.Call{}, provider.ErrWaits
		}
		l.events = append(l.events, "+"+link.Name)
		return provider.Call{Link: link, Done: func(_ provider.Response, err error) { l.release(link.Name, err) }}, nil
	}
	return provider.Call{}, provider.ErrNoneAvailable
}

func (l *ledger) release(name string, err error) {
	outcome := "ok"
	var failed *failure.Error
	switch {
	case errors.As(err, &failed):
		outcome = string(failed.Category)
	case err != nil:
		outcome = err.Error()
	}
	l.events = append(l.events, "-"+name+":"+outcome)
}

func TestGenerateStopsWithItsContext(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		cancelBefore bool
		first        func(cancel func()) answer
		wantProvider string
		wantEvents   string
	}{
		"before the first call": {
			cancelBefore: true,
			first:        func(func()) answer { return says("From a.") },
		},
		"during a call: no verdict on the provider, no further call": {
			first: func(cancel func()) answer {
				return func(ctx context.Context) (provider.Response, error) {
					cancel()
					<-ctx.Done()
					return provider.Response{}, ctx.Err()
				}
			},
			wantEvents: "+a -a:context canceled",
		},
		"during a call that succeeds all the same: the summary is paid for": {
			first: func(cancel func()) answer {
				return func(context.Context) (provider.Response, error) {
					cancel()
					return provider.Response{Summary: "From a."}, nil
				}
			},
			wantProvider: "a",
			wantEvents:   "+a -a:ok",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if test.cancelBefore {
				cancel()
			}
			links := []provider.Link{{Name: "a", Provider: test.first(cancel), Timeout: time.Minute}, {Name: "b", Provider: says("From b.")}}
			log := &ledger{}
			var attempt provider.Attempt
			result, err := provider.Generate(ctx, provider.Chain{Links: links, Acquire: log.acquire}, provider.Request{MaxCharacters: 10}, &attempt)
			if result.Provider != test.wantProvider || len(attempt.Failures) != 0 {
				t.Errorf("provider = %q, failures = %v, want provider %q and none", result.Provider, attempt.Failures, test.wantProvider)
			}
			if test.wantProvider == "" && !errors.Is(err, context.Canceled) || test.wantProvider != "" && err != nil {
				t.Errorf("error = %v", err)
			}
			if got := strings.Join(log.events, " "); got != test.wantEvents {
				t.Errorf("events = %q, want %q", got, test.wantEvents)
			}
		})
	}
}

func TestChainError(t *testing.T) {
	t.Parallel()
	err := error(&provider.ChainError{Failures: []provider.Failed{
		{Name: "gemini", Err: failure.New(v1alpha1.CategoryAuth, "", "Refused: api_key=abcdefgh12345.")},
		{Name: "openai", Err: strange},
		{Name: "claude", Err: overloaded},
	}})
	const want = "every provider failed: gemini (Auth): Refused: api_key=***MASKED***; " +
		"openai (Unknown): Something odd happened.; claude (API): The service is overloaded."
	if got := err.Error(); got != want { // R5.6: no secret
		t.Errorf("text = %q, want %q", got, want)
	}
	if got := failure.Classify(err); got != overloaded {
		t.Errorf("classified as %v, want the failure that is worth another try", got)
	}
	passing := &failure.Error{Category: v1alpha1.CategoryValidation, Passing: true}
	for _, test := range []struct {
		failed *failure.Error
		again  bool
	}{{passing, true}, {failure.New(v1alpha1.CategoryValidation, "", "Refused."), false}} {
		none := &provider.ChainError{Failures: []provider.Failed{{Name: "claude", Err: test.failed}}}
		if got := none.Retryable(); got != test.again {
			t.Errorf("%v, passing %t: tried again %t", test.failed, test.failed.Passing, got)
		}
	}
}
