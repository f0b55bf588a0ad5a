// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package preview_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/hack/dev/samplefeeds"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/connect"
	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/geminitest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
	"github.com/feed-operator/feed-operator/internal/outbound"
	"github.com/feed-operator/feed-operator/internal/preview"
	"github.com/feed-operator/feed-operator/internal/provider/extractive"
)

const (
	apiKey      = "AIzaSy-PREVIEW-0123456789abcdefghijk"
	accessToken = "PREVIEW-mastodon-token-0123456789"
	feedToken   = "PREVIEW-feed-token-0123456789"
)

// newPreviewer reads manifests, and waits for nothing.
func newPreviewer(t *testing.T, manifests string) *preview.Previewer {
	t.Helper()
	out := outbound.New(outbound.Config{UserAgent: "test", AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, AllowHTTP: true})
	objects := &preview.Objects{Namespace: "default"}
	if err := objects.Read(strings.NewReader(manifests)); err != nil {
		t.Fatal(err)
	}
	return &preview.Previewer{
		Objects: objects, Outbound: out, Providers: connect.Providers(out), Destinations: connect.Destinations(out), Builtin: extractive.New(),
		Now: time.Now, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
}

// show returns what a preview of the manifests writes.
func show(t *testing.T, p *preview.Previewer) (string, error) {
	t.Helper()
	var out strings.Builder
	err := preview.Write(t.Context(), &out, p, p.Objects.Sources())
	for _, secret := range []string{apiKey, accessToken, feedToken} {
		if strings.Contains(out.String(), secret) || err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("a secret is shown: %s\n%v", out.String(), err)
		}
	}
	return out.String(), err
}

// source is a FeedSource of a server, with more lines of its spec.
func source(web *feedtest.Server, spec ...string) string {
	return "apiVersion: feeds.feed-operator.io/v1alpha1\nkind: FeedSource\nmetadata:\n  name: press\nspec:\n  url: " + web.FeedURL() + "\n  " +
		strings.Join(spec, "\n  ") + "\n---\n"
}

func gemini(server *geminitest.Server) string {
	return `apiVersion: feeds.feed-operator.io/v1alpha1
kind: AIProvider
metadata: {name: gemini}
spec: {gemini: {model: gemini-2.5-flash, endpoint: "` + server.URL + `", secretRef: {name: keys}}, requestsPerMinute: 10}
---
apiVersion: feeds.feed-operator.io/v1alpha1
kind: AIProvider
metadata: {name: built-in}
spec: {extractive: {}}
---
apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData: {apiKey: ` + apiKey + `, accessToken: ` + accessToken + `, token: ` + feedToken + `}
---
`
}

func mastodon(server *mastodontest.Server) string {
	return `apiVersion: feeds.feed-operator.io/v1alpha1
kind: FeedDestination
metadata: {name: bot}
spec: {mastodon: {server: "` + server.URL + `", secretRef: {name: keys}, visibility: unlisted, contentWarning: "News of {{.Source}}", hashtags: {always: [press]}}}
---
`
}

func newGemini(t *testing.T) *geminitest.Server {
	t.Helper()
	server := geminitest.New(apiKey)
	t.Cleanup(server.Close)
	return server
}

func mustContain(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not said in:\n%s", part, text)
		}
	}
}

// R6.5: an image that would be attached is named, with its text or that it has none; nothing is uploaded.
func TestThePreviewNamesTheImageOfAPost(t *testing.T) {
	t.Parallel()
	web, server := feedtest.New(t), mastodontest.New(mastodontest.Options{Token: accessToken, TokenMayRead: true})
	t.Cleanup(server.Close)
	entries := web.Entries("news", 1)
	entries[0].Image = web.URL + "/image.png?token=hunter2"
	web.List(entries...)
	p := newPreviewer(t, source(web, "destinations: [{name: bot}]")+strings.Replace(mastodon(server), "visibility: unlisted", "visibility: unlisted, image: Attach", 1))
	said, err := show(t, p)
	if err != nil {
		t.Fatal(err)
	}
	mustContain(t, said, "would be attached: "+web.URL+"/image.png", "(without an alternative text)")
	if strings.Contains(said, "hunter2") || server.Count("POST /api/v2/media") != 0 || web.Hits("/image.png") != 0 {
		t.Errorf("it says, after %d uploads:\n%s", server.Count("POST /api/v2/media"), said)
	}
}

