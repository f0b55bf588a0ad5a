// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package extractive

import (
	"strings"
	"testing"

	"github.com/feed-operator/feed-operator/internal/prose"
	"github.com/feed-operator/feed-operator/internal/provider"
)

// R2.9: a summary reads well by itself: it begins with the news, and speaks of nothing that only the article explains.
func TestGenerateReadsWellByItself(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		title, text string
		limit       int
		wantBegin   string
		wantAll     []string
		wantNone    []string
	}{
		"a first sentence that is longer than there is room is cut at a clause, not dropped": {
			title: "Regulator fines Mobilis",
			text: "The regulator on Monday fined the mobile operator Mobilis 31 million pounds, the highest penalty it has imposed so far, because the " +
				"company had hidden from its customers for eleven months that intruders had copied their names, addresses, dates of birth and bank details " +
				"from a server that a contractor had forgotten to switch off when the tests of a new billing system were over. " +
				"Shares of the company fell by 6 percent on Monday.",
			limit:     240,
			wantBegin: "The regulator on Monday fined the mobile operator Mobilis 31 million pounds, the highest penalty it has imposed so far…",
			wantAll:   []string{"Shares of the company fell by 6 percent"},
		},
		"and so is a Japanese one": {
			title: "丸星が産地偽装で社長辞任",
			text: "食品大手の丸星は二十九日、輸入した魚を国産と偽って出荷していた問題の報告書がまとまったことを受けて、社長の辞任を発表するとともに、" +
				"偽装が見つかった四十一の商品について、代金の全額を購入した人に返す方針を明らかにした。\n\n返金の受け付けは七月一日に店頭で始まる。",
			limit:     80,
			wantBegin: "食品大手の丸星は二十九日、輸入した魚を国産と偽って出荷していた問題の報告書がまとまったことを受けて、社長の辞任を発表するとともに…",
		},
		"the first of several is not spoken of where they were not announced": {
			title: "Quill 3.8.2 released",
			text: "We are happy to publish Quill 3.8.2 today, and hope that you like it.\n\n" +
				"The first security fix in Quill 3.8.2 concerns nested tables. A document with 3,000 tables within each other made Quill use all memory of the machine.",
			limit:    400,
			wantAll:  []string{"A document with 3,000 tables"},
			wantNone: []string{"The first security fix"},
		},
		"nor is a thing that another sentence told of": {
			title: "Council drops plan for car park on the green",
			text: "The council on Wednesday dropped the plan for a car park on the green of Millfield after two years of quarrel with its residents and their lawyers.\n\n" +
				"A retired teacher had started a petition at her kitchen table in the spring of the year before, and took it from door to door on her bicycle.\n\n" +
				"The petition on the car park was signed by 4,000 people.\n\nThe 90 places will be made at the disused cattle market instead.",
			limit:    260,
			wantAll:  []string{"The council on Wednesday", "cattle market"},
			wantNone: []string{"The petition"},
		},
		"nor a graph": {
			title: "最低賃金、全国平均1240円に",
			text: "労働条件審議会は４日、最低賃金を全国平均で1240円とすることを決めた。\n\n上のグラフは、最低賃金の全国平均の1240円までの推移を示している。\n\n" +
				"政府は賃上げに取り組む企業への助成金を３割増やす方針だ。",
			limit:    400,
			wantAll:  []string{"決めた。", "助成金を３割増やす"},
			wantNone: []string{"グラフ"},
		},
		"captions are no sentences of the article": {
			title: "Barrier of Kellmouth held back the tide",
			text: "Caption: Waves break over the outer wall of the barrier of Kellmouth at midnight. The tide was the highest in forty years.\n\n" +
				"The new barrier of Kellmouth was closed on Tuesday night and kept the tide out of the old town.",
			limit:     400,
			wantBegin: "The new barrier of Kellmouth was closed",
			wantNone:  []string{"Waves break", "highest"},
		},
		"the text of a link is no part of the next sentence": {
			title:    "水を使わないトイレを発売",
			text:     "ミナモトは６月１日、水を使わないトイレを全国で発売する。もっと見るその商品は、５月１日から予約を受け付ける。\n\n続きを読む商品の重さは９．８キロで、一人で運べる。",
			limit:    400,
			wantAll:  []string{"全国で発売する。その商品は、", "商品の重さは９．８キロ"},
			wantNone: []string{"もっと見る", "続きを読む"},
		},
		"nor in English": {
			title:    "Inkwell 2.11 checks spelling in the background",
			text:     "Inkwell 2.11 checks spelling in the background, which keeps long documents fluent. Read moreThe dictionaries for Dutch and Welsh are new in this version.",
			limit:    400,
			wantAll:  []string{"The dictionaries for Dutch"},
			wantNone: []string{"Read more"},
		},
		"a sentence ends with what was said, though the next begins like a particle": {
			title: "青野市で断水",
			text: "青野市の水道管が６日に破裂し、二千八百世帯が断水した。給水所に並んだ女性は「お風呂に入れないのがつらい。」" +
				"もっとも、市は七日の夕方までに水道管を直し、断水を終える見込みだという。",
			limit:    400,
			wantAll:  []string{"青野市の水道管が６日に破裂し"},
			wantNone: []string{"」もっとも"},
		},
		"a scene before the news is left out": {
			title: "Library of Holloway lends out sewing machines",
			text: "On a grey Thursday afternoon, Pat Menzies is kneeling on the floor with a screwdriver between her teeth. In front of her lies a drill that has come back without its battery.\n\n" +
				"The library of Holloway began to lend out sewing machines and other tools two years ago. They were borrowed 9,600 times last year.",
			limit:     400,
			wantBegin: "The library of Holloway began to lend out",
		},
		"words of thanks and excuse are left out": {
			title: "コード決済が利用できない状況について",
			text: "いつもコード決済をご利用いただき、誠にありがとうございます。コード決済の障害により、ご不便をおかけしましたことを深くお詫び申し上げます。\n\n" +
				"全国の加盟店で、コード決済による支払いの約６割が失敗しました。残高が減った事例が約１万件あり、全額を返金します。",
			limit:     400,
			wantBegin: "全国の加盟店で、",
			wantNone:  []string{"お詫び", "ありがとう"},
		},
		"numbers of items are no part of them": {
			title:     "防災備蓄に関する調査の結果",
			text:      "結果のポイント\n\n1 防災備蓄として飲料水を備えている家庭は４８％に増えました。\n\n2 備蓄をしていない理由は、置く場所がないことが最も多くなりました。",
			limit:     400,
			wantBegin: "防災備蓄として",
			wantNone:  []string{"2 備蓄"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			response, err := New().Generate(t.Context(), provider.Request{Title: test.title, Text: test.text, MaxCharacters: test.limit})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(response.Summary, test.wantBegin) || prose.Count(response.Summary) > test.limit {
				t.Errorf("summary = %q, want it to begin with %q and to fit %d characters", response.Summary, test.wantBegin, test.limit)
			}
			for _, want := range test.wantAll {
				if !strings.Contains(response.Summary, want) {
					t.Errorf("summary = %q, want %q in it", response.Summary, want)
				}
			}
			for _, unwanted := range test.wantNone {
				if strings.Contains(response.Summary, unwanted) {
					t.Errorf("summary = %q, want no %q in it", response.Summary, unwanted)
				}
			}
		})
	}
}

