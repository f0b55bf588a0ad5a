// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package extractive

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/width"
	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/prose"
)

// What most texts are spared is what would not have changed them.

// odd are characters that texts have seldom, of all kinds that are treated in different ways.
var odd = []rune(" \n\r\t\v\u0085\u00a0\u00ad\u200b\u200d\u2028\u202e\u3000\ufeff\ufffc\x00\x7f'’.-–—5５②½éÉʼ\u0301漢あア〇々㋐ー한ﬁＡİſK<:/()（）")

// someText draws a text of ordinary and odd characters.
func someText(t *rapid.T) string {
	draw := rapid.OneOf(rapid.StringOf(rapid.SampledFrom(odd)), rapid.StringMatching(`[ -~]{0,8}`), rapid.SampledFrom(fragments))
	return strings.Join(rapid.SliceOfN(draw, 0, 6).Draw(t, "text"), "")
}

func TestSimpleTextsNeedNoCleaning(t *testing.T) {
	t.Parallel()
	simple := func(r rune) {
		if text := string(r); prose.IsSimple(text) && withoutControls(text) != text {
			t.Errorf("%U is taken for clean", r)
		}
	}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		simple(r)
	}
	rapid.Check(t, func(t *rapid.T) {
		if text := someText(t); prose.IsSimple(text) && withoutControls(text) != text {
			t.Fatalf("%q is taken for clean", text)
		}
	})
}

func TestWhatHasALinkIsSearchedForLinks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := someText(t) + rapid.StringMatching(link.String()).Draw(t, "link") + someText(t)
		if link.MatchString(text) && !mayHaveLink(text) {
			t.Fatalf("the link in %q is not found", text)
		}
	})
}

func TestNoDateIsPassedOver(t *testing.T) {
	t.Parallel()
	step := rune(portion.Of(1, 101)) // among Chinese and Korean characters: those of dates are below
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r > 0x3400 {
			r += step - 1
		}
		if text := string(r); hasLetterOfNoDate(text) && onlyDate.MatchString(text) {
			t.Errorf("%U may be all of a date", r)
		}
	}
	for _, text := range []string{"令和8年11月27日（金・祝）", "平成元年度", "昭和64年", "西暦2026年", "午前9時30分", "午後", "日曜", "(月火水木金土)", "1ſt Auguſt 2026"} {
		if !onlyDate.MatchString(text) || !isOnlyDate(text) {
			t.Errorf("%q is not taken for a date", text)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		if text := rapid.StringMatching(onlyDate.String()).Draw(t, "date"); hasLetterOfNoDate(text) && onlyDate.MatchString(text) {
			t.Fatalf("%q is passed over", text)
		}
	})
}

func TestOneLineHasSingleSpaces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := someText(t)
		if got, want := oneLine(text), strings.Join(strings.Fields(text), " "); got != want {
			t.Fatalf("one line of %q is %q, want %q", text, got, want)
		}
	})
}

func TestNoNumberOfAListIsALetter(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if strings.ContainsAny(width.Fold.String(string(r)), "0123456789+-") && unicode.IsLetter(r) {
			t.Errorf("%U may begin a number", r)
		}
	}
}

func TestDatelinesBeginWithCapitals(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		for _, expression := range []string{dateline.String(), placeline.String()} {
			text := oneLine(rapid.StringMatching(expression).Draw(t, "text") + "A")
			if got, want := withoutDateline(text), placeline.ReplaceAllString(dateline.ReplaceAllString(text, ""), "$1"); got != want {
				t.Fatalf("without its dateline, %q is %q, want %q", text, got, want)
			}
		}
	})
}

func TestMeasureIsThatOfTheTables(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := someText(t)
		var want size
		inWord := false
		for _, r := range text {
			letter, number, cjk := unicode.IsLetter(r) || unicode.IsMark(r), unicode.IsNumber(r), prose.IsCJK(r)
			count := func(of *int, is bool) {
				if is {
					*of++
				}
			}
			word := (letter || number) && !cjk || inWord && strings.ContainsRune("'’-.", r)
			count(&want.words, word && !inWord)
			inWord = word
			count(&want.runes, !unicode.IsSpace(r))
			count(&want.letters, letter)
			count(&want.digits, unicode.IsDigit(r))
			count(&want.cjk, cjk)
		}
		if got := measure(text); got != want {
			t.Fatalf("%q has %+v, want %+v", text, got, want)
		}
	})
}

func TestTermsAreThoseOfTheTables(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		want := unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) || r == '\'' || r == '’'
		if got := isOfWord(r); got != want && !(r >= 'A' && r <= 'Z') { // which there are not, in small letters
			t.Fatalf("%U is of a word: %t, want %t", r, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := newSentence(someText(t), 0)
		want := appendTerms(nil, strings.ToLower(norm.NFKC.String(s.text)), "en")
		if got := s.words(nil, "en"); !slices.Equal(got, want) {
			t.Fatalf("%q has the terms %q, want %q", s.text, got, want)
		}
	})
}

// Of a text, only its beginning is written in small letters.
func TestNoPieceIsLonger(t *testing.T) {
	t.Parallel()
	for name, b := range begins {
		for _, piece := range b.pieces {
			if piece == "" || utf8.RuneCountInString(piece) > longestPiece {
				t.Errorf("%s: the piece %q has not 1 to %d characters", name, piece, longestPiece)
			}
		}
	}
}

func TestNoNumberOfATelephoneIsPassedOver(t *testing.T) {
	t.Parallel()
	for _, hyphen := range "-‐‑–−－ー" {
		for _, number := range []string{"03-1234-5678", "０３-１２３４-５６７８", "(03)1234-5678", "（０３） １２３４-５６７８", "03(1234)5678", "０３（１２３４）５６７８"} {
			number = "Call " + strings.ReplaceAll(number, "-", string(hyphen)) + " now."
			if !phone.MatchString(number) || !mayHavePhone(number) {
				t.Errorf("there is no number in %q", number)
			}
		}
	}
}

func TestNumbersOfHeadingsAreTakenOff(t *testing.T) {
	t.Parallel()
	for _, number := range []string{"I. ", "V.  ", "X. ", "IX. ", ""} {
		if got, want := section(number+"Credits"), section("Credits"); got != want || got == 1 {
			t.Errorf("what is below %q counts %g, want %g", number+"Credits", got, want)
		}
	}
}

func TestCharactersThatNeedNoTable(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if isHiragana(r) != unicode.Is(unicode.Hiragana, r) {
			t.Fatalf("%U is taken for what it is not", r)
		}
	}
}

func TestPathsHaveOneOfTheirSeparators(t *testing.T) {
	t.Parallel()
	for _, one := range separatorsOfPaths {
		if path := "A " + one + " B " + one + " C"; !isBreadcrumb(path) {
			t.Errorf("%q is no path", path)
		}
	}
	if isBreadcrumb("A / B / C") {
		t.Error("a slash separates, too")
	}
}
