// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package anthropic

import (
	"net/http"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/provider/modelapi"
)

// maxTime is what a request without a deadline has. That it is said at all keeps the SDK from
// demanding a stream where it expects an answer of many tokens to take longer.
const maxTime = 10 * time.Minute

// newClient returns the SDK's client, which knows nothing but what it is told here: of itself, it
// would take keys, the address and headers from the environment and from files, and repeat what fails.
func newClient(endpoint string) sdk.Client {
	return sdk.NewClient(
		option.WithoutEnvironmentDefaults(),
		option.WithoutOpenTelemetry(),
		option.WithBaseURL(endpoint),
		option.WithHTTPClient(&http.Client{Transport: modelapi.Carrier{}}),
		option.WithMaxRetries(0),
		option.WithRequestTimeout(maxTime))
}

// output asks for JSON by the schema, which the API then holds the model to (structured outputs).
// Forcing a call of a tool would reach older models, too, but is refused by those that always
// think; and every model that is not about to be retired knows structured outputs. For the same reach
// nothing is said of temperature, effort and thoughts, which some models refuse. The properties leave in
// alphabetical order, which is the order that they are meant to be written in.
func output(schema provider.Schema) sdk.OutputConfigParam {
	return sdk.OutputConfigParam{Format: sdk.JSONOutputFormatParam{Schema: schema.JSON()}}
}
