// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package geminitest

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/internal/aitest"
)

type object = map[string]any

// stop is why a model stops that is done.
const stop = "STOP"

// Summary is a good answer with this summary. Where a verdict was asked for, it is for the article.
func Summary(text string) Answer { return generated(stop, aitest.Summary(text)) }

// Counted is a good answer with this summary, of which the API counts so many tokens in all. The
// count is put into the JSON as it is, whatever it is.
func Counted(text, tokens string) Answer {
	summary := strconv.Quote(`{"summary":` + strconv.Quote(text) + `}`)
	return Body(http.StatusOK, "application/json", `{"candidates":[{"finishReason":"STOP","content":{"parts":[{"text":`+summary+`}]}}],`+
		`"usageMetadata":{"totalTokenCount":`+tokens+`}}`)
}

// Verdict is an answer with this verdict and this summary.
func Verdict(valuable, complete bool, explanation, summary string) Answer {
	return generated(stop, aitest.Verdict(valuable, complete, explanation, summary))
}

// Text is an answer in which the model wrote exactly this.
func Text(text string) Answer { return generated(stop, aitest.Exactly(text)) }

// Refusal is an answer in which the model declines in words.
func Refusal() Answer { return Text(aitest.Declined) }

// MaxTokens is an answer that broke off after this, for want of room.
func MaxTokens(partial string) Answer { return generated("MAX_TOKENS", aitest.Exactly(partial)) }

// Stopped is an answer that ended for a reason of its own, such as SAFETY, without a text.
func Stopped(finishReason string) Answer { return generated(finishReason, aitest.Exactly("")) }

// Blocked is an answer without a candidate, because of what was asked: SAFETY, OTHER, BLOCKLIST or
// PROHIBITED_CONTENT.
func Blocked(blockReason string) Answer {
	return document(http.StatusOK, object{"promptFeedback": object{"blockReason": blockReason}, "usageMetadata": usage(1200, 0)})
}

// Empty is a success that says nothing.
func Empty() Answer { return document(http.StatusOK, object{}) }

// BrokenJSON is a success whose body breaks off.
func BrokenJSON() Answer {
	return Body(http.StatusOK, "application/json; charset=UTF-8", `{"candidates": [{"content": {"parts": [{"text": "{\"summ`)
}

// HTML is a web page in place of an answer.
func HTML() Answer { return aitest.HTML(http.StatusOK) }

// Hang is no answer until the request ends.
func Hang() Answer { return aitest.Hang() }

