// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package extractive

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/provider"
)

func TestGenerateFallsBack(t *testing.T) {
	t.Parallel()
	const sentence = "The harbour bridge will be closed to all traffic for the whole of August."
	tests := map[string]struct {
		request provider.Request
		limit   int
		want    string
	}{
		"what says most is cut where it does not fit, and not left out": {
			request: provider.Request{Text: "The mayor of the town said a great many things about bridges, roads, tunnels and ferries on that day. " + sentence},
			limit:   80,
			want:    "The mayor of the town said a great many things about bridges, roads…",
		},
		"a whole sentence where it says most": {
			request: provider.Request{Title: "Harbour bridge closed in August", Text: "The mayor of the town said a great many things about roads, tunnels and ferries on that day. " + sentence},
			limit:   80,
			want:    sentence,
		},
		"a sentence that does not fit is cut between words": {
			request: provider.Request{Text: sentence},
			limit:   40,
			want:    "The harbour bridge will be closed to…",
		},
		"a Japanese sentence that does not fit is cut between characters": {
			request: provider.Request{Text: "国土水資源庁は、河川の水位を予測する新しい仕組みの運用を開始する。"},
			limit:   12,
			want:    "国土水資源庁は、河川の…",
		},
		"a single character is not spent on an ellipsis": {
			request: provider.Request{Text: "👩‍👩‍👧‍👦👩‍👩‍👧‍👦"},
			limit:   1,
			want:    "👩‍👩‍👧‍👦",
		},
		"the description, when the text has nothing": {
			request: provider.Request{Title: "Bridge closed", Description: "Traffic. " + sentence, Text: "Share this"},
			limit:   200,
			want:    sentence,
		},
		"a description that was cut off is not taken": {
			request: provider.Request{Description: "The bridge over the harbour will be closed, the town said. It is […]", Text: sentence},
			limit:   200,
			want:    sentence,
		},
		"a description of the site is not taken": {
			request: provider.Request{Title: "Bridge closed", Description: "Welcome to our website, where you can read everything we do.", Text: sentence},
			limit:   200,
			want:    sentence,
		},
		"blog software's credit does not spoil a description": {
			request: provider.Request{Description: sentence + " The post Bridge closed appeared first on Harbour News.", Text: "Short."},
			limit:   200,
			want:    sentence,
		},
		"the title, when there is only noise": {
			request: provider.Request{Title: "Bridge closed", Text: "Home > News > Roads\nShare this\n© 2026 Harbour News"},
			limit:   200,
			want:    "Bridge closed",
		},
		"noise, when there is no title": {
			request: provider.Request{Text: "Home > News > Roads"},
			limit:   200,
			want:    "Home News Roads",
		},
		"no sentence that lost its link": {
			request: provider.Request{Text: "Read the whole long story of it at https://example.com/a?b=c. " + sentence},
			limit:   200,
			want:    sentence,
		},
		"some items of a list, where there is nothing else": {
			request: provider.Request{Title: "補助金の募集要項", Text: "補助金の募集要項\n\n対象：市内に住所を有する中小企業\n補助額：上限100万円（補助率2分の1以内）\n受付期間：令和8年7月1日から8月31日まで"},
			limit:   200,
			want:    "対象：市内に住所を有する中小企業 / 補助額：上限100万円（補助率2分の1以内） / 受付期間：令和8年7月1日から8月31日まで",
		},
		"as many items as there is room for": {
			request: provider.Request{Title: "Release notes", Text: "- Support for the new protocol\n- Faster start of the server\n- A flag to write the log to a file"},
			limit:   70,
			want:    "Support for the new protocol / A flag to write the log to a file",
		},
		"one line of two": {
			request: provider.Request{Text: "Support for the new protocol\n\nFaster start of the server"},
			limit:   200,
			want:    "Support for the new protocol",
		},
		"links are left out of lines": {
			request: provider.Request{Text: "Slides of the talk https://example.com/slides"},
			limit:   200,
			want:    "Slides of the talk",
		},
		"tags are left out": {
			request: provider.Request{Text: "<p>The <b>harbour bridge</b> will be closed to all traffic.</p>"},
			limit:   200,
			want:    "The harbour bridge will be closed to all traffic.",
		},
		"characters that turn text around are left out": {
			request: provider.Request{Text: "The \u202eharbour\u0000 bridge\u200b will be closed to all\ttraffic."},
			limit:   200,
			want:    "The harbour bridge will be closed to all traffic.",
		},
		"a character of a thousand accents is its first": {
			request: provider.Request{Text: "Cafe\u0301s o" + strings.Repeat("\u0301", 1000) + "f a town by the sea"},
			limit:   200,
			want:    "Cafe\u0301s o f a town by the sea",
		},
		"Arabic": {
			request: provider.Request{Text: "أعلنت وزارة النقل اليوم عن إغلاق الجسر الرئيسي لمدة شهر كامل. شكرا."},
			limit:   200,
			want:    "أعلنت وزارة النقل اليوم عن إغلاق الجسر الرئيسي لمدة شهر كامل.",
		},
		"Thai, which has no full stops": {
			request: provider.Request{Title: "ข่าว", Text: "กระทรวงคมนาคมประกาศปิดสะพานหลักเป็นเวลาหนึ่งเดือน"},
			limit:   200,
			want:    "กระทรวงคมนาคมประกาศปิดสะพานหลักเป็นเวลาหนึ่งเดือน",
		},
		"of a page in two languages, the one that it begins in": {
			request: provider.Request{Text: "国土水資源庁は、河川の水位を予測する新しい仕組みの運用を６月１日から開始すると発表した。\n\nThe agency will start to forecast the levels of rivers in June."},
			limit:   200,
			want:    "国土水資源庁は、河川の水位を予測する新しい仕組みの運用を６月１日から開始すると発表した。",
		},
		"the same is not said twice": {
			request: provider.Request{Title: "Harbour bridge closed all August", Text: sentence + "\n\n" + sentence},
			limit:   200,
			want:    sentence,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.request.MaxCharacters = test.limit
			response, err := New().Generate(t.Context(), test.request)
			if err != nil {
				t.Fatal(err)
			}
			if response.Summary != test.want {
				t.Errorf("summary = %q, want %q", response.Summary, test.want)
			}
		})
	}
}

