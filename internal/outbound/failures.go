// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/budget"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/outbound/parcel"
)

// Types of failures that only this package makes.
const (
	typeInvalidHeader = "InvalidHeader"
	typeInterrupted   = "Interrupted"
	typeChallenge     = "Challenge"
)

// statusFailure is for an answer that is neither a success nor a redirect.
func (c *Client) statusFailure(at target, answer *http.Response) *failure.Error {
	failed := failure.New(failure.FromStatus(answer.StatusCode), failure.TypeHTTPStatus,
		fmt.Sprintf("The server %s answered %s.", at.url.Host, statusOf(answer)))
	failed.Status = answer.StatusCode
	failed.Quota = answer.StatusCode == http.StatusPaymentRequired
	now := failure.AnsweredAt(answer.Header.Get("Date"), c.now())
	for _, value := range answer.Header.Values("Retry-After") { // some send one for each of their limits
		failed.RetryAfter = max(failed.RetryAfter, failure.RetryAfter(value, now))
	}
	return failed
}

// challengeFailure is for an answer that has a browser prove itself. It asks for patience where the
// answer does.
func (c *Client) challengeFailure(at target, answer *http.Response, guard string) *failure.Error {
	failed := c.statusFailure(at, answer)
	failed.Type = typeChallenge
	failed.Message = fmt.Sprintf("The server %s answered %s, with a page that checks for a browser%s. "+
		"Ask the owner of the site to let feed readers through, or use another URL.", at.url.Host, statusOf(answer), guard)
	return failed
}

func statusOf(answer *http.Response) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", answer.StatusCode, http.StatusText(answer.StatusCode)))
}

// exchangeFailure is for an exchange that ended before its answer was complete. ctx is the
// caller's, without the timeout of the request, which is 0 where there is none but that of ctx.
func exchangeFailure(ctx context.Context, at target, timeout time.Duration, err error) *failure.Error {
	host := at.url.Host
	if cause := ctx.Err(); errors.Is(cause, context.Canceled) {
		return failure.Wrap(v1alpha1.CategoryNetwork, typeInterrupted,
			fmt.Sprintf("The request to %s was interrupted.", host), cause)
	}
	if refused, ok := errors.AsType[*refusedError](err); ok {
		failed := failure.Wrap(v1alpha1.CategoryValidation, failure.TypeAddressRefused, refused.message(host), refused)
		_, notAnAddress := netip.ParseAddr(at.url.Hostname())
		failed.Passing = notAnAddress != nil
		return failed
	}
	known, shown := failure.Classify(err), &discreet{err}
	kind := known.Type
	switch {
	case isHandshake(err):
		kind = failure.TypeTLS
	case isBroken(err):
		kind = failure.TypeConnection
	}
	switch kind {
	case failure.TypeTimeout:
		message := noConnectionInTime(at)
		switch {
		case isDial(err): // has a limit of its own
		case timeout == 0, errors.Is(ctx.Err(), context.DeadlineExceeded):
			message = fmt.Sprintf("%s did not answer completely in the time that was left.", host)
		case errors.Is(err, context.DeadlineExceeded):
			message = fmt.Sprintf("%s did not answer completely within %s.", host, timeout)
		}
		return failure.Wrap(v1alpha1.CategoryNetwork, failure.TypeTimeout, message, shown)
	case failure.TypeDNS:
		return failure.Wrap(v1alpha1.CategoryNetwork, failure.TypeDNS, noAddress(at, err), shown)
	case failure.TypeTLS:
		return failure.Wrap(v1alpha1.CategoryNetwork, failure.TypeTLS,
			fmt.Sprintf("No secure connection to %s could be made: %v.", host, shown), shown)
	case failure.TypeConnection:
		message := fmt.Sprintf("The connection to %s could not be made, or broke before the answer was complete.", host)
		if isDial(err) {
			message = fmt.Sprintf("No connection to %s could be made.", host)
			if errors.Is(err, syscall.ECONNREFUSED) {
				message = fmt.Sprintf("No connection to %s could be made: nothing answers there at this port.", host)
			}
		}
		return failure.Wrap(v1alpha1.CategoryNetwork, failure.TypeConnection, message, shown)
	}
	if known.Category == v1alpha1.CategoryNetwork {
		return failure.Wrap(v1alpha1.CategoryNetwork, failure.TypeConnection,
			fmt.Sprintf("The connection to %s broke before the answer was complete.", host), shown)
	}
	// Nothing about the network: the other side sent what is not HTTP, or headers without end.
	message := fmt.Sprintf("%s sent an answer that is malformed: it is not HTTP as it should be.", host)
	if isOversized(err) {
		message = fmt.Sprintf("%s sent an answer with headers larger than %d KiB.", host, maxHeaderBytes>>10)
	}
	return failure.Wrap(v1alpha1.CategoryAPI, failure.TypeMalformed, message, shown)
}

