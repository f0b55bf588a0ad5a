// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/outbound/parcel"
	"github.com/feed-operator/feed-operator/internal/tracing"
)

// defaultMaxAnswer bounds an answer of an API, which is much smaller than a feed or a page.
const defaultMaxAnswer = 4 << 20

// Transport is a way out for the clients of providers and destinations, which bring requests of
// their own. Make one with Client.Transport.
//
// It demands TLS unless the client was told to allow plain http; never follows a redirect, which
// is an error here (a POST that was redirected would arrive as a GET); reads the whole answer, so
// that one that breaks off is an error of RoundTrip, unless its status is enough; and never lets a request with an effect (all
// but GET, HEAD, OPTIONS and TRACE) be repeated. Errors are *failure.Error; Unsent says which of
// them left the other side untouched. The status of an answer is the caller's to judge; only an
// answer of 400 and above that cannot be read completely is an error, with that status.
//
// Close the body of an answer: until then, or until the end of the request's context, it takes room in the memory
// for documents. Answers as services give them always find room; a very large one may not (budget.ErrFull).
//
// Bound a request by its context: the Timeout of an http.Client replaces the error by one of its
// own, which does not say what was Unsent. Nor is the error of an http.Client to be shown: it
// repeats the URL, query and all. failure.Classify finds the one that was made here.
type Transport struct {
	client   *Client
	maxBytes int64
	fresh    bool
	bare     bool
	owner    string
	secret   bool
}

// TransportOptions say how a Transport behaves.
type TransportOptions struct {
	// MaxBytes bounds an answer after decompression. Default: 4 MiB.
	MaxBytes int64
	// FreshConnections makes a new connection for each request, so that one that died while it was
	// idle never leaves it open whether a request has arrived.
	FreshConnections bool
	// StatusIsEnough is set if an answer says all that counts by its status and its headers: one of which the body cannot be read, for whatever
	// reason, is an answer with an empty body. Redirects are errors all the same.
	StatusIsEnough bool
	// Owner is whose share of the memory for documents large answers take: the namespace. Default: nobody's.
	Owner string
	// Secret is set if nobody may see the address that is called, not even its host.
	Secret bool
}

// Transport returns a way out for the client of a provider or a destination.
func (c *Client) Transport(options TransportOptions) *Transport {
	if options.MaxBytes <= 0 {
		options.MaxBytes = defaultMaxAnswer
	}
	return &Transport{
		client: c, maxBytes: options.MaxBytes, fresh: options.FreshConnections, bare: options.StatusIsEnough, owner: options.Owner, secret: options.Secret,
	}
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	at, refused := t.prepare(request)
	if refused != nil {
		refused.Unsent = true
		closeBody(request)
		return nil, refused
	}
	span := tracing.Request(request.Context(), request.Method, at.url, t.secret)
	// From the moment there is a connection, what was written to it is between net/http and the
	// kernel: of a request that was cancelled while it was being written nobody knows.
	var connected atomic.Bool
	ctx := httptrace.WithClientTrace(request.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	transport := t.client.transport
	if t.fresh {
		transport = t.client.fresh
	}
	answer, err := transport.RoundTrip(t.outgoing(ctx, request, at))
	if err != nil {
		failed := exchangeFailure(request.Context(), at, 0, err)
		if !connected.Load() {
			failed.Unsent = true
			if failed.Type == failure.TypeTimeout {
				failed.Message = noConnectionInTime(at)
			}
		}
		span.Unanswered(failed)
		return nil, failed
	}
	endSwitched(answer)
	status := answer.StatusCode
	answer, err = t.whole(request, at, answer)
	span.Answered(status, err)
	return answer, err
}

// prepare checks a request before anything is sent.
func (t *Transport) prepare(request *http.Request) (target, *failure.Error) {
	at, refused := t.client.allowed(request.URL)
	if refused != nil {
		return target{}, refused
	}
	return at, checkHeader(request.Header)
}

// Refusal returns why no Transport sends anything to an address, whatever answers there; nil where it may. Which addresses a host has is not
// asked for.
func (c *Client) Refusal(address *url.URL) *failure.Error {
	_, refused := c.allowed(address)
	return refused
}

func (c *Client) allowed(address *url.URL) (target, *failure.Error) {
	at, err := newTarget(address)
	if err != nil {
		return target{}, failure.New(v1alpha1.CategoryValidation, failure.TypeInvalidURL, sentence(err))
	}
	if at.url.Scheme == "http" && !c.allowHTTP {
		return target{}, failure.New(v1alpha1.CategoryValidation, failure.TypeInvalidURL, plainHTTP(at))
	}
	return at, nil
}

// outgoing is the request as it leaves.
func (t *Transport) outgoing(ctx context.Context, request *http.Request, at target) *http.Request {
	outgoing := request.Clone(ctx)
	outgoing.URL, outgoing.Host = at.url, at.url.Host
	outgoing.Header = callersHeader(request.Header)
	outgoing.Header.Set("Accept-Encoding", parcel.AcceptEncoding)
	outgoing.Header.Set("User-Agent", t.client.userAgent)
	// net/http repeats a request when its connection breaks, if it is safe or has an Idempotency-Key
	// and if its body is empty or can be had again. Whether to repeat is not its to decide.
	outgoing.GetBody = nil
	if !isSafe(request.Method) && (request.Body == nil || request.Body == http.NoBody) {
		outgoing.Body = io.NopCloser(strings.NewReader(""))
	}
	return outgoing
}

// isSafe reports for a method that it asks for no effect (RFC 9110, section 9.2.1).
func isSafe(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}

// whole returns the answer with its whole body in memory.
func (t *Transport) whole(request *http.Request, at target, answer *http.Response) (*http.Response, error) {
	sent := answer.Body
	defer func() { _ = sent.Close() }()
	if isRedirect(answer.StatusCode) {
		discard(answer.Body)
		return nil, redirectFailure(answer, fmt.Sprintf("%s answered %d: it redirects to another address, which is not followed. "+
			"Use the address that it redirects to.", at.url.Host, answer.StatusCode))
	}
	counted := &answerRoom{Room: t.client.budget.Document(t.owner)}
	body, err := counted.read(request.Context(), answer, t.maxBytes)
	if err == nil {
		answer.Body = counted.until(request.Context(), body)
		answer.Request = request
		return answer, nil
	}
	counted.Release()
	if t.bare {
		answer.Body, answer.Request = http.NoBody, request
		return answer, nil
	}
	if answer.StatusCode >= 400 && request.Context().Err() == nil {
		// That it was refused says more than that its reasons could not be read.
		return nil, t.client.statusFailure(at, answer)
	}
	return nil, bodyFailure(request.Context(), at, t.maxBytes, 0, err)
}

// endSwitched ends the connection of an answer that changes the protocol, which no request asks for: net/http hands the connection itself over
// as its body, and neither a context nor a time ends reading from that.
func endSwitched(answer *http.Response) {
	if answer.StatusCode == http.StatusSwitchingProtocols {
		_ = answer.Body.Close()
		answer.Body = http.NoBody
	}
}

func closeBody(request *http.Request) {
	if request.Body != nil {
		_ = request.Body.Close()
	}
}
