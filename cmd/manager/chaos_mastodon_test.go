// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// account is how the plan draws an account: by what its server does with keys, and how far its clock is ahead.
type account struct {
	counterpart string
	skew        time.Duration
}

// mastodon is the server of one account, which writes down what it is asked.
type mastodon struct {
	*mastodontest.Server
	URL string

	town *town
	name string
	late sync.WaitGroup // posts that are still to be published
}

// postHook answers a request to post in place of the server.
type postHook func(*mastodontest.Pending) (answered bool)

func newMastodon(t *testing.T, n *town, name string, drawn account) *mastodon {
	t.Helper()
	options := counterparts[drawn.counterpart]
	options.Token, options.Skew = "token-of-"+name, drawn.skew
	if name != desk { // what is told twice is known by its key, for an hour: that of a server whose clock is set is forgotten
		options.Now = n.now
	}
	m := &mastodon{Server: mastodontest.NewUnstarted(options), town: n, name: name}
	front := httptest.NewServer(m)
	m.URL = front.URL
	t.Cleanup(func() {
		m.late.Wait()
		m.Close()
		front.CloseClientConnections()
		front.Close()
	})
	return m
}

// ServeHTTP implements http.Handler.
func (m *mastodon) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		m.Handler().ServeHTTP(w, r)
		return
	}
	const longest = 1 << 20
	body, err := io.ReadAll(io.LimitReader(r.Body, longest))
	if err != nil {
		m.town.chronicle.note("", "%s was begun to be asked for a post", m.name)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	text, err := url.QueryUnescape(string(body))
	if err != nil {
		text = string(body)
	}
	story, key := storyOf(text), r.Header.Get("Idempotency-Key")
	m.town.chronicle.note(story, "%s is asked for a post of %q with the key %s", m.name, story, key)
	answer := &watchedAnswer{ResponseWriter: w, status: http.StatusOK}
	m.Handler().ServeHTTP(answer, r)
	came := "answers " + strconv.Itoa(answer.status)
	if r.Context().Err() != nil {
		came = "answers nobody"
	}
	m.town.chronicle.note(story, "%s %s to the key %s, and has %d posts of %q", m.name, came, key, len(m.postsOf(story)), story)
}

// watchedAnswer notes the status of an answer.
type watchedAnswer struct {
	http.ResponseWriter
	status int
}

func (a *watchedAnswer) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

// onPost has requests to post answered by a hook; nil: as usual.
func (m *mastodon) onPost(hook postHook) { m.OnPost(hook) }

// postsOf are the posts of a story.
func (m *mastodon) postsOf(story string) []mastodontest.Post {
	var found []mastodontest.Post
	for _, post := range m.Posts() {
		if storyOf(post.Text) == story {
			found = append(found, post)
		}
	}
	return found
}

// failsAfter publishes, and answers that it has failed.
func failsAfter(pending *mastodontest.Pending) bool {
	pending.Commit()
	pending.Answer(http.StatusInternalServerError, "application/json", `{"error":"Internal Server Error"}`)
	return true
}

// failsBefore publishes nothing, and says that it has failed.
func failsBefore(pending *mastodontest.Pending) bool {
	pending.Answer(http.StatusServiceUnavailable, "text/html", "<!doctype html><title>Down for maintenance</title>")
	return true
}

// tooMany publishes nothing, and asks to be left alone for two seconds.
func tooMany(pending *mastodontest.Pending) bool {
	pending.Header().Set("Retry-After", "2")
	pending.Answer(http.StatusTooManyRequests, "application/json", `{"error":"Too many requests"}`)
	return true
}

// publishAfter publishes when the caller has given up, and answers nobody.
func (m *mastodon) publishAfter(late time.Duration) postHook {
	return func(pending *mastodontest.Pending) bool {
		m.late.Add(1)
		time.AfterFunc(late, func() {
			defer m.late.Done()
			story := storyOf(pending.Commit().Text)
			m.town.chronicle.note(story, "%s publishes %q late", m.name, story)
		})
		pending.Hang()
		return true
	}
}
