// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/geminitest"
	"github.com/feed-operator/feed-operator/internal/itemcontent"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

const (
	secretHeader = `RECOGNISABLE+header/0123456789%22"<&>\'`
	secretInURL  = "RECOGNISABLE-url-0123456789"
)

// inAllForms writes secrets in the forms in which a server may repeat them: once, and escaped once more.
func inAllForms(t *testing.T, secrets ...string) (once, all string) {
	t.Helper()
	var forms, twice []string
	for _, secret := range secrets {
		text, err := json.Marshal(secret)
		if err != nil {
			t.Fatal(err)
		}
		forms = append(forms, secret, "Bearer "+secret, url.QueryEscape(secret), html.EscapeString(secret), string(text),
			base64.StdEncoding.EncodeToString([]byte("reader:"+secret)), hex.EncodeToString([]byte(secret)))
		twice = append(twice, fmt.Sprintf("%q", text))
	}
	once = strings.Join(forms, " ")
	return once, once + " " + strings.Join(twice, " ")
}

// R5.6: the feed, Gemini and Mastodon all repeat what they were sent to know the operator by, wherever
// they have room for it, and it gets nowhere.
func TestWhatOthersRepeatIsNotRepeated(t *testing.T) {
	t.Parallel()
	namespace := server.Namespace(t)
	ofFeed, allOfFeed := inAllForms(t, secretFeed, secretHeader, secretInURL)
	_, allOfGemini := inAllForms(t, secretKey)
	_, allOfMastodon := inAllForms(t, secretToken)

	gemini := geminitest.New(secretKey)
	t.Cleanup(gemini.Close)
	gemini.OnCall(func(call geminitest.Call) (geminitest.Answer, bool) {
		switch {
		case strings.Contains(call.User, "gemini-fails"):
			answer := geminitest.Error(http.StatusBadRequest, "INVALID_ARGUMENT", "Not with "+allOfGemini, map[string]any{"reason": allOfGemini})
			return answer.WithHeader("X-Debug", secretKey), true
		case strings.Contains(call.User, "gemini-repeats"):
			return geminitest.Summary("The key is " + secretKey + " and this is the end of it."), true
		}
		return geminitest.Answer{}, false // the beginning of the article
	})
	press := mastodontest.New(mastodontest.Options{Token: secretToken, TokenMayRead: true, Version: "4.4.0 " + secretToken, MaxCharacters: 9000})
	t.Cleanup(press.Close)
	echo := mastodontest.New(mastodontest.Options{Token: secretToken, TokenMayRead: true})
	t.Cleanup(echo.Close)
	posted := 0
	echo.OnPost(func(p *mastodontest.Pending) bool {
		p.Header().Set("X-Request-Id", secretToken)
		if posted++; posted%2 == 0 {
			p.Answer(http.StatusUnprocessableEntity, "application/json", fmt.Sprintf(`{"error":%q,"error_description":%q}`, allOfMastodon, allOfMastodon))
			return true
		}
		id := p.Commit().ID
		p.Answer(http.StatusOK, "application/json", fmt.Sprintf(`{"id":"%s-%s","url":"https://%s.example.org/%s?token=%s","content":%q}`,
			id, secretToken, secretToken, secretToken, secretToken, allOfMastodon))
		return true
	})

	web := feedtest.New(t)
	entry := func(name, link, content string) feedtest.Entry {
		return feedtest.Entry{
			GUID: "tag:" + name + ":" + secretFeed, Link: link, Title: "About " + name + " " + secretHeader + " " + secretFeed,
			Content: content, Published: time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC),
		}
	}
	story := "<p>The committee met with " + html.EscapeString(ofFeed) + " and agreed on a new plan for the coming year, which names three goals.</p>"
	web.OnRequest(func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.URL.Path == "/feed.xml":
			w.Header().Set("Content-Type", "application/rss+xml")
			w.Header().Set("ETag", `"`+secretFeed+`"`)
			w.Header().Set("Last-Modified", secretFeed)
			body := feedtest.RSS([]feedtest.Entry{
				entry("a-link-with-a-token", web.ArticleURL("hidden")+"?token="+secretFeed, story),
				entry("a-link-with-a-token-and-no-text", web.ArticleURL("hidden")+"?token="+secretInURL, ""),
				entry("a-long-text", web.ArticleURL("long"), strings.Repeat(story, 30)),
				entry("a-page", web.ArticleURL("page"), story),
				entry("a-refusal", web.ArticleURL("refused"), ""),
				entry("gemini-fails", web.ArticleURL("plain"), ""),
				entry("gemini-repeats", web.ArticleURL("plain-too"), ""),
			})
			title := "<title>Test feed " + html.EscapeString(secretHeader+" "+secretFeed) + "</title>"
			_, _ = w.Write([]byte(strings.Replace(string(body), "<title>Test feed</title>", title, 1)))
		case strings.HasSuffix(r.URL.Path, "/page"):
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = fmt.Fprintf(w, "<html><head><title>A page</title></head><body><article><h1>A page</h1>%s</article></body></html>",
				strings.Repeat("<p>The committee met and agreed on a new plan for the coming year, which names three goals.</p>", 5))
		case strings.HasSuffix(r.URL.Path, "/refused"):
			w.Header().Set("Www-Authenticate", `Bearer realm="`+secretFeed+`"`)
			w.Header().Set("Location", "https://reader:"+secretFeed+"@example.org/?token="+secretFeed)
			http.Error(w, allOfFeed, http.StatusForbidden)
		default:
			return false
		}
		return true
	})

	create := func(object client.Object) {
		t.Helper()
		object.SetNamespace(namespace)
		if err := server.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	for name, data := range map[string]map[string]string{
		"gemini": {"apiKey": secretKey}, "press": {"accessToken": secretToken}, "feed": {"token": secretFeed, "other": secretHeader},
	} {
		create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: data})
	}
	summarizer := &v1alpha1.AIProvider{ObjectMeta: metav1.ObjectMeta{Name: "gemini"}}
	summarizer.Spec.Gemini = &v1alpha1.GeminiProvider{Model: "gemini-x", Endpoint: gemini.URL, SecretRef: v1alpha1.SecretReference{Name: "gemini"}}
	create(summarizer)
	for name, at := range map[string]string{"press": press.URL, "echo": echo.URL} {
		account := &v1alpha1.FeedDestination{ObjectMeta: metav1.ObjectMeta{Name: name}}
		account.Spec.Mastodon = &v1alpha1.MastodonDestination{Server: at, SecretRef: v1alpha1.SecretReference{Name: "press"}}
		create(account)
	}
	metrics, feeds := apitest.FreeAddress(t), apitest.FreeAddress(t)
	manager := start(t, namespace, "--allow-http", "--metrics-bind-address="+metrics, "--feeds-bind-address="+feeds, "--zap-log-level=5")
	for _, name := range []string{"press", "echo"} {
		await(t, &v1alpha1.FeedDestinationList{}, namespace, name+" is ready", func(d *v1alpha1.FeedDestination) bool {
			return d.Name == name && meta.IsStatusConditionTrue(d.Status.Conditions, v1alpha1.ConditionReady)
		})
	}
	await(t, &v1alpha1.AIProviderList{}, namespace, "the provider is ready", func(p *v1alpha1.AIProvider) bool {
		return meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionReady)
	})
	source := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Name: "echo"}}
	source.Spec.URL = web.FeedURL() + "?token=" + secretInURL
	source.Spec.SecretRef, source.Spec.AllowInsecure = &v1alpha1.SecretReference{Name: "feed"}, true
	source.Spec.Publish = new(true) // what is published is looked at, too
	source.Spec.Headers = []v1alpha1.FeedHeader{{Name: "X-Feed-Key", SecretKey: "other"}}
	source.Spec.InitialItems = new(int32(20))
	source.Spec.Providers = []v1alpha1.ProviderReference{{Name: "gemini"}}
	source.Spec.Destinations = []v1alpha1.DestinationReference{{Name: "press"}, {Name: "echo"}}
	create(source)

	const entries = 7
	var items v1alpha1.FeedItemList
	apitest.Eventually(t, func(ctx context.Context) error {
		if err := server.Client.List(ctx, &items, client.InNamespace(namespace)); err != nil {
			return err
		}
		if len(items.Items) != entries {
			return fmt.Errorf("%d items of %d", len(items.Items), entries)
		}
		for i := range items.Items {
			item := &items.Items[i]
			if item.Status.LastCheckTime == nil {
				return fmt.Errorf("%s was not tried", item.Name)
			}
			for _, row := range item.Status.Deliveries {
				if row.State != v1alpha1.DeliveryDone && row.Failure == nil {
					return fmt.Errorf("%s has not been posted to %s", item.Name, row.Destination)
				}
			}
		}
		return nil
	})
	// Polled again, no entry becomes an item twice, masked or not.
	if err := server.Client.Patch(t.Context(), source, client.RawPatch("application/merge-patch+json",
		[]byte(`{"metadata":{"annotations":{"`+v1alpha1.AnnotationPoll+`":"again"}}}`))); err != nil {
		t.Fatal(err)
	}
	await(t, &v1alpha1.FeedSourceList{}, namespace, "the feed was polled again", func(s *v1alpha1.FeedSource) bool {
		return s.Status.LastHandledPoll == "again"
	})

	putOut := allThatIsPutOut(t, namespace, manager, metrics)
	for _, suffix := range []string{".atom", ".json"} {
		putOut["the feed "+suffix] = fetch(t, "http://"+feeds+"/feeds/"+namespace+"/echo"+suffix)
	}
	for i, call := range gemini.Calls() {
		putOut[fmt.Sprintf("prompt %d", i)] = call.System + call.User + string(call.Body)
	}
	for i, post := range append(press.Posts(), echo.Posts()...) {
		putOut[fmt.Sprintf("post %d", i)] = post.Text + post.SpoilerText
	}
	if err := server.Client.List(t.Context(), &items, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	if len(items.Items) != entries {
		t.Errorf("%d items of %d entries", len(items.Items), entries)
	}
	for _, item := range items.Items {
		content, err := itemcontent.Unpack(item.Spec.Content, item.Spec.CompressedContent)
		if err != nil {
			t.Error(err)
		}
		putOut["the content of "+item.Name] = content
	}
	noSecretIn(t, putOut)

	// It was all there to be repeated.
	for what, want := range map[string]int{"FeedItem": entries, "the content": 3, "prompt": 4, "post": 4, "the feed": 2, "FeedSource": 1, "the log": 1} {
		masked := 0
		for where, text := range putOut {
			if strings.HasPrefix(where, what) && strings.Contains(text, "***MASKED***") {
				masked++
			}
		}
		if masked < want {
			t.Errorf("something was masked in %d of %q, want %d at least", masked, what, want)
		}
	}
}

// noSecretIn looks for the secrets of these tests, in what form ever.
func noSecretIn(t *testing.T, putOut map[string]string) {
	t.Helper()
	marks := []string{"RECOGNISABLE", hex.EncodeToString([]byte("RECOGNISABLE"))}
	for before := range 3 { // 12 bytes and 2 before them are whole characters but for the borders
		encoded := base64.RawStdEncoding.EncodeToString([]byte("xx"[:before] + "RECOGNISABLE"))
		marks = append(marks, encoded[(before*8+5)/6:(before+12)*8/6])
	}
	for where, text := range putOut {
		for _, mark := range marks {
			if at := strings.Index(text, mark); at >= 0 {
				t.Errorf("%s holds a secret: …%s…", where, text[max(at-200, 0):min(at+100, len(text))])
			}
		}
	}
}
