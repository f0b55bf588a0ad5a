// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"slices"
	"strings"
)

// window is how many bytes of a text are looked up at once: no form of a secret is shorter.
const window = 8

// matcher finds a fixed number of strings in a text in one pass, whatever their number and whatever
// the text: it is the automaton of Aho and Corasick (CACM 18, 1975) without its upper levels. Each
// byte is met a bounded number of times on average, also where a text is made of nothing but
// beginnings, which a text from outside may be.
//
// The upper levels are a table of the first eight bytes of all strings, behind a filter that says for
// nearly all places of a text that there is nothing. So most of a text costs a nanosecond a byte, and
// the automaton stays small: a node takes fourteen bytes.
//
// It does not change once it is made.
type matcher struct {
	filter filter
	// starts are the nodes for the first eight bytes of a string.
	starts map[uint64]int32
	// label is the byte that leads from a node to the one that was made right after it, where the node is
	// chained; it is so for nearly all. Further ways from a node are in branches, where it is branched.
	label    []byte
	ways     []ways
	branches map[branch]int32
	// fail is the node of the longest proper suffix of what led to a node, 0 where none has one.
	fail []int32
	// longest is the length of the longest string that ends at a node, 0 where none does.
	longest []int32
	// depth is the length of what leads to a node.
	depth []int32
}

type branch struct {
	node int32
	by   byte
}

// ways are where the ways from a node are noted.
type ways uint8

const (
	chained ways = 1 << iota
	branched
)

// root is no place in any string: the next eight bytes decide.
const root = 0

// newMatcher makes a matcher of strings, each of eight bytes at least.
func newMatcher(strings []string) *matcher {
	m := &matcher{starts: map[uint64]int32{}, branches: map[branch]int32{}}
	m.addNode(0)
	for _, text := range strings {
		m.add(text)
	}
	m.link()
	m.filter = newFilter(len(m.starts))
	for start := range m.starts {
		m.filter.add(start)
	}
	return m
}

// addNode adds the node that is led to by a number of bytes. All numbers are far below what an int32 holds: the callers
// bound what they remember.
func (m *matcher) addNode(depth int) int32 {
	m.label, m.ways, m.longest = append(m.label, 0), append(m.ways, 0), append(m.longest, 0)
	m.depth = append(m.depth, int32(depth)) //nolint:gosec // see above
	return int32(len(m.label) - 1)          //nolint:gosec // see above
}

// add makes the nodes of a string.
func (m *matcher) add(text string) {
	node, known := m.starts[startOf(text)]
	if !known {
		node = m.addNode(window)
		m.starts[startOf(text)] = node
	}
	for i := window; i < len(text); i++ {
		next := m.next(node, text[i])
		if next == root {
			next = m.addNode(i + 1)
			if next == node+1 {
				m.ways[node] |= chained
				m.label[node] = text[i]
			} else {
				m.ways[node] |= branched
				m.branches[branch{node, text[i]}] = next
			}
		}
		node = next
	}
	m.longest[node] = m.depth[node]
}

// next returns the node that a byte leads to, or root where it leads nowhere.
func (m *matcher) next(node int32, by byte) int32 {
	switch ways := m.ways[node]; {
	case ways&chained != 0 && m.label[node] == by:
		return node + 1
	case ways&branched != 0:
		return m.branches[branch{node, by}]
	}
	return root
}

// link finds the suffixes, those of short beginnings before those of longer ones.
func (m *matcher) link() {
	type edge struct {
		parent int32
		by     byte
	}
	size := len(m.label)
	m.fail = make([]int32, size)
	into, last := make([]edge, size), make([]uint64, size) // the way to a node, and its last eight bytes
	for node := range size {
		if m.ways[node]&chained != 0 {
			into[node+1] = edge{int32(node), m.label[node]}
		}
	}
	for way, node := range m.branches {
		into[node] = edge{way.node, way.by}
	}
	for start, node := range m.starts {
		last[node] = start
	}
	for _, node := range byDepth(m.depth) {
		if m.depth[node] <= window {
			continue // its suffixes are shorter than any start
		}
		way := into[node]
		last[node] = last[way.parent]<<8 | uint64(way.by)
		suffix := m.fail[way.parent]
		for suffix != root && m.next(suffix, way.by) == root {
			suffix = m.fail[suffix]
		}
		if suffix != root {
			suffix = m.next(suffix, way.by)
		} else {
			suffix = m.starts[last[node]]
		}
		m.fail[node] = suffix
		m.longest[node] = max(m.longest[node], m.longest[suffix])
	}
}

// byDepth returns the nodes in the order of their depths.
func byDepth(depths []int32) []int32 {
	places := make([]int32, slices.Max(depths)+2)
	for _, depth := range depths {
		places[depth+1]++
	}
	for depth := 1; depth < len(places); depth++ {
		places[depth] += places[depth-1]
	}
	order := make([]int32, len(depths))
	for node, depth := range depths {
		order[places[depth]] = int32(node)
		places[depth]++
	}
	return order
}

