// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// logged keeps what an operator logs.
type logged struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *logged) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// R5.6: the access token is in no object, Event or log, although the servers repeat it in whatever
// they say.
func TestTheAccessTokenIsNowhere(t *testing.T) {
	t.Parallel()
	log := &logged{}
	w := newWorld(t, func(w *world) { w.log = zap.New(zap.WriteTo(log), zap.UseDevMode(true)) }) // debug lines and stacks too
	words := fmt.Sprintf(`{"error":"Bearer %[1]s is no good: %[1]s","error_description":%[1]q,"message":%[1]q}`, accessToken)
	page := "<html><title>" + accessToken + "</title>" + accessToken + "</html>"
	for name, meet := range map[string]func(*mastodontest.Pending){
		"refused":   func(p *mastodontest.Pending) { p.Answer(http.StatusUnprocessableEntity, "application/json", words) },
		"not-found": func(p *mastodontest.Pending) { p.Answer(http.StatusNotFound, "application/json", words) },
		"forbidden": func(p *mastodontest.Pending) { p.Answer(http.StatusForbidden, "application/json", words) },
		"wrong":     func(p *mastodontest.Pending) { p.Answer(http.StatusUnauthorized, "application/json", words) },
		"throttled": func(p *mastodontest.Pending) { p.Answer(http.StatusTooManyRequests, "application/json", words) },
		"down":      func(p *mastodontest.Pending) { p.Answer(http.StatusServiceUnavailable, "application/json", words) },
		"starting":  func(p *mastodontest.Pending) { p.Answer(http.StatusOK, "text/html", page) },
		"broken":    (*mastodontest.Pending).Reset,
		"moved": func(p *mastodontest.Pending) {
			p.Header().Set("Location", "https://elsewhere.example/?access_token="+accessToken)
			p.Answer(http.StatusMovedPermanently, "application/json", words)
		},
		"headers": func(p *mastodontest.Pending) {
			p.Header().Set("Retry-After", accessToken)
			p.Header().Set("X-RateLimit-Reset", accessToken)
			p.Header().Set("Www-Authenticate", `Bearer realm="`+accessToken+`"`)
			p.Answer(http.StatusBadGateway, accessToken, accessToken)
		},
	} {
		bad := w.mastodon()
		w.openDestination(name, bad.URL)
		bad.OnPost(func(p *mastodontest.Pending) bool { meet(p); return true })
		web := feedtest.New(t)
		web.List(web.Entries(name, 1)...)
		w.source(name, web.FeedURL(), postsTo(name))
		w.untilItem(name, hasFailed(name, 1))
	}
	works := w.mastodon()
	w.openDestination("works", works.URL)
	w.oneItem("works")
	w.untilItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	closed := w.mastodon()
	closed.OnRequest(func(rw http.ResponseWriter, _ *http.Request) bool {
		http.Error(rw, words, http.StatusUnauthorized)
		return true
	})
	w.destination("closed", closed.URL)
	w.untilDestination("closed", func(d *v1alpha1.FeedDestination) error {
		if d.Status.ObservedGeneration != d.Generation || len(d.Status.Conditions) == 0 {
			return errors.New("not looked at yet")
		}
		return nil
	})
	w.stop() // its last words too

	found := w.everything()
	for _, kind := range []string{"FeedItem", "FeedDestination", "FeedSource", "FeedMemory", "Event"} {
		if !slices.ContainsFunc(found, func(o unstructured.Unstructured) bool { return o.GetKind() == kind }) {
			t.Errorf("no %s was looked at", kind)
		}
	}
	for _, object := range found {
		text, err := json.Marshal(object.Object)
		if err != nil {
			t.Fatal(err)
		}
		holdsNoToken(t, object.GetKind()+" "+object.GetName(), string(text))
	}
	if !strings.Contains(log.text(), "Post sent") || !strings.Contains(log.text(), "Post given up") {
		t.Error("the log was not kept")
	}
	holdsNoToken(t, "the log", log.text())
}

// holdsNoToken looks for the access token in the forms in which it may be written.
func holdsNoToken(t *testing.T, where, text string) {
	t.Helper()
	for _, form := range []string{
		accessToken, url.QueryEscape(accessToken), base64.StdEncoding.EncodeToString([]byte(accessToken)),
		accessToken[6:30], // a part is enough
	} {
		if at := strings.Index(text, form); at >= 0 {
			t.Errorf("%s holds the access token: …%s…", where, text[max(0, at-200):min(len(text), at+100)])
			return
		}
	}
}

// everything lists all objects of the namespace of every kind, but for Secrets.
func (w *world) everything() []unstructured.Unstructured {
	w.t.Helper()
	asking, err := discovery.NewDiscoveryClientForConfig(apiServer().Config)
	if err != nil {
		w.t.Fatal(err)
	}
	groups, err := asking.ServerPreferredNamespacedResources()
	if err != nil {
		w.t.Fatal(err)
	}
	var found []unstructured.Unstructured
	for _, group := range groups {
		version, err := schema.ParseGroupVersion(group.GroupVersion)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, resource := range group.APIResources {
			if !slices.Contains(resource.Verbs, "list") || resource.Kind == "Secret" {
				continue
			}
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(version.WithKind(resource.Kind + "List"))
			if err := w.client.List(w.t.Context(), list, client.InNamespace(w.namespace)); err != nil {
				w.t.Fatalf("list %s: %v", resource.Kind, err)
			}
			found = append(found, list.Items...)
		}
	}
	return found
}
