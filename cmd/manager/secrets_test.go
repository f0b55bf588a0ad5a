// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/aitest"
	"github.com/feed-operator/feed-operator/internal/anthropictest"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/geminitest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
	"github.com/feed-operator/feed-operator/internal/openaitest"
)

// The secrets of this test can be told from everything else.
const (
	secretKey   = "AIzaSyRECOGNISABLE-gemini-0123456789abc"
	openAIKey   = "sk-proj-RECOGNISABLE-openai-0123456789abcdef"
	claudeKey   = "sk-ant-api03-RECOGNISABLE-anthropic-0123456789abcdef"
	secretToken = "RECOGNISABLE-mastodon-0123456789-abcdefghijk"
	secretFeed  = "RECOGNISABLE-feed-0123456789"
)

// modelAPI is the API of a language model whose answers repeat its key where they can. Each answer has a
// model and a provider of its own, or the first of them would stop the calls.
type modelAPI struct {
	name     string
	server   *aitest.Server
	describe func(spec *v1alpha1.AIProviderSpec, model, endpoint string, secret v1alpha1.SecretReference)
	answers  []aitest.Answer
}

func (a modelAPI) modelOf(answer int) string { return fmt.Sprintf("%s-answer-%02d", a.name, answer) }

// modelAPIs starts a server for each API there is.
func modelAPIs(t *testing.T) []modelAPI {
	t.Helper()
	const summary = "The committee agreed on a plan for the coming year."
	apis := []modelAPI{
		{"gemini", geminitest.New(secretKey), func(spec *v1alpha1.AIProviderSpec, model, endpoint string, secret v1alpha1.SecretReference) {
			spec.Gemini = &v1alpha1.GeminiProvider{Model: model, Endpoint: endpoint, SecretRef: secret}
		}, []aitest.Answer{
			geminitest.Throttled(0), geminitest.Internal(), geminitest.Unavailable(), geminitest.Empty(), geminitest.BrokenJSON(),
			geminitest.HTML(), geminitest.Blocked("SAFETY"), geminitest.Refusal(), geminitest.Hang(),
			geminitest.Error(http.StatusBadRequest, "INVALID_ARGUMENT", "The key "+secretKey+" is odd; see https://example.org/?key="+secretKey),
			geminitest.Body(http.StatusBadGateway, "text/html", "<p>x-goog-api-key: "+secretKey+"</p>"),
			geminitest.Summary(summary),
		}},
		{"openai", openaitest.New(openAIKey), func(spec *v1alpha1.AIProviderSpec, model, endpoint string, secret v1alpha1.SecretReference) {
			spec.OpenAI = &v1alpha1.OpenAIProvider{Model: model, Endpoint: endpoint, SecretRef: &secret}
		}, []aitest.Answer{
			openaitest.Throttled(0), openaitest.Overloaded(), openaitest.HTML(), openaitest.Hang(),
			openaitest.Error(http.StatusBadRequest, "invalid_request_error", openAIKey, "The key "+openAIKey+" is odd."),
			openaitest.Error(http.StatusTeapot, openAIKey, "odd", strings.Repeat("x", 260)+" "+openAIKey),
			openaitest.Body(http.StatusBadGateway, "text/html", "<p>Authorization: Bearer "+openAIKey+"</p>"),
			openaitest.Text("The key is " + openAIKey), openaitest.Summary(summary),
		}},
		{"anthropic", anthropictest.New(claudeKey), func(spec *v1alpha1.AIProviderSpec, model, endpoint string, secret v1alpha1.SecretReference) {
			spec.Anthropic = &v1alpha1.AnthropicProvider{Model: model, Endpoint: endpoint, SecretRef: secret}
		}, []aitest.Answer{
			anthropictest.Throttled(0), anthropictest.Overloaded(), anthropictest.HTML(http.StatusForbidden), anthropictest.Hang(),
			anthropictest.Error(http.StatusBadRequest, "invalid_request_error", "The key "+claudeKey+" is odd.").WithHeader("Request-Id", claudeKey),
			anthropictest.Error(http.StatusTeapot, claudeKey, strings.Repeat("x", 260)+" "+claudeKey),
			anthropictest.Body(http.StatusBadGateway, "text/html", "<p>x-api-key: "+claudeKey+"</p>"),
			anthropictest.Text("The key is " + claudeKey), anthropictest.Summary(summary),
		}},
	}
	for _, api := range apis {
		t.Cleanup(api.server.Close)
		api.server.OnCall(func(call aitest.Call) (aitest.Answer, bool) {
			for i, answer := range api.answers {
				if call.Model == api.modelOf(i) {
					return answer, true
				}
			}
			return aitest.Answer{}, false
		})
	}
	return apis
}

