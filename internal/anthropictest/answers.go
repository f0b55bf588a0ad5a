// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package anthropictest

import (
	"math"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/internal/aitest"
)

type object = map[string]any

// endTurn is why a model stops that is done.
const endTurn = "end_turn"

// Summary is a good answer with this summary. Where a verdict was asked for, it is for the article.
func Summary(text string) Answer { return stopped(endTurn, aitest.Summary(text)) }

// Counted is a good answer with this summary, of which the API counts so many tokens for each of its four sorts. The
// count is put into the JSON as it is, whatever it is.
func Counted(text, tokens string) Answer {
	summary := strconv.Quote(`{"summary":` + strconv.Quote(text) + `}`)
	return Body(http.StatusOK, "application/json", `{"id":"msg_1","type":"message","role":"assistant","stop_reason":"end_turn",`+
		`"content":[{"type":"text","text":`+summary+`}],"usage":{"input_tokens":`+tokens+
		`,"cache_creation_input_tokens":`+tokens+`,"cache_read_input_tokens":`+tokens+`,"output_tokens":`+tokens+`}}`)
}

// Verdict is an answer with this verdict and this summary.
func Verdict(valuable, complete bool, explanation, summary string) Answer {
	return stopped(endTurn, aitest.Verdict(valuable, complete, explanation, summary))
}

// Text is an answer in which the model wrote exactly this.
func Text(text string) Answer { return stopped(endTurn, aitest.Exactly(text)) }

// Declined is an answer in which the model declines in words.
func Declined() Answer { return Text(aitest.Declined) }

// MaxTokens is an answer that broke off after this, for want of room.
func MaxTokens(partial string) Answer { return Stopped("max_tokens", partial) }

// Stopped is an answer that ended for this reason after this text, which may be empty.
func Stopped(reason, text string) Answer { return stopped(reason, aitest.Exactly(text)) }

// Refusal is an answer that the API ended because of what it is about, with the category of its
// policy, such as cyber; empty for none.
func Refusal(category string) Answer {
	details := object{"type": "refusal", "category": nil, "explanation": nil}
	if category != "" {
		details["category"] = category
	}
	return generated(func(Call) message { return message{reason: "refusal", details: details} })
}

// ToolUse is an answer that calls a tool which nobody offered, with a part of its input as a string.
func ToolUse(partial string) Answer {
	return Message("tool_use", object{"type": "tool_use", "id": "toolu_01A09q90qw90lq917835lq9", "name": "answer", "input": partial})
}

// Message is an answer of exactly these blocks, in the words of the API.
func Message(stopReason string, blocks ...map[string]any) Answer {
	return generated(func(Call) message { return message{reason: stopReason, content: blocks} })
}

// Empty is a success that says nothing.
func Empty() Answer { return aitest.Document(http.StatusOK, func(Call) any { return object{} }) }

// BrokenJSON is a success whose body breaks off.
func BrokenJSON() Answer {
	return Body(http.StatusOK, "application/json", `{"id":"msg_01XFDUDYJgAACzvnptvVoYEL","content":[{"type":"text","text":"{\"summ`)
}

// CutOff is a success whose connection breaks before the body is complete.
func CutOff() Answer { return BrokenJSON().WithHeader("Content-Length", "100000") }

// HTML is a web page in place of an answer, with any status.
func HTML(status int) Answer { return aitest.HTML(status) }

// Hang is no answer until the request ends.
func Hang() Answer { return aitest.Hang() }

// Throttled reports that too much was asked within a minute, and for how long not to ask again; 0
// leaves that out. The API says it in whole seconds.
func Throttled(retryAfter time.Duration) Answer {
	answer := Error(http.StatusTooManyRequests, "rate_limit_error",
		"This request would exceed your organization's rate limit of 50 requests per minute.")
	if retryAfter > 0 {
		answer = answer.WithHeader("Retry-After", strconv.Itoa(int(math.Ceil(retryAfter.Seconds()))))
	}
	return answer
}

// SpendLimit reports that the workspace may not spend more.
func SpendLimit() Answer {
	return withDetails(http.StatusTooManyRequests, "rate_limit_error", "This request would exceed your account's monthly spend limit.",
		object{"error_code": "enforced_spend_limit_reached"})
}

