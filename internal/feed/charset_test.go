// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	textunicode "golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

const (
	japaneseTitle = "東京で新しい地下鉄が開業しました。ひらがなとカタカナ"
	frenchTitle   = "L’été à Orléans : où déjeuner ?"
	russianTitle  = "Новости дня"
	greekTitle    = "Ειδήσεις της ημέρας"
	chineseTitle  = "新闻标题：今天北京的天气很好"
)

func encoded(t *testing.T, to encoding.Encoding, text string) string {
	t.Helper()
	bytes, err := to.NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// R1.6: the character set is found, whatever is said of it.
func TestCharacterSets(t *testing.T) {
	t.Parallel()
	sjis, eucjp, jis := japanese.ShiftJIS, japanese.EUCJP, japanese.ISO2022JP
	utf16le := textunicode.UTF16(textunicode.LittleEndian, textunicode.IgnoreBOM)
	utf16be := textunicode.UTF16(textunicode.BigEndian, textunicode.IgnoreBOM)
	tests := map[string]struct {
		encoding    encoding.Encoding
		declared    string
		contentType string
		title       string
		mark        string
	}{
		"UTF-8":                                {nil, "utf-8", "", japaneseTitle, ""},
		"UTF-8 that is not declared":           {nil, "", "", japaneseTitle, ""},
		"UTF-8 with a mark":                    {nil, "utf-8", "", japaneseTitle, "\xef\xbb\xbf"},
		"UTF-8 declared as Latin 1":            {nil, "iso-8859-1", "text/xml; charset=us-ascii", japaneseTitle, ""},
		"UTF-8 declared as Shift_JIS":          {nil, "Shift_JIS", "", japaneseTitle, ""},
		"UTF-8 declared as UTF-16":             {nil, "utf-16", "", japaneseTitle, ""},
		"UTF-16 with a mark, little end":       {utf16le, "utf-16", "", japaneseTitle, "\xff\xfe"},
		"UTF-16 with a mark, big end":          {utf16be, "utf-16", "", japaneseTitle, "\xfe\xff"},
		"UTF-16 without a mark, little end":    {utf16le, "utf-16", "", japaneseTitle, ""},
		"UTF-16 without a mark, big end":       {utf16be, "", "", japaneseTitle, ""},
		"UTF-16 declared as UTF-8":             {utf16le, "utf-8", "text/xml; charset=utf-8", japaneseTitle, "\xff\xfe"},
		"UTF-32 with a mark":                   {utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM), "", "", japaneseTitle, "\xff\xfe\x00\x00"},
		"Shift_JIS":                            {sjis, "Shift_JIS", "", japaneseTitle, ""},
		"Shift_JIS in the header":              {sjis, "", "text/xml; charset=Shift_JIS", japaneseTitle, ""},
		"Shift_JIS that is not declared":       {sjis, "", "", japaneseTitle, ""},
		"Shift_JIS declared as UTF-8":          {sjis, "UTF-8", "text/xml; charset=utf-8", japaneseTitle, ""},
		"Shift_JIS declared as EUC-JP":         {sjis, "EUC-JP", "", japaneseTitle, ""},
		"Shift_JIS under a server's Latin 1":   {sjis, "Shift_JIS", "text/xml; charset=ISO-8859-1", japaneseTitle, ""},
		"EUC-JP":                               {eucjp, "EUC-JP", "", japaneseTitle, ""},
		"EUC-JP that is not declared":          {eucjp, "", "", japaneseTitle, ""},
		"EUC-JP declared as Shift_JIS":         {eucjp, "Shift_JIS", "", japaneseTitle, ""},
		"EUC-JP declared as UTF-8":             {eucjp, "utf-8", "", japaneseTitle, ""},
		"ISO-2022-JP":                          {jis, "ISO-2022-JP", "", japaneseTitle, ""},
		"ISO-2022-JP that is not declared":     {jis, "", "", japaneseTitle, ""},
		"ISO-2022-JP declared as UTF-8":        {jis, "utf-8", "", japaneseTitle, ""},
		"windows-1252":                         {charmap.Windows1252, "windows-1252", "", frenchTitle, ""},
		"windows-1252 declared as Latin 1":     {charmap.Windows1252, "iso-8859-1", "", frenchTitle, ""},
		"windows-1252 in the header":           {charmap.Windows1252, "", "text/xml; charset=windows-1252", frenchTitle, ""},
		"windows-1252 that is not declared":    {charmap.Windows1252, "", "", frenchTitle, ""},
		"windows-1252 declared as UTF-8":       {charmap.Windows1252, "utf-8", "", frenchTitle, ""},
		"windows-1251":                         {charmap.Windows1251, "windows-1251", "", russianTitle, ""},
		"KOI8-R under a server's UTF-8":        {charmap.KOI8R, "koi8-r", "text/xml; charset=utf-8", russianTitle, ""},
		"GBK":                                  {simplifiedchinese.GBK, "gb2312", "", "新闻标题", ""},
		"EUC-KR":                               {korean.EUCKR, "euc-kr", "", "오늘의 뉴스", ""},
		"UTF-32 without a mark":                {utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM), "utf-32", "", japaneseTitle, ""},
		"UTF-32 without a mark, big end":       {utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM), "", "", japaneseTitle, ""},
		"windows-1250":                         {charmap.Windows1250, "windows-1250", "", "Zażółć gęślą jaźń", ""},
		"windows-1251 declared as UTF-8":       {charmap.Windows1251, "utf-8", "text/xml; charset=utf-8", russianTitle, ""},
		"windows-1251 declared as Latin 1":     {charmap.Windows1251, "", "text/xml; charset=ISO-8859-1", russianTitle, ""},
		"windows-1253":                         {charmap.Windows1253, "windows-1253", "", greekTitle, ""},
		"windows-1253 that is not declared":    {charmap.Windows1253, "", "", greekTitle, ""},
		"windows-1254":                         {charmap.Windows1254, "windows-1254", "", "Günün haberleri: İstanbul ışığı", ""},
		"windows-1255":                         {charmap.Windows1255, "windows-1255", "", "חדשות היום", ""},
		"windows-1255 declared as UTF-8":       {charmap.Windows1255, "utf-8", "", "חדשות היום", ""},
		"windows-1256":                         {charmap.Windows1256, "windows-1256", "", "أخبار اليوم", ""},
		"windows-1256 that is not declared":    {charmap.Windows1256, "", "", "أخبار اليوم", ""},
		"windows-1257":                         {charmap.Windows1257, "windows-1257", "", "Dienos žinios: ąčęėįšųū", ""},
		"windows-1258":                         {charmap.Windows1258, "windows-1258", "", "Tin Viêt", ""},
		"windows-1252 in one letter":           {charmap.Windows1252, "utf-8", "", "Café", ""},
		"ISO 8859-2":                           {charmap.ISO8859_2, "iso-8859-2", "", "Zażółć gęślą", ""},
		"ISO 8859-5 under a server's UTF-8":    {charmap.ISO8859_5, "iso-8859-5", "text/xml; charset=utf-8", russianTitle, ""},
		"ISO 8859-15 under a false UTF-8":      {charmap.ISO8859_15, "utf-8", "text/xml; charset=iso-8859-15", "Prix: 5 € à Nîmes", ""},
		"KOI8-R in the header":                 {charmap.KOI8R, "utf-8", "text/xml; charset=koi8-r", russianTitle, ""},
		"KOI8-R that is not declared":          {charmap.KOI8R, "", "", russianTitle + ": съешь ещё этих булок", ""},
		"GBK declared as UTF-8":                {simplifiedchinese.GBK, "utf-8", "text/xml; charset=utf-8", chineseTitle, ""},
		"GB18030":                              {simplifiedchinese.GB18030, "gb18030", "", chineseTitle + "𠀀", ""},
		"Big5":                                 {traditionalchinese.Big5, "big5", "text/xml; charset=utf-8", "新聞標題：今天台北的天氣很好", ""},
		"Big5 that is not declared":            {traditionalchinese.Big5, "", "", "新聞標題：今天台北的天氣很好", ""},
		"EUC-KR declared as UTF-8":             {korean.EUCKR, "utf-8", "", "오늘의 뉴스 제목입니다", ""},
		"Shift_JIS without kana in the header": {sjis, "utf-8", "text/xml; charset=shift_jis", "東京都知事選挙", ""},
		"Macintosh":                            {charmap.Macintosh, "macintosh", "", "Élan vital", ""},
		"an unknown character set":             {nil, "x-nobody", "text/xml; charset=\"", japaneseTitle, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			declaration := "<?xml version=\"1.0\"?>"
			if test.declared != "" {
				declaration = `<?xml version="1.0" encoding="` + test.declared + `"?>`
			}
			body := declaration + "\n<rss version=\"2.0\"><channel><title>T</title><item><title>" + test.title + "</title></item></channel></rss>"
			if test.encoding != nil {
				body = encoded(t, test.encoding, body)
			}
			document, err := Parse([]byte(test.mark+body), test.contentType, "")
			if err != nil {
				t.Fatal(err)
			}
			if got := document.Entries[0].Title; got != test.title || document.Damage != "" {
				t.Errorf("title %q, damage %q, want %q", got, document.Damage, test.title)
			}
		})
	}
}

