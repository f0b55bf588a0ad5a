// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package extractive

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		language string
		block    string
		want     []string
	}{
		"where and when it was sent from": {
			"en", "SAN FRANCISCO, March 3, 2026 /NewsWire/ -- Acme is new. BERLIN (AP) — It rained. May 3, 2026 - It snowed.",
			[]string{"Acme is new.", "It rained.", "It snowed."},
		},
		"an item's number is not a sentence": {
			"en", "1. Install it. 2. Run it.",
			[]string{"Install it.", "Run it."},
		},
		"the text of a link that runs into a sentence": {
			"ja", "もっと見るその商品は青い。続きを読む　値段は安い。詳細はこちら→色は三つだ。",
			[]string{"その商品は青い。", "値段は安い。", "色は三つだ。"},
		},
		"words that are no text of a link": {
			"ja", "もっと見ると違いが分かる。続きを読むために買う。拡大する市場を調べた。",
			[]string{"もっと見ると違いが分かる。", "続きを読むために買う。", "拡大する市場を調べた。"},
		},
		"the text of an English link": {
			"en", "Read moreThe bridge is open. Learn more » It was closed. Read more books.",
			[]string{"The bridge is open.", "It was closed.", "Read more books."},
		},
		"full-width numbers": {
			"ja", "１．概要を示す。倍率は１．５倍だった。",
			[]string{"概要を示す。", "倍率は１．５倍だった。"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, split(test.block, test.language)); diff != "" {
				t.Errorf("sentences (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBlocks(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"paragraphs and lines are blocks":         {"Heading\nFirst paragraph.\n\nSecond  one.", "Heading|First paragraph.|Second one."},
		"a line that goes on with a small letter": {"The town said\nnothing.", "The town said nothing."},
		"hard-wrapped text is unwrapped": {
			"The agency said that it would open the bridge on\nMonday, although the work on its southern ramp is\nnot done.",
			"The agency said that it would open the bridge on Monday, although the work on its southern ramp is not done.",
		},
		"items stay apart": {
			"- A first item that is about as long as a line is wide\n- Another item that is about as long as a line is wide",
			"- A first item that is about as long as a line is wide|- Another item that is about as long as a line is wide",
		},
		"a heading stays apart from long lines": {
			"調査の結果について\n国土水資源庁は、全国の水系で河川の水位を予測する仕組みを始める。",
			"調査の結果について|国土水資源庁は、全国の水系で河川の水位を予測する仕組みを始める。",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := strings.Join(blocks(test.text), "|"); got != test.want {
				t.Errorf("blocks = %q, want %q", got, test.want)
			}
		})
	}
}

func TestIsNoise(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"Home > News > 2026":                       true,
		"最新情報 ｜ 採用 ｜ English":                      true,
		"« Older posts | Newer posts »":            true,
		"By Jane Calloway, Staff Writer":           true,
		"Posted by Tom on May 4, 2026":             true,
		"Last updated: 4 May 2026":                 true,
		"Share this: Twitter Facebook":             true,
		"Read more":                                true,
		"© 2026 Northwind Rail":                    true,
		"Copyright 2026 Northwind. No copies.":     true,
		"Call us at +1 503-555-0142 for a ticket.": true,
		"電話：03-0000-1234":                          true,
		"（代表電話）０３（０００）１２３４":                        true,
		"お問い合わせは広報室までお願いします。":                      true,
		"Figure 2: The new map of lines":           true,
		"図２　世帯数の推移":                                true,
		"令和８年３月12日（木）":                             true,
		"May 4th, 2026":                            true,
		"Tuesday, 4 May 2026 10:30 UTC":            true,
		"詳しくは、別紙をご覧ください。":                          true,
		"press@northwind.example":                  true,

		"By 2030, the city will have no diesel buses.":                  false,
		"Print on demand is growing fast in Europe.":                    false,
		"Copyright law is about to change in Europe.":                   false,
		"The regulator fined the firm over its privacy policy.":         false,
		"The game runs in your browser without a plugin.":               false,
		"The flaw is tracked as CVE-2026-99014 and was fixed in 2.7.4.": false,
		"Der Umsatz stieg auf 1.234.567 Euro im Jahr.":                  false,
		"Il a dit « oui » puis « non » devant la presse.":               false,
		"消費者センターへの問い合わせが前年の２倍に増えた。":                                     false,
		"著作権法の改正案が国会に提出された。":                                            false,
		"Adobe Acrobatの脆弱性が公表された。":                                      false,
		"表彰式は５月に東京で行われる。":                                               false,
		"高温になるため、取り扱いには十分ご注意ください。":                                      false,
	}
	for text, want := range tests {
		s := newSentence(text, 0)
		if got := s.isNoise(); got != want {
			t.Errorf("isNoise(%q) = %t, want %t", text, got, want)
		}
	}
}

func TestDetectLanguage(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"消費生活庁は、本日、販売停止を命じた。":                                          "ja",
		"Kubernetes v1.37 の Pod scheduling を改善しました。":                   "ja",
		"国家发展和改革委员会今天发布了新的政策。":                                         "zh",
		"정부는 오늘 새로운 정책을 발표했다.":                                         "ko",
		"The word カワイイ has been in English dictionaries for some time": "en",
		"Die Stadtwerke senken zum ersten Oktober den Preis für Wärme": "de",
		"12345": "",
	}
	for text, want := range tests {
		if got := detectLanguage(text); got != want {
			t.Errorf("detectLanguage(%q) = %q, want %q", text, got, want)
		}
	}
}
