// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mastodon

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// odd serves an account whose pages of statuses come from a function.
func odd(page func(w http.ResponseWriter, r *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/verify_credentials"):
			_, _ = fmt.Fprint(w, `{"id":"7","acct":"feeds"}`)
		case strings.HasSuffix(r.URL.Path, "/statuses"):
			page(w, r)
		default:
			http.NotFound(w, r)
		}
	}
}

func status(fields string) string {
	return `{"id":"11","created_at":"2026-11-20T12:00:00.000Z","spoiler_text":"news","content":` +
		string(quote(`<p>要約。A summary!</p><p><a href="https://example.org/articles/1?a=1&amp;b=2">example.org</a></p><p>#news</p>`)) + fields + `}`
}

func quote(text string) []byte {
	quoted, _ := json.Marshal(text)
	return quoted
}

func TestFindAtOddServers(t *testing.T) {
	t.Parallel()
	once := func(page string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("max_id") == "" {
				_, _ = fmt.Fprint(w, page)
				return
			}
			_, _ = fmt.Fprint(w, `[]`)
		}
	}
	malformedAnswer := &outcome{v1alpha1.CategoryAPI, failure.TypeMalformed, 200, false}
	tests := map[string]struct {
		page func(http.ResponseWriter, *http.Request)
		want bool
		err  *outcome
	}{
		"no source, the text that is seen": {page: once(`[` + status(``) + `]`), want: true},
		"no source, the words that are seen": {
			page: once(`[` + strings.Replace(status(``), "A summary!", "<em>A</em> summary", 1) + `]`), want: true,
		},
		"no source, and another warning": {
			page: once(`[` + strings.Replace(strings.Replace(status(``), "A summary!", "<em>A</em> summary", 1), `"news"`, `"other"`, 1) + `]`),
		},
		"its own account":                 {page: once(`[` + status(`,"account":{"id":7}`) + `]`), want: true},
		"another account's":               {page: once(`[` + status(`,"account":{"id":"8"}`) + `]`)},
		"a boost that was not left out":   {page: once(`[` + status(`,"reblog":{"id":"3","poll":[]}`) + `]`)},
		"nulls and fields of other types": {page: once(`[null,` + status(`,"edited_at":"","card":[],"poll":""`) + `,null]`), want: true},
		"no links in the content": {
			page: once(`[{"id":"11","created_at":"2026-11-20T12:00:00Z","edited_at":"2026-11-20T12:01:00Z","content":` + string(quote("Corrected: "+link+".")) + `}]`), want: true,
		},
		"no page after the first, without a Link": {
			page: func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Query().Get("max_id") {
				case "":
					_, _ = fmt.Fprint(w, `[{"id":"20","created_at":"2026-11-20T12:00:00Z","content":"x"}]`)
				case "20":
					_, _ = fmt.Fprint(w, `[`+status(``)+`]`)
				default:
					_, _ = fmt.Fprint(w, `[]`)
				}
			}, want: true,
		},
		"a page that never changes": {
			page: func(w http.ResponseWriter, _ *http.Request) {
				_, _ = fmt.Fprint(w, `[{"id":"20","created_at":"2026-11-20T12:00:00Z","content":"x"}]`)
			}, err: malformedAnswer,
		},
		"a Link that leads in a circle": {
			page: func(w http.ResponseWriter, r *http.Request) {
				next := "1"
				if r.URL.Query().Get("max_id") == "1" {
					next = "2"
				}
				w.Header().Set("Link", `<https://example.social/x?max_id=`+next+`>; rel="next"`)
				_, _ = fmt.Fprint(w, `[]`)
			}, err: &outcome{v1alpha1.CategoryValidation, failure.TypeTooLarge, 0, false},
		},
		"a Link that cannot be read": {
			page: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Link", `<https://example.social/x?max_id=1&limit=`+token+`>; rel="next"`)
				_, _ = fmt.Fprint(w, `[]`)
			}, err: malformedAnswer,
		},
		"a time that cannot be read":   {page: once(`[` + strings.Replace(status(``), "2026-11-20T12", token, 1) + `]`), err: malformedAnswer},
		"a page that is an object":     {page: once(`{}`), err: malformedAnswer},
		"a page of the web":            {page: once(`<html>`), err: malformedAnswer},
		"the account was just deleted": {page: http.NotFound, err: &outcome{v1alpha1.CategoryValidation, failure.TypeHTTPStatus, 404, true}},
		"a 403": {
			page: answer{403, nil, `{"error":"This action is outside the authorized scopes"}`}.ServeHTTP,
			err:  &outcome{v1alpha1.CategoryAuth, failure.TypeCredentials, 403, true},
		},
		"a 500": {page: answer{500, nil, ``}.ServeHTTP, err: &outcome{v1alpha1.CategoryAPI, failure.TypeHTTPStatus, 500, false}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, found, err := newClient(t, serve(t, odd(test.page))).Find(t.Context(), destination.Query{Since: start.Add(-time.Minute), Post: wanted})
			if test.err != nil {
				wantOutcome(t, err, *test.err)
				return
			}
			if err != nil || found != test.want {
				t.Errorf("got %t, %v, want %t", found, err, test.want)
			}
		})
	}
}

