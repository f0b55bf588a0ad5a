// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/text/encoding/japanese"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/geminitest"
	"github.com/feed-operator/feed-operator/internal/pdftest"
)

const busRelease = "国土環境庁は本日、路線バスの運行経費に対する補助率を二分の一から三分の二に引き上げることを決定しました。"

// articles starts a server whose articles are all this body.
func articles(t *testing.T, contentType string, body []byte) *feedtest.Server {
	t.Helper()
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	web.OnRequest(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasPrefix(r.URL.Path, "/articles/") {
			return false
		}
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(body)
		return true
	})
	return web
}

// R2.5, R2.9: without a model, the text of a document is summarized.
func TestAPressReleaseInPDFIsSummarized(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	document := pdftest.Write(pdftest.Options{Font: pdftest.Mapped, Compressed: true}, []string{
		busRelease[:81], busRelease[81:], "", "　申請の受付は、七月一日から全国の窓口で開始します。", "", "- 1 -",
	})
	w.source("news", articles(t, "application/pdf", document).FeedURL())
	item := w.untilItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	if got := item.Status.Summary.Text; !strings.Contains(got, busRelease) || strings.Contains(got, "- 1 -") {
		t.Errorf("summary %q", got)
	}
}

// R2.4, R2.5, R2.6: a provider that reads documents gets what was published, also where it has no text.
func TestGeminiReadsTheDocumentItself(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]pdftest.Options{"a text": {Font: pdftest.Mapped}, "a picture": {Scanned: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := w.gemini("gemini")
			server.Next(geminitest.Verdict(true, true, "It is a new rule.", "Buses get more money."))
			document := pdftest.Write(options, []string{busRelease})
			w.source("news", articles(t, "application/pdf", document).FeedURL(), summarizedBy("gemini"), screenedBy("New rules"))
			item := w.untilItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
			calls := server.Calls()
			if len(calls) != 1 || len(calls[0].Documents) != 1 || !bytes.Equal(calls[0].Documents[0].Data, document) {
				t.Errorf("%d calls, want one with the document", len(calls))
			}
			if item.Status.Summary.Text != "Buses get more money." || item.Status.ArticleHash == "" {
				t.Errorf("status %+v", item.Status)
			}
		})
	}
}

// R2.5, R3.4: a document that nobody can read is tried again, like every article that cannot be had.
func TestAScannedDocumentWithoutAReaderIsDeferred(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.source("news", articles(t, "application/pdf", pdftest.Write(pdftest.Options{Scanned: true}, nil)).FeedURL())
	item := w.untilItem("news", inPhase(v1alpha1.PhaseDeferred, v1alpha1.ReasonDownloadFailed))
	if got := item.Status.Failure; got.Category != v1alpha1.CategoryValidation || !strings.Contains(got.Message, "has no text that can be read") {
		t.Errorf("failure %+v", got)
	}
}

// R2.5: pages are read in the charset that they are in, whatever is said of it.
func TestPagesInOtherCharsets(t *testing.T) {
	t.Parallel()
	page := `<html><head><meta http-equiv="Content-Type" content="text/html; charset=Shift_JIS"></head><body><p>` + busRelease + `</p></body></html>`
	body, err := japanese.ShiftJIS.NewEncoder().Bytes([]byte(page))
	if err != nil {
		t.Fatal(err)
	}
	for name, contentType := range map[string]string{"nothing": "text/html", "a lie": "text/html; charset=UTF-8", "another lie": "text/html; charset=windows-1251"} {
		t.Run("the header says "+name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.source("news", articles(t, contentType, body).FeedURL())
			item := w.untilItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
			if got := item.Status.Summary.Text; got != busRelease {
				t.Errorf("summary %q", got)
			}
		})
	}
}

// R2.4: without a model, too, a page that has not the article is not summarized.
func TestAPaywallIsNotSummarized(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	page := "<title>堤防の建設決まる</title><article><p>河川の氾濫に備える新しい堤防が、来年度から建設されることが決まった。</p>" +
		"<p>この記事は有料会員限定です。</p><p>残り1,245文字</p></article>"
	w.source("news", articles(t, "text/html; charset=utf-8", []byte(page)).FeedURL())
	item := w.untilItem("news", inPhase(v1alpha1.PhaseDeferred, v1alpha1.ReasonPageNotReady))
	if got := item.Status.Failure.Message; item.Status.Summary != nil || !strings.Contains(got, "only a notice for those who have not subscribed") {
		t.Errorf("summary %+v, failure %q", item.Status.Summary, got)
	}
}

// R2.2, R2.5: where a source reads the feed only and the feed has headlines only, those are posted; nothing is fetched,
// and an entry that says nothing at all is done with at once, because no retry can find more.
func TestAFeedOfHeadlines(t *testing.T) {
	t.Parallel()
	fromFeed := func(source *v1alpha1.FeedSource) {
		source.Spec.Article = &v1alpha1.ArticlePolicy{Source: v1alpha1.ArticleSourceFeed}
	}
	t.Run("the headline is the summary", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		web := feedtest.New(t)
		web.List(feedtest.Entry{GUID: "1", Link: web.URL + "/articles/1", Title: "Harbour bridge reopens after repairs"})
		w.source("news", web.FeedURL(), fromFeed)
		item := w.untilItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
		if got := item.Status.Summary; got == nil || got.Text != "Harbour bridge reopens after repairs" {
			t.Errorf("summary %+v", got)
		}
		if hits := web.Hits("/articles/1"); hits != 0 {
			t.Errorf("the page was fetched %d times", hits)
		}
	})
	t.Run("a model is told that there is no more", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		server := w.gemini("gemini")
		server.Next(geminitest.Verdict(true, true, "It is news.", "The harbour bridge has reopened."))
		web := feedtest.New(t)
		web.List(feedtest.Entry{GUID: "1", Title: "Harbour bridge reopens after repairs"})
		w.source("news", web.FeedURL(), fromFeed, summarizedBy("gemini"), screenedBy("News"))
		item := w.untilItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
		if calls := server.Calls(); len(calls) != 1 || !strings.Contains(calls[0].System, "the title is the whole article") {
			t.Errorf("calls %+v", calls)
		}
		if got := item.Status.Summary.Text; got != "The harbour bridge has reopened." {
			t.Errorf("summary %q", got)
		}
	})
	t.Run("nothing to be read", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		web := feedtest.New(t)
		web.List(feedtest.Entry{GUID: "1", Link: web.URL + "/articles/1", Title: "…"})
		w.source("news", web.FeedURL(), fromFeed)
		item := w.untilItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNoContent))
		if item.Status.RetryCount != 0 || item.Status.Failure != nil || item.Status.Summary != nil || len(item.Status.History) != 1 ||
			item.Status.History[0].Status != v1alpha1.HistorySuccess || item.Status.History[0].Stage != v1alpha1.StageArticle {
			t.Errorf("status %+v", item.Status)
		}
		if got := readyMessage(item); !strings.Contains(got, "Skipped: the feed gives no content") {
			t.Errorf("condition %q", got)
		}
	})
}
