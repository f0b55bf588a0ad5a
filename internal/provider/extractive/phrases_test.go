// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package extractive

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/internal/phrases"
	"github.com/feed-operator/feed-operator/internal/portion"
)

var (
	inside = map[string]phrases.Guarded{
		"toVisitor": toVisitor, "toVisitorInJapanese": toVisitorInJapanese, "pointer": pointer, "question": question, "pointing": pointing, "thisDid": thisDid, "email": email,
	}
	begins = map[string]beginning{
		"label": label, "dated": dated, "invitation": invitation, "japaneseLabel": japaneseLabel, "byline": byline, "greeting": greeting, "thisIs": thisIs, "leaningALittle": leaningALittle, "calls": callBegins, "runIn": runInHeading,
		"sectionOfNoise": sectionOfNoise,
	}
)

// A text that an expression matches has one of the pieces without which it is not tried. Only who writes ſ for s is not found.
func TestNoExpressionMatchesWithoutItsPieces(t *testing.T) {
	t.Parallel()
	type guard struct {
		expression *regexp.Regexp
		in         func(sentence) bool
	}
	guards := map[string]guard{
		"phone":        {phone, func(s sentence) bool { return s.isNoise() }},
		"markedPhone":  {markedPhone.Expression, func(s sentence) bool { return s.isNoise() }},
		"aboutCompany": {aboutCompany, func(s sentence) bool { return beginsNoise(s.text) }},
		"marker":       {marker, func(s sentence) bool { return beginsWithMark(s.text) }},
	}
	for name, g := range inside {
		guards[name] = guard{g.Expression, func(s sentence) bool { return g.In(s.text, s.found) }}
	}
	for name, b := range begins {
		guards[name] = guard{b.expression, func(s sentence) bool { return b.of(s.text, s.lower) || name == "calls" && b.of(s.text, s.text) }}
	}
	for name, g := range guards {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				text := strings.ReplaceAll(rapid.StringMatching(g.expression.String()).Draw(t, "text"), "ſ", "s")
				if g.expression.MatchString(text) && !g.in(newSentence(text, 0)) {
					t.Fatalf("%q is not found", text)
				}
			})
		})
	}
}

// An expression that is not tried on a text would not have matched it.
func TestGuardsKeepNothingOut(t *testing.T) {
	t.Parallel()
	for _, text := range append(portion.SomeOf(sampleSentences(t), 300), samplesOfNoise...) {
		s := newSentence(text, 0)
		for name, g := range inside {
			if got, want := g.In(text, s.found), g.Expression.MatchString(text); got != want {
				t.Errorf("%s of %q: %t, want %t", name, text, got, want)
			}
		}
		for name, g := range begins {
			folded := s.lower
			if name == "calls" { // links are written as they are
				folded = text
			}
			if got, want := g.of(text, folded), g.expression.MatchString(text); got != want {
				t.Errorf("%s of %q: %t, want %t", name, text, got, want)
			}
		}
		if phone.MatchString(text) && s.size.digits < 6 || markedPhone.Expression.MatchString(text) && s.size.digits < 3 {
			t.Errorf("%q has a number of a telephone, and too few digits for one", text)
		}
	}
}

