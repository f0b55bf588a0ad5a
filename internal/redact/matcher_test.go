// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	quantity "github.com/feed-operator/feed-operator/internal/portion"
)

func init() { quantity.Draws(25) }

// R5.6: a secret is found in whatever form it is written.
func TestASecretIsHiddenInEachOfItsForms(t *testing.T) {
	t.Parallel()
	for what, secret := range map[string]string{
		"a token":             "q7Rt-0123456789_Zx",
		"a short one":         "hunter22",
		"one with marks":      `p&ss <w>o"r'd\ +/=?%`,
		"one of many letters": "пароль-密碼-🔑",
		"one with a break":    "first line\nsecond line",
		"one like base64":     "c2VjcmV0+//+c2VjcmV0Pz8/==",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			sent := NewSent(" " + secret + "\r\n")
			basic := &http.Request{Header: http.Header{}}
			basic.SetBasicAuth("reader", secret)
			var inXML strings.Builder
			if err := xml.EscapeText(&inXML, []byte(secret)); err != nil {
				t.Fatal(err)
			}
			inJSON, err := json.Marshal(secret)
			if err != nil {
				t.Fatal(err)
			}
			for form, text := range map[string]string{
				"as it is":          secret,
				"JSON":              string(inJSON),
				"JSON in JSON":      fmt.Sprintf("%q", inJSON),
				"quotes":            fmt.Sprintf("%q", secret),
				"quotes, ASCII":     fmt.Sprintf("%+q", secret),
				"a query":           "https://example.org/?key=" + url.QueryEscape(secret) + "&x=1",
				"a path":            "https://example.org/" + url.PathEscape(secret) + "/x",
				"small hexadecimal": strings.ToLower(url.QueryEscape(secret)),
				"HTML":              "<p>" + html.EscapeString(secret) + "</p>",
				"XML":               "<p>" + inXML.String() + "</p>",
				"HTML in a feed":    html.EscapeString(html.EscapeString(secret)),
				"hexadecimal":       fmt.Sprintf("%x", secret),
				"HEXADECIMAL":       fmt.Sprintf("%X", secret),
				"base64":            base64.StdEncoding.EncodeToString([]byte(secret)),
				"base64 of URLs":    base64.RawURLEncoding.EncodeToString([]byte(secret)),
				"Basic":             basic.Header.Get("Authorization"),
				"in base64":         base64.StdEncoding.EncodeToString([]byte("{\"token\": \"" + secret + "\", \"user\": 1}")),
			} {
				// What is escaped otherwise in small letters only is not what anybody writes.
				if form == "small hexadecimal" && strings.ToLower(secret) != secret {
					continue
				}
				masked := sent.Mask("before " + text + " after")
				if !strings.Contains(masked, Masked) || !strings.HasPrefix(masked, "before ") || !strings.HasSuffix(masked, " after") {
					t.Errorf("%s: %q is masked as %q", form, text, masked)
				}
				if plain := escaped(secret); strings.Contains(masked, secret) || strings.Contains(masked, plain[0]) {
					t.Errorf("%s: %q is left in %q", form, secret, masked)
				}
			}
		})
	}
}

