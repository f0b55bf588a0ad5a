// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/geminitest"
	"github.com/feed-operator/feed-operator/internal/itemcontent"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// holdings are the secrets of one tenant, one for each place that a secret can be in.
type holdings struct{ key, accessToken, feedToken, password, header, inURL, word string }

func (h holdings) all() []string {
	return []string{h.key, h.accessToken, h.feedToken, h.password, h.header, h.inURL, h.word}
}

// drawHoldings draws secrets. Some are as services make them, some as people do.
func drawHoldings(draw *rand.Rand) holdings {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	random := func(n int) string {
		text := make([]byte, n)
		for i := range text {
			text[i] = letters[draw.IntN(len(letters))]
		}
		return string(text)
	}
	words := []string{"committee", "agreement", "newsletter", "government", "conference", "technology"}
	return holdings{
		key: "AIzaSy" + random(33), accessToken: random(43), feedToken: "ghp_" + random(36), password: "Summer" + random(4),
		header: random(20) + `+/="&`, inURL: random(12), word: words[draw.IntN(len(words))],
	}
}

// guesses are texts from which somebody could read, by what is masked in them, whether a secret is another one's: the whole
// of it in the forms in which it may be written, its beginnings at the end of a text and before an ellipsis.
func guesses(secrets ...string) []string {
	var texts []string
	for _, secret := range secrets {
		inJSON, _ := json.Marshal(secret)
		texts = append(texts, secret, url.QueryEscape(secret), string(inJSON), html.EscapeString(secret), fmt.Sprintf("%x", secret),
			base64.StdEncoding.EncodeToString([]byte("x:"+secret)), "Bearer "+secret)
		for length := 8; length < len(secret); length += 7 {
			texts = append(texts, secret[:length]+"… and so on", secret[:length])
		}
	}
	return texts
}

// household is a tenant that uses all there is, and a neighbour who holds secrets, in an operator of their own.
type household struct {
	tenant, neighbour string
	web               *feedtest.Server
	ai                *geminitest.Server
	press             *mastodontest.Server
	feeds             string
}

const (
	tenantKey   = "AIzaSyTenantsOwnKey-0123456789-abcdefg"
	tenantToken = "tenants-own-access-token-0123456789-abcdef"
)

