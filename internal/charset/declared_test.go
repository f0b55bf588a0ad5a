// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package charset

import (
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	textunicode "golang.org/x/text/encoding/unicode"
)

// R1.6, R2.5
func TestDeclarations(t *testing.T) {
	t.Parallel()
	const (
		ja  = "資源環境庁は本日、新たな補助制度を創設することを決定しました。詳しくは、ウェブサイトをご覧ください。"
		fr  = "L’été dernier, la mairie a décidé que la forêt serait protégée."
		ko2 = " 지원을 받으려는 기업은 다음 달부터 신청할 수 있으며, 자세한 내용은 누리집에서 확인할 수 있습니다."
		zh  = "环境部今天宣布了新的支持制度。企业可以从下个月开始申请，详细内容请参阅网站上的说明。"
		ru  = "Министерство сегодня объявило о новой системе поддержки. Предприятия могут подать заявку со следующего месяца."
		el  = "Το υπουργείο ανακοίνωσε σήμερα ένα νέο σύστημα στήριξης για τις επιχειρήσεις της χώρας."
		pl  = "Ministerstwo ogłosiło dziś nowy system wsparcia dla przedsiębiorstw, które mogą składać wnioski."
		ko  = "환경부는 오늘 새로운 지원 제도를 발표했습니다."
	)
	meta := func(charset, text string) string { return `<meta charset="` + charset + `"><p>` + text }
	tests := map[string]struct {
		page, contentType, want string
	}{
		"UTF-8 that nobody declared":                                   {ja, "text/html", ja},
		"UTF-8 with a byte order mark":                                 {"\ufeff" + ja, "text/html; charset=shift_jis", ja},
		"UTF-8 that the header denies":                                 {ja, "text/html; charset=iso-8859-1", ja},
		"UTF-16 with a byte order mark":                                {string(encoded(t, textunicode.UTF16(textunicode.LittleEndian, textunicode.UseBOM), ja)), "", ja},
		"UTF-16, big end first":                                        {string(encoded(t, textunicode.UTF16(textunicode.BigEndian, textunicode.UseBOM), ja)), "", ja},
		"UTF-16 by header alone":                                       {string(encoded(t, textunicode.UTF16(textunicode.LittleEndian, textunicode.IgnoreBOM), ja)), "text/html; charset=utf-16le", ja},
		"Shift_JIS by header":                                          {string(encoded(t, japanese.ShiftJIS, ja)), "text/html; charset=Shift_JIS", ja},
		"Shift_JIS by meta element":                                    {string(encoded(t, japanese.ShiftJIS, meta("Shift_JIS", ja))), "text/html", meta("Shift_JIS", ja)},
		"Shift_JIS by an old meta element":                             {string(encoded(t, japanese.ShiftJIS, `<META http-equiv="Content-Type" content="text/html; charset=x-sjis">`+ja)), "text/html", `<META http-equiv="Content-Type" content="text/html; charset=x-sjis">` + ja},
		"Shift_JIS, where the header says UTF8":                        {string(encoded(t, japanese.ShiftJIS, meta("shift_jis", ja))), "text/html; charset=utf-8", meta("shift_jis", ja)},
		"Shift_JIS, where the header has the default of the server":    {string(encoded(t, japanese.ShiftJIS, meta("shift_jis", ja))), "text/html; charset=ISO-8859-1", meta("shift_jis", ja)},
		"Shift_JIS that nobody declared":                               {string(encoded(t, japanese.ShiftJIS, ja)), "text/html", ja},
		"Shift_JIS, declared behind a long head":                       {string(encoded(t, japanese.ShiftJIS, "<!--"+strings.Repeat("-", 4000)+"-->"+meta("shift_jis", ja))), "", "<!--" + strings.Repeat("-", 4000) + "-->" + meta("shift_jis", ja)},
		"EUC-JP by header":                                             {string(encoded(t, japanese.EUCJP, ja)), "text/html; charset=euc-jp", ja},
		"EUC-JP by XML declaration":                                    {string(encoded(t, japanese.EUCJP, `<?xml version="1.0" encoding="EUC-JP"?>`+ja)), "application/xhtml+xml", `<?xml version="1.0" encoding="EUC-JP"?>` + ja},
		"EUC-JP, where the header has the default of the server":       {string(encoded(t, japanese.EUCJP, meta("euc-jp", ja))), "text/html; charset=iso-8859-1", meta("euc-jp", ja)},
		"Windows-1252 that could be Shift_JIS":                         {string(encoded(t, charmap.Windows1252, "La poésie est née")), "", "La poésie est née"},
		"EUC-JP that nobody declared":                                  {string(encoded(t, japanese.EUCJP, ja)), "text/html", ja},
		"ISO-2022-JP by meta element":                                  {string(encoded(t, japanese.ISO2022JP, meta("iso-2022-jp", ja))), "text/html", meta("iso-2022-jp", ja)},
		"ISO-2022-JP that nobody declared":                             {string(encoded(t, japanese.ISO2022JP, ja)), "text/html", ja},
		"Windows-1252 that nobody declared":                            {string(encoded(t, charmap.Windows1252, fr)), "text/html", fr},
		"Windows-1252, where the header says UTF-8":                    {string(encoded(t, charmap.Windows1252, fr)), "text/html; charset=utf-8", fr},
		"EUC-KR by header":                                             {string(encoded(t, korean.EUCKR, ko)), "text/html; charset=euc-kr", ko},
		"EUC-KR that nobody declared":                                  {string(encoded(t, korean.EUCKR, ko+ko2)), "text/html", ko + ko2},
		"EUC-KR that the header denies":                                {string(encoded(t, korean.EUCKR, ko+ko2)), "text/html; charset=utf-8", ko + ko2},
		"GBK by header":                                                {string(encoded(t, simplifiedchinese.GBK, zh)), "text/html; charset=gbk", zh},
		"GBK by its older name in the meta element":                    {string(encoded(t, simplifiedchinese.GBK, meta("gb2312", zh))), "text/html", meta("gb2312", zh)},
		"GBK that nobody declared":                                     {string(encoded(t, simplifiedchinese.GBK, zh)), "text/html", zh},
		"GBK that the page denies":                                     {string(encoded(t, simplifiedchinese.GBK, meta("utf-8", zh))), "text/html", meta("utf-8", zh)},
		"Windows-1250 by meta element":                                 {string(encoded(t, charmap.Windows1250, meta("windows-1250", pl))), "text/html", meta("windows-1250", pl)},
		"Windows-1251 by header":                                       {string(encoded(t, charmap.Windows1251, ru)), "text/html; charset=windows-1251", ru},
		"Windows-1251 that nobody declared":                            {string(encoded(t, charmap.Windows1251, ru)), "text/html", ru},
		"Windows-1251, where the header has the default of the server": {string(encoded(t, charmap.Windows1251, meta("windows-1251", ru))), "text/html; charset=iso-8859-1", meta("windows-1251", ru)},
		"KOI8-R that nobody declared":                                  {string(encoded(t, charmap.KOI8R, ru)), "text/html", ru},
		"Windows-1253 that nobody declared":                            {string(encoded(t, charmap.Windows1253, el)), "text/html", el},
		"Shift_JIS, where the header says Windows-1251":                {string(encoded(t, japanese.ShiftJIS, meta("shift_jis", ja))), "text/html; charset=windows-1251", meta("shift_jis", ja)},
		"EUC-JP, where header and page say Shift_JIS":                  {string(encoded(t, japanese.EUCJP, meta("shift_jis", ja))), "text/html; charset=shift_jis", meta("shift_jis", ja)},
		"Shift_JIS, where header and page say EUC-JP":                  {string(encoded(t, japanese.ShiftJIS, meta("euc-jp", ja))), "text/html; charset=euc-jp", meta("euc-jp", ja)},
		"UTF-8, where header and page say Shift_JIS":                   {meta("shift_jis", ja), "text/html; charset=shift_jis", meta("shift_jis", ja)},
		"ISO-2022-JP, where the header says UTF-8":                     {string(encoded(t, japanese.ISO2022JP, ja)), "text/html; charset=utf-8", ja},
		"a charset that does not exist":                                {ja, "text/html; charset=martian", ja},
		"a charset that browsers refuse, for what it can hide":         {"\x1b$)Chidden", "text/html; charset=iso-2022-kr", "\x1b$)Chidden"},
		"a single bad byte in UTF-8 does not make the page illegible ": {ja + ja + "\xff", "text/html; charset=utf-8", ja + ja + "\ufffd"},
		"nothing": {"", "text/html", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := string(Decode([]byte(test.page), test.contentType)); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