// R5.6: whatever goes wrong, and whatever the other sides say about it, no secret is in anything
// that the manager puts out.
func TestNoSecretIsPutOut(t *testing.T) {
	t.Parallel()
	namespace := server.Namespace(t)
	apis := modelAPIs(t)
	press := mastodontest.New(mastodontest.Options{Token: secretToken, TokenMayRead: true})
	t.Cleanup(press.Close)
	press.OnPost(func(p *mastodontest.Pending) bool {
		p.Answer(http.StatusUnprocessableEntity, "application/json", `{"error":"Bearer `+secretToken+` may not say `+secretToken+`"}`)
		return true
	})
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)

	create := func(object client.Object) {
		t.Helper()
		object.SetNamespace(namespace)
		if err := server.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	for name, data := range map[string]map[string]string{
		"gemini": {"apiKey": secretKey}, "openai": {"apiKey": openAIKey}, "anthropic": {"apiKey": claudeKey}, "press": {"accessToken": secretToken}, "feed": {"token": secretFeed},
	} {
		create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: data})
	}
	var services []client.Object
	var names []string // of the providers, their models and sources
	for _, api := range apis {
		for i := range api.answers {
			summarizer := &v1alpha1.AIProvider{ObjectMeta: metav1.ObjectMeta{Name: api.modelOf(i)}}
			api.describe(&summarizer.Spec, api.modelOf(i), api.server.URL, v1alpha1.SecretReference{Name: api.name})
			summarizer.Spec.Timeout = &metav1.Duration{Duration: 1e9}
			create(summarizer)
			services, names = append(services, summarizer), append(names, summarizer.Name)
		}
	}
	account := &v1alpha1.FeedDestination{ObjectMeta: metav1.ObjectMeta{Name: "press"}}
	account.Spec.Mastodon = &v1alpha1.MastodonDestination{Server: press.URL, SecretRef: v1alpha1.SecretReference{Name: "press"}}
	create(account)
	services = append(services, account)

	metrics := apitest.FreeAddress(t)
	manager := start(t, namespace, "--allow-http", "--metrics-bind-address="+metrics, "--zap-log-level=5")
	await(t, &v1alpha1.FeedDestinationList{}, namespace, "the destination is ready", func(d *v1alpha1.FeedDestination) bool {
		return meta.IsStatusConditionTrue(d.Status.Conditions, v1alpha1.ConditionReady)
	})
	for _, name := range names {
		source := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Name: name}}
		source.Spec.URL = web.FeedURL() + "?key=" + secretFeed
		source.Spec.SecretRef, source.Spec.AllowInsecure = &v1alpha1.SecretReference{Name: "feed"}, true
		source.Spec.Providers = []v1alpha1.ProviderReference{{Name: name}}
		source.Spec.Destinations = []v1alpha1.DestinationReference{{Name: "press"}}
		create(source)
	}
	apitest.Eventually(t, func(ctx context.Context) error {
		var items v1alpha1.FeedItemList
		if err := server.Client.List(ctx, &items, client.InNamespace(namespace)); err != nil {
			return err
		}
		if len(items.Items) != len(names) {
			return fmt.Errorf("%d items of %d", len(items.Items), len(names))
		}
		for i := range items.Items {
			if items.Items[i].Status.LastCheckTime == nil || items.Items[i].Status.Phase == v1alpha1.PhasePending {
				return fmt.Errorf("%s is %s", items.Items[i].Name, items.Items[i].Status.Phase)
			}
		}
		return nil
	})
	// The refusal of both credentials is told as well.
	for _, api := range apis {
		api.server.SetKey("another-key-0123456789-0123456789-01234")
	}
	press.SetToken("another-token")
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"timeout":"2s"}}`))
	for _, object := range services {
		if err := server.Client.Patch(t.Context(), object, patch); err != nil {
			t.Fatal(err)
		}
	}
	for _, api := range apis {
		await(t, &v1alpha1.AIProviderList{}, namespace, "the key of "+api.name+" is refused", func(p *v1alpha1.AIProvider) bool {
			return strings.HasPrefix(p.Name, api.name) && p.Status.RefusedCredentials != ""
		})
	}
	await(t, &v1alpha1.FeedDestinationList{}, namespace, "the token is refused", func(d *v1alpha1.FeedDestination) bool {
		return d.Status.RefusedCredentials != ""
	})

	putOut := allThatIsPutOut(t, namespace, manager, metrics)
	if len(putOut) < 2+len(names) {
		t.Errorf("only %d things were searched", len(putOut))
	}
	for i, post := range press.Posts() {
		putOut[fmt.Sprintf("post %d", i)] = post.Text
	}
	noSecretIn(t, putOut)
}

// allThatIsPutOut is what a manager has said and written so far, by where that is.
func allThatIsPutOut(t *testing.T, namespace string, manager *process, metrics string) map[string]string {
	t.Helper()
	putOut := map[string]string{"the log": manager.said.String(), "the metrics": fetch(t, "http://"+metrics+"/metrics")}
	for _, kind := range []schema.GroupVersionKind{
		v1alpha1.GroupVersion.WithKind("FeedSourceList"), v1alpha1.GroupVersion.WithKind("FeedItemList"),
		v1alpha1.GroupVersion.WithKind("AIProviderList"), v1alpha1.GroupVersion.WithKind("FeedDestinationList"),
		v1alpha1.GroupVersion.WithKind("FeedMemoryList"), {Group: "events.k8s.io", Version: "v1", Kind: "EventList"},
		{Group: "coordination.k8s.io", Version: "v1", Kind: "LeaseList"}, {Version: "v1", Kind: "ConfigMapList"},
	} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err := server.Client.List(t.Context(), list, client.InNamespace(namespace)); err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			object := list.Items[i]
			if object.GetKind() == "FeedSource" {
				unstructured.RemoveNestedField(object.Object, "spec") // what a person wrote
				unstructured.RemoveNestedField(object.Object, "metadata", "managedFields")
			}
			text, err := json.Marshal(object.Object)
			if err != nil {
				t.Fatal(err)
			}
			putOut[object.GetKind()+" "+object.GetName()] = string(text)
		}
	}
	return putOut
}

// fetch returns what is served at a URL, as soon as it is.
func fetch(t *testing.T, url string) string {
	t.Helper()
	return fetchUntil(t, url, "")
}

// fetchUntil returns what is served at a URL, as soon as there are such words in it.
func fetchUntil(t *testing.T, url, words string) (said string) {
	t.Helper()
	apitest.Eventually(t, func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer func() { _ = answer.Body.Close() }()
		body, err := io.ReadAll(answer.Body)
		if said = string(body); err == nil && (answer.StatusCode != http.StatusOK || !strings.Contains(said, words)) {
			err = fmt.Errorf("%s: %s, and no %q in it", url, answer.Status, words)
		}
		return err
	})
	return said
}
