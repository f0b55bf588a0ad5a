// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedsource

import (
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
)

// advice is what a person can do about a poll that failed, as a sentence that follows what happened;
// empty where there is nothing to do but wait.
func advice(source *v1alpha1.FeedSource, cause *failure.Error) string {
	unreachable, ok := errors.AsType[*net.OpError](cause)
	switch {
	case cause.Type == failure.TypeTimeout && ok && unreachable.Op == "dial":
		return "" // connecting has a limit of its own
	case cause.Type == failure.TypeTimeout:
		return ". If it is always that slow, raise spec.timeout"
	case cause.Type != failure.TypeHTTPStatus:
		return "" // the message says it, or nothing helps
	}
	switch cause.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		if ref := source.Spec.SecretRef; ref != nil {
			return fmt.Sprintf(". Check the credentials in the Secret %q", ref.Name)
		}
		return ". If the feed needs credentials, name a Secret with them in spec.secretRef"
	case http.StatusNotFound:
		return ". Check spec.url"
	}
	return ""
}
