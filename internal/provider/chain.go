// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/prose"
)

// Link is one provider of a chain.
type Link struct {
	// Name under which the provider is reported.
	Name string
	// Provider that is called.
	Provider Provider
	// Timeout of one call. 0 means that only the chain's context bounds it.
	Timeout time.Duration
	// Screens is set if the provider can judge an article. While a verdict is wanted and not there
	// yet, the others are passed over.
	Screens bool
	// VerdictOnly is set if the provider judges, and leaves the summary to another.
	VerdictOnly bool
}

// Chain is the providers that an attempt may call, in their order, and what it takes to call them.
type Chain struct {
	Links []Link
	// Judging is set if a verdict is what the chain is for; a summary that comes with it is welcome,
	// but nobody else is asked for one.
	Judging bool
	// Acquire asks for the right to call one of some links of the chain.
	Acquire Acquire
	// Repeat says whether a link that has failed is called again, and after which wait. Nil repeats nothing.
	Repeat Repeat
	// Patience is how long an attempt waits in all to call links again that have failed, the time
	// included for which they are busy.
	Patience time.Duration
	// Now is the clock of the waits.
	Now func() time.Time
}

// Acquire asks for the right to call one of links, the first of them that is not down. It does not
// wait: where the link is busy, the error is ErrWaits, and where all are down, ErrNoneAvailable.
type Acquire func(ctx context.Context, links []Link) (Call, error)

// Call is the right to call a link.
type Call struct {
	Link Link
	// Enter returns the context that the call is made in; nil is for the chain's own.
	Enter func(ctx context.Context) context.Context
	// Done is called exactly once, right after the call and before anything else is asked for,
	// with what came of it: nil for a success, a *failure.Error, or the error of the context, which says
	// nothing about the provider. The response holds what was counted, also beside an error.
	Done func(response Response, err error)
}

// Repeat says whether a link is called again that has failed so often in an attempt that has waited
// so long already, and after which wait.
type Repeat func(failed *failure.Error, calls int, waited time.Duration) (wait time.Duration, again bool)

// Result is the response, and who gave it.
type Result struct {
	// Provider is the name of the link that wrote the summary; empty where only a verdict was asked for.
	Provider string
	// Response with the summary. Its verdict is that of Judge.
	Response Response
	// Judge is the name of the link that gave the verdict. It is set, with the verdict, also when no
	// summary came of it: a verdict is paid for.
	Judge string
}

// Failed is what one provider of the chain did not manage.
type Failed struct {
	Name string
	// Err is the last failure.
	Err *failure.Error
	// Calls that have failed, at least one.
	Calls int
}

// ErrNoneAvailable means that every link was down, so that nothing was called: this was no attempt.
var ErrNoneAvailable = errors.New("no provider is available")

// ErrWaits means that the attempt has to wait, and is to be gone on with: at Attempt.NotBefore, or
// when Acquire can be asked again.
var ErrWaits = errors.New("a provider must be waited for")

// ChainError means that every provider that was called has failed.
type ChainError struct {
	// Failures in the order of the calls, at least one.
	Failures []Failed
	// Untried is set if others were down, so that they were not called: they have not failed.
	Untried bool
}

// Error names each provider with its category and message, the latter masked.
func (e *ChainError) Error() string {
	parts := make([]string, 0, len(e.Failures))
	for _, failed := range e.Failures {
		parts = append(parts, fmt.Sprintf("%s (%s): %s", failed.Name, failed.Err.Category, failed.Err.Error()))
	}
	return "every provider failed: " + strings.Join(parts, "; ")
}

// Unwrap returns the failures, those that are worth another try first: failure.Classify takes the
// first, and a chain is to be tried again if any of its providers is.
func (e *ChainError) Unwrap() []error {
	sorted := slices.Clone(e.Failures)
	slices.SortStableFunc(sorted, func(x, y Failed) int {
		return cmp.Compare(retryRank(x.Err), retryRank(y.Err))
	})
	errs := make([]error, 0, len(sorted))
	for _, failed := range sorted {
		errs = append(errs, failed.Err)
	}
	return errs
}

// Retryable reports whether another attempt may go better: when any failure is one that is
// tried again, or Unknown, which the caller allows one retry; and while there are others to ask.
func (e *ChainError) Retryable() bool {
	return e.Untried || slices.ContainsFunc(e.Failures, func(failed Failed) bool { return retryRank(failed.Err) < 2 })
}

