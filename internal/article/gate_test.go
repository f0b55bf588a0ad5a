// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package article

import (
	"errors"
	"strings"
	"testing"

	"github.com/feed-operator/feed-operator/internal/failure"
)

// foot is what a site puts below each of its pages: more than a stub may have, and with whole sentences.
const foot = `<div class="company"><p>The Harbour Courier has been the newspaper of the coast since 1871. It is published every day but Sunday by the
Harbour Courier Company Limited, which is owned by a foundation and has its seat in Market Street.</p>
<p>All texts and pictures are protected. They may be copied for private use, and must not be published elsewhere without the consent of the
publisher in writing. Requests go to the rights desk, which answers within three working days.</p>
<p>The editors correct mistakes openly. Readers who have found one may write to the ombudswoman, who looks into every case and reports about them twice a
year. What she writes is printed in full and cannot be changed by the editors.</p>
<p>Prices include value added tax. Delivery within the country is free of charge, and takes one day. Orders can be cancelled within fourteen days
without giving a reason; a form for that is sent with the first issue. The company takes no part in arbitration before a consumer board.</p>
<p>The weather on this site is supplied by the national service four times a day, and the tables of the stock exchange come with a delay of a quarter of an
hour. No guarantee is given for either. Trains, ferries and buses are shown as their operators report them.</p></div>`

const footJa = `<div class="company"><p>港日報は一八七一年の創刊以来、沿岸地域の新聞として親しまれてきました。発行は株式会社港日報社が行い、本社は市場通りに置いています。</p>
<p>掲載されている文章と写真の著作権は当社に帰属します。私的な利用を除き、書面による承諾なしに転載することはできません。お問い合わせは権利部までお寄せください。三営業日以内に回答します。</p>
<p>誤りは速やかに訂正します。お気づきの点は読者室へお知らせください。すべての指摘を調べ、年に二回、結果を紙面で報告しています。内容に編集部が手を加えることはありません。</p>
<p>価格はすべて税込みです。国内の配達料は無料で、翌日に届きます。十四日以内であれば理由を問わず解約できます。解約の用紙は最初の号に同封します。</p>
<p>天気の情報は気象台から一日四回提供を受けています。株価は十五分ほど遅れて表示されます。いずれも正確さを保証するものではありません。列車と船の運行状況は各社の発表によります。</p>
<p>当社は環境に配慮した用紙を使用しています。古紙の回収にもご協力ください。回収の日程は地域の販売店がお知らせします。広告の申し込みは営業部で受け付けており、掲載の可否は社内の規定により判断します。</p></div>`

func inPage(title, main string) string {
	return "<html><head><title>" + title + ` | Harbour Courier</title></head><body><header><a href="/">Harbour Courier</a> <a href="/login">Log in</a> <a href="/abo">Subscribe</a></header>` +
		main + "</body></html>"
}

// R2.4: a page that shows a notice in place of its article has no article, however much the site puts below.
func TestGates(t *testing.T) {
	t.Parallel()
	const (
		wall, form = "a notice for those who have not subscribed or logged in", "a form to log in"
		title      = "Council approves new dam above the harbour"
		lead       = "<p>The council has approved a new dam above the harbour, after a debate of six hours on Monday night.</p>"
		login      = "<form><h2>Sign in</h2><label>Email address</label><input><br><label>Password</label><input type=password><br><a href=1>Forgot your password?</a></form>"
		titleJa    = "河川の堤防、来年度から建設へ"
		leadJa     = "<p>河川の氾濫に備える新しい堤防が、来年度から建設されることが決まった。</p>"
	)
	tests := map[string]struct{ page, want string }{
		"a notice in place of the article": {inPage(title, "<article><h1>"+title+"</h1><p>Log in to read this article.</p></article>"+foot), wall},
		"a notice in a box of its own":     {inPage(title, "<article><h1>"+title+"</h1></article><aside class=paywall><p>Subscribe to continue reading</p></aside>"+foot), wall},
		"a notice on a button":             {inPage(title, "<article><h1>"+title+"</h1><button>Register now to unlock</button></article>"+foot), wall},
		"a lead and a notice":              {inPage(title, "<article><h1>"+title+"</h1>"+lead+"<div role=dialog><p>This article is only available to subscribers.</p></div></article>"+foot), wall},
		"a form in place of the article":   {inPage(title, "<main><h1>"+title+"</h1>"+login+"</main>"+foot), form},
		"a form on a page of its own":      {inPage("Log in", "<main>"+login+"</main>"+foot), form},
		"a notice in Japanese":             {inPage(titleJa, "<article><h1>"+titleJa+"</h1><div class=modal><p>この記事は有料会員限定です。</p></div></article>"+footJa), wall},
		"a lead and a notice in Japanese":  {inPage(titleJa, "<article><h1>"+titleJa+"</h1>"+leadJa+"<p>続きを読むには会員登録が必要です。</p></article>"+footJa), wall},
		"a form in Japanese":               {inPage("会員ログイン", "<main><h1>会員ログイン</h1><p>ログインID</p><p>パスワード</p><p>パスワードをお忘れの方はこちら</p></main>"+footJa), form},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := serve(t, 200, "text/html; charset=utf-8", test.page)
			got, err := newTestFetcher().Fetch(t.Context(), Request{URL: from})
			var failed *failure.Error
			if !errors.As(err, &failed) || failed.Type != TypeNotReady || !strings.Contains(failed.Message, test.want) {
				t.Errorf("got %q, %v; want a failure that says %q", got.Text, err, test.want)
			}
		})
	}
}

