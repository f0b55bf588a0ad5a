// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pdftext

import "bytes"

// object reads an object. What is no object is returned as the operator that it is.
func (l *lexer) object(depth int) any {
	token := l.next()
	found, ok := token.(operator)
	if !ok {
		if first, ok := token.(float64); ok && !l.content {
			return l.reference(first)
		}
		return token
	}
	if depth <= 0 {
		return found
	}
	switch found {
	case "[":
		return l.array(depth - 1)
	case "<<":
		return l.dict(depth - 1)
	case "true":
		return true
	case "false":
		return false
	case "null":
		return nil
	case end:
	}
	return found
}

// reference returns the reference that a number is the beginning of, or the number.
func (l *lexer) reference(first float64) any {
	if first < 0 || first != float64(int32(first)) {
		return first
	}
	start := l.pos
	if second, ok := l.next().(float64); ok && second >= 0 && second <= 65535 && l.next() == operator("R") {
		return ref{int(first), int(second)}
	}
	l.pos = start
	return first
}

func (l *lexer) array(depth int) array {
	var out array
	for {
		switch element := l.object(depth); element {
		case operator("]"), end, operator("endobj"), operator(">>"):
			return out
		default:
			out = append(out, element)
		}
	}
}

func (l *lexer) dict(depth int) dict {
	out := dict{}
	l.budget.spend(dictCost)
	for {
		switch key := l.next().(type) {
		case name:
			value := l.object(depth)
			if value == operator(">>") || value == end {
				return out
			}
			out[key] = value
		case operator:
			if key == ">>" || key == end || key == "endobj" || key == keywordStream {
				return out
			}
		}
	}
}

// definition reads what stands between obj and endobj. Of a stream, the bytes are as they are in the
// file.
func (l *lexer) definition(id ref) any {
	value := l.object(maxDepth)
	head, ok := value.(dict)
	if !ok {
		return value
	}
	l.skipSpace()
	if !bytes.HasPrefix(l.data[l.pos:], []byte(keywordStream)) {
		return value
	}
	l.pos += len(keywordStream)
	if l.pos < len(l.data) && l.data[l.pos] == '\r' {
		l.pos++
	}
	if l.pos < len(l.data) && l.data[l.pos] == '\n' {
		l.pos++
	}
	rest := l.data[l.pos:]
	size := -1
	if length, ok := head["Length"].(float64); ok && length >= 0 && length <= float64(len(rest)) {
		after := bytes.TrimLeft(rest[int(length):min(len(rest), int(length)+32)], "\r\n\t \x00")
		if bytes.HasPrefix(after, []byte("endstream")) {
			size = int(length)
		}
	}
	if size < 0 { // the length is elsewhere, or wrong
		if size = bytes.Index(rest, []byte("endstream")); size < 0 {
			size = len(rest)
		}
	}
	l.pos += size
	return stream{dict: head, raw: rest[:size], id: id}
}
