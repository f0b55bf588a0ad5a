// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package inmemory_test

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/apitest/inmemory"
)

// R4.4: what a post is known by comes of an UID. Two clusters never give the same one, or what is moved from one to the other could not be told from what
// is made there.
func TestTwoClustersGiveNoUIDTwice(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, cluster := range []string{"one", "another"} {
		server, err := inmemory.New(filepath.Join(apitest.ModuleRoot(t), "config", "crd", "bases"))
		if err != nil {
			t.Fatal(err)
		}
		playedAt(t, server.Config(), func(s *script) {
			for _, name := range []string{"a", "b"} {
				uid := text(s.silent(http.MethodPost, items, item(name, "", "")), "metadata", "uid")
				if other, twice := seen[uid]; twice || uid == "" {
					t.Errorf("%s in %s has the UID %q of %s", name, cluster, uid, other)
				}
				seen[uid] = name + " in " + cluster
			}
		})
	}
}
