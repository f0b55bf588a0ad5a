// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/hack/bench/news"
)

func TestAFeedIsServedAndItsRequestsAreCounted(t *testing.T) {
	t.Parallel()
	feeds, err := ServeFeeds(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(feeds.Close)
	want := news.Entries("source-000", 30)
	url := feeds.Publish("source-000", want)

	_, header, body := ask(t, url, "")
	if again, _, _ := ask(t, url, header.Get("ETag")); again != http.StatusNotModified {
		t.Errorf("an unchanged feed is answered with %d", again)
	}
	if hits := feeds.Total(); hits != 2 {
		t.Errorf("%d requests are counted, want 2", hits)
	}
	if is := header.Get("Content-Type"); is != "application/rss+xml" {
		t.Errorf("a feed is served as %s", is)
	}
	if diff := cmp.Diff(string(news.RSS(want)), string(body)); diff != "" {
		t.Error(diff)
	}
}

// ask sends a request with a validator to a feed, and returns what it answers.
func ask(t *testing.T, url, etag string) (status int, header http.Header, body []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("If-None-Match", etag)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	body, err = io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, body
}
