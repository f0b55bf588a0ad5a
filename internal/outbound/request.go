// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"context"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/budget"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/outbound/parcel"
	"github.com/feed-operator/feed-operator/internal/tracing"
)

// What a request gets when it does not say otherwise.
const (
	defaultTimeout  = 30 * time.Second
	defaultMaxBytes = 10 << 20
)

// maxDiscardedBytes of a body that nobody reads are read all the same, so that the connection can
// be used again.
const maxDiscardedBytes = 2 << 10

// Request asks for one document.
type Request struct {
	// URL of the document. User info in it is sent as basic credentials.
	URL string
	// RequireTLS refuses plain http, here and on every redirect, unless the client was told to
	// allow it. Set it for what belongs to a provider or a destination.
	RequireTLS bool
	// Accept is the Accept header, for example "text/html".
	Accept string
	// ETag and LastModified are the validators of the answer that the caller already has. They are
	// of the document at the end of all redirects, and are therefore sent on each of them.
	ETag, LastModified string
	// Known is the Sum of the response with the body that the caller already has: servers that know no validators send it again.
	Known string
	// Header holds credentials and other headers of the caller's. It is sent to the scheme, host
	// and port of URL only, until the first redirect that leaves them. Headers that belong to the
	// connection, and User-Agent, are ignored.
	Header http.Header
	// Timeout of the whole exchange, redirects and body included. Default: 30 s.
	Timeout time.Duration
	// MaxBytes bounds the body after decompression. Default: 10 MiB.
	MaxBytes int64
	// Room is what the document takes of the memory for documents, for as long as Get or Read last. Default: one
	// of nobody's.
	Room *budget.Room
	// Weigh returns how much memory the function takes that Read calls, in bytes, beside the body. Default: next to
	// nothing.
	Weigh func(contentType string, body []byte) int64
	// Received is called when the network is not needed any more, because the answer is there. What follows waits
	// for its turn. Default: nothing.
	Received func()
}

// Response is a success (2xx), or 304 where the request had validators.
type Response struct {
	Status int
	Header http.Header
	// Unchanged is set where the document is the one that the caller has: the server says so by 304, or,
	// as servers do that know no conditional requests, by the ETag that the request has named; or its body is Known.
	Unchanged bool
	// Body is complete and decompressed. What is unchanged has none.
	Body []byte
	// URL that answered in the end, without user info.
	URL string
	// Home is set if what answered was sent the Header of the request and the user info of its URL: no redirect has
	// left the scheme, host and port of that.
	Home bool
	// MovedTo is where the document is now, without user info; set when there was a redirect and
	// each one was permanent (301 or 308).
	MovedTo string
	// FreshFor is for how long the server says that the document stays as it is; 0 where it does not
	// say, at most a year.
	FreshFor time.Duration

	// sum of the body, empty until it is known.
	sum string
}

// connectionHeaders are set by the client, whatever the caller says. An Accept-Encoding of the
// caller's would leave the answer compressed, and its size unbounded.
var connectionHeaders = []string{
	"Accept-Encoding", "Connection", "Content-Length", "Expect", "Host", "Keep-Alive", "Proxy-Connection", "Te",
	"Trailer", "Transfer-Encoding", "Upgrade", "User-Agent",
}

// Get fetches a document that is small, or of somebody who waits for it alone: its body is counted as long as it
// is fetched, and not after. It is Read otherwise.
func (c *Client) Get(ctx context.Context, r Request) (response *Response, err error) {
	err = c.Read(ctx, r, func(read *Response) error {
		response = read
		return nil
	})
	return response, err
}

