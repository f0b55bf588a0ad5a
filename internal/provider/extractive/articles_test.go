// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package extractive

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/feed-operator/feed-operator/internal/prose"
	"github.com/feed-operator/feed-operator/internal/provider"
)

// readArticle reads a file of title, description and text, with lines of "---" between them.
func readArticle(t testing.TB, name string) provider.Request {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", "articles", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	var parts [3]string
	part := 0
	for line := range strings.Lines(string(content)) {
		if strings.TrimSpace(line) == "---" && part < 2 {
			part++
			continue
		}
		parts[part] += line
	}
	return provider.Request{Title: strings.TrimSpace(parts[0]), Description: strings.TrimSpace(parts[1]), Text: parts[2]}
}

// R2.9: the built-in summarizer works, in Japanese and English at least.
func TestGenerateSummarizesArticles(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		article  string
		limit    int
		wantAll  []string // sentences that a person would pick
		wantNone []string
	}{
		"a Japanese survey, polite form: what was found, not how": {
			article: "ja-ministry-survey", limit: 400,
			wantAll: []string{
				"交通労働省では、このたび、令和７年「働く人の通勤に関する調査」の結果を取りまとめましたので、公表します。",
				"片道の通勤時間の平均は46分で、前年に比べて３分短くなりました。",
			},
			wantNone: []string{"ホーム", "照会先", "03-", "無作為", "図１", "※", "別紙", "Adobe", "鉄道", "３月12日"},
		},
		"a Japanese survey in little room": {
			article: "ja-ministry-survey", limit: 60,
			wantAll:  []string{"結果を取りまとめましたので、公表します。"},
			wantNone: []string{"…"},
		},
		"a Japanese order to a manufacturer, plain form": {
			article: "ja-ministry-recall", limit: 400,
			wantAll: []string{
				"家庭用加湿器「しずく」の販売停止を命じた。",
				"2025年11月以降、対象製品から発煙したとの事故の報告が全国で27件寄せられ、うち３件では床や家具が焼損した。",
			},
			wantNone: []string{"別添", "お問い合わせ", "電話", "深く反省している", "（１）", "根拠条文", "２０２６年"},
		},
		"a Japanese blog: the problem and the outcome, no greeting": {
			article: "ja-blog", limit: 400,
			wantAll: []string{
				"わたしたちのモノレポでは、プルリクエストごとのテストに平均 18 分かかっていました。",
				"CI の待ち時間は平均 18 分から 6 分になり、月々の費用も 4 割減りました。",
			},
			wantNone: []string{"こんにちは", "ありがとう", "ありませんか", "採用", "シェア", "関連記事", "ただし", "。 "},
		},
		"Japanese lines that were wrapped": {
			article: "ja-wrapped", limit: 400,
			wantAll:  []string{"全国の109水系で河川の水位を36時間先まで予測する新しい仕組みの運用を、６月１日から開始する。", "10分ごとに"},
			wantNone: []string{" "},
		},
		"an English press release: the news, not its sender": {
			article: "en-press-release", limit: 400,
			wantAll: []string{
				"Northwind Rail today announced that it has ordered 40 battery-powered trains from Halden Works Inc. to replace its remaining diesel fleet by 2031.",
				"The contract, valued at $620 million,",
			},
			wantNone: []string{
				"PORTLAND", "Newsroom", "Calloway", "leading provider", "Forward", "risks", "Figure", "Phone", "@", "©", "Share", "proud day",
			},
		},
		"an English advisory: what is broken and what to do": {
			article: "en-advisory", limit: 400,
			wantAll: []string{
				"A heap overflow in the TIFF decoder of libframe allows an attacker to execute arbitrary code by convincing a user to open a crafted image.",
				"Upgrade to libframe 2.7.4 or 3.0.1 as soon as possible.",
			},
			wantNone: []string{"Severity", "more information", "http", "Lena", "Report received"},
		},
		"an English blog": {
			article: "en-blog", limit: 400,
			wantAll: []string{
				"For six years our job queue ran on Redis,",
				"Last autumn we moved the queue into Postgres, in the same database as the rest of our data.",
			},
			wantNone: []string{"Posted by", "Hi everyone", "Welcome", "?", "Thanks", "Subscribe", "Read more"},
		},
		"a description that is a summary already": {
			article: "en-description", limit: 400,
			wantAll:  []string{"The city council voted 7–2 on Tuesday to build protected bike lanes along Harbor Street. Construction starts in June and is expected to take four months."},
			wantNone: []string{"debate"},
		},
		"a description that does not fit": {
			article: "en-description", limit: 130,
			wantAll:  []string{"After three hours of debate, the city council voted on Tuesday night to build protected bike lanes along Harbor Street."},
			wantNone: []string{"7–2"},
		},
		"a list without sentences: one of its items": {
			article: "en-release-notes", limit: 400,
			wantAll:  []string{"Fixed a crash when the settings window is opened twice"},
			wantNone: []string{"Share", "- ", "dark mode"},
		},
		"German: ordinals and abbreviations end no sentence": {
			article: "de-press-release", limit: 400,
			wantAll:  []string{"Die Stadtwerke Lindenau senken zum 1. Oktober den Preis für Fernwärme um durchschnittlich 8,5 Prozent."},
			wantNone: []string{"Kontakt", "0341"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := readArticle(t, test.article)
			request.MaxCharacters = test.limit
			response, err := New().Generate(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			if got := prose.Count(response.Summary); got > test.limit {
				t.Errorf("the summary has %d characters, want at most %d", got, test.limit)
			}
			for _, want := range test.wantAll {
				if !strings.Contains(response.Summary, want) {
					t.Errorf("the summary lacks %q:\n%s", want, response.Summary)
				}
			}
			for _, unwanted := range test.wantNone {
				if strings.Contains(response.Summary, unwanted) {
					t.Errorf("the summary has %q:\n%s", unwanted, response.Summary)
				}
			}
			if response.Model != Model || response.Tokens != 0 {
				t.Errorf("model and tokens = %q, %d", response.Model, response.Tokens)
			}
		})
	}
}
