// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// Permissions are what a role of config/rbac gives, each a rule about one verb on one kind of object.
func Permissions(t *testing.T, file string) (all []rbacv1.PolicyRule) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(ModuleRoot(t), "config", "rbac", file))
	if err != nil {
		t.Fatal(err)
	}
	var role rbacv1.ClusterRole // or a Role, which lacks only a field of it
	if err := yaml.UnmarshalStrict(text, &role); err != nil {
		t.Fatal(err)
	}
	for _, rule := range role.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					all = append(all, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{verb}})
				}
			}
		}
	}
	return all
}

// Allow gives a user, by a role of that name, permissions in a namespace, and waits until they are in force: the API server learns of roles a moment later.
func (s *Server) Allow(t *testing.T, user, namespace, role string, permissions []rbacv1.PolicyRule) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: role}
	for _, object := range []client.Object{
		&rbacv1.Role{ObjectMeta: meta, Rules: permissions},
		&rbacv1.RoleBinding{
			ObjectMeta: meta,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		},
	} {
		if err := s.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	first := permissions[0]
	Eventually(t, func(ctx context.Context) error {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Group: first.APIGroups[0], Resource: first.Resources[0], Verb: first.Verbs[0],
			},
		}}
		if err := s.Client.Create(ctx, review); err != nil || !review.Status.Allowed {
			return errors.Join(err, errors.New("the role is not in force"))
		}
		return nil
	})
}
