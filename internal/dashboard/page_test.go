// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

func forbidden(resource string) error {
	return apierrors.NewForbidden(schema.GroupResource{Group: v1alpha1.GroupVersion.Group, Resource: resource}, "x", nil)
}

// R5.4: what needs a person comes first, in words, and nothing else is called so.
func TestWhatNeedsAPersonIsNamedFirst(t *testing.T) {
	t.Parallel()
	press := aSource("news", "press")
	old := aSource("news", "old", func(s *v1alpha1.FeedSource) {
		s.Status.LastSuccessTime = new(metav1.NewTime(noon.Add(-24 * time.Hour)))
	})
	key := &v1alpha1.AIProvider{ObjectMeta: metav1.ObjectMeta{Namespace: "news", Name: "gemini"}}
	key.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "False", Reason: v1alpha1.ReasonCredentialsRefused, Message: "The key was refused"}}
	w := newWorld(t, nil, press, old, key,
		anItem(press, "dead", v1alpha1.PhaseFailed, because(v1alpha1.ReasonRetryLimitExceeded)),
		anItem(press, "doubt", v1alpha1.PhaseFailed, because(v1alpha1.ReasonDeliveryUncertain)),
		anItem(press, "later", v1alpha1.PhaseDeferred, because(v1alpha1.ReasonDownloadFailed)),
		anItem(press, "fine", v1alpha1.PhaseProcessed))
	page := w.see("/")
	text := page.text()
	needs, rest, _ := strings.Cut(text, "Queue")
	for _, want := range []string{"1 uncertain delivery", "Title of doubt", "1 refused key", "gemini", "The key was refused", "1 dead letter", "Title of dead", "1 stale source", "old"} {
		if !strings.Contains(needs, want) {
			t.Errorf("%q is not among what needs a person: %s", want, needs)
		}
	}
	for _, not := range []string{"Title of later", "Title of fine", "press Reads"} {
		if strings.Contains(needs, not) {
			t.Errorf("%q is among what needs a person", not)
		}
	}
	if !strings.Contains(rest, "2 Failed 1 Deferred 0 Pending 0 Unprocessed 1 Processed") {
		t.Errorf("the queue: %s", rest)
	}
	page.lacks("s3cr3t", "private-path")
	newWorld(t, nil, press, anItem(press, "fine", v1alpha1.PhaseProcessed)).see("/").has("Nothing. Whatever fails now is tried again by itself.")
}

// R5.4: the chart counts by the objects, so that it is the same after a restart.
func TestTheChartCountsWhatHasEndedInEachHour(t *testing.T) {
	t.Parallel()
	press := aSource("news", "press")
	objects := []client.Object{
		press, anItem(press, "now", v1alpha1.PhaseProcessed, checked(0)), anItem(press, "just", v1alpha1.PhaseFailed, checked(time.Minute)),
		anItem(press, "same", v1alpha1.PhaseProcessed, checked(59*time.Minute)), anItem(press, "yesterday", v1alpha1.PhaseProcessed, checked(23*time.Hour)),
		anItem(press, "before", v1alpha1.PhaseProcessed, checked(24*time.Hour)), anItem(press, "waits", v1alpha1.PhaseDeferred, checked(0)),
	}
	w := newWorld(t, nil, objects...)
	page := w.see("/")
	page.has("3 processed", "1 failed", "12:00–13:00 UTC: 1 processed, 0 failed", "11:00–12:00 UTC: 1 processed, 1 failed", "13:00–14:00 UTC: 1 processed, 0 failed",
		"By when the items that there are now have ended")
	chart := regexp.MustCompile(`(?s)<svg class="chart".*?</svg>`)
	again := newWorld(t, nil, objects...) // another process
	if was, is := chart.FindString(page.Body.String()), chart.FindString(again.see("/").Body.String()); was == "" || was != is {
		t.Errorf("after a restart the chart is\n%s\nand was\n%s", is, was)
	}
	w.pass(time.Hour)
	w.see("/").has("2 processed", "1 failed", "12:00–13:00 UTC: 1 processed, 0 failed", "13:00–14:00 UTC: 0 processed, 0 failed")
}

