// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/prose"
)

func TestParseAnswer(t *testing.T) {
	t.Parallel()
	const (
		plainly  = `{"summary":"The council met."}`
		judgedly = `{"screening":{"complete":true,"explanation":"A new rule.","valuable":true},"summary":"The council met."}`
	)
	verdict := func(complete, valuable bool, explanation string) *Verdict {
		return &Verdict{Complete: complete, Valuable: valuable, Explanation: explanation}
	}
	ask := Request{MaxCharacters: 400}
	screen := Request{MaxCharacters: 400, Screening: &Screening{Criteria: "New rules."}}
	tests := map[string]struct {
		answer       string
		request      Request
		want         Response
		wantCategory v1alpha1.Category
		wantType     string
	}{
		"a summary":                        {plainly, ask, Response{Summary: "The council met."}, "", ""},
		"space around it":                  {"\n " + plainly + "\n", ask, Response{Summary: "The council met."}, "", ""},
		"a fence around it":                {"```json\n" + plainly + "\n```", ask, Response{Summary: "The council met."}, "", ""},
		"a fence without a language":       {"```\n" + plainly + "\n```\n", ask, Response{Summary: "The council met."}, "", ""},
		"a verdict and a summary":          {judgedly, screen, Response{Summary: "The council met.", Verdict: verdict(true, true, "A new rule.")}, "", ""}, // R2.6
		"a verdict that nobody asked for":  {judgedly, ask, Response{Summary: "The council met."}, "", ""},
		"a verdict against, for its value": {`{"screening":{"complete":true,"explanation":"A ceremony.","valuable":false},"summary":""}`, screen, Response{Verdict: verdict(true, false, "A ceremony.")}, "", ""}, // R2.4
		"a verdict against, yet a summary": {`{"screening":{"complete":false,"valuable":true},"summary":"Soon."}`, screen, Response{Verdict: verdict(false, true, "")}, "", ""},

		"words around it":                 {"Here it is: " + plainly, ask, Response{}, v1alpha1.CategoryAPI, failure.TypeMalformed},
		"words after it":                  {plainly + " Enjoy!", ask, Response{}, v1alpha1.CategoryAPI, failure.TypeMalformed},
		"two of them":                     {plainly + plainly, ask, Response{}, v1alpha1.CategoryAPI, failure.TypeMalformed},
		"a list":                          {"[" + plainly + "]", ask, Response{}, v1alpha1.CategoryAPI, failure.TypeMalformed},
		"a text":                          {`"The council met."`, ask, Response{}, v1alpha1.CategoryAPI, failure.TypeMalformed},
		"a summary that is a number":      {`{"summary":1}`, ask, Response{}, v1alpha1.CategoryAPI, failure.TypeMalformed},
		"nothing":                         {" \n", ask, Response{}, v1alpha1.CategoryAPI, failure.TypeEmpty},
		"an empty fence":                  {"```json\n\n```", ask, Response{}, v1alpha1.CategoryAPI, failure.TypeEmpty},
		"no summary":                      {`{}`, ask, Response{}, v1alpha1.CategoryAPI, failure.TypeEmpty},
		"a summary that is a link":        {`{"summary":"https://example.org/"}`, ask, Response{}, v1alpha1.CategoryAPI, failure.TypeEmpty},
		"a verdict without its summary":   {`{"screening":{"complete":true,"explanation":"Fine.","valuable":true}}`, screen, Response{Verdict: verdict(true, true, "Fine.")}, v1alpha1.CategoryAPI, failure.TypeEmpty},
		"a summary without its verdict":   {plainly, screen, Response{}, v1alpha1.CategoryAPI, failure.TypeMalformed},
		"half a verdict":                  {`{"screening":{"valuable":true},"summary":"The council met."}`, screen, Response{}, v1alpha1.CategoryAPI, failure.TypeMalformed},
		"a refusal":                       {"I’m sorry. I can't help with that.", ask, Response{}, v1alpha1.CategoryValidation, failure.TypeBlocked},
		"a refusal in Japanese":           {"申し訳ありませんが、この記事を要約することはできません。", ask, Response{}, v1alpha1.CategoryValidation, failure.TypeBlocked},
		"a refusal as summary":            {`{"summary":"I cannot fulfill this request."}`, ask, Response{}, v1alpha1.CategoryValidation, failure.TypeBlocked},
		"a first person who is no model":  {`{"summary":"I am unable to sleep, writes the author of the diary."}`, ask, Response{Summary: "I am unable to sleep, writes the author of the diary."}, "", ""},
		"what only looks like a refusal ": {`{"summary":"Sorry, says the minister, and steps down."}`, ask, Response{Summary: "Sorry, says the minister, and steps down."}, "", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseAnswer(test.answer, test.request)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("response (-want +got):\n%s", diff)
			}
			wantFailure(t, err, test.wantCategory, test.wantType)
		})
	}
}

