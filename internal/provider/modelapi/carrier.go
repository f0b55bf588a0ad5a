// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
)

// maxAnswer bounds an answer, which has some kilobytes; a list of models may have some hundred.
const maxAnswer = 4 << 20

// Call is one request of an SDK: how it leaves, and what its answer means. It is for one request only.
type Call struct {
	// Prepare changes the request before it leaves: it sets the key, which the SDK need not know.
	Prepare func(out *http.Request)
	// Read judges an answer of any status by its whole body, and returns what of that the SDK is to see.
	Read func(answer *http.Response, body []byte) ([]byte, error)

	api  *API
	made bool
	err  error
}

type callKey struct{}

// Begin returns the context that the request is to be made with.
func (a *API) Begin(ctx context.Context, call *Call) context.Context {
	call.api = a
	return context.WithValue(ctx, callKey{}, call)
}

// Failed makes a failure of what the SDK returned for the call, in which the key cannot be. The SDK may
// have replaced the reason by words of its own, or by the end of the context.
func (c *Call) Failed(err error) *failure.Error {
	if c.err != nil {
		err = c.err
	}
	return c.api.Failed(err)
}

// Carrier carries the requests of an SDK. What is no usable answer becomes a *failure.Error here, before
// the SDK sees it: SDKs repeat what fails until the context ends, follow redirects, hold bodies of any
// size and quote them in their errors, and take an answer without text for a success.
//
// It lets no request out but those that a Call was begun for, each once.
type Carrier struct{}

// RoundTrip implements http.RoundTripper.
func (Carrier) RoundTrip(request *http.Request) (*http.Response, error) {
	call, ok := request.Context().Value(callKey{}).(*Call)
	if !ok || call.made {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, errors.New("the SDK made a request that it was not asked for")
	}
	call.made = true
	answer, err := call.roundTrip(request)
	call.err = err
	return answer, err
}

func (c *Call) roundTrip(request *http.Request) (*http.Response, error) {
	out := request.Clone(request.Context())
	c.Prepare(out)
	answer, err := c.api.transport.RoundTrip(out)
	if FailedWith(err, failure.TypeTooLarge) {
		return nil, c.api.tooLarge() // that the article is not to blame, the way out cannot know
	}
	if err != nil {
		return nil, err
	}
	received := answer.Body // which gives back its room when it is closed; the answer gets another one
	defer func() { _ = received.Close() }()
	body, err := io.ReadAll(io.LimitReader(received, maxAnswer+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxAnswer {
		return nil, c.api.tooLarge()
	}
	answer.Request = request
	if body, err = c.Read(answer, body); err != nil {
		return nil, err
	}
	answer.Header.Set("Content-Type", "application/json") // not every server says so, and some SDKs insist
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return answer, nil
}

func (a *API) tooLarge() *failure.Error {
	return failure.New(v1alpha1.CategoryAPI, failure.TypeTooLarge,
		fmt.Sprintf("The answer of %s is larger than %d bytes.", a.Host(), maxAnswer))
}