// span is a stretch of a text that is to be hidden.
type span struct{ from, to int }

// find adds the places of all strings in a part of a text, which begins at an offset, to those that were found
// before it. What overlaps is one. Begun is the length of the longest beginning of a string that the part ends with, of
// eight bytes at least, or 0.
func (m *matcher) find(hidden []span, part string, offset int) (found []span, begun int) {
	first := len(hidden)
	for at := 0; ; {
		node, after := m.begin(part, at)
		if node == root {
			return hidden, 0
		}
		for at = after; ; at++ {
			if length := int(m.longest[node]); length > 0 {
				hidden = cover(hidden, first, span{offset + at - length, offset + at})
			}
			if at == len(part) {
				return hidden, int(m.depth[node])
			}
			for next := m.next(node, part[at]); ; next = m.next(node, part[at]) {
				if next != root {
					node = next
					break
				}
				if node = m.fail[node]; node == root {
					break
				}
			}
			if node == root {
				break
			}
		}
		at -= window - 1 // whatever begins before has been followed
	}
}

// begin returns the first node that a text leads to from a place on, and the place after its eight bytes.
func (m *matcher) begin(text string, from int) (node int32, after int) {
	var start uint64
	for i := from; i < len(text); i++ {
		start = start<<8 | uint64(text[i])
		if i-from < window-1 || !m.filter.has(start) {
			continue
		}
		if node := m.starts[start]; node != root {
			return node, i + 1
		}
	}
	return root, len(text)
}

// cover adds a stretch to those from first on, which are in order; those that overlap become one.
func cover(hidden []span, first int, more span) []span {
	for len(hidden) > first {
		last := hidden[len(hidden)-1]
		if last.to <= more.from {
			break
		}
		more.from, more.to = min(more.from, last.from), max(more.to, last.to)
		hidden = hidden[:len(hidden)-1]
	}
	return append(hidden, more)
}

// mask hides what any of some matchers finds in a text, also the beginning of such a thing at the end of a text that
// was cut. What was masked before is left as it is.
func mask(text string, wasCut bool, matchers ...*matcher) string {
	if len(text) < window || len(matchers) == 0 {
		return text
	}
	var hidden []span
	for from := 0; ; {
		part, _, more := strings.Cut(text[from:], Masked)
		before := len(hidden)
		for _, m := range matchers {
			first, begun := len(hidden), 0
			if hidden, begun = m.find(hidden, part, from); wasCut && !more && begun > 0 {
				end := from + len(part)
				hidden = cover(hidden, first, span{end - begun, end})
			}
		}
		if len(matchers) > 1 {
			hidden = inOrder(hidden, before)
		}
		if !more {
			break
		}
		from += len(part) + len(Masked)
	}
	if len(hidden) == 0 {
		return text
	}
	var out strings.Builder
	written := 0
	for _, secret := range hidden {
		out.WriteString(text[written:secret.from])
		out.WriteString(Masked)
		written = secret.to
	}
	out.WriteString(text[written:])
	return out.String()
}

// inOrder sorts the stretches from first on, and makes one of those that overlap.
func inOrder(hidden []span, first int) []span {
	found := slices.Clone(hidden[first:])
	slices.SortFunc(found, func(a, b span) int { return a.to - b.to })
	hidden = hidden[:first]
	for _, stretch := range found {
		hidden = cover(hidden, first, stretch)
	}
	return hidden
}

// startOf packs the first bytes of a string.
func startOf(text string) uint64 {
	var start uint64
	for i := range window {
		start = start<<8 | uint64(text[i])
	}
	return start
}

// filter says of most starts that nothing begins with them.
type filter struct {
	bits  []uint64
	shift uint // of a hash, so that it is a place in bits
}

// newFilter makes a filter for some starts. With sixteen bits for each, one place of sixteen is taken at most.
func newFilter(starts int) filter {
	const perStart, smallest = 16, 10
	size := uint(smallest) // as a power of two, in bits
	for 1<<size < starts*perStart {
		size++
	}
	return filter{bits: make([]uint64, 1<<size/64), shift: 64 - size}
}

func (f *filter) add(start uint64) {
	at := f.place(start)
	f.bits[at/64] |= 1 << (at % 64)
}

func (f *filter) has(start uint64) bool {
	at := f.place(start)
	return f.bits[at/64]&(1<<(at%64)) != 0
}

// place is where a start is noted: by the upper bits of a multiplicative hash (Knuth, TAOCP 6.4).
func (f *filter) place(start uint64) uint64 { return start * 0x9E3779B97F4A7C15 >> f.shift }
