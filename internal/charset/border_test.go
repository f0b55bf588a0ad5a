// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package charset

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/internal/portion"
)

func init() { portion.Draws(25) }

// R1.6: a few bytes do not decide about a whole document.
func TestTheBorderOfUTF8(t *testing.T) {
	t.Parallel()
	latin1 := func(text string) string { return string(encoded(t, charmap.ISO8859_1, text)) }
	japanese := japaneseNews.title + japaneseNews.first
	tests := map[string]struct{ body, want string }{
		"UTF-8 with one bad byte":                               {japanese + "\xff", japanese + "\uFFFD"},
		"UTF-8 with a letter of Latin 1":                        {japanese + " caf\xe9 " + japanese, japanese + " café " + japanese},
		"UTF-8 in few letters, and one of Latin 1":              {"Un café, deux th\xe9s à Orléans", "Un café, deux thés à Orléans"},
		"UTF-8 that is cut off":                                 {japanese[:len(japanese)-1], strings.TrimSuffix(japanese, "。") + "\uFFFD"},
		"a title in UTF-8 that is cut off":                      {"ab\xe6\x97", "ab\uFFFD"},
		"UTF-8 with a bad byte in each line":                    {strings.Repeat("<p>"+japaneseNews.second+"\xfe</p>", 9), strings.Repeat("<p>"+japaneseNews.second+"\uFFFD</p>", 9)},
		"UTF-8 with quotation marks of windows-1252":            {"D’abord \x93été\x94, puis l\x92hiver à la forêt où l’on chante", "D’abord \uFFFDété\uFFFD, puis l’hiver à la forêt où l’on chante"},
		"Latin 1 with two pairs of bytes that are UTF-8":        {latin1(frenchOf(8)) + " \xc3\xa9 \xc3\xa9", frenchOf(8) + " Ã© Ã©"},
		"Latin 1 with one in a short text":                      {latin1("<p>Où est passé le curé du château? Là-bas, « CAFÉ» »"), "<p>Où est passé le curé du château? Là-bas, « CAFÉ» »"},
		"Latin 1 in one letter":                                 {"Caf\xe9", "Café"},
		"a byte that no character set of the Latin letters has": {"a\xffb", "a\uFFFDb"},
		"quotation marks of windows-1252 alone":                 {"\x93a\x94 b\x92s", "“a” b’s"},
		"Polish in one word":                                    {"\xa3\xf3d\x9f", "Łódź"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Decode([]byte(test.body), ""); string(got) != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func frenchOf(times int) string {
	return strings.Repeat("La forêt brûlée de Corrèze renaît déjà, et des élèves du collège ont planté des chênes. ", times)
}

// R1.6: however many bad bytes are strewn over a text in UTF-8, as long as they are clearly fewer than its
// characters, all the others are read as they are; however many pairs of bytes in a text in Latin 1 happen to be UTF-8,
// as long as they are clearly fewer than its letters, those are read as they are.
func TestFewBytesDoNotChangeTheWhole(t *testing.T) {
	t.Parallel()
	words := strings.Fields(frenchNews.first + " " + frenchNews.second)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.SampledFrom(words), 50, 200).Draw(t, "words")
		joined := strings.Join(text, " ")
		valid, _ := countUTF8([]byte(joined))
		if valid < 30 {
			t.Skip("too little to tell")
		}
		few := rapid.IntRange(0, valid/4).Draw(t, "few")
		inUTF8, inLatin1 := bytes.Clone([]byte(joined)), encodedOrSkip(t, charmap.Windows1252, joined)
		for range few {
			inUTF8 = append(inUTF8, " \xfe\xfe"...)
			inLatin1 = append(inLatin1, " \xc3\xa9"...)
		}
		if got := Decode(inUTF8, ""); !strings.HasPrefix(string(got), joined) {
			t.Errorf("with %d bad bytes in %d characters: %q", few*2, valid, got)
		}
		if got := Decode(inLatin1, ""); !strings.HasPrefix(string(got), joined) {
			t.Errorf("with %d pairs beside %d letters: %q", few, valid, got)
		}
	})
}

func encodedOrSkip(t *rapid.T, set encoding.Encoding, text string) []byte {
	result, err := set.NewEncoder().Bytes([]byte(text))
	if err != nil {
		t.Skip(err)
	}
	return result
}

