// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/hack/bench/news"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

func TestWritesAreReadFromTheMetricsOfTheAPIServer(t *testing.T) {
	t.Parallel()
	const metrics = `# HELP apiserver_request_total [STABLE] Counter of apiserver requests.
# TYPE apiserver_request_total counter
apiserver_request_total{code="0",component="apiserver",dry_run="",group="feeds.feed-operator.io",resource="feeditems",scope="namespace",subresource="",verb="WATCH",version="v1alpha1"} 3
apiserver_request_total{code="200",component="apiserver",dry_run="",group="feeds.feed-operator.io",resource="feeditems",scope="resource",subresource="",verb="GET",version="v1alpha1"} 100
apiserver_request_total{code="200",component="apiserver",dry_run="",group="feeds.feed-operator.io",resource="feeditems",scope="resource",subresource="status",verb="PATCH",version="v1alpha1"} 40
apiserver_request_total{code="201",component="apiserver",dry_run="",group="feeds.feed-operator.io",resource="feeditems",scope="resource",subresource="",verb="POST",version="v1alpha1"} 1.2e+06
apiserver_request_total{code="409",component="apiserver",dry_run="",group="feeds.feed-operator.io",resource="feeditems",scope="resource",subresource="status",verb="PATCH",version="v1alpha1"} 2
apiserver_request_total{code="201",component="apiserver",dry_run="",group="events.k8s.io",resource="events",scope="resource",subresource="",verb="POST",version="v1"} 4
apiserver_request_total{code="200",component="apiserver",dry_run="",group="coordination.k8s.io",resource="leases",scope="resource",subresource="",verb="PUT",version="v1"} 7
apiserver_request_total{code="201",component="apiserver",dry_run="",group="",resource="secrets",scope="resource",subresource="",verb="POST",version="v1"} 9
apiserver_request_terminations_total{code="504",component="apiserver",group="feeds.feed-operator.io",verb="POST"} 5
`
	got, err := parseWrites([]byte(metrics))
	if err != nil {
		t.Fatal(err)
	}
	want := apiWrites{
		"patch feeditems/status": 40, "patch feeditems/status (409)": 2, "post feeditems": 1_200_000,
		"post events": 4, leases: 7,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if total := got.total(); total != 1_200_046 {
		t.Errorf("%d writes in all, want all but the leases", total)
	}
	more := apiWrites{"post events": 6, "post feeditems": 1_200_000, leases: 8}.since(got)
	if diff := cmp.Diff(apiWrites{"post events": 2, leases: 1}, more); diff != "" {
		t.Error(diff)
	}
}

func TestAFeedIsServedAndItsRequestsAreCounted(t *testing.T) {
	t.Parallel()
	feeds, err := serveFeeds(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(feeds.close)
	want := news.Entries("source-000", 30)
	url := feeds.publish("source-000", want)

	ask := func(etag string) (*http.Response, []byte) {
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
		body, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			t.Fatal(err)
		}
		return response, body
	}
	response, body := ask("")                                                                     //nolint:bodyclose // ask closes it
	if again, _ := ask(response.Header.Get("ETag")); again.StatusCode != http.StatusNotModified { //nolint:bodyclose // ask closes it
		t.Errorf("an unchanged feed is answered with %s", again.Status)
	}
	if hits := feeds.total(); hits != 2 {
		t.Errorf("%d requests are counted, want 2", hits)
	}
	if is := response.Header.Get("Content-Type"); is != "application/rss+xml" {
		t.Errorf("a feed is served as %s", is)
	}
	if diff := cmp.Diff(string(news.RSS(want)), string(body)); diff != "" {
		t.Error(diff)
	}
}

func TestTheRatioIsTheMedianOfTheRoundsEachToWhatIsAroundIt(t *testing.T) {
	t.Parallel()
	works, bare := speeds{{rate: 80}, {rate: 10}, {rate: 90}}, speeds{{rate: 120}, {rate: 80}, {rate: 60}, {rate: 40}}
	if got := works.ratio(bare, func(s speed) float64 { return s.rate }); got != 0.8 {
		t.Errorf("ratio %v, want 0.8", got)
	}
}

func TestItemsThatAreNotPostedOnceAreFound(t *testing.T) {
	t.Parallel()
	entries := news.Entries("source-000", 4)
	post := func(url string) mastodontest.Post {
		return mastodontest.Post{Text: "A title\n\nA summary.\n\n" + url + "\n\n#news"}
	}
	var posts []mastodontest.Post
	for _, entry := range entries {
		posts = append(posts, post(entry.URL))
	}
	if wrong := notPostedOnce(posts, entries); wrong != 0 {
		t.Errorf("%d of the posts are wrong, want none", wrong)
	}
	posts[0] = posts[1] // one is missing, one is there twice
	posts = append(posts, post(news.Articles+"another-000001"), mastodontest.Post{Text: "No link"})
	if wrong := notPostedOnce(posts, entries); wrong != 4 {
		t.Errorf("%d of the posts are wrong, want 4", wrong)
	}
}