func TestWhatIsNoSecretIsNotHidden(t *testing.T) {
	t.Parallel()
	if none := NewSent("", "short", "7 bytes", "  abc    \n", Masked, "MASKED***", "x"+Masked+"y", strings.Repeat("x", longestValue+1)); none != nil {
		t.Errorf("%v would be hidden", none.values)
	}
	var nobody *Sent
	for _, text := range []string{
		"", "a", "a-secret", "a-secret-of-yours", "the token ring", Masked, "A-SECRET-OF-MINE is not it",
		"a-secret-of-min…", "cut at its end: a-secret-of-min", // only whole values are
	} {
		if got := NewSent("a-secret-of-mine").Mask(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
		if got := nobody.Mask(text); got != text {
			t.Errorf("%q became %q by nothing", text, got)
		}
	}
}

func TestSecretsThatTouch(t *testing.T) {
	t.Parallel()
	sent := NewSent("aaaa-bbbb", "bbbb-cccc", "aaaa-bbbb-cccc-dddd", "zzzzzzzz")
	for text, want := range map[string]string{
		"x aaaa-bbbb-cccc y":      "x " + Masked + " y",
		"x aaaa-bbbb-cccc-dddd y": "x " + Masked + " y",
		"aaaa-bbbbbbbb-cccc":      Masked + Masked,
		"zzzzzzzzz":               Masked,
		"zzzzzzzzzzzzzzzzz y":     Masked + " y",
		Masked + "aaaa-bbbb":      Masked + Masked,
		"aaaa" + Masked + "-bbbb": "aaaa" + Masked + "-bbbb",
	} {
		if got := sent.Mask(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// plainly is what mask does, in the plainest way: it hides each byte of each place of each form.
func plainly(text string, forms []string) string {
	var out strings.Builder
	for i, part := range strings.Split(text, Masked) {
		if i > 0 {
			out.WriteString(Masked)
		}
		within := make([]int, len(part)+1) // how many places reach over the border before a byte
		hidden := make([]bool, len(part)+1)
		for _, form := range forms {
			for at := range len(part) {
				if strings.HasPrefix(part[at:], form) {
					for b := at; b < at+len(form); b++ {
						hidden[b] = true
						if b > at {
							within[b]++
						}
					}
				}
			}
		}
		for b := range len(part) {
			switch {
			case !hidden[b]:
				out.WriteByte(part[b])
			case within[b] == 0: // a place begins, and none goes on
				out.WriteString(Masked)
			}
		}
	}
	return out.String()
}

// Whatever the secrets and the text are, what is hidden is each place of each form of a secret and nothing else; a
// second look changes nothing, and what was text stays text. Secrets that are known one by one, and in
// portions, hide the same.
func TestMaskProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.OneOf(
			rapid.StringOfN(rapid.RuneFrom([]rune("ab")), 0, 40, -1),
			rapid.StringOfN(rapid.RuneFrom([]rune(`abAB01-_+/="\&<% é密🔑`)), 0, 24, -1),
		)
		values := rapid.SliceOfN(letters, 0, 24).Draw(t, "values")
		known, sent := newKnown(64, maxBytes), NewSent(values...)
		for _, value := range values {
			known.remember("ns", value)
		}
		var forms []string
		if sent != nil {
			forms = formsOf(sent.values...)
		}
		pieces := rapid.SliceOfN(rapid.OneOf(letters, rapid.String(), rapid.Just(Masked), rapid.SampledFrom(append(values, "x"))), 0, 12).Draw(t, "pieces")
		text := strings.Join(pieces, "")
		masked := sent.Mask(text)
		if want := plainly(text, forms); masked != want {
			t.Fatalf("%q became %q, want %q", text, masked, want)
		}
		if got := known.mask(text); got != masked {
			t.Fatalf("%q became %q, and %q by portions", text, masked, got)
		}
		if utf8.ValidString(text) && !utf8.ValidString(masked) {
			t.Fatalf("%q became %q, which is no text", text, masked)
		}
		if again := sent.Mask(masked); again != masked {
			t.Fatalf("%q became %q, and then %q", text, masked, again)
		}
		known.mergings.Wait()
		if got := known.mask(text); got != masked {
			t.Fatalf("%q became %q, and %q after merging", text, masked, got)
		}
	})
}

// What a fuzzer finds in values and texts is hidden as plainly would.
//
// R5.6, R5.7
func FuzzMask(f *testing.F) {
	f.Add("aaaaaaaaaaaaab", "aaaaaaaa", strings.Repeat("a", 40)+"b")
	f.Add("sk-ant-api03-AAAA", "sk-ant-api03-AB", "sk-ant-api03-sk-ant-api03-AAAA"+Masked)
	f.Add("abcdefgh", "bcdefghi", "abcdefghi")
	f.Add("p&ss <w>o", "\xff\xfe\xfdabcdef", "p&amp;ss &lt;w&gt;o \xff\xfe\xfdabcdef")
	f.Fuzz(func(t *testing.T, one, other, text string) {
		sent := NewSent(one, other)
		if sent == nil || len(text) > 4<<10 {
			return
		}
		want := plainly(text, formsOf(sent.values...))
		if got := sent.Mask(text); got != want {
			t.Errorf("%q and %q: %q became %q, want %q", one, other, text, got, want)
		}
		if got := sent.Mask(want); got != want {
			t.Errorf("%q and %q: %q became %q", one, other, want, got)
		}
	})
}

// R5.6: the operator cuts what is too long, and shows no part of a secret for that; what others cut is as they said it.
func TestABeginningIsHiddenOnlyWhereTheOperatorHasCut(t *testing.T) {
	t.Parallel()
	sent := NewSent("token-of-a-feed-0123456789", "feed-of-another", "密密密密")
	for _, test := range []struct {
		text, want string
		most       int
	}{
		{"The key: token-of-a-feed-01", "The key: " + Masked, 27},
		{"The key: token-of-a-feed-01", "The key: token-of-a-feed-01", 28},
		{"The key: token-of-a-feed-of-an", "The key: token-of-a-***MASKED*", 30},
		{"The key: token-of-a-feed-0123456789 feed-of-", "The key: " + Masked + " " + Masked, 44},
		{"The key: token-o", "The key: token-o", 16}, // of 7 bytes, there are many beginnings
		{"cut…", "cut…", 4},
		{"漢字漢字 密密密", "漢字漢字 ***", 8},
		{"漢字漢字 密密密密", "漢字漢字 " + Masked[:4], 9},
		{"short", "short", 5},
	} {
		if got := sent.Bounded(test.text, test.most); got != test.want {
			t.Errorf("%q, of at most %d, became %q, want %q", test.text, test.most, got, test.want)
		}
	}
}

// R5.7: a set is told of values without those waiting who mask, and nobody has those of others forgotten.
func TestNobodyHasTheSecretsOfOthersForgotten(t *testing.T) {
	t.Parallel()
	known := newKnown(64, 64<<10)
	known.remember("", "the operator's own token")
	own := func(i int) string { return fmt.Sprintf("secret-of-mine-%04d", i) }
	for i := range 20 {
		known.remember("mine", own(i))
	}
	many := quantity.Of(1000, 100)
	for i := range many {
		known.remember("theirs", fmt.Sprintf("secret-of-theirs-%04d", i))
		known.remember("theirs", strings.Repeat("x", 2000)+fmt.Sprint(i))
		known.remember("both", own(i%5))
		if len(known.holders) > 64 || known.bytes > 64<<10 {
			t.Fatalf("%d values with %d bytes are remembered", len(known.holders), known.bytes)
		}
	}
	for i := range 20 {
		if got := known.mask(own(i)); got != Masked {
			t.Errorf("a value of mine is shown as %q", got)
		}
	}
	for _, kept := range []string{"the operator's own token", fmt.Sprintf("secret-of-theirs-%04d", many-1)} {
		if got := known.mask(kept); got != Masked {
			t.Errorf("%q is shown as %q", kept, got)
		}
	}
	known.mergings.Wait()
	held := 0
	for _, some := range *known.now.Load() {
		held += len(some.values)
	}
	if most := 2*64 + 32; held > most { // those that were forgotten are with them for a while
		t.Errorf("%d values are looked for, %d of them are remembered", held, len(known.holders))
	}
	bytes := 0
	for name, one := range known.owners {
		sum := 0
		for value := range one.values {
			sum += known.holders[value].bytes
		}
		if sum != one.bytes {
			t.Errorf("%s holds %d bytes, and counts %d", name, sum, one.bytes)
		}
		bytes += sum
	}
	if bytes < known.bytes {
		t.Errorf("all hold %d bytes, %d are counted", bytes, known.bytes)
	}
}

func TestSecretsAreRememberedWhileTextsAreMasked(t *testing.T) {
	t.Parallel()
	known := newKnown(maxValues, maxBytes)
	var workers sync.WaitGroup
	for worker := range 8 {
		workers.Go(func() {
			for i := range 200 {
				value := fmt.Sprintf("secret-%d-%d-%s", worker, i, hex.EncodeToString([]byte{byte(i)}))
				known.remember("ns", value)
				if got := known.mask("<" + value + ">"); got != "<"+Masked+">" {
					t.Errorf("%q is shown as %q", value, got)
				}
			}
		})
	}
	workers.Wait()
	known.mergings.Wait()
	if portions := len(*known.now.Load()); portions > 20 {
		t.Errorf("each text is looked through %d times", portions)
	}
}

// R5.7: what a peer was sent is hidden where it was sent, and nowhere else.
func TestOnlyWhatStandsInAnAddressIsHiddenOfWhoWasAskedThere(t *testing.T) {
	t.Parallel()
	sent := NewSent("token-of-the-header", "token+of the/query")
	elsewhere := sent.In("https://other.example.org/feed?token=token%2Bof+the%2Ffeed&t=token%2Bof+the%2Fquery")
	const text = "token-of-the-header, token+of the/query"
	if got, want := elsewhere.Mask(text), "token-of-the-header, "+Masked; got != want {
		t.Errorf("masked as %q, want %q", got, want)
	}
	if elsewhere := sent.In("https://other.example.org/feed"); elsewhere != nil {
		t.Errorf("%v is hidden of who was not sent anything", elsewhere.values)
	}
}

// What it costs to look through a mebibyte: much the same with few secrets and with many, and whatever the text is.
// The bar is 50 ms of processor time against 4,096 values.
func BenchmarkMask(b *testing.B) {
	const size = 1 << 20
	long := func(begin string) []string { // the longest values that there is room for, alike but for their ends
		var values []string
		for i := range maxBytes / (maxFormsEach * longestValue) {
			values = append(values, strings.Repeat(begin, longestValue/len(begin))[:longestValue-8]+fmt.Sprintf("%08d", i))
		}
		return values
	}
	keys := func(number int) []string {
		var values []string
		for i := range number {
			values = append(values, fmt.Sprintf("sk-ant-api03-%08d-%030x", i*7919, i))
		}
		return values
	}
	rotations := func() []string { // each place of the text begins one
		alphabet := strings.Repeat("abcdefghijklmnopqrstuvwxyz", 3)
		var values []string
		for i := range maxValues {
			values = append(values, fmt.Sprintf("%s%06d", alphabet[i%26:i%26+10], i))
		}
		return values
	}
	article := "The committee agreed on a plan for the coming year, see https://example.org/news/plan?id=7. "
	for _, bench := range []struct {
		name, text string
		values     []string
	}{
		{"an article, 1 value", article, keys(1)},
		{"an article, 4096 values", article, keys(maxValues)},
		{"beginnings, 4096 values", "sk-ant-api03-", keys(maxValues)},
		{"beginnings at each place, 4096 values", "abcdefghijklmnopqrstuvwxyz", rotations()},
		{"keys, 4096 values", strings.Join(keys(maxValues)[:512], " "), keys(maxValues)},
		{"one letter, 8 KiB values", "a", long("a")},
		{"two letters, 8 KiB values", "ab", long("ab")},
	} {
		known := newMatcher(formsOf(bench.values...))
		text := strings.Repeat(bench.text, size/len(bench.text)+1)[:size]
		b.Run(bench.name, func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				mask(text, false, known)
			}
			b.ReportMetric(float64(len(known.label)), "nodes")
		})
	}
}

func BenchmarkRemember(b *testing.B) {
	known, i := newKnown(maxValues, maxBytes), 0
	for b.Loop() {
		i++
		known.remember("ns", fmt.Sprintf("AIzaSy%08d-0123456789-%024x", i, i))
	}
}
