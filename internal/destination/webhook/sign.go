// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
)

// signer signs requests as Standard Webhooks has it, with each of its keys: while one replaces another, receivers know either.
type signer []*standardwebhooks.Webhook

// leastKey is the least that Standard Webhooks allows a key to have, in bytes.
const leastKey = 24

// newSigner reads keys that are separated by spaces. Its error tells nothing of them.
func newSigner(keys string) (signer, error) {
	var all signer
	for key := range strings.FieldsSeq(keys) {
		raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(key, "whsec_"))
		if err != nil || len(raw) < leastKey {
			return nil, misconfigured(v1alpha1.CategoryAuth, failure.TypeCredentials,
				"The key signingKey of the Secret cannot be used: it must be whsec_ and the base64 of 24 bytes or more, such as `openssl rand -base64 32` gives.")
		}
		one, err := standardwebhooks.NewWebhookRaw(raw)
		if err != nil {
			return nil, misconfigured(v1alpha1.CategoryAuth, failure.TypeCredentials, "The key signingKey of the Secret cannot be used.")
		}
		all = append(all, one)
	}
	return all, nil
}

// sign adds the headers webhook-id, webhook-timestamp and webhook-signature to those of a request.
func (s signer) sign(header http.Header, id string, now time.Time, body string) error {
	if len(s) == 0 {
		return nil
	}
	signatures := make([]string, 0, len(s))
	for _, key := range s {
		signature, err := key.Sign(id, now, []byte(body))
		if err != nil {
			return misconfigured(v1alpha1.CategoryAuth, failure.TypeCredentials, "The request could not be signed with the key signingKey of the Secret.")
		}
		signatures = append(signatures, signature)
	}
	header.Set("Webhook-Id", id)
	header.Set("Webhook-Timestamp", strconv.FormatInt(now.Unix(), 10))
	header.Set("Webhook-Signature", strings.Join(signatures, " "))
	return nil
}
