// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package itemcontent

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/portion"
)

func init() { portion.Draws(25) }

func prose(words int) string {
	random := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	for range words {
		fmt.Fprintf(&text, "%x 語 ", random.Uint32N(5000))
	}
	return text.String()
}

func noise(size int) string {
	random := rand.New(rand.NewPCG(3, 4))
	text := make([]rune, size)
	for i := range text {
		text[i] = rune(0x4e00 + random.Uint32N(0x5000))
	}
	return string(text)
}

// R2.10, R3.5: content above 8 KiB is compressed, and cut so that this takes at most 32 KiB.
func TestPack(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		content              string
		wantPlain, wantWhole bool
	}{
		"nothing":                    {"", true, true},
		"a little":                   {"<p>語</p>", true, true},
		"8 KiB":                      {strings.Repeat("a", 8192), true, true},
		"one byte more":              {strings.Repeat("a", 8193), false, true},
		"a long article":             {prose(4000), false, true},
		"a book":                     {prose(portion.Of(200_000, 15_000)), false, false},
		"what does not compress":     {noise(40000), false, false},
		"what compresses very well":  {strings.Repeat("語", 1_000_000), false, true},
		"more than is ever unpacked": {strings.Repeat("語", portion.Of(3_000_000, 1_500_000)), false, false},
	}
	if portion.Of(1, 0) == 0 {
		delete(tests, "a book") // it is cut as what does not compress is, in more attempts
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plain, compressed := Pack(test.content)
			if (compressed == "") != test.wantPlain || plain != "" && compressed != "" {
				t.Fatalf("%d bytes plain and %d compressed", len(plain), len(compressed))
			}
			if len(plain) > 8192 || len(compressed) > 43692 {
				t.Errorf("%d bytes plain and %d compressed are above the bounds", len(plain), len(compressed))
			}
			content, err := Unpack(plain, compressed)
			if err != nil {
				t.Fatal(err)
			}
			if (content == test.content) != test.wantWhole || !strings.HasPrefix(test.content, content) || !utf8.ValidString(content) {
				t.Errorf("%d bytes of %d came back", len(content), len(test.content))
			}
			if !test.wantWhole && len(content) < 20_000 {
				t.Errorf("only %d bytes of %d were kept", len(content), len(test.content))
			}
			if again, compressedAgain := Pack(test.content); again != plain || compressedAgain != compressed {
				t.Error("the second time gives another result")
			}
		})
	}
}

// The longest beginning is kept: one character more does not fit.
func TestPackKeepsAllThatFits(t *testing.T) {
	t.Parallel()
	content := noise(40000)
	kept, err := Unpack(Pack(content))
	if err != nil {
		t.Fatal(err)
	}
	_, size := utf8.DecodeRuneInString(content[len(kept):])
	if _, ok := new(compressor).compress(content[:len(kept)+size]); ok {
		t.Errorf("%d bytes were kept, but one character more fits", len(kept))
	}
}

func TestPackRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		content := strings.Repeat(rapid.String().Draw(t, "part"), rapid.IntRange(0, 2000).Draw(t, "times"))
		got, err := Unpack(Pack(content))
		if err != nil || !strings.HasPrefix(content, got) {
			t.Fatalf("%d bytes became %d, error %v", len(content), len(got), err)
		}
	})
}

// Bytes that are no text become text.
func TestPackInvalidText(t *testing.T) {
	t.Parallel()
	if got, err := Unpack(Pack("a\xffb")); got != "a\uFFFDb" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// R2.11: what cannot be read is a failure of its own.
func TestUnpackCorrupt(t *testing.T) {
	t.Parallel()
	_, whole := Pack(prose(4000))
	raw, err := base64.StdEncoding.DecodeString(whole)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(raw)
	flipped[len(flipped)/2] ^= 0xFF
	tests := map[string]struct{ compressed, wantType string }{
		"no base64":       {"!!!!", failure.TypeMalformed},
		"no gzip":         {base64.StdEncoding.EncodeToString([]byte("hello, world")), failure.TypeMalformed},
		"cut off":         {base64.StdEncoding.EncodeToString(raw[:len(raw)/2]), failure.TypeMalformed},
		"a wrong byte":    {base64.StdEncoding.EncodeToString(flipped), failure.TypeMalformed},
		"something after": {base64.StdEncoding.EncodeToString(append(bytes.Clone(raw), "junk"...)), failure.TypeMalformed},
		"no text":         {gzipped(t, "\xff\xfe"), failure.TypeMalformed},
		"a bomb":          {gzipped(t, strings.Repeat("a", 5<<20)), failure.TypeTooLarge},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content, err := Unpack("", test.compressed)
			var failed *failure.Error
			if !errors.As(err, &failed) || failed.Category != v1alpha1.CategoryValidation || failed.Type != test.wantType || content != "" {
				t.Errorf("%d bytes, error %v, want %s", len(content), err, test.wantType)
			}
		})
	}
}

func gzipped(t *testing.T, content string) string {
	t.Helper()
	var buffer bytes.Buffer
	writer := gzip.NewWriter(&buffer)
	if _, err := writer.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(buffer.Bytes())
}