// Read fetches a document, and calls a function with it, whose error it returns. It follows up to 10 redirects
// between http and https.
//
// The memory for documents bounds it (see package budget): the bytes take their room as they come, and the
// function is called when it is its turn to work. It should do no more than that, wait for nothing, and keep
// nothing of the body that it has not taken room for.
//
// Every other error is a *failure.Error. What has no answer is Network; an answer that is no success
// carries its status, and what its Retry-After header asked for. Where ctx was cancelled,
// errors.Is(err, context.Canceled) holds; where there was no room, errors.Is(err, budget.ErrFull): then nothing
// is wrong with the document, and the same can be asked for again in a moment.
func (c *Client) Read(ctx context.Context, r Request, use func(*Response) error) error {
	if r.Timeout <= 0 {
		r.Timeout = defaultTimeout
	}
	if r.MaxBytes <= 0 {
		r.MaxBytes = defaultMaxBytes
	}
	if r.Room == nil {
		r.Room = c.budget.Document("")
	}
	before := r.Room.Held()
	if err := r.Room.Grow(parcel.FirstPiece); err != nil { // nobody is asked for what there is no room for
		return fullFailure(err)
	}
	r.Room.Shrink(parcel.FirstPiece)
	response, body, err := c.fetch(ctx, r)
	switch {
	case err != nil:
		r.Room.Shrink(r.Room.Held() - before)
		return err
	case r.Received != nil:
		r.Received()
	}
	if body == nil {
		r.Room.Shrink(r.Room.Held() - before)
		return use(response)
	}
	// What was received is given back before the function takes room for what it keeps: by then the body is
	// counted as part of the work.
	held := r.Room.Held() - before
	giveBack := sync.OnceFunc(func() {
		body.Drop()
		r.Room.Shrink(held)
	})
	defer giveBack()
	var weigh func([]byte) int64
	if r.Weigh != nil {
		weigh = func(body []byte) int64 { return r.Weigh(response.Header.Get("Content-Type"), body) }
	}
	var used error
	err = body.Open(ctx, r.MaxBytes, r.Room, weigh, func(unpacked []byte) error {
		response.Body = unpacked
		if r.Known != "" && response.Sum() == r.Known {
			response.Unchanged, response.Body = true, nil
		}
		giveBack()
		used = use(response)
		return nil
	})
	if err != nil {
		at, _ := parseTarget(response.URL)
		return bodyFailure(ctx, at, r.MaxBytes, r.Timeout, err)
	}
	return used
}