// UsageLimits reports that a limit in the Console was reached, and until when.
func UsageLimits(until time.Time) Answer {
	return Error(http.StatusBadRequest, "invalid_request_error", "You have reached your specified API usage limits. "+
		"You will regain access on "+until.UTC().Format("2006-01-02 at 15:04")+" UTC.")
}

// NoCredit reports that the organization has to pay first.
func NoCredit() Answer {
	return Error(http.StatusBadRequest, "invalid_request_error", "Your credit balance is too low to access the Anthropic API. "+
		"Please go to Plans & Billing to upgrade or purchase credits.")
}

// Billing reports that something is wrong with the payment.
func Billing() Answer {
	return Error(http.StatusPaymentRequired, "billing_error", "There is an issue with your billing or payment information.")
}

// Overloaded reports that too many others ask.
func Overloaded() Answer { return Error(529, "overloaded_error", "Overloaded") }

// Internal is an error of the server's own.
func Internal() Answer {
	return Error(http.StatusInternalServerError, "api_error", "Internal server error")
}

// Timeout reports that the server took too long over the request.
func Timeout() Answer {
	return Error(http.StatusGatewayTimeout, "timeout_error", "Request timed out")
}

// TooLong reports that the model takes less text.
func TooLong() Answer {
	return Error(http.StatusBadRequest, "invalid_request_error", "prompt is too long: 233153 tokens > 200000 maximum")
}

// TooLarge reports that the request has too many bytes.
func TooLarge() Answer {
	return Error(http.StatusRequestEntityTooLarge, "request_too_large", "Request exceeds the maximum size")
}

// ModelGone reports that there is no such model.
func ModelGone() Answer {
	return Error(http.StatusNotFound, "not_found_error", "model: claude-2.1")
}

// KeyInvalid reports that the key is none.
func KeyInvalid() Answer {
	return Error(http.StatusUnauthorized, "authentication_error", "invalid x-api-key")
}

// KeyForbidden reports that the key may not do what it is used for.
func KeyForbidden() Answer {
	return Error(http.StatusForbidden, "permission_error", "Your API key does not have permission to use the specified resource.")
}

// Model is what the API knows about a model that can do everything.
func Model() Answer { return ModelWith("active", true) }

// ModelWith is what the API knows about a model: whether it is active, deprecated or retired, and
// whether its answers can be held to a schema.
func ModelWith(lifecycle string, structuredOutputs bool) Answer {
	return aitest.Document(http.StatusOK, func(call Call) any {
		return object{
			"type": "model", "id": call.Model, "display_name": call.Model, "created_at": "2025-10-15T00:00:00Z",
			"lifecycle": lifecycle, "deprecated_at": nil, "retires_at": nil, "line": "haiku",
			"max_input_tokens": 200_000, "max_tokens": 64_000,
			"capabilities": object{
				"structured_outputs": object{"supported": structuredOutputs}, "batch": object{"supported": true},
			},
		}
	})
}

// Error is an error in the form of the API.
func Error(status int, kind, message string) Answer { return withDetails(status, kind, message, nil) }

func withDetails(status int, kind, message string, details any) Answer {
	return aitest.Document(status, func(call Call) any {
		return object{"type": "error", "request_id": call.ID,
			"error": object{"type": kind, "message": message, "details": details}}
	})
}

// Body is any answer at all.
func Body(status int, contentType, body string) Answer { return aitest.Body(status, contentType, body) }

// stopped is a success with one text.
func stopped(reason string, write aitest.Writer) Answer {
	return generated(func(call Call) message {
		ended := message{reason: reason}
		if text := write(call); text != "" {
			ended.content = []object{{"type": "text", "text": text}}
		}
		return ended
	})
}

// message is what distinguishes one success from another.
type message struct {
	reason  string
	content []object
	details object
}

func generated(write func(call Call) message) Answer {
	return aitest.Document(http.StatusOK, func(call Call) any {
		written := write(call)
		return object{
			"type": "message", "id": "msg_01XFDUDYJgAACzvnptvVoYEL", "role": "assistant", "model": call.Model,
			"stop_reason": written.reason, "stop_details": written.details, "stop_sequence": nil,
			"content": append([]object{}, written.content...), // never null
			"usage": object{
				"input_tokens":                1 + utf8.RuneCountInString(call.System+call.User)/4,
				"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 100, "service_tier": "standard",
			},
		}
	})
}
