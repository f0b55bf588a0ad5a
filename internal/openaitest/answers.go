// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package openaitest

import (
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/internal/aitest"
)

type object = map[string]any

const (
	// typeInvalidRequest is the type of most errors.
	typeInvalidRequest = "invalid_request_error"
	// stop is why a model stops that is done.
	stop = "stop"
	// contentField is where a text of the model is.
	contentField = "content"
)

// Summary is a good answer with this summary. Where a verdict was asked for, it is for the article.
func Summary(text string) Answer { return completion(stop, aitest.Summary(text)) }

// Counted is a good answer with this summary, of which the API counts so many tokens in all. The
// count is put into the JSON as it is, whatever it is.
func Counted(text, tokens string) Answer {
	summary := strconv.Quote(`{"summary":` + strconv.Quote(text) + `}`)
	return Body(http.StatusOK, "application/json", `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":`+summary+
		`}}],"usage":{"prompt_tokens":`+tokens+`,"completion_tokens":`+tokens+`,"total_tokens":`+tokens+`}}`)
}

// Verdict is an answer with this verdict and this summary.
func Verdict(valuable, complete bool, explanation, summary string) Answer {
	return completion(stop, aitest.Verdict(valuable, complete, explanation, summary))
}

// Text is an answer in which the model wrote exactly this.
func Text(text string) Answer { return completion(stop, aitest.Exactly(text)) }

// Refusal is an answer in which the model declines, where it had to follow a schema.
func Refusal() Answer {
	return chosen(stop, func(Call) object { return object{contentField: nil, "refusal": aitest.Declined} })
}

// Length is an answer that broke off after this, for want of room.
func Length(partial string) Answer { return completion("length", aitest.Exactly(partial)) }

// Stopped is an answer that ended for a reason of its own, such as content_filter, without a text.
func Stopped(finishReason string) Answer { return completion(finishReason, aitest.Exactly("")) }

// Empty is a success that says nothing.
func Empty() Answer { return document(http.StatusOK, object{}) }

// BrokenJSON is a success whose body breaks off.
func BrokenJSON() Answer {
	return Body(http.StatusOK, "application/json", `{"choices": [{"message": {"content": "{\"summ`)
}

// HTML is a web page in place of an answer.
func HTML() Answer { return aitest.HTML(http.StatusOK) }

// Hang is no answer until the request ends.
func Hang() Answer { return aitest.Hang() }

// Throttled reports that too much was asked within a minute, and in whole seconds how long not to ask
// again; 0 leaves that out.
func Throttled(retryAfter time.Duration) Answer {
	answer := Error(http.StatusTooManyRequests, "tokens", "rate_limit_exceeded",
		"Rate limit reached for gpt-5-mini in organization org-123 on tokens per min (TPM): Limit 200000, Used 199000, Requested 9000.")
	if retryAfter <= 0 {
		return answer
	}
	seconds := int64((retryAfter + time.Second - 1) / time.Second)
	return answer.WithHeader("Retry-After", strconv.FormatInt(seconds, 10))
}

// QuotaSpent reports that the money of the account is spent.
func QuotaSpent() Answer {
	return Error(http.StatusTooManyRequests, "insufficient_quota", "insufficient_quota",
		"You exceeded your current quota, please check your plan and billing details.")
}

// Overloaded reports that too many others ask.
func Overloaded() Answer {
	return Error(http.StatusServiceUnavailable, "server_error", "server_is_overloaded", "The server is overloaded. Please try again later.")
}

// Internal is an error of the server's own.
func Internal() Answer {
	return Error(http.StatusInternalServerError, "server_error", "", "The server had an error while processing your request. Sorry about that!")
}

// TooLong reports that the model takes less text.
func TooLong() Answer {
	return Error(http.StatusBadRequest, typeInvalidRequest, "context_length_exceeded",
		"Your input exceeds the context window of this model. Please adjust your input and try again.")
}

// ModelGone reports that there is no such model.
func ModelGone() Answer {
	return Error(http.StatusNotFound, typeInvalidRequest, "model_not_found", "The model `gpt-3` does not exist or you do not have access to it.")
}

// NoSuchPath reports that the API has no such method.
func NoSuchPath() Answer {
	return Error(http.StatusNotFound, typeInvalidRequest, "", "Invalid URL (GET /v1/model)")
}

// KeyInvalid reports that the key is none.
func KeyInvalid() Answer {
	return Error(http.StatusUnauthorized, typeInvalidRequest, "invalid_api_key",
		"Incorrect API key provided: sk-proj-****************abcd. You can find your API key at https://platform.openai.com/account/api-keys.")
}

// Unsupported reports that the model does not take a parameter, and what to do.
func Unsupported(param, advice string) Answer {
	return document(http.StatusBadRequest, object{"error": object{
		"message": "Unsupported parameter: '" + param + "' is not supported with this model. " + advice,
		"type":    typeInvalidRequest, "param": param, "code": "unsupported_parameter",
	}})
}

// Model is what the API knows about a model.
func Model() Answer {
	return aitest.Document(http.StatusOK, func(call Call) any { return modelObject(call.Model) })
}

// Models is the list of all models.
func Models(names ...string) Answer {
	data := make([]object, 0, len(names))
	for _, name := range names {
		data = append(data, modelObject(name))
	}
	return document(http.StatusOK, object{"object": "list", "data": data})
}

func modelObject(name string) object {
	return object{"id": name, "object": "model", "created": 1_754_000_000, "owned_by": "system"}
}

// Error is an error in the form of the API; an empty code is null.
func Error(status int, kind, code, message string) Answer {
	body := object{"message": message, "type": kind, "param": nil, "code": nil}
	if code != "" {
		body["code"] = code
	}
	return document(status, object{"error": body})
}

// Body is any answer at all.
func Body(status int, contentType, body string) Answer { return aitest.Body(status, contentType, body) }

func document(status int, body any) Answer {
	return aitest.Document(status, func(Call) any { return body })
}

// completion is a success with one choice, in which the model wrote a text.
func completion(finishReason string, write aitest.Writer) Answer {
	return chosen(finishReason, func(call Call) object { return object{contentField: write(call), "refusal": nil} })
}

// chosen is a success with one choice.
func chosen(finishReason string, write func(call Call) object) Answer {
	return aitest.Document(http.StatusOK, func(call Call) any {
		message := write(call)
		text, _ := message[contentField].(string)
		message["role"], message["annotations"] = "assistant", []any{}
		return object{
			"id": "chatcmpl-1", "object": "chat.completion", "created": 1_775_000_000, "model": call.Model, "service_tier": "default",
			"choices": []object{{"index": 0, "finish_reason": finishReason, "logprobs": nil, "message": message}},
			"usage":   usage(1+utf8.RuneCountInString(call.System+call.User)/4, 1+utf8.RuneCountInString(text)/4),
		}
	})
}

func usage(prompt, completion int) object {
	return object{
		"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion,
		"completion_tokens_details": object{"reasoning_tokens": 0},
	}
}
