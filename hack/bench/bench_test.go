// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feed"
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

func TestAFeedListsTheEntriesOfWhichItemsAreMade(t *testing.T) {
	t.Parallel()
	feeds, err := serveFeeds(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(feeds.close)
	want := entriesOf("source-000", 30)
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

	document, err := feed.Parse(body, response.Header.Get("Content-Type"), url)
	if err != nil {
		t.Fatal(err)
	}
	source := newSource("news", "source-000", url)
	source.UID = "0b0d7f8e"
	for i, entry := range document.Entries {
		if diff := cmp.Diff(newItem(source, want[i]), newItem(source, entry)); diff != "" {
			t.Fatalf("entry %d: %s", i, diff)
		}
		if len(entry.Content) != contentSize || len(entry.Title) != titleSize {
			t.Errorf("entry %d has %d bytes of content under %d of title", i, len(entry.Content), len(entry.Title))
		}
	}
	if len(document.Entries) != len(want) {
		t.Errorf("%d entries, want %d", len(document.Entries), len(want))
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
	entries := entriesOf("source-000", 4)
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
	posts = append(posts, post(articles+"another-000001"), mastodontest.Post{Text: "No link"})
	if wrong := notPostedOnce(posts, entries); wrong != 4 {
		t.Errorf("%d of the posts are wrong, want 4", wrong)
	}
}

func TestItemsAreMadeAsTheOperatorLeavesThem(t *testing.T) {
	t.Parallel()
	source := newSource("news", "source-000", "https://news.example.com/feed", posting)
	item := newItem(source, entriesOf("source-000", 1)[0])
	summarize(item, source)
	if item.Status.Phase != v1alpha1.PhasePending || item.Status.Summary == nil || item.Status.Deliveries[0].State != v1alpha1.DeliveryIntent {
		t.Errorf("after the summary: %+v", item.Status)
	}
	publish(item, source)
	row := item.Status.Deliveries[0]
	if item.Status.Phase != v1alpha1.PhaseProcessed || row.State != v1alpha1.DeliveryDone || row.URL == "" || row.ID == "" || row.Key == "" {
		t.Errorf("after the post: %+v", item.Status)
	}

	source.Spec.Destinations = nil
	item = newItem(source, entriesOf("source-000", 1)[0])
	settle(item, source)
	if item.Status.Phase != v1alpha1.PhaseProcessed || len(item.Status.Deliveries) != 0 {
		t.Errorf("without a destination: %+v", item.Status)
	}
}
