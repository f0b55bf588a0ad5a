// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelapi

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/redact"
)

const (
	// maxQuoted is how much of an API's own words is passed on, in bytes.
	maxQuoted = 300
	// maxLookedAt is how much of them is searched for what looks like a secret, in bytes: it is more than any secret has, and a
	// whole answer would take seconds.
	maxLookedAt = 32 << 10
)

// Names that an API gives are shown only where they are such.
var (
	reasonName   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,59}$`)
	modelVersion = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}$`)
)

// FailedWith reports whether an error is a failure of a type.
func FailedWith(err error, kind string) bool {
	failed, ok := errors.AsType[*failure.Error](err)
	return ok && failed.Type == kind
}

// Malformed is for what is no answer of the API: a web page, or whatever else is at the endpoint.
func (a *API) Malformed() *failure.Error {
	return failure.New(v1alpha1.CategoryAPI, failure.TypeMalformed,
		fmt.Sprintf("%s answered with something that is no answer of the %s API.", a.Host(), a.vendor.Name))
}

// Empty is for an answer without a text, which ended for this reason.
func (a *API) Empty(reason string) *failure.Error {
	return failure.New(v1alpha1.CategoryAPI, failure.TypeEmpty, fmt.Sprintf("%s answered without a text (%s).", a.Host(), Named(reason)))
}

// Silent is for an answer to Check that says nothing.
func (a *API) Silent() *failure.Error {
	return failure.New(v1alpha1.CategoryAPI, failure.TypeEmpty, fmt.Sprintf("%s answered without a word about the model %s.", a.Host(), a.Model))
}

// Unfinished is for an answer that ended in the middle, for this reason.
func (a *API) Unfinished(reason string) *failure.Error {
	return failure.New(v1alpha1.CategoryAPI, failure.TypeMalformed, fmt.Sprintf("%s did not finish its answer (%s).", a.Host(), Named(reason)))
}

// Blocked is for an article that the API or the model declines, for this reason.
func (a *API) Blocked(reason string) *failure.Error {
	return failure.New(v1alpha1.CategoryValidation, failure.TypeBlocked,
		fmt.Sprintf("%s declined to summarize the article (%s). It will decline the same article again.", a.Host(), Named(reason)))
}

// TooLong is for an article that is longer than the API takes.
func (a *API) TooLong() *failure.Error {
	return failure.New(v1alpha1.CategoryValidation, failure.TypeTooLong,
		fmt.Sprintf("The article is longer than the model %s takes, or than may be asked at once.", a.Model))
}

// Failed makes a failure of whatever an SDK returned, in which the key cannot be.
func (a *API) Failed(err error) *failure.Error {
	known, ok := errors.AsType[*failure.Error](err)
	if !ok {
		// The words of net/http and of the SDK hold the address; the error behind them says more.
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err
		}
		known = failure.Classify(err)
	}
	if known.Type == "" { // an answer that the SDK cannot read; its words are no guide
		known = failure.Wrap(v1alpha1.CategoryAPI, failure.TypeMalformed,
			fmt.Sprintf("%s gave an answer that could not be read.", a.Host()), err)
	}
	return failure.WithoutEchoes(known, a.sent)
}

// Quoted is a sentence of the API's own, for a message. The key is masked before it is cut, or a part of it could
// stay.
func (a *API) Quoted(words string) string {
	words = a.sent.Mask(strings.ToValidUTF8(words, ""))
	words = strings.ToValidUTF8(words[:min(len(words), maxLookedAt)], "")
	words = redact.Text(strings.Join(strings.Fields(words), " "))
	if len(words) > maxQuoted {
		end := maxQuoted
		for !utf8.RuneStart(words[end]) {
			end--
		}
		words = words[:end] + "…"
	}
	if words == "" {
		return "it did not say why."
	}
	return words
}

// Named is the name of a reason or of an error, for a message.
func Named(reason string) string {
	if !reasonName.MatchString(reason) {
		return "it did not say why"
	}
	return reason
}

// Writer is the model that answered, by the name that the API gives it.
func (a *API) Writer(name string) string {
	if !modelVersion.MatchString(name) {
		return a.Model
	}
	return name
}