// bodyFailure is for an answer whose body could not be read to its end.
func bodyFailure(ctx context.Context, at target, limit int64, timeout time.Duration, err error) *failure.Error {
	switch {
	case errors.Is(err, parcel.ErrTooLarge):
		return sizeFailure(at, limit)
	case errors.Is(err, budget.ErrFull):
		return fullFailure(err)
	}
	if encoding, ok := errors.AsType[*parcel.EncodingError](err); ok {
		return failure.Wrap(v1alpha1.CategoryAPI, failure.TypeMalformed,
			fmt.Sprintf("%s sent an answer that cannot be read: it %s.", at.url.Host, encoding.Problem), encoding.Cause)
	}
	return exchangeFailure(ctx, at, timeout, err)
}

// fullFailure is for a document that there is no room for at the moment. It is nobody's fault, and no answer of
// the other side.
func fullFailure(err error) *failure.Error {
	return failure.Wrap(v1alpha1.CategoryNetwork, failure.TypeNoRoom,
		"The operator's memory for documents is full. This one is requested again in a moment.", err)
}

// isOversized finds the errors by which net/http ends headers without end, and answers that
// announce themselves without end (1xx). They have no type that is exported.
func isOversized(err error) bool {
	text := err.Error()
	return strings.Contains(text, "headers exceeded") || strings.Contains(text, "header list larger") || strings.Contains(text, "too many 1xx")
}

func noAddress(at target, err error) string {
	message := fmt.Sprintf("The name %s could not be resolved to an address", at.url.Hostname())
	if unresolved, ok := errors.AsType[*net.DNSError](err); ok && unresolved.IsNotFound {
		return message + ": it does not exist."
	}
	return message + ": the name servers gave no answer."
}

// isHandshake finds the errors by which crypto/tls ends a handshake. Few have a type: alerts are a
// net.OpError whose operation is theirs alone, others are text.
func isHandshake(err error) bool {
	operation, ok := errors.AsType[*net.OpError](err)
	return ok && (operation.Op == "remote error" || operation.Op == "local error") || strings.HasPrefix(err.Error(), "tls: ")
}

// isBroken finds the errors by which net/http says that a connection, or a stream of HTTP/2, has
// ended early. They have no type that is exported.
func isBroken(err error) bool {
	text := err.Error()
	return strings.HasPrefix(text, "stream error: ") && strings.HasSuffix(text, "received from peer") ||
		strings.HasPrefix(text, "http2: client conn") ||
		strings.HasPrefix(text, "http2: ") && strings.Contains(text, "GOAWAY") ||
		strings.HasPrefix(text, "http2: Transport: cannot retry err") ||
		strings.HasPrefix(text, "net/http: cannot rewind body")
}

// isDial reports whether an error is of making a connection. The time-out of a net.Dialer passes for
// context.DeadlineExceeded.
func isDial(err error) bool {
	operation, ok := errors.AsType[*net.OpError](err)
	return ok && operation.Op == "dial"
}

func noConnectionInTime(at target) string {
	return fmt.Sprintf("No connection to %s could be made in time.", at.url.Host)
}

func sizeFailure(at target, limit int64) *failure.Error {
	return failure.New(v1alpha1.CategoryValidation, failure.TypeTooLarge,
		fmt.Sprintf("The answer of %s is larger than the limit of %s (counted without compression).", at.url.Host, size(limit)))
}

// size writes a number of bytes for a person.
func size(bytes int64) string {
	if bytes >= 1<<20 && bytes%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d bytes", bytes)
}

func plainHTTP(at target) string {
	return fmt.Sprintf("Plain http:// to %s is refused: use https://, or start the operator with --allow-http.", at.url.Host)
}

// sentence makes a message for a person out of an error.
func sentence(err error) string {
	text := err.Error()
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:] + "."
}
