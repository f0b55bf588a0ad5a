// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package extractive

import (
	"strings"
	"testing"

	"github.com/feed-operator/feed-operator/internal/prose"
	"github.com/feed-operator/feed-operator/internal/provider"
)

// R2.9: pages that are no plain news have forms of their own: recipes, judgments, incidents, recalls, interviews, results of matches.
func TestGenerateKnowsKindsOfPages(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		title, text string
		limit       int
		wantBegin   string
		wantAll     []string
		wantNone    []string
	}{
		"the news may be joined to a scene before it": {
			title: "Adeyemi wins the Shield for Fenwick Town",
			text: "For a quarter of an hour the blue end had done nothing but watch the clock, and some had begun to pull on their coats.\n\n" +
				"Then Adeyemi scored twice in nine minutes, the second in stoppage time, and Fenwick Town, a club that was in administration, had won the Shield.\n\n" +
				"Danny Marsh headed them in front from a corner after 12 minutes, and after Callum Reid had levelled from 25 yards, Erik Olsson " +
				"restored the lead for Fenwick Town in minute 67, when the captain of Fenwick was sent off.",
			limit:     220,
			wantBegin: "Then Adeyemi scored twice",
		},
		"news that begin with the news are told as they begin": {
			title: "Kestrel 2 rocket fails on first flight",
			text: "WINDHOEK COAST — The first flight of the Kestrel 2 rocket ended in failure on Friday when its second stage shut down 74 seconds early. " +
				"Nobody was hurt. Three satellites, of which one was built by students, were lost.\n\n" +
				"The rocket of Arrowline had lifted off at 06:12 after 2 delays, and its first stage landed 310 kilometres from the coast.\n\n" +
				"Kestrel 2 can carry 1.8 tonnes to a low orbit for 12 million dollars, and 9 flights are sold.",
			limit:     260,
			wantBegin: "The first flight of the Kestrel 2 rocket",
			wantAll:   []string{"Nobody was hurt."},
		},
		"and that there is no danger, in a paragraph of its own": {
			title: "Corbel reservoir lowered after crack is found in dam",
			text: "Engineers began to lower the Corbel reservoir on Monday after divers found a crack 14 meters long in the dam.\n\n" +
				"There is no danger to the 8,500 people who live below it, the agency said, and nobody has been told to leave.\n\n" +
				"The water will be brought down by six meters within ten days.\n\n" +
				"The structure was completed in 1964 and supplies water to about 410,000 people in three counties.",
			limit:   235,
			wantAll: []string{"Engineers began", "There is no danger"},
		},
		"that it is the first of its kind is in the first paragraph, too": {
			title: "アルツハイマー病の新薬候補、進行を4割遅らせる　東都製薬が治験結果",
			text: "東都製薬は28日、開発中のアルツハイマー病の治療薬について、病気の進行を41％遅らせる効果を確かめたと発表した。" +
				"国内外の早期の患者1,740人が参加した最終段階の治験の結果で、年内に日米欧で承認を申請する。飲み薬でこれほどの効果が示されたのは初めてという。\n\n" +
				"治験では、薬を飲んだ患者と偽薬を飲んだ患者を18カ月にわたって比べた。\n\n" +
				"既存の点滴薬では、脳のむくみの副作用が12～24％の患者に起きている。",
			limit:   165,
			wantAll: []string{"初めてという。"},
		},
		"the first paragraph is not left for the sentence in it that is most like the title": {
			title: "記録的大雨、白川流域で住宅1200棟浸水　1人死亡2人不明",
			text: "停滞する前線の影響で、白川県では3日未明から猛烈な雨が降り、県南部を流れる白川が6カ所で氾濫した。" +
				"県のまとめでは、午後8時の時点で住宅およそ1200棟が浸水し、80代の男性1人が死亡、2人の行方が分からなくなっている。" +
				"気象台は、4日の昼にかけて再び非常に激しい雨が降るおそれがあるとして、警戒を呼びかけている。\n\n" +
				"白川市では、24時間の雨量が412ミリに達し、1976年以降で最も多くなった。\n\n" +
				"市が避難指示を出したのは午前4時25分で、その30分前には堤防を越える水が確認されていた。\n\n市長は会見で、判断が適切だったか検証すると述べた。",
			limit:     400,
			wantBegin: "停滞する前線の影響で",
		},
		"who or what they are is not left open": {
			title: "Fire destroys market in Alderney Bay",
			text: "A fire destroyed the market of Alderney Bay early on Sunday.\n\nThe market had no sprinklers.\n\n" +
				"A plan to install them was put off in 2022 by the town.\n\nThe building of the market dates from the year 1884.",
			limit:    120,
			wantAll:  []string{"A fire destroyed"},
			wantNone: []string{"them"},
		},
		"nor what this is": {
			title: "Brightfox 131 has tabs on the side",
			text: "Brightfox 131 has tabs on the side for everybody from today.\n\n" +
				"Brightfox now answers the banners of sites for you and says no to them wherever it can.\n\n" +
				"In our tests this worked on 86 percent of 5,000 sites.\n\nThe release mends 17 flaws of the video decoder in the browser.",
			limit:    130,
			wantAll:  []string{"tabs on the side"},
			wantNone: []string{"this worked"},
		},
		"a line-up is no sentence": {
			title: "Fenwick Town wins the Shield",
			text: "Fenwick Town won the Shield for the first time on Saturday with two late goals.\n\n" +
				"Fenwick Town: Hart; Birch, Moss, Cole, Nunn; Reid, Shaw, Amari; Teller, Grice, Lowe.",
			limit:    400,
			wantAll:  []string{"two late goals"},
			wantNone: []string{"Hart; Birch"},
		},
		"what a list says first is not said again at length": {
			title: "国内最古のカメの卵の化石を発見",
			text: "ポイント\n\n石川県の手取層群で、約1億3千万年前のカメの卵の化石を発見。\n\n国内最古の記録を約1千万年さかのぼる。\n\n概要\n\n" +
				"白峰大学の久我山准教授らの研究グループは、石川県白峰町に分布する手取層群の約1億3千万年前の地層から、国内で最も古いカメの卵の化石を発見しました。\n\n" +
				"化石は直径約3センチメートルの球形で、地元の小学生が河原で拾った石の中から見つかりました。",
			limit:    400,
			wantAll:  []string{"化石を発見。", "国内最古の記録", "小学生"},
			wantNone: []string{"研究グループ"},
		},
		"the first sentence is news though the title names more": {
			title: "北潟地方で震度5強　津波の心配なし　新幹線は一部で運転見合わせ",
			text: "17日（金）6時21分ごろ、北潟地方を震源とする地震があり、北潟市と潮見町で震度5強を観測しました。この地震による津波の心配はありません。\n\n" +
				"北陸縦貫新幹線は、停電のため潮見と大淵の間の上下線で運転を見合わせています。\n\n" +
				"北潟市では、住宅のブロック塀が倒れたという通報が3件あり、けが人の情報は午前7時の時点で入っていません。\n\n" +
				"北潟地方では、2024年の秋から地震活動が活発な状態が続いており、震度5弱以上は今回で4回目です。",
			limit:     120,
			wantBegin: "17日（金）6時21分ごろ",
		},
		"a judgment is told with what was decided": {
			title: "Harrow Bay Fishers v Minister for Ports",
			text: "Background\n\nIn March 2024 the Minister permitted a terminal of 38 hectares in Harrow Bay. The fishers of the bay sought review of that decision in the High Court. " +
				"The Minister had 12 reports on the ports of the coast, and 3 on Harrow Bay itself.\n\n" +
				"Judgment\n\nThe Supreme Court unanimously dismisses the appeal against the quashing.",
			limit:   260,
			wantAll: []string{"dismisses the appeal"},
		},
		"a heading before a sentence is no part of it": {
			title: "Hearthlite recalls heaters",
			text: "Hearthlite recalls 203,000 heaters, because the plug and the cord can overheat.\n\n" +
				"Incidents/Injuries: The firm has received 87 reports of heaters melting or catching fire.",
			limit:    400,
			wantAll:  []string{"The firm has received 87 reports"},
			wantNone: []string{"Incidents"},
		},
		"nor is the day when it was added": {
			title:    "GateOSの脆弱性に関する注意喚起",
			text:     "GateOSの管理画面には認証を回避される脆弱性があります。\n\n更新: 2026年7月10日追記 脆弱性の実証コードが公開されたことを確認しました。",
			limit:    400,
			wantAll:  []string{"脆弱性があります。脆弱性の実証コード"},
			wantNone: []string{"追記"},
		},
		"a story from the life of the cook is not the recipe": {
			title: "Rye bread in a pot",
			text: "If you follow me on the usual places you know that I am obsessed with rye. My grandmother baked it in a stove that filled the house with smoke.\n\n" +
				"Half of the flour is rye, so that the bread stays moist for almost 6 days. Heat the oven to 240 degrees with an iron pot and its lid inside.",
			limit:     400,
			wantBegin: "Half of the flour is rye",
			wantNone:  []string{"grandmother", "obsessed"},
		},
		"nor are words of a newsletter on itself its news": {
			title:    "The Wednesday Round-up of Eddlestone",
			text:     "You're reading the Eddlestone Wednesday Round-up.\n\nFrom 1 September all 23,000 households in Eddlestone will get a brown caddy for food waste.",
			limit:    400,
			wantAll:  []string{"brown caddy"},
			wantNone: []string{"You're reading"},
		},
		"what an interviewer asks is left to the answer": {
			title: "町工場の失敗する権利、浅野社長に聞く",
			text: "浅野製作所は、社員の誰もが試作に30万円を使える制度を作った。\n\n――社長になったとき、町工場の会社はどんな様子でしたか。\n\n" +
				"昨年は118件の試作があって、製品になったのは9件です。",
			limit:    75,
			wantAll:  []string{"118件"},
			wantNone: []string{"――"},
		},
		"that an incident is over is told, though it stands under a heading of courtesy": {
			title: "Failed uploads in us-west",
			text: "Resolved\n\nThis incident has been resolved. All uploads to us-west have been working normally since 16:20 UTC.\n\n" +
				"Identified\n\nA switch in the us-west region drops about 3% of all packets. Our engineers are moving traffic to the other two halls.\n\n" +
				"Investigating\n\nSince 14:42 UTC one in four uploads to the us-west region has failed with the error 503.",
			limit:     250,
			wantBegin: "All uploads to us-west",
			wantAll:   []string{"one in four uploads"},
			wantNone:  []string{"has been resolved"},
		},
		"a reason is not told without what it is the reason of": {
			title: "北浜町、図書館の開館時間を延長",
			text: "北浜町は4月、図書館の開館時間を2時間延長した。\n\n町立の温水プールは9月に閉まる。図書館と同じ建物にある設備の更新に3億2千万円かかるためだ。\n\n" +
				"延長にかかる費用は年600万円で、町が負担する。",
			limit:    60,
			wantAll:  []string{"延長した。"},
			wantNone: []string{"ためだ"},
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

func TestFacts(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want float64
	}{
		"none":                        {"It rained.", 0},
		"a number with a point":       {"It rose by 3.5 percent.", 1.0 / 3},
		"more than three":             {"1, 2, 3 and 4.", 1},
		"a number of a note is none":  {"The Minister must weigh them [41]-[43].", 0},
		"nor one in wide brackets":    {"最も古い卵である［１２］。", 0},
		"a sum in brackets is a fact": {"The price [1,200 dollars] was paid.", 1.0 / 3},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := facts(test.text); got != test.want {
				t.Errorf("facts = %v, want %v", got, test.want)
			}
		})
	}
}

