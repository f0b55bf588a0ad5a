// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
	"weak"
)

// Sent is what one peer was sent to know the operator by, such as the token of a feed. What the peer says is
// masked by that and by nothing else: a peer that was not sent a secret cannot repeat it, and a mask in
// words of its own would tell it that it has guessed one.
//
// Only whole values are masked, in all of their forms. So a text must be masked before it is cut, or be masked by
// Bounded.
//
// The nil *Sent masks nothing. It is safe for concurrent use.
//
// There may be one for each of thousands of services, so what finds the values is not kept: it is made when it is needed, and
// used again for as long as the garbage collector leaves it.
type Sent struct {
	values []string

	mu   sync.Mutex
	made weak.Pointer[matcher]
}

// NewSent returns what masks some values in what a peer says. Space around a value does not belong to it; values
// of fewer than 8 bytes, and of more than 8 KiB, are not masked. It returns nil where no value is left.
func NewSent(values ...string) *Sent {
	var kept []string
	for _, value := range values {
		if value = strings.TrimSpace(value); maskable(value) && !slices.Contains(kept, value) {
			kept = append(kept, value)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return &Sent{values: kept}
}

// matcher returns what finds the values.
func (s *Sent) matcher() *matcher {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.made.Value()
	if found == nil {
		found = newMatcher(formsOf(s.values...))
		s.made = weak.Make(found)
	}
	return found
}

// Mask hides what the peer was sent in a text of its own.
func (s *Sent) Mask(text string) string {
	if s == nil || len(text) < window {
		return text
	}
	return mask(text, false, s.matcher())
}

// Bounded masks a text of the peer that was cut, by the operator itself, where it had more than so many characters (code
// points). It also hides the beginning, of 8 bytes and more, of what the peer was sent where that was cut; and the text keeps
// its bound: a mask may be longer than what it hides.
func (s *Sent) Bounded(text string, most int) string {
	if s == nil || len(text) < window {
		return text
	}
	masked := mask(text, utf8.RuneCountInString(text) >= most, s.matcher())
	if masked == text {
		return text
	}
	for at := range masked {
		if most--; most < 0 {
			return masked[:at]
		}
	}
	return masked
}

// Holds reports whether a text has something in it that the peer was sent.
func (s *Sent) Holds(text string) bool { return s.Mask(text) != text }

// In returns those of the values that stand in a text, such as the address that a peer was asked at.
func (s *Sent) In(text string) *Sent {
	if s == nil || !s.Holds(text) {
		return nil
	}
	var there []string
	for _, value := range s.values {
		if NewSent(value).Holds(text) {
			there = append(there, value)
		}
	}
	return NewSent(there...)
}
