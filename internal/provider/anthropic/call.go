// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package anthropic

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/feed-operator/feed-operator/internal/provider/modelapi"
)

// call prepares a request that is made with the context.
func (p *Provider) call(ctx context.Context) (context.Context, *modelapi.Call) {
	call := &modelapi.Call{Prepare: p.prepare, Read: p.check}
	return p.api.Begin(ctx, call), call
}

// prepare adds the key, which the SDK is never told.
func (p *Provider) prepare(out *http.Request) {
	out.Header.Del("Authorization")
	out.Header.Set("X-Api-Key", p.api.Key)
}

// check tells an answer of the API, which is an object, from what else is at the endpoint. A gateway may
// hide an error in one.
func (p *Provider) check(answer *http.Response, body []byte) ([]byte, error) {
	var object map[string]json.RawMessage
	switch {
	case answer.StatusCode != http.StatusOK:
		return nil, p.refused(answer.StatusCode, answer.Header, body)
	case json.Unmarshal(body, &object) != nil, object == nil: // null is no object
		return nil, p.api.Malformed()
	case readError(body).Type != "":
		return nil, p.refused(answer.StatusCode, answer.Header, body)
	}
	return body, nil
}
