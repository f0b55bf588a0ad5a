// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedxml

import "strings"

// rss11 is the namespace of RSS 1.1 (http://inamidst.com/rss1.1/), less the hash at its end.
const rss11 = "http://purl.org/net/rss1.1"

// IsRSS11 reports whether the document is RSS 1.1, as it is written or after FromRSS11. CDF, which has a root
// of the same name, has no namespace.
func (o *Outline) IsRSS11() bool { return strings.TrimSuffix(o.space, "#") == rss11 }

// FromRSS11 writes RSS 1.1 as RSS 1.0, of which it is the successor and which the parser knows: the root
// is not the channel but around it, and there is no list around the entries.
func FromRSS11(text []byte) []byte {
	b := balancer{text: text}
	root, prefix := "", ""
	walkTags(text, maxDepth, func(name string, start bool, at span) int {
		switch {
		case root == "":
			root = name
			if before, _, prefixed := strings.Cut(name, ":"); prefixed {
				prefix = before + ":"
			}
			nameAt := at.from + 1
			b.put(span{nameAt, nameAt + int64(len(name))}, prefix+"RDF")
			if text[at.to-2] != '/' {
				b.put(span{at.to, at.to}, "<"+prefix+"channel>")
			}
		case at.from == at.to: // the end of what is empty
		case name == root && !start:
			b.put(at, "</"+prefix+"channel></"+prefix+"RDF>")
		case name == prefix+"items" && text[at.to-2] != '/':
			b.put(at, "")
		}
		return 0
	})
	return append(b.balanced, text[b.copied:]...)
}
