// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package anthropic

import (
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/provider/modelapi"
)

// read judges an answer by why it ended, and by what it says. Reasons to stop are added now and then:
// https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons.
func (p *Provider) read(answer *sdk.Message, request provider.Request) modelapi.Answer {
	text := written(answer)
	switch reason := answer.StopReason; reason {
	case sdk.StopReasonRefusal:
		return modelapi.Answer{Err: p.api.Blocked(string(answer.StopDetails.Category))}
	case sdk.StopReasonMaxTokens:
		return modelapi.Read(text, true, request)
	case sdk.StopReasonModelContextWindowExceeded:
		result := modelapi.Read(text, true, request)
		if modelapi.FailedWith(result.Err, failure.TypeTruncated) { // the article has left no room in the model's window
			result.Err = p.api.TooLong()
		}
		result.WantsRoom = false
		return result
	case sdk.StopReasonEndTurn, sdk.StopReasonStopSequence, "":
		if text != "" {
			return modelapi.Read(text, false, request)
		}
	default: // a call of a tool, a pause: nothing that was asked for
		if text != "" {
			return modelapi.Answer{Err: p.api.Unfinished(string(reason))}
		}
	}
	return modelapi.Answer{Err: p.api.Empty(string(answer.StopReason))}
}

// written is what the model wrote, without what it thought.
func written(answer *sdk.Message) string {
	var out strings.Builder
	for _, block := range answer.Content {
		if block.Type == "text" {
			out.WriteString(block.Text)
		}
	}
	return out.String()
}

// tokens are those of the prompt, also where it was cached, and those of the answer with its thoughts.
func tokens(answer *sdk.Message) int64 {
	usage := answer.Usage
	return provider.SumTokens(usage.InputTokens, usage.CacheCreationInputTokens, usage.CacheReadInputTokens, usage.OutputTokens)
}
