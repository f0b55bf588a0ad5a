// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"slices"
	"time"

	"github.com/feed-operator/feed-operator/internal/failure"
)

// Attempt is what one pass over a chain has come to so far. An attempt that has to wait is put
// away, and gone on with later. The zero Attempt has not begun.
type Attempt struct {
	// Failures of the links that were given up, and of the one that succeeded after it had failed, in
	// the order of the calls.
	Failures []Failed
	// NotBefore is when the attempt goes on, after ErrWaits; zero where Acquire says so.
	NotBefore time.Time
	// GoOnBy is when an attempt that waits to call a link again goes on without it at the latest; zero
	// where it waits for another one.
	GoOnBy time.Time

	judge    string
	verdict  *Verdict
	failing  *Failed   // the link that is to be called again
	failedAt time.Time // when it failed
	waited   time.Duration
}

// Begun reports whether a call was made.
func (a *Attempt) Begun() bool { return len(a.Failures) > 0 || a.failing != nil }

// HasFailed reports whether a link was given up, or is to be called again.
func (a *Attempt) HasFailed(name string) bool {
	return a.failing != nil && a.failing.Name == name ||
		slices.ContainsFunc(a.Failures, func(failed Failed) bool { return failed.Name == name })
}

// Left returns those links of a chain that the attempt may still call.
func (a *Attempt) Left(links []Link) []Link {
	return slices.DeleteFunc(slices.Clone(links), func(link Link) bool {
		return slices.ContainsFunc(a.Failures, func(failed Failed) bool { return failed.Name == link.Name })
	})
}

// next returns the links that may be called now: the one that is to be called again, or those that
// have not failed yet and can do what is wanted.
func (a *Attempt) next(links []Link, request Request) []Link {
	return slices.DeleteFunc(a.Left(links), func(link Link) bool {
		return a.failing != nil && a.failing.Name != link.Name || request.Screening != nil && !link.Screens
	})
}

// call makes one call, and notes what came of it; the result is there when the attempt is done.
func (a *Attempt) call(ctx context.Context, chain Chain, to Call, request *Request) (*Result, error) {
	asked := *request
	if asked.Screening != nil {
		asked.Screening = &Screening{Criteria: asked.Screening.Criteria, Only: to.Link.VerdictOnly}
	}
	if a.failing != nil && a.failing.Name == to.Link.Name {
		a.waited += chain.Now().Sub(a.failedAt)
	}
	calling := ctx
	if to.Enter != nil {
		calling = to.Enter(ctx)
	}
	response, failed := call(calling, to.Link, asked)
	if response.Verdict != nil && asked.Screening != nil {
		a.judge, a.verdict = to.Link.Name, response.Verdict
		request.Screening = nil
	}
	if failed == nil || a.verdict.Against() {
		to.Done(response, nil)
		a.giveUp()
		result := a.result()
		response.Verdict = a.verdict
		result.Response = response
		if !asked.asksOnly() {
			result.Provider = to.Link.Name
		}
		return &result, nil
	}
	if err := ctx.Err(); err != nil {
		to.Done(response, err)
		return nil, err
	}
	to.Done(response, failed)
	a.noteFailure(to.Link.Name, failed)
	if chain.Judging && a.verdict != nil {
		a.giveUp()
		result := a.result()
		return &result, nil
	}
	if chain.Repeat != nil {
		if wait, again := chain.Repeat(failed, a.failing.Calls, a.waited); again {
			a.failedAt = chain.Now()
			a.NotBefore, a.GoOnBy = a.failedAt.Add(wait), a.failedAt.Add(max(chain.Patience-a.waited, wait))
			return nil, ErrWaits
		}
	}
	a.giveUp()
	return nil, nil
}

// noteFailure notes a call that has failed.
func (a *Attempt) noteFailure(name string, failed *failure.Error) {
	if a.failing == nil || a.failing.Name != name {
		a.giveUp()
		a.failing = &Failed{Name: name}
	}
	a.failing.Err = failed
	a.failing.Calls++
}

// giveUp moves on from the link that was to be called again, if there is one.
func (a *Attempt) giveUp() {
	if a.failing != nil {
		a.Failures = append(a.Failures, *a.failing)
		a.failing, a.GoOnBy = nil, time.Time{}
	}
}

// result is what there is without a summary.
func (a *Attempt) result() Result {
	return Result{Judge: a.judge, Response: Response{Verdict: a.verdict}}
}
