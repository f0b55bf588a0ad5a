// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package article

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/sentences"

	"github.com/feed-operator/feed-operator/internal/phrases"
)

const (
	// minArticle is how much ink an article has at least; a wide character counts for two.
	minArticle = 40
	// maxPlaceholder is how much ink a text has at most that is a placeholder as a whole.
	maxPlaceholder = 200
	// maxStub is how much ink a text has at most that stands in the place of an article, with its
	// beginning perhaps. What is longer can be summarized, whatever stands beside it.
	maxStub = 1000
)

// signs are what the expressions below need, so that they are tried on few sentences only.
var signs phrases.Vocabulary

// placeholder finds what a page says as long as it has nothing to say.
var placeholder = signs.Guard(regexp.MustCompile(`(?i)coming soon|under construction|under maintenance|page is being prepared|will be (?:published|available) (?:soon|shortly)|`+
	`please (?:enable|turn on) javascript|javascript is (?:disabled|required)|requires javascript|enable javascript|just a moment|`+
	`checking your browser|verify(?:ing)? (?:that )?you are (?:a )?human|please wait|\bloading(?:\.\.\.|…)|page not found|404 not found|access denied|`+
	`準備中|作成中|工事中|近日公開|しばらくお待ち|メンテナンス中|読み込み中|`+
	`javascript(?:を|が)(?:有効|無効|オン|オフ)|ページが見つかりません|ページは存在しません|お探しのページ`),
	"coming soon|under construction|under maintenance|being prepared|will be published|will be available|javascript|just a moment|"+
		"checking your browser|verify|please wait|loading|page not found|404 not found|access denied|"+
		"準備中|作成中|工事中|近日公開|しばらくお待ち|メンテナンス中|読み込み中|ページが見つかりません|ページは存在しません|お探しのページ")

// stub is a sort of page that stands in the place of an article.
type stub struct {
	// words are what such a page says to its reader. News about such pages speak of them otherwise, or
	// quote them, and quotations do not count.
	words phrases.Guarded
	// rest is how much ink there is at most beside the sentences with those words.
	rest int
	// is are what it is.
	is string
}

// gateWords are what a page says to whom it does not show the article.
const gateWords = `この(?:記事|ページ|コンテンツ|続き|先)(?:の続き|の全文)?(?:は|を).{0,20}(?:会員|有料|購読|定期購読|ログイン)|` +
	`(?:続き|全文|この先)(?:を|は).{0,12}(?:読む|お読み|ご覧|閲覧|ログイン|会員).{0,12}(?:には|ください|いただけます|のみ|限定|必要)|` +
	`残り\s*[0-9０-９,，]+\s*(?:文字|字)|` +
	`(?:subscribe|sign up|register|log ?in|sign in|join)(?: now| today)? to (?:continue|keep|read|unlock)|` +
	`(?:subscribe|sign up|register|log ?in|sign in|join|logged in)(?: now| today)? ` +
	`to (?:access|view|see|read) (?:this|the|our|full|all).{0,20}(?:article|story|content|post|page|text)|` +
	`to (?:continue|keep) reading(?:,| this| the (?:rest|full)|$)|` +
	`(?:this|the rest of this|the full) (?:article|story|content|post|page) is (?:only |exclusively )?(?:available |reserved )?` +
	`(?:only |exclusively )?(?:for|to) (?:our )?(?:paying |paid |registered )?(?:subscribers|members|users)|` +
	`you(?:'|’| ha)ve (?:reached|used|read) (?:your|all|the).{0,30}(?:limit|free articles)`

// gateSigns are what gateWords need.
const gateSigns = "会員|有料|購読|ログイン|続きを|続きは|全文を|全文は|この先を|この先は|残り|" +
	"subscribe|sign up|register|log in|login|logged in|sign in|join|to continue reading|to keep reading|members|users|limit|free articles"

// loginWords are what a form to log in says.
var loginWords = signs.Guard(regexp.MustCompile(`(?i)パスワード|ログイン(?:ID|してください|する|$)|ユーザー(?:名|ID)|新規(?:会員)?登録|`+
	`\bpassword\b|`+
	`^(?:log ?in|sign ?in|sign up|register|username|user name|e-?mail(?: address)?|remember me|create (?:an )?account)\b.{0,30}$|please (?:log|sign) in`),
	"パスワード|ログイン|ユーザー名|ユーザーid|新規登録|新規会員登録|password|log in|login|sign in|signin|sign up|register|username|user name|email|e-mail|"+
		"remember me|create account|create an account")

