// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gemini

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/generative-ai-go/genai"
	"google.golang.org/api/option"
	"google.golang.org/api/option/internaloption"
	"google.golang.org/grpc"

	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/provider/modelapi"
)

// client returns the SDK's client. There is one for the whole process: with each, the SDK opens a
// gRPC connection for a service that is not used here, and never closes it. That connection is
// kept from dialling, or it would go around internal/outbound, and from trying for ever; the SDK takes
// the options for that only when it does not validate them. Endpoint and key belong to a call.
var client = sync.OnceValues(func() (*genai.Client, error) {
	return genai.NewClient(context.Background(),
		option.WithHTTPClient(&http.Client{Transport: modelapi.Carrier{}}),
		option.WithoutAuthentication(),
		internaloption.SkipDialSettingsValidation(),
		option.WithGRPCDialOption(grpc.WithContextDialer(refuse)),
		option.WithGRPCDialOption(grpc.WithIdleTimeout(time.Millisecond)))
})

// errRefused is what the SDK's own connection ends with.
var errRefused = errors.New("gRPC is not used")

func refuse(context.Context, string) (net.Conn, error) { return nil, errRefused }

// safety lets the news report on violence: what is blocked otherwise is decided by the model's own
// standards.
var safety = []*genai.SafetySetting{
	{Category: genai.HarmCategoryHarassment, Threshold: genai.HarmBlockOnlyHigh},
	{Category: genai.HarmCategoryHateSpeech, Threshold: genai.HarmBlockOnlyHigh},
	{Category: genai.HarmCategorySexuallyExplicit, Threshold: genai.HarmBlockOnlyHigh},
	{Category: genai.HarmCategoryDangerousContent, Threshold: genai.HarmBlockOnlyHigh},
}

// schema is an object with these properties, in the SDK's words.
func schema(properties []provider.Property) *genai.Schema {
	out := &genai.Schema{Type: genai.TypeObject, Properties: map[string]*genai.Schema{}}
	for _, property := range properties {
		var value *genai.Schema
		switch property.Type {
		case provider.SchemaObject:
			value = schema(property.Properties)
		case provider.SchemaBoolean:
			value = &genai.Schema{Type: genai.TypeBoolean}
		default:
			value = &genai.Schema{Type: genai.TypeString}
		}
		value.Description = property.Description
		out.Properties[property.Name] = value
		out.Required = append(out.Required, property.Name)
	}
	return out
}

// written returns the text of an answer, and why it ended.
func written(answer *genai.GenerateContentResponse) (string, genai.FinishReason) {
	if len(answer.Candidates) == 0 {
		return "", genai.FinishReasonUnspecified
	}
	candidate := answer.Candidates[0]
	var text strings.Builder
	if candidate.Content != nil {
		for _, part := range candidate.Content.Parts {
			if piece, ok := part.(genai.Text); ok {
				text.WriteString(string(piece))
			}
		}
	}
	return text.String(), candidate.FinishReason
}
