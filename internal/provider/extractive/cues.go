// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package extractive

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/internal/phrases"
	"github.com/feed-operator/feed-operator/internal/prose"
)

// What a sentence is worth for its words, beside what they have in common with the article (the cue method of
// H. P. Edmundson, New Methods in Automatic Extracting, 1969).
var (
	// telling are words that come with what happened, what came of it, and what is to be done.
	telling = vocabulary.Words("announced|decided|agreed|voted|approved|rejected|has developed|have developed|found that|was caused by|were caused by|" +
		"caused by|exploited|attacker|install|upgrade to|update to|switched off|must|refunded|compared with|" +
		"instead of|as a consequence|no workaround|replaces|was lost|were lost|were stolen|leaked|killed|injured|" +
		"stop using|full refund|dismisses|dismissed|upheld|overturned|overturns|quashed|unlawful|acquitted|sentenced|" +
		"棄却|却下し|違法|違憲|有罪|無罪|言い渡し|使用を中止|回収し|" +
		"決めた|決定し|合意し|発表し|開発しました|開発した|開始し|始めた|可決し|命じた|公開しました|悪用|実行でき|読み取れ|更新してください|中止してください|" +
		"返金|結果として|なりました|減りました|増えました|短縮し|判明し|失敗しました|見込み|方針|廃止した|追加し|加わり|目玉は|おそれがあ|可能性があ|寄せられ|失われ|流出し|漏えいし")
	// phatic are words to the reader, of thanks, of excuse and of pride, which say nothing of the matter.
	phatic = vocabulary.Words("excited to|thrilled|we are proud|proud day|proud to|delighted|pleased to announce|are pleased to|happy to announce|" +
		"happy to publish|happy to share|we are happy|honoured to|honored to|thank you|thanks to everyone|thanks to all|special thanks|many thanks|for reporting|" +
		"grateful|apologise|apologize|we are sorry|we're sorry|extremely seriously|very seriously|let you down|here is what|here's what|" +
		"stay tuned|join us|let us know|want to hear from|love to hear|tell us|we encourage|we hope|feel free|incident has been resolved|incident affected:|" +
		"being implemented|monitoring the results|currently investigating|we are looking into|we are hiring|we're hiring|discuss this|in this post|" +
		"let's get into|let's get started|let's dive|we will explain|important milestone|from all over the world|download it from|from our website|on our website|" +
		"ありがとうござい|お詫び|おわび|ご迷惑|ご心配|ご不便|よろしくお願い|いかがお過ごし|感謝いたし|感謝します|お気軽に|募集して|お知らせいたします|お知らせします|" +
		"ご報告いたします|御礼申し上げ|お慶び|お待ちしてい|お待ちしており|この記事は|本記事は|話をします|紹介します|ご紹介|詳しくは|次回の記事|助成を受け|支援を受けて行|調整を行いました|将来に関する|ご愛顧|お楽しみに")
	// secondhand are the words around what somebody said.
	// In Japanese, the title of a work stands in the same brackets, and is followed by another particle.
	secondhand = regexp.MustCompile(`^["“][^"”]{15,}["”]|^[「『][^」』]{4,}[」』](?:$|[。、と 　])`)
	introduces = regexp.MustCompile(`^[^、。]{2,24}の\p{Han}{1,4}です。$`)
)

// cues is the factor for the words of a sentence.
func (s *sentence) cues() float64 {
	factor := 1.0
	if s.has(telling) {
		factor *= 1.25
	}
	if isQuote(s.text) {
		factor *= 0.4
	}
	return factor
}

// isPhatic reports whether a sentence speaks to the reader, of thanks or of pride or of who writes.
func (s *sentence) isPhatic() bool {
	return s.has(phatic) || strings.HasSuffix(s.text, "です。") && introduces.MatchString(s.text)
}

// ofSelf is how who writes in Japanese speaks of himself.
var ofSelf = vocabulary.Words("私は|私が|私も|私の|私に|私を|僕は|僕が|僕も|僕の|俺は|俺の|わたしは|わたしが|わたしも|ぼくは|ぼくの")

// isOfSelf reports whether who writes speaks of himself. Without a figure that is a story from his life, which a recipe or a report is
// told after.
func (s *sentence) isOfSelf() bool {
	for word := range strings.FieldsSeq(s.text) {
		switch strings.TrimRight(word, ".,;:!?") {
		case "I", "I'm", "I’m", "I've", "I’ve", "My", "my", "Me", "me":
			return true
		}
	}
	return s.has(ofSelf)
}