func wantFailure(t *testing.T, err error, category v1alpha1.Category, kind string) {
	t.Helper()
	known, ok := errors.AsType[*failure.Error](err)
	switch {
	case kind == "" && err != nil:
		t.Errorf("error: %v", err)
	case kind != "" && (!ok || known.Category != category || known.Type != kind):
		t.Errorf("error is %#v, want %s/%s", err, category, kind)
	}
}

func TestParseTruncated(t *testing.T) {
	t.Parallel()
	const judged = `{"screening":{"complete":true,"explanation":"Fine.","valuable":true}`
	for name, test := range map[string]struct {
		answer      string
		screening   bool
		want        string
		wantVerdict bool
		wantType    string
	}{
		"in a sentence":             {`{"summary":"One. Two. Thr`, false, "One. Two.", false, ""},
		"at the end of a sentence":  {`{"summary":"One. Two.`, false, "One. Two.", false, ""},
		"after the summary":         {`{"summary":"One. Two."`, false, "One. Two.", false, ""},
		"within a fence":            {"```json\n" + `{"summary":"One. Tw`, false, "One.", false, ""},
		"in Japanese":               {`{"summary":"東京で会議が開かれた。次回は`, false, "東京で会議が開かれた。", false, ""},
		"in an escape":              {`{"summary":"One. \"Two\" \`, false, "One.", false, ""},
		"in a long escape":          {`{"summary":"One. \u30c6\u30`, false, "One.", false, ""},
		"in the first sentence":     {`{"summary":"One tw`, false, "", false, failure.TypeTruncated},
		"before the summary":        {`{"summa`, false, "", false, failure.TypeTruncated},
		"before anything":           {``, false, "", false, failure.TypeTruncated},
		"in other words":            {`Here is the`, false, "", false, failure.TypeTruncated},
		"after the verdict":         {judged + `,`, true, "", true, failure.TypeTruncated},
		"right after the verdict":   {judged, true, "", true, failure.TypeTruncated},
		"in the name after":         {judged + `,"sum`, true, "", true, failure.TypeTruncated},
		"with verdict, in sentence": {judged + `,"summary":"One. Tw`, true, "One.", true, ""},
		"in the verdict":            {`{"screening":{"complete":true,"explanation":"Fi`, true, "", false, failure.TypeTruncated},
		"in a word of the verdict":  {`{"screening":{"complete":true,"explanation":"Fine.","valuable":tr`, true, "", false, failure.TypeTruncated},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := Request{MaxCharacters: 400}
			if test.screening {
				request.Screening = &Screening{}
			}
			got, err := ParseTruncated(test.answer, request)
			if got.Summary != test.want || (got.Verdict != nil) != test.wantVerdict {
				t.Errorf("response is %+v", got)
			}
			wantFailure(t, err, v1alpha1.CategoryAPI, test.wantType)
		})
	}
}

