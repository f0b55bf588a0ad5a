// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/internal/apitest"
)

// asUser is a way to the API server as a certain user, which notes what is forbidden.
type asUser struct {
	kubeconfig []byte

	mu        sync.Mutex
	forbidden []string
}

func newAsUser(t *testing.T, user string) *asUser {
	t.Helper()
	proxy, u := newAPIProxy(t), &asUser{}
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		r.Header.Set("Impersonate-User", user)
		proxy.ServeHTTP(&answers{ResponseWriter: rw, heard: func(code int) {
			if code == http.StatusForbidden {
				u.mu.Lock()
				defer u.mu.Unlock()
				u.forbidden = append(u.forbidden, r.Method+" "+r.URL.Path)
			}
		}}, r)
	}))
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	u.kubeconfig = openKubeconfig(front.URL)
	return u
}

func (u *asUser) denied() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.forbidden)
}

// answers hears with which code is answered.
type answers struct {
	http.ResponseWriter
	heard func(code int)
}

func (a *answers) WriteHeader(code int) {
	a.heard(code)
	a.ResponseWriter.WriteHeader(code)
}

// Unwrap is for http.ResponseController: watches are flushed.
func (a *answers) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// R6.2, R6.3: what the role of the leases gives is what replicas take that share shards and come and go: nothing is missing, and nothing is there for
// nothing. Without any one of its rules the API server forbids them something.
func TestTheRoleOfTheLeasesIsWhatReplicasTake(t *testing.T) {
	t.Parallel()
	all := apitest.Permissions(t, "leader_election_role.yaml")
	for missing := range len(all) + 1 {
		name := "with all of it"
		if missing < len(all) {
			name = fmt.Sprintf("without permission to %s %s", all[missing].Verbs[0], all[missing].Resources[0])
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &country{leases: server.Namespace(t)}
			work, user := server.Namespace(t), "replica-"+c.leases
			rules := slices.Clone(all)
			if missing < len(rules) {
				rules = slices.Delete(rules, missing, missing+1)
			}
			server.Allow(t, user, work, "work", apitest.Permissions(t, "role.yaml"))
			server.Allow(t, user, c.leases, "leases", rules)
			api := newAsUser(t, user)
			replica := func() *process {
				return startWith(t, api.kubeconfig, work, "--leader-elect", "--leader-election-namespace="+c.leases, "--shards=2")
			}
			enough := func(want ...int) bool {
				t.Helper()
				for late := time.After(patience); ; {
					if len(api.denied()) > 0 {
						return true
					}
					if got := c.spread(t, 2); slices.Equal(got, want) {
						return false
					}
					select {
					case <-time.After(100 * time.Millisecond):
					case <-late:
						t.Fatalf("replicas never hold %v", want)
					}
				}
			}
			first := replica()
			if !enough(2) {
				second := replica()
				if !enough(1, 1) {
					second.end(t, syscall.SIGTERM)
					if !enough(2) {
						first.end(t, syscall.SIGTERM) // which writes what is still to be told
					}
				}
			}
			switch denied := api.denied(); {
			case missing == len(all) && len(denied) > 0:
				t.Errorf("forbidden: %q", denied)
			case missing < len(all) && len(denied) == 0:
				t.Error("without it nothing was forbidden")
			}
		})
	}
}