func TestCutAtClause(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text  string
		limit int
		want  string
	}{
		"one that fits stays whole":              {"It rained all day.", 30, "It rained all day."},
		"before the last clause that does not":   {"The bridge was closed on Monday, because a pillar had moved by two metres.", 50, "The bridge was closed on Monday…"},
		"not within a list where a clause ended": {"The bridge was closed on Monday, because red, green and blue paint fell off.", 50, "The bridge was closed on Monday…"},
		"at a comma where no clause ends":        {"The bridge over the river Arden, closed since Monday and for the whole of June.", 40, "The bridge over the river Arden…"},
		"between words where too much would go":  {"Today, the bridge over the river Arden was closed.", 40, "Today, the bridge over the river Arden…"},
		"after a clause that just fits":          {"The bridge was closed, and nobody knew.", 22, "The bridge was closed…"},
		"a Japanese clause":                      {"橋脚が二メートル動いたため、橋は月曜日から、六月末まで通れない。", 25, "橋脚が二メートル動いたため…"},
		"a Japanese comma":                       {"月曜日から六月の終わりまでの間、橋は通行止めとなる。", 20, "月曜日から六月の終わりまでの間…"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := cutAtClause(test.text, test.limit); got != test.want || prose.Count(got) > test.limit {
				t.Errorf("cut = %q, want %q", got, test.want)
			}
		})
	}
}
