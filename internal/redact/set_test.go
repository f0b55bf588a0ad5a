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
)

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
			known := newSet(10)
			known.remember(" " + secret + "\r\n")
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
				masked := known.mask("before " + text + " after")
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
	known := newSet(10)
	for _, value := range []string{"", "short", "7 bytes", "  abc    \n", Masked, "MASKED***", "x" + Masked + "y", strings.Repeat("x", longestValue+1)} {
		known.remember(value)
	}
	if len(known.values) != 0 {
		t.Errorf("remembered %v", known.values)
	}
	known.remember("a-secret-of-mine")
	for _, text := range []string{"", "a", "a-secret", "a-secret-of-yours", "the token ring", Masked, "A-SECRET-OF-MINE is not it"} {
		if got := known.mask(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestSecretsThatTouch(t *testing.T) {
	t.Parallel()
	known := newSet(10)
	for _, value := range []string{"aaaa-bbbb", "bbbb-cccc", "aaaa-bbbb-cccc-dddd", "zzzzzzzz"} {
		known.remember(value)
	}
	for text, want := range map[string]string{
		"x aaaa-bbbb-cccc y":          "x " + Masked + " y",
		"x aaaa-bbbb-cccc-dddd y":     "x " + Masked + " y",
		"aaaa-bbbbbbbb-cccc":          Masked + Masked,
		"zzzzzzzzz":                   Masked,
		Masked + "aaaa-bbbb":          Masked + Masked,
		"aaaa" + Masked + "-bbbb":     "aaaa" + Masked + "-bbbb",
		"cut: aaaa-bbbb-cccc-":        "cut: " + Masked,
		"cut: aaaa-bbbb-cccc-ddd…":    "cut: " + Masked + "…",
		"cut: aaaa-bbbb-cccc-ddd… on": "cut: " + Masked + "… on",
		"cut: aaaa-bbbb-cccc-ddd...":  "cut: " + Masked + "...",
	} {
		if got := known.mask(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// Whatever the secrets and the text are, no secret is left, nothing else is changed, a second look
// changes nothing, and what was text stays text.
func TestMaskProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		known := newSet(64)
		letters := rapid.StringOfN(rapid.RuneFrom([]rune(`abAB01-_+/="\&<% é密🔑`)), 0, 24, -1)
		values := rapid.SliceOfN(letters, 0, 12).Draw(t, "values")
		for _, value := range values {
			known.remember(value)
		}
		pieces := rapid.SliceOfN(rapid.OneOf(letters, rapid.String(), rapid.Just(Masked), rapid.SampledFrom(append(values, "x"))), 0, 12).Draw(t, "pieces")
		text := strings.Join(pieces, "")
		masked := known.mask(text)
		if utf8.ValidString(text) && !utf8.ValidString(masked) {
			t.Fatalf("%q became %q, which is no text", text, masked)
		}
		if again := known.mask(masked); again != masked {
			t.Fatalf("%q became %q, and then %q", text, masked, again)
		}
		hidden := false
		for form := range known.forms {
			hidden = hidden || strings.Contains(text, form)
			for part := range strings.SplitSeq(masked, Masked) {
				if strings.Contains(part, form) {
					t.Fatalf("%q is left in %q", form, masked)
				}
			}
		}
		if !hidden && masked != text { // then it is a beginning at the end
			shown, after, _ := strings.Cut(strings.TrimPrefix(masked, text[:strings.LastIndex(masked, Masked)]), Masked)
			if shown != "" || strings.Trim(after, ellipsis+".") != "" {
				t.Fatalf("%q became %q", text, masked)
			}
		}
	})
}

func TestTheOldestAreForgotten(t *testing.T) {
	t.Parallel()
	known := newSet(32)
	value := func(i int) string { return fmt.Sprintf("secret-number-%04d", i) }
	for i := range 1000 {
		known.remember(value(i))
		known.remember(value(0)) // in use
		if len(known.values) > 32 {
			t.Fatalf("%d values are remembered", len(known.values))
		}
	}
	for _, i := range []int{0, 999, 980} {
		if got := known.mask(value(i)); got != Masked {
			t.Errorf("value %d is shown as %q", i, got)
		}
	}
	if got := known.mask(value(5) + " x"); got != value(5)+" x" {
		t.Errorf("a value that was forgotten is shown as %q", got)
	}
	for start, forms := range known.starts {
		for _, form := range forms {
			if known.forms[form] == 0 || !known.filter.has(start) {
				t.Errorf("the form %q is not where it belongs", form)
			}
		}
	}
}

func TestSecretsAreRememberedWhileTextsAreMasked(t *testing.T) {
	t.Parallel()
	known := newSet(maxValues)
	var workers sync.WaitGroup
	for worker := range 8 {
		workers.Go(func() {
			for i := range 200 {
				value := fmt.Sprintf("secret-%d-%d-%s", worker, i, hex.EncodeToString([]byte{byte(i)}))
				known.remember(value)
				if got := known.mask("<" + value + ">"); got != "<"+Masked+">" {
					t.Errorf("%q is shown as %q", value, got)
				}
			}
		})
	}
	workers.Wait()
}

// What it costs to look through an article: nothing without secrets, and much the same with few and
// with many.
func BenchmarkMask(b *testing.B) {
	text := strings.Repeat("The committee agreed on a plan for the coming year, see https://example.org/news/plan?id=7. ", 120)
	for _, number := range []int{0, 1, 100, maxValues} {
		known := newSet(maxValues)
		for i := range number {
			known.remember(fmt.Sprintf("AIzaSy%08d-0123456789-%024x", i*7919, i))
		}
		b.Run(fmt.Sprintf("%d secrets", number), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if known.mask(text) != text {
					b.Fatal("an article was changed")
				}
			}
		})
	}
}

// The worst that a text can do: it has the beginning of all keys at every place.
func BenchmarkMaskBeginnings(b *testing.B) {
	known := newSet(maxValues)
	for i := range maxValues {
		known.remember(fmt.Sprintf("sk-ant-api03-%040x", i))
	}
	text := strings.Repeat("sk-ant-api03-", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		known.mask(text + ".")
	}
}

func BenchmarkRemember(b *testing.B) {
	known, i := newSet(maxValues), 0
	for b.Loop() {
		i++
		known.remember(fmt.Sprintf("AIzaSy%08d-0123456789-%024x", i, i))
	}
}