func TestGenerateFails(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		request      provider.Request
		wantCategory v1alpha1.Category
		wantType     string
	}{
		"when there is nothing": {
			request:      provider.Request{MaxCharacters: 100},
			wantCategory: v1alpha1.CategoryAPI, wantType: failure.TypeEmpty,
		},
		"when there is only punctuation": {
			request:      provider.Request{Title: "!", Text: "?! ...\n\n---", MaxCharacters: 100},
			wantCategory: v1alpha1.CategoryAPI, wantType: failure.TypeEmpty,
		},
		"when there is only a link": {
			request:      provider.Request{Text: "https://example.com/article", MaxCharacters: 100},
			wantCategory: v1alpha1.CategoryAPI, wantType: failure.TypeEmpty,
		},
		"when no character is allowed": {
			request:      provider.Request{Title: "News", Text: "Something happened."},
			wantCategory: v1alpha1.CategoryValidation, wantType: failure.TypeUnsupported,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			response, err := New().Generate(t.Context(), test.request)
			var failed *failure.Error
			if !errors.As(err, &failed) || failed.Category != test.wantCategory || failed.Type != test.wantType {
				t.Errorf("error = %#v, want %s/%s", err, test.wantCategory, test.wantType)
			}
			if response != (provider.Response{}) {
				t.Errorf("response = %+v, want none", response)
			}
		})
	}

	t.Run("when its context has ended", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := New().Generate(ctx, provider.Request{Title: "News", MaxCharacters: 100}); !errors.Is(err, context.Canceled) {
			t.Errorf("error = %v, want context.Canceled", err)
		}
	})
}
