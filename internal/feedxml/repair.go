// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedxml

import (
	"cmp"
	"encoding/xml"
	"errors"
	"slices"
	"strings"
)

// maxRepairs is how many broken entries are cut out of one document. Each costs a pass, and all passes of one
// document together read no more than repairBytes: else ten megabytes with an error near their end would take a core for seconds.
const (
	maxRepairs  = 16
	repairBytes = 32 << 20
)

// repairsOf is how many repairs a document is worth, at least one.
func repairsOf(text []byte) int {
	return max(min(maxRepairs, repairBytes/max(len(text), 1)), 1)
}

// Repair makes XML that a parser can read within bounds: with its tags in order, without the entries
// that break it, and without what follows the first MaxEntries. Where the damage is outside of entries,
// or too much for repair, what stands before it is left. It returns nothing when no entry is left, and
// otherwise with the first damage that was found, or an end tag that is missing.
func Repair(text []byte) (repaired []byte, found Outline, damage error) {
	balanced, most := false, repairsOf(text)
	var missing error
	for repairs := 0; ; repairs++ {
		found = outlineOf(text, balanced)
		if !balanced && unbalanced(found.err) {
			text, missing = balance(text)
			balanced = true
			continue
		}
		damage = cmp.Or(damage, found.err)
		if found.err == nil || errors.Is(found.err, errTooLarge) || repairs >= most || !found.repairable() {
			break
		}
		text = slices.Concat(text[:found.broken.from], text[found.broken.to:])
	}
	if damage != nil && found.Entries == 0 {
		return nil, found, damage
	}
	end, closing := int64(len(text)), ""
	if found.err != nil || found.Entries > MaxEntries {
		end, closing = found.whole, found.closing
	}
	return append(edited(text[:end:end], found.edits), closing...), found, cmp.Or(damage, missing)
}

// unbalanced reports whether a pass had to stop for tags that are missing or too many. What is not closed
// makes all that follows seem nested. The decoder itself stops where what is not closed declares a
// namespace, and where an end tag has another prefix.
func unbalanced(err error) bool {
	var syntax *xml.SyntaxError
	return errors.Is(err, errUnbalanced) || errors.Is(err, errTooDeep) || errors.As(err, &syntax) &&
		(strings.HasPrefix(syntax.Msg, "unexpected end element") || strings.HasPrefix(syntax.Msg, "element <"))
}

// repairable reports whether the pass ended inside of an entry that can be cut out.
func (o *Outline) repairable() bool {
	return o.broken.to > o.broken.from
}