func TestFindComparesTheSource(t *testing.T) {
	t.Parallel()
	differs := func(source http.HandlerFunc) http.HandlerFunc {
		pages := odd(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("max_id") != "" {
				_, _ = fmt.Fprint(w, `[]`)
				return
			}
			// What is seen is not what was written: the server knows a markup.
			_, _ = fmt.Fprint(w, `[`+strings.Replace(status(``), "A summary!", "<em>A</em> <b>long</b> summary!", 1)+`]`)
		})
		return func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/api/v1/statuses/11/source") {
				source(w, r)
				return
			}
			pages(w, r)
		}
	}
	source := func(text, spoilerText string) http.HandlerFunc {
		return answer{200, nil, `{"id":"11","text":` + string(quote(text)) + `,"spoiler_text":` + string(quote(spoilerText)) + `}`}.ServeHTTP
	}
	tests := map[string]struct {
		source http.HandlerFunc
		want   bool
		err    *outcome
	}{
		"the same":              {source: source(text, "news"), want: true},
		"another text":          {source: source("A "+link, "news")},
		"another warning":       {source: source(text, "other")},
		"it has none":           {source: answer{404, nil, `{"error":"Not found"}`}.ServeHTTP},
		"it does not know any":  {source: answer{501, nil, ``}.ServeHTTP},
		"it may not be read":    {source: answer{403, nil, `{"error":"scope"}`}.ServeHTTP, err: &outcome{v1alpha1.CategoryAuth, failure.TypeCredentials, 403, true}},
		"it cannot be had now":  {source: answer{503, nil, ``}.ServeHTTP, err: &outcome{v1alpha1.CategoryAPI, failure.TypeHTTPStatus, 503, false}},
		"it is an empty object": {source: answer{200, nil, `{}`}.ServeHTTP, err: &outcome{v1alpha1.CategoryAPI, failure.TypeMalformed, 200, false}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, found, err := newClient(t, serve(t, differs(test.source))).Find(t.Context(), destination.Query{Since: start.Add(-time.Minute), Post: wanted})
			if test.err != nil {
				wantOutcome(t, err, *test.err)
				return
			}
			if err != nil || found != test.want {
				t.Errorf("got %t, %v, want %t", found, err, test.want)
			}
		})
	}
}

func TestFindNeedsAToken(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		options mastodontest.Options
		want    outcome
	}{
		"one that may read":     {mastodontest.Options{Token: token}, outcome{v1alpha1.CategoryAuth, failure.TypeCredentials, 403, true}},
		"one that is not wrong": {mastodontest.Options{Token: "other", TokenMayRead: true}, outcome{v1alpha1.CategoryAuth, failure.TypeCredentials, 401, true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newServerOf(t, test.options)
			server.Publish(published(0))
			_, _, err := newClient(t, server.URL).Find(t.Context(), destination.Query{Since: start, Post: wanted})
			wantOutcome(t, err, test.want)
		})
	}
}

func TestFindWithoutAnAccount(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		_, _ = fmt.Fprint(w, `{}`)
	})
	_, _, err := newClient(t, server).Find(t.Context(), destination.Query{Since: start, Post: wanted})
	wantOutcome(t, err, outcome{v1alpha1.CategoryAPI, failure.TypeMalformed, 200, false})
	if requests.Load() != 1 {
		t.Errorf("%d requests, want 1", requests.Load())
	}
}