// fetch makes the exchange. The response comes with its body as it was sent, unless it has none.
func (c *Client) fetch(ctx context.Context, r Request) (*Response, *parcel.Parcel, error) {
	start, err := parseTarget(r.URL)
	if err != nil {
		return nil, nil, failure.New(v1alpha1.CategoryValidation, failure.TypeInvalidURL, sentence(err))
	}
	if r.RequireTLS && !c.allowHTTP && start.url.Scheme == "http" {
		return nil, nil, failure.New(v1alpha1.CategoryValidation, failure.TypeInvalidURL, plainHTTP(start))
	}
	if err := checkHeader(r.Header); err != nil {
		return nil, nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()

	trail := newTrail(start)
	for {
		span := tracing.Request(ctx, http.MethodGet, trail.at.url, false)
		answer, err := c.transport.RoundTrip(c.newRequest(bounded, r, trail))
		if err != nil {
			failed := exchangeFailure(ctx, trail.at, r.Timeout, err)
			span.Unanswered(failed)
			return nil, nil, failed
		}
		endSwitched(answer)
		if isRedirect(answer.StatusCode) {
			discard(answer.Body)
			span.Answered(answer.StatusCode, nil)
			if err := trail.follow(answer, r.RequireTLS && !c.allowHTTP); err != nil {
				return nil, nil, err
			}
			continue
		}
		response, body, err := c.finish(ctx, r, trail, answer)
		span.Answered(answer.StatusCode, err)
		return response, body, err
	}
}

// newRequest makes the request for where the trail is now.
func (c *Client) newRequest(ctx context.Context, r Request, trail *trail) *http.Request {
	request := (&http.Request{
		Method: http.MethodGet,
		URL:    trail.at.url,
		Host:   trail.at.url.Host,
		Header: http.Header{},
	}).WithContext(ctx)
	set := func(name, value string) {
		if value != "" && httpguts.ValidHeaderFieldValue(value) {
			request.Header.Set(name, value)
		}
	}
	set("Accept", r.Accept)
	set("If-None-Match", r.ETag)
	set("If-Modified-Since", r.LastModified)
	if trail.home {
		if user := trail.start.user; user != nil {
			password, _ := user.Password()
			request.SetBasicAuth(user.Username(), password)
		}
		maps.Copy(request.Header, callersHeader(r.Header))
	}
	set("Accept-Encoding", parcel.AcceptEncoding)
	set("User-Agent", c.userAgent)
	return request
}

// finish turns the answer at the end of the trail into a response, and its body as it was sent.
func (c *Client) finish(ctx context.Context, r Request, trail *trail, answer *http.Response) (*Response, *parcel.Parcel, error) {
	defer func() { _ = answer.Body.Close() }()
	response := &Response{
		Status:   answer.StatusCode,
		Header:   answer.Header,
		URL:      trail.at.String(),
		Home:     trail.home,
		MovedTo:  trail.movedTo(),
		FreshFor: freshFor(answer.Header, c.now()),
	}
	response.Unchanged = answer.StatusCode == http.StatusNotModified ||
		answer.StatusCode == http.StatusOK && r.ETag != "" && answer.Header.Get("ETag") == r.ETag
	switch {
	case response.Unchanged:
		return response, nil, nil
	case answer.StatusCode < 200 || answer.StatusCode > 299:
		return nil, nil, c.refusal(trail.at, answer)
	}
	if guard, is := challengeBy(answer.Header); is {
		return nil, nil, c.challengeFailure(trail.at, answer, guard)
	}
	if answer.ContentLength > r.MaxBytes+parcel.MaxOverhead {
		return nil, nil, sizeFailure(trail.at, r.MaxBytes)
	}
	body, err := parcel.Receive(answer, r.MaxBytes, r.Room)
	if err != nil {
		return nil, nil, bodyFailure(ctx, trail.at, r.MaxBytes, r.Timeout, err)
	}
	if r.Known != "" {
		response.sum = body.Sum()
		if response.sum == r.Known { // nor is it put together
			response.Unchanged = true
			body.Recycle()
			return response, nil, nil
		}
	}
	return response, body, nil
}

// Sum is what Known is of the body: its SHA-256, in hex.
func (r *Response) Sum() string {
	if r.sum == "" {
		r.sum = parcel.Sum(r.Body)
	}
	return r.sum
}

// callersHeader returns a copy of what the caller may set, under the names as net/http knows them:
// under another spelling it would send a header of the connection a second time.
func callersHeader(header http.Header) http.Header {
	own := make(http.Header, len(header))
	for name, values := range header {
		name = http.CanonicalHeaderKey(name)
		if !slices.Contains(connectionHeaders, name) {
			own[name] = append(own[name], values...)
		}
	}
	return own
}

// checkHeader finds what HTTP cannot carry, such as a token that ends with a line break, without
// naming the value.
func checkHeader(header http.Header) *failure.Error {
	for name, values := range header {
		if !httpguts.ValidHeaderFieldName(name) {
			return failure.New(v1alpha1.CategoryValidation, typeInvalidHeader, "The name of a header is not one that HTTP allows.")
		}
		if slices.ContainsFunc(values, func(value string) bool { return !httpguts.ValidHeaderFieldValue(value) }) {
			return failure.New(v1alpha1.CategoryValidation, typeInvalidHeader, "The value of the header "+
				http.CanonicalHeaderKey(name)+" holds a line break or another character that HTTP does not allow.")
		}
	}
	return nil
}

func discard(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, maxDiscardedBytes)
	_ = body.Close()
}