// newHousehold starts an operator whose token is of a service account, and in the neighbour's namespace all that makes the
// operator read secrets.
func newHousehold(t *testing.T, theirs holdings, token string, texts []string) *household {
	t.Helper()
	h := &household{
		tenant: server.Namespace(t), neighbour: server.Namespace(t), web: feedtest.New(t), ai: geminitest.New(tenantKey),
		press: mastodontest.New(mastodontest.Options{Token: tenantToken, TokenMayRead: true, MaxCharacters: 4000}),
	}
	t.Cleanup(h.ai.Close)
	t.Cleanup(h.press.Close)
	create := func(namespace, name string, object client.Object) {
		t.Helper()
		object.SetNamespace(namespace)
		object.SetName(name)
		if err := server.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	// The neighbour.
	ai, press, web := geminitest.New(theirs.key), mastodontest.New(mastodontest.Options{Token: theirs.accessToken, TokenMayRead: true}), feedtest.New(t)
	t.Cleanup(ai.Close)
	t.Cleanup(press.Close)
	web.List(web.Entries("theirs", 1)...)
	secret := func(data map[string]string) *corev1.Secret { return &corev1.Secret{StringData: data} }
	create(h.neighbour, "key", secret(map[string]string{"apiKey": theirs.key}))
	create(h.neighbour, "account", secret(map[string]string{"accessToken": theirs.accessToken}))
	create(h.neighbour, "feed", secret(map[string]string{"token": theirs.feedToken, "header": theirs.header}))
	create(h.neighbour, "basic", secret(map[string]string{"username": "reader", "password": theirs.password}))
	create(h.neighbour, "word", secret(map[string]string{"token": theirs.word}))
	create(h.neighbour, "ai", geminiAt(ai.URL, "key"))
	create(h.neighbour, "press", mastodonAt(press.URL, "account"))
	for name, ref := range map[string]string{"feed": "feed", "basic": "basic", "word": "word"} {
		source := &v1alpha1.FeedSource{}
		source.Spec.URL = web.FeedURL() + "?token=" + theirs.inURL
		source.Spec.SecretRef, source.Spec.AllowInsecure = &v1alpha1.SecretReference{Name: ref}, true
		if name == "feed" {
			source.Spec.Headers = []v1alpha1.FeedHeader{{Name: "X-Key", SecretKey: "header"}}
		}
		create(h.neighbour, name, source)
	}
	poisoned := &v1alpha1.FeedSource{} // of whom all links were masked once
	poisoned.Spec.URL = web.FeedURL() + "?token=https://&key=" + url.QueryEscape(h.web.URL)
	create(h.neighbour, "poisoned", poisoned)

	h.feeds = apitest.FreeAddress(t)
	startWith(t, kubeconfigOf(t, token), h.neighbour, "--namespace="+h.tenant, "--allow-http", "--feeds-bind-address="+h.feeds)
	ready := func(conditions []metav1.Condition) bool {
		return meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionReady)
	}
	await(t, &v1alpha1.AIProviderList{}, h.neighbour, "the provider is ready", func(p *v1alpha1.AIProvider) bool { return ready(p.Status.Conditions) })
	await(t, &v1alpha1.FeedDestinationList{}, h.neighbour, "the destination is ready", func(d *v1alpha1.FeedDestination) bool { return ready(d.Status.Conditions) })
	for _, name := range []string{"feed", "basic", "word", "poisoned"} {
		await(t, &v1alpha1.FeedSourceList{}, h.neighbour, name+" is ready", func(s *v1alpha1.FeedSource) bool { return s.Name == name && ready(s.Status.Conditions) })
	}

	// The tenant: what they and those around them say is the same in all households.
	entries := make([]feedtest.Entry, 0, len(texts))
	for i, text := range texts {
		entries = append(entries, feedtest.Entry{
			GUID: fmt.Sprintf("tag:%03d:%s", i, text), Link: fmt.Sprintf("https://news.example.org/%03d?q=%s", i, url.QueryEscape(text)), Title: text,
			Content:   "<p>" + strings.Repeat("The committee has met, and has said this of it. ", 30) + html.EscapeString(text) + "</p>",
			Published: time.Date(2026, 4, 1, 9, i, 0, 0, time.UTC),
		})
	}
	h.web.List(entries...)
	h.ai.OnCall(func(call geminitest.Call) (geminitest.Answer, bool) {
		for i, text := range texts {
			if !strings.Contains(call.User, fmt.Sprintf("news.example.org/%03d", i)) {
				continue
			}
			if i%5 == 0 {
				return geminitest.Error(http.StatusBadRequest, "INVALID_ARGUMENT", "Not "+text, map[string]any{"reason": text}), true
			}
			return geminitest.Summary("They say so: " + text), true
		}
		return geminitest.Answer{}, false
	})
	h.press.OnPost(func(p *mastodontest.Pending) bool {
		for i, text := range texts {
			if i%7 == 1 && strings.Contains(p.Post.Text, fmt.Sprintf("news.example.org/%03d", i)) {
				said, _ := json.Marshal(map[string]string{"error": "Not " + text})
				p.Answer(http.StatusUnprocessableEntity, "application/json", string(said))
				return true
			}
		}
		return false
	})
	create(h.tenant, "key", secret(map[string]string{"apiKey": tenantKey}))
	create(h.tenant, "account", secret(map[string]string{"accessToken": tenantToken}))
	create(h.tenant, "ai", geminiAt(h.ai.URL, "key"))
	create(h.tenant, "press", mastodonAt(h.press.URL, "account"))
	source := &v1alpha1.FeedSource{}
	source.Spec.URL = h.web.FeedURL()
	source.Spec.InitialItems = new(int32(len(texts)))
	source.Spec.Providers = []v1alpha1.ProviderReference{{Name: "ai"}}
	source.Spec.Destinations = []v1alpha1.DestinationReference{{Name: "press"}}
	create(h.tenant, "news", source)
	return h
}

func geminiAt(address, secret string) *v1alpha1.AIProvider {
	object := &v1alpha1.AIProvider{}
	object.Spec.Gemini = &v1alpha1.GeminiProvider{Model: "gemini-x", Endpoint: address, SecretRef: v1alpha1.SecretReference{Name: secret}}
	object.Spec.RequestsPerMinute = new(int32(6000))
	return object
}

func mastodonAt(address, secret string) *v1alpha1.FeedDestination {
	object := &v1alpha1.FeedDestination{}
	object.Spec.Mastodon = &v1alpha1.MastodonDestination{Server: address, SecretRef: v1alpha1.SecretReference{Name: secret}}
	return object
}

