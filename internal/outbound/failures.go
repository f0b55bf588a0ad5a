// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
)

// Types of failures that only this package makes.
const (
	typeInvalidHeader = "InvalidHeader"
	typeInterrupted   = "Interrupted"
)

// statusFailure is for an answer that is neither a success nor a redirect.
func (c *Client) statusFailure(at target, answer *http.Response) error {
	status := strings.TrimSpace(fmt.Sprintf("%d %s", answer.StatusCode, http.StatusText(answer.StatusCode)))
	return &failure.Error{
		Category:   failure.FromStatus(answer.StatusCode),
		Type:       failure.TypeHTTPStatus,
		Message:    fmt.Sprintf("The server %s answered %s.", at.url.Host, status),
		Status:     answer.StatusCode,
		RetryAfter: failure.RetryAfter(answer.Header.Get("Retry-After"), c.now()),
		Quota:      answer.StatusCode == http.StatusPaymentRequired,
	}
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
		return failure.Wrap(v1alpha1.CategoryValidation, failure.TypeAddressRefused, refused.message(host), err)
	}
	known := failure.Classify(err)
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
		return failure.Wrap(v1alpha1.CategoryNetwork, failure.TypeTimeout, message, err)
	case failure.TypeDNS:
		return failure.Wrap(v1alpha1.CategoryNetwork, failure.TypeDNS,
			fmt.Sprintf("The name %s could not be resolved to an address.", at.url.Hostname()), err)
	case failure.TypeTLS:
		return failure.Wrap(v1alpha1.CategoryNetwork, failure.TypeTLS,
			fmt.Sprintf("No secure connection to %s could be made: %v.", host, err), err)
	case failure.TypeConnection:
		return failure.Wrap(v1alpha1.CategoryNetwork, failure.TypeConnection,
			fmt.Sprintf("The connection to %s could not be made, or broke before the answer was complete.", host), err)
	}
	if known.Category == v1alpha1.CategoryNetwork {
		return failure.Wrap(v1alpha1.CategoryNetwork, failure.TypeConnection,
			fmt.Sprintf("The connection to %s broke before the answer was complete.", host), err)
	}
	// Nothing about the network: the other side sent what is not HTTP, or not gzip, or headers
	// without end.
	return failure.Wrap(v1alpha1.CategoryAPI, failure.TypeMalformed,
		fmt.Sprintf("%s sent an answer that is malformed, or has headers larger than %d KiB.", host, maxHeaderBytes>>10), err)
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

// isDial says that an error is of making a connection. The time-out of a net.Dialer passes for
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
		fmt.Sprintf("The answer of %s is larger than the limit of %d bytes.", at.url.Host, limit))
}

func encodingFailure(at target) *failure.Error {
	return failure.New(v1alpha1.CategoryAPI, failure.TypeMalformed,
		fmt.Sprintf("%s sent an answer in a compression that it was not asked for.", at.url.Host))
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
