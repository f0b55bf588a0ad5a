// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mastodon

import (
	"bytes"
	"image"
	"image/png"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

func newImage(t *testing.T) destination.Image {
	t.Helper()
	var drawn bytes.Buffer
	if err := png.Encode(&drawn, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	return destination.Image{Content: drawn.Bytes(), Type: "image/png", Description: "A “grey” square\r\n--x"}
}

// R4.1: what is uploaded arrives whole, with its type and its text, and a post shows it by its ID; also where the server is too old for the newer address, or
// works on the image for a while.
func TestUploads(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		checks int
		old    bool
	}{"at once": {}, "later": {checks: 2}, "at an old server": {old: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, want := newServer(t, mastodontest.Options{ImageChecks: test.checks}), newImage(t)
			server.OnRequest(func(w http.ResponseWriter, r *http.Request) bool {
				if test.old && r.URL.Path == mediaPath {
					w.WriteHeader(http.StatusNotFound)
					return true
				}
				return false
			})
			client := newClient(t, server.URL)
			id, ready, err := client.Upload(t.Context(), want)
			if err != nil || ready != (test.checks == 0) {
				t.Fatalf("ready: %t, %v", ready, err)
			}
			for asked := 1; !ready; asked++ {
				if ready, err = client.Uploaded(t.Context(), id); err != nil || ready != (asked == test.checks) {
					t.Fatalf("ready: %t when it was asked for %d times, %v", ready, asked, err)
				}
			}
			if _, err := client.Deliver(t.Context(), "key", destination.Post{Text: "text", ImageID: id}); err != nil {
				t.Fatal(err)
			}
			got := server.Posts()[0].Images
			if diff := cmp.Diff([]mastodontest.Image{{ID: id, Type: want.Type, Description: want.Description, Content: want.Content}}, got); diff != "" {
				t.Errorf("images (-want +got):\n%s", diff)
			}
		})
	}
}

// R4.1: an answer that is none is no image.
func TestAnUploadWithoutAnIDIsNone(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]struct {
		status int
		body   string
	}{
		"nothing in it":      {200, `{}`},
		"a page":             {200, `<html>Starting</html>`},
		"an ID that is none": {200, `{"id":".."}`},
		"a long ID":          {200, `{"id":"` + strings.Repeat("1", 129) + `"}`},
		"not ready, no ID":   {202, `{}`},
		"another success":    {201, `{"id":"1"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(answer.status)
				_, _ = w.Write([]byte(answer.body))
			})
			if id, _, err := newClient(t, address).Upload(t.Context(), newImage(t)); err == nil {
				t.Errorf("it has the ID %q", id)
			}
		})
	}
}

// R4.1: which images a server takes is its own word, as far as it can be believed.
func TestLimitsOfImages(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]destination.Limits{
		`{}`: {},
		`{"image_size_limit":5000,"description_limit":420,"supported_mime_types":["image/png","video/mp4","image/x\ny"]}`: {
			MaxImageBytes: 5000, MaxDescription: 420, ImageTypes: []string{"image/png"},
		},
		`{"image_size_limit":-1,"description_limit":-1}`: {},
		`{"image_size_limit":99000000000}`:               {},
	} {
		address := serve(t, func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/api/v2/instance":
				_, _ = w.Write([]byte(`{"version":"4.4.0","configuration":{"media_attachments":` + said + `}}`))
			case "/api/v1/accounts/verify_credentials":
				_, _ = w.Write([]byte(`{"id":"1","acct":"press"}`))
			default:
				_, _ = w.Write([]byte(`[]`))
			}
		})
		account, err := newClient(t, address).Check(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		account.Limits.MaxCharacters, account.Limits.CharactersPerURL = 0, 0
		if diff := cmp.Diff(want, account.Limits); diff != "" {
			t.Errorf("limits by %s (-want +got):\n%s", said, diff)
		}
	}
}
