// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/webhooktest"
)

// R5.6: the URL of a chat, its token and the key that requests are signed with are in no object, Event, log or metric, although the
// receiver repeats them in whatever it says.
func TestTheURLOfAChatIsNowhere(t *testing.T) {
	t.Parallel()
	log, metrics := &logged{}, prometheus.NewRegistry()
	w := newWorld(t, func(w *world) {
		w.log, w.metrics = zap.New(zap.WriteTo(log), zap.UseDevMode(true)), metrics // debug lines and stacks too
	})
	for name, meet := range map[string]func(p *webhooktest.Pending, words string){
		"refused":   func(p *webhooktest.Pending, words string) { p.Answer(http.StatusBadRequest, "application/json", words) },
		"not-found": func(p *webhooktest.Pending, words string) { p.Answer(http.StatusNotFound, "application/json", words) },
		"forbidden": func(p *webhooktest.Pending, words string) { p.Answer(http.StatusForbidden, "application/json", words) },
		"gone":      func(p *webhooktest.Pending, words string) { p.Answer(http.StatusGone, "application/json", words) },
		"throttled": func(p *webhooktest.Pending, words string) {
			p.Answer(http.StatusTooManyRequests, "application/json", words)
		},
		"down": func(p *webhooktest.Pending, words string) {
			p.Answer(http.StatusInternalServerError, "application/json", words)
		},
		"duplicate": func(p *webhooktest.Pending, words string) { p.Answer(http.StatusConflict, "application/json", words) },
		"taken":     func(p *webhooktest.Pending, words string) { p.Answer(http.StatusOK, "application/json", words) },
		"broken":    func(p *webhooktest.Pending, _ string) { p.Reset() },
		"moved": func(p *webhooktest.Pending, words string) {
			p.Header().Set("Location", "https://elsewhere.example"+hookPath)
			p.Answer(http.StatusFound, "application/json", words)
		},
		"headers": func(p *webhooktest.Pending, words string) {
			p.Header().Set("Retry-After", hookToken)
			p.Header().Set("Www-Authenticate", `Bearer realm="`+hookPath+`"`)
			p.Answer(http.StatusBadGateway, hookToken, words)
		},
	} {
		server := w.webhook()
		words, err := json.Marshal(map[string]string{"error": fmt.Sprintf("POST %s%s by %s, %s", server.URL, hookPath, hookToken, hookKey)})
		if err != nil {
			t.Fatal(err)
		}
		server.OnRequest(func(p *webhooktest.Pending) bool { meet(p, string(words)); return true })
		w.secretOf(name, map[string]string{"url": server.URL + hookPath, "token": hookToken, "signingKey": hookKey})
		w.webhookTo(name, "", withSecret(name), func(described *v1alpha1.FeedDestination) {
			described.Spec.Webhook.URLFrom = &v1alpha1.WebhookURLFrom{}
			if strings.HasSuffix(name, "d") { // some in batches
				inBatches(1, 0)(described)
			}
		})
		web := feedtest.New(t)
		web.List(web.Entries(name, 1)...)
		w.source(name, web.FeedURL(), postsTo(name))
		if _, err := server.Await(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		w.untilItems(name, func(items []v1alpha1.FeedItem) error {
			if server.Requests() == 0 || len(items) != 1 {
				return fmt.Errorf("%d requests for %d items of %s: %+v", server.Requests(), len(items), name, items)
			}
			return nil
		})
		w.lookAtItems(name)
	}
	w.stop() // its last words too

	holds := func(where, text string) {
		for _, part := range []string{"pathSecret0123456789", "B0RECOGNISABLE", "T0RECOGNISABLE", hookToken[6:30], hookKey[8:24]} {
			if at := strings.Index(text, part); at >= 0 {
				t.Errorf("%s holds %s: …%s…", where, part, text[max(0, at-200):min(len(text), at+100)])
			}
		}
	}
	for _, object := range w.everything() {
		text, err := json.Marshal(object.Object)
		if err != nil {
			t.Fatal(err)
		}
		holds(object.GetKind()+" "+object.GetName(), string(text))
	}
	if !strings.Contains(log.text(), "Duplicate data detected") {
		t.Error("the log was not kept")
	}
	holds("the log", log.text())
	families, err := metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		holds("a metric", family.String())
	}
}