func TestRunIn(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ block, wantHeading, wantRest string }{
		"a heading of one word":            {"Impact: Anybody can stop the service.", "Impact", "Anybody can stop the service."},
		"with a day behind it":             {"Update (10 July): A patch is out.", "Update", "A patch is out."},
		"a Japanese one":                   {"原因：設定に誤りがありました。", "原因", "設定に誤りがありました。"},
		"with the day when it was added":   {"更新: 2026年7月10日追記 実証コードが公開されました。", "更新", "実証コードが公開されました。"},
		"who speaks is part of a sentence": {"Smith: We will go on strike.", "", "Smith: We will go on strike."},
		"a heading alone is none":          {"Impact:", "", "Impact:"},
		"a word like one is none":          {"Impacts of hail: three roofs.", "", "Impacts of hail: three roofs."},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if heading, rest := runIn(test.block); heading != test.wantHeading || rest != test.wantRest {
				t.Errorf("run-in heading = %q, rest %q, want %q, %q", heading, rest, test.wantHeading, test.wantRest)
			}
		})
	}
}

func TestSection(t *testing.T) {
	t.Parallel()
	tests := map[string]float64{
		"1. Main points": 1.5, "Judgment": 1.5, "ポイント": 1.5, "本研究のポイント": 1.5, "I. 概要": 1.2, "III. 対策": 1.2, "Impact": 1.2, "Introduced species": 1,
		"Background": 0.8, "調査の概要": 0.8, "2．背景": 0.8, "Investigating": 0.6, "Resolved": 1, "謝辞": 0.3,
	}
	for heading, want := range tests {
		t.Run(heading, func(t *testing.T) {
			t.Parallel()
			if got := section(heading); got != want {
				t.Errorf("section = %v, want %v", got, want)
			}
		})
	}
}

