// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package syndication

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// rendition is part of every entity tag. Raise it when the same items are written differently,
// or clients keep the old form until an item changes.
const rendition = "1"

// entityTag returns a strong entity tag (RFC 9110, section 8.8.3): two feeds with the same tag are
// the same in every byte. It is made without any text of the items, because a resource version
// stands for all of them.
func entityTag(feed *document, format *format, refs []Ref) string {
	sum := sha256.New()
	add := func(text string) {
		// The length in front keeps neighbours apart.
		_, _ = io.WriteString(sum, strconv.Itoa(len(text))+":"+text)
	}
	for _, text := range []string{rendition, format.suffix, feed.id, feed.title, feed.homePage, feed.self} {
		add(text)
	}
	add(feed.updated.UTC().Format(time.RFC3339))
	for _, ref := range refs {
		add(string(ref.UID))
		add(ref.ResourceVersion)
	}
	return `"` + hex.EncodeToString(sum.Sum(nil)[:16]) + `"`
}

func setValidators(head http.Header, etag string, updated time.Time) {
	head.Set("ETag", etag)
	head.Set("Last-Modified", updated.UTC().Format(http.TimeFormat))
}

// unchanged evaluates the preconditions of a request (RFC 9110, section 13.2.2): If-None-Match
// decides where there is one, If-Modified-Since only where there is none.
func unchanged(request http.Header, etag string, updated time.Time) bool {
	if known := request.Values("If-None-Match"); len(known) > 0 {
		for candidate := range strings.SplitSeq(strings.Join(known, ","), ",") {
			candidate = strings.TrimSpace(candidate)
			// A proxy that compresses makes the tag weak; the comparison is a weak one.
			if candidate == "*" || strings.TrimPrefix(candidate, "W/") == etag {
				return true
			}
		}
		return false
	}
	since, err := http.ParseTime(request.Get("If-Modified-Since"))
	return err == nil && !updated.Truncate(time.Second).After(since)
}
