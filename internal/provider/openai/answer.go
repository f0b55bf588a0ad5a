// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"

	sdk "github.com/openai/openai-go/v3"

	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/provider/modelapi"
)

// Why a model stopped, as https://platform.openai.com/docs/api-reference/chat/object has it. Other
// servers have words of their own.
const (
	finishLength        = "length"
	finishContentFilter = "content_filter"
)

// ranOut are the reasons that stand for the room: Mistral has one for that of the model.
var ranOut = map[string]bool{finishLength: true, "model_length": true}

// broken are the reasons of servers and gateways that gave up in the middle.
var broken = map[string]bool{"error": true, "abort": true}

var (
	// thoughts stand before the answer of a model that thinks, where the server does not keep them
	// apart. Some templates open them in the prompt, so that only their end is in the answer.
	thoughtsEnd   = regexp.MustCompile(`(?i)</(?:think|thinking|thought|reasoning)>`)
	thoughtsBegin = regexp.MustCompile(`(?i)^<(?:think|thinking|thought|reasoning)>`)
)

// wireCompletion is an answer to a chat completion, as far as it is used.
type wireCompletion struct {
	Choices []wireChoice `json:"choices"`
	Usage   struct {
		Prompt     modelapi.Tokens `json:"prompt_tokens"`
		Completion modelapi.Tokens `json:"completion_tokens"`
		Total      modelapi.Tokens `json:"total_tokens"`
	} `json:"usage"`
	Model string `json:"model"`
}

type wireChoice struct {
	Message struct {
		Content wireText `json:"content"`
		Refusal string   `json:"refusal"`
	} `json:"message"`
	FinishReason string `json:"finish_reason"`
}

// wireText is a text, or a list of parts of which some are.
type wireText string

// UnmarshalJSON implements json.Unmarshaler.
func (t *wireText) UnmarshalJSON(data []byte) error {
	if !bytes.HasPrefix(data, []byte("[")) {
		return json.Unmarshal(data, (*string)(t))
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	for _, part := range parts {
		if part.Type == "text" {
			*t += wireText(part.Text)
		}
	}
	return nil
}

// readCompletion judges an answer to a chat completion, and returns what of it the SDK is to see: the
// first choice's text and why it ended.
func (c *call) readCompletion(header http.Header, body []byte) ([]byte, error) {
	var wire wireCompletion
	if err := c.readSuccess(header, body, &wire); err != nil {
		return nil, err
	}
	api := c.provider.api
	c.tokens, c.model = provider.SumTokens(int64(max(wire.Usage.Total, wire.Usage.Prompt+wire.Usage.Completion))), api.Writer(wire.Model)
	if len(wire.Choices) == 0 {
		return nil, api.Empty("")
	}
	choice := wire.Choices[0]
	text, reason := string(choice.Message.Content), choice.FinishReason
	switch {
	case reason == finishContentFilter:
		return nil, api.Blocked(reason)
	case choice.Message.Refusal != "":
		return nil, api.Blocked("refusal")
	case broken[reason]:
		return nil, api.Unfinished(reason)
	case ranOut[reason]:
	case strings.TrimSpace(text) == "":
		return nil, api.Empty(reason)
	}
	clean := map[string]any{"choices": []any{map[string]any{
		"finish_reason": reason, "message": map[string]any{"role": "assistant", "content": text},
	}}}
	return json.Marshal(clean)
}

// readModels judges an answer about a model, or the list of all.
func (c *call) readModels(header http.Header, body []byte) error {
	var wire struct {
		ID   string          `json:"id"`
		Data json.RawMessage `json:"data"`
	}
	if err := c.readSuccess(header, body, &wire); err != nil {
		return err
	}
	if wire.ID == "" && len(wire.Data) == 0 {
		return c.provider.api.Silent()
	}
	return nil
}

// readSuccess reads an answer with the status 200. Some servers send their errors with it, too.
func (c *call) readSuccess(header http.Header, body []byte, into any) error {
	if !json.Valid(body) {
		return c.provider.api.Malformed()
	}
	if wire, ok := readError(body); ok && wire.nested {
		return c.fail(wire.status(), header, body)
	}
	if json.Unmarshal(body, into) != nil {
		return c.provider.api.Malformed()
	}
	return nil
}

// written returns the text of an answer, and why it ended.
func written(answer *sdk.ChatCompletion) (text, reason string) {
	if answer == nil || len(answer.Choices) == 0 {
		return "", ""
	}
	return answer.Choices[0].Message.Content, answer.Choices[0].FinishReason
}

// withoutThoughts returns what a model answered without what it thought before. Thoughts without an
// end are no answer.
func withoutThoughts(text string) string {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "```") {
		return text
	}
	if end := thoughtsEnd.FindStringIndex(text); end != nil {
		return strings.TrimSpace(text[end[1]:])
	}
	if thoughtsBegin.MatchString(text) {
		return ""
	}
	return text
}
