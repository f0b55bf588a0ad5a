// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//nolint:bodyclose // the bodies that a Transport returns are in memory
package outbound

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"crypto/rand"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// compressors write a body in each compression that is read, with little work: what comes of them is read alike.
var compressors = map[string]func(io.Writer) io.WriteCloser{
	"gzip":        func(w io.Writer) io.WriteCloser { writer, _ := gzip.NewWriterLevel(w, gzip.BestSpeed); return writer },
	"br":          func(w io.Writer) io.WriteCloser { return brotli.NewWriterLevel(w, brotli.BestSpeed) },
	"deflate":     func(w io.Writer) io.WriteCloser { writer, _ := zlib.NewWriterLevel(w, zlib.BestSpeed); return writer },
	"raw deflate": func(w io.Writer) io.WriteCloser { raw, _ := flate.NewWriter(w, flate.BestSpeed); return raw },
}

func compressed(t *testing.T, compressor string, body io.Reader) []byte {
	t.Helper()
	var buffer bytes.Buffer
	writer := compressors[compressor](&buffer)
	if _, err := io.Copy(writer, body); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

func zeros(count int64) io.Reader { return io.LimitReader(zeroReader{}, count) }

// encodings answers with a body under a Content-Encoding.
func encodings(encoding string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for value := range strings.SplitSeq(encoding, ";") {
			w.Header().Add("Content-Encoding", value)
		}
		_, _ = w.Write(body)
	}
}

// R1.3, R1.6: a compression that some servers use without being asked is read; both ways out read it alike.
func TestACompressedAnswerIsRead(t *testing.T) {
	t.Parallel()
	const text = "<rss/>"
	tests := map[string]struct {
		encoding string
		body     []byte
		want     string
	}{
		"gzip":                            {"gzip", compressed(t, "gzip", strings.NewReader(text)), text},
		"gzip by its old name":            {"X-GZip", compressed(t, "gzip", strings.NewReader(text)), text},
		"gzip in two parts":               {"gzip", append(compressed(t, "gzip", strings.NewReader("<rss")), compressed(t, "gzip", strings.NewReader("/>"))...), text},
		"brotli that nobody asked for":    {"br", compressed(t, "br", strings.NewReader(text)), text},
		"deflate":                         {"deflate", compressed(t, "deflate", strings.NewReader(text)), text},
		"deflate without its frame":       {"deflate", compressed(t, "raw deflate", strings.NewReader(text)), text},
		"gzip, and nothing besides":       {"identity, gzip", compressed(t, "gzip", strings.NewReader(text)), text},
		"what is no compression":          {"UTF-8", []byte(text), text},
		"no compression":                  {"identity", []byte(text), text},
		"nothing, said to be gzip":        {"gzip", nil, ""},
		"nothing, said to be brotli":      {"br", nil, ""},
		"nothing, compressed with brotli": {"br", compressed(t, "br", strings.NewReader("")), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, encodings(test.encoding, test.body))
			response, err := localClient(t).Get(t.Context(), Request{URL: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			if string(response.Body) != test.want {
				t.Errorf("body %q, want %q", response.Body, test.want)
			}
			_, client := speak(t, plain, nil)
			answer, err := send(t.Context(), t, client.Transport(TransportOptions{}), http.MethodPost, server.URL, "x")
			if err != nil {
				t.Fatal(err)
			}
			if body, err := io.ReadAll(answer.Body); err != nil || string(body) != test.want {
				t.Errorf("body %q, %v, want %q", body, err, test.want)
			}
			if encoding := answer.Header.Get("Content-Encoding"); test.encoding == "br" && encoding != "" {
				t.Errorf("what was decompressed is still said to be %s", encoding)
			}
		})
	}
}

// R1.6
func TestACompressionThatCannotBeReadIsNamed(t *testing.T) {
	t.Parallel()
	twice := compressed(t, "gzip", bytes.NewReader(compressed(t, "gzip", strings.NewReader("<rss/>"))))
	tests := map[string]struct {
		encoding string
		body     []byte
		want     string
	}{
		"gzip twice":                   {"gzip, gzip", twice, "it is compressed more than once"},
		"gzip twice, in two headers":   {"gzip;gzip", twice, "it is compressed more than once"},
		"gzip in brotli":               {"gzip, br", []byte("x"), "it is compressed more than once"},
		"one that is not supported":    {"zstd", []byte("x"), `it is compressed as "zstd", which was not asked for`},
		"one with a name without end":  {strings.Repeat("z", 500), []byte("x"), "in a way that was not asked for"},
		"gzip that is none":            {"gzip", []byte("<rss version='2.0'/>"), "not compressed as gzip, as its header says"},
		"brotli that is none":          {"br", []byte("<rss version='2.0'/>"), "not compressed as br, as its header says"},
		"deflate that is none":         {"deflate", []byte("<rss version='2.0'/>"), "not compressed as deflate, as its header says"},
		"gzip with a wrong sum":        {"gzip", append(bytes.Clone(gzipped(t, 100)[:20]), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10), "not compressed as gzip, as its header says, or is damaged"},
		"brotli with more than itself": {"br", append(compressed(t, "br", strings.NewReader("<rss/>")), "more"...), "not compressed as br"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, encodings(test.encoding, test.body))
			response, err := localClient(t).Get(t.Context(), Request{URL: server.URL})
			got := failed(t, response, err)
			wantOutcome(t, got, outcome{v1alpha1.CategoryAPI, failure.TypeMalformed, 0})
			if !strings.Contains(got.Error(), "127.0.0.1") || !strings.Contains(got.Error(), test.want) {
				t.Errorf("message %q, want %q and the host in it", got, test.want)
			}
		})
	}
}

