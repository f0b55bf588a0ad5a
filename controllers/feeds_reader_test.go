// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mmcdole/gofeed"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/syndication"
)

// R4.6: what was summarized can be subscribed to.
func TestSummariesAreServedAsFeeds(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("plan", 3)...)
	w := newWorld(t)
	w.source("news", web.FeedURL())
	items := w.untilItems("news", allProcessed(3))
	source := w.untilSource("news", saysOf(v1alpha1.ReasonSucceeded))
	texts := map[string]string{}
	for _, item := range items {
		texts[item.Spec.Title] = item.Status.Summary.Text
	}
	reader := controllers.FeedReader{Cached: w.manager.GetClient(), Live: w.manager.GetAPIReader()}
	out := httptest.NewServer(syndication.NewHandler(reader, syndication.Options{}))
	t.Cleanup(out.Close)

	for _, form := range []string{"atom", "json"} {
		t.Run(form, func(t *testing.T) {
			url := out.URL + "/feeds/" + w.namespace + "/news." + form
			var etag string
			apitest.Eventually(t, func(ctx context.Context) error { // the cache may be behind what the test has read
				var published *gofeed.Feed
				var err error
				if published, etag, err = fetchFeed(ctx, url); err != nil {
					return err
				}
				if title := source.Status.Title; title == "" || published.Title != title {
					return fmt.Errorf("its title is %q, want %q", published.Title, title)
				}
				if len(published.Items) != 3 {
					return fmt.Errorf("%d entries", len(published.Items))
				}
				for _, entry := range published.Items {
					text := entry.Content + entry.Description
					if want := texts[entry.Title]; want == "" || text != want {
						return fmt.Errorf("entry %q says %q, want %q", entry.Title, text, want)
					}
				}
				return nil
			})
			if got := status(t, url, etag); got != http.StatusNotModified {
				t.Errorf("status %d for what the reader has", got)
			}
		})
	}
	if got := status(t, out.URL+"/feeds/"+w.namespace+"/nothing.atom", ""); got != http.StatusNotFound {
		t.Errorf("status %d for an unknown source", got)
	}
}

// R1.7, R4.6: the summaries of a source that is switched off, or is given a Secret or a token, are not served any more,
// though a reader has them; and are again when a person says so.
func TestOnlyPublishedSourcesAreServed(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("plan", 1)...)
	w := newWorld(t)
	source := w.source("news", web.FeedURL())
	w.untilItems("news", allProcessed(1))
	reader := controllers.FeedReader{Cached: w.manager.GetClient(), Live: w.manager.GetAPIReader()}
	out := httptest.NewServer(syndication.NewHandler(reader, syndication.Options{}))
	t.Cleanup(out.Close)
	url := out.URL + "/feeds/" + w.namespace + "/news.atom"
	var etag string
	apitest.Eventually(t, func(ctx context.Context) (err error) {
		_, etag, err = fetchFeed(ctx, url)
		return err
	})
	for _, step := range []struct {
		patch  string
		served bool
	}{
		{`{"spec":{"publish":false}}`, false},
		{`{"spec":{"publish":null}}`, true},
		{`{"spec":{"url":"` + web.FeedURL() + `?token=abc123def456"}}`, false},
		{`{"spec":{"url":"` + web.FeedURL() + `?key=politics"}}`, true},
		{`{"spec":{"secretRef":{"name":"reader"}}}`, false},
		{`{"spec":{"publish":true}}`, true},
	} {
		w.change(source, step.patch)
		await(t, func() error { // the cache hears of it a moment later
			if got := status(t, url, etag); (got != http.StatusNotFound) != step.served {
				return fmt.Errorf("status %d after %s", got, step.patch)
			}
			return nil
		})
	}
}

// R4.6, R2.5: what was skipped is not published.
func TestSkippedItemsAreNotPublished(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.hugeArticle("news")
	w.untilItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonLargeFileSkipped))
	reader := controllers.FeedReader{Cached: w.manager.GetClient(), Live: w.manager.GetAPIReader()}
	refs, err := reader.Newest(t.Context(), w.namespace, source.Name, source.UID, 50)
	if err != nil || len(refs) != 0 {
		t.Errorf("%d items are published, error %v", len(refs), err)
	}
}

func fetchFeed(ctx context.Context, url string) (*gofeed.Feed, string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, "", err
	}
	published, err := gofeed.NewParser().ParseString(string(body))
	if err != nil {
		return nil, "", fmt.Errorf("%w: %s", err, body)
	}
	return published, response.Header.Get("ETag"), nil
}

func status(t *testing.T, url, etag string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("If-None-Match", etag)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}
