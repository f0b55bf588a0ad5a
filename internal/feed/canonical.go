// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"net/url"
	"strings"
)

// tracking lists the query parameters that say how a reader came to a page, not which page it is.
var tracking = map[string]bool{
	"fbclid": true, "gclid": true, "gclsrc": true, "dclid": true, "gbraid": true, "wbraid": true, "msclkid": true,
	"yclid": true, "ysclid": true, "twclid": true, "ttclid": true, "li_fat_id": true, "igshid": true, "igsh": true,
	"mc_cid": true, "mc_eid": true, "_ga": true, "_gl": true, "_hsenc": true, "_hsmi": true, "mkt_tok": true,
	"oly_anon_id": true, "oly_enc_id": true, "vero_id": true, "ref_src": true, "ref_url": true,
}

// CanonicalURL returns the form in which two URLs of one page are equal: without scheme, user info
// and default port, the host in lower case, without tracking parameters. Path, fragment and the
// order of the other parameters are kept. What is no URL with a host is returned as it is.
func CanonicalURL(raw string) string {
	raw = strings.TrimSpace(raw)
	parsed, err := url.Parse(raw)
	if err != nil || parsed.Host == "" || parsed.Opaque != "" {
		return raw
	}
	host := strings.ToLower(parsed.Host)
	switch parsed.Scheme {
	case "http":
		host = strings.TrimSuffix(host, ":80")
	case "https":
		host = strings.TrimSuffix(host, ":443")
	}
	if strings.Contains(host, "%") { // parsing has taken its escapes away, and would take more
		host = strings.TrimPrefix((&url.URL{Host: host}).String(), "//")
	}
	path := parsed.EscapedPath()
	if path == "" {
		path = "/"
	}
	var parameters []string
	for parameter := range strings.SplitSeq(escapeQuery(parsed.RawQuery), "&") {
		name, _, _ := strings.Cut(parameter, "=")
		name = strings.ToLower(name)
		if parameter != "" && !tracking[name] && !strings.HasPrefix(name, "utm_") {
			parameters = append(parameters, parameter)
		}
	}
	canonical := "//" + host + path
	if len(parameters) > 0 {
		canonical += "?" + strings.Join(parameters, "&")
	}
	if parsed.Fragment != "" {
		canonical += "#" + parsed.EscapedFragment()
	}
	return canonical
}
