// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// Codes and types of OpenAI's errors (https://platform.openai.com/docs/guides/error-codes), as far as
// something is decided by them.
const (
	codeModelNotFound        = "model_not_found"
	codeContextLength        = "context_length_exceeded"
	codeUnsupportedParameter = "unsupported_parameter"
	suffixSpendLimit         = "_spend_limit_exceeded"
	codeNoJSON               = "json_validate_failed" // Groq's, for what the model wrote
)

var (
	spentCodes = map[string]bool{
		"insufficient_quota": true, "credit_balance_exhausted": true, "billing_hard_limit_reached": true, "billing_not_active": true,
	}
	blockedCodes = map[string]bool{"content_filter": true, "content_policy_violation": true, "invalid_prompt": true}
	// overloadedCodes come with 503 from OpenAI, and with 500 from some gateways.
	overloadedCodes = map[string]bool{"server_is_overloaded": true, "overloaded_error": true, "engine_overloaded": true, "slow_down": true}
	// statuses are what the type of an error stands for, where the status does not tell.
	statuses = map[string]int{
		"rate_limit_exceeded": http.StatusTooManyRequests, "rate_limit_error": http.StatusTooManyRequests,
		"tokens": http.StatusTooManyRequests, "requests": http.StatusTooManyRequests,
		"authentication_error": http.StatusUnauthorized, "invalid_api_key": http.StatusUnauthorized,
		"permission_error": http.StatusForbidden, codeModelNotFound: http.StatusNotFound, "not_found_error": http.StatusNotFound,
		"invalid_request_error": http.StatusBadRequest, codeContextLength: http.StatusBadRequest,
		"server_error": http.StatusInternalServerError, "api_error": http.StatusInternalServerError,
	}
)

// wireError is what a server says about what it has refused.
type wireError struct {
	Message string
	Type    string
	Param   string
	Code    string
	// number is a code that is an HTTP status, as vLLM and gateways have it.
	number int
	// nested is set if the error was in "error", where no success has anything.
	nested bool
}

// is reports whether the code or the type of an error is among some.
func (e wireError) is(names map[string]bool) bool { return names[e.Code] || names[e.Type] }

// isSpent tells a budget that is spent from a pace that is too fast.
func (e wireError) isSpent() bool {
	return e.is(spentCodes) || strings.HasSuffix(e.Code, suffixSpendLimit) || strings.HasSuffix(e.Type, suffixSpendLimit)
}

// status is what the error stands for where it came with 200, 0 where it does not say.
func (e wireError) status() int {
	switch {
	case e.number != 0:
		return e.number
	case e.isSpent():
		return http.StatusTooManyRequests
	case e.is(blockedCodes):
		return http.StatusBadRequest
	case e.is(overloadedCodes):
		return http.StatusServiceUnavailable
	case statuses[e.Code] != 0:
		return statuses[e.Code]
	}
	return statuses[e.Type]
}

// Words for what codes do not tell.
var (
	wordsModel = regexp.MustCompile(`(?i)\bmodel\b`)
	wordsPath  = regexp.MustCompile(`(?i)invalid url|unknown (?:url|path|route|request url)|(?:file|page|path|route|url) not found`)
)

// namesModel reports for a 404 whether it is about the model, and not about the path.
func (e wireError) namesModel() bool {
	return e.Code == codeModelNotFound || wordsModel.MatchString(e.Message) && !wordsPath.MatchString(e.Message)
}

// readError reads the body of an answer that is no success, and reports whether that is a word of an API.
// The forms are OpenAI's {"error": {…}}; vLLM's of old, without "error"; {"error": "…"} of Ollama
// and others; {"detail": …} of servers built on FastAPI; and a list of one, which is Google's.
func readError(body []byte) (wireError, bool) {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var document struct {
		Error  json.RawMessage `json:"error"`
		Detail json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &document) != nil {
		return wireError{}, false
	}
	if document.Error != nil && string(document.Error) != "null" {
		if text, ok := textOf(document.Error); ok {
			return wireError{Message: text, nested: true}, text != ""
		}
		read, ok := readFields(document.Error)
		read.nested = ok
		return read, ok
	}
	if len(document.Detail) > 0 {
		return wireError{Message: detailOf(document.Detail)}, true
	}
	return readFields(body)
}

func readFields(body json.RawMessage) (wireError, bool) {
	var fields struct {
		Message any `json:"message"`
		Type    any `json:"type"`
		Param   any `json:"param"`
		Code    any `json:"code"`
	}
	if json.Unmarshal(body, &fields) != nil {
		return wireError{}, false
	}
	text := func(value any) string { s, _ := value.(string); return s }
	read := wireError{Message: text(fields.Message), Type: text(fields.Type), Param: text(fields.Param), Code: text(fields.Code)}
	if number, ok := fields.Code.(float64); ok && number >= 400 && number <= 599 {
		read.number = int(number)
	}
	if number, err := strconv.Atoi(read.Code); err == nil && number >= 400 && number <= 599 {
		read.number = number
	}
	return read, read.Message != "" || read.Type != "" || read.Code != "" || read.number != 0
}

func textOf(raw json.RawMessage) (string, bool) {
	var text string
	err := json.Unmarshal(raw, &text)
	return text, err == nil
}

// detailOf reads the errors of FastAPI, without the input that they repeat.
func detailOf(raw json.RawMessage) string {
	if text, ok := textOf(raw); ok {
		return text
	}
	var faults []struct {
		Where []any  `json:"loc"`
		What  string `json:"msg"`
	}
	if json.Unmarshal(raw, &faults) != nil {
		return ""
	}
	texts := make([]string, 0, len(faults))
	for _, fault := range faults {
		var where []string
		for _, step := range fault.Where {
			where = append(where, fmt.Sprint(step))
		}
		texts = append(texts, strings.Join(where, ".")+": "+fault.What+".")
	}
	return strings.Join(texts, " ")
}
