// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apibare

// deepest is how many objects and lists deep an answer is read: no kind of the operator is as deep, by its schema. Managed fields are as deep as whoever
// may edit an object wants, up to the 10,000 that the API server reads. In a list or an event they stand deeper than that, and every reader of JSON gives
// up there: one object would end the lists and watches of all.
const deepest = 100

// flattener puts a 0 in the place of what is deeper, whatever the parts are in which JSON comes.
type flattener struct {
	depth           int
	quoted, escaped bool
}

// next flattens a part in place, and returns how many bytes of it are left.
func (f *flattener) next(part []byte) int {
	left := 0
	for at := 0; at < len(part); at++ {
		deep, from := f.depth > deepest, at
		for f.quoted && !f.escaped && at < len(part)-1 && part[at] != '"' && part[at] != '\\' { // most of an answer is texts
			at++
		}
		switch c := part[at]; {
		case f.escaped:
			f.escaped = false
		case f.quoted:
			f.escaped, f.quoted = c == '\\', c != '"'
		case c == '"':
			f.quoted = true
		case c == '{', c == '[':
			if f.depth++; f.depth == deepest+1 {
				part[at] = '0'
			}
		case c == '}', c == ']':
			f.depth--
		}
		if !deep {
			left += copy(part[left:], part[from:at+1])
		}
	}
	return left
}
