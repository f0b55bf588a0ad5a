// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package preview_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/preview"
)

// hashes are what follows from a hash of the address, in which any two letters may come by chance: the end of an item's name, and its identity.
var hashes = regexp.MustCompile(`press-[a-z2-7]{13}\b|identity: [A-Za-z0-9+/=]{35}\b`)

// R5.6: what a URL holds of credentials is not shown, however short it is.
func TestCredentialsInURLsAreNotShown(t *testing.T) {
	t.Parallel()
	for name, credentials := range map[string]string{
		"a short password": "mallory:s3cret@", "one with an at sign": "mallory:s3@cret@", "a token for a name": "s3cret@", "one with a quote": "mallory:s3'cret@",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			web := feedtest.New(t)
			web.List(web.Entries("news", 1)...)
			web.OnRequest(func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path != "/feed.xml" || r.URL.Query().Has("new") {
					return false
				}
				if r.URL.Query().Has("broken") {
					w.WriteHeader(http.StatusNotFound)
					return true
				}
				http.Redirect(w, r, "/feed.xml?new=1&token=t0ken", http.StatusMovedPermanently)
				return true
			})
			withCredentials := strings.Replace(source(web, "allowInsecure: true"), "://", "://"+credentials, 1)
			withCredentials = strings.Replace(withCredentials, "/feed.xml", "/feed.xml?token=t0ken", 1)
			p := newPreviewer(t, withCredentials)
			said, err := show(t, p)
			if err != nil {
				t.Fatal(err)
			}
			mustContain(t, said, "Feed       "+web.FeedURL()+"\n", "for good, to "+web.FeedURL())
			var items strings.Builder
			if err := preview.WriteItems(t.Context(), &items, p, p.Objects.Sources(), "yaml"); err != nil {
				t.Fatal(err)
			}
			_, err = show(t, newPreviewer(t, strings.Replace(withCredentials, "?", "?broken=1&", 1)))
			if err == nil {
				t.Fatal("a feed that is not there was read")
			}
			shown := hashes.ReplaceAllString(said+items.String()+err.Error(), "")
			for _, part := range []string{"s3", "cret@", "t0ken", "mallory:"} {
				if strings.Contains(shown, part) {
					t.Errorf("%q is shown:\n%s\n%s\n%v", part, said, items.String(), err)
				}
			}
		})
	}
}
