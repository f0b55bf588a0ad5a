// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apibare

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// nested is a value that is so many objects deep, with a text in each that has all that JSON is made of.
func nested(depth int) string {
	return strings.Repeat(`{"a\"{[\\":"]}","b":`, depth) + "1" + strings.Repeat("}", depth)
}

// R3.13: managed fields are as deep as whoever may edit an object wants, and in a list or an event deeper than any reader of JSON goes. What is read of the
// object, and of all others, is as if they were not there, whatever the parts are in which the answer comes.
func TestNoObjectIsTooDeepToRead(t *testing.T) {
	t.Parallel()
	for _, depth := range []int{1, deepest - 4, deepest - 3, deepest, 9_993, 9_994, 9_995, 9_996, 9_999, 10_002, 30_000} {
		const before, after = `{"metadata":{"name":"a",`, `"uid":"u"},"spec":{"title":"A \\\"title\"] {"}}`
		object := before + `"managedFields":[` + nested(depth) + `],` + after
		for answer, want := range map[string]string{
			object: before + after,
			`{"metadata":{},"items":[` + object + "," + object + `]}`: `{"metadata":{},"items":[` + before + after + "," + before + after + `]}`,
			`{"type":"ADDED","object":` + object + `}`:                `{"type":"ADDED","object":` + before + after + `}`,
		} {
			for way, body := range map[string]io.Reader{"whole": strings.NewReader(answer), "byte by byte": iotest.OneByteReader(strings.NewReader(answer))} {
				got, err := read(t, items, server{body, 200, "application/json"})
				if err != nil || strings.TrimSpace(got) != want {
					t.Errorf("%d deep, %s: %.300s (%v)", depth, way, got, err)
				}
			}
		}
	}
}

// R1.6: what is not deeper than the API's kinds are is read as it is; of what is, nothing is left but a 0 in its place.
func TestOnlyWhatIsTooDeepIsFlattened(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		depth := rapid.IntRange(0, deepest+20).Draw(t, "depth")
		text := strings.Repeat("[", depth) + `"[{\"\\"` + strings.Repeat("]", depth)
		want := text
		if depth > deepest {
			want = strings.Repeat("[", deepest) + "0" + strings.Repeat("]", deepest)
		}
		var flat flattener
		var got []byte
		for rest := []byte(text); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "bytes")
			part := rest[:n]
			got, rest = append(got, part[:flat.next(part)]...), rest[n:]
		}
		if string(got) != want {
			t.Fatalf("%s became %s", text, got)
		}
	})
}

// R3.13: an answer that is cut off where it is too deep is none.
func TestADeepAnswerThatIsCutOffIsNoAnswer(t *testing.T) {
	t.Parallel()
	object := `{"metadata":{"managedFields":[` + nested(200)
	if got, err := read(t, items, sent(object)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%.300s (%v)", got, err)
	}
}
