// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package charset

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"

	"github.com/feed-operator/feed-operator/internal/portion"
)

// news is a little of it in one language: a headline, and two sentences that tell more.
type news struct{ title, first, second string }

var (
	frenchNews = news{
		"Après l’été, la forêt brûlée de Corrèze renaît déjà",
		"Des élèves du collège ont planté trois mille chênes près du village, où le feu était passé en août.",
		"« Nous espérons que d’autres communes suivront », a déclaré la maire à la fin de la journée.",
	}
	germanNews = news{
		"Züge nach Köln fallen künftig häufiger aus",
		"Die Bahn kündigte größere Störungen für die nächsten Wochen an, weil Brücken überprüft werden müssen.",
		"Fahrgäste können ihr Geld zurückverlangen, wenn sie die Fahrt ändern möchten.",
	}
	spanishNews = news{
		"El año más cálido de España según los meteorólogos",
		"La sequía redujo también la producción de aceite en Andalucía, aunque la situación mejoró en otoño.",
		"¿Qué harán los regantes? El ministerio decidirá mañana cuántos pozos podrán abrirse.",
	}
	polishNews = news{
		"Pociągi z Łodzi do Gdańska pojadą wkrótce szybciej",
		"Zarząd kolei zapowiedział, że część połączeń będzie krótsza o pół godziny, ponieważ ukończono już remont torów.",
		"Mieszkańcy mniejszych miejscowości obawiają się jednak, że pociąg się u nich nie zatrzyma.",
	}
	czechNews = news{
		"Řidiči v Brně čekají kvůli opravě mostu až půl hodiny",
		"Město slíbilo, že dělníci budou pracovat i v noci, aby se nejhorší úsek otevřel ještě před začátkem prázdnin.",
		"Některé tramvaje pojedou příští týden odklonem přes nádraží.",
	}
	russianNews = news{
		"Учёные нашли древний город на берегу Волги",
		"Раскопки продолжались три года, и в них участвовали студенты из нескольких университетов страны.",
		"Находки покажут в музее уже этой осенью, сообщила директор.",
	}
	ukrainianNews = news{
		"У Львові відкрили нову бібліотеку для дітей",
		"Її будували понад два роки, і тепер тут є читальні зали, майстерні та невелика сцена.",
		"Міська рада обіцяє, що вхід залишиться безкоштовним.",
	}
	greekNews = news{
		"Άνοιξε ξανά το παλιό λιμάνι της Θεσσαλονίκης",
		"Οι εργασίες κράτησαν τέσσερα χρόνια και κόστισαν λιγότερο από όσο είχε υπολογίσει ο δήμος.",
		"Έτσι οι κάτοικοι μπορούν να περπατούν πάλι δίπλα στη θάλασσα.",
	}
	hebrewNews = news{
		"הרכבת החדשה לירושלים תצא לדרך בחודש הבא",
		"במשרד התחבורה אומרים כי הנסיעה תקוצר בעשרים דקות וכי יתווספו רכבות בשעות הלילה.",
		"תושבי השכונות הסמוכות חוששים מהרעש.",
	}
	arabicNews = news{
		"افتتاح مكتبة جديدة للأطفال في وسط المدينة",
		"قالت رئيسة البلدية إن المبنى كلف أقل مما كان متوقعا، وإن الدخول إليه سيبقى مجانيا.",
		"وتضم المكتبة قاعة للقراءة ومسرحا صغيرا.",
	}
	turkishNews = news{
		"İstanbul’da yağmur yüzünden vapur seferleri durduruldu",
		"Belediye, fırtınanın öğleden sonra şiddetleneceğini ve köprülerde trafiğin yavaşlayacağını açıkladı.",
		"Bazı okullar çarşamba günü de kapalı kalacak.",
	}
	thaiNews = news{
		"รถไฟสายใหม่เปิดให้บริการแล้ว",
		"ผู้โดยสารจำนวนมากเดินทางมาตั้งแต่เช้า เพราะอยากเป็นคนแรกที่ได้นั่งรถขบวนนี้",
		"การรถไฟบอกว่าจะเพิ่มเที่ยวรถในเดือนหน้า",
	}
	japaneseNews = news{
		"台風の影響で新幹線が運転を見合わせ、再開は夕方の見込み",
		"鉄道会社によると、線路に倒れた木を取り除く作業が続いており、約三万人に影響が出ている。",
		"利用者には最新の情報を確認するよう呼びかけている。",
	}
	simplifiedNews = news{
		"上海新地铁线明天开通，市民可以免费乘坐",
		"这条线路全长二十公里，共设十五个车站，建设用了四年时间。",
		"有关部门表示，开通之后将继续改善附近的公共汽车服务。",
	}
	traditionalNews = news{
		"颱風過後台北市區恢復供電，學校明天上課",
		"電力公司表示，工作人員連夜搶修，仍有三千戶等待恢復。",
		"市長感謝大家的耐心，並說將檢查所有老舊的線路。",
	}
	koreanNews = news{
		"서울 지하철 새 노선이 다음 달에 문을 연다",
		"시청은 공사가 예정보다 석 달 일찍 끝났으며 요금은 그대로라고 밝혔다.",
		"주민들은 출근 시간이 짧아질 것으로 기대하고 있다.",
	}
	hungarianNews = news{
		"Új híd épül a Dunán, jövőre kezdődik az építkezés",
		"A főváros szerint a környező utcákban kevesebb autó közlekedik majd, és rövidebb lesz az út.",
		"A lakók közül többen a zajtól félnek, ezért gyűlést hívtak össze.",
	}
	swedishNews = news{
		"Färjan till Åland går åter efter stormen",
		"Många resenärer fick vänta hela natten på hjälp, men på måndag väntas trafiken vara som vanligt.",
		"Rederiet säger att ingen människa skadades.",
	}
	lithuanianNews = news{
		"Vilniuje šią savaitę atidaryta nauja biblioteka",
		"Joje yra daugiau kaip dešimt tūkstančių knygų, o skaityti galima ir naktį.",
		"Miestiečiai džiaugiasi, kad įėjimas nieko nekainuoja.",
	}
)

