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

	"github.com/clipperhouse/uax29/v2/graphemes"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
)

// Link is one provider of a chain.
type Link struct {
	// Name under which the provider is reported.
	Name string
	// Provider that is called.
	Provider Provider
	// Timeout of one call. 0 means that only the chain's context bounds it.
	Timeout time.Duration
}

// Acquire asks for the right to call a link now. When the link is busy or down it returns ok
// false, and the chain goes on to the next one; that is no failure. It may wait, and then must
// heed ctx.
//
// Otherwise release is called exactly once, right after the call and before the next Acquire, with
// what came of it: nil for a success, a *failure.Error, or ctx's error, which says nothing about
// the provider.
//
// A caller that holds a ticket for the first link already returns that ticket for it.
type Acquire func(ctx context.Context, link Link) (release func(err error), ok bool)

// Result is the response, and who gave it.
type Result struct {
	// Provider is the name of the link.
	Provider string
	Response Response
}

// Failed is what one provider of the chain did not manage.
type Failed struct {
	Name string
	Err  *failure.Error
}

// ErrNoneAvailable says that every link was busy or down, so that nothing was called: this was
// no attempt.
var ErrNoneAvailable = errors.New("no provider is available")

// ChainError says that every provider that was called has failed.
type ChainError struct {
	// Failures in the order of the calls, at least one.
	Failures []Failed
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
		return cmp.Compare(hopelessness(x.Err.Category), hopelessness(y.Err.Category))
	})
	errs := make([]error, 0, len(sorted))
	for _, failed := range sorted {
		errs = append(errs, failed.Err)
	}
	return errs
}

// Retryable says whether another attempt may go better: when any failure is of a category that is
// tried again, or Unknown, which the caller allows one retry.
func (e *ChainError) Retryable() bool {
	return slices.ContainsFunc(e.Failures, func(failed Failed) bool { return hopelessness(failed.Err.Category) < 2 })
}

func hopelessness(category v1alpha1.Category) int {
	switch {
	case failure.Retryable(category):
		return 0
	case category == v1alpha1.CategoryUnknown:
		return 1
	}
	return 2
}

// Generate asks the links in their order, each at most once, until one gives a summary that keeps
// the contract of Provider. A link that fails, panics, or outlasts its timeout hands over to the
// next.
//
// The failures of the links before the one that succeeded are returned as well, and with every
// error. The error is a *ChainError when all that were called failed, ErrNoneAvailable when
// none could be called, and ctx's own error once ctx is done, except that a summary that came in
// nevertheless is returned: it is paid for.
func Generate(ctx context.Context, links []Link, request Request, acquire Acquire) (Result, []Failed, error) {
	var failures []Failed
	for _, link := range links {
		if err := ctx.Err(); err != nil {
			return Result{}, failures, err
		}
		release, ok := acquire(ctx, link)
		if !ok {
			continue
		}
		response, failed := call(ctx, link, request)
		if failed == nil {
			release(nil)
			return Result{Provider: link.Name, Response: response}, failures, nil
		}
		if err := ctx.Err(); err != nil {
			release(err)
			return Result{}, failures, err
		}
		release(failed)
		failures = append(failures, Failed{Name: link.Name, Err: failed})
	}
	switch err := ctx.Err(); {
	case err != nil: // while Acquire waited
		return Result{}, failures, err
	case len(failures) == 0:
		return Result{}, nil, ErrNoneAvailable
	}
	return Result{}, failures, &ChainError{Failures: failures}
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
	if err == nil {
		return response, breach(response, request)
	}
	var known *failure.Error
	if !errors.As(err, &known) && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		// Libraries name a call that was cut off in many ways.
		return Response{}, failure.Wrap(v1alpha1.CategoryNetwork, failure.TypeTimeout,
			fmt.Sprintf("There was no answer within %s.", link.Timeout), err)
	}
	return Response{}, failure.Classify(err)
}

// maxRunes is what the API keeps of a summary, in code points; a character may have many.
const maxRunes = 10_000

// breach returns how a response breaks the contract of Provider, or nil.
func breach(response Response, request Request) *failure.Error {
	if strings.TrimSpace(response.Summary) == "" {
		return failure.New(v1alpha1.CategoryAPI, failure.TypeEmpty, "The summary is empty.")
	}
	length := 0
	for cluster := graphemes.FromString(response.Summary); cluster.Next(); {
		length++
	}
	if length > request.MaxCharacters {
		return failure.New(v1alpha1.CategoryAPI, failure.TypeMalformed,
			fmt.Sprintf("The summary has %d characters, %d are allowed.", length, request.MaxCharacters))
	}
	if runes := utf8.RuneCountInString(response.Summary); runes > maxRunes {
		return failure.New(v1alpha1.CategoryAPI, failure.TypeMalformed,
			fmt.Sprintf("The summary has %d code points, %d are allowed.", runes, maxRunes))
	}
	return nil
}
