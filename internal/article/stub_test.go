// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package article

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/internal/phrases"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// R2.4: what stands in the place of an article is known without a model; what only speaks of such things
// is an article.
func TestStubs(t *testing.T) {
	t.Parallel()
	const (
		wall, form, cookies, missing, browser = "a notice for those who have not subscribed or logged in", "a form to log in",
			"a notice about cookies", "a notice that there is no such page", "a notice about the browser"
		lead = "河川の氾濫に備える新しい堤防が、来年度から建設されることが決まった。完成まで八年を要する。"
	)
	tests := map[string]struct{ text, want string }{
		"a lead, and the wall":                       {"新しい堤防の建設決まる\n" + lead + "\nこの記事は有料会員限定です。\n残り1,245文字", wall},
		"a lead that goes on for members":            {lead + "\n続きを読むには会員登録が必要です。\nログイン", wall},
		"a lead, and the full text by login":         {lead + "\n記事の全文をご覧いただくにはログインしてください。", wall},
		"a label for members":                        {lead + "\n会員限定記事", wall},
		"a lead and a subscription":                  {"A new dam will be built from next year on, the council has decided.\n\nSubscribe to continue reading\n\nAlready a subscriber? Sign in", wall},
		"an article for subscribers":                 {"The council has decided on a dam.\nThis article is only available to subscribers.", wall},
		"a limit of free articles":                   {"The dam is to be built next year.\nYou’ve reached your limit of free articles this month.", wall},
		"a form":                                     {"会員ページ\nログインID\nパスワード\nログインする\nパスワードをお忘れの方はこちら\n新規会員登録", form},
		"a form in English":                          {"Members\nSign in\nEmail address\nPassword\nRemember me\nForgot your password?\nCreate an account", form},
		"cookies":                                    {"We and our partners use cookies to store information on your device.\nYou can change your privacy settings at any time.\nAccept all\nReject all", cookies},
		"cookies in Japanese":                        {"当サイトではクッキーを使用しています。\nサイトの利用を続けると、クッキーの使用に同意したものとみなされます。\n同意する", cookies},
		"no such page":                               {"Sorry\nThe page you are looking for could not be found. It may have been moved.\n404\nGo back to the homepage", missing},
		"no such page in Japanese":                   {"お探しのページは、移動または削除された可能性があります。\nURLをご確認いただくか、トップページからお探しください。", missing},
		"an article that was taken away":             {"ニュース\nこの記事の掲載期間は終了いたしました。", missing},
		"a browser without scripts":                  {"This site needs JavaScript.\nTurn it on in the settings of your browser, or use a different browser.", browser},
		"in preparation":                             {"このページは現在準備中です。\n公開まで今しばらくお待ちください。", "a placeholder"},
		"news about paywalls":                        {"新聞社の調査によると、有料会員限定の記事を読む人が増えている。会員登録した理由で最も多かったのは、地域の情報を得るためだった。", ""},
		"news about paywalls, with a quotation":      {"The paper closed its site last week. Readers now find the words “Subscribe to continue reading” under each story, and half of them leave.", ""},
		"news about paywalls, quoted in Japanese":    {"同紙の電子版には「続きを読むには会員登録が必要です」という表示が加わった。読者の半数はここで離れるという。", ""},
		"news about passwords":                       {"市は、職員のパスワードが外部に流出したと発表した。流出したのは約三百人分で、悪用は確認されていない。市は全員にパスワードの変更を求めた。原因は調査中としている。", ""},
		"news about cookies":                         {"The court has ruled that sites must ask before they set a cookie. The ruling ends a dispute of six years, and concerns every shop that sells across the border.", ""},
		"news about a missing page":                  {"The agency has removed the report from its site. Whoever opens the address is told that the page was moved. Lawyers of the group went to court over it on Monday, and a judge is to hear them in May.", ""},
		"news about a language":                      {"A new version of JavaScript has been published. It brings dates that cannot be changed, and a way to join two lists. Makers of browsers expect to have it by the end of the year.", ""},
		"news for members of an association":         {"協会は、会員向けの研修を六月から始めると発表した。研修は全国の十二か所で開かれ、初年度は約二千人の参加を見込んでいる。", ""},
		"a long text with a wall at its end":         {strings.Repeat(lead, 12) + "\nこの記事は有料会員限定です。", ""},
		"a long beginning, and a wall":               {strings.Repeat("The council has decided to build a new dam next year. ", 13) + "\nSubscribe to continue reading", ""},
		"an article with a word about cookies below": {lead + "\n当サイトではクッキーを使用しています。", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := StubOf(test.text); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if isArticle(test.text) != (test.want == "") {
				t.Errorf("article: %t", isArticle(test.text))
			}
		})
	}
}

// A text that an expression matches has one of the signs without which it is not tried. Only who writes ſ for s is not found.
func TestNoExpressionMatchesWithoutItsSigns(t *testing.T) {
	t.Parallel()
	guarded := map[string]phrases.Guarded{"a notice on a page": gateLine, "a placeholder": placeholder}
	for _, stub := range stubs {
		guarded[stub.is] = stub.words
	}
	for name, g := range guarded {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				text := strings.ReplaceAll(rapid.StringMatching(g.Expression.String()).Draw(t, "text"), "ſ", "s")
				if g.Expression.MatchString(text) && !g.In(text, signs.Find(strings.ToLower(text))) {
					t.Fatalf("%q is not found", text)
				}
			})
		})
	}
}

// Quotations are what the expression finds, which takes as long as a page is, squared, where marks begin and do not end.
func TestQuotationsAreReplaced(t *testing.T) {
	t.Parallel()
	quoted := regexp.MustCompile(`「[^」]*」|『[^』]*』|“[^”]*”|"[^"\n]*"`)
	mark := func(string) string { return "<>" }
	parts := []string{"「", "」", "『", "』", "“", "”", `"`, "\n", "a", "今", "\xff"}
	random := rand.New(rand.NewPCG(1, 2)) // the same each time
	for range portion.Of(20_000, 4_000) {
		var text strings.Builder
		for range random.IntN(16) {
			text.WriteString(parts[random.IntN(len(parts))])
		}
		if got, want := replaceQuoted(text.String(), mark), quoted.ReplaceAllStringFunc(text.String(), mark); got != want {
			t.Fatalf("%q becomes %q, want %q", text.String(), got, want)
		}
	}
}
