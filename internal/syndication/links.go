// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package syndication

import (
	"net"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// urn names an object for good (RFC 9562, section 4): UIDs of the API server are UUIDs.
func urn(uid types.UID) string { return "urn:uuid:" + strings.ToLower(string(uid)) }

// linkTo returns the URL of a path of this handler as the client sees it. The client's Host is
// believed only as far as it is the name or address of a host; else the link has no host at all.
func (h *handler) linkTo(r *http.Request, path ...string) string {
	if h.options.BaseURL != nil {
		return h.options.BaseURL.JoinPath(path...).String()
	}
	base := &url.URL{Path: "/"}
	if isHost(r.Host) {
		base.Scheme, base.Host = "http", r.Host
		if r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
			base.Scheme = "https"
		}
	}
	return base.JoinPath(path...).String()
}

// isHost reports whether text is a host name or address, with or without a port.
func isHost(text string) bool {
	parsed, err := url.Parse("//" + text)
	if err != nil || parsed.Host != text || parsed.Hostname() == "" {
		return false
	}
	host := parsed.Hostname()
	return net.ParseIP(host) != nil || len(validation.IsDNS1123Subdomain(strings.ToLower(host))) == 0
}

// articleLink returns a link that is safe to hand to a reader: http or https, without credentials.
// It is empty where there is none.
func articleLink(text string) string {
	link := webURL(text)
	if link == nil {
		return ""
	}
	link.User = nil
	return strings.ReplaceAll(link.String(), " ", "%20")
}

// origin returns the front page of the site that a URL belongs to, without the path and query,
// which may hold a token. It is empty where there is none.
func origin(text string) string {
	link := webURL(text)
	if link == nil {
		return ""
	}
	return (&url.URL{Scheme: link.Scheme, Host: link.Host, Path: "/"}).String()
}

// webURL parses an absolute http or https URL, and returns nil for anything else.
func webURL(text string) *url.URL {
	link, err := url.Parse(strings.TrimSpace(text))
	if err != nil || link.Hostname() == "" || (link.Scheme != "http" && link.Scheme != "https") {
		return nil
	}
	return link
}
