// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package prose

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/internal/portion"
)

func init() { portion.Draws(25) }

func TestSentences(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		language string
		text     string
		want     []string
	}{
		"a title before a name": {
			"en", "Dr. Smith met Mr. Jones. They talked.",
			[]string{"Dr. Smith met Mr. Jones.", "They talked."},
		},
		"a month before a day, but not before a word": {
			"en", "It ended on Jan. 5, 2026. It began in Dec. The end was late.",
			[]string{"It ended on Jan. 5, 2026.", "It began in Dec.", "The end was late."},
		},
		"abbreviations that may end a sentence": {
			"en", "The U.S. Senate met Acme Inc. Chairman Lee. They left the U.S. The debate goes on.",
			[]string{"The U.S. Senate met Acme Inc. Chairman Lee.", "They left the U.S.", "The debate goes on."},
		},
		"initials": {
			"en", "J. K. Miller wrote it. It sold well.",
			[]string{"J. K. Miller wrote it.", "It sold well."},
		},
		"numbers and versions": {
			"en", "Version 2.7.4 costs $3.50. It is No. 1 now.",
			[]string{"Version 2.7.4 costs $3.50.", "It is No. 1 now."},
		},
		"brackets stay together": {
			"en", "It is safe (see Sec. 5. It is long.) to use. Go on.",
			[]string{"It is safe (see Sec. 5. It is long.) to use.", "Go on."},
		},
		"quotes with full stops in them": {
			"en", `The 'wow!' effect is real. "It is new. It is good." They agreed.`,
			[]string{"The 'wow!' effect is real.", `"It is new. It is good."`, "They agreed."},
		},
		"Japanese quotes within a sentence": {
			"ja", "大臣は「今後も取り組む。力を尽くす。」と述べた。「はい。」「いいえ。」会議は終わった。",
			[]string{"大臣は「今後も取り組む。力を尽くす。」と述べた。", "「はい。」", "「いいえ。」", "会議は終わった。"},
		},
		"several quotes within a sentence": {
			"ja", "「はい。」と「今後も取り組む。力を尽くす。」と述べた。次だ。",
			[]string{"「はい。」と「今後も取り組む。力を尽くす。」と述べた。", "次だ。"},
		},
		"words that begin like a particle, after a quote": {
			"ja", "「つらい。」もっとも、夜には直る。「はい。」ところが、夜も直らない。「はい。」ときっぱり言う。「はい。」とは言えない。",
			[]string{"「つらい。」", "もっとも、夜には直る。", "「はい。」", "ところが、夜も直らない。", "「はい。」ときっぱり言う。", "「はい。」とは言えない。"},
		},
		"Japanese brackets begin a sentence": {
			"ja", "開始した。（詳細は別紙。）「しずく」は売れた。本当！？そう。",
			[]string{"開始した。", "（詳細は別紙。）", "「しずく」は売れた。", "本当！？", "そう。"},
		},
		"German dates and abbreviations": {
			"de", "Am 5. Januar 2026 kamen z. B. die Meier & Co. KG und Dr. Huber. Es war kalt.",
			[]string{"Am 5. Januar 2026 kamen z. B. die Meier & Co. KG und Dr. Huber.", "Es war kalt."},
		},
		"a bracket that is never closed": {
			"en", "One (two. Three. Four.",
			[]string{"One (two.", "Three.", "Four."},
		},
		"where there is a full stop in a number": {
			"ja", "倍率は１．５倍だった。次は２倍だ。",
			[]string{"倍率は１．５倍だった。", "次は２倍だ。"},
		},
		"nothing": {"", " \n ", nil},
		"a sentence without end is left out, with its tail": {
			"en", "Short one. " + strings.Repeat("Word ", MaxSentence) + "tail. Short two.",
			[]string{"Short one.", "Short two."},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, Sentences(test.text, test.language)); diff != "" {
				t.Errorf("sentences (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEndsSentence(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"It rained.":    true,
		`"It rained." `: true,
		"雨が降った。」":       true,
		"هل تمطر؟":      true,
		"वर्षा हुई।":    true,
		"It rained...":  false,
		"It rained…":    false,
		"Rain":          false,
		"":              false,
	}
	for text, want := range tests {
		if got := EndsSentence(text); got != want {
			t.Errorf("EndsSentence(%q) = %t, want %t", text, got, want)
		}
	}
}

func TestCountIsWhatAReaderCounts(t *testing.T) {
	t.Parallel()
	tests := map[string]int{
		"":                0,
		"plain":           5,
		"日本語":             3,
		"か\u3099":         1,
		"e\u0301te\u0301": 3,
		"👩‍👩‍👧‍👦🇯🇵👍🏽": 3,
		"क्षि":                            1,
		"\r\n":                            1,
		"a\xffb":                          3,
		"🏴\U000e0067\U000e0062\U000e007f": 1,
	}
	for text, want := range tests {
		if got := Count(text); got != want {
			t.Errorf("Count(%q) = %d, want %d", text, got, want)
		}
	}
}

// What is quick to count is counted as UAX #29 has it.
func TestCountIsThatOfTheStandard(t *testing.T) {
	t.Parallel()
	pieces := []string{
		"a", "Z", " ", "~", "\n", "\r", "\r\n", "\t", "é", "e\u0301", "–", "“", "…", "\u200d", "\u2028", "、", "。", "「", "\u302a", "\u3030", "あ", "か\u3099", "ン", "ー", "ｶ\uff9e", "漢",
		"©", "«", "\u00a0", "\u0085", "\u0600", "！", "１", "～", "\uff9f", "한", "\u1100\u1161", "👩‍👩‍👧‍👦", "🇯🇵", "©\ufe0f", "\u00ad", "क्षि", "\U000e0101", "\xff",
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(t, "text"), "")
		want := 0
		for cluster := graphemes.FromString(text); cluster.Next(); {
			want++
		}
		if got := Count(text); got != want {
			t.Fatalf("Count(%q) = %d, want %d", text, got, want)
		}
	})
}

