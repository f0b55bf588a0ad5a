// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/provider"
)

// R3.8, R3.12: items whose only judge cannot judge stand in no line. They go on when that becomes one that can, also where it cannot be called
// for a while on the way there.
func TestItemsGoOnWhenTheirJudgeBecomesOneThatCanByAndBy(t *testing.T) {
	t.Parallel()
	const able = `{"spec":{"suspend":false,"extractive":null,"openAI":{"model":"script-1","endpoint":"https://scripted.example/v1"}}}`
	for name, becomes := range map[string]func(*world){
		"while it is suspended": func(w *world) {
			w.changeProvider("judge", `{"spec":{"suspend":true}}`)
			w.untilProvider("judge", isNotReady(v1alpha1.ReasonSuspended))
			w.awaitItem("news", waitsFor("suspended"))
			w.changeProvider("judge", able)
		},
		"before its Secret is there": func(w *world) {
			w.changeProvider("judge",
				`{"spec":{"extractive":null,"openAI":{"model":"script-1","endpoint":"https://scripted.example/v1","secretRef":{"name":"later"}}}}`)
			w.untilProvider("judge", isNotReady(v1alpha1.ReasonCredentialsMissing))
			w.secret("later", "apiKey", "a-key-that-comes-later")
			w.clock.Step(30 * time.Second)
		},
		"as another object": func(w *world) {
			gone := &v1alpha1.AIProvider{}
			gone.Namespace, gone.Name = w.namespace, "judge"
			if err := w.client.Delete(w.t.Context(), gone); err != nil {
				w.t.Fatal(err)
			}
			w.awaitItem("news", waitsFor(`"judge": it does not exist`))
			w.script("judge", func(*v1alpha1.AIProvider) {})
		},
	} {
		for which, test := range map[string]struct {
			judges []string
			waits  string
		}{
			"the only one": {[]string{"judge"}, "can judge"}, "one that comes after one that is not there": {[]string{"absent", "judge"}, `"absent": it does not exist`},
		} {
			t.Run(which+", "+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, func(w *world) {
					w.scripted = map[string]provider.Provider{"dear": &script{}, "judge": &script{}}
				})
				w.script("dear", func(*v1alpha1.AIProvider) {})
				w.provider("judge", func(*v1alpha1.AIProvider) {}) // the extractive one
				w.untilProvider("judge", isReady)
				web := feedtest.New(t)
				web.List(web.Entries("news", 1)...)
				w.source("news", web.FeedURL(), summarizedBy("dear"), screenedBy("All news"), judgedBy(test.judges...))
				w.awaitItem("news", waitsFor(test.waits))
				becomes(w)
				w.untilProvider("judge", isReady)
				w.awaitItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
			})
		}
	}
}

// R3.12: the same where the operator hears late that the items wait.
func TestItemsGoOnWhenTheirJudgeBecomesOneThatCanThoughTheWatchIsLate(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	mend := failing(web)
	w := newWorld(t, func(w *world) {
		w.scripted = map[string]provider.Provider{"dear": &script{}, "judge": &script{}}
	})
	w.script("dear", func(*v1alpha1.AIProvider) {})
	w.provider("judge", func(*v1alpha1.AIProvider) {}) // the extractive one
	w.untilProvider("judge", isReady)
	w.source("news", web.FeedURL(), summarizedBy("dear"))
	item := w.awaitItem("news", inPhase(v1alpha1.PhaseDeferred, v1alpha1.ReasonDownloadFailed))
	w.untilUpToDate()
	mend()
	hear := w.faults.behind.close(t)
	w.change(&v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "news"}},
		`{"spec":{"screening":{"criteria":"All news","providers":[{"name":"judge"}]}}}`)
	w.settles()
	w.clock.SetTime(item.Status.NextRetryTime.Time)
	w.lookAtItems("news")
	w.awaitItem("news", waitsFor("can judge"))
	w.changeProvider("judge", `{"spec":{"extractive":null,"openAI":{"model":"script-1","endpoint":"https://scripted.example/v1"}}}`)
	w.untilProvider("judge", func(p *v1alpha1.AIProvider) error {
		if p.Status.ObservedGeneration != p.Generation {
			return errNotYet
		}
		return isReady(p)
	})
	hear()
	w.awaitItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
}
