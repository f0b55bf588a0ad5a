// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package failure knows what went wrong: the category of a failure, whether it is worth another
// try, how long the other side asked for a pause, and words about it that a person may read.
//
// It is pure. It knows no SDK and no HTTP client: who meets an error of a library turns it into
// an *Error where it happens.
package failure

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// Types of failures that more than one package speaks of. A type names a failure more exactly
// than its category.
const (
	TypeTimeout        = "Timeout"
	TypeDNS            = "DNS"
	TypeTLS            = "TLS"
	TypeConnection     = "Connection"
	TypeHTTPStatus     = "HTTPStatus"
	TypeTooLarge       = "TooLarge"
	TypeAddressRefused = "AddressRefused"
	TypeRedirect       = "Redirect"
	TypeInvalidURL     = "InvalidURL"
	TypeNotAFeed       = "NotAFeed"
	TypeMalformed      = "Malformed"
	TypeEmpty          = "Empty"
	TypeUnsupported    = "Unsupported"
	TypePanic          = "Panic"
	TypeNoRoom         = "NoRoom"        // the operator had no memory left for the answer, whatever that was
	TypeThrottled      = "Throttled"     // asked too often
	TypeQuotaSpent     = "QuotaSpent"    // the budget is spent
	TypeOverloaded     = "Overloaded"    // too many others ask
	TypeCredentials    = "Credentials"   // the key or token is refused
	TypeModelNotFound  = "ModelNotFound" // there is no such model (any more)
	TypeTooLong        = "TooLong"       // the text is longer than the other side takes
	TypeGone           = "Gone"          // what was called has ended for good
	TypeBlocked        = "Blocked"       // the content is refused
	TypeTruncated      = "Truncated"     // the answer was cut off
)

// Limits of what a failure carries to the API server.
const (
	maxMessage = 1000
	maxChain   = 8
	maxLink    = 240
	maxStack   = 2000
)

// Error is a failure whose category is known. Make one where the failure happens, with the
// category, the type and a message for a person: what happened, to what, what to do.
type Error struct {
	Category v1alpha1.Category
	// Type is one of the Type constants, or a provider's own short code.
	Type string
	// Message is for a person. Secrets and query strings are masked when it is shown.
	Message string
	// Status is the HTTP status of the answer, 0 when there was none.
	Status int
	// RetryAfter is how long the other side asked for a pause, 0 when it did not say.
	RetryAfter time.Duration
	// Quota is set when not the pace but the budget is spent.
	Quota bool
	// Unsent is set when the request cannot have reached the other side: there was no connection.
	// Where it is not set, nobody knows what the other side has done.
	Unsent bool
	// Passing is set when it may be over by itself, though the category is none that is tried again: a name may get another address.
	Passing bool
	// Rejected is set when the other side says that it has done nothing, whatever its status means elsewhere.
	Rejected bool
	// Stack is where a recovered panic happened.
	Stack string
	// Err is the error behind it, or nil.
	Err error
}

// New makes a failure with a message and no error behind it.
func New(category v1alpha1.Category, kind, message string) *Error {
	return &Error{Category: category, Type: kind, Message: message}
}

// Wrap makes a failure out of the error behind it.
func Wrap(category v1alpha1.Category, kind, message string, err error) *Error {
	return &Error{Category: category, Type: kind, Message: message, Err: err}
}

// Error returns the message, masked.
func (e *Error) Error() string { return Mask(e.Message) }

// Unwrap returns the error behind the failure.
func (e *Error) Unwrap() error { return e.Err }

// Panicked makes a failure out of what recover() returned and the stack at that moment.
func Panicked(value any, stack []byte) *Error {
	return &Error{
		Category: v1alpha1.CategoryUnknown,
		Type:     TypePanic,
		Message:  fmt.Sprintf("An unexpected error stopped the work: %v", value),
		Stack:    bound(Mask(string(stack)), maxStack),
	}
}

// Retryable reports whether a failure of the category is tried again until the retries are used up.
// Unknown failures get one retry, which the caller counts.
func Retryable(category v1alpha1.Category) bool {
	switch category {
	case v1alpha1.CategoryNetwork, v1alpha1.CategoryRateLimit, v1alpha1.CategoryAPI:
		return true
	case v1alpha1.CategoryAuth, v1alpha1.CategoryValidation, v1alpha1.CategoryUnknown:
		return false
	}
	return false
}

// Retryable reports whether the failure is tried again: by its category, or because it is passing.
func (e *Error) Retryable() bool { return e.Passing || Retryable(e.Category) }

// Record is the failure as it stands on an object: classified, masked and bounded. Retryable is
// by that of the failure; whoever decides otherwise sets it after.
func Record(err error, stage v1alpha1.Stage, object string, now time.Time) *v1alpha1.Failure {
	failed := Classify(err)
	record := &v1alpha1.Failure{
		Category:   failed.Category,
		Type:       bound(failed.Type, 64),
		Message:    bound(Mask(failed.Message), maxMessage),
		Retryable:  failed.Retryable(),
		Stage:      stage,
		Object:     bound(object, 253),
		Time:       metav1.NewTime(now),
		HTTPStatus: int32(min(max(failed.Status, 0), 999)),
		Stack:      failed.Stack,
	}
	if record.HTTPStatus < 100 {
		record.HTTPStatus = 0
	}
	for cause := failed.Err; cause != nil && len(record.Chain) < maxChain; cause = errors.Unwrap(cause) {
		record.Chain = append(record.Chain, bound(Mask(cause.Error()), maxLink))
	}
	return record
}

// bound cuts a text to at most limit bytes, on the border of a character, without control characters.
func bound(text string, limit int) string {
	text = printable(text)
	if len(text) <= limit {
		return text
	}
	const ellipsis = "…"
	cut := limit - len(ellipsis)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + ellipsis
}