// R6.5: a URL is enough, without a cluster, a provider or a destination.
func TestAFeedIsPreviewedWithNothingElseThere(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	entries := web.Entries("news", 7)
	entries[6].Title += " \x1b[31m"
	web.List(append(entries, entries[0])...)
	p := newPreviewer(t, source(web))
	said, err := show(t, p)
	if err != nil {
		t.Fatal(err)
	}
	mustContain(t, said, "press · Test feed", "RSS 2.0, 7 entries", "5 entries become items, the oldest first; 2 entries only remembered",
		"1/5 · News about news-3", "5/5 · News about news-7", "its GUID tag:news-7, and by its URL", "characters, from the page",
		"by extractive (built in), ", feed.ItemName("press", "", feed.Entry{GUID: "tag:news-7"}, feed.Trust{}))
	if strings.Contains(said, "Post ") || strings.Contains(said, "\x1b") {
		t.Errorf("it says:\n%q", said)
	}
	p.Entries = 6
	if said, err = show(t, p); err != nil || !strings.Contains(said, "6/6 · ") || !strings.Contains(said, "5 entries become items") {
		t.Errorf("%v\n%s", err, said)
	}
}

// R6.5, R1.2: whoever writes a source sees what of the feed does not say which entry it is.
func TestThePreviewSaysWhatIdentifiesNothing(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	entries := web.Entries("news", 4)
	for i := range entries {
		entries[i].Link = web.ArticleURL("all")
	}
	web.List(entries...)
	said, err := show(t, newPreviewer(t, source(web)))
	if err != nil {
		t.Fatal(err)
	}
	mustContain(t, said, "its GUID tag:news-4 (other entries of this feed have the same URL, which therefore")
}

// R6.5, R2.6: a whole bot is shown, with the post as the server would get it. Nothing is posted, and the
// provider is asked once for each entry.
func TestABotIsPreviewedAndNothingIsPosted(t *testing.T) {
	t.Parallel()
	web, ai, account := feedtest.New(t), newGemini(t), mastodontest.New(mastodontest.Options{Token: accessToken, TokenMayRead: true, MaxCharacters: 200})
	t.Cleanup(account.Close)
	web.List(web.Entries("news", 2)...)
	ai.Next(geminitest.Verdict(true, true, "It changes a rule.", "A new plan was agreed on."), geminitest.Verdict(false, true, "Nothing new.", ""))
	p := newPreviewer(t, gemini(ai)+mastodon(account)+source(web,
		"article: {source: Page}", "providers: [{name: gemini}]", "screening: {criteria: New rules}", "summary: {language: en}", "destinations: [{name: bot}, {name: other}]"))
	said, err := show(t, p)
	if err != nil {
		t.Fatal(err)
	}
	mustContain(t, said, "worth a summary, says gemini: It changes a rule.", "by gemini (gemini-2.5-flash, ", "│ A new plan was agreed on.",
		" of 200 characters · unlisted · en · @feeds@", "│ [content warning] News of press", "│ "+web.ArticleURL("news-1"), "│ #press",
		"other: none. the FeedDestination other is not in the files", "not worth a summary, says gemini: Nothing new.", "(NotValuable)")
	if calls := len(ai.Calls()); calls != 2 {
		t.Errorf("%d calls", calls)
	}
	if posts := account.Posts(); len(posts) != 0 {
		t.Errorf("posted: %+v", posts)
	}
	if n := account.Count("POST /api/v1/statuses"); n != 0 {
		t.Errorf("%d requests to post", n)
	}
}

// R2.6: where one judges and another writes, the preview asks both, as the operator does.
func TestJudgesAndWritersAreAsked(t *testing.T) {
	t.Parallel()
	web, ai := feedtest.New(t), newGemini(t)
	web.List(web.Entries("news", 1)...)
	said, err := show(t, newPreviewer(t, gemini(ai)+source(web,
		"providers: [{name: built-in}]", "screening: {criteria: New rules, providers: [{name: gemini}]}")))
	if err != nil {
		t.Fatal(err)
	}
	mustContain(t, said, "worth a summary, says gemini", "by built-in")
	if len(ai.Calls()) != 1 {
		t.Errorf("%d calls", len(ai.Calls()))
	}
}

