// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package geminitest gives tests, and demonstrations without a key, a server that speaks the wire
// format of the Gemini API and answers as it is told to: with summaries, with every refusal that
// the real one has, or not at all. It records who asked for what.
package geminitest

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"

	"github.com/feed-operator/feed-operator/internal/aitest"
)

// What a test tells the server, and is told by it.
type (
	// Server is an API with all models there are.
	Server = aitest.Server
	// Call is one request for a text, as it came in.
	Call = aitest.Call
	// Answer is what the server answers to a request. Make one with the functions of this package.
	Answer = aitest.Answer
)

// New starts a server at a loopback address that takes this key. Close it.
func New(key string) *Server {
	return aitest.New(aitest.API{
		Read: read,
		Key:  func(header http.Header) string { return header.Get("X-Goog-Api-Key") },
		Refuse: func(call Call, _ aitest.Topic) (Answer, bool) {
			if !call.KeyRefused && call.Malformed {
				return Error(http.StatusBadRequest, "INVALID_ARGUMENT", "The document has no pages."), true
			}
			return KeyInvalid(), call.KeyRefused
		},
		Throttled: Throttled,
		Usual: map[aitest.Topic]Answer{
			aitest.Nothing: aitest.Body(http.StatusNotFound, "text/plain", "404 page not found"),
			aitest.Text:    generated(stop, aitest.Opening),
			aitest.Model:   Model("generateContent", "countTokens"),
		},
	}, key)
}

// text of a prompt's part, of which the wire format has lists.
type content struct {
	Parts []struct {
		Text       string `json:"text"`
		InlineData *struct {
			MIMEType string `json:"mimeType"`
			Data     string `json:"data"`
		} `json:"inlineData"`
	} `json:"parts"`
}

func (c content) text() string {
	var out strings.Builder
	for _, part := range c.Parts {
		out.WriteString(part.Text)
	}
	return out.String()
}

var keyInQuery = regexp.MustCompile(`(?i)(?:^|&)(?:key|api_?key|access_token)=`)

// read matches the path at its end, so that an endpoint may have a path of its own.
func read(r *http.Request, body []byte) (Call, aitest.Topic) {
	_, name, known := strings.Cut(r.URL.Path, "/v1beta/models/")
	model, generate := strings.CutSuffix(name, ":generateContent")
	switch {
	case known && !generate && r.Method == http.MethodGet:
		return Call{Model: model}, aitest.Model
	case !known || !generate || r.Method != http.MethodPost:
		return Call{}, aitest.Nothing
	}
	var wire struct {
		SystemInstruction content   `json:"systemInstruction"`
		Contents          []content `json:"contents"`
		GenerationConfig  struct {
			MaxOutputTokens int `json:"maxOutputTokens"`
			ResponseSchema  struct {
				Properties map[string]json.RawMessage `json:"properties"`
			} `json:"responseSchema"`
		} `json:"generationConfig"`
	}
	_ = json.Unmarshal(body, &wire) // what cannot be read is empty in the record
	call := Call{
		Model: model, System: wire.SystemInstruction.text(), Room: wire.GenerationConfig.MaxOutputTokens,
		KeyElsewhere: keyInQuery.MatchString(r.URL.RawQuery),
	}
	for _, content := range wire.Contents {
		call.User += content.text()
		for _, part := range content.Parts {
			if file := part.InlineData; file != nil {
				call.Attach(file.MIMEType, file.Data)
			}
		}
	}
	_, call.Screening = wire.GenerationConfig.ResponseSchema.Properties["screening"]
	return call, aitest.Text
}
