// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pdftext

import (
	"bytes"
	"io"
	"slices"
	"strconv"
)

// file is the objects of a document. They are found by looking through it from its beginning to its
// end, and not by its tables of cross-references: those are wrong in many files that people publish, and
// made to hurt in some. Of two definitions of an object the later one counts, as it does in a file
// that was changed by appending to it.
type file struct {
	objects map[int]any
	trailer dict
	budget  *budget
	cipher  *decrypter
	// flate reads all streams, one after the other: what it is made of is larger than most of them.
	flate io.ReadCloser
}

func open(data []byte, b *budget) *file {
	f := &file{objects: map[int]any{}, trailer: dict{}, budget: b}
	var containers []stream // of the other objects, in the order of the file
	lex := &lexer{data: data, budget: b}
	for lex.pos < len(data) {
		at := bytes.IndexAny(data[lex.pos:], "ot") // obj, trailer
		if at < 0 || !b.token() {
			break
		}
		lex.pos += at
		rest := data[lex.pos:]
		switch {
		case bytes.HasPrefix(rest, []byte("trailer")):
			lex.pos += len("trailer")
			if found, ok := lex.object(maxDepth).(dict); ok {
				f.addTrailer(found)
			}
		case bytes.HasPrefix(rest, []byte("obj")):
			id, ok := idBefore(data[:lex.pos])
			lex.pos += len("obj")
			if !ok {
				continue
			}
			value := lex.definition(id)
			f.objects[id.number] = value
			if found, ok := value.(stream); ok {
				switch found.dict["Type"] {
				case name("XRef"):
					f.addTrailer(found.dict)
				case name("ObjStm"):
					containers = append(containers, found)
				}
			}
		default:
			lex.pos++
		}
	}
	f.cipher = newDecrypter(f)
	for _, container := range containers {
		f.unpack(container)
	}
	return f
}

// addTrailer takes what a trailer says. The last that says it counts.
func (f *file) addTrailer(found dict) {
	for _, key := range []name{"Root", "Encrypt", "ID"} {
		if value, ok := found[key]; ok {
			f.trailer[key] = value
		}
	}
}

// idBefore reads the two numbers at the end of what is before "obj".
func idBefore(data []byte) (ref, bool) {
	data = data[max(0, len(data)-32):]
	if len(data) == 0 || !isSpace(data[len(data)-1]) {
		return ref{}, false
	}
	before, last := lastWord(data)
	generation, err := strconv.ParseUint(string(last), 10, 16)
	if err != nil {
		return ref{}, false
	}
	_, digits := lastWord(before) // it may follow upon something else
	start := len(digits)
	for start > 0 && digits[start-1] >= '0' && digits[start-1] <= '9' {
		start--
	}
	number, err := strconv.ParseUint(string(digits[start:]), 10, 31)
	if err != nil {
		return ref{}, false
	}
	return ref{int(number), int(generation)}, true
}

// lastWord returns the last word, and what is before it.
func lastWord(data []byte) (before, word []byte) {
	until := len(data)
	for until > 0 && isSpace(data[until-1]) {
		until--
	}
	from := until
	for from > 0 && !isSpace(data[from-1]) {
		from--
	}
	return data[:from], data[from:until]
}

// unpack adds the objects that a stream is made of (ISO 32000-1, 7.5.7). One that is defined outside
// of it as well was changed later.
func (f *file) unpack(container stream) {
	count, _ := f.number(container.dict["N"])
	first, _ := f.number(container.dict["First"])
	data := f.decode(container)
	if count < 1 || first < 0 || first > float64(len(data)) {
		return
	}
	head := &lexer{data: data[:int(first)], budget: f.budget}
	for range int(min(count, maxTokens)) {
		number, ok := head.next().(float64)
		offset, ok2 := head.next().(float64)
		if !ok || !ok2 || number < 0 || offset < 0 || first+offset > float64(len(data)) {
			return
		}
		if _, outside := f.objects[int(number)]; outside && !f.isContained(int(number)) {
			continue
		}
		body := &lexer{data: data, pos: int(first + offset), budget: f.budget}
		f.objects[int(number)] = contained{body.object(maxDepth)}
		f.budget.spend((body.pos - int(first+offset)) / bytesPerToken) // objects may be within each other
	}
}

// contained is an object out of a stream of objects.
type contained struct{ value any }

func (f *file) isContained(number int) bool {
	_, ok := f.objects[number].(contained)
	return ok
}

// resolve follows references, a few of them.
func (f *file) resolve(value any) any {
	for range maxDepth {
		at, ok := value.(ref)
		if !ok {
			return value
		}
		value = f.objects[at.number]
		if inner, ok := value.(contained); ok {
			value = inner.value
		}
	}
	return nil
}

func (f *file) number(value any) (float64, bool) {
	found, ok := f.resolve(value).(float64)
	return found, ok
}

func (f *file) name(value any) name {
	found, _ := f.resolve(value).(name)
	return found
}

// dict returns a dictionary, also that of a stream; nil where there is none.
func (f *file) dict(value any) dict {
	switch found := f.resolve(value).(type) {
	case dict:
		return found
	case stream:
		return found.dict
	}
	return nil
}

// list returns the elements of an array, or the object itself as the only one.
func (f *file) list(value any) array {
	switch found := f.resolve(value).(type) {
	case nil:
		return nil
	case array:
		return found
	default:
		return array{value}
	}
}

// pages returns the dictionaries of the pages in their order, with what they inherit. Where the tree
// of pages cannot be followed, they are taken in the order of their numbers.
func (f *file) pages() []dict {
	var found []dict
	visited := map[int]bool{}
	var walk func(node any, inherited any, depth int)
	walk = func(node any, inherited any, depth int) {
		if at, ok := node.(ref); ok {
			if visited[at.number] {
				return
			}
			visited[at.number] = true
		}
		this := f.dict(node)
		if this == nil || depth == 0 || len(found) >= maxPages || !f.budget.token() {
			return
		}
		f.budget.spend(nodeCost)
		if own, ok := this[keyResources]; ok {
			inherited = own
		}
		if kids, ok := f.resolve(this["Kids"]).(array); ok {
			for _, kid := range kids {
				if !f.budget.token() {
					return
				}
				walk(kid, inherited, depth-1)
			}
			return
		}
		if _, ok := this[keyContents]; ok || f.name(this["Type"]) == "Page" {
			found = append(found, dict{keyResources: inherited, keyContents: this[keyContents]})
		}
	}
	walk(f.dict(f.trailer["Root"])["Pages"], nil, maxDepth)
	if len(found) > 0 {
		return found
	}
	numbers := make([]int, 0, len(f.objects))
	for number := range f.objects {
		numbers = append(numbers, number)
	}
	slices.Sort(numbers)
	for _, number := range numbers {
		if this := f.dict(ref{number: number}); this != nil && f.name(this["Type"]) == "Page" {
			walk(ref{number: number}, f.dict(this["Parent"])[keyResources], 1)
		}
	}
	return found
}
