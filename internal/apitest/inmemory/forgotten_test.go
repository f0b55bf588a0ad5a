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

// Changes are not remembered for ever. Who wants to go on after one that is forgotten is told to list anew, as by the real one, where it takes minutes.
func TestAWatchOfWhatIsForgottenIsRefused(t *testing.T) {
	t.Parallel()
	server, err := inmemory.New(filepath.Join(apitest.ModuleRoot(t), "config", "crd", "bases"))
	if err != nil {
		t.Fatal(err)
	}
	server.Kept = 10
	playedAt(t, server.Config(), func(s *script) {
		const more = 30
		first := versionOf(s.silent(http.MethodPost, items, item("a", "", "")))
		var last string
		for n := range more {
			last = versionOf(s.silent(http.MethodPatch, items+"/a", fmt.Sprintf(`{"metadata":{"annotations":{"n":"%d"}}}`, n), merge))
		}
		code, _, refused := s.do(http.MethodGet, items+"?watch=true&resourceVersion="+first, "")
		if code != http.StatusGone || text(refused, "reason") != "Expired" || !strings.HasPrefix(text(refused, "message"), "too old resource version") {
			t.Errorf("%d %v", code, refused)
		}
		w := s.watch(items, "", last)
		s.silent(http.MethodDelete, items+"/a", "")
		w.next(1)
		if !strings.Contains(s.heard.String(), "DELETED") {
			t.Error(s.heard.String())
		}
	})
}