// R5.4: items are found by title, phase, reason, source and namespace; all of that is in the address, and so are the pages.
func TestItemsAreFoundByWhatTheAddressSays(t *testing.T) {
	t.Parallel()
	press, other := aSource("news", "press"), aSource("sport", "goals")
	w := newWorld(t, nil, press, other,
		anItem(press, "one", v1alpha1.PhaseFailed, titled("Water levels of the Rhine"), because(v1alpha1.ReasonInvalidContent)),
		anItem(press, "two", v1alpha1.PhaseProcessed, titled("河川水位の臨時観測結果")),
		anItem(other, "three", v1alpha1.PhaseProcessed, titled("Water polo")),
	)
	for query, want := range map[string]string{
		"": "Rhine 河川 polo", "q=water": "Rhine polo", "q=WATER+polo": "polo", "q=%E6%B0%B4%E4%BD%8D": "河川", "phase=Failed": "Rhine", "reason=InvalidContent": "Rhine",
		"source=press": "Rhine 河川", "namespace=sport": "polo", "q=water&namespace=news": "Rhine", "q=nothing": "", "phase=Bogus": "", "page=99": "Rhine 河川 polo", "page=-1": "Rhine 河川 polo",
		"q=" + strings.Repeat("x", 3000): "", "q=%ff%fe": "Rhine 河川 polo",
	} {
		page := w.see("/items?" + query)
		for _, name := range []string{"Rhine", "河川", "polo"} {
			if is := strings.Contains(page.text(), name); is != strings.Contains(want, name) {
				t.Errorf("%q: %s is shown: %t", query, name, is)
			}
		}
	}
	var objects []*v1alpha1.FeedItem
	for i := range 120 {
		objects = append(objects, anItem(press, fmt.Sprintf("item-%03d", i), v1alpha1.PhaseProcessed, checked(time.Duration(i)*time.Minute)))
	}
	many := newWorld(t, nil, press)
	for _, object := range objects {
		if err := many.client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	many.see("/items?source=press").has("1–50 of 120", "Page 1 of 3")
	last := many.see("/items?source=press&page=3")
	last.has("101–120 of 120", "item-119")
	if links := last.all("a", "href"); !slices.Contains(links, "/items?page=2&source=press") {
		t.Errorf("no way back: %v", links)
	}
}

// R5.4: the page of an item tells its life: verdict, summary, deliveries with links, the failure in words, and what can be done.
func TestAnItemTellsItsLife(t *testing.T) {
	t.Parallel()
	press := aSource("news", "press")
	item := anItem(press, "one", v1alpha1.PhaseFailed, because(v1alpha1.ReasonRetryLimitExceeded), func(item *v1alpha1.FeedItem) {
		item.Spec.URL = "https://press.example/one"
		item.Status.Screening = &v1alpha1.Screening{Valuable: true, Complete: true, Provider: "gemini", Explanation: "It is about water."}
		item.Status.Summary = &v1alpha1.Summary{Text: "The river is high.", Provider: "gemini", Model: "flash", Tokens: 512}
		item.Status.Failure = &v1alpha1.Failure{Category: v1alpha1.CategoryAPI, Type: "HTTPStatus", Message: "The server answered 503", Stage: v1alpha1.StageDeliver, Object: "press-bot", HTTPStatus: 503}
		item.Status.Deliveries = []v1alpha1.Delivery{
			{Destination: "press-bot", State: v1alpha1.DeliveryDead, FailedAttempts: 11, Failure: &v1alpha1.Failure{Message: "It answered 503"}},
			{Destination: "archive", State: v1alpha1.DeliveryDone, URL: "https://social.example/@press/1"},
			{Destination: "evil", State: v1alpha1.DeliveryDone, URL: "javascript://social.example/%0aalert(1)"},
		}
		item.Status.History = []v1alpha1.HistoryEntry{
			{Time: metav1.NewTime(noon.Add(-time.Hour)), Stage: v1alpha1.StageSummarize, Status: v1alpha1.HistorySuccess, Object: "gemini"},
			{Time: metav1.NewTime(noon), Stage: v1alpha1.StageDeliver, Status: v1alpha1.HistoryFailed, Object: "press-bot", Category: v1alpha1.CategoryAPI, Retry: 10},
		}
	})
	w := newWorld(t, nil, press, item)
	page := w.see("/items/news/one")
	page.has("Title of one", "the last of its retries has failed", "The server answered 503", "HTTP 503", "The river is high.", "512 tokens", "It is about water.",
		"Worth a summary, complete", "press-bot", "It answered 503", "11 failed attempts", "Delivery failed, retry 10 · API · press-bot", "Summary success", "First seen in the feed",
		`kubectl annotate feeditem one -n news feeds.feed-operator.io/retry="$(date +%s)" --overwrite`, "kubectl describe feeditem one -n news")
	outside := 0
	for _, link := range page.all("a", "href") {
		switch {
		case strings.HasPrefix(link, "https://"):
			outside++
		case !strings.HasPrefix(link, "/") && link != "#live":
			t.Errorf("a link leads to %q", link)
		}
	}
	if outside != 2 || len(page.all("a", "rel")) != 2 || !slices.Equal(page.all("a", "rel"), []string{"noopener noreferrer", "noopener noreferrer"}) {
		t.Errorf("%d links lead out, with rel %v", outside, page.all("a", "rel"))
	}
	if got := w.ask(http.MethodGet, "/items/news/nothing", nil); got.Code != http.StatusNotFound {
		t.Errorf("an item that there is not: %d", got.Code)
	}
}

// R5.4: a source tells how it is polled; of its address only the host, for the rest may be a secret (R5.6).
func TestASourceTellsHowItIsPolled(t *testing.T) {
	t.Parallel()
	press := aSource("news", "press", func(s *v1alpha1.FeedSource) {
		s.Status.Title, s.Status.Format, s.Status.ConsecutiveFailures = "The press", "Atom 1.0", 3
		s.Status.Conditions[0] = metav1.Condition{Type: "Ready", Status: "False", Reason: v1alpha1.ReasonPollFailed, Message: "It answered 404"}
	})
	w := newWorld(t, nil, press, anItem(press, "one", v1alpha1.PhaseProcessed))
	page := w.see("/sources/news/press")
	page.has("The press", "Atom 1.0", "PollFailed: It answered 404", "press.example", "Failed polls in a row 3", "Title of one", "feeds.feed-operator.io/poll=", `{"spec":{"suspend":true}}`)
	page.lacks("s3cr3t", "private-path")
	w.see("/sources").has("press", "Not ready", "0 open · 1 done · 0 failed")
}

// R5.4, R5.6: whatever feeds, pages, models and servers write is text on the page, in its own direction, and of bounded length.
func TestHostileTextOnThePageIsTextOnly(t *testing.T) {
	t.Parallel()
	const evil = "<script>alert(1)</script>\u202eexe.txt\u2066\u200f\x1b[31m\"><img src=x onerror=alert(1)>{{.}}"
	long := strings.Repeat("水", 350_000)
	press := aSource("news", "press", func(s *v1alpha1.FeedSource) { s.Status.Title, s.Status.Conditions[0].Message = evil, evil })
	destination := &v1alpha1.FeedDestination{ObjectMeta: metav1.ObjectMeta{Namespace: "news", Name: "bot"}}
	destination.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "False", Reason: v1alpha1.ReasonCredentialsRefused, Message: evil}}
	item := anItem(press, "one", v1alpha1.PhaseFailed, titled(evil), because(v1alpha1.ReasonInvalidContent), func(item *v1alpha1.FeedItem) {
		item.Spec.URL, item.Spec.Author, item.Spec.Categories = "javascript:alert(1)", evil, []string{evil}
		item.Status.Summary = &v1alpha1.Summary{Text: evil, Provider: evil, Model: evil}
		item.Status.Screening = &v1alpha1.Screening{Explanation: evil, Provider: evil}
		item.Status.Failure = &v1alpha1.Failure{Message: evil, Type: evil, Object: evil}
		item.Status.Deliveries = []v1alpha1.Delivery{{Destination: "bot", State: v1alpha1.DeliveryDead, URL: "data:text/html," + evil, Failure: &v1alpha1.Failure{Message: evil}}}
		item.Status.History = []v1alpha1.HistoryEntry{{Object: evil, Stage: v1alpha1.StageDeliver, Status: v1alpha1.HistoryFailed}}
	})
	w := newWorld(t, nil, press, destination, item, anItem(press, "long", v1alpha1.PhaseFailed, titled(long)),
		anItem(press, "unseen", v1alpha1.PhaseFailed, titled("\u202e\u200f \x00")),
		anItem(press, "blank", v1alpha1.PhaseFailed, titled("\u200b\u2060\u00ad\u3164\u2800\U000e0041 \u0301")))
	for _, name := range []string{"unseen", "blank"} {
		w.see("/items/news/" + name).has(name + " Failed")
		if links := strings.Count(w.see("/items").text(), name); links != 1 {
			t.Errorf("an item whose title cannot be seen has %d names to follow, and not only %s", links, name)
		}
	}
	for _, path := range []string{"/", "/items", "/items?q=" + url.QueryEscape(evil), "/sources", "/destinations", "/sources/news/press", "/items/news/one", "/items/news/long",
		"/sources?namespace=" + url.QueryEscape(evil), "/items?source=" + url.QueryEscape(evil) + "&namespace=" + url.QueryEscape(evil)} {
		page := w.see(path)
		page.lacks("<script>alert", "<img", "\u202e", "\u2066", "\u200f", "\x1b", "javascript:", "data:text")
		if scripts := page.all("script", "src"); !slices.Equal(scripts, []string{"/assets/page.js"}) || strings.Count(page.Body.String(), "<script") != 1 {
			t.Errorf("%s: scripts %v", path, scripts)
		}
		for _, inline := range []string{"style", "onclick", "onerror", "onload"} {
			for _, tag := range []string{"a", "img", "div", "p", "span", "button", "svg", "rect"} {
				if found := page.all(tag, inline); len(found) > 0 {
					t.Errorf("%s: <%s %s=%q>", path, tag, inline, found)
				}
			}
		}
		if size := page.Body.Len(); size > 64<<10 {
			t.Errorf("%s: %d bytes", path, size)
		}
	}
	w.see("/items/news/one").has("<script>alert(1)</script>exe.txt")
	// All that strangers have written is in an element that isolates its direction.
	for _, path := range []string{"/", "/items/news/one", "/sources/news/press"} {
		outside := regexp.MustCompile(`<bdi[^>]*>[^<]*</bdi>|<blockquote dir="auto"[^>]*>[^<]*|<blockquote class="summary" dir="auto">[^<]*|<title>[^<]*</title>`).
			ReplaceAllString(w.see(path).Body.String(), "")
		if at := strings.Index(outside, "exe.txt"); at >= 0 {
			t.Errorf("%s: not isolated: %s", path, outside[max(0, at-200):at+20])
		}
	}
}

