// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// R5.1: items are found by their source and their phase, new ones too.
func TestFieldSelectors(t *testing.T) {
	t.Parallel()
	k := story(t)
	for selector, want := range portion.Some(map[string][]string{
		"status.phase=Failed":                            {"item-failed"},
		"status.phase=Unprocessed":                       {"item-new"},
		"status.phase!=Failed":                           {"item-deferred", "item-new", "item-pending", "item-processed"},
		"spec.sourceRef.name=other":                      {"item-new"},
		"spec.sourceRef.name=press":                      {"item-deferred", "item-failed", "item-pending", "item-processed"},
		"spec.sourceRef.name=press,status.phase=Pending": {"item-pending"},
		"spec.sourceRef.name=other,status.phase=Failed":  nil,
	}, 3) {
		t.Run(selector, func(t *testing.T) {
			t.Parallel()
			var list v1alpha1.FeedItemList
			raw := &client.ListOptions{Namespace: k.namespace, Raw: &metav1.ListOptions{FieldSelector: selector}}
			if err := server.Client.List(t.Context(), &list, raw); err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range list.Items {
				got = append(got, list.Items[i].Name)
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("List (-want +got):\n%s", diff)
			}
			said := strings.Fields(k.run(t, "get", "feeditems", "--field-selector", selector, "-o", "jsonpath={.items[*].metadata.name}"))
			slices.Sort(said)
			if diff := cmp.Diff(want, said, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("kubectl (-want +got):\n%s", diff)
			}
		})
	}
}

// R5.1: the columns tell the story.
func TestColumns(t *testing.T) {
	t.Parallel()
	k := story(t)
	tests := map[string]struct {
		arguments, header string
		row               []string
	}{
		"sources": {"get feedsources", "NAME READY STATUS PROCESSED FAILED AGE", []string{"press", "True", `Reads "News" (RSS 1.0) every 15m`, "17", "3"}},
		"sources, by their short name": {"get fsrc", "NAME READY STATUS PROCESSED FAILED AGE",
			[]string{"press", "True"}},
		"sources, wide": {"get fsrc -o wide", "NAME READY STATUS PROCESSED FAILED URL INTERVAL LAST SUCCESS DEFERRED FILTERED ALL SUCCEEDED ALL FAILED TITLE AGE",
			[]string{"https://www.example.org/feed.rdf", "15m", "4", "23", "1191", "43", "News"}},
		"items":                  {"get feeditems", "NAME SOURCE PHASE REASON TITLE AGE", []string{"item-failed", "press", "Failed", "APIFailed", `雨 & "rain"`}},
		"a new item has a phase": {"get fi item-new", "NAME SOURCE PHASE REASON TITLE AGE", []string{"item-new", "other", "Unprocessed"}},
		"items, wide": {"get fi -o wide", "NAME SOURCE PHASE REASON TITLE RETRIES NEXT RETRY PROVIDER POST MESSAGE PUBLISHED AGE",
			[]string{"2", someTime, "built-in", "https://mastodon.example/@press/113", "The server answered 503."}},
		"items, wide, without a post": {"get fi item-new -o wide", "NAME SOURCE PHASE REASON TITLE RETRIES NEXT RETRY PROVIDER POST MESSAGE PUBLISHED AGE",
			[]string{"Unprocessed"}},
		"providers": {"get aiproviders", "NAME READY STATUS AGE", []string{"built-in", "False", "Suspended: nothing is asked"}},
		"providers, wide": {"get aip -o wide", "NAME READY STATUS STATE UNTIL CALLS TOKENS TOKENS TODAY PER MINUTE CONCURRENT LAST FAILURE AGE",
			[]string{"77", "4", "CoolingDown", someTime, "1234", "987654", "54321"}},
		"destinations": {"get feeddestinations", "NAME READY STATUS DELIVERED LAST DELIVERY AGE",
			[]string{"mastodon", "True", "Posts as @press@mastodon.example", "42"}},
		"destinations, wide": {"get fdst -o wide", "NAME READY STATUS DELIVERED LAST DELIVERY ACCOUNT STATE UNTIL DUPLICATES VERIFIABLE AGE",
			[]string{"@press@mastodon.example", "CoolingDown", someTime, "False"}},
		"all four at once": {"get feedsources,feeditems,aiproviders,feeddestinations", "NAME READY STATUS PROCESSED FAILED AGE",
			[]string{"feedsource.feeds.feed-operator.io/press", "feeddestination.feeds.feed-operator.io/mastodon"}},
		"the category":                  {"get feeds", "NAME READY STATUS AGE", []string{"aiprovider.feeds.feed-operator.io/built-in"}},
		"only what has failed, by kind": {"get feeditems --field-selector status.phase=Failed", "NAME SOURCE PHASE REASON TITLE AGE", []string{"item-failed"}},
	}
	for name, test := range portion.Some(tests, 4) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := k.run(t, strings.Fields(test.arguments)...)
			if header := strings.Join(strings.Fields(strings.SplitN(out, "\n", 2)[0]), " "); header != test.header {
				t.Errorf("header %q, want %q", header, test.header)
			}
			for _, want := range test.row {
				if !strings.Contains(out, want) {
					t.Errorf("%q is missing:\n%s", want, out)
				}
			}
		})
	}
}

