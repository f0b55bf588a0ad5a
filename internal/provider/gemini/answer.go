// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gemini

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/feed-operator/feed-operator/internal/provider/modelapi"
)

// Why a model stopped, as https://ai.google.dev/api/generate-content#FinishReason has it. Reasons
// are added now and then.
const (
	finishStop      = "STOP"
	finishMaxTokens = "MAX_TOKENS"
)

// blocking are the reasons that stand for the content: the same again would end the same.
var blocking = map[string]bool{
	"SAFETY": true, "RECITATION": true, "LANGUAGE": true, "BLOCKLIST": true, "PROHIBITED_CONTENT": true, "SPII": true,
	"IMAGE_SAFETY": true, "IMAGE_PROHIBITED_CONTENT": true, "IMAGE_RECITATION": true,
}

// wireContent is an answer to generateContent, as far as it is used.
type wireContent struct {
	Candidates     []wireCandidate `json:"candidates,omitempty"`
	PromptFeedback *struct {
		BlockReason string `json:"blockReason"`
	} `json:"promptFeedback,omitempty"`
	UsageMetadata struct {
		TotalTokenCount modelapi.Tokens `json:"totalTokenCount"`
	} `json:"usageMetadata"`
	ModelVersion string     `json:"modelVersion,omitempty"`
	Error        *wireError `json:"error,omitempty"`
}

type wireCandidate struct {
	Content struct {
		Parts []wirePart `json:"parts"`
	} `json:"content"`
	FinishReason string `json:"finishReason,omitempty"`
}

type wirePart struct {
	Text    string `json:"text"`
	Thought bool   `json:"thought,omitempty"`
}

// text is what the model wrote, without what it thought.
func (c wireCandidate) text() string {
	var out strings.Builder
	for _, part := range c.Content.Parts {
		if !part.Thought {
			out.WriteString(part.Text)
		}
	}
	return out.String()
}

// read judges an answer, and returns what of it the SDK is to see: of generateContent the first
// candidate's text, without thoughts, signatures and what else a part may be.
func (c *call) read(answer *http.Response, body []byte) ([]byte, error) {
	api := c.provider.api
	var wire wireContent
	switch {
	case answer.StatusCode != http.StatusOK:
		return nil, c.provider.refused(answer.StatusCode, answer.Header, body)
	case !json.Valid(body):
		return nil, api.Malformed()
	case !strings.HasSuffix(answer.Request.URL.Path, ":"+generateContent):
		return body, nil
	case json.Unmarshal(body, &wire) != nil:
		return nil, api.Malformed()
	}
	c.tokens, c.model = int64(wire.UsageMetadata.TotalTokenCount), api.Writer(wire.ModelVersion)
	switch feedback := wire.PromptFeedback; {
	case wire.Error != nil:
		return nil, c.provider.refused(wire.Error.Code, http.Header{}, body)
	case feedback != nil && feedback.BlockReason != "" && feedback.BlockReason != "BLOCK_REASON_UNSPECIFIED":
		return nil, api.Blocked(feedback.BlockReason)
	case len(wire.Candidates) == 0:
		return nil, api.Empty("")
	}
	candidate := wire.Candidates[0]
	text := candidate.text()
	switch reason := candidate.FinishReason; {
	case blocking[reason]:
		return nil, api.Blocked(reason)
	case reason == finishMaxTokens:
	case text == "":
		return nil, api.Empty(reason)
	case reason != finishStop && reason != "" && reason != "FINISH_REASON_UNSPECIFIED":
		return nil, api.Unfinished(reason)
	}
	clean := wireContent{Candidates: []wireCandidate{{FinishReason: candidate.FinishReason}}}
	clean.Candidates[0].Content.Parts = []wirePart{{Text: text}}
	return json.Marshal(clean)
}
