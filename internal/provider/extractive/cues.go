// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package extractive

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What a sentence is worth for its words, beside what they have in common with the article (the cue method of
// H. P. Edmundson, New Methods in Automatic Extracting, 1969).
var (
	// telling are words that come with what happened, what came of it, and what is to be done.
	telling = list("announced|decided|agreed|voted|approved|rejected|has developed|have developed|found that|was caused by|were caused by|" +
		"caused by|exploited|attacker|install|upgrade to|update to|switched off|must|refunded|compared with|" +
		"instead of|as a consequence|no workaround|replaces|was lost|were lost|were stolen|leaked|killed|injured|" +
		"決めた|決定し|合意し|発表し|開発しました|開発した|開始し|始めた|可決し|命じた|公開しました|悪用|実行でき|読み取れ|更新してください|中止してください|" +
		"返金|結果として|なりました|減りました|増えました|短縮し|判明し|失敗しました|見込み|方針|廃止した|追加し|加わり|目玉は|おそれがあ|可能性があ|寄せられ|失われ|流出し|漏えいし")
	// phatic are words to the reader, of thanks, of excuse and of pride, which say nothing of the matter.
	phatic = list("excited to|thrilled|we are proud|proud day|proud to|delighted|pleased to announce|are pleased to|happy to announce|happy to publish|" +
		"happy to share|we are happy|honoured to|honored to|thank you|thanks to everyone|thanks to all|special thanks|many thanks|for reporting|grateful|" +
		"apologise|apologize|we are sorry|we're sorry|extremely seriously|very seriously|let you down|here is what|here's what|" +
		"stay tuned|join us|let us know|tell us|we encourage|we hope|feel free|incident has been resolved|incident affected:|" +
		"being implemented|monitoring the results|currently investigating|we are looking into|we are hiring|we're hiring|discuss this|in this post|" +
		"we will explain|important milestone|from all over the world|download it from|" +
		"ありがとうござい|お詫び|おわび|ご迷惑|ご心配|ご不便|よろしくお願い|いかがお過ごし|感謝いたし|感謝します|お気軽に|募集して|お知らせいたします|お知らせします|" +
		"ご報告いたします|御礼申し上げ|お慶び|お待ちしてい|話をします|紹介します|ご紹介|詳しくは|次回の記事|助成を受け|支援を受けて行|調整を行いました|将来に関する|ご愛顧|お楽しみに")
	// secondhand are the words around what somebody said.
	// In Japanese, the title of a work stands in the same brackets, and is followed by another particle.
	secondhand = regexp.MustCompile(`^["“][^"”]{15,}["”]|^[「『][^」』]{4,}[」』](?:$|[。、と 　])`)
	introduces = regexp.MustCompile(`^[^、。]{2,24}の\p{Han}{1,4}です。$`)
)

// cues is the factor for the words of a sentence.
func cues(text, lower string) float64 {
	factor := 1.0
	if telling.in(lower) {
		factor *= 1.25
	}
	if isQuote(text) {
		factor *= 0.4
	}
	return factor
}

// isPhatic says whether a sentence speaks to the reader, of thanks or of pride or of who writes.
func isPhatic(text, lower string) bool {
	return phatic.in(lower) || strings.HasSuffix(text, "です。") && introduces.MatchString(text)
}

// isQuote says whether a sentence is what somebody said, in the first place.
func isQuote(text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	switch first {
	case '"', '“', '「', '『', '«':
	default:
		return false
	}
	return first == '«' || secondhand.MatchString(text)
}

// facts says how much of a sentence are figures, from 0 to 1: three of them are as good as more.
func facts(text string) float64 {
	const enough = 3
	count, inNumber := 0, false
	for _, r := range text {
		digit := unicode.IsDigit(r)
		if digit && !inNumber {
			count++
		}
		inNumber = digit || inNumber && strings.ContainsRune(".,:", r)
	}
	return float64(min(count, enough)) / enough
}

// Headings tell what is below them.
var (
	ofWeight = list("solution|mitigation|workaround|remediation|impact|cause|root cause|what happened|results|findings|summary|fix|" +
		"what we found|resolution|対策|影響|原因|結果|要点|ポイント|脆弱性の内容|まとめ|詳細情報|修正")
	ofCourtesy = list("investigating|monitoring|resolved|credit|credits|acknowledgements|acknowledgments|acknowledgement|timeline|references|thanks|" +
		"謝辞|参考|参考情報|更新履歴")
)

// section returns the factor for what is below a heading.
func section(heading string) float64 {
	heading = strings.ToLower(stripMarker(heading))
	switch {
	case ofCourtesy.begin(heading):
		return 0.3
	case ofWeight.begin(heading), ofWeight.in(heading) && utf8.RuneCountInString(heading) < 16:
		return 1.2
	}
	return 1
}