// samplesOfNoise are one for each alternative of the expressions.
var samplesOfNoise = []string{
	"Author: A", "Source: A", "Image: A", "Credit: A", "Caption: A", "Date: A", "Tags: A", "Filed under: A", "Categories: A", "Related: A", "Topics: A",
	"See also: A", "Posted on May 4", "Published today", "Updated today", "Last modified today", "Share this", "Tweet this", "Pin this", "Print this", "Email this",
	"Sign up now", "Subscribe now", "Follow us", "Register now", "Join us", "Click it", "To learn more, ask", "Learn more", "Figure 2", "Fig. 2", "Table 3",
	"Exhibit 1", "Photo 3", "Media contact: A", "Press enquiries: A", "Investor relations: A", "Contacts: A", "Inquiries: A", "Phone: 1", "Tel: 1", "Fax: 1",
	"E-mail: a", "Email: a", "Mobile: 1", "© 2026", "(c) A", "Copyright 2026", "図表1", "図1", "表２", "写真①", "画像1", "グラフ1", "出典：A", "出所：A", "資料：A",
	"写真：A", "撮影：A", "提供：A", "文責：A", "著者：A", "執筆：A", "記者：A", "編集：A", "タグ：A", "カテゴリー：A", "関連記事：A", "公開日", "更新日", "掲載日", "発表日",
	"最終更新", "投稿日", "※", "（注１", "注1", "照会先：", "連絡先：", "担当：", "電話：", "ＴＥＬ：", "TEL：", "ＦＡＸ：", "FAX：", "メール：", "お問い合わせ先：", "問合せ先：", "お問合わせ：",
	"Read more about it", "Read more", "Continue reading", "Keep reading", "Click here", "Subscribe to the newsletter", "All rights reserved", "See our privacy policy",
	"read the terms of use", "We use cookies", "Your browser is old", "Please enable JavaScript", "Leave a comment", "Thanks for reading", "Thank you for reading",
	"For more information", "for further details", "for additional information", "Please contact us", "please visit us", "please see it", "forward-looking statements",
	"It appeared first on A", "originally published in A", "affiliate links", "続きを読む", "もっと見る", "無断転載", "無断での", "著作権は当社に帰属", "シェアする", "シェアしてください",
	"フォローしてね", "フォローをお願い", "メルマガに登録", "メールマガジン配信中", "会員登録は", "無料登録して", "お問い合わせ先", "問合せください", "お問い合せフォーム", "までご連絡", "ご連絡ください",
	"ご覧ください", "ご参照下さい", "ご了承いただ", "ページの先頭", "ページのトップ", "Adobe Readerが必要です", "Cookieを使用", "クッキーを利用し", "JavaScriptを有効", "最後までお読み",
	"Hi all", "Hello", "Hey", "Welcome", "Greetings", "Happy Monday", "Good morning", "こんにちは", "こんばんは", "おはよう", "はじめまして", "お世話になって", "いつも本当にありがとう", "平素",
	"By Jane", "Posted by A", "Written by A", "Reporting by A", "Editing by A", "Photo by A", "Photograph by A",
	"以下のとおり", "下記の通り", "次に示す", "別紙のとおり", "別添のとおり", "別表に示す", "上記の通り", "前述のとおり", "as follows", "see below", "the following", "listed below",
	"shown above", "It is:", "Why?", "なぜ？」", "でしょうか。", "ませんか。", "This is it", "These allow it", "Those", "こうした", "そうした", "同社は", "両者は", "この件は", "その件は",
	"The graph shows", "Chart below", "Figure above", "The above table shows", "The picture on the left", "This photo here", "Map below", "上のグラフ", "右図", "下記の表", "写真は", "図の", "左の地図",
	"上の動画", "下のイラスト", "The screenshot shows", "Image below", "The diagram below", "もっと見るA", "続きを読むA", "全文を読むA", "詳細を見るA", "詳しく見るA", "一覧を見るA",
	"About the River Trust", "About Acme", "Safe harbor", "Forward-looking statements", "Disclaimer", "Legal notice", "Related articles", "About the author",
	"会社概要", "関連記事", "関連リンク", "免責事項",
	"Read moreThe", "Learn moreThe", "See moreThe", "Show moreThe", "View galleryThe", "Continue readingThe", "Enlarge imageThe", "Watch nowThe",
}

// sampleSentences are those of all sample articles.
func sampleSentences(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "articles", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("sample articles: %v, %v", files, err)
	}
	var out []string
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range blocks(clean(string(content), maxText)) {
			out = append(append(out, block), split(block, "")...)
		}
	}
	return out
}

func TestEnglishIsKnownByItsSmallWords(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"The town said on Monday that the bridge will be closed for the whole of August, and that a ferry takes cars.": true,
		"De brug was het hele jaar dicht en de veerboot van de stad was vol, zei de burgemeester op maandag.":          false,
		"Broen var lukket hele året, og færgen var fuld, sagde borgmesteren for en uge siden i byen.":                  false,
		"Die Brücke war das ganze Jahr geschlossen, und die Fähre der Stadt war voll, sagte der Bürgermeister.":        false,
		"Le groupe The Bridge of Sighs a donné un concert hier soir à Paris devant deux mille personnes ravies.":       false,
		"The bridge": false,
	}
	for text, want := range tests {
		if got := isEnglish(text); got != want {
			t.Errorf("isEnglish(%q) = %t, want %t", text, got, want)
		}
	}
}
