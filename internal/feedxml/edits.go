// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedxml

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"slices"
	"strings"
)

// An edit puts another text, or nothing, in the place of a part of the document.
type edit struct {
	span

	text string
}

// edited makes the edits. Of those that overlap the first counts; what lies behind the end of the
// text is left out.
func edited(text []byte, edits []edit) []byte {
	if len(edits) == 0 {
		return text
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	result := make([]byte, 0, len(text)+len(text)/8)
	at := int64(0)
	for _, e := range edits {
		if e.from > int64(len(text)) {
			break
		}
		if e.from >= at {
			result = append(append(result, text[at:e.from]...), e.text...)
		}
		at = max(at, e.to)
	}
	if at < int64(len(text)) {
		result = append(result, text[at:]...)
	}
	return result
}

// identify makes a GUID of what RSS 1.0 has for it, rdf:about, of which the parser knows nothing.
func (s *scanner) identify(start xml.StartElement, e element, at span) {
	if s.Kind != KindRDF || e.role != roleEntry || s.text[at.to-2] == '/' {
		return
	}
	for _, attribute := range start.Attr {
		if !strings.EqualFold(attribute.Name.Local, "about") || attribute.Value == "" {
			continue
		}
		guid := "guid"
		if prefix, _, ok := strings.Cut(e.name, ":"); ok {
			guid = prefix + ":guid"
		}
		var value bytes.Buffer
		if xml.EscapeText(&value, []byte(attribute.Value)) == nil {
			s.edits = append(s.edits, edit{span{at.to, at.to}, "<" + guid + ">" + value.String() + "</" + guid + ">"})
		}
		return
	}
}

// spellNamespace corrects the namespace of Atom where it is nearly right. The parser compares it
// by the letter.
func (s *scanner) spellNamespace(root span) {
	if slices.Contains(nativeAtom, s.rootSpace) || !strings.Contains(strings.ToLower(s.rootSpace), "atom") {
		return
	}
	if at := bytes.Index(s.text[root.from:root.to], []byte(s.rootSpace)); at >= 0 {
		from := root.from + int64(at)
		s.edits = append(s.edits, edit{span{from, from + int64(len(s.rootSpace))}, nativeAtom[1]})
	}
}
