// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gemini asks Google's Gemini for summaries, by the Gemini API (https://ai.google.dev/api).
//
// It knows the API's wire format, its refusals, and how to keep the SDK from what it should not do:
// retrying by itself, and taking an answer without text for a success. The SDK stays within this
// package, so that another can take its place. It must never let the API key into a URL, an
// error or a log, and knows nothing of retries, pace or Kubernetes.
package gemini

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/google/generative-ai-go/genai"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/provider/modelapi"
)

// DefaultEndpoint is where the API is.
const DefaultEndpoint = "https://generativelanguage.googleapis.com"

const (
	// temperature is low: a summary is to be right, not original.
	temperature = 0.2
	// generateContent is the method of the API that a model must have.
	generateContent = "generateContent"
	// models is the collection that most models are in.
	models = "models/"
)

// modelName is what may stand in the path of a URL.
var modelName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9][A-Za-z0-9._-]*)*$`)

var vendor = modelapi.Vendor{
	Name: "Gemini", Endpoint: DefaultEndpoint, IsModel: modelName.MatchString, Example: "gemini-2.5-flash",
	WhenSpent: "Wait until it is renewed, or enable billing for the project of the key.",
}

// Config says whom to ask, and how: a model such as gemini-2.5-flash or models/gemini-2.5-flash, at
// DefaultEndpoint or elsewhere, with the API key of a Google AI Studio project.
type Config = modelapi.Config

// Provider asks one model. It is safe for concurrent use.
type Provider struct {
	api *modelapi.API
	// path of the model: its collection and name, such as models/gemini-2.5-flash.
	path string
}

var _ provider.Provider = (*Provider)(nil)

// New returns a provider, without asking anybody anything. An error is a *failure.Error that says
// what in the configuration is wrong.
func New(cfg Config) (*Provider, error) {
	cfg.Model = strings.TrimPrefix(cfg.Model, models)
	api, err := modelapi.New(vendor, cfg)
	if err != nil {
		return nil, err
	}
	p := &Provider{api: api, path: api.Model}
	if !strings.Contains(p.path, "/") {
		p.path = models + p.path
	}
	if _, err := client(); err != nil {
		return nil, failure.Wrap(v1alpha1.CategoryUnknown, "", "The client of Gemini could not be made.", err)
	}
	return p, nil
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
	sdk, err := client()
	if err != nil {
		return modelapi.Answer{Err: p.api.Failed(err)}
	}
	model := sdk.GenerativeModel(p.path)
	model.SystemInstruction = &genai.Content{Parts: []genai.Part{genai.Text(prompt.System)}}
	model.SetTemperature(temperature)
	model.SetMaxOutputTokens(int32(room)) //nolint:gosec // some ten thousand
	model.ResponseMIMEType = "application/json"
	model.ResponseSchema = schema(provider.AnswerSchema(request).Properties)
	model.SafetySettings = safety

	ctx, call := p.call(ctx)
	var result modelapi.Answer
	parts := []genai.Part{genai.Text(prompt.User)}
	if document := prompt.Document; document != nil {
		parts = []genai.Part{genai.Blob{MIMEType: document.MIMEType, Data: document.Data}, genai.Text(prompt.User)}
	}
	content, err := model.GenerateContent(ctx, parts...)
	if err == nil {
		text, reason := written(content)
		result = modelapi.Read(text, reason == genai.FinishReasonMaxTokens, request)
		err = result.Err
	}
	result.Response.Model, result.Response.Tokens = call.model, call.tokens
	if err != nil {
		result.Err = call.Failed(err)
	}
	return result
}

// Check asks the API for the model. It is nil when the key is right and the model can write; else a
// *failure.Error that says what to do. It costs no tokens.
func (p *Provider) Check(ctx context.Context) error {
	sdk, err := client()
	if err != nil {
		return p.api.Failed(err)
	}
	ctx, call := p.call(ctx)
	info, err := sdk.GenerativeModel(p.path).Info(ctx)
	switch {
	case err != nil:
		return call.Failed(err)
	case info.Name == "" && len(info.SupportedGenerationMethods) == 0:
		return p.api.Silent()
	case !slices.Contains(info.SupportedGenerationMethods, generateContent):
		return failure.New(v1alpha1.CategoryValidation, failure.TypeUnsupported,
			fmt.Sprintf("The model %s of Gemini cannot write texts. Choose one that can, such as gemini-2.5-flash.", p.api.Model))
	}
	return nil
}

// call is one request to the API, and what is to be known of its answer beyond what the SDK tells.
type call struct {
	modelapi.Call
	provider *Provider
	// model that answered, as the API names it, and the tokens that it counted.
	model  string
	tokens int64
}

// call prepares a request that is made with the context.
func (p *Provider) call(ctx context.Context) (context.Context, *call) {
	c := &call{provider: p, model: p.api.Model}
	c.Prepare, c.Read = p.prepare, c.read
	return p.api.Begin(ctx, &c.Call), c
}

// prepare sends the SDK's request to the endpoint, with the key in a header. The query that the SDK
// writes goes: it may hold a key, and it asks for numbers in place of names, which are worth nothing
// where they are newer than the SDK.
func (p *Provider) prepare(out *http.Request) {
	target := *p.api.Endpoint
	target.Path, target.RawPath = strings.TrimRight(target.Path, "/")+out.URL.Path, ""
	out.URL, out.Host = &target, target.Host
	out.Header.Set("X-Goog-Api-Key", p.api.Key)
	out.Header.Del("Authorization")
}