func retryRank(failed *failure.Error) int {
	switch {
	case failed.Retryable():
		return 0
	case failed.Category == v1alpha1.CategoryUnknown:
		return 1
	}
	return 2
}

// Generate asks the links of the chain in their order until one gives a summary that keeps the
// contract of Provider, or a verdict against the article, or the verdict alone where it only judges. A
// link that fails, panics, or outlasts its timeout is called again as Repeat says, and then hands over
// to the next; one that is down is passed over; one that is merely busy is waited for (R3.6). One that
// has failed to write a summary but judged for the article hands over the verdict with it, and no
// other is asked to judge again.
//
// The error is ErrWaits where the attempt has to wait; a *ChainError when all that were called failed and no
// other can be; ErrNoneAvailable when none could be called; and ctx's own error once ctx is done,
// except that a summary that came in nevertheless is returned: it is paid for.
func Generate(ctx context.Context, chain Chain, request Request, attempt *Attempt) (Result, error) {
	attempt.NotBefore = time.Time{}
	if attempt.verdict != nil {
		if chain.Judging { // it has been given, and only not been written down
			attempt.giveUp()
			return attempt.result(), nil
		}
		request.Screening = nil
	}
	for {
		if err := ctx.Err(); err != nil {
			return attempt.result(), err
		}
		if attempt.failing != nil && chain.Now().After(attempt.GoOnBy) {
			attempt.giveUp() // it was busy for too long
		}
		links := attempt.next(chain.Links, request)
		call, err := chain.acquire(ctx, links)
		switch {
		case errors.Is(err, ErrNoneAvailable) && attempt.failing != nil:
			attempt.giveUp() // it went down: whoever comes next in the chain
			continue
		case errors.Is(err, ErrNoneAvailable) && len(attempt.Failures) > 0:
			return attempt.result(), &ChainError{Failures: attempt.Failures, Untried: len(links) > 0}
		case err != nil:
			return attempt.result(), err
		}
		done, err := attempt.call(ctx, chain, call, &request)
		switch {
		case err != nil:
			return attempt.result(), err
		case done != nil:
			return *done, nil
		}
	}
}

// acquire asks for one of links; of none, none is available.
func (c Chain) acquire(ctx context.Context, links []Link) (Call, error) {
	if len(links) == 0 {
		return Call{}, ErrNoneAvailable
	}
	return c.Acquire(ctx, links)
}

// call makes one call, within the link's timeout and with panics turned into failures.
func call(ctx context.Context, link Link, request Request) (response Response, failed *failure.Error) {
	if link.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, link.Timeout)
		defer cancel()
	}
	defer func() {
		if value := recover(); value != nil {
			response, failed = Response{}, failure.Panicked(value, debug.Stack())
		}
	}()
	response, err := link.Provider.Generate(ctx, request)
	response.Tokens = SumTokens(response.Tokens)
	if err == nil {
		return response, validateResponse(response, request)
	}
	var known *failure.Error
	if !errors.As(err, &known) && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		// Libraries name a call that was cut off in many ways.
		return response, failure.Wrap(v1alpha1.CategoryNetwork, failure.TypeTimeout,
			fmt.Sprintf("There was no answer within %s.", link.Timeout), err)
	}
	return response, failure.Classify(err)
}

// maxRunes is what the API keeps of a summary, in code points; a character may have many.
const maxRunes = 10_000

// validateResponse returns how a response breaks the contract of Provider, or nil.
func validateResponse(response Response, request Request) *failure.Error {
	if request.Screening != nil && response.Verdict == nil {
		return failure.New(v1alpha1.CategoryAPI, failure.TypeMalformed, "There is no verdict on the article, which was asked for.")
	}
	if response.Verdict.Against() || request.asksOnly() {
		return nil
	}
	if strings.TrimSpace(response.Summary) == "" {
		return failure.New(v1alpha1.CategoryAPI, failure.TypeEmpty, "The summary is empty.")
	}
	if length := prose.Count(response.Summary); length > request.MaxCharacters {
		return failure.New(v1alpha1.CategoryAPI, failure.TypeMalformed,
			fmt.Sprintf("The summary has %d characters, %d are allowed.", length, request.MaxCharacters))
	}
	if runes := utf8.RuneCountInString(response.Summary); runes > maxRunes {
		return failure.New(v1alpha1.CategoryAPI, failure.TypeMalformed,
			fmt.Sprintf("The summary has %d code points, %d are allowed.", runes, maxRunes))
	}
	return nil
}
