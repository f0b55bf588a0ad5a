// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	genai "go.opentelemetry.io/otel/semconv/v1.41.0" // the last one with the attributes of generative AI
	"go.opentelemetry.io/otel/trace"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// Model is what a provider asks.
type Model struct {
	operation, vendor attribute.KeyValue
	name              string
}

// ModelOf is what an AIProvider asks; the zero Model where that is none, but the built-in summarizer.
func ModelOf(described *v1alpha1.AIProvider) Model {
	switch spec := described.Spec; {
	case spec.Gemini != nil:
		return Model{genai.GenAIOperationNameGenerateContent, genai.GenAIProviderNameGCPGemini, spec.Gemini.Model}
	case spec.OpenAI != nil:
		return Model{genai.GenAIOperationNameChat, genai.GenAIProviderNameOpenAI, spec.OpenAI.Model}
	case spec.Anthropic != nil:
		return Model{genai.GenAIOperationNameChat, genai.GenAIProviderNameAnthropic, spec.Anthropic.Model}
	}
	return Model{}
}

// ProviderCall begins the span of one call of a provider, with all requests that it takes.
func ProviderCall(ctx context.Context, stage v1alpha1.Stage, provider string, model Model) (context.Context, Span) {
	if !trace.SpanContextFromContext(ctx).IsSampled() { // before a name is made
		return ctx, Span{}
	}
	by, at := keyProvider.String(provider), keyStage.String(string(stage))
	if model.name == "" {
		return start(ctx, spanSummarize, trace.SpanKindInternal, by, at)
	}
	return start(ctx, model.operation.Value.AsString()+" "+model.name, trace.SpanKindClient,
		by, at, model.operation, model.vendor, genai.GenAIRequestModel(model.name))
}

// Generated notes what has answered the call of a model, by the name that it gives itself, and how many tokens the provider has counted, in and out
// together.
func (s Span) Generated(asked Model, answered string, tokens int64) {
	if s.span == nil { // before anything is made for it
		return
	}
	if asked.name != "" && answered != "" {
		s.set(genai.GenAIResponseModel(answered))
	}
	if tokens > 0 {
		s.set(keyTokens.Int64(tokens))
	}
}
