// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/prose"
)

var (
	codeFence = regexp.MustCompile("(?s)^```(?:json|JSON)?\\s*\\n(.*?)\\s*```$")
	openFence = regexp.MustCompile("^```(?:json|JSON)?\\s*\\n")
	// refusal is how models begin when they decline: in the first person, and about their task.
	refusal = regexp.MustCompile(`(?i)^(?:(?:` +
		`(?:I['’]m|I am) (?:(?:very |so )?sorry|unable|not able|afraid)\b|I (?:can['’]t|cannot|can not|won['’]t|will not|must decline)\b|` +
		`(?:Sorry|I apologi[sz]e|Unfortunately),? (?:but )?I\b|As an AI\b|` +
		`(?:大変)?申し訳(?:ありません|ございません|ないですが)|恐れ入りますが))` +
		`(?s:.){0,120}(?:summar|article|request|help|assist|comply|content|provide|fulfil|discuss|要約|記事|お手伝い|対応|応じ|お答え)`)
)

// wireAnswer is the JSON of AnswerSchema.
type wireAnswer struct {
	Screening *struct {
		Complete    *bool  `json:"complete"`
		Explanation string `json:"explanation"`
		Valuable    *bool  `json:"valuable"`
	} `json:"screening"`
	Summary string `json:"summary"`
}

// ParseAnswer reads what a model answered to a prompt: JSON by AnswerSchema, maybe in a code fence
// of Markdown. It makes texts fit to be shown, and no longer than is allowed. Model and Tokens are the
// caller's to set.
//
// Errors are of *failure.Error: API/Empty without an answer or a summary, API/Malformed for what is
// not JSON or lacks a verdict that was asked for, Validation/Blocked where the model has declined in
// words. The verdict is returned beside the error where there is one.
func ParseAnswer(answer string, request Request) (Response, error) {
	return parse(codeFence.ReplaceAllString(strings.TrimSpace(answer), "$1"), request, false)
}

// ParseTruncated reads an answer that the model could not finish. What it has of the summary is
// returned up to the last whole sentence. Without one the error is API/Truncated, with the verdict
// beside it if that had come in.
func ParseTruncated(answer string, request Request) (Response, error) {
	answer = openFence.ReplaceAllString(strings.TrimSpace(answer), "")
	for _, whole := range completions(answer) {
		if json.Valid([]byte(whole)) {
			return parse(whole, request, true)
		}
	}
	return Response{}, truncated()
}

// IsShort reports whether a summary which was cut off has kept so little that it is worth asking again.
func IsShort(summary string, request Request) bool {
	return prose.Count(summary)*3 < request.MaxCharacters
}

func parse(answer string, request Request, cutOff bool) (Response, error) {
	if answer == "" {
		return Response{}, failure.New(v1alpha1.CategoryAPI, failure.TypeEmpty, "The model answered nothing.")
	}
	var wire wireAnswer
	if !strings.HasPrefix(answer, "{") || json.Unmarshal([]byte(answer), &wire) != nil {
		if refusal.MatchString(answer) {
			return Response{}, declined()
		}
		return Response{}, failure.New(v1alpha1.CategoryAPI, failure.TypeMalformed,
			"The model answered with something other than the JSON that it was asked for.")
	}
	response := Response{}
	if request.Screening != nil {
		judged := wire.Screening
		if judged == nil || judged.Complete == nil || judged.Valuable == nil {
			if cutOff {
				return Response{}, truncated()
			}
			return Response{}, failure.New(v1alpha1.CategoryAPI, failure.TypeMalformed,
				"The answer of the model lacks the judgement of the article that it was asked for.")
		}
		response.Verdict = &Verdict{Valuable: *judged.Valuable, Complete: *judged.Complete,
			Explanation: explanationText(judged.Explanation)}
		if response.Verdict.Against() || request.asksOnly() {
			return response, nil
		}
	}
	summary := wire.Summary
	if cutOff {
		summary = wholeSentences(plain(summary), request.Language)
	}
	summary = summaryText(summary, request.MaxCharacters)
	switch {
	case refusal.MatchString(summary):
		return response, declined()
	case summary == "" && cutOff:
		return response, truncated()
	case summary == "":
		return response, failure.New(v1alpha1.CategoryAPI, failure.TypeEmpty, "The answer of the model holds no summary.")
	}
	response.Summary = summary
	return response, nil
}

func declined() error {
	return failure.New(v1alpha1.CategoryValidation, failure.TypeBlocked, "The model declined to summarize the article.")
}

func truncated() error {
	return failure.New(v1alpha1.CategoryAPI, failure.TypeTruncated,
		"The model used up its output before the summary was complete. Ask for a shorter summary, or use another model.")
}

// wholeSentences returns a text up to the end of its last sentence.
func wholeSentences(text, language string) string {
	sentences := prose.Sentences(text, language)
	for len(sentences) > 0 && !prose.EndsSentence(sentences[len(sentences)-1]) {
		sentences = sentences[:len(sentences)-1]
	}
	if len(sentences) == 0 {
		return ""
	}
	last := sentences[len(sentences)-1]
	return text[:strings.LastIndex(text, last)+len(last)]
}

// completions returns JSON that was cut off with all closed that was open: as it stands, and
// without what follows the last comma.
func completions(cut string) []string {
	var (
		open     []byte // what closes that which is open, the innermost last
		inString bool
		escape   = -1 // where an escape sequence began that is not complete
		missing  int  // runes that it lacks
		safe     []string
	)
	closed := func(text string) string {
		var out strings.Builder
		out.WriteString(text)
		for _, bracket := range slices.Backward(open) {
			out.WriteByte(bracket)
		}
		return out.String()
	}
	for i := range len(cut) {
		switch c := cut[i]; {
		case escape >= 0:
			if missing--; i == escape+1 && c == 'u' {
				missing = 4
			}
			if missing == 0 {
				escape = -1
			}
		case inString && c == '\\':
			escape, missing = i, 1
		case c == '"':
			inString = !inString
		case inString:
		case c == '{':
			open = append(open, '}')
		case c == '[':
			open = append(open, ']')
		case (c == '}' || c == ']') && len(open) > 0:
			open = open[:len(open)-1]
		case c == ',' && len(open) <= 2: // deeper there is nothing that is asked for
			safe = []string{closed(cut[:i])}
		}
	}
	if escape >= 0 {
		cut = cut[:escape]
	}
	if inString {
		cut += `"`
	}
	return append([]string{closed(cut)}, safe...)
}