// R1.6: a stream that is cut off is a connection that broke, which is tried again.
func TestACompressedAnswerThatIsCutOff(t *testing.T) {
	t.Parallel()
	for name := range compressors {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := compressed(t, name, io.MultiReader(strings.NewReader("<rss>"), zeros(1<<20)))
			server := serve(t, encodings(strings.TrimPrefix(name, "raw "), body[:len(body)-8]))
			response, err := localClient(t).Get(t.Context(), Request{URL: server.URL})
			wantOutcome(t, failed(t, response, err), outcome{v1alpha1.CategoryNetwork, failure.TypeConnection, 0})
		})
	}
}

// R1.6: what breaks is the connection, whatever a decoder says of it.
func TestACompressedAnswerThatIsReset(t *testing.T) {
	t.Parallel()
	for name := range compressors {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := compressed(t, name, io.LimitReader(rand.Reader, 100<<10))
			server, client := speak(t, plain, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Encoding", strings.TrimPrefix(name, "raw "))
				_, _ = w.Write(body[:len(body)/2])
				_ = http.NewResponseController(w).Flush()
				reset(r)
			})
			response, err := client.Get(t.Context(), Request{URL: server.URL})
			wantOutcome(t, failed(t, response, err), outcome{v1alpha1.CategoryNetwork, failure.TypeConnection, 0})
		})
	}
}

// R1.6: whatever the compression, no more than the limit is decompressed. Not parallel: it looks at what
// the whole process allocates.
func TestNoBombGrowsTheMemory(t *testing.T) {
	// To read all takes several times as much, and more than may be allocated.
	size, wide := int64(portion.Of(200, 8))<<20, int64(portion.Of(200, 20))<<20
	tests := map[string]struct {
		encoding string
		body     []byte
		most     uint64
	}{
		"gzip":        {"gzip", gzipped(t, size), 16 << 20},
		"brotli":      {"br", compressed(t, "br", zeros(size)), 24 << 20},
		"deflate":     {"deflate", compressed(t, "deflate", zeros(size)), 16 << 20},
		"raw deflate": {"deflate", compressed(t, "raw deflate", zeros(size)), 16 << 20},
		// The largest window that there is; with the room for what is decompressed into it.
		"brotli with a window of 16 MiB": {"br", widest(t, wide), 56 << 20},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := serve(t, encodings(test.encoding, test.body))
			client := localClient(t)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			response, err := client.Get(t.Context(), Request{URL: server.URL, MaxBytes: 1 << 20})
			runtime.ReadMemStats(&after)
			got := failed(t, response, err)
			wantOutcome(t, got, outcome{v1alpha1.CategoryValidation, failure.TypeTooLarge, 0})
			if !strings.Contains(got.Error(), "limit of 1 MiB (counted without compression)") {
				t.Errorf("message %q", got)
			}
			// All that was ever allocated, freed or not.
			if allocated := after.TotalAlloc - before.TotalAlloc; allocated > test.most {
				t.Errorf("allocated %d bytes for a body of at most 1 MiB", allocated)
			}
		})
	}
}

// widest is brotli with the largest window that its format knows.
func widest(t *testing.T, count int64) []byte {
	t.Helper()
	var buffer bytes.Buffer
	writer := brotli.NewWriterOptions(&buffer, brotli.WriterOptions{Quality: 2, LGWin: 24})
	if _, err := io.Copy(writer, zeros(count)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

// R1.6: what is without end, and decompressed nothing, ends all the same.
func TestACompressedAnswerOfNothingWithoutEnd(t *testing.T) {
	t.Parallel()
	emptyMember := compressed(t, "gzip", strings.NewReader(""))
	// An empty block that is not the last one: a byte of three bits, and a length of 0.
	emptyBlock := []byte{0, 0, 0, 0xff, 0xff}
	// An empty block that is metadata; the first has the size of the window before it.
	firstSkipped, skipped := []byte{0x0c}, []byte{0x06}
	for name, test := range map[string]struct {
		encoding       string
		first, nothing []byte
	}{
		"gzip of many empty parts":     {"gzip", nil, emptyMember},
		"deflate of many empty blocks": {"deflate", nil, emptyBlock},
		"brotli of many empty blocks":  {"br", firstSkipped, skipped},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Encoding", test.encoding)
				_, _ = w.Write(test.first)
				for r.Context().Err() == nil {
					_, _ = w.Write(bytes.Repeat(test.nothing, 100))
				}
			})
			response, err := localClient(t).Get(t.Context(), Request{URL: server.URL, MaxBytes: 1 << 10})
			wantOutcome(t, failed(t, response, err), outcome{v1alpha1.CategoryValidation, failure.TypeTooLarge, 0})
		})
	}
}
