// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package phrases

import (
	"regexp"
	"strings"
)

// Set is some of the lists of a Vocabulary, each by one bit.
type Set uint32

// Has reports whether one of the lists is in both sets.
func (s Set) Has(lists Set) bool { return s&lists != 0 }

// Vocabulary finds which of its lists, at most 32, have a phrase in a text. One pass over the text finds them all. It is filled first,
// while a program starts, and then used by many goroutines at a time.
type Vocabulary struct {
	lists int
	// long are the phrases by their first three bytes, short are those that have less, by their last one.
	long  map[uint32][]entry
	short [256][]entry
	// begins has a bit for each three bytes that a long phrase begins with, at bitOf them. It says of nearly all places in a text that
	// no phrase is there, sooner than the map does.
	begins [1 << (bitsOfBegins - 6)]uint64
}

// bitsOfBegins makes 8 KiB of Vocabulary.begins, which the cache next to a processor has room for beside the text.
const bitsOfBegins = 16

// bitOf spreads three bytes over the bits (D. E. Knuth's multiplicative hashing).
func bitOf(three uint32) (word, bit uint32) {
	const golden = 0x9e3779b1 // 2^32 by the golden ratio
	hash := three * golden >> (32 - bitsOfBegins)
	return hash / 64, hash % 64
}

type entry struct {
	phrase  string
	list    Set
	asWords bool // found as List.In finds them
}

// Words adds phrases in small letters, with "|" between them, which are found as List.In finds them.
func (v *Vocabulary) Words(all string) Set { return v.add(all, true) }

// Pieces adds phrases that are found within words as well.
func (v *Vocabulary) Pieces(all string) Set { return v.add(all, false) }

func (v *Vocabulary) add(all string, asWords bool) Set {
	if v.long == nil {
		v.long = map[uint32][]entry{}
	}
	list := Set(1) << v.lists
	v.lists++
	for _, phrase := range Parse(all) {
		e := entry{phrase, list, asWords}
		if len(phrase) < 3 {
			last := phrase[len(phrase)-1]
			v.short[last] = append(v.short[last], e)
			continue
		}
		begin := uint32(phrase[0])<<16 | uint32(phrase[1])<<8 | uint32(phrase[2])
		v.long[begin] = append(v.long[begin], e)
		word, bit := bitOf(begin)
		v.begins[word] |= 1 << bit
	}
	return list
}

// Find returns the lists that have a phrase in a text in small letters.
func (v *Vocabulary) Find(lower string) (found Set) {
	last := uint32(0) // three bytes
	for i := range len(lower) {
		last = last<<8&0xffffff | uint32(lower[i])
		if word, bit := bitOf(last); v.begins[word]>>bit&1 == 1 {
			for _, e := range v.long[last] {
				if !found.Has(e.list) && strings.HasPrefix(lower[i-2:], e.phrase) && e.isIn(lower) {
					found |= e.list
				}
			}
		}
		for _, e := range v.short[lower[i]] {
			if !found.Has(e.list) && strings.HasSuffix(lower[:i+1], e.phrase) && e.isIn(lower) {
				found |= e.list
			}
		}
	}
	return found
}

// isIn reports whether a phrase that stands in a text counts.
func (e entry) isIn(lower string) bool { return !e.asWords || List{e.phrase}.In(lower) }

// Guarded is an expression that is tried only on texts with one of its pieces.
type Guarded struct {
	Expression *regexp.Regexp
	pieces     Set
}

// Guard makes one. Each alternative of the expression needs one of the pieces, in small letters, to match.
func (v *Vocabulary) Guard(expression *regexp.Regexp, pieces string) Guarded {
	return Guarded{expression, v.Pieces(pieces)}
}

// In reports whether the expression matches a text, in which Find has found some lists.
func (g Guarded) In(text string, found Set) bool {
	return found.Has(g.pieces) && g.Expression.MatchString(text)
}