// R3.6, R3.8: a provider that refuses its key is asked once, and the next in the list takes over.
func TestAKeyThatIsRefusedIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	web, ai := feedtest.New(t), newGemini(t)
	ai.SetKey("another")
	web.List(web.Entries("news", 3)...)
	said, err := show(t, newPreviewer(t, gemini(ai)+source(web, "providers: [{name: gemini}, {name: built-in}]")))
	if err != nil {
		t.Fatal(err)
	}
	mustContain(t, said, "gemini (Auth): ", "by built-in")
	if n := strings.Count(said, "gemini (Auth)"); n != 1 || len(ai.Calls()) != 1 {
		t.Errorf("%d failures are told of, %d calls\n%s", n, len(ai.Calls()), said)
	}
}

// R6.5: what is missing is named, and said to cost nothing.
func TestWhatIsMissingIsNamed(t *testing.T) {
	t.Parallel()
	web, ai := feedtest.New(t), newGemini(t)
	web.List(web.Entries("news", 1)...)
	withoutKey, _, _ := strings.Cut(gemini(ai), "apiVersion: v1\n")
	said, err := show(t, newPreviewer(t, withoutKey+source(web, "providers: [{name: gemini}, {name: gone}]")))
	if err != nil {
		t.Fatal(err)
	}
	said = strings.Join(strings.Fields(said), " ")
	mustContain(t, said, "the item waits, which costs no retry (Waiting)", `gemini: Secret "keys" does not exist`,
		"gone: the AIProvider gone is not in the files (--from-cluster")
	p := newPreviewer(t, withoutKey+source(web, "providers: [{name: gemini}]"))
	p.Objects.SetSecret("keys", "apiKey", apiKey)
	if said, err = show(t, p); err != nil || !strings.Contains(said, "by gemini") {
		t.Errorf("with a key from elsewhere: %v\n%s", err, said)
	}
}

