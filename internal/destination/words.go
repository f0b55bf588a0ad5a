// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package destination

import (
	"encoding/json"
	"strings"
	"unicode"

	"github.com/feed-operator/feed-operator/internal/redact"
)

// MaxWords bounds what is repeated of a server's own words, in characters.
const MaxWords = 200

// WordsOf are a server's own about an error, short enough to be repeated, without what it was sent to know the operator by: those of
// a JSON object that has them under a usual name. There are none in anything else. The token is masked however short it is.
func WordsOf(body []byte, sent *redact.Sent, token string) string {
	var fields map[string]any
	if json.Unmarshal(body, &fields) != nil {
		return ""
	}
	for _, name := range []string{"error", "error_description", "message", "detail", "title"} {
		switch said := fields[name].(type) {
		case string:
			if strings.TrimSpace(said) != "" {
				return safely(said, sent, token)
			}
		case map[string]any: // Google's, and others'
			if message, is := said["message"].(string); is && strings.TrimSpace(message) != "" {
				return safely(message, sent, token)
			}
		}
	}
	return ""
}

func safely(words string, sent *redact.Sent, token string) string {
	if token != "" {
		words = strings.ReplaceAll(words, token, redact.Masked)
	}
	return PlainLine(sent.Mask(words), MaxWords)
}

// PlainLine makes one line of printable text of at most limit characters.
func PlainLine(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r), r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return text
}