// What is quick to tell is told as the tables of Unicode have it.
func TestIsCJKIsThatOfTheScripts(t *testing.T) {
	t.Parallel()
	every := rune(portion.Of(1, 16)) // of those that are not in the first plane
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r > 0xffff && r%every != 0 {
			continue
		}
		cjk := unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || r == 'ー' || r == '々'
		if got := IsCJK(r); got != cjk {
			t.Fatalf("IsCJK(%U) = %t, want %t", r, got, cjk)
		}
		wide := cjk && !unicode.Is(unicode.Hangul, r) || r >= 0x3001 && r <= 0x303f || r >= 0xff01 && r <= 0xff60
		if got := IsWide(r); got != wide {
			t.Fatalf("IsWide(%U) = %t, want %t", r, got, wide)
		}
		if IsCommonCJK(r) && (!cjk || !unicode.IsLetter(r)) {
			t.Fatalf("%U is not such a letter", r)
		}
	}
}

// The brackets that are looked for are those that are counted.
func TestAllBracketsNest(t *testing.T) {
	t.Parallel()
	depth := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		want := 0
		switch {
		case r == '‘' || r == '’': // the latter is an apostrophe, too
		case strings.ContainsRune(openers, r):
			want = 1
		case strings.ContainsRune(closers, r):
			want = -1
		}
		if got := nesting(r); got != want {
			t.Errorf("nesting(%c) = %d, want %d", r, got, want)
		}
		depth += nesting(r)
	}
	if depth != 0 {
		t.Errorf("there are %d more openers than closers", depth)
	}
}

// What is quick to tell of the end of a text is told as the whole definition has it.
func TestEndsSentenceLooksBehindWhatCloses(t *testing.T) {
	t.Parallel()
	ends := []rune("aZ.!?。…:5)]}\"' 」』”’»é漢\xff")
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOf(rapid.SampledFrom(ends)).Draw(t, "text"))
		bare := strings.TrimRight(text, closers+`"' `)
		last, _ := utf8.DecodeLastRuneInString(bare)
		want := unicode.Is(unicode.STerm, last) && !strings.HasSuffix(bare, "..") && !strings.HasSuffix(bare, "。。")
		if got := EndsSentence(text); got != want {
			t.Fatalf("EndsSentence(%q) = %t, want %t", text, got, want)
		}
	})
}

func TestSmallLettersAreThoseOfTheTables(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if text := "漢" + string(r); ToLower(text) != strings.ToLower(text) {
			t.Fatalf("%q becomes %q, want %q", text, ToLower(text), strings.ToLower(text))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		if text := rapid.String().Draw(t, "text"); ToLower(text) != strings.ToLower(text) {
			t.Fatalf("%q becomes %q, want %q", text, ToLower(text), strings.ToLower(text))
		}
	})
}

// What most texts are spared of the tables would not have changed them.
func TestNormalFormIsThatOfTheTables(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if text := "漢" + string(r); NFKC(text) != norm.NFKC.String(text) {
			t.Fatalf("%q becomes %q, want %q", text, NFKC(text), norm.NFKC.String(text))
		}
	}
	pieces := []string{"a", "Z", "é", "e\u0301", "か\u3099", "ガ", "ｶﾞ", "＋", "Ａ", "１２", "～", "\u3000", "、", "】", "ー", "漢", "①", "ﬁ", "한", "\u1100\u1161", "\xff", "\xe3A"}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(t, "text"), "")
		if got, want := NFKC(text), norm.NFKC.String(text); got != want {
			t.Fatalf("%q becomes %q, want %q", text, got, want)
		}
		if got, want := ToLower(text), strings.ToLower(text); got != want {
			t.Fatalf("%q in small letters is %q, want %q", text, got, want)
		}
	})
}

// No two characters that are simple are one to a reader, and none of them ends a line or is a space but those of ASCII and U+3000.
func TestSimpleCharactersStandByThemselves(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		text := string(r)
		if !IsSimple(text) {
			continue
		}
		for _, other := range []string{text, "a", "漢", "☆", "\u00a9"} {
			cluster := graphemes.FromString(other + text)
			if cluster.Next(); cluster.Value() != other {
				t.Fatalf("%U joins with what is before it", r)
			}
		}
		if unicode.IsSpace(r) && r != '\n' && r != ' ' && r != '\u00a0' && r != '\u3000' || unicode.In(r, unicode.Cf, unicode.Co) {
			t.Fatalf("%U is not simple", r)
		}
	}
}