// written are texts in the character sets in which documents come.
var written = map[string]struct {
	set   encoding.Encoding
	label string
	news  news
}{
	"French in windows-1252":         {charmap.Windows1252, "windows-1252", frenchNews},
	"German in ISO 8859-1":           {charmap.ISO8859_1, "iso-8859-1", germanNews},
	"Spanish in ISO 8859-1":          {charmap.ISO8859_1, "iso-8859-1", spanishNews},
	"Swedish in ISO 8859-1":          {charmap.ISO8859_1, "iso-8859-1", swedishNews},
	"Polish in ISO 8859-2":           {charmap.ISO8859_2, "iso-8859-2", polishNews},
	"Polish in windows-1250":         {charmap.Windows1250, "windows-1250", polishNews},
	"Czech in windows-1250":          {charmap.Windows1250, "windows-1250", czechNews},
	"Czech in ISO 8859-2":            {charmap.ISO8859_2, "iso-8859-2", czechNews},
	"Hungarian in windows-1250":      {charmap.Windows1250, "windows-1250", hungarianNews},
	"Lithuanian in windows-1257":     {charmap.Windows1257, "windows-1257", lithuanianNews},
	"Russian in windows-1251":        {charmap.Windows1251, "windows-1251", russianNews},
	"Russian in KOI8-R":              {charmap.KOI8R, "koi8-r", russianNews},
	"Russian in ISO 8859-5":          {charmap.ISO8859_5, "iso-8859-5", russianNews},
	"Ukrainian in windows-1251":      {charmap.Windows1251, "windows-1251", ukrainianNews},
	"Ukrainian in KOI8-U":            {charmap.KOI8U, "koi8-u", ukrainianNews},
	"Greek in ISO 8859-7":            {charmap.ISO8859_7, "iso-8859-7", greekNews},
	"Greek in windows-1253":          {charmap.Windows1253, "windows-1253", greekNews},
	"Hebrew in windows-1255":         {charmap.Windows1255, "windows-1255", hebrewNews},
	"Arabic in windows-1256":         {charmap.Windows1256, "windows-1256", arabicNews},
	"Turkish in windows-1254":        {charmap.Windows1254, "windows-1254", turkishNews},
	"Thai in TIS-620":                {charmap.Windows874, "tis-620", thaiNews},
	"Japanese in Shift_JIS":          {japanese.ShiftJIS, "shift_jis", japaneseNews},
	"Japanese in EUC-JP":             {japanese.EUCJP, "euc-jp", japaneseNews},
	"Japanese in ISO-2022-JP":        {japanese.ISO2022JP, "iso-2022-jp", japaneseNews},
	"Chinese in GBK":                 {simplifiedchinese.GBK, "gbk", simplifiedNews},
	"Chinese in GB18030":             {simplifiedchinese.GB18030, "gb18030", simplifiedNews},
	"Chinese in Big5":                {traditionalchinese.Big5, "big5", traditionalNews},
	"Korean in EUC-KR":               {korean.EUCKR, "euc-kr", koreanNews},
	"Japanese in UTF-8":              {encoding.Nop, "utf-8", japaneseNews},
	"French in UTF-8":                {encoding.Nop, "utf-8", frenchNews},
	"Greek in UTF-8":                 {encoding.Nop, "utf-8", greekNews},
	"Japanese in UTF-16, little end": {utf16Little, "utf-16le", japaneseNews},
	"Japanese in UTF-16, big end":    {utf16Big, "utf-16be", japaneseNews},
	"Russian in UTF-16, little end":  {utf16Little, "utf-16", russianNews},
	"French in UTF-32, big end":      {utf32Big, "utf-32", frenchNews},
}