// kubeconfigOf reaches the API server with a token.
func kubeconfigOf(t *testing.T, token string) []byte {
	t.Helper()
	text, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: server.Config.Host, CertificateAuthorityData: server.Config.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": {Token: token}},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "x",
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// operatorToken makes a service account for an operator, and returns a token of it.
func operatorToken(t *testing.T) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: server.Namespace(t), Name: "operator"}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "operator-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}},
	}
	for _, object := range []client.Object{account, binding} {
		if err := server.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	request := &authenticationv1.TokenRequest{}
	if err := server.Client.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// visible is all that the tenant can see, without what is another in each run: times, names that were made up, addresses.
func (h *household) visible(t *testing.T, items int) map[string]string {
	t.Helper()
	seen := map[string]string{}
	var list v1alpha1.FeedItemList
	apitest.Eventually(t, func(ctx context.Context) error {
		if err := server.Client.List(ctx, &list, client.InNamespace(h.tenant)); err != nil {
			return err
		}
		if len(list.Items) != items {
			return fmt.Errorf("%d items of %d", len(list.Items), items)
		}
		for i := range list.Items {
			if item := &list.Items[i]; !item.Terminal() {
				return fmt.Errorf("%s is %s", item.Spec.Title, item.Status.Phase)
			}
		}
		return nil
	})
	same := strings.NewReplacer(h.web.URL, "WEB", h.ai.URL, "AI", h.press.URL, "PRESS", strings.TrimPrefix(h.ai.URL, "http://"), "AI",
		strings.TrimPrefix(h.press.URL, "http://"), "PRESS", h.tenant, "TENANT")
	names := map[string]string{}
	for _, item := range list.Items {
		names[item.Name] = item.Spec.GUID[:7]
		content, err := itemcontent.Unpack(item.Spec.Content, item.Spec.CompressedContent)
		if err != nil {
			t.Fatal(err)
		}
		said := fmt.Sprintf("%q %q %q %q %q %q | %s %s", item.Spec.GUID, item.Spec.URL, item.Spec.Title, item.Spec.Author, item.Spec.Categories, content,
			item.Status.Phase, item.Status.Reason)
		if item.Status.Summary != nil {
			said += fmt.Sprintf(" | %q by %s", item.Status.Summary.Text, item.Status.Summary.Model)
		}
		if failed := item.Status.Failure; failed != nil {
			said += fmt.Sprintf(" | %s %q %q", failed.Category, failed.Message, failed.Chain)
		}
		for _, row := range item.Status.Deliveries {
			said += fmt.Sprintf(" | %s %s", row.Destination, row.State)
			if row.Failure != nil {
				said += fmt.Sprintf(" %q %q", row.Failure.Message, row.Failure.Chain)
			}
		}
		seen["item "+item.Spec.GUID] = same.Replace(said)
	}
	var events eventsv1.EventList
	if err := server.Client.List(t.Context(), &events, client.InNamespace(h.tenant)); err != nil {
		t.Fatal(err)
	}
	for _, event := range events.Items {
		if event.Regarding.Kind == "FeedItem" {
			seen["event "+names[event.Regarding.Name]+" "+event.Reason] = same.Replace(event.Note)
		}
	}
	for _, call := range h.ai.Calls() {
		if call.User != "" {
			seen["prompt "+numberIn(call.User)] = call.System + call.User
		}
	}
	for _, post := range h.press.Posts() {
		seen["post "+numberIn(post.Text)] = post.Text
	}
	var published struct {
		Items []struct {
			URL   string `json:"url"`
			Title string `json:"title"`
			Text  string `json:"content_text"`
		} `json:"items"`
	}
	if err := json.Unmarshal([]byte(fetch(t, "http://"+h.feeds+"/feeds/"+h.tenant+"/news.json")), &published); err != nil {
		t.Fatal(err)
	}
	for _, entry := range published.Items {
		seen["published "+entry.URL] = fmt.Sprintf("%q %q", entry.Title, entry.Text)
	}
	return seen
}

// numberIn is the number of the entry that a text is about, by its link, or the text itself.
func numberIn(text string) string {
	const site, digits = "news.example.org/", 3
	if at := strings.Index(text, site); at >= 0 {
		return text[at+len(site) : at+len(site)+digits]
	}
	return text
}

// R5.7: whatever secrets a neighbour and the operator itself have, all that a tenant can see is the same, byte by byte, also
// where the tenant, their feed, their provider and their server say these secrets, or what they may begin with.
func TestWhatATenantSeesDoesNotDependOnTheSecretsOfOthers(t *testing.T) {
	t.Parallel()
	const seed = 4711
	draw := rand.New(rand.NewPCG(seed, seed)) // the same in each run
	named, others := drawHoldings(draw), drawHoldings(draw)
	token, another := operatorToken(t), operatorToken(t)
	texts := guesses(append(named.all(), "https://news.example.org")...)
	texts = append(texts, token, token[:40], token[:200]+"…", token[:200], token[:600], token[:600]+"…")
	slices.Sort(texts)
	texts = portion.SomeOf(slices.Compact(texts), 34)

	seen := make([]map[string]string, 2)
	t.Run("each household", func(t *testing.T) {
		for i, with := range []struct {
			holdings
			token string
		}{{named, token}, {others, another}} {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				seen[i] = newHousehold(t, with.holdings, with.token, texts).visible(t, len(texts))
			})
		}
	})
	if diff := cmp.Diff(seen[1], seen[0]); diff != "" {
		t.Errorf("what a tenant sees shows what a neighbour holds:\n%s", diff)
	}
	kinds := map[string]int{}
	for what, text := range seen[0] {
		kind, _, _ := strings.Cut(what, " ")
		kinds[kind]++
		if kind != "event" && strings.Contains(text, "MASKED") && !strings.Contains(text, "Not ") {
			t.Errorf("%s is masked: %s", what, text)
		}
	}
	for kind, least := range map[string]int{"item": len(texts), "prompt": len(texts), "post": len(texts) / 2, "published": 20, "event": 5} {
		if kinds[kind] < least {
			t.Errorf("only %d of the kind %s were compared, want %d", kinds[kind], kind, least)
		}
	}
}
