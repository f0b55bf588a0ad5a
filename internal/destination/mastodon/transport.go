// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mastodon

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/peerclock"
	"github.com/feed-operator/feed-operator/internal/redact"
)

// maxAnswer bounds an answer, in bytes. A page of 40 long statuses is a tenth of it.
const maxAnswer = 4 << 20

// keyOf is where a context holds the Idempotency-Key of the request to post.
type keyOf struct{}

func withKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keyOf{}, key)
}

// timeoutOf is where a context holds how long each request may take that is made with it.
type timeoutOf struct{}

func withTimeoutOfEach(ctx context.Context, timeout time.Duration) context.Context {
	return context.WithValue(ctx, timeoutOf{}, timeout)
}

// transport stands between the library and the way out. The library knows no Idempotency-Key;
// sleeps for up to an hour inside a call that is answered with 429; takes every 200 for a success;
// and fails on fields that nobody needs when another server gives them another type. So the
// library sees nothing but answers of 200, and those of an image that is not ready, with the fields that are needed, and every other answer
// is a *failure.Error here.
type transport struct {
	next  http.RoundTripper
	host  string
	token string
	sent  *redact.Sent
	now   func() time.Time
	clock *peerclock.Difference // learns from each answer
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx := request.Context()
	if timeout, ok := ctx.Value(timeoutOf{}).(time.Duration); ok && timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel() // the answer is read by then
	}
	outgoing := request.Clone(ctx)
	// Without it nothing below can send the request again by itself, which net/http would do with
	// one that has an Idempotency-Key.
	outgoing.GetBody = nil
	if key, ok := request.Context().Value(keyOf{}).(string); ok && key != "" {
		outgoing.Header.Set("Idempotency-Key", key)
	}
	sent := t.now()
	answer, err := t.next.RoundTrip(outgoing)
	if err != nil {
		return nil, failure.WithoutEchoes(err, t.sent)
	}
	t.clock.Answered(sent, t.now(), answer.StatusCode, answer.Header)
	received := answer.Body // which gives back its room when it is closed; the answer gets another one
	defer func() { _ = received.Close() }()
	body, err := io.ReadAll(io.LimitReader(received, maxAnswer+1))
	if err != nil {
		return nil, failure.Classify(err)
	}
	if answer.StatusCode != http.StatusOK && !isUnfinished(request, answer.StatusCode) {
		return nil, t.refusal(request, answer, body)
	}
	if len(body) > maxAnswer {
		failed := failure.New(v1alpha1.CategoryAPI, failure.TypeTooLarge,
			fmt.Sprintf("The answer of %s is larger than %d MiB.", t.host, maxAnswer>>20))
		failed.Status = answer.StatusCode
		return nil, failed
	}
	needed, ok := essentials(body, t.sent)
	if !ok {
		return nil, malformed(t.host, answer.StatusCode)
	}
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(needed)), int64(len(needed))
	answer.Request = request
	return answer, nil
}