// R1.6: what does not belong into a document costs only itself.
func TestStrayBytes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ body, want string }{
		"a byte that is not UTF-8":                      {`<?xml version="1.0" encoding="utf-8"?>` + rssWith("<item><title>a\xffb</title></item>")[21:], "a\uFFFDb"},
		"a byte that is not UTF-8 among those that are": {rssWith("<item><title>日本\xe6語</title></item>"), "日本\uFFFD語"},
		"a letter of a code page that was pasted in":    {rssWith("<item><title>日本 caf\xe9 日本</title></item>"), "日本 café 日本"},
		"quotation marks that were pasted in":           {rssWith("<item><title>\x93a\x94 b\x92s</title></item>"), "“a” b’s"},
		"a character that is cut off":                   {rssWith("<item><title>ab\xe6\x97</title></item>"), "ab\uFFFD"},
		"control characters":                            {rssWith("<item><title>a\x00\x0b\x1fb</title></item>"), "ab"},
		"control characters as references":              {rssWith("<item><title>a&#0;&#x1F;&#xFFFF;&#55296;&#99999999;b</title></item>"), "ab"},
		"characters that no text has":                   {rssWith("<item><title>a\uFFFE\uFFFFb</title></item>"), "ab"},
		"the marks of a code page as references":        {rssWith("<item><title>it&#146;s</title></item>"), "it’s"},
		"white space before the document":               {"\n\n  " + rssWith("<item><title>ab</title></item>"), "ab"},
		"a warning before the document":                 {"<br />\n<b>Warning</b>: file() failed<br/>" + rssWith("<item><title>ab</title></item>"), "ab"},
		"words before the document":                     {"Notice: x\n" + rssWith("<item><title>ab</title></item>"), "ab"},
		"a comment before the document":                 {"<!-- cached -->" + rssWith("<item><title>ab</title></item>")[21:], "ab"},
		"a script after the document":                   {rssWith("<item><title>ab</title></item>") + "<script>a<b</script>", "ab"},
		"a declaration that is not closed right":        {`<?xml version="1.1" encoding="utf-8">` + rssWith("<item><title>ab</title></item>")[21:], "ab"},
		"two declarations":                              {`<?xml version="1.0" encoding="utf-8"?><?xml version="1.0" encoding="shift_jis"?>` + rssWith("<item><title>日本</title></item>")[21:], "日本"},
		"a declaration inside of a content":             {rssWith("<item><title>ab</title><description><![CDATA[<?xml version='1.0' encoding='utf-16'?><rss>]]></description></item>")[21:], "ab"},
		"references of HTML":                            {rssWith("<item><title>a&nbsp;&mdash;&eacute;</title></item>"), "a —é"},
		"an ampersand":                                  {rssWith("<item><title>R & D</title></item>"), "R & D"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := one(t, test.body).Title; got != test.want {
				t.Errorf("title %q, want %q", got, test.want)
			}
		})
	}
}