func TestIsOfNames(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want bool
	}{
		"a line-up":               {"Rovers: Kane; Holt, Price, Silva, Dunn; Marsh, Olsson.", true},
		"a sentence":              {"Danny Marsh headed them in front.", false},
		"a warning in capitals":   {"THE BRIDGE IS CLOSED UNTIL NOON.", false},
		"a German sentence":       {"Die Stadt Bremen hat gestern den Bau der Brücke beschlossen.", false},
		"a script without a case": {"أعلنت وزارة النقل اليوم عن إغلاق الجسر.", false},
		"nothing":                 {"", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := isOfNames(test.text); got != test.want {
				t.Errorf("is of names = %v, want %v", got, test.want)
			}
		})
	}
}

func TestIsOfSelf(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"If you follow me, you know.": true, "So I went.": true, "It was my fault.": true, "They met in Rome.": false, "Type i is used.": false,
		"味噌は私が仕込んだ。": true, "私立の学校が開く。": false,
	}
	for text, want := range tests {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			s := newSentence(text, 0)
			if got := s.isOfSelf(); got != want {
				t.Errorf("is of self = %v, want %v", got, want)
			}
		})
	}
}

// What explains a chosen sentence is worth more than it is by itself.
func TestBesideWhatLeansOnIt(t *testing.T) {
	t.Parallel()
	before := sentence{text: "A bridge has 12 cracks.", position: 3, lean: lean{factor: 1}}
	leaning := sentence{text: "This was found on Friday.", position: 4, lean: lean{aloneALittle, []int{3}}}
	other := sentence{text: "The pool is closed.", position: 5, lean: lean{factor: 1}}
	if got, alone := before.beside([]sentence{leaning}), before.beside([]sentence{other}); got.factor <= alone.factor || alone.factor != 1 {
		t.Errorf("factor = %v beside what leans on it, and %v beside another, want more, and 1", got.factor, alone.factor)
	}
}

