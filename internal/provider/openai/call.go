// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"context"
	"net/http"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/feed-operator/feed-operator/internal/provider/modelapi"
)

// services returns what of the SDK is used. The SDK's client as a whole would read the environment:
// the key, the endpoint and more of whoever started the operator.
func services(endpoint string) (sdk.ChatCompletionService, sdk.ModelService) {
	options := []option.RequestOption{
		option.WithBaseURL(endpoint),
		option.WithHTTPClient(&http.Client{Transport: modelapi.Carrier{}}),
		option.WithMaxRetries(0),
	}
	return sdk.NewChatCompletionService(options...), sdk.NewModelService(options...)
}

// call is one request to the API, and what is to be known of its answer beyond what the SDK tells.
type call struct {
	modelapi.Call
	provider *Provider
	// model that answered, as the API names it, and the tokens that it counted.
	model  string
	tokens int64
	// refused are the parameters that the server does not take.
	refused *complaint
	// unknownPath is set if the server does not know the question, whatever model it is about.
	unknownPath bool
}

// call prepares a request that is made with the context.
func (p *Provider) call(ctx context.Context) (context.Context, *call) {
	c := &call{provider: p, model: p.api.Model}
	c.Prepare, c.Read = p.prepare, c.read
	return p.api.Begin(ctx, &c.Call), c
}

// prepare adds the key, which the SDK is never told, and takes away what the SDK says about the machine
// that it runs on.
func (p *Provider) prepare(out *http.Request) {
	for name := range out.Header {
		if strings.HasPrefix(name, "X-Stainless-") {
			out.Header.Del(name)
		}
	}
	out.Header.Del("Authorization")
	if p.api.Key != "" {
		out.Header.Set("Authorization", "Bearer "+p.api.Key)
	}
}

// read judges an answer, and returns what of it the SDK is to see.
func (c *call) read(answer *http.Response, body []byte) ([]byte, error) {
	switch {
	case answer.StatusCode != http.StatusOK:
		return nil, c.fail(answer.StatusCode, answer.Header, body)
	case answer.Request.Method == http.MethodPost:
		return c.readCompletion(answer.Header, body)
	}
	return body, c.readModels(answer.Header, body)
}
