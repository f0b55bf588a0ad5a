// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package extractive

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/internal/prose"
)

// What stands around an article on its page, or at its end, and says nothing about it. Blocks and
// sentences are matched in their own spelling, and with full-width digits as they are.
var (
	// byline is noise only without a full stop: "By 2030, diesel buses will be gone." is prose.
	byline = beginning{
		regexp.MustCompile(`(?i)^(?:by|posted by|written by|reporting by|editing by|photo(?:graph)? by)\s`),
		[]string{"by", "posted", "written", "reporting", "editing", "photo"},
	}

	// Lines and sentences that begin like these four are never part of the prose: with what they are, with when the page was written,
	// with what its visitor is to do; and all that in Japanese. As one, they would be too long for the quicker way to match them, which
	// package regexp has for expressions of up to 500 instructions.
	label = beginning{regexp.MustCompile(`(?i)^(?:` +
		`(?:author|source|photo|image|credit|caption|date|share|tags?|filed under|categories|related|topics|see also)\s*:|` +
		`notes?(?: to editors?)?\s*:|` +
		`(?:figure|fig\.|table|exhibit|photo|image)\s*\d|` +
		`(?:(?:media|press|investor)\s+)?(?:contacts?|enquiries|inquiries|relations)\s*:|(?:phone|tel|fax|e-?mail|mobile)\b\.?\s*[:：]|` +
		`©|\(c\)\s|copyright\s*(?:©|\(c\)|\d)` +
		`)`), []string{
		"author", "source", "photo", "phone", "image", "credit", "caption", "date", "share", "tag", "filed", "categor", "relat", "topic", "see al", "note",
		"figure", "fig.", "table", "exhibit", "media", "pre", "inve", "contact", "enquir", "inquir", "tel", "fax", "e-mail", "email", "mobile",
		"©", "(c)", "copyright",
	}}
	dated = beginning{regexp.MustCompile(`(?i)^(?:posted|published|updated|last (?:updated|modified|reviewed))\b.{0,60}$`), []string{
		"posted", "publi", "updated", "last u", "last m", "last r",
	}}
	invitation = beginning{regexp.MustCompile(`(?i)^(?:` +
		`(?:share|tweet|pin|print|email) (?:this|on (?:facebook|twitter|x|linkedin|mastodon))\b|` +
		`(?:sign up|subscribe|follow us|register now|join us|click|(?:to )?learn more)\b|` +
		`you(?:['’]re| are) (?:reading|receiving) (?:this|the|our)\b|` +
		`did you (?:make|try) this\b|jump to (?:the )?(?:recipe|content|comments)\b` +
		`)`), []string{
		"share ", "tweet ", "pin ", "print ", "email ", "sign up", "sub", "follow u", "regi", "join u", "click", "to learn", "learn more",
		"you'", "you’", "you are", "did you", "jump to",
	}}
	japaneseLabel = beginning{regexp.MustCompile(`(?i)^(?:` +
		`(?:図表|図|表|写真|画像|グラフ)\s*[0-9０-９①-⑳]|(?:出典|出所|資料|写真|撮影|提供|文責|著者|執筆者?|記者|編集|タグ|カテゴリー?|関連記事|関連リンク)\s*[:：]|` +
		`(?:公開日|更新日|掲載日|発表日|最終更新日?|投稿日)|※|[（(]?注[0-9０-９）):：]|` +
		`(?:照会先|連絡先|担当|電話|ＴＥＬ|TEL|ＦＡＸ|FAX|メール|お?問い?合わ?せ先?)\s*[:：】]` +
		`)`), []string{
		"図", "表", "写", "画", "グ", "出", "資", "撮", "提", "文", "著", "執", "記", "編", "タ", "カ", "関", "公", "更", "掲", "発", "最", "投", "※",
		"（", "(注", "注", "照", "連", "担", "電", "ｔｅｌ", "ｆａｘ", "tel", "fax", "メ", "お問", "問",
	}}

	// Sentences with one of these two in them speak to the visitor of the page, in English and in Japanese.
	toVisitor = vocabulary.Guard(regexp.MustCompile(`(?i)(?:`+
		`\bread more(?: (?:about|at|on|here)\b|[^a-z]*$)|\b(?:continue reading|keep reading|click here|`+
		`subscribe\b.{0,20}newsletter|all rights reserved|(?:our|see|read|to) (?:the |our )?(?:privacy policy|terms (?:of|and))|(?:site|we) uses? cookies|`+
		`your browser (?:does|is)|please enable javascript|leave a comment|thanks for reading|thank you for reading|`+
		`for (?:more|further|additional) (?:information|details)|please (?:contact|visit|see)|forward-looking statements?|`+
		`appeared first on|originally (?:appeared|published) (?:on|in|at)|affiliate (?:links?|commissions?))\b`+
		`)`), "read more|continue reading|keep reading|click here|newsletter|all rights reserved|privacy policy|terms of|terms and|use cookies|"+
		"uses cookies|your browser|enable javascript|leave a comment|for reading|for more |for further |for additional |please contact|please visit|"+
		"please see|forward-looking|appeared first on|originally appeared|originally published|affiliate ")
	toVisitorInJapanese = vocabulary.Guard(regexp.MustCompile(`(?i)(?:`+
		`続きを読む|もっと見る。?$|無断(?:転載|複製|での)|著作権は.{0,30}(?:帰属|属し)|シェア(?:する$|してくだ)|フォロー(?:してくだ|してね|をお願)|`+
		`(?:メルマガ|メールマガジン).{0,10}(?:登録|購読|配信中)|(?:会員|無料)登録(?:は|が必要|して)|`+
		`お?問い?合わ?せ(?:先|は|くだ|下さ|フォーム)|までご連絡|ご連絡(?:くだ|下さ)|ご(?:覧|参照|了承)(?:くだ|下さ|いた)|`+
		`ページの(?:先頭|トップ)|adobe.{0,30}(?:必要です|ダウンロード)|(?:cookie|クッキー)を(?:使用|利用)し|JavaScriptを有効|最後までお読み`+
		`)`), "続きを読む|もっと見る|無断|著作権は|シェアする|シェアして|フォローし|フォローを|メルマガ|メールマガジン|会員登録|無料登録|問い合わせ|問い合せ|問合わせ|問合せ|"+
		"ご連絡|ご覧|ご参照|ご了承|ページの先頭|ページのトップ|adobe|cookieを|クッキーを|javascriptを|最後までお読み")

	// Sentences that greet.
	greeting = beginning{regexp.MustCompile(`(?i)^(?:hi|hello|hey|welcome|greetings|happy \w+day|good (?:morning|evening))\b.{0,80}$|^(?:こんにちは|こんばんは|おはよう|はじめまして|お世話になって|いつも.{0,40}ありがとう|平素)`), []string{
		"hi", "hello", "hey", "welcome", "greetings", "happy", "good ", "こんにちは", "こんばんは", "おはよう", "はじめまして", "お世話に", "いつも", "平素",
	}}

	// creditLine is what blog software adds to a description that may be whole otherwise.
	creditLine = regexp.MustCompile(`(?i)^the post .{1,300} (?:appeared first on|first appeared on) .{1,200}$`)

	// A number of a telephone has six digits at least, after a mark of one three; and an address has an @.
	phone       = regexp.MustCompile(`[0-9０-９]{2,4}[-‐‑–−－ー][0-9０-９]{1,4}[-‐‑–−－ー][0-9０-９]{3,4}|[(（][0-9０-９]{2,5}[)）] ?[0-9０-９]{1,4}[-‐‑–−－ー][0-9０-９]{3,4}|[0-9０-９]{2,5}[(（][0-9０-９]{1,4}[)）][0-9０-９]{3,4}`)
	markedPhone = vocabulary.Guard(regexp.MustCompile(`(?i)\+[0-9]{1,3}[ (-]{1,2}[0-9]{2,}|(?:\b(?:tel|telefon|phone|fax)\b|電話|内線|ＴＥＬ|ＦＡＸ)[^0-9０-９]{0,6}[0-9０-９]{3}`),
		"+|tel|phone|fax|電話|内線|ｔｅｌ|ｆａｘ")
	email = vocabulary.Guard(regexp.MustCompile(`[A-Za-z0-9._%+-]+[@＠][A-Za-z0-9-]+\.[A-Za-z]`), "@|＠")

	// onlyDate is a line that holds nothing but a date: numbers and marks, and the words of dates.
	onlyDate = regexp.MustCompile(`(?i)^(?:\PL|[0-9](?:st|nd|rd|th)\b|\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|` +
		`mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:rs(?:day)?)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?|am|pm|utc|gmt|jst|[ecmp][sd]?t|at|on|of)\b|` +
		`令和|平成|昭和|西暦|年度?|月|日|時|分|午前|午後|曜|元|[（(][月火水木金土日祝・]+[）)])*$`)

	// sectionOfNoise is a heading below which a press release speaks of its sender.
	sectionOfNoise = beginning{
		regexp.MustCompile(`^(?:About (?:the )?\p{Lu}[\p{L}\d .,&'-]{0,60}|(?i:(?:safe harbor|forward-looking statements?|disclaimer|legal notice|related (?:articles|posts|links)|about the author).{0,40})|(?:会社概要|関連記事|関連リンク|免責事項))$`),
		[]string{"about ", "safe harbor", "forward-look", "disclaimer", "legal notice", "related ", "会社概要", "関連", "免責事項"},
	}
	// aboutCompany is the same in Japanese, where what it is about stands before.
	aboutCompany = regexp.MustCompile(`^(?:株式会社.{1,20}|.{1,20}株式会社)について$`)
)