// isQuote reports whether a sentence is what somebody said, in the first place.
func isQuote(text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	switch first {
	case '"', '“', '「', '『', '«':
	default:
		return false
	}
	return first == '«' || secondhand.MatchString(text)
}

// reference is the number of a note or a paragraph, which is no figure of what a sentence says.
var reference = regexp.MustCompile(`[\[［][0-9０-９]{1,3}[\]］]`)

// facts returns how much of a sentence are figures, from 0 to 1: three of them are as good as more.
func facts(text string) float64 {
	const enough = 3
	if strings.Contains(text, "[") || strings.Contains(text, "［") {
		text = reference.ReplaceAllString(text, "")
	}
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

// Headings tell what is below them: what came of it all, what counts, what is going on just now and soon is not, what was before.
var (
	ofWeight = phrases.Parse("solution|remedy|hazard|incidents|mitigation|workaround|remediation|impact|cause|root cause|what happened|results|findings|" +
		"summary|fix|what we found|resolution|対策|影響|原因|結果|概要|脆弱性の内容|まとめ|詳細情報|修正")
	ofOutcome = phrases.Parse("main points|key points|key findings|key facts|highlights|at a glance|judgment|judgement|decision|ruling|verdict|outcome|" +
		"conclusion|結論|判決|主文|要旨|要点|ポイント")
	ofStage      = phrases.Parse("investigating|monitoring|調査中|対応中|確認中|監視中")
	ofBackground = phrases.Parse("background|history|context|introduction|method|methods|methodology|data sources|line-ups|" +
		"背景|経緯|はじめに|調査の概要|調査概要|調査方法")
	ofCourtesy = phrases.Parse("credit|credits|acknowledgements|acknowledgments|acknowledgement|timeline|references|thanks|" +
		"謝辞|参考|参考情報|更新履歴")
)

// runInHeading stands before the first sentence of a paragraph, in bold letters on its page: "Impact: Anybody can …". It is no part
// of the sentence, as a list's mark is not. Only words are known that are headings everywhere: what else stands before a colon may
// be who speaks. A date after it says when the paragraph was added.
var runInHeading = beginning{regexp.MustCompile(`^((?:Update|Overview|Summary|Background|Description|Details|Hazard|Incidents(?:/Injuries)?|Impact|Cause|Root cause|Remedy|Solution|` +
	`Mitigation|Workaround|Resolution|Results?|Conclusion|更新|追記|概要|背景|経緯|対象|影響|原因|対策|対応|回避策|結果|結論) ?)` +
	`(?:[(（][^()（）]{1,30}[)）])?[:：] *(?:(?:[0-9０-９]{4}年)?[0-9０-９]{1,2}月[0-9０-９]{1,2}日(?:追記)?[ 　:：]+)?`), []string{
	"up", "ov", "su", "ba", "de", "ha", "in", "im", "ca", "ro", "re", "so", "mi", "wo", "co", "更", "追", "概", "背", "経", "対", "影", "原", "回", "結",
}}

// runIn takes such a heading off a block that goes on after it. It returns "" and the block where there is none.
func runIn(block string) (heading, rest string) {
	if !runInHeading.of(block, prose.ToLower(firstRunes(block, 8))) {
		return "", block
	}
	found := runInHeading.expression.FindStringSubmatch(block)
	if rest = block[len(found[0]):]; rest == "" {
		return "", block
	}
	return strings.TrimSpace(found[1]), rest
}

// roman is the number of a heading.
var roman = regexp.MustCompile(`^[IVX]{1,4}\. +`)

// section returns the factor for what is below a heading.
func section(heading string) float64 {
	if strings.ContainsAny(firstRunes(heading, 1), "IVX") {
		heading = roman.ReplaceAllString(heading, "")
	}
	heading = prose.ToLower(stripMarker(heading))
	short := utf8.RuneCountInString(heading) < 16
	switch {
	case ofCourtesy.Begins(heading):
		return 0.3
	case ofBackground.Begins(heading), short && ofBackground.In(heading):
		return 0.8
	case ofStage.Begins(heading):
		return 0.6
	case ofOutcome.Begins(heading), short && ofOutcome.In(heading):
		return 1.5
	case ofWeight.Begins(heading), short && ofWeight.In(heading):
		return 1.2
	}
	return 1
}