func TestIsOfThem(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"a plan to install them was put off.":              true,
		"it was the town that sold them in may.":           true,
		"the plates were found, and a farmer kept them .":  false,
		"the town sold the boats, and hid them in a barn.": false,
		"people say that nobody asked them about it.":      false,
		"the theme of the day was tea.":                    false,
	}
	for text, want := range tests {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if got := isOfThem(text); got != want {
				t.Errorf("is of them = %v, want %v", got, want)
			}
		})
	}
}

func TestWithoutDateline(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ line, want string }{
		"a place alone":           {"WINDHOEK COAST — The rocket fell.", "The rocket fell."},
		"with a state":            {"BOSTON, Mass. — The harbour froze.", "The harbour froze."},
		"a name in a sentence":    {"NASA — the agency of space — is 68.", "NASA — the agency of space — is 68."},
		"a place with the agency": {"LORRISTON (Harbor Press) — Nurses won.", "Nurses won."},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := withoutDateline(test.line); got != test.want {
				t.Errorf("line = %q, want %q", got, test.want)
			}
		})
	}
}

// When and how much tells the first sentence of news from a scene, though the title has more of a later one.
func TestBeginOfNewsHasFigures(t *testing.T) {
	t.Parallel()
	news := func(figures float64) []sentence {
		return []sentence{
			{text: "A quake was felt in Kitagata.", score: 1, figures: figures},
			{text: "The express stands still in part.", score: 1},
		}
	}
	covers := []float64{0.25, 0.43}
	if with, without := beginOfNews(news(1), covers), beginOfNews(news(0), covers); with != 0 || without != 1 {
		t.Errorf("the news begin at %d with figures and at %d without, want 0 and 1", with, without)
	}
}

// A word that only joins leaves nothing open in the sentence that the news begin with, and what points back does there, too.
func TestLeansOfTheBeginOfNews(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text  string
		begin int
		want  float64
	}{
		"joined, where the news begin":            {"Then Adeyemi scored twice in the last minutes.", 1, aloneALittle},
		"joined, anywhere else":                   {"Then Adeyemi scored twice in the last minutes.", 0, alone},
		"pointing back, where the news begin":     {"Then she scored twice in the last minutes.", 1, alone},
		"a Japanese one, where the news begin":    {"しかし、青野市は七日に断水を終えた。", 1, aloneALittle},
		"that points back, where the news begin":  {"しかし、それは七日に終わった。", 1, alone},
		"not joined at all, where the news begin": {"Adeyemi scored twice in the last minutes.", 1, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := []sentence{newSentence("People watched the clock.", 1), newSentence(test.text, 2)}
			(&article{language: "en"}).leans(all, test.begin)
			if got := all[1].lean.factor; got != test.want {
				t.Errorf("worth alone = %v, want %v", got, test.want)
			}
		})
	}
}