// R5.4: every answer forbids what a page of this kind does not need, and a browser to guess.
func TestEveryAnswerIsStrict(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, aSource("news", "press"))
	for path, status := range map[string]int{"/": 200, "/items": 200, "/assets/page.css": 200, "/assets/page.js": 200, "/assets/icon.svg": 200, "/nothing": 404, "/assets/../x": 404, "/debug/pprof/": 404} {
		got := w.ask(http.MethodGet, path, nil)
		if got.Code != status && got.Code != http.StatusTemporaryRedirect && got.Code != http.StatusMovedPermanently {
			t.Errorf("%s: %d, want %d", path, got.Code, status)
		}
		for header, want := range map[string]string{
			"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if is := got.Header().Get(header); is != want {
				t.Errorf("%s: %s is %q", path, header, is)
			}
		}
		directives := strings.Split(got.Header().Get("Content-Security-Policy"), "; ")
		for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"} {
			if !slices.Contains(directives, want) {
				t.Errorf("%s: the policy lacks %s: %q", path, want, directives)
			}
		}
		if strings.Contains(strings.Join(directives, ""), "unsafe") {
			t.Errorf("%s: %q", path, directives)
		}
	}
	for _, name := range []string{"assets/page.js", "assets/page.css"} {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := regexp.MustCompile(`https?://|//[a-z]+\.|@import|url\(|innerHTML|eval\(`).FindString(string(content)); found != "" {
			t.Errorf("%s has %q", name, found)
		}
	}
}