// isNoise reports whether a sentence is not part of what the article says.
func (s *sentence) isNoise() bool {
	return isFurniture(s.text, s.lower) || toVisitor.In(s.text, s.found) || toVisitorInJapanese.In(s.text, s.found) || greeting.of(s.text, s.lower) ||
		s.size.digits >= 6 && mayHavePhone(s.text) && phone.MatchString(s.text) || s.size.digits >= 3 && markedPhone.In(s.text, s.found) || email.In(s.text, s.found)
}

// mayHavePhone is quicker than looking for a number: in each, a digit stands before a hyphen or a bracket.
func mayHavePhone(text string) bool {
	digit := false
	for _, r := range text {
		if digit {
			switch r {
			case '-', '‐', '‑', '–', '−', '－', 'ー', '(', ')', '（', '）':
				return true
			}
		}
		digit = r >= '0' && r <= '9' || r >= '０' && r <= '９'
	}
	return false
}

// captionMark stands before the paragraphs of captions in the text of a page, see package article.
const captionMark = "Caption: "

// isNoiseBlock reports whether a whole block is noise. A long paragraph is not lost for how it begins.
func isNoiseBlock(block string) bool {
	const longest = 200
	if strings.HasPrefix(block, captionMark) {
		return true
	}
	return len(firstRunes(block, longest)) == len(block) && isFurniture(block, prose.ToLower(firstRunes(block, longestPiece)))
}

