// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package openai asks OpenAI for summaries, or any server that speaks its Chat Completions API
// (https://platform.openai.com/docs/api-reference/chat): Ollama, vLLM, llama.cpp, LocalAI, gateways.
//
// It knows the API's wire format, its refusals, and in what those servers differ: which parameters
// they take, how a model that is asked for JSON answers nevertheless, and what they have to say
// about a model. The SDK stays within this package. It must never let the API key into an error or
// a log, reads no environment, and knows nothing of retries, pace or Kubernetes.
package openai

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"

	sdk "github.com/openai/openai-go/v3"

	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/provider/modelapi"
)

// DefaultEndpoint is where OpenAI's own API is.
const DefaultEndpoint = "https://api.openai.com/v1"

// modelName is what the API server takes for one.
var modelName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}$`)

var vendor = modelapi.Vendor{
	Name: "OpenAI", Endpoint: DefaultEndpoint, OpenElsewhere: true, Example: "gpt-5-mini or llama3.2:3b",
	IsModel:   func(name string) bool { return modelName.MatchString(name) && !hasDots(name) },
	WhenSpent: "Wait until it is renewed, or add credit or raise the limit there.",
}

// hasDots reports whether a name could leave the path of the URL that it is put into.
func hasDots(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), func(segment string) bool {
		return segment == "." || segment == ".." || segment == ""
	})
}

// Config says whom to ask, and how: a model as the server names it, such as gpt-5-mini or llama3.2:3b,
// at DefaultEndpoint or the base URL of another server with the version of its API. The APIKey is sent
// as a bearer token. It may be empty where Endpoint is set: a server of one's own may need none, and
// is then sent no Authorization at all.
type Config = modelapi.Config

// Provider asks one model. It is safe for concurrent use.
type Provider struct {
	api    *modelapi.API
	chat   sdk.ChatCompletionService
	models sdk.ModelService

	mu sync.Mutex
	// speaks is what the server is known to understand.
	speaks dialect
}

var _ provider.Provider = (*Provider)(nil)

// New returns a provider, without asking anybody anything. An error is a *failure.Error that says
// what in the configuration is wrong.
func New(cfg Config) (*Provider, error) {
	api, err := modelapi.New(vendor, cfg)
	if err != nil {
		return nil, err
	}
	p := &Provider{api: api, speaks: dialectOf(api.Endpoint)}
	p.chat, p.models = services(api.Endpoint.String())
	return p, nil
}

// Close releases what the provider holds. It must not be used any more.
func (*Provider) Close() error { return nil }

// Generate asks for a summary, as modelapi.API.Generate describes; and, once in the life of the Provider,
// once more for each parameter that the server does not take. ctx bounds all its requests.
func (p *Provider) Generate(ctx context.Context, request provider.Request) (provider.Response, error) {
	if !p.dialect().documents {
		var err error
		if request, err = request.WithoutDocument(); err != nil {
			return provider.Response{}, err
		}
	}
	return p.api.Generate(ctx, request, func(ctx context.Context, prompt provider.Prompt, room int64) modelapi.Answer {
		tokens := int64(0)
		for {
			used := p.dialect()
			answer, refused := p.ask(ctx, used, prompt, request, room)
			tokens = provider.SumTokens(tokens, answer.Response.Tokens)
			// That there is no more room for a second try is no reason to leave the limit out of the first.
			if refused != nil && !(room > modelapi.OutputTokens && refused.tooMuchRoom) && p.learn(used, *refused) {
				continue
			}
			answer.Response.Tokens = tokens
			answer.RoomRefused = refused != nil
			answer.WantsRoom = answer.WantsRoom && used.limitsRoom()
			return answer
		}
	})
}

// ask makes one request, and returns the parameters that the server does not take where that is why
// it failed.
func (p *Provider) ask(ctx context.Context, speaks dialect, prompt provider.Prompt, request provider.Request, room int64) (
	modelapi.Answer, *complaint,
) {
	ctx, call := p.call(ctx)
	var result modelapi.Answer
	completion, err := p.chat.New(ctx, speaks.params(p.api.Model, prompt, provider.AnswerSchema(request), room))
	if err == nil {
		text, reason := written(completion)
		result = modelapi.Read(withoutThoughts(text), ranOut[reason], request)
		err = result.Err
	}
	result.Response.Model, result.Response.Tokens = call.model, call.tokens
	if err != nil {
		result.Err = call.Failed(err)
	}
	return result, call.refused
}

// Check asks the server for the model. It is nil when the key is right and nothing speaks against
// the model; else a *failure.Error that says what to do. It costs no tokens.
//
// Servers that do not know the question are asked for the list of models in its place, which tells
// whether they take the key; whether they have the model, the first call will show: the list need
// not hold every name that a model may be asked by.
func (p *Provider) Check(ctx context.Context) error {
	asking, call := p.call(ctx)
	_, err := p.models.Get(asking, p.api.Model)
	if call.unknownPath {
		asking, call = p.call(ctx)
		_, err = p.models.List(asking)
	}
	if err == nil || call.unknownPath {
		return nil
	}
	return call.Failed(err)
}
