// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/budget"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/outbound"
)

func drawing(t *testing.T) []byte {
	t.Helper()
	var drawn bytes.Buffer
	if err := png.Encode(&drawn, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	return drawn.Bytes()
}

// newFetcher returns a fetcher that may reach this machine, with the memory for documents that is the least.
func newFetcher() *Fetcher {
	return NewFetcher(outbound.New(outbound.Config{
		AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Budget: budget.New(budget.Min, time.Now),
	}))
}

// R4.1, R5.1: an image is what its first bytes say and its receiver takes, in its bounds; what the header says counts for nothing.
func TestFetch(t *testing.T) {
	t.Parallel()
	drawn := drawing(t)
	for name, test := range map[string]struct {
		body     []byte
		limits   Limits
		wantKind string
		wantType string
	}{
		"a PNG image":                       {body: drawn, wantKind: "image/png"},
		"an AVIF image that is taken":       {body: []byte("\x00\x00\x00\x1cftypavif0000"), limits: Limits{Types: []string{"image/avif"}}, wantKind: "image/avif"},
		"an AVIF image that is not":         {body: []byte("\x00\x00\x00\x1cftypavif0000"), wantType: failure.TypeUnsupported},
		"a type that is not taken":          {body: drawn, limits: Limits{Types: []string{"image/jpeg"}}, wantType: failure.TypeUnsupported},
		"a page":                            {body: []byte("<!doctype html><p>Hello"), wantType: failure.TypeUnsupported},
		"a drawing with scripts":            {body: []byte("<svg xmlns='http://www.w3.org/2000/svg'/>"), wantType: failure.TypeUnsupported},
		"a video":                           {body: []byte("\x00\x00\x00\x1cftypmp420000"), wantType: failure.TypeUnsupported},
		"nothing":                           {wantType: failure.TypeUnsupported},
		"as large as the server takes":      {body: drawn, limits: Limits{MaxBytes: int64(len(drawn))}, wantKind: "image/png"},
		"larger than the server takes":      {body: drawn, limits: Limits{MaxBytes: int64(len(drawn)) - 1}, wantType: failure.TypeTooLarge},
		"larger than any, whoever takes it": {body: append(bytes.Clone(drawn), make([]byte, MaxBytes)...), limits: Limits{MaxBytes: 1 << 30}, wantType: failure.TypeTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "image/png")
				_, _ = w.Write(test.body)
			}))
			defer server.Close()
			fetcher := newFetcher()
			room := fetcher.Room("news")
			got, kind, err := fetcher.Fetch(t.Context(), server.URL, test.limits, room)
			switch {
			case test.wantType != "":
				if err == nil || failure.Classify(err).Type != test.wantType {
					t.Errorf("it is of the type %q, and the error %v; want %s", kind, err, test.wantType)
				}
			case err != nil || kind != test.wantKind || !bytes.Equal(got, test.body):
				t.Errorf("%d bytes of the type %q, %v", len(got), kind, err)
			case room.Held() < int64(len(got)):
				t.Errorf("%d bytes are counted, of %d", room.Held(), len(got))
			}
			if room.Release(); fetcher.client.Budget().Usage() != (budget.Usage{}) {
				t.Errorf("not given back: %+v", fetcher.client.Budget().Usage())
			}
		})
	}
}

// R5.1: an address inside is not asked, however it is reached; and who sends nothing is not waited for.
func TestFetchIsGuarded(t *testing.T) {
	t.Parallel()
	ends := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/inside":
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		default:
			_, _ = w.Write(drawing(t)[:16])
			_ = http.NewResponseController(w).Flush()
			<-ends
		}
	}))
	defer server.Close()
	defer close(ends)
	for _, address := range []string{server.URL + "/inside", server.URL + "/loop", "http://10.0.0.1/image.png", "file:///etc/passwd", server.URL + "/hangs"} {
		ctx, cancel := context.WithCancel(t.Context())
		if strings.HasSuffix(address, "/hangs") {
			time.AfterFunc(100*time.Millisecond, cancel)
		}
		fetcher := newFetcher()
		room := fetcher.Room("news")
		if _, kind, err := fetcher.Fetch(ctx, address, Limits{}, room); err == nil {
			t.Errorf("%s: an image of the type %s", address, kind)
		} else if words := err.Error(); strings.Contains(words, "meta-data") {
			t.Errorf("%s: says %s", address, words)
		}
		if room.Held() != 0 {
			t.Errorf("%s: %d bytes are held", address, room.Held())
		}
		cancel()
	}
}

// R5.1: images of one namespace take no more than its share of the memory for documents, however many are fetched at once; the others fail for now.
func TestImagesTakeNoMoreThanTheirShare(t *testing.T) {
	t.Parallel()
	large := append(drawing(t), make([]byte, 4<<20)...)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(large) }))
	defer server.Close()
	fetcher := newFetcher()
	held, full := 0, 0
	for range 20 {
		room := fetcher.Room("news")
		defer room.Release()
		switch _, _, err := fetcher.Fetch(t.Context(), server.URL, Limits{}, room); {
		case err == nil:
			held++
		case errors.Is(err, budget.ErrFull) && failure.Classify(err).Category == v1alpha1.CategoryNetwork:
			full++
		default:
			t.Fatal(err)
		}
	}
	if usage := fetcher.client.Budget().Usage(); held == 0 || full == 0 || usage.Documents+usage.Large > budget.Min {
		t.Errorf("%d are held and %d found no room: %+v", held, full, usage)
	}
}