var stubs = []stub{
	{
		// The beginning of the article may stand before it.
		words: signs.Guard(regexp.MustCompile(`(?i)`+gateWords+
			`|^(?:有料(?:会員)?(?:限定)?(?:記事)?|会員限定(?:記事|コンテンツ)?|購読者限定(?:記事)?|登録会員限定)$|`+
			`(?:subscribe|sign up|register|log ?in|sign in|join)(?: now| today)? to (?:access|view)|`+
			`already (?:a |have a |an? )?(?:subscriber|subscription|member|account)\b.{0,12}\?|^(?:subscribers?|members?)[- ]only(?: (?:article|content))?$`),
			gateSigns+"|already |member"),
		rest: 400, is: "a notice for those who have not subscribed or logged in",
	},
	{
		words: loginWords,
		rest:  60, is: "a form to log in",
	},
	{
		words: signs.Guard(regexp.MustCompile(`(?i)cookie|クッキー|\bconsent\b|privacy (?:policy|settings)|プライバシー(?:ポリシー|設定)|^(?:accept|reject|agree|同意)`),
			"cookie|クッキー|consent|privacy policy|privacy settings|プライバシーポリシー|プライバシー設定|accept|reject|agree|同意"),
		rest: 60, is: "a notice about cookies",
	},
	{
		words: signs.Guard(regexp.MustCompile(`(?i)(?:the|this|that) (?:page|article|content|url)(?: that)?(?: you(?:'re|’re| are| were| have)? ?(?:looking for|requested|trying to (?:access|reach|view)))?,? (?:may have been |has been |was |is |could |can ?|does ?|might have been )?(?:not|no longer|n['’]t|moved|removed|deleted|expired)|`+
			`\b404\b|go(?: back)? to (?:the |our )?home ?page|use (?:the|our) search|`+
			`お探しの(?:ページ|記事|コンテンツ)|指定された(?:ページ|URL|記事|アドレス)|(?:ページ|記事)(?:は|が)(?:存在しま|見つかりま|削除さ|移動し)|`+
			`(?:掲載|公開|配信)(?:期間)?(?:は|が|を)終了(?:し|いた)|URLを?(?:ご?確認|お確かめ)|トップページ(?:から|へ)`),
			"the page|this page|that page|the article|this article|that article|the content|this content|that content|the url|this url|that url|"+
				"404|homepage|home page|use the search|use our search|お探しの|指定された|ページは|ページが|記事は|記事が|終了|url|トップページ"),
		rest: 60, is: "a notice that there is no such page",
	},
	{
		words: signs.Guard(regexp.MustCompile(`(?i)javascript|ジャバスクリプト|(?:supported|modern|different|推奨) ?(?:browser|ブラウザ)|ブラウザ(?:の設定|ー?をご)|ad ?blocker|広告ブロック`),
			"javascript|ジャバスクリプト|browser|ブラウザ|adblocker|ad blocker|広告ブロック"),
		rest: 60, is: "a notice about the browser",
	},
	{placeholder, 100, "a placeholder"},
}

// quotes are the marks that begin and end what somebody else says.
var quotes = map[rune]string{'「': "」", '『': "』", '“': "”", '"': "\""}

// replaceQuoted replaces what somebody else says in a text. A straight quotation mark ends on its line. It looks for no end again that
// is not there: a page may be made of marks that begin.
func replaceQuoted(text string, replace func(quoted string) string) string {
	var out strings.Builder
	copied := 0
	endless := map[rune]bool{}
	for at, r := range text {
		end, begins := quotes[r]
		if !begins || at < copied || endless[r] {
			continue
		}
		said := text[at+utf8.RuneLen(r):]
		if r == '"' {
			if stop := strings.IndexAny(said, "\"\n"); stop >= 0 {
				if said[stop] == '\n' {
					continue
				}
				said = said[:stop+1]
			}
		}
		length := strings.Index(said, end)
		if length < 0 {
			endless[r] = true
			continue
		}
		until := at + utf8.RuneLen(r) + length + len(end)
		out.WriteString(text[copied:at])
		out.WriteString(replace(text[at:until]))
		copied = until
	}
	out.WriteString(text[copied:])
	return out.String()
}

// ink is how much of a text leaves ink, in narrow characters.
func ink(text string) int {
	ink := 0
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
		case isWide(r):
			ink += 2
		default:
			ink++
		}
	}
	return ink
}

// isArticle reports whether a text from a page is an article: it has some length, and does not stand in the
// place of one.
func isArticle(text string) bool {
	total := ink(text)
	return total >= minArticle && (total > maxPlaceholder || !placeholder.In(text, signs.Find(strings.ToLower(text)))) && StubOf(text) == ""
}

// StubOf returns what a text is that stands in the place of an article; empty where it does not.
func StubOf(text string) string {
	if ink(text) > maxStub {
		return ""
	}
	text = replaceQuoted(text, func(found string) string { return strings.Repeat("x", ink(found)) })
	type sentence struct {
		text  string
		ink   int
		signs phrases.Set
	}
	var all []sentence
	for line := range strings.Lines(text) {
		for tokens := sentences.FromString(line); tokens.Next(); {
			text := strings.TrimSpace(tokens.Value())
			all = append(all, sentence{text, ink(text), signs.Find(strings.ToLower(text))})
		}
	}
	for _, stub := range stubs {
		rest, found := 0, false
		for _, sentence := range all {
			if stub.words.In(sentence.text, sentence.signs) {
				found = true
			} else {
				rest += sentence.ink
			}
		}
		if found && rest <= stub.rest {
			return stub.is
		}
	}
	return ""
}
