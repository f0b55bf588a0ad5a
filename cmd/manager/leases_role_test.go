// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/feed-operator/feed-operator/internal/apitest"
)

// rulesOf are the rules of a role of config/rbac, each about one verb on one kind of object.
func rulesOf(t *testing.T, file string) (rules []rbacv1.PolicyRule) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(apitest.ModuleRoot(t), "config", "rbac", file))
	if err != nil {
		t.Fatal(err)
	}
	var role rbacv1.Role
	if err := yaml.Unmarshal(text, &role); err != nil {
		t.Fatal(err)
	}
	for _, rule := range role.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{verb}})
				}
			}
		}
	}
	return rules
}

// let has a user follow rules in a namespace.
func let(t *testing.T, user, namespace, name string, rules []rbacv1.PolicyRule) {
	t.Helper()
	for _, object := range []client.Object{
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Rules: rules},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		},
	} {
		if err := server.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

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
	all := rulesOf(t, "leader_election_role.yaml")
	for missing := range len(all) + 1 {
		name := "with all of it"
		if missing < len(all) {
			if all[missing].APIGroups[0] == "events.k8s.io" {
				continue // for what the operator tells of itself where it works in other namespaces only, such as that writes are refused
			}
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
			let(t, user, work, "work", rulesOf(t, "role.yaml"))
			let(t, user, c.leases, "leases", rules)
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
						first.end(t, syscall.SIGTERM)
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
