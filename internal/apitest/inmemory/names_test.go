// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package inmemory_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/apitest/inmemory"
)

// Names are drawn, and one that is taken already is drawn anew, a few times, as by the real one. There it takes luck, of which a thousand namespaces have some.
func TestANameIsGeneratedThatIsFree(t *testing.T) {
	t.Parallel()
	server, err := inmemory.New(filepath.Join(apitest.ModuleRoot(t), "config", "crd", "bases"))
	if err != nil {
		t.Fatal(err)
	}
	drawn := 0
	draw := func(same int) {
		drawn = 0
		server.Suffix = func() string {
			drawn++
			return fmt.Sprint(drawn / (same + 1))
		}
	}
	playedAt(t, server.Config(), func(s *script) {
		named := item("", of("generateName", "news-"), "")
		draw(7)
		for _, want := range []string{"news-0", "news-1"} {
			if name := text(s.silent(http.MethodPost, items, named), "metadata", "name"); name != want {
				t.Errorf("%q, not %q", name, want)
			}
			drawn = 0
		}
		draw(8)
		code, _, refused := s.do(http.MethodPost, items, named)
		if code != http.StatusConflict || text(refused, "reason") != "AlreadyExists" || drawn != 8 ||
			!strings.Contains(text(refused, "message"), "not able to generate a unique name") {
			t.Errorf("after %d: %d %v", drawn, code, refused)
		}
	})
}