// beginsNoise reports whether a heading begins a part of the page that is not about the matter.
func beginsNoise(heading string) bool {
	return sectionOfNoise.of(heading, prose.ToLower(firstRunes(heading, longestPiece))) ||
		strings.HasSuffix(heading, "について") && aboutCompany.MatchString(heading)
}

// isFurniture reports whether a text is what its beginning or its form shows not to be prose. Of the text in small letters, the
// beginning will do.
func isFurniture(text, lower string) bool {
	return label.of(text, lower) || dated.of(text, lower) || invitation.of(text, lower) || japaneseLabel.of(text, lower) ||
		byline.of(text, lower) && !prose.EndsSentence(text) || isBreadcrumb(text) || isOnlyDate(text)
}

// separatorsOfPaths, without one of which a text is no path: quotes are among them.
var separatorsOfPaths = []string{">", "|", "＞", "｜", "›", "→", "«", "»"}

// isBreadcrumb finds paths and menus: "Home > News > 2024", "最新情報 | 採用 | English".
func isBreadcrumb(text string) bool {
	const longest = 300
	if !slices.ContainsFunc(separatorsOfPaths, func(one string) bool { return strings.Contains(text, one) }) {
		return false
	}
	characters, separators, quotes := 0, 0, 0
	for _, r := range text {
		if characters++; characters > longest {
			return false
		}
		switch r {
		case '>', '＞', '|', '｜', '›', '→':
			separators++
		case '«', '»':
			quotes++
		}
	}
	return separators >= 2 || separators+quotes >= 2 && !prose.EndsSentence(text) // else they are quotes
}

func isOnlyDate(text string) bool {
	const longest, longestWord = 60, 10
	if len(text) > longest*utf8.UTFMax || text != "" && text[0] >= utf8.RuneSelf && hasLetterOfNoDate(text) { // the first letter tells it of most
		return false
	}
	size := utf8.RuneCountInString(text)
	return size <= longest && (size <= longestWord || strings.ContainsFunc(text, unicode.IsDigit)) && !hasLetterOfNoDate(text) && onlyDate.MatchString(text)
}

// hasLetterOfNoDate is quicker than trying onlyDate: beyond ASCII, no other letters than these are in words of dates. The long s is
// taken for an s where capitals are.
func hasLetterOfNoDate(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return r >= utf8.RuneSelf && (prose.IsCommonCJK(r) || unicode.IsLetter(r)) && !strings.ContainsRune("令和平成昭和西暦年度月日時分午前午後曜元火水木金土祝ſ", r)
	})
}
