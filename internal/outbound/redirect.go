// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"fmt"
	"net/http"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
)

const maxRedirects = 10

// trail is the way of one exchange over its redirects. They are followed here and not by
// http.Client, which sends the caller's headers on to other hosts.
type trail struct {
	start, at target
	// home is set if the exchange has never left the origin that it began at.
	home bool
	// permanent is set if each redirect so far was permanent.
	permanent bool
	visited   map[string]struct{}
}

func newTrail(start target) *trail {
	return &trail{
		start: start, at: start, home: true, permanent: true,
		visited: map[string]struct{}{start.String(): {}},
	}
}

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
		return true
	}
	return false
}

// follow moves the trail to where a redirect points.
func (t *trail) follow(answer *http.Response, requireTLS bool) error {
	from := t.at.url.Host
	location := answer.Header.Get("Location")
	if location == "" {
		return redirectFailure(answer, fmt.Sprintf("%s answered with a redirect that does not say where to.", from))
	}
	next, err := t.at.follow(location)
	if err != nil {
		return redirectFailure(answer, fmt.Sprintf("%s redirects to a URL that cannot be followed: %v.", from, err))
	}
	if requireTLS && next.url.Scheme == "http" {
		return redirectFailure(answer, fmt.Sprintf("%s redirects to an address that cannot be used. %s", from, plainHTTP(next)))
	}
	if _, seen := t.visited[next.String()]; seen {
		return redirectFailure(answer, fmt.Sprintf("%s redirects in a circle: after %s it leads back to where it was, at %s.",
			t.start.url.Host, counted(len(t.visited)), next.url.Host))
	}
	if len(t.visited) > maxRedirects {
		return redirectFailure(answer, fmt.Sprintf("%s redirects more than %d times, the last time to %s.",
			t.start.url.Host, maxRedirects, next.url.Host))
	}
	t.visited[next.String()] = struct{}{}
	t.at = next
	t.home = t.home && next.origin() == t.start.origin()
	t.permanent = t.permanent &&
		(answer.StatusCode == http.StatusMovedPermanently || answer.StatusCode == http.StatusPermanentRedirect)
	return nil
}

func counted(count int) string {
	if count == 1 {
		return "one redirect"
	}
	return fmt.Sprintf("%d redirects", count)
}

// movedTo returns where the trail has led, when it was permanent and led somewhere.
func (t *trail) movedTo() string {
	if len(t.visited) == 1 || !t.permanent {
		return ""
	}
	return t.at.String()
}

func redirectFailure(answer *http.Response, message string) error {
	failed := failure.New(v1alpha1.CategoryValidation, failure.TypeRedirect, message)
	failed.Status = answer.StatusCode
	return failed
}
