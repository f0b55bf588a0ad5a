// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package anthropictest gives tests, and demonstrations without a key, a server that speaks the wire
// format of the Anthropic API and answers as it is told to: with summaries, with every refusal that
// the real one has, or not at all. It can also hold to a limit. It records who asked for what.
package anthropictest

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

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
		Read:      read,
		Key:       func(header http.Header) string { return header.Get("X-Api-Key") },
		Refuse:    refuse,
		Throttled: Throttled,
		Left:      left,
		Usual: map[aitest.Topic]Answer{
			aitest.Nothing: Error(http.StatusNotFound, "not_found_error", "Not Found"),
			aitest.Text:    stopped(endTurn, aitest.Opening),
			aitest.Model:   Model(),
		},
		RequestID: "Request-Id",
	}, key)
}

// refuse looks at what each request needs, as the API does: the key first.
func refuse(call Call, topic aitest.Topic) (Answer, bool) {
	switch {
	case call.Header.Get("X-Api-Key") == "":
		return Error(http.StatusUnauthorized, "authentication_error", "x-api-key header is required"), true
	case call.KeyRefused:
		return KeyInvalid(), true
	case call.Header.Get("Anthropic-Version") == "":
		return Error(http.StatusBadRequest, "invalid_request_error", "anthropic-version: header is required"), true
	case call.Malformed:
		return Error(http.StatusBadRequest, "invalid_request_error", "messages.0.content.0.pdf.source.base64.data: The PDF specified was not valid."), true
	case topic == aitest.Text && call.Room < 1:
		return Error(http.StatusBadRequest, "invalid_request_error", "max_tokens: Field required"), true
	}
	return Answer{}, false
}

// left is how the API says how a limit stands.
func left(limit, left int, full time.Time) http.Header {
	return http.Header{
		"Anthropic-Ratelimit-Requests-Limit":     {strconv.Itoa(limit)},
		"Anthropic-Ratelimit-Requests-Remaining": {strconv.Itoa(left)},
		"Anthropic-Ratelimit-Requests-Reset":     {full.UTC().Add(time.Second - 1).Truncate(time.Second).Format(time.RFC3339)},
	}
}

var keyInQuery = regexp.MustCompile(`(?i)(?:^|&)(?:key|x?-?api[_-]?key|access_token)=`)

// texts are what the wire format has as a string, or as a list of blocks.
type texts string

// UnmarshalJSON implements json.Unmarshaler.
func (t *texts) UnmarshalJSON(data []byte) error {
	var plain string
	if json.Unmarshal(data, &plain) == nil {
		*t = texts(plain)
		return nil
	}
	var blocks []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(data, &blocks); err != nil {
		return err
	}
	var out strings.Builder
	for _, block := range blocks {
		out.WriteString(block.Text)
	}
	*t = texts(out.String())
	return nil
}

// block is one that is no text.
type block struct {
	Type   string `json:"type"`
	Source struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	} `json:"source"`
}

// read matches the path at its end, so that an endpoint may have a path of its own.
func read(r *http.Request, body []byte) (Call, aitest.Topic) {
	_, model, known := strings.Cut(r.URL.Path, "/v1/models/")
	switch {
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/v1/messages"):
	case known && r.Method == http.MethodGet:
		return Call{Model: model}, aitest.Model
	default:
		return Call{}, aitest.Nothing
	}
	var wire struct {
		Model     string `json:"model"`
		MaxTokens int    `json:"max_tokens"`
		System    texts  `json:"system"`
		Messages  []struct {
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		OutputConfig struct {
			Format struct {
				Schema struct {
					Properties map[string]json.RawMessage `json:"properties"`
				} `json:"schema"`
			} `json:"format"`
		} `json:"output_config"`
	}
	_ = json.Unmarshal(body, &wire) // what cannot be read is empty in the record
	call := Call{
		Model: wire.Model, System: string(wire.System), Room: wire.MaxTokens,
		KeyElsewhere: keyInQuery.MatchString(r.URL.RawQuery) || r.Header.Get("Authorization") != "",
	}
	for _, message := range wire.Messages {
		var content texts
		var blocks []block
		_ = json.Unmarshal(message.Content, &content)
		_ = json.Unmarshal(message.Content, &blocks) // a single text is no list
		call.User += string(content)
		for _, block := range blocks {
			if block.Type == "document" {
				call.Malformed = call.Malformed || block.Source.Type != "base64"
				call.Attach(block.Source.MediaType, block.Source.Data)
			}
		}
	}
	_, call.Screening = wire.OutputConfig.Format.Schema.Properties["screening"]
	return call, aitest.Text
}
