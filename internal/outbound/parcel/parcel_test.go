// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//nolint:bodyclose // the bodies of these answers are in memory
package parcel

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"

	"github.com/feed-operator/feed-operator/internal/budget"
)

// compressors write a body in the compressions that are read.
var compressors = map[string]func(io.Writer) io.WriteCloser{
	"gzip":    func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
	"br":      func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) },
	"deflate": func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
}

func compressed(t testing.TB, compressor func(io.Writer) io.WriteCloser, body string) []byte {
	t.Helper()
	var buffer bytes.Buffer
	writer := compressor(&buffer)
	if _, err := io.WriteString(writer, body); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

// answerWith is an answer whose body comes in as many pieces as its reader gives.
func answerWith(body io.Reader, header http.Header) *http.Response {
	return &http.Response{Header: header, Body: io.NopCloser(body), ContentLength: -1}
}

// R1.6: what was left to others by bodies that nobody needed does not show in theirs, whatever its size.
func TestABodyHoldsNothingOfThoseBeforeIt(t *testing.T) {
	t.Parallel()
	var room *budget.Room
	for _, size := range []int{1, FirstPiece - 1, FirstPiece, FirstPiece + 1, 50_000, 700_000} {
		for _, letter := range []string{"a", "b"} {
			want := strings.Repeat(letter, size)
			received, err := Receive(answerWith(strings.NewReader(want), http.Header{}), 1<<20, room)
			if err != nil {
				t.Fatal(err)
			}
			if sum := received.Sum(); sum != Sum([]byte(want)) {
				t.Errorf("%d bytes of %q: the sum %q", size, letter, sum)
			}
			body, err := received.Unpack(1 << 20)
			if err != nil || string(body) != want {
				t.Errorf("%d bytes of %q have become %d (%v)", size, letter, len(body), err)
			}
			received.Recycle()
		}
	}
}

// R1.3: what is compressed is not taken for what it becomes.
func TestNothingIsKnownOfACompressedBodyBeforeItIsUnpacked(t *testing.T) {
	t.Parallel()
	var room *budget.Room
	wire := compressed(t, compressors["gzip"], "text")
	received, err := Receive(answerWith(bytes.NewReader(wire), http.Header{"Content-Encoding": {"gzip"}}), 1<<20, room)
	if err != nil {
		t.Fatal(err)
	}
	if sum := received.Sum(); sum != "" {
		t.Errorf("the sum %q", sum)
	}
}

// R1.6: the window that brotli's decoder takes is known before it is taken.
func TestTheWindowOfBrotliIsCounted(t *testing.T) {
	t.Parallel()
	for first, bits := range map[byte]int{0x00: 16, 0x0b: 22, 0x0f: 24, 0x03: 18, 0x21: 10, 0x71: 15, 0x01: 17} {
		p := &Parcel{coding: "br", pieces: [][]byte{{first}}}
		if want := int64(3) << bits / 2; p.Window() != want {
			t.Errorf("%#x: a window of %d, want %d", first, p.Window(), want)
		}
	}
}

// R1.6
func FuzzReadBody(f *testing.F) {
	for coding, compressor := range compressors {
		f.Add(coding, compressed(f, compressor, "<rss><channel/></rss>"))
	}
	f.Fuzz(func(t *testing.T, encoding string, wire []byte) {
		const limit = 4 << 10
		answer := &http.Response{Header: http.Header{"Content-Encoding": {encoding}}, Body: io.NopCloser(bytes.NewReader(wire))}
		var room *budget.Room
		received, err := Receive(answer, limit, room)
		var body []byte
		if err == nil {
			err = received.Open(t.Context(), limit, room, nil, func(unpacked []byte) error { body = unpacked; return nil })
		}
		if err == nil && len(body) > limit || err != nil && body != nil {
			t.Errorf("%d bytes, %v", len(body), err)
		}
	})
}
