// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package parcel

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/andybalholm/brotli"
)

// AcceptEncoding is what is asked for. Other compressions are read all the same: some servers keep a
// feed compressed in one way only, and send it so to everybody.
const AcceptEncoding = "gzip"

// MaxOverhead is by how much a compression may make a body longer. A body that goes beyond would
// else never reach its limit: what is compressed may be without end, and nothing when decompressed.
const MaxOverhead = 64 << 10

// maxTrusted is up to which size a body is believed to be as large as its header says.
const maxTrusted = 256 << 10

// ErrTooLarge is for a body that is larger than its limit.
var ErrTooLarge = errors.New("the body is larger than its limit")

// EncodingError means that the body of an answer is not in the form that its header speaks of.
type EncodingError struct {
	// Problem follows "it": "is compressed more than once".
	Problem string
	// Cause is what the decoder says, if it was asked.
	Cause error
}

func (e *EncodingError) Error() string {
	if e.Cause == nil {
		return e.Problem
	}
	return e.Problem + ": " + e.Cause.Error()
}
func (e *EncodingError) Unwrap() error { return e.Cause }

// Decompressed returns the body as it was before it was compressed, of which so many bytes are read at most as they come, and changes
// the header of the answer accordingly.
func Decompressed(answer *http.Response, limit int64) (io.Reader, error) {
	wire := &meter{body: answer.Body, left: limit}
	coding, err := contentCoding(answer.Header)
	if err != nil {
		return nil, err
	}
	if coding == "" {
		return wire, nil
	}
	answer.Header.Del("Content-Encoding")
	answer.Header.Del("Content-Length")
	answer.ContentLength, answer.Uncompressed = -1, true
	body := bufio.NewReader(wire)
	if _, err := body.Peek(1); err != nil { // an answer without a body is not compressed
		return body, nil //nolint:nilerr // the first Read returns it
	}
	decoder, err := newDecoder(coding, body)
	if err != nil {
		return nil, asEncodingError(coding, err)
	}
	return &decoding{coding: coding, decoder: decoder}, nil
}

// contentCoding returns the one compression of a body, or nothing.
func contentCoding(header http.Header) (string, error) {
	var codings []string
	for coding := range strings.SplitSeq(strings.Join(header.Values("Content-Encoding"), ","), ",") {
		switch coding = strings.ToLower(strings.TrimSpace(coding)); coding {
		case "", "identity":
		case "none", "utf-8", "utf8", "8bit", "binary": // no compressions, yet some servers say so
		case "x-gzip":
			codings = append(codings, "gzip")
		default:
			codings = append(codings, coding)
		}
	}
	switch len(codings) {
	case 0:
		return "", nil
	case 1:
	default:
		return "", &EncodingError{Problem: "is compressed more than once, which is not supported"}
	}
	switch codings[0] {
	case "gzip", "br", "deflate":
		return codings[0], nil
	}
	const longestName = 20 // a longer one is none, and may be anything that the server knows
	if len(codings[0]) > longestName {
		return "", &EncodingError{Problem: "is compressed in a way that was not asked for and is not supported"}
	}
	return "", &EncodingError{Problem: fmt.Sprintf("is compressed as %q, which was not asked for and is not supported", codings[0])}
}

func newDecoder(coding string, body *bufio.Reader) (io.Reader, error) {
	switch coding {
	case "br":
		return brotli.NewReader(body), nil
	case "deflate":
		// By RFC 9110, section 8.4.1.2, this is the format of zlib; some servers leave its frame away.
		const deflated = 8
		if frame, err := body.Peek(2); err == nil && frame[0]&0x0f == deflated && (uint(frame[0])<<8|uint(frame[1]))%31 == 0 {
			return zlib.NewReader(body)
		}
		return flate.NewReader(body), nil
	}
	return gzip.NewReader(body)
}

// decoding marks the errors of a decoder.
type decoding struct {
	coding  string
	decoder io.Reader
}

func (d *decoding) Read(p []byte) (int, error) {
	n, err := d.decoder.Read(p)
	return n, asEncodingError(d.coding, err)
}

// asEncodingError leaves alone what says that a body has ended.
func asEncodingError(coding string, err error) error {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	return &EncodingError{fmt.Sprintf("is not compressed as %s, as its header says, or is damaged", coding), err}
}

// meter bounds a body as it comes, and keeps the error by which it ended: decoders return others in
// its place.
type meter struct {
	body io.Reader
	left int64
	err  error
}

func (m *meter) Read(p []byte) (int, error) {
	if m.err != nil {
		return 0, m.err
	}
	if m.left <= 0 {
		m.err = ErrTooLarge
		return 0, m.err
	}
	n, err := m.body.Read(p[:min(int64(len(p)), m.left)])
	m.left -= int64(n)
	m.err = err
	return n, err
}