// R1.4, R6.5: a feed that cannot be read is told of in the words of the source's condition.
func TestAFeedThatCannotBeReadIsExplained(t *testing.T) {
	t.Parallel()
	for want, answer := range map[string]http.HandlerFunc{
		"FeedGone: The server 127.0.0.1":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) },
		"PollFailed: The server 127.0.0.": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) },
		"NotAFeed: ": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<html><body>hello</body></html>"))
		},
	} {
		web := feedtest.New(t)
		web.OnRequest(func(w http.ResponseWriter, r *http.Request) bool { answer(w, r); return true })
		_, err := show(t, newPreviewer(t, source(web)))
		if unreadable, ok := errors.AsType[*preview.UnreadableError](err); !ok || !strings.HasPrefix(unreadable.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	web := feedtest.New(t)
	p := newPreviewer(t, source(web))
	p.Outbound = outbound.New(outbound.Config{})
	if _, err := show(t, p); err == nil || !strings.Contains(err.Error(), "private, reserved or denied") {
		t.Errorf("a loopback address was reached: %v", err)
	}
	if _, err := show(t, newPreviewer(t, source(web, "secretRef: {name: none}", "allowInsecure: true"))); err == nil || !strings.Contains(err.Error(), `Secret "none" does not exist`) {
		t.Errorf("without the Secret: %v", err)
	}
	if _, err := show(t, newPreviewer(t, source(web, "secretRef: {name: keys}"))); err == nil || !strings.Contains(err.Error(), "InsecureCredentials: ") {
		t.Errorf("credentials by plain http: %v", err)
	}
	inURL := strings.Replace(source(web), "/feed.xml", "/feed.xml?token=abc123def456", 1)
	if _, err := show(t, newPreviewer(t, inURL)); err == nil || !strings.Contains(err.Error(), "InsecureCredentials: ") {
		t.Errorf("a token in the URL by plain http: %v", err)
	}
	if web.Hits("/feed.xml") != 0 {
		t.Error("the feed was asked for")
	}
}

// R5.6: what a feed repeats of a secret is masked in all that is shown.
func TestSecretsThatAFeedRepeatsAreMasked(t *testing.T) {
	t.Parallel()
	web, ai := feedtest.New(t), newGemini(t)
	entry := web.Entries("news", 1)[0]
	entry.Title, entry.GUID, entry.Link = "Key "+feedToken, feedToken, web.ArticleURL("news-1")+"?token="+feedToken
	entry.Content = strings.Repeat("The key is "+feedToken+" and it is repeated here. ", 40)
	web.List(entry)
	p := newPreviewer(t, gemini(ai)+source(web, "secretRef: {name: keys}", "allowInsecure: true"))
	said, err := show(t, p)
	if err != nil || !strings.Contains(said, "***MASKED***") {
		t.Errorf("%v\n%s", err, said)
	}
	for _, format := range []string{"yaml", "json"} {
		var out strings.Builder
		if err := preview.WriteItems(t.Context(), &out, p, p.Objects.Sources(), format); err != nil || strings.Contains(out.String(), feedToken) {
			t.Errorf("%v\n%s", err, out.String())
		}
	}
}

// R6.5: the FeedItems can be had as they would be created, and no article is read for that.
func TestItemsAreWrittenAsTheyWouldBeCreated(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("news", 7)...)
	for _, format := range []string{"yaml", "json"} {
		p := newPreviewer(t, source(web))
		var out strings.Builder
		if err := preview.WriteItems(t.Context(), &out, p, p.Objects.Sources(), format); err != nil {
			t.Fatal(err)
		}
		var items v1alpha1.FeedItemList
		if err := yaml.UnmarshalStrict([]byte(out.String()), &items); err != nil {
			t.Fatal(err)
		}
		if len(items.Items) != 5 || items.Items[4].Spec.GUID != "tag:news-7" || items.Items[4].Kind != "FeedItem" || items.Items[0].Spec.SourceRef.Name != "press" {
			t.Errorf("%s: %s", format, out.String())
		}
	}
	if web.Hits("/articles/news-7") != 0 {
		t.Error("an article was read")
	}
}

// R6.5: the samples that come with the operator can be previewed as they are, without their keys.
func TestTheSamplesArePreviewed(t *testing.T) {
	t.Parallel()
	var feeds *samplefeeds.Feeds
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { feeds.ServeHTTP(w, r) }))
	t.Cleanup(web.Close)
	var err error
	if feeds, err = samplefeeds.New(web.URL, time.Now()); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(apitest.ModuleRoot(t), "config", "samples", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	manifests := ""
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		manifests += strings.ReplaceAll(string(text), samplefeeds.DefaultBase, web.URL) + "\n---\n"
	}
	said, err := show(t, newPreviewer(t, manifests))
	if err != nil {
		t.Fatal(err)
	}
	mustContain(t, said, "advisories · ", "ministry-bot · ", "status · ", "by built-in, ", "by extractive (built in), ", "of 500 characters · unlisted",
		"(the limit is assumed", "(Waiting): gemini: Secret")
}

// A mistake in a file is told of, without the values of Secrets.
func TestMistakesInFilesAreExplained(t *testing.T) {
	t.Parallel()
	for manifest, want := range map[string]string{
		"apiVersion: feeds.feed-operator.io/v1alpha1\nkind: FeedSource\nmetadata: {name: a}\nspec: {ulr: x}": `unknown field "ulr"`,
		"apiVersion: feeds.feed-operator.io/v1alpha1\nkind: FeedSource\nspec: {url: x}":                      "metadata.name is missing",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {apiKey: " + apiKey + "!}":                 "a Secret in it cannot be read",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {apiKey: {" + apiKey + ": 1}}":       "a Secret in it cannot be read",
		"hello: [":                 "not YAML",
		strings.Repeat(" ", 9<<20): "larger than 8 MiB",
	} {
		err := (&preview.Objects{}).Read(strings.NewReader(manifest))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), apiKey) {
			t.Errorf("%.100q: %v", manifest, err)
		}
	}
	if err := (&preview.Objects{}).Read(strings.NewReader("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n\n---\n")); err != nil {
		t.Error(err)
	}
}
