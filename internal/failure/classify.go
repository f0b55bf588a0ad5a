// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// FromStatus returns the category of an HTTP status that is not a success.
//
//	Network     408
//	RateLimit   429, 402 (spent)
//	Auth        401, 403
//	API         5xx (529 is "overloaded")
//	Validation  every other 4xx, and 3xx where no redirect was expected
func FromStatus(status int) v1alpha1.Category {
	switch {
	case status == 408:
		return v1alpha1.CategoryNetwork
	case status == 429 || status == 402:
		return v1alpha1.CategoryRateLimit
	case status == 401 || status == 403:
		return v1alpha1.CategoryAuth
	case status >= 500 && status <= 599:
		return v1alpha1.CategoryAPI
	case status >= 300 && status <= 499:
		return v1alpha1.CategoryValidation
	}
	return v1alpha1.CategoryUnknown
}

// Classify finds the category of any error: from its type and status first, from its words only
// last. It returns nil for nil, and an *Error in the chain as it is.
func Classify(err error) *Error {
	if err == nil {
		return nil
	}
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	if category, kind, ok := byType(err); ok {
		return Wrap(category, kind, err.Error(), err)
	}
	return Wrap(byWords(err.Error()), "", err.Error(), err)
}

func byType(err error) (v1alpha1.Category, string, bool) {
	var (
		dnsError         *net.DNSError
		opError          *net.OpError
		netError         net.Error
		unknownAuthority x509.UnknownAuthorityError
		wrongHost        x509.HostnameError
		badCertificate   x509.CertificateInvalidError
		verification     *tls.CertificateVerificationError
		recordHeader     tls.RecordHeaderError
		alert            tls.AlertError
		syntax           *json.SyntaxError
		wrongType        *json.UnmarshalTypeError
	)
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return v1alpha1.CategoryNetwork, TypeTimeout, true
	case errors.As(err, &dnsError):
		return v1alpha1.CategoryNetwork, TypeDNS, true
	case errors.As(err, &unknownAuthority), errors.As(err, &wrongHost), errors.As(err, &badCertificate),
		errors.As(err, &verification), errors.As(err, &recordHeader), errors.As(err, &alert):
		return v1alpha1.CategoryNetwork, TypeTLS, true
	case errors.As(err, &netError) && netError.Timeout():
		return v1alpha1.CategoryNetwork, TypeTimeout, true
	case errors.As(err, &opError), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EPIPE),
		errors.Is(err, net.ErrClosed):
		return v1alpha1.CategoryNetwork, TypeConnection, true
	case errors.As(err, &syntax), errors.As(err, &wrongType):
		return v1alpha1.CategoryAPI, TypeMalformed, true
	}
	return "", "", false
}

// words are looked for in this order, the first that is found decides. They serve errors that
// come as text only.
var words = []struct {
	category v1alpha1.Category
	list     []string
}{
	{v1alpha1.CategoryNetwork, []string{
		"timeout", "timed out", "deadline exceeded", "connection refused", "connection reset", "no such host",
		"network is unreachable", "broken pipe", "unexpected eof", "tls handshake", "server closed",
	}},
	{v1alpha1.CategoryRateLimit, []string{
		"rate limit", "ratelimit", "too many requests", "quota", "resource exhausted", "resource_exhausted", "throttl",
	}},
	{v1alpha1.CategoryAuth, []string{
		"unauthorized", "unauthenticated", "forbidden", "permission denied", "invalid api key", "api key not valid",
		"invalid credentials", "authentication",
	}},
	{v1alpha1.CategoryAPI, []string{
		"internal server error", "bad gateway", "service unavailable", "gateway timeout", "overloaded", "unavailable",
	}},
	{v1alpha1.CategoryValidation, []string{
		"invalid", "not found", "bad request", "unprocessable", "too long", "too large", "malformed", "unsupported",
	}},
}

func byWords(text string) v1alpha1.Category {
	text = strings.ToLower(text)
	for _, w := range words {
		for _, word := range w.list {
			if strings.Contains(text, word) {
				return w.category
			}
		}
	}
	return v1alpha1.CategoryUnknown
}
