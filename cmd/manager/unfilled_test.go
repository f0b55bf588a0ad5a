// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// R3.14, R6.1: an operator that is told to stop before it has read what there is, because the API server does not let it or does not answer, has
// begun nothing, and ends at once.
func TestAnOperatorThatCannotReadAnythingEndsWhenItIsTold(t *testing.T) {
	t.Parallel()
	for name, answers := range map[string]http.HandlerFunc{
		"it may not": func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			rw.WriteHeader(http.StatusForbidden)
			_, _ = rw.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`))
		},
		"nobody answers": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		for how, flags := range map[string][]string{
			"alone":            nil,
			"among replicas":   {"--leader-elect", "--leader-election-namespace=default"},
			"with some shards": {"--leader-elect", "--leader-election-namespace=default", "--shards=2"},
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				namespace := server.Namespace(t)
				proxy := newAPIProxy(t)
				asked, once := make(chan struct{}), sync.Once{}
				front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
					if !strings.HasSuffix(r.URL.Path, "/feeditems") {
						proxy.ServeHTTP(rw, r)
						return
					}
					once.Do(func() { close(asked) })
					answers(rw, r)
				}))
				t.Cleanup(func() {
					front.CloseClientConnections()
					front.Close()
				})
				mine := slices.Clone(flags)
				for i := range mine {
					mine[i] = strings.Replace(mine[i], "=default", "="+namespace, 1)
				}
				manager := startWith(t, openKubeconfig(front.URL), namespace, mine...)
				select {
				case <-asked:
				case <-manager.gone:
					t.Fatalf("it ended by itself: %v", manager.err)
				}
				manager.end(t, syscall.SIGTERM)
			})
		}
	}
}
