// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import "strings"

const (
	keyOrEndpoint      = "secretRef is required: it names the Secret with the apiKey. Only a server of your own (endpoint) may need none"
	openAIModelPattern = "should match '^[A-Za-z0-9][A-Za-z0-9._:/@-]*$'"
	ollamaEndpoint     = "http://ollama.example:11434/v1"
)

// anOpenAI is the least that is said of OpenAI itself, and anOllama of a server that speaks its API.
var (
	anOpenAI = map[string]any{"model": "gpt-5-mini", "secretRef": map[string]any{"name": "openai"}}
	anOllama = map[string]any{"model": "llama3.2:3b", "endpoint": ollamaEndpoint}
)

// withOpenAI has the provider be OpenAI, and nothing else.
var withOpenAI = map[string]any{
	"spec.extractive": absent{}, "spec.openAI.model": "gpt-5-mini", "spec.openAI.secretRef.name": "openai",
}

var openAIRules = map[string]rule{
	"OpenAI needs a key, a server of one's own may need none": rule{
		kind: "AIProvider", field: "spec.openAI",
		valid: []any{
			anOpenAI, anOllama,
			map[string]any{"model": "gpt-5-mini", "endpoint": ollamaEndpoint, "secretRef": map[string]any{"name": "openai"}},
		},
		invalid: []refusal{{map[string]any{"model": "gpt-5-mini"}, keyOrEndpoint}},
	}.beside(map[string]any{"spec.extractive": absent{}}),
	"OpenAI's key comes from a Secret with a name": texts("AIProvider", "spec.openAI.secretRef.name", true, 253).beside(withOpenAI),
	"a model of OpenAI's API has a name that servers use": rule{
		kind: "AIProvider", field: "spec.openAI.model",
		valid: []any{"gpt-5-mini", "llama3.2:3b", "Qwen/Qwen3-8B", "ft:gpt-4o-mini:press::1", "model@2", strings.Repeat("x", 128)},
		invalid: []refusal{
			{"", "should be at least 1 chars long"},
			{strings.Repeat("x", 129), "may not be more than 128"},
			{"gpt 5", openAIModelPattern},
			{"../files", openAIModelPattern},
			{"gpt-5?key=x", openAIModelPattern},
			{"gpt-5\n", openAIModelPattern},
			{absent{}, "Required value"},
		},
	}.beside(withOpenAI),
	// R4.7: whether http:// is allowed is a flag of the operator, so the API server takes both.
	"an endpoint of OpenAI's API is a URL without secrets": rule{
		kind: "AIProvider", field: "spec.openAI.endpoint",
		valid: []any{
			"https://api.openai.com/v1", "https://api.openai.com/v1/", ollamaEndpoint, "https://[2001:db8::1]:8443/v1",
			"https://proxy.example/" + strings.Repeat("x", longestURLOfThese-len("https://proxy.example/")), absent{},
		},
		invalid: []refusal{
			{"", mustBeEndpoint},
			{"api.openai.com/v1", mustBeEndpoint},
			{"/v1", mustBeEndpoint},
			{"ftp://ollama.example/v1", mustBeEndpoint},
			{"https://", mustBeEndpoint},
			{"https://:8443/v1", mustBeEndpoint},
			{" " + ollamaEndpoint, mustBeEndpoint},
			{"http://user:pass@ollama.example/v1", noKeyInEndpoint},
			{"HTTPS://token@ollama.example/v1", noKeyInEndpoint},
			{ollamaEndpoint + "?key=x", noKeyInEndpoint},
			{ollamaEndpoint + "/?", noKeyInEndpoint},
			{ollamaEndpoint + "#chat", noKeyInEndpoint},
			{"https://proxy.example/" + strings.Repeat("x", longestURLOfThese), "may not be more than 2048"},
		},
	}.beside(withOpenAI),
}