// documents are what a text may stand in. A declaration is put in where there is one.
var documents = map[string]func(declared string, n news) string{
	"a feed": func(declared string, n news) string {
		if declared != "" {
			declared = ` encoding="` + declared + `"`
		}
		return `<?xml version="1.0"` + declared + `?>` + "\n<rss version=\"2.0\"><channel><title>News</title><link>https://site.example/</link>" +
			"<item><title>" + n.title + "</title><link>https://site.example/1</link><description>" + n.first + "</description></item>" +
			"<item><title>Two</title><description>" + n.second + "</description></item></channel></rss>"
	},
	"a page": func(declared string, n news) string {
		if declared != "" {
			declared = `<meta http-equiv="Content-Type" content="text/html; charset=` + declared + `">`
		}
		return "<!DOCTYPE html>\n<html><head>" + declared + "<title>News</title></head><body><div class=\"nav\"><a href=\"/\">Home</a></div><h1>" +
			n.title + "</h1><p>" + n.first + "</p>\n<p>" + n.second + "</p></body></html>"
	},
	"a title alone": func(declared string, n news) string {
		if declared != "" {
			declared = ` encoding="` + declared + `"`
		}
		return `<?xml version="1.0"` + declared + `?><rss><item><title>` + n.title + "</title></item></rss>"
	},
}

// falseLabels are what documents say that are in something else.
var falseLabels = []string{"", "utf-8", "iso-8859-1", "us-ascii", "windows-1251", "shift_jis", "gb2312", "euc-kr", "big5", "iso-8859-2", "windows-1256", "utf-16", "x-nobody"}

// falseLabelsOf are those that are tried with one text: with each, others of them.
func falseLabelsOf(text string) (some []string) {
	every := portion.Of(1, len(falseLabels))
	for i, label := range falseLabels {
		if (i+len(text))%every == 0 {
			some = append(some, label)
		}
	}
	return some
}

func encoded(t testing.TB, set encoding.Encoding, text string) []byte {
	t.Helper()
	result, err := set.NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(result)
}

// R1.6: whatever a document says of its character set, or does not say, in itself and in the header, its text is read.
func TestWhateverIsDeclared(t *testing.T) {
	t.Parallel()
	for name, text := range written {
		for kind, document := range documents {
			t.Run(name+" in "+kind, func(t *testing.T) {
				t.Parallel()
				try := func(label, header string) {
					want := document(label, text.news)
					if got := Decode(encoded(t, text.set, want), header); string(got) != want {
						t.Errorf("declared %q, header %q: %s", label, header, difference(got, want))
					}
				}
				try(text.label, "text/xml; charset=utf-8")
				try(text.label, "text/html; charset=iso-8859-1")
				try("utf-8", "text/html; charset="+text.label)
				for _, label := range append(falseLabelsOf(name+kind), text.label) {
					if kind == "a title alone" && label == "iso-8859-2" && text.set == charmap.ISO8859_1 {
						continue // a few letters that Latin 1 and Latin 2 mostly share say too little against a declaration
					}
					try(label, "")
					try("", "text/html; charset="+label)
				}
			})
		}
	}
}

// difference is the first line that is wrong.
func difference(got []byte, want string) string {
	wanted := strings.Split(want, "\n")
	for i, line := range strings.Split(string(got), "\n") {
		if i >= len(wanted) || line != wanted[i] {
			return fmt.Sprintf("%q", line)
		}
	}
	return "too short"
}
