// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package failure_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
)

// R3.1
func TestEachStatusHasItsCategory(t *testing.T) {
	t.Parallel()
	for category, statuses := range map[v1alpha1.Category][]int{
		v1alpha1.CategoryNetwork:    {408},
		v1alpha1.CategoryRateLimit:  {429, 402},
		v1alpha1.CategoryAuth:       {401, 403},
		v1alpha1.CategoryAPI:        {500, 502, 503, 504, 529, 599},
		v1alpha1.CategoryValidation: {301, 304, 400, 404, 405, 410, 413, 422, 451},
		v1alpha1.CategoryUnknown:    {0, 100, 200, 600, -1},
	} {
		for _, status := range statuses {
			if got := failure.FromStatus(status); got != category {
				t.Errorf("status %d is %s, want %s", status, got, category)
			}
		}
	}
}

// R3.1: the type of an error decides before its words, and the words in their order.
func TestClassify(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  error
		want v1alpha1.Category
	}{
		"a failure stays what it is":         {fmt.Errorf("outer: %w", failure.New(v1alpha1.CategoryAuth, "", "timeout")), v1alpha1.CategoryAuth},
		"a deadline":                         {fmt.Errorf("call: %w", context.DeadlineExceeded), v1alpha1.CategoryNetwork},
		"a name that does not resolve":       {&net.DNSError{Err: "no such host", Name: "x"}, v1alpha1.CategoryNetwork},
		"a refused connection":               {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, v1alpha1.CategoryNetwork},
		"a reset connection":                 {fmt.Errorf("read: %w", syscall.ECONNRESET), v1alpha1.CategoryNetwork},
		"a body that ends early":             {io.ErrUnexpectedEOF, v1alpha1.CategoryNetwork},
		"a certificate of nobody we know":    {&url.Error{Op: "Get", Err: x509.UnknownAuthorityError{}}, v1alpha1.CategoryNetwork},
		"an answer that is no JSON":          {json.Unmarshal([]byte("<html>"), &struct{}{}), v1alpha1.CategoryAPI},
		"words of a time-out":                {errors.New("request timed out"), v1alpha1.CategoryNetwork},
		"words of a limit":                   {errors.New("Too Many Requests"), v1alpha1.CategoryRateLimit},
		"words of a quota":                   {errors.New("you exceeded your current quota"), v1alpha1.CategoryRateLimit},
		"words of credentials":               {errors.New("API key not valid"), v1alpha1.CategoryAuth},
		"words of an outage":                 {errors.New("the model is overloaded"), v1alpha1.CategoryAPI},
		"words of a refusal":                 {errors.New("unsupported parameter"), v1alpha1.CategoryValidation},
		"network goes before rate limit":     {errors.New("rate limit check: connection refused"), v1alpha1.CategoryNetwork},
		"rate limit goes before credentials": {errors.New("quota of unauthorized users"), v1alpha1.CategoryRateLimit},
		"credentials go before outages":      {errors.New("authentication service unavailable"), v1alpha1.CategoryAuth},
		"an outage goes before a refusal":    {errors.New("bad gateway: invalid header"), v1alpha1.CategoryAPI},
		"nothing that anybody knows":         {errors.New("the moon is in the wrong house"), v1alpha1.CategoryUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := failure.Classify(test.err).Category; got != test.want {
				t.Errorf("%q is %s, want %s", test.err, got, test.want)
			}
		})
	}
	if failure.Classify(nil) != nil {
		t.Error("no error is a failure")
	}
}

// R3.2
func TestOnlySomeCategoriesAreTriedAgain(t *testing.T) {
	t.Parallel()
	for category, want := range map[v1alpha1.Category]bool{
		v1alpha1.CategoryNetwork: true, v1alpha1.CategoryRateLimit: true, v1alpha1.CategoryAPI: true,
		v1alpha1.CategoryAuth: false, v1alpha1.CategoryValidation: false, v1alpha1.CategoryUnknown: false,
		"Something": false,
	} {
		if got := failure.Retryable(category); got != want {
			t.Errorf("%s: retryable %t, want %t", category, got, want)
		}
		passing := &failure.Error{Category: category, Passing: true}
		if recorded := failure.Record(passing, v1alpha1.StageDeliver, "", time.Now()); !recorded.Retryable {
			t.Errorf("%s: what may be over by itself is not tried again", category)
		}
	}
}

// R5.6
func TestMaskHidesWhatMayBeASecret(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a query":                  `Get "https://example.org/feed?token=geheim&x=geheim": EOF`,
		"user info":                "dial https://reader:geheim@example.org/feed failed",
		"an authorization header":  "header Authorization: Bearer geheim1234 was refused",
		"an authorization in JSON": `{"Authorization":"Basic geheim1234"}`,
		"a bare bearer token":      "sent Bearer geheim1234geheim to the server",
		"a key in JSON":            `{"api_key": "geheim1234"}`,
		"a key of a header":        "x-goog-api-key: geheim1234",
		"a password":               "password=geheim1234 is wrong",
		"a key in a form":          "access_token=geheim1234&grant=x",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := failure.Mask(text); strings.Contains(got, "geheim") {
				t.Errorf("%q is masked as %q", text, got)
			}
		})
	}
	for _, text := range []string{
		"The server answered 503 Service Unavailable.",
		"token ring networks are old", "https://example.org/a/b#c", "Is this a question? No: it is not.",
	} {
		if got := failure.Mask(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// Whatever an error says, its record fits the bounds of the API server.
//
// R3.1, R5.6
func TestARecordFitsItsBounds(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.Rune(), 0, 5000, -1),
			rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 3000), func(b []byte) string { return string(b) })).Draw(t, "text")
		err := fmt.Errorf("%s: %w", text, errors.New(text))
		for range rapid.IntRange(0, 20).Draw(t, "depth") {
			err = fmt.Errorf("%s: %w", text, err)
		}
		failed := failure.Wrap(v1alpha1.CategoryAPI, text, text, err)
		failed.Status = rapid.Int().Draw(t, "status")
		record := failure.Record(failed, v1alpha1.StageArticle, text, now)

		within := func(what, text string, bytes int) {
			if len(text) > bytes || !utf8.ValidString(text) {
				t.Fatalf("%s has %d bytes, may have %d, valid %t", what, len(text), bytes, utf8.ValidString(text))
			}
		}
		within("message", record.Message, 1024)
		within("type", record.Type, 64)
		within("object", record.Object, 253)
		if len(record.Chain) > 8 {
			t.Fatalf("a chain of %d", len(record.Chain))
		}
		for _, link := range record.Chain {
			within("link of the chain", link, 256)
		}
		if s := record.HTTPStatus; s != 0 && (s < 100 || s > 999) {
			t.Fatalf("status %d", s)
		}
	})
}

func TestAPanicKeepsItsStack(t *testing.T) {
	t.Parallel()
	record := failure.Record(failure.Panicked("boom", debug.Stack()), v1alpha1.StageSummarize, "p", time.Now())
	if record.Category != v1alpha1.CategoryUnknown || record.Type != failure.TypePanic ||
		!strings.Contains(record.Stack, "TestAPanicKeepsItsStack") || len(record.Stack) > 2048 {
		t.Errorf("record %+v", record)
	}
}