// R5.4: a site that has its own name lead to this machine (DNS rebinding) is not answered: it would be of the same origin as the page.
func TestAPageUnderTheNameOfAnotherIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(options *Options) { options.Hosts = []string{"feeds.example.org"} }, aSource("news", "press"))
	for host, want := range map[string]int{
		"127.0.0.1:8083": 200, "localhost:8083": 200, "LOCALHOST": 200, "[::1]:8083": 200, "10.1.2.3": 200, "feeds.example.org": 200, "Feeds.Example.org.:80": 200,
		"evil.example": 421, "evil.example:8083": 421, "localhost.evil.example": 421, "127.0.0.1.evil.example:8083": 421, "": 421, "localhost@evil.example": 421, "a.localhost": 421,
	} {
		for _, path := range []string{"/", "/events", "/assets/page.js"} {
			if path == "/events" && want == 200 {
				continue // has no end
			}
			if got := w.ask(http.MethodGet, path, nil, "Host", host); got.Code != want {
				t.Errorf("Host %q: %s is answered with %d, want %d", host, path, got.Code, want)
			} else if want != 200 {
				got.lacks("press")
			}
		}
	}
}

// R5.4: without --dashboard-actions there is nothing to press, and nothing is done for who sends a form all the same.
func TestAPageThatOnlyShowsDoesNothing(t *testing.T) {
	t.Parallel()
	press := aSource("news", "press")
	w := newWorld(t, nil, press, anItem(press, "one", v1alpha1.PhaseFailed, because(v1alpha1.ReasonInvalidContent)))
	for _, path := range []string{"/items/news/one", "/sources/news/press"} {
		page := w.see(path)
		page.lacks("<form method=\"post\"", "id=\"retry\"", "id=\"suspend\"")
	}
	for _, path := range []string{"/items/news/one/retry", "/sources/news/press/suspend", "/sources/news/press/resume"} {
		if got := w.ask(http.MethodPost, path, url.Values{}); got.Code != http.StatusForbidden || !strings.Contains(got.text(), "--dashboard-actions") {
			t.Errorf("POST %s: %d: %s", path, got.Code, got.text())
		}
	}
	if item := w.item("news", "one"); len(item.Annotations) > 0 || w.source("news", "press").Spec.Suspend {
		t.Error("something was done")
	}
}

