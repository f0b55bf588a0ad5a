// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"bytes"
	"mime"
	"net/http"
	"strings"

	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/outbound/parcel"
)

// maxRefusalBytes of an answer that is no success are looked at. Pages that check for a browser are
// small, or say so at their beginning.
const maxRefusalBytes = 64 << 10

// cloudflare makes most of them. The names of the services are in the form in which they are shown.
const cloudflare = " (Cloudflare)"

// refusal is for an answer that is neither a success nor a redirect. Many sites put a page in front
// of their feeds that only a browser gets past; a person cannot tell from the status alone that
// the operator was taken for a robot, which it is.
func (c *Client) refusal(at target, answer *http.Response) *failure.Error {
	guard, is := challengeBy(answer.Header)
	if is || !mayBeChallenge(answer) {
		discard(answer.Body)
	} else {
		guard, is = challengeIn(beginningOf(answer))
	}
	if is {
		return c.challengeFailure(at, answer, guard)
	}
	return c.statusFailure(at, answer)
}

// challengeBy finds a challenge by what the services that make them say in headers, and names the
// service.
func challengeBy(header http.Header) (guard string, is bool) {
	said := func(name string, values ...string) bool {
		for _, value := range values {
			if strings.EqualFold(strings.TrimSpace(header.Get(name)), value) {
				return true
			}
		}
		return false
	}
	switch {
	case said("Cf-Mitigated", "challenge"):
		return cloudflare, true
	case said("X-Amzn-Waf-Action", "challenge", "captcha"):
		return " (AWS WAF)", true
	case said("X-Vercel-Mitigated", "challenge"):
		return " (Vercel)", true
	}
	return "", false
}

// mayBeChallenge reports whether the page of an answer is worth a look: where it is what challenges are sent
// with.
func mayBeChallenge(answer *http.Response) bool {
	switch answer.StatusCode {
	case http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusTooManyRequests, http.StatusServiceUnavailable:
	default:
		return false
	}
	kind, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	return err != nil || kind == "text/html" || kind == "application/xhtml+xml"
}

// beginningOf returns what is there of a page, decompressed: that it breaks off matters not.
func beginningOf(answer *http.Response) []byte {
	decoded, err := parcel.Decompressed(answer, maxRefusalBytes)
	if err != nil {
		return nil
	}
	page := make([]byte, 0, maxRefusalBytes)
	for len(page) < cap(page) {
		n, err := decoded.Read(page[len(page):cap(page)])
		page = page[:len(page)+n]
		if err != nil {
			break
		}
	}
	return page
}

// marks are what stands in pages that check for a browser. They are those of the services' own scripts
// and addresses, and then of their words.
var marks = []struct{ mark, guard string }{
	{"/cdn-cgi/challenge-platform/", cloudflare},
	{"_cf_chl_opt", cloudflare},
	{"<title>attention required! | cloudflare", cloudflare},
	{"<title>just a moment...", cloudflare},
	{"/_sec/cp_challenge", " (Akamai)"},
	{"sec-if-cpt-container", " (Akamai)"},
	{"errors.edgesuite.net", " (Akamai)"},
	{"captcha-delivery.com", " (DataDome)"},
	{"_incapsula_resource", " (Imperva)"},
	{"sucuri website firewall", " (Sucuri)"},
	{"px-captcha", " (HUMAN)"},
	{".awswaf.com/", " (AWS WAF)"},
	{"/.well-known/ddos-guard/", " (DDoS-Guard)"},
	{"/.within.website/x/cmd/anubis", " (Anubis)"},
	{"<title>vercel security checkpoint", " (Vercel)"},
	{"are you human", ""},
	{"are you a robot", ""},
	{"you are not a robot", ""},
	{"you're not a bot", ""},
	{"you are human", ""},
	{"checking your browser", ""},
}

// challengeIn finds a challenge by its page, and names the service.
func challengeIn(page []byte) (guard string, is bool) {
	page = bytes.ToLower(page)
	for _, known := range marks {
		if bytes.Contains(page, []byte(known.mark)) {
			return known.guard, true
		}
	}
	return "", false
}