// R5.1: kubectl explain is good documentation.
func TestExplain(t *testing.T) {
	t.Parallel()
	k := newKubectl(t, "default")
	// The API server publishes a new kind's documentation a moment after the kind.
	apitest.Eventually(t, func(ctx context.Context) error {
		out, err := k.try(ctx, "", "explain", "feedmemory.data")
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	// What a reader of each has to find. Each is a run of kubectl.
	for path, phrases := range portion.Some(map[string][]string{
		"feedsource":                             {"FeedSource is a feed that the operator reads", "feeds.feed-operator.io/poll", "-required-"},
		"feedsource.spec":                        {"url", "<string> -required-", "Without any, the built-in extractive summarizer is used."},
		"feedsource.spec.url":                    {"RSS, Atom or JSON Feed", "Credentials do not belong into it: use secretRef."},
		"feedsource.spec.interval":               {"how often the feed is polled, from 1m to 168h. Default: 15m"},
		"feedsource.spec.initialItems":           {"newest entries become items at the first poll"},
		"feedsource.spec.secretRef":              {"username and password, or token (sent as a bearer token)", "the feed's own host only"},
		"feedsource.spec.article.source":         {"at least 1,000 characters", "ENUM: Auto Page Feed"},
		"feedsource.spec.retry":                  {"maxRetries", "from 1s to 24h. Default: 5m"},
		"feedsource.spec.retention":              {"Default: 168h (7 days)", "Default: 720h (30 days)"},
		"feeditem":                               {"one entry of a feed on its way", "feeds.feed-operator.io/retry", "The same token never acts twice."},
		"feeditem.status.phase":                  {"Unprocessed (new), Deferred (tried, will be tried again)", "Failed (for good)", "ENUM: Unprocessed Deferred Pending Processed Failed"},
		"feeditem.status.reason":                 {"empty while it makes progress", "RetryLimitExceeded", "LargeFileSkipped"},
		"feeditem.status.failure":                {"not set when it went well", "Message describes what happened."},
		"aiprovider.spec":                        {"extractive", "evenly spaced", "Items that need this provider wait.", "from midnight to midnight UTC"},
		"aiprovider.status.tokensToday":          {"what the calls of the day have cost", "after a restart all of it counts as used"},
		"aiprovider.spec.gemini":                 {"by the API key of a Google AI Studio project", "Default: https://generativelanguage.googleapis.com", "holds the key as apiKey", "model <string> -required-"},
		"aiprovider.status.availability":         {"may be called", "enum: Ready, CoolingDown, QuotaSpent, CircuitOpen", "until the credentials or the spec are changed"},
		"aiprovider.status":                      {"The counters are updated at most every 30 seconds.", "refusedCredentials", "A newer version is tried automatically.", "items that had failed for them before are retried"},
		"feedsource.spec.screening":              {"in your own words", "criteria <string> -required-", "the built-in extractive one cannot"},
		"feedsource.spec.summary":                {"such as ja or pt-BR. Default: that of the article", "in characters as a reader counts them"},
		"feedsource.spec.destinations":           {"One that is added later gets later items only"},
		"feeddestination":                        {"a place where summaries are posted", "applying it again posts nothing again"},
		"feeddestination.spec":                   {"the link is never cut", "Default: 10 retries", "Items that go here wait."},
		"feeddestination.spec.template":          {"a Go template over .Title, .Summary, .URL", "Default: title, summary, link and hashtags."},
		"feeddestination.spec.mastodon":          {"server <string> -required-", "token as accessToken", "write:statuses", "read:accounts and read:statuses", "enum: public, unlisted, private, direct"},
		"feeddestination.spec.mastodon.hashtags": {"of every post, with or without the # sign"},
		"feeddestination.spec.retry":             {"how many failed retries make the post be given up", "from 1s to 24h. Default: 5m"},
		"feeddestination.status":                 {"also Verifiable", "what the server reported about itself"},
		"feeddestination.status.server":          {"such as @press@mastodon.example", "may read the account's posts"},
		"feeditem.status.deliveries":             {"one for each destination that the source named", "enum: Queued, Intent, Done, Dead", "Dropped (not wanted any more)", "AlreadyPosted (the same entry was posted there before", "so that it is not published twice"},
		"feeditem.status.screening":              {"meets the source's criteria", "holds the whole article"},
		"feedmemory":                             {"It is not for editing"},
		"feeditem.spec.publishedTime":            {"creation time of this object"},
		"feedsource.status.conditions":           {"Reconciling or Stalled while they are True"},
		"feedsource.spec.maxActiveItems":         {"what the feed still lists then is created later"},
		"feedsource.spec.maxItemsPerDay":         {"from midnight to midnight UTC", "what leaves the feed before its turn is lost"},
		"feedsource.spec.retention.keepMost":     {"processed items go first and failed ones last"},
		"feedsource.spec.headers.name":           {"Headers that the operator sets itself cannot be named."},
		"feedsource.spec.article.maxBytes":       {"LargeFileSkipped. Default: 5 MiB"},
	}, 4) {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			out := strings.Join(strings.Fields(k.run(t, "explain", path)), " ")
			for _, phrase := range phrases {
				if !strings.Contains(out, phrase) {
					t.Errorf("%q is missing:\n%s", phrase, out)
				}
			}
		})
	}
}