// Throttled reports that too much was asked within a minute, and for how long not to ask again; 0
// leaves that out.
func Throttled(retryDelay time.Duration) Answer {
	details := []object{quotaFailure("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "10")}
	message := "You exceeded your current quota, please check your plan and billing details."
	if retryDelay > 0 {
		details = append(details, retryInfo(retryDelay))
	}
	return Error(http.StatusTooManyRequests, "RESOURCE_EXHAUSTED", message, details...)
}

// QuotaPerDay reports that the day's quota is spent, with the short delay that the API names beside it.
func QuotaPerDay() Answer {
	return Error(http.StatusTooManyRequests, "RESOURCE_EXHAUSTED",
		"You exceeded your current quota, please check your plan and billing details.",
		quotaFailure("GenerateRequestsPerDayPerProjectPerModel-FreeTier", "250"), retryInfo(22*time.Second))
}

// QuotaZero reports that the key has no quota for the model at all, in words only.
func QuotaZero() Answer {
	return Error(http.StatusTooManyRequests, "RESOURCE_EXHAUSTED", "You exceeded your current quota. * Quota exceeded for metric: "+
		"generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 0\nPlease retry in 36.2s.")
}

// Unavailable reports that the model is overloaded.
func Unavailable() Answer {
	return Error(http.StatusServiceUnavailable, "UNAVAILABLE", "The model is overloaded. Please try again later.")
}

// Internal is an error of the server's own.
func Internal() Answer {
	return Error(http.StatusInternalServerError, "INTERNAL", "An internal error has occurred.")
}

// TooLong reports that the model takes less text.
func TooLong() Answer {
	return Error(http.StatusBadRequest, "INVALID_ARGUMENT",
		"The input token count (1234567) exceeds the maximum number of tokens allowed (1048576).")
}

// ModelGone reports that there is no such model.
func ModelGone() Answer {
	return Error(http.StatusNotFound, "NOT_FOUND", "models/gemini-1.0-pro is not found for API version v1beta, "+
		"or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.")
}

// KeyInvalid reports that the key is none.
func KeyInvalid() Answer {
	return Error(http.StatusBadRequest, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.",
		errorInfo("API_KEY_INVALID"))
}

// KeyForbidden reports that the key may not use the API.
func KeyForbidden() Answer {
	return Error(http.StatusForbidden, "PERMISSION_DENIED",
		"Generative Language API has not been used in project 123 before or it is disabled.",
		errorInfo("SERVICE_DISABLED"))
}

// NoBilling reports that the key's project has to pay.
func NoBilling() Answer {
	return Error(http.StatusBadRequest, "FAILED_PRECONDITION",
		"Gemini API free tier is not available in your country. Please enable billing on your project in Google AI Studio.")
}

// Model is what the API knows about a model: the methods that it has.
func Model(methods ...string) Answer {
	return aitest.Document(http.StatusOK, func(call Call) any {
		return object{
			"name": "models/" + call.Model, "version": "001", "displayName": call.Model, "inputTokenLimit": 1048576,
			"outputTokenLimit": 65536, "supportedGenerationMethods": methods, "thinking": true,
		}
	})
}

// Error is an error in the form of the Google APIs.
func Error(status int, code, message string, details ...map[string]any) Answer {
	body := object{"code": status, "message": message, "status": code}
	if len(details) > 0 {
		body["details"] = details
	}
	return document(status, object{"error": body})
}

// Body is any answer at all.
func Body(status int, contentType, body string) Answer { return aitest.Body(status, contentType, body) }

func document(status int, body any) Answer {
	return aitest.Document(status, func(Call) any { return body })
}

// generated is a success with one candidate.
func generated(finishReason string, write aitest.Writer) Answer {
	return aitest.Document(http.StatusOK, func(call Call) any {
		candidate := object{"finishReason": finishReason, "index": 0}
		text := write(call)
		if text != "" {
			// Models that think sign what they write, in the part or in one of its own.
			candidate["content"] = object{"role": "model", "parts": []object{
				{"text": text, "thoughtSignature": "c2lnbmF0dXJl"}, {"thoughtSignature": "c2lnbmF0dXJl"},
			}}
		}
		return object{
			"candidates": []object{candidate}, "modelVersion": call.Model, "responseId": "c3VtbWFyeQ",
			"usageMetadata": usage(1+utf8.RuneCountInString(call.System+call.User)/4, 1+utf8.RuneCountInString(text)/4),
		}
	})
}

func usage(prompt, candidates int) object {
	const thoughts = 100
	return object{
		"promptTokenCount": prompt, "candidatesTokenCount": candidates, "thoughtsTokenCount": thoughts,
		"totalTokenCount": prompt + candidates + thoughts,
	}
}

func errorInfo(reason string) object {
	return object{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "googleapis.com",
		"metadata": object{"service": "generativelanguage.googleapis.com"}}
}

func quotaFailure(quotaID, value string) object {
	return object{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []object{{
		"quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests", "quotaId": quotaID,
		"quotaDimensions": object{"location": "global", "model": "gemini-2.5-flash"}, "quotaValue": value,
	}}}
}

func retryInfo(delay time.Duration) object {
	return object{"@type": "type.googleapis.com/google.rpc.RetryInfo",
		"retryDelay": fmt.Sprintf("%ss", strconv.FormatFloat(delay.Seconds(), 'f', -1, 64))}
}
