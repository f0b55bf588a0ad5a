// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
)

// person may do in a namespace what a role of config/rbac gives, and nothing else.
func person(t *testing.T, file, namespace string) string {
	t.Helper()
	user := strings.TrimSuffix(file, ".yaml") + "-" + namespace
	server.Allow(t, user, namespace, user, apitest.Permissions(t, file))
	return user
}

// may asks the API server whether a user may do something, such as "patch feeditems/status".
func may(ctx context.Context, user, namespace, what string) (bool, error) {
	verb, resource, _ := strings.Cut(what, " ")
	resource, subresource, _ := strings.Cut(resource, "/")
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: verb, Group: v1alpha1.GroupVersion.Group, Resource: resource, Subresource: subresource,
		},
	}}
	if resource == "secrets" {
		review.Spec.ResourceAttributes.Group = ""
	}
	err := server.Client.Create(ctx, review)
	return review.Status.Allowed, err
}

// R3.7, R5.6, R6.2: who views a namespace sees its feeds, who edits it sets them up; items and
// memories are made by the operator alone, and no status is anybody else's to write.
func TestWhatPeopleMayDo(t *testing.T) {
	t.Parallel()
	namespace := server.Namespace(t)
	viewer, editor := person(t, "feeds_viewer_role.yaml", namespace), person(t, "feeds_editor_role.yaml", namespace)
	read := []string{"get", "list", "watch"}
	write := []string{"create", "update", "patch", "delete", "deletecollection"}
	editable := map[string][]string{
		"feedsources": write, "aiproviders": write, "feeddestinations": write,
		"feeditems":    {"patch", "delete", "deletecollection"}, // a retry is an annotation
		"feedmemories": {"delete"},
	}
	wantViewer, wantEditor := map[string]bool{}, map[string]bool{}
	for resource, verbs := range editable {
		for _, verb := range write {
			wantViewer[verb+" "+resource], wantEditor[verb+" "+resource] = false, false
			wantViewer[verb+" "+resource+"/status"], wantEditor[verb+" "+resource+"/status"] = false, false
		}
		for _, verb := range read {
			wantViewer[verb+" "+resource], wantEditor[verb+" "+resource] = true, true
		}
		for _, verb := range verbs {
			wantEditor[verb+" "+resource] = true
		}
	}
	for _, verb := range append(read, write...) {
		wantViewer[verb+" secrets"], wantEditor[verb+" secrets"] = false, false // these roles add nothing there
	}
	for user, want := range map[string]map[string]bool{viewer: wantViewer, editor: wantEditor} {
		for what, allowed := range want {
			got, err := may(t.Context(), user, namespace, what)
			if err != nil {
				t.Fatal(err)
			}
			if got != allowed {
				t.Errorf("%s: may %s is %t", user, what, got)
			}
			if other, err := may(t.Context(), user, metav1.NamespaceDefault, what); err != nil || other {
				t.Errorf("%s: may %s in another namespace is %t, %v", user, what, other, err)
			}
		}
	}
}

// R3.7, R5.6: the same with real requests: a person sets a destination up, and cannot make the operator
// believe that something was posted.
func TestAnEditorSetsUpDestinationsAndWritesNoStatus(t *testing.T) {
	t.Parallel()
	namespace := server.Namespace(t)
	config := rest.CopyConfig(server.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: person(t, "feeds_editor_role.yaml", namespace)}
	editor, err := client.New(config, client.Options{Scheme: apitest.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	destination := &v1alpha1.FeedDestination{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "mastodon"}}
	destination.Spec.Mastodon = &v1alpha1.MastodonDestination{Server: mastodonServer, SecretRef: v1alpha1.SecretReference{Name: "mastodon"}}
	if err := editor.Create(t.Context(), destination); err != nil {
		t.Fatal(err)
	}
	item := fullItem(namespace, "It rains.")
	create(t, item, func() { item.Status = fullStatus() })
	for name, test := range map[string]struct {
		object client.Object
		patch  string
	}{
		"a destination": {destination, `{"status":{"delivered":9}}`},
		"an item":       {item, `{"status":{"phase":"Processed","deliveries":[]}}`},
	} {
		patch := client.RawPatch(types.MergePatchType, []byte(test.patch))
		if err := editor.Status().Patch(t.Context(), test.object, patch); !apierrors.IsForbidden(err) {
			t.Errorf("patching the status of %s: %v", name, err)
		}
		if err := editor.Patch(t.Context(), test.object, patch); err != nil {
			t.Errorf("patching %s: %v", name, err)
		}
	}
	annotation := fmt.Sprintf(`{"metadata":{"annotations":{%q:"1"}}}`, v1alpha1.AnnotationRetry)
	if err := editor.Patch(t.Context(), item, client.RawPatch(types.MergePatchType, []byte(annotation))); err != nil {
		t.Errorf("asking for a retry: %v", err)
	}
	if err := editor.Patch(t.Context(), destination, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"suspend":true}}`))); err != nil {
		t.Errorf("suspending a destination: %v", err)
	}
	if item.Status.Phase != v1alpha1.PhaseDeferred || len(item.Status.Deliveries) != 2 || destination.Status.Delivered != 0 || !destination.Spec.Suspend {
		t.Errorf("item is %s with %d deliveries, destination: %+v", item.Status.Phase, len(item.Status.Deliveries), destination)
	}
}
