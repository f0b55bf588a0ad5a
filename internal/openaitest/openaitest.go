// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package openaitest gives tests, and demonstrations without a key, a server that speaks the wire
// format of OpenAI's Chat Completions API and answers as it is told to: with summaries, with every
// refusal that the real one and its relatives have, or not at all. It records who asked for what.
package openaitest

import (
	"encoding/json"
	"net/http"
	"net/url"
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

// New starts a server at a loopback address that takes this key, or all who ask if it is empty. Its URL
// is that of the API with its version. Close it.
func New(key string) *Server {
	s := aitest.New(aitest.API{
		Read: read,
		Key:  bearer,
		Refuse: func(call Call, _ aitest.Topic) (Answer, bool) {
			if !call.KeyRefused && call.Malformed {
				return Error(http.StatusBadRequest, typeInvalidRequest, "invalid_file",
					"Invalid file data: expected a base64-encoded data URL with an application/pdf."), true
			}
			return KeyInvalid(), call.KeyRefused
		},
		Throttled: Throttled,
		Usual: map[aitest.Topic]Answer{
			aitest.Nothing: NoSuchPath(),
			aitest.Text:    completion(stop, aitest.Opening),
			aitest.Model:   Model(),
			aitest.Models:  Models("gpt-5-mini"),
		},
		RequestID: "X-Request-Id",
	}, key)
	s.URL += "/v1"
	return s
}

// bearer is the key of a request, which has to be sent as a token of that kind.
func bearer(header http.Header) string {
	if key, ok := strings.CutPrefix(header.Get("Authorization"), "Bearer "); ok {
		return key
	}
	return ""
}

// Parameters are what a call asks beside its texts.
type Parameters struct {
	// MaxTokens and MaxCompletionTokens are the room for the answer, by the name it was given.
	MaxTokens           int `json:"max_tokens"`
	MaxCompletionTokens int `json:"max_completion_tokens"`
	// Temperature, nil where none was named.
	Temperature    *float64 `json:"temperature"`
	ResponseFormat struct {
		// Type is json_schema, json_object or empty.
		Type       string `json:"type"`
		JSONSchema struct {
			// Strict is set if the schema is to be followed strictly.
			Strict bool `json:"strict"`
			Schema struct {
				Properties map[string]json.RawMessage `json:"properties"`
			} `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
}

// ParametersOf reads the parameters of a call. What cannot be read is empty.
func ParametersOf(call Call) Parameters {
	var read Parameters
	_ = json.Unmarshal(call.Body, &read)
	return read
}

// content is what the wire format has as a string, or as a list of parts.
type content []part

type part struct {
	Type string `json:"type"`
	Text string `json:"text"`
	File struct {
		Filename string `json:"filename"`
		FileData string `json:"file_data"`
	} `json:"file"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *content) UnmarshalJSON(data []byte) error {
	var plain string
	if json.Unmarshal(data, &plain) == nil {
		*c = content{{Type: "text", Text: plain}}
		return nil
	}
	return json.Unmarshal(data, (*[]part)(c))
}

func (c content) text() string {
	var out strings.Builder
	for _, part := range c {
		out.WriteString(part.Text)
	}
	return out.String()
}

// attach notes the files, which have a name, and their data in a URL.
func (c content) attach(call *Call) {
	for _, part := range c {
		if part.Type != "file" {
			continue
		}
		kind, encoded, isData := strings.Cut(strings.TrimPrefix(part.File.FileData, "data:"), ";base64,")
		call.Malformed = call.Malformed || !isData || part.File.Filename == "" || !strings.HasPrefix(part.File.FileData, "data:")
		call.Attach(kind, encoded)
	}
}

// read matches the path at its end, so that an endpoint may have a path of its own.
func read(r *http.Request, body []byte) (Call, aitest.Topic) {
	_, escaped, _ := strings.Cut(r.URL.EscapedPath(), "/v1/models/")
	model, err := url.PathUnescape(escaped)
	switch {
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/v1/chat/completions"):
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/v1/models"):
		return Call{}, aitest.Models
	// A name with a slash has to be escaped.
	case r.Method == http.MethodGet && model != "" && err == nil && !strings.Contains(escaped, "/"):
		return Call{Model: model}, aitest.Model
	default:
		return Call{}, aitest.Nothing
	}
	var wire struct {
		Model    string `json:"model"`
		Messages []struct {
			Role    string  `json:"role"`
			Content content `json:"content"`
		} `json:"messages"`
	}
	_ = json.Unmarshal(body, &wire) // what cannot be read is empty in the record
	parameters := ParametersOf(Call{Body: body})
	call := Call{Model: wire.Model, Room: max(parameters.MaxTokens, parameters.MaxCompletionTokens), KeyElsewhere: r.URL.RawQuery != ""}
	for _, message := range wire.Messages {
		switch message.Role {
		case "system", "developer":
			call.System += message.Content.text()
		case "user":
			call.User += message.Content.text()
			message.Content.attach(&call)
		}
	}
	_, inSchema := parameters.ResponseFormat.JSONSchema.Schema.Properties["screening"]
	call.Screening = inSchema || strings.Contains(call.System, `"screening":{`)
	return call, aitest.Text
}
