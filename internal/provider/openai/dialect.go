// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/feed-operator/feed-operator/internal/provider"
)

// Names of the parameters that not every server takes.
const (
	paramFormat              = "response_format"
	paramTemperature         = "temperature"
	paramMaxTokens           = "max_tokens"
	paramMaxCompletionTokens = "max_completion_tokens"
)

// temperature is low: a summary is to be right, not original.
const temperature = 0.2

// schemaName is what the form of an answer is called; the API demands a name.
const schemaName = "summary"

// format is how the server is told what an answer looks like.
type format int

const (
	formatSchema format = iota // by a JSON Schema, which it follows strictly
	formatObject               // as any JSON object
	formatNone                 // in words only
)

// dialect is what a server is asked with. OpenAI's newer models take max_completion_tokens only, and
// no temperature but their own; max_tokens is what all others have known from the beginning, while
// some refuse the newer name, and some, Ollama among them, ignore it and would write without end. So
// there are two dialects to begin with, chosen by the host. What a server refuses is left out from
// then on; that makes a gateway to OpenAI, or a server that is older or stricter than most, work as well.
type dialect struct {
	// limits are the names by which the room for an answer is bounded, the first that is left is sent.
	limits [2]string
	format format
	// words is set if the form of an answer stands in the prompt as well: servers that force a model
	// into a form do not show it the form, and some ignore what they do not know.
	words       bool
	temperature bool
	// documents is set if a prompt may have a document.
	documents bool
}

func dialectOf(endpoint *url.URL) dialect {
	host := strings.ToLower(endpoint.Hostname())
	own := host == "api.openai.com" || strings.HasSuffix(host, ".api.openai.com")
	if own || strings.HasSuffix(host, ".openai.azure.com") {
		return dialect{limits: [2]string{paramMaxCompletionTokens, paramMaxTokens}, documents: own}
	}
	return dialect{limits: [2]string{paramMaxTokens, paramMaxCompletionTokens}, words: true, temperature: true}
}

// limitsRoom reports whether the server is told how much room there is.
func (d dialect) limitsRoom() bool { return d.limits[0] != "" }

// params are the request in this dialect.
func (d dialect) params(model string, prompt provider.Prompt, answer provider.Schema, room int64) sdk.ChatCompletionNewParams {
	form := answer.JSON()
	system := prompt.System
	if d.words || d.format != formatSchema {
		text, err := json.Marshal(form)
		if err != nil {
			panic(err) // maps of strings can be written
		}
		system += "\nThe form is given by this JSON Schema:\n\n" + string(text) + "\n"
	}
	params := sdk.ChatCompletionNewParams{
		Model:    model,
		Messages: []sdk.ChatCompletionMessageParamUnion{sdk.SystemMessage(system), userMessage(prompt)},
	}
	if d.temperature {
		params.Temperature = param.NewOpt(temperature)
	}
	switch d.limits[0] {
	case paramMaxTokens:
		params.MaxTokens = param.NewOpt(room)
	case paramMaxCompletionTokens:
		params.MaxCompletionTokens = param.NewOpt(room)
	}
	switch d.format {
	case formatSchema:
		params.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: schemaName, Strict: param.NewOpt(true), Schema: form},
		}
	case formatObject:
		params.ResponseFormat.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
	case formatNone:
	}
	return params
}

// userMessage is the article, with its document where it has one.
func userMessage(prompt provider.Prompt) sdk.ChatCompletionMessageParamUnion {
	document := prompt.Document
	if document == nil {
		return sdk.UserMessage(prompt.User)
	}
	return sdk.UserMessage([]sdk.ChatCompletionContentPartUnionParam{
		sdk.FileContentPart(sdk.ChatCompletionContentPartFileFileParam{
			Filename: param.NewOpt("article.pdf"),
			FileData: param.NewOpt("data:" + document.MIMEType + ";base64," + base64.StdEncoding.EncodeToString(document.Data)),
		}),
		sdk.TextContentPart(prompt.User),
	})
}

// dialect returns what the server is known to understand.
func (p *Provider) dialect() dialect {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.speaks
}

// learn remembers what the server has refused of the dialect it was asked in, and returns whether
// asking again makes sense: each time, less is sent than before.
func (p *Provider) learn(used dialect, refused complaint) bool {
	simpler := used.without(refused)
	if simpler == used {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.speaks == used { // else another call has learned before this one
		p.speaks = simpler
	}
	return true
}

// without returns what is left of a dialect without what was refused.
func (d dialect) without(refused complaint) dialect {
	switch {
	case refused.tooMuchRoom:
		d.limits = [2]string{}
	case refused.limit:
		d.limits = [2]string{d.limits[1]}
	}
	if refused.format && d.format < formatNone {
		d.format++
	}
	if refused.temperature {
		d.temperature = false
	}
	return d
}

// complaint is which parameters a server has refused.
type complaint struct {
	limit, format, temperature bool
	// tooMuchRoom is set if not the name of the limit was refused, but how much was asked for.
	tooMuchRoom bool
}

// Servers that speak the API have no common way to say which parameter they mean, so their words are
// looked at where they leave param empty.
var (
	wordsLimit       = regexp.MustCompile(`(?i)max_(?:completion_|new_)?tokens|in the completion\b|completion tokens`)
	wordsTooMuchRoom = regexp.MustCompile(`(?i)too large|at most|exceed|maximum|less than or equal|greater than|in the completion\b`)
	wordsFormat      = regexp.MustCompile(`(?i)response[_ ]format|json[_ ]schema|json_object|json mode|structured output|\bgrammar\b`)
	wordsTemperature = regexp.MustCompile(`(?i)\btemperature\b`)
)

// complaintOf reads which parameters a refusal is about, nil when it is about none.
func complaintOf(status int, wire wireError) *complaint {
	if status != http.StatusBadRequest && status != http.StatusUnprocessableEntity {
		return nil
	}
	name, _, _ := strings.Cut(wire.Param, ".")
	var found complaint
	switch name {
	case paramMaxTokens, paramMaxCompletionTokens:
		found.limit = true
	case paramFormat:
		found.format = true
	case paramTemperature:
		found.temperature = true
	default:
		found.limit = wordsLimit.MatchString(wire.Message)
		found.format = wordsFormat.MatchString(wire.Message)
		found.temperature = wordsTemperature.MatchString(wire.Message)
	}
	found.tooMuchRoom = found.limit && wire.Code != codeUnsupportedParameter && wordsTooMuchRoom.MatchString(wire.Message)
	if found == (complaint{}) {
		return nil
	}
	return &found
}
