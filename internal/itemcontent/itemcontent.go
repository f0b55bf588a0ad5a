// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package itemcontent is how an item carries the content of its entry, within the bounds of what the API server keeps.
package itemcontent

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/plaintext"
)

// Bounds of an item's content, in bytes. In the API server's count, which is in characters, the
// content is never longer than in bytes.
const (
	maxPlain      = 8192
	maxCompressed = 32 << 10
	maxUnpacked   = 4 << 20
)

// Pack makes what is stored of a content: the content itself up to 8 KiB; above that base64 of
// gzip, in which the content is cut so that the gzip stream is at most 32 KiB. One of the results
// is empty. The same content always gives the same result.
func Pack(content string) (plain, compressed string) {
	content = strings.ToValidUTF8(content, "\uFFFD")
	if len(content) <= maxPlain {
		return content, ""
	}
	content = plaintext.Prefix(content, maxUnpacked)
	var c compressor
	packed, ok := c.compress(content)
	if !ok {
		packed = c.longest(content)
	}
	return "", base64.StdEncoding.EncodeToString(packed)
}

// Unpack returns what Pack was given, or as much of it as was stored. An error is a *failure.Error
// of category Validation: somebody has changed what was stored.
func Unpack(plain, compressed string) (string, error) {
	if compressed == "" {
		return plain, nil
	}
	reader, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(compressed)))
	if err != nil {
		return "", corrupt(err)
	}
	content, err := io.ReadAll(io.LimitReader(reader, maxUnpacked+1))
	switch {
	case err != nil:
		return "", corrupt(err)
	case len(content) > maxUnpacked:
		return "", failure.New(v1alpha1.CategoryValidation, failure.TypeTooLarge, "The compressed content is longer than 4 MiB.")
	case !utf8.Valid(content):
		return "", corrupt(errors.New("it is not UTF-8"))
	}
	return string(content), nil
}

// Unpacked is how large the result of Unpack is at most, in bytes: what the end of a gzip stream says of it.
func Unpacked(plain, compressed string) int64 {
	const end = 8 // characters of base64, of which the last four bytes are there
	if len(compressed) < end {
		return int64(len(plain))
	}
	last, err := base64.StdEncoding.DecodeString(compressed[len(compressed)-end:])
	if err != nil || len(last) < 4 {
		return maxUnpacked
	}
	size := int64(0)
	for _, b := range slices.Backward(last[len(last)-4:]) { // RFC 1952, section 2.3.1
		size = size<<8 | int64(b)
	}
	return min(size, maxUnpacked)
}

func corrupt(err error) error {
	return failure.Wrap(v1alpha1.CategoryValidation, failure.TypeMalformed,
		fmt.Sprintf("The compressed content cannot be read: %v.", err), err)
}

// A compressor compresses within the bound. The zero value is ready for use.
type compressor struct {
	writer *gzip.Writer
	buffer bytes.Buffer
}

var errBound = errors.New("longer than the bound")

// Write takes what is compressed, up to the bound.
func (c *compressor) Write(p []byte) (int, error) {
	if c.buffer.Len()+len(p) > maxCompressed {
		return 0, errBound
	}
	return c.buffer.Write(p)
}

// compress returns the gzip stream of the content, if that is within the bound.
func (c *compressor) compress(content string) ([]byte, bool) {
	c.buffer.Reset()
	if c.writer == nil {
		c.writer = gzip.NewWriter(c)
	}
	c.writer.Reset(c)
	if _, err := io.WriteString(c.writer, content); err != nil {
		return nil, false
	}
	if err := c.writer.Close(); err != nil {
		return nil, false
	}
	return bytes.Clone(c.buffer.Bytes()), true
}

// longest returns the gzip stream of the longest beginning that is within the bound, where the
// whole is not.
func (c *compressor) longest(content string) []byte {
	var packed []byte
	low, high := 0, len(content) // the beginning of length low fits, that of length high does not
	for next := maxCompressed / 2; high-low > 1; {
		if attempt, ok := c.compress(plaintext.Prefix(content, next)); ok {
			packed, low = attempt, next
		} else {
			high = next
		}
		if next = 2 * low; next >= high || low == 0 {
			next = low + (high-low)/2
		}
	}
	return packed
}
