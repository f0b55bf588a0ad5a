// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package anthropic asks Anthropic's Claude for summaries, by the Messages API
// (https://platform.claude.com/docs/en/api/messages).
//
// It knows the API's wire format, its refusals, and how to keep the SDK from what it should not do:
// reading the environment, retrying by itself, and holding answers of any size. The SDK stays within
// this package, so that another can take its place. It must never let the API key into a URL, an
// error or a log, and knows nothing of retries, pace or Kubernetes.
package anthropic

import (
	"context"
	"encoding/base64"
	"fmt"
	"regexp"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/provider/modelapi"
)

// DefaultEndpoint is where the API is.
const DefaultEndpoint = "https://api.anthropic.com"

// modelName is what may stand in the path of a URL, also where a gateway has models of several makers.
var modelName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:@-]*(?:/[A-Za-z0-9][A-Za-z0-9._:@-]*)*$`)

var vendor = modelapi.Vendor{
	Name: "Anthropic", Endpoint: DefaultEndpoint, IsModel: modelName.MatchString, Example: "claude-haiku-4-5",
	WhenSpent: "Wait until it is renewed, buy credits, or raise the limit in the Console.",
}

// Config says whom to ask, and how: a model such as claude-haiku-4-5, at DefaultEndpoint or another base
// URL of the API without its version, with the API key of a workspace.
type Config = modelapi.Config

// Provider asks one model. It is safe for concurrent use.
type Provider struct {
	api    *modelapi.API
	client sdk.Client
}

var _ provider.Provider = (*Provider)(nil)

// New returns a provider, without asking anybody anything. An error is a *failure.Error that says
// what in the configuration is wrong.
func New(cfg Config) (*Provider, error) {
	api, err := modelapi.New(vendor, cfg)
	if err != nil {
		return nil, err
	}
	return &Provider{api: api, client: newClient(api.Endpoint.String())}, nil
}

// Close releases what the provider holds. It must not be used any more.
func (*Provider) Close() error { return nil }

// Generate asks for a summary, as modelapi.API.Generate describes. ctx bounds all its requests; without a
// deadline, each has ten minutes.
func (p *Provider) Generate(ctx context.Context, request provider.Request) (provider.Response, error) {
	return p.api.Generate(ctx, request, func(ctx context.Context, prompt provider.Prompt, room int64) modelapi.Answer {
		return p.ask(ctx, prompt, request, room)
	})
}

// ask makes one request.
func (p *Provider) ask(ctx context.Context, prompt provider.Prompt, request provider.Request, room int64) modelapi.Answer {
	ctx, call := p.call(ctx)
	result := modelapi.Answer{Response: provider.Response{Model: p.api.Model}}
	blocks := []sdk.ContentBlockParamUnion{sdk.NewTextBlock(prompt.User)}
	if document := prompt.Document; document != nil {
		source := sdk.Base64PDFSourceParam{Data: base64.StdEncoding.EncodeToString(document.Data)}
		blocks = []sdk.ContentBlockParamUnion{sdk.NewDocumentBlock(source), sdk.NewTextBlock(prompt.User)}
	}
	message, err := p.client.Messages.New(ctx, sdk.MessageNewParams{
		Model:        p.api.Model,
		MaxTokens:    room,
		System:       []sdk.TextBlockParam{{Text: prompt.System}},
		Messages:     []sdk.MessageParam{sdk.NewUserMessage(blocks...)},
		OutputConfig: output(provider.AnswerSchema(request)),
	})
	if err == nil {
		result = p.read(message, request)
		result.Response.Model, result.Response.Tokens = p.api.Writer(message.Model), tokens(message)
		err = result.Err
	}
	if err != nil {
		result.Err = call.Failed(err)
	}
	return result
}

// Check asks the API for the model. It is nil when the key is right and the model can write what is
// asked of it; else a *failure.Error that says what to do. It costs no tokens.
func (p *Provider) Check(ctx context.Context) error {
	ctx, call := p.call(ctx)
	info, err := p.client.Models.Get(ctx, p.api.Model, sdk.ModelGetParams{})
	if err != nil {
		return call.Failed(err)
	}
	structured := info.Capabilities.StructuredOutputs // gateways and older versions may say nothing of it
	switch {
	case info.ID == "":
		return p.api.Silent()
	case info.Lifecycle == sdk.ModelInfoLifecycleRetired:
		return failure.New(v1alpha1.CategoryValidation, failure.TypeModelNotFound,
			fmt.Sprintf("%s has the model %s no longer. Choose another model.", p.api.Host(), p.api.Model))
	case structured.JSON.Supported.Valid() && !structured.Supported:
		return failure.New(v1alpha1.CategoryValidation, failure.TypeUnsupported,
			fmt.Sprintf("The model %s cannot answer in the form that is asked for (structured outputs). Choose one that can, such as claude-haiku-4-5.", p.api.Model))
	}
	return nil
}