// R5.1: kubectl wait knows when something is done.
func TestWait(t *testing.T) {
	t.Parallel()
	k := story(t)
	isReady := func(object string) bool {
		out, err := k.try(t.Context(), "", "wait", "--for=condition=Ready", "--timeout=0", object)
		if strings.Contains(out, "condition met") != (err == nil) {
			t.Fatalf("kubectl wait %s: %v: %s", object, err, out)
		}
		return err == nil
	}
	for object, want := range portion.Some(map[string]bool{
		"feedsource/press": true, "feeditem/item-processed": true, "aiprovider/built-in": false, "feeddestination/mastodon": true,
		"feeditem/item-failed": false, "feeditem/item-deferred": false,
	}, 3) {
		if got := isReady(object); got != want {
			t.Errorf("%s: ready is %t", object, got)
		}
	}
	k.run(t, "wait", "--for=jsonpath={.status.phase}=Failed", "--timeout=0", "feeditem/item-failed")

	k.run(t, "patch", "feedsource", "press", "--type=merge", "--patch", `{"spec":{"interval":"2h"}}`)
	if isReady("feedsource/press") {
		t.Error("a source is ready with a spec that nobody has seen yet")
	}
	out, err := k.try(t.Context(), "", "wait", "--for=condition=Ready", "--timeout=0", "feeditem/item-new")
	if err == nil {
		t.Errorf("a new item is ready: %s", out)
	}
}

// R3.7: one command retries everything, or all that has failed.
func TestAnnotate(t *testing.T) {
	t.Parallel()
	k := story(t)
	annotated := func() []string {
		var list v1alpha1.FeedItemList
		if err := server.Client.List(t.Context(), &list, client.InNamespace(k.namespace)); err != nil {
			t.Fatal(err)
		}
		var said []string
		for i := range list.Items {
			said = append(said, strings.TrimPrefix(list.Items[i].Name, "item-")+" "+list.Items[i].Annotations[v1alpha1.AnnotationRetry])
		}
		slices.Sort(said)
		return said
	}
	k.run(t, "annotate", "feeditems", "--all", v1alpha1.AnnotationRetry+"=1")
	if diff := cmp.Diff([]string{"deferred 1", "failed 1", "new 1", "pending 1", "processed 1"}, annotated()); diff != "" {
		t.Error(diff)
	}
	k.run(t, "annotate", "feeditems", "--field-selector", "status.phase=Failed", v1alpha1.AnnotationRetry+"=2", "--overwrite")
	if diff := cmp.Diff([]string{"deferred 1", "failed 2", "new 1", "pending 1", "processed 1"}, annotated()); diff != "" {
		t.Error(diff)
	}
	k.run(t, "annotate", "feedsource", "press", v1alpha1.AnnotationPoll+"=1")
	var source v1alpha1.FeedSource
	if err := server.Client.Get(t.Context(), types.NamespacedName{Namespace: k.namespace, Name: "press"}, &source); err != nil {
		t.Fatal(err)
	}
	if source.Annotations[v1alpha1.AnnotationPoll] != "1" {
		t.Errorf("annotations %v", source.Annotations)
	}
}

// R1.1: a mistake in a manifest is told to the person who applies it.
func TestApply(t *testing.T) {
	t.Parallel()
	k := newKubectl(t, server.Namespace(t))
	const manifest = "apiVersion: feeds.feed-operator.io/v1alpha1\nkind: FeedSource\nmetadata:\n  name: press\nspec:\n  url: https://www.example.org/feed.rdf\n"
	for name, test := range map[string]struct{ manifest, says string }{
		"a misspelt field":         {manifest + "  intervall: 1h\n", `unknown field "spec.intervall"`},
		"an interval too short":    {manifest + "  interval: 10s\n", "interval must be from 1m to 168h"},
		"an interval without unit": {manifest + "  interval: 10\n", "spec.interval"},
		"what is right":            {manifest + "  interval: 1h\n", "created"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := k.try(t.Context(), test.manifest, "apply", "-f", "-")
			if (err == nil) != (test.says == "created") || !strings.Contains(out, test.says) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