// R1.6: what is declared is believed of texts in languages that are not known here, and of texts too short to tell.
func TestDeclarationsAreBelieved(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		set   encoding.Encoding
		label string
		text  string
	}{
		"Esperanto":                          {charmap.ISO8859_3, "iso-8859-3", "Ĉu vi ŝatas manĝi ĉokoladon ĵaŭde? Ĝi estas bongusta, diris la ĝardenisto antaŭ la pluvo."},
		"Maltese":                            {charmap.ISO8859_3, "iso-8859-3", "Il-gvern ħabbar li l-pont il-ġdid se jinfetaħ għaż-żewġ naħat qabel il-ħarifa."},
		"Macedonian":                         {charmap.ISO8859_5, "iso-8859-5", "Ѓорѓи купи ќебе и џем; љубовта на неговата ќерка кон ѕвездите е голема."},
		"Welsh":                              {charmap.ISO8859_14, "iso-8859-14", "Mae tŷ mawr ger y dŵr, ac mae ŵyl yno bob blwyddyn"},
		"French on a Macintosh":              {charmap.Macintosh, "macintosh", frenchNews.title},
		"Vietnamese":                         {charmap.Windows1258, "windows-1258", "Th\u0300i tiê\u0301t hôm nay đe\u0323p, moi ngươ\u0300i đi dao"},
		"a name in Latin 2":                  {charmap.ISO8859_2, "iso-8859-2", "Interview: Krzyż"},
		"two letters that are Spanish also":  {charmap.ISO8859_2, "iso-8859-2", "Toruń i Poznań"},
		"Kazakh in the alphabet of Russian":  {charmap.Windows1251, "windows-1251", "Бугін Астанада жана кітапхана ашылды"},
		"a Russian abbreviation":             {charmap.KOI8R, "koi8-r", "США"},
		"a currency of ISO 8859-15":          {charmap.ISO8859_15, "iso-8859-15", "Prix : 5 € à Nîmes"},
		"Faroese, declared as what it is in": {charmap.Windows1252, "windows-1252", "Føroyar fáa nýggjan undirsjóvartunnil, sigur landsstýrismaðurin"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := encoded(t, test.set, test.text)
			if got := Decode(body, "text/plain; charset="+test.label); string(got) != test.text {
				t.Errorf("got %q, want %q", got, test.text)
			}
		})
	}
}

// R1.6
func TestWhatIsNoText(t *testing.T) {
	t.Parallel()
	all := make([]byte, 0, 4*256)
	for _, gap := range portion.SomeOf([]int{129, 1, 3, 7}, 1) {
		for i := range 256 {
			all = append(all, byte(i*gap))
		}
	}
	labels := "utf-8 utf-16 utf-16be shift_jis euc-jp iso-2022-jp gbk gb18030 big5 euc-kr windows-1252 koi8-r hz-gb-2312 iso-2022-kr x-user-defined"
	for label := range strings.FieldsSeq(labels) {
		for _, body := range [][]byte{all, all[128:256], all[1:], {}, {0}, {0xff}, {'a', 0xff, 0xfe}} {
			if text := Decode(body, "text/xml; charset="+label); !utf8.Valid(text) || len(text) == 0 && len(body) > 2 {
				t.Errorf("%s: %q is no UTF-8", label, text)
			}
		}
	}
}

// R1.6: whatever the bytes and the declarations are, what comes of them is text, within a bound, and the same each
// time; UTF-8 stays as it is.
func FuzzDecode(f *testing.F) {
	for _, body := range []string{
		"\xef\xbb\xbf<rss/>", "\xff\xfe<\x00r\x00", "\x00<\x00r", "<\x00\x00\x00r\x00\x00\x00", "\xff\xfe\x00\x00<\x00\x00",
		"\x1b$B$\"\x1b(B", "\x82\xa0\x82\xa2\x82\xa4\x82\xa6", "caf\xe9 \xc3\xa9", "a\xffb\xe6\x97", "\xcf\xee\xf1\xf2\xe8 \xe4\xed\xff \xee\xef\xff\xf2\xfc",
		`<?xml version="1.0" encoding="gbk"?>` + "\xd0\xc2\xce\xc5", "<meta charset=shift_jis>\x93\xfa\x96\x7b",
	} {
		for _, contentType := range []string{"", "text/xml; charset=windows-1251", "text/html; charset=utf-16", `text/html; charset="`} {
			f.Add([]byte(body), contentType)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		text := Decode(body, contentType)
		if !utf8.Valid(text) || len(text) > 4*len(body) {
			t.Fatalf("%q became %q", body, text)
		}
		if again := Decode(body, contentType); !bytes.Equal(text, again) {
			t.Fatalf("%q became %q, then %q", body, text, again)
		}
		wide := wideByZeros(body) != nil || isISO2022JP(body) || strings.Contains(strings.ToLower(contentType), "utf-16")
		if utf8.Valid(body) && !wide && !bytes.Equal(text, bytes.TrimPrefix(body, []byte("\uFEFF"))) {
			t.Fatalf("the UTF-8 %q became %q", body, text)
		}
	})
}

// A document of the largest size that a page may have, of bytes that are looked at most closely.
func BenchmarkDecode(b *testing.B) {
	body := bytes.Repeat(encoded(b, charmap.KOI8R, russianNews.first), 50<<10)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		Decode(body, "text/html; charset=windows-1251")
	}
}

// The part of a document that is looked at, without what it takes to convert the whole.
func BenchmarkChoose(b *testing.B) {
	sample := sampleOf(bytes.Repeat(encoded(b, charmap.KOI8R, russianNews.first), 1000))
	for b.Loop() {
		choose(sample, nil)
	}
}