// R2.5: links to log in, forms and boxes beside an article do not make it a stub.
func TestArticlesBesideGates(t *testing.T) {
	t.Parallel()
	const (
		title = "Council approves new dam above the harbour"
		body  = "<p>The council has approved a new dam above the harbour, after a debate of six hours on Monday night.</p>" +
			"<p>Work begins in May. The dam is to hold back the water of the river for two days, which gives the town below time to prepare.</p>" +
			"<p>Opponents say that the money had better been spent on the older dam, which leaks, and want to go to court.</p>"
		login                = "<form><label>Username</label><input><br><label>Password</label><input type=password><br><a href=1>Register</a></form>"
		titleJa              = "河川の堤防、来年度から建設へ"
		bodyJa               = "<p>河川の氾濫に備える新しい堤防が、来年度から建設されることが決まった。完成までに八年を要する見通しだ。</p><p>市によると、堤防の高さは五メートルで、下流の住宅地を守るのが目的という。</p>"
		inFooter, inFooterJa = "<footer>" + foot + "</footer>", "<footer>" + footJa + "</footer>"
		lastWord             = "The dam, they say, should never have been planned at all."
	)
	tests := map[string]struct{ page, want string }{
		"links to log in and to subscribe":   {inPage(title, "<article><h1>"+title+"</h1>"+body+"</article>"+inFooter), "leaks"},
		"a form on top of each page":         {inPage(title, login+"<article><h1>"+title+"</h1>"+body+"</article>"+inFooter), "leaks"},
		"a box for a newsletter":             {inPage(title, "<article><h1>"+title+"</h1>"+body+"<div><p>Sign up for our newsletter</p><p>E-mail address</p></div></article>"+inFooter), "leaks"},
		"a box that scripts open":            {inPage(title, "<dialog><p>Subscribe to continue reading</p></dialog><div style='display:none'>Log in to read this article</div><article><h1>"+title+"</h1>"+body+"</article>"), "leaks"},
		"a notice above an article in full":  {inPage(title, "<div class=modal><p>Subscribe to continue reading</p></div><article><h1>"+title+"</h1>"+body+"</article>"+inFooter), "leaks"},
		"a notice in the midst":              {inPage(title, "<article><h1>"+title+"</h1><p>"+lastWord+"</p><p>You’ve reached your limit of free articles.</p>"+body+body+"</article>"), "leaks"},
		"a notice under a long article":      {inPage("Opinion", "<article><h1>Off the rails</h1>"+strings.Repeat(body, 4)+"<p>Subscribe to continue reading</p></article>"+inFooter), "leaks"},
		"a form to comment":                  {inPage(title, "<article><h1>"+title+"</h1>"+body+"</article><div><p>Please log in to comment.</p><p>"+lastWord+"</p></div>"), "leaks"},
		"an article of two parts about both": {inPage("Readers log in to read news", "<article><h1>Readers log in to read news</h1><p>Half of all readers have to log in to read the news, a survey of papers says.</p>"+body+body+"<p>Where readers have to log in, they read less.</p></article>"), "survey"},
		"labels beside other articles":       {inPage(titleJa, "<article><h1>"+titleJa+"</h1>"+bodyJa+"</article><ul><li><a href=1>水位の記録</a> 会員限定</li><li><a href=2>橋の記録</a> 有料会員限定</li></ul>"+inFooterJa), "五メートル"},
		"a notice above one in Japanese":     {inPage(titleJa, "<div><p>この記事は有料会員限定です。</p></div><article><h1>"+titleJa+"</h1>"+bodyJa+"</article>"+inFooterJa), "五メートル"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, text, err := extract(test.page)
			if err != nil || !isArticle(text) || !strings.Contains(text, test.want) {
				t.Errorf("got %q, %v; want an article that says %q", text, err, test.want)
			}
		})
	}
}
