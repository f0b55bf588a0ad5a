// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apibare

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// answer is the body of an answer without what is dropped. It is read as it comes: one member of an object, or one object of a list, at a time, so that an
// event of a watch is handed on when it is whole, and what is dropped is never held.
type answer struct {
	from source
	in   *jsontext.Decoder
	out  *jsontext.Encoder
	made buffer
	less parts
	at   place
	err  error
}

// place is where in an answer the next thing to read is.
type place int

const (
	beforeValue place = iota // of which a watch has one after the other
	inValue
	inItems
)

// source is the body as it comes, flat. What ends it is for the reader of the answer, who tells a watch that has run out of time from one that has broken.
type source struct {
	io.ReadCloser
	flat  flattener
	ended error
}

func (s *source) Read(into []byte) (int, error) {
	for {
		n, err := s.ReadCloser.Read(into)
		if err != nil {
			s.ended = err
		}
		if n = s.flat.next(into[:n]); n > 0 || err != nil || len(into) == 0 {
			return n, err
		}
	}
}

// buffer is what is ready to be read.
type buffer struct {
	ready []byte
	taken int
}

func (b *buffer) Write(more []byte) (int, error) {
	b.ready = append(b.ready, more...)
	return len(more), nil
}

func newAnswer(body io.ReadCloser, less parts) *answer {
	a := &answer{from: source{ReadCloser: body}, less: less}
	// The API server has checked its objects. To look for names that stand twice would hold all of them.
	lax := []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true)}
	a.in, a.out = jsontext.NewDecoder(&a.from, lax...), jsontext.NewEncoder(&a.made, lax...)
	return a
}

// Read implements io.Reader.
func (a *answer) Read(into []byte) (int, error) {
	for len(a.made.ready) == a.made.taken {
		if a.err != nil {
			return 0, a.err
		}
		a.made.ready, a.made.taken = a.made.ready[:0], 0
		if err := a.next(); err != nil {
			a.err = a.reasonOf(err)
		}
	}
	n := copy(into, a.made.ready[a.made.taken:])
	a.made.taken += n
	return n, nil
}

// Close implements io.Closer.
func (a *answer) Close() error { return a.from.Close() }

// reasonOf is why an answer ends: as its body does.
func (a *answer) reasonOf(err error) error {
	switch {
	case a.from.ended == nil:
		return fmt.Errorf("read the API server's answer: %w", err)
	case !errors.Is(a.from.ended, io.EOF):
		return a.from.ended
	case a.at == beforeValue && errors.Is(err, io.EOF):
		return io.EOF
	}
	return io.ErrUnexpectedEOF
}

// next reads one more part of the answer: an object, a list of them, or one event of a watch after the other.
func (a *answer) next() error {
	switch a.at {
	case inItems:
		if a.in.PeekKind() == ']' {
			a.at = inValue
			return a.token()
		}
		return a.object()
	case inValue:
		if a.in.PeekKind() == '}' {
			a.at = beforeValue
			return a.token()
		}
		return a.member()
	case beforeValue:
		if a.in.PeekKind() == '{' {
			a.at = inValue
			return a.token()
		}
	}
	return a.value()
}

// member reads a member of the answer itself.
func (a *answer) member() error {
	token, err := a.in.ReadToken()
	if err != nil {
		return err
	}
	name := token.String()
	if err := a.out.WriteToken(jsontext.String(name)); err != nil {
		return err
	}
	switch kind := a.in.PeekKind(); {
	case name == "items" && kind == '[':
		a.at = inItems
		return a.token()
	case name == "object" && kind == '{': // of an event
		return a.object()
	}
	return a.part(name)
}

// object reads an object of a list or an event.
func (a *answer) object() error {
	if a.in.PeekKind() != '{' {
		return a.value()
	}
	return a.members(func(name string) error {
		if err := a.out.WriteToken(jsontext.String(name)); err != nil {
			return err
		}
		return a.part(name)
	})
}

// part reads a part of an object, such as its metadata, but for what is dropped of it.
func (a *answer) part(of string) error {
	without := a.less[of]
	if without == nil || a.in.PeekKind() != '{' {
		return a.value()
	}
	return a.members(func(name string) error {
		if without[name] {
			return a.in.SkipValue()
		}
		if err := a.out.WriteToken(jsontext.String(name)); err != nil {
			return err
		}
		if of == metadata && name == "annotations" && a.in.PeekKind() == '{' {
			return a.members(a.annotation)
		}
		return a.value()
	})
}

// annotation reads one of an object.
func (a *answer) annotation(name string) error {
	keep := meant[name]
	if keep == nil || a.in.PeekKind() != '"' {
		return a.in.SkipValue()
	}
	value, err := a.in.ReadToken()
	if err != nil {
		return err
	}
	kept, is := keep(value.String())
	if !is {
		return nil
	}
	return errors.Join(a.out.WriteToken(jsontext.String(name)), a.out.WriteToken(jsontext.String(kept)))
}

// members reads an object. What becomes of each member is decided by its name, which is handed on, if at all, with its value.
func (a *answer) members(each func(name string) error) error {
	if err := a.token(); err != nil {
		return err
	}
	for a.in.PeekKind() != '}' {
		name, err := a.in.ReadToken()
		if err == nil {
			err = each(name.String())
		}
		if err != nil {
			return err
		}
	}
	return a.token()
}

// token reads a brace or a bracket, and hands it on.
func (a *answer) token() error {
	token, err := a.in.ReadToken()
	if err != nil {
		return err
	}
	return a.out.WriteToken(token)
}

// value reads a whole value, and hands it on: of what the operator's kinds have beside their metadata, each part has a bound.
func (a *answer) value() error {
	value, err := a.in.ReadValue()
	if err != nil {
		return err
	}
	return a.out.WriteValue(value)
}