func TestSummariesAreMadeFitToBeShown(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ raw, want string }{
		"control characters":        {"One\x00 two\x1b[0m.\u0085Three.", "One two[0m.\nThree."},
		"marks that turn text":      {"One \u202eowt\u202c.\u200f \u2066x\u2069", "One owt. x"},
		"spaces without width":      {"O\u200bn\ufeffe\u2060.\u00ad", "One."},
		"a family":                  {"A family: 👨‍👩‍👧 and a heart ❤️‍🔥, 1️⃣, ™️.", "A family: 👨‍👩‍👧 and a heart ❤️‍🔥, 1️⃣, ™️."},
		"a skin":                    {"👩🏽‍🚀", "👩🏽‍🚀"},
		"a joiner between letters":  {"a\u200db\ufe0fc", "abc"},
		"Persian":                   {"می\u200cخواهم", "می\u200cخواهم"},
		"Hindi":                     {"क्\u200dष", "क्\u200dष"},
		"a form of a name":          {"葛\U000E0100城市", "葛\U000E0100城市"},
		"words that nobody sees":    {"One\U000E0069\U000E0067.", "One."},
		"a link":                    {"See https://example.org/a?b=c. Done.", "See . Done."},
		"a link within Japanese":    {"詳細はhttps://example.org/をご覧ください。", "詳細はをご覧ください。"},
		"a link without a scheme":   {"See www.example.org/a, or mailto:a@example.org", "See , or"},
		"a link of Markdown":        {"See [the plan](https://example.org/plan).", "See the plan."},
		"a link out of two":         {"hthttps://x.org/tps://example.org", ""},
		"a company":                 {"Booking.com grew.", "Booking.com grew."},
		"tags":                      {"<p>One <b>two</b>.</p><script>", "One two."},
		"a tag out of two":          {"<<b>script>alert", "alert"},
		"a tag without end":         {"One <img src=x onerror=alert(1)", "One img src=x onerror=alert(1)"},
		"entities":                  {"AT&amp;T &lt;b&gt;grew&lt;/b&gt;.", "AT&T grew."},
		"a comparison":              {"1 < 2 and 3 > 2.", "1 < 2 and 3 > 2."},
		"marks of Markdown":         {"## Plan\n**One** `two` __three__.", "Plan\nOne two three."},
		"a star and a number":       {"5 * 3, #1 and # 2.", "5 * 3, #1 and # 2."},
		"blank lines":               {"One.\n\n\n\n  Two.  \r\n\r\nThree.", "One.\n\nTwo.\n\nThree."},
		"too many accents":          {"Z" + strings.Repeat("\u0301", 100), "Z" + strings.Repeat("\u0301", maxMarks)},
		"characters that are none":  {"One\ufffd\ufffc \ue000two.", "One two."},
		"a letter without a form":   {"One\u3164\u115f.", "One."},
		"space that is no space":    {"One\u00a0\u3000two.", "One two."},
		"a break that is a rarity ": {"One.\u2028Two.", "One.\nTwo."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := summaryText(test.raw, 400); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestSummariesAreCut(t *testing.T) {
	t.Parallel()
	if got := summaryText("One two three. Four five six.", 20); got != "One two three." {
		t.Errorf("got %q", got)
	}
	// Characters may have many runes, and the API bounds both.
	got := summaryText(strings.Repeat("Z"+strings.Repeat("\u0301", 8), 5000), 5000)
	if utf8.RuneCountInString(got) > maxRunes || got == "" {
		t.Errorf("%d runes", utf8.RuneCountInString(got))
	}
	if got := explanationText(strings.Repeat("Because. ", 200)); utf8.RuneCountInString(got) > maxExplanation || !strings.HasSuffix(got, ".") {
		t.Errorf("explanation is %q", got)
	}
	if got := explanationText("One.\n\nTwo."); got != "One. Two." {
		t.Errorf("explanation is %q", got)
	}
}

// checkShown holds for whatever a model writes.
func checkShown(t interface {
	Helper()
	Fatalf(string, ...any)
}, text string, limit int) {
	t.Helper()
	switch {
	case !utf8.ValidString(text):
		t.Fatalf("not UTF-8: %q", text)
	case prose.Count(text) > limit || utf8.RuneCountInString(text) > maxRunes:
		t.Fatalf("%d characters, %d allowed: %q", prose.Count(text), limit, text)
	case linkStart.MatchString(text):
		t.Fatalf("a link is left: %q", text)
	case tagStart.MatchString(text):
		t.Fatalf("a tag is left: %q", text)
	case strings.ContainsAny(text, "\x00\x1b\u200b\u202e\u2066\ufeff"):
		t.Fatalf("an invisible character is left: %q", text)
	case strings.Contains(text, "\n\n\n") || strings.TrimSpace(text) != text:
		t.Fatalf("space is left: %q", text)
	}
}

func TestAnySummaryIsFitToBeShown(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
			"<", "b>", "://", "http", "www", ".", "mailto:", "&lt;", "\u202e", "\u200d", "👨", "\n\n", "[a](", ")", "**", "`", "\u0301", "。", "<!--", "-->",
		}))
		raw := strings.Join(rapid.SliceOf(word).Draw(t, "raw"), "")
		limit := rapid.IntRange(1, 300).Draw(t, "limit")
		checkShown(t, summaryText(raw, limit), limit)
		checkShown(t, explanationText(raw), maxExplanation)
	})
}

func TestAnyAnswerThatBreaksOffIsRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		whole, err := json.Marshal(map[string]any{
			"screening": map[string]any{"complete": true, "explanation": rapid.String().Draw(t, "explanation"), "valuable": true},
			"summary":   rapid.String().Draw(t, "summary"),
		})
		if err != nil {
			t.Fatal(err)
		}
		request := Request{MaxCharacters: 100, Screening: &Screening{}}
		cut := string(whole[:rapid.IntRange(0, len(whole)).Draw(t, "cut")])
		response, err := ParseTruncated(cut, request)
		if (err == nil) != (response.Summary != "") {
			t.Fatalf("%q: %+v, %v", cut, response, err)
		}
		if strings.Contains(cut, `"summary"`) && response.Verdict == nil {
			t.Fatalf("%q: the verdict is lost", cut)
		}
		checkShown(t, response.Summary, 100)
	})
}

func FuzzParseAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"summary":"One. Two."}`, "```json\n{\"summary\":\"One.\"}\n```", `{"screening":{"complete":true,"explanation":"E","valuable":true},"summary":"One. T`,
		`{"summary":"\u202e<b>https://x</b>\ud83d"}`, `[]`, `{"summary":"\`, `{"screening":[{,`, "I'm sorry, I cannot help.", "\xff", `{"summary":"<<<<b>b>b>b>"}`,
	} {
		f.Add(seed, true, 40)
		f.Add(seed, false, 400)
	}
	f.Fuzz(func(t *testing.T, answer string, screening bool, limit int) {
		limit = 1 + int(uint(limit)%5000)
		request := Request{MaxCharacters: limit}
		if screening {
			request.Screening = &Screening{}
		}
		for name, parse := range map[string]func(string, Request) (Response, error){"ParseAnswer": ParseAnswer, "ParseTruncated": ParseTruncated} {
			response, err := parse(answer, request)
			known, ok := errors.AsType[*failure.Error](err)
			switch {
			case err != nil && (!ok || known.Type == "" || response.Summary != ""):
				t.Fatalf("%s: %+v with %#v", name, response, err)
			case err == nil && (response.Verdict != nil) != screening:
				t.Fatalf("%s: the verdict is %v", name, response.Verdict)
			case err == nil && (response.Summary == "") != response.Verdict.Against():
				t.Fatalf("%s: the summary is %q with %v", name, response.Summary, response.Verdict)
			}
			checkShown(t, response.Summary, limit)
			if response.Verdict != nil {
				checkShown(t, response.Verdict.Explanation, maxExplanation)
			}
		}
	})
}

func TestAnswerSchema(t *testing.T) { // R2.6
	t.Parallel()
	names := func(properties []Property) (out []string) {
		for _, property := range properties {
			out = append(out, property.Name)
		}
		return out
	}
	schema := AnswerSchema(Request{Screening: &Screening{}})
	if diff := cmp.Diff([]string{"screening", "summary"}, names(schema.Properties)); diff != "" {
		t.Errorf("with screening (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"complete", "explanation", "valuable"}, names(schema.Properties[0].Properties)); diff != "" {
		t.Errorf("the judgement (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"summary"}, names(AnswerSchema(Request{}).Properties)); diff != "" {
		t.Errorf("without screening (-want +got):\n%s", diff)
	}
}
