// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"net/url"
	"strings"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/redact"
)

// Published returns whether the summaries of a source are served for everybody to read: as its spec.publish says, or
// else where its feed is asked for without credentials.
func Published(source *v1alpha1.FeedSource) bool {
	if source.Spec.Publish != nil {
		return *source.Spec.Publish
	}
	return !neededBy(source)
}

// SentInClear returns whether credentials would be sent where everybody on the way can read them, and nobody has
// allowed that. To a URL that cannot be read nothing is sent.
func SentInClear(source *v1alpha1.FeedSource) bool {
	address, err := addressOf(source)
	return err == nil && address.Scheme == "http" && !source.Spec.AllowInsecure && neededBy(source)
}

// neededBy returns whether a feed is asked for with credentials: those of a Secret, or some in its URL. A secret path
// cannot be told from any other. Of a URL that cannot be read nobody knows what it holds, so it is not for everybody.
func neededBy(source *v1alpha1.FeedSource) bool {
	_, err := addressOf(source)
	return err != nil || source.Spec.SecretRef != nil || len(redact.CredentialsIn(source.Spec.URL)) > 0
}

// addressOf reads the URL of a feed as it is read where it is asked for.
func addressOf(source *v1alpha1.FeedSource) (*url.URL, error) {
	return url.Parse(strings.TrimSpace(source.Spec.URL))
}
