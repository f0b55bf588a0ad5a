// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"net/url"
	"strings"
	"unicode/utf8"
)

// A resolver makes links absolute.
type resolver struct{ base *url.URL }

// newResolver takes the URL that links are relative to. User info and query of it are not passed
// on to links: they may be credentials of the feed.
func newResolver(base string) resolver {
	parsed, err := url.Parse(base)
	if err != nil || !parsed.IsAbs() {
		return resolver{}
	}
	parsed.User, parsed.RawQuery, parsed.Fragment = nil, "", ""
	return resolver{base: parsed}
}

// withoutBreaks joins a link that was wrapped.
var withoutBreaks = strings.NewReplacer("\n", "", "\r", "", "\t", "")

// resolve returns the link as an absolute http or https URL without user info, and nothing for
// any other link or one that is longer than an item can hold.
func (r resolver) resolve(link string) string {
	link = withoutBreaks.Replace(strings.TrimSpace(link))
	if link == "" {
		return ""
	}
	if len(link) > 4 && strings.EqualFold(link[:4], "www.") {
		link = "//" + link // the scheme was forgotten
	}
	parsed, err := url.Parse(link)
	if err != nil {
		if parsed, err = url.Parse(escapePercents(link)); err != nil {
			return ""
		}
	}
	if !parsed.IsAbs() && r.base != nil {
		parsed = r.base.ResolveReference(parsed)
	}
	if parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Hostname() == "" {
		return ""
	}
	parsed.User = nil
	parsed.RawQuery = escapeQuery(parsed.RawQuery)
	address := parsed.String()
	if len(address) > maxURL || !utf8.ValidString(address) {
		return ""
	}
	return address
}

// escapeQuery escapes what must not stand in a request line and leaves all else as it is.
func escapeQuery(query string) string {
	const hex = "0123456789ABCDEF"
	var escaped strings.Builder
	for _, b := range []byte(query) {
		if b <= ' ' || b >= 0x7F || b == '"' || b == '<' || b == '>' {
			escaped.Write([]byte{'%', hex[b>>4], hex[b&15]})
			continue
		}
		escaped.WriteByte(b)
	}
	return escaped.String()
}

// escapePercents escapes the percent signs that begin no escape.
func escapePercents(link string) string {
	var escaped strings.Builder
	for i := range len(link) {
		escaped.WriteByte(link[i])
		if link[i] == '%' && !(i+2 < len(link) && isHex(link[i+1]) && isHex(link[i+2])) {
			escaped.WriteString("25")
		}
	}
	return escaped.String()
}

func isHex(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'f' || b >= 'A' && b <= 'F'
}
