// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

const (
	// window is how many bytes of a text are looked up at once: no form of a secret is shorter.
	window = 8
	// maxValues bounds the memory that secrets take: a few megabytes when all of them are there.
	maxValues = 4096
	// longestValue is that of a header that servers take.
	longestValue = 8 << 10
	// shortestTail is the least of a secret at the end of a text that was cut that is worth hiding.
	shortestTail = 12
)

// set is what is known of secrets. A text is looked through once, whatever their number: the eight
// bytes at each place are looked up among the beginnings of all forms of all secrets, behind a
// filter that says for nearly all places that there is nothing.
type set struct {
	mu    sync.RWMutex
	most  int
	clock uint64
	// values are the secrets, with the time of the set's own clock at which each was remembered last.
	values map[string]uint64
	// forms of the values, with how many values have each.
	forms map[string]int
	// starts are the forms by their first bytes.
	starts map[uint64][]string
	filter filter
}

func newSet(most int) *set {
	return &set{most: most, values: map[string]uint64{}, forms: map[string]int{}, starts: map[uint64][]string{}}
}

func (s *set) remember(value string) {
	value = strings.TrimSpace(value)
	// What the mask itself holds cannot be hidden by it.
	const masks = Masked + Masked
	if len(value) < window || len(value) > longestValue || strings.Contains(masks, value) || IsMasked(value) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock++
	_, known := s.values[value]
	if s.values[value] = s.clock; known {
		return
	}
	for _, form := range formsOf(value) {
		if s.forms[form]++; s.forms[form] > 1 {
			continue
		}
		start := startOf(form)
		s.filter.add(start)
		// The longest first, so that a secret that begins with another one is hidden as a whole.
		at, _ := slices.BinarySearchFunc(s.starts[start], form, longer)
		s.starts[start] = slices.Insert(s.starts[start], at, form)
	}
	if len(s.values) > s.most {
		s.forgetOldest()
	}
}

// longer orders by length, the longest first.
func longer(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) }

// forgetOldest makes room, for several at once because it is not cheap.
func (s *set) forgetOldest() {
	oldest := make([]string, 0, len(s.values))
	for value := range s.values {
		oldest = append(oldest, value)
	}
	slices.SortFunc(oldest, func(a, b string) int { return cmp.Compare(s.values[a], s.values[b]) })
	for _, value := range oldest[:len(oldest)-s.most+s.most/16] {
		delete(s.values, value)
		for _, form := range formsOf(value) {
			if s.forms[form]--; s.forms[form] == 0 {
				delete(s.forms, form)
			}
		}
	}
	s.filter = filter{}
	for start, forms := range s.starts {
		forms = slices.DeleteFunc(forms, func(form string) bool { return s.forms[form] == 0 })
		if len(forms) == 0 {
			delete(s.starts, start)
			continue
		}
		s.starts[start] = forms
		s.filter.add(start)
	}
}

// mask hides what is known in a text. What was masked before is left as it is.
func (s *set) mask(text string) string {
	if len(text) < window {
		return text
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if len(s.values) == 0 {
		return text
	}
	var hidden []span
	for from := 0; ; {
		part, _, more := strings.Cut(text[from:], Masked)
		hidden = s.find(hidden, part, from, !more)
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
		out.WriteString(text[written:secret.from] + Masked)
		written = secret.to
	}
	out.WriteString(text[written:])
	return out.String()
}

// span is a stretch of a text that is to be hidden.
type span struct{ from, to int }

// find adds the secrets in a part of a text, which begins at an offset; those that overlap as one.
// Last is set for the part that ends with the text.
func (s *set) find(hidden []span, part string, offset int, last bool) []span {
	first := len(hidden)
	var start uint64
	for i := range len(part) {
		start = start<<8 | uint64(part[i])
		if i < window-1 || !s.filter.has(start) {
			continue
		}
		from := i - window + 1
		secret := span{offset + from, offset + from + s.lengthAt(s.starts[start], part[from:], last)}
		switch {
		case secret.to == secret.from:
		case len(hidden) > first && secret.from < hidden[len(hidden)-1].to:
			hidden[len(hidden)-1].to = max(hidden[len(hidden)-1].to, secret.to)
		default:
			hidden = append(hidden, secret)
		}
	}
	return hidden
}

// lengthAt returns how long the secret is with which a text begins; 0 where it begins with none.
func (s *set) lengthAt(forms []string, text string, last bool) int {
	whole := 0
	for i, length := 0, -1; i < len(forms) && whole == 0; i++ {
		if len(forms[i]) == length || len(forms[i]) > len(text) {
			continue // forms of one length are looked up at once
		}
		if length = len(forms[i]); s.forms[text[:length]] > 0 {
			whole = length
		}
	}
	if len(forms) == 0 {
		return whole
	}
	return max(whole, tailOf(forms, text, last))
}

// tailOf returns how much of a secret there is where a text begins with the beginning of one, and is
// cut then: by its end, if it is the last part, or by an ellipsis.
func tailOf(forms []string, text string, last bool) int {
	tail, _, cut := strings.Cut(text[:min(len(text), len(forms[0])+len(ellipsis))], ellipsis)
	if !cut {
		if !last || len(text) >= len(forms[0])+len(ellipsis) {
			return 0
		}
		tail = strings.TrimRight(text, ".")
	}
	if len(tail) < shortestTail || !slices.ContainsFunc(forms, func(form string) bool { return strings.HasPrefix(form, tail) }) {
		return 0
	}
	return len(tail)
}

// ellipsis marks where a text was cut.
const ellipsis = "…"

// startOf packs the first bytes of a form.
func startOf(form string) uint64 {
	var start uint64
	for i := range window {
		start = start<<8 | uint64(form[i])
	}
	return start
}

// filter says of most starts that no form has them. It is small enough for the processor's nearest
// cache.
type filter [1 << 10]uint64

func (f *filter) add(start uint64) {
	word, bit := place(start)
	f[word] |= bit
}

func (f *filter) has(start uint64) bool {
	word, bit := place(start)
	return f[word]&bit != 0
}

// place is where a start is noted: by the upper bits of a multiplicative hash (Knuth, TAOCP 6.4).
func place(start uint64) (word, bit uint64) {
	hash := start * 0x9E3779B97F4A7C15 >> 48
	return hash >> 6, 1 << (hash & 63)
}
