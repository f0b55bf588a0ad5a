// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mastodon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/failure"
)

// Limits of Mastodon, for servers that do not name theirs.
const (
	defaultMaxCharacters    = 500
	defaultCharactersPerURL = 23
	// maxLimit is the largest limit that is believed.
	maxLimit = 1_000_000
	// maxImageLimit is likewise for bytes of images, and maxImageTypes how many types of them are noted.
	maxImageLimit = 1 << 30
	maxImageTypes = 16
)

// instance is what a server says of itself, at /api/v2/instance or /api/v1/instance.
type instance struct {
	Version       string `json:"version"`
	SourceURL     string `json:"source_url"`
	Domain        string `json:"domain"`
	MaxTootChars  int    `json:"max_toot_chars"`
	Configuration struct {
		Statuses struct {
			MaxCharacters            int `json:"max_characters"`
			CharactersReservedPerURL int `json:"characters_reserved_per_url"`
		} `json:"statuses"`
		Media struct {
			Types            []string `json:"supported_mime_types"`
			MaxBytes         int      `json:"image_size_limit"`
			DescriptionLimit int      `json:"description_limit"`
		} `json:"media_attachments"`
	} `json:"configuration"`
}

// instance asks the server about itself. A server that knows neither page has the limits of
// Mastodon.
func (c *Client) instance(ctx context.Context) (instance, error) {
	about, err := c.instanceAt(ctx, "/api/v2/instance")
	if known, ok := asFailure(err); ok && known.Category != v1alpha1.CategoryNetwork && known.Category != v1alpha1.CategoryRateLimit {
		about, err = c.instanceAt(ctx, "/api/v1/instance")
		if known, ok := asFailure(err); ok && (known.Category == v1alpha1.CategoryValidation || known.Category == v1alpha1.CategoryAuth) {
			return instance{}, nil
		}
	}
	return about, err
}

func (c *Client) instanceAt(ctx context.Context, path string) (instance, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.server.JoinPath(path).String(), nil)
	if err != nil {
		return instance{}, failure.New(v1alpha1.CategoryValidation, failure.TypeInvalidURL,
			fmt.Sprintf("The address of %s cannot be used.", c.server.Host))
	}
	request.Header.Set("Authorization", "Bearer "+c.api.Config.AccessToken)
	response, err := c.http.Do(request)
	if err != nil {
		return instance{}, c.failed(err)
	}
	defer func() { _ = response.Body.Close() }()
	var about instance
	// A field of another type is as good as none: the others are there nevertheless.
	if err := json.NewDecoder(response.Body).Decode(&about); err != nil && !isWrongType(err) {
		return instance{}, malformed(c.server.Host, http.StatusOK)
	}
	return about, nil
}

func isWrongType(err error) bool {
	_, ok := errors.AsType[*json.UnmarshalTypeError](err)
	return ok
}

// limits are the server's own, or Mastodon's.
func (i instance) limits() destination.Limits {
	believed := func(values ...int) int {
		for _, value := range values {
			if value > 0 && value <= maxLimit {
				return value
			}
		}
		return 0
	}
	statuses, media := i.Configuration.Statuses, i.Configuration.Media
	var types []string
	for _, kind := range media.Types {
		if strings.HasPrefix(kind, "image/") && len(kind) <= 64 && kind == destination.PlainLine(kind, 64) && len(types) < maxImageTypes {
			types = append(types, kind)
		}
	}
	maxBytes := int64(media.MaxBytes)
	if maxBytes < 0 || maxBytes > maxImageLimit {
		maxBytes = 0
	}
	return destination.Limits{
		MaxImageBytes: maxBytes, ImageTypes: types, MaxDescription: believed(media.DescriptionLimit),
		MaxCharacters:    believed(statuses.MaxCharacters, i.MaxTootChars, defaultMaxCharacters),
		CharactersPerURL: believed(statuses.CharactersReservedPerURL, defaultCharactersPerURL),
	}
}

// mastodonVersion is how Mastodon and its forks number their releases. Other servers say what they
// are in words after the version of the API that they speak; GoToSocial, which does not, has not come to
// version 1.
var mastodonVersion = regexp.MustCompile(`^[1-9][0-9]*\.[0-9]+\.[0-9]+[0-9A-Za-z.+_-]*$`)

// isMastodon reports whether the server is Mastodon or a fork of it.
func (i instance) isMastodon() bool {
	return mastodonVersion.MatchString(i.Version) && !strings.Contains(strings.ToLower(i.SourceURL+" "+i.Version), "gotosocial")
}

func (i instance) software() string {
	version := destination.PlainLine(i.Version, destination.MaxWords)
	if i.isMastodon() {
		return "Mastodon " + version
	}
	return version
}