func (w *world) item(namespace, name string) (item v1alpha1.FeedItem) {
	w.t.Helper()
	if err := w.client.Get(w.t.Context(), key(namespace, name), &item); err != nil {
		w.t.Fatal(err)
	}
	return item
}

func (w *world) source(namespace, name string) (source v1alpha1.FeedSource) {
	w.t.Helper()
	if err := w.client.Get(w.t.Context(), key(namespace, name), &source); err != nil {
		w.t.Fatal(err)
	}
	return source
}

// R5.4: a person retries an item, and suspends and resumes a source, by forms of the page; another site cannot.
func TestOnlyThePageItselfActs(t *testing.T) {
	t.Parallel()
	press := aSource("news", "press")
	w := newWorld(t, withActions, press, anItem(press, "one", v1alpha1.PhaseFailed, because(v1alpha1.ReasonInvalidContent)))
	form := url.Values{"form": {w.see("/items/news/one").form()}}
	for name, headers := range map[string][]string{
		"another origin":           {"Origin", "https://evil.example"},
		"another port":             {"Origin", "http://127.0.0.1:9999"},
		"no origin at all":         {"Origin", "null"},
		"another site":             {"Sec-Fetch-Site", "cross-site"},
		"another one of this site": {"Sec-Fetch-Site", "same-site"},
	} {
		if got := w.ask(http.MethodPost, "/items/news/one/retry", form, headers...); got.Code != http.StatusForbidden {
			t.Errorf("%s: %d", name, got.Code)
		}
	}
	for name, sent := range map[string]url.Values{"no form": {}, "a made-up form": {"form": {"x"}}} {
		if got := w.ask(http.MethodPost, "/items/news/one/retry", sent); got.Code != http.StatusForbidden {
			t.Errorf("%s: %d", name, got.Code)
		}
	}
	if len(w.item("news", "one").Annotations) > 0 {
		t.Fatal("it is retried")
	}
	got := w.ask(http.MethodPost, "/items/news/one/retry", form, "Origin", "http://127.0.0.1:8083", "Sec-Fetch-Site", "same-origin")
	back := got.Header().Get("Location")
	_, signature, signed := strings.Cut(back, "/items/news/one?did=retry.")
	if got.Code != http.StatusSeeOther || !signed {
		t.Fatalf("%d to %s: %s", got.Code, back, got.text())
	}
	first := w.item("news", "one").Annotations[v1alpha1.AnnotationRetry]
	if first == "" {
		t.Fatal("it is not retried")
	}
	w.see(back).has("A retry is requested.")
	for _, link := range []string{"/items/news/one?did=retry", "/items/news/one?did=retry.x", "/items/news/one?did=suspend." + signature, "/?did=retry." + signature} {
		w.see(link).lacks("A retry is requested.", "is suspended")
	}
	w.see("/items/news/one?did=<script>").lacks("<script>alert")
	w.pass(time.Second)
	w.ask(http.MethodPost, "/items/news/one/retry", form)
	if again := w.item("news", "one").Annotations[v1alpha1.AnnotationRetry]; again == first {
		t.Error("the same token never acts twice")
	}
	w.ask(http.MethodPost, "/sources/news/press/suspend", form)
	if !w.source("news", "press").Spec.Suspend {
		t.Error("it is not suspended")
	}
	w.pass(time.Second)
	w.see("/sources/news/press").has("Resume the source")
	w.ask(http.MethodPost, "/sources/news/press/resume", form)
	if w.source("news", "press").Spec.Suspend {
		t.Error("it is not resumed")
	}
	refused := newWorld(t, func(options *Options) { options.Actions, options.Writer = true, writer{w: w} }, press, anItem(press, "one", v1alpha1.PhaseFailed))
	got = refused.ask(http.MethodPost, "/items/news/one/retry", url.Values{"form": {refused.see("/items/news/one").form()}})
	if got.Code != http.StatusForbidden || !strings.Contains(got.text(), "dashboard_actions_role.yaml") {
		t.Errorf("an operator that may not write: %d: %s", got.Code, got.text())
	}
	if got := w.ask(http.MethodPost, "/items/news/nothing/retry", form); got.Code != http.StatusNotFound {
		t.Errorf("an item that there is not: %d", got.Code)
	}
}
