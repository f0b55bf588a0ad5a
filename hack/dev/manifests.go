// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/hack/dev/samplefeeds"
)

// fieldOwner is the name under which objects are applied.
const fieldOwner = client.FieldOwner("feed-operator-dev")

// The kinds of what is read, of who summarizes it and where that goes, and of what they are called with.
const (
	kindSource      = "FeedSource"
	kindProvider    = "AIProvider"
	kindDestination = "FeedDestination"
	kindSecret      = "Secret"
)

// kindsInOrder are the kinds that others depend on, first: what is applied after them finds them there.
var kindsInOrder = []string{"Namespace", kindSecret, kindProvider, kindDestination}

// readObjects reads the samples, and the manifests that were asked for, in the order in which they are
// applied.
func (w *world) readObjects() ([]*unstructured.Unstructured, error) {
	var own []*unstructured.Unstructured
	for _, name := range w.options.run.sources {
		objects, err := readManifest(w.options.path(name), w.feeds.Base)
		if err != nil {
			return nil, err
		}
		own = append(own, objects...)
	}
	samples, err := w.readSamples(own)
	if err != nil {
		return nil, err
	}
	objects := slices.Concat(samples, own)
	rank := func(object *unstructured.Unstructured) int {
		if at := slices.Index(kindsInOrder, object.GetKind()); at >= 0 {
			return at
		}
		return len(kindsInOrder)
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return rank(a) - rank(b) })
	return objects, nil
}

// applyObjects applies objects, and returns the FeedSources among them.
func (w *world) applyObjects(ctx context.Context, objects []*unstructured.Unstructured) ([]client.ObjectKey, error) {
	var sources []client.ObjectKey
	for _, object := range objects {
		if err := w.apply(ctx, object); err != nil {
			return nil, fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		if object.GetKind() == kindSource {
			sources = append(sources, client.ObjectKeyFromObject(object))
		}
	}
	if len(sources) == 0 {
		return nil, errors.New("the manifests hold no FeedSource")
	}
	return sources, nil
}

// readManifest reads the objects of a file. Where the sample feeds are served at another port than
// the manifests say, their URLs are changed.
func readManifest(name, feeds string) ([]*unstructured.Unstructured, error) {
	text, err := os.ReadFile(filepath.Clean(name))
	if err != nil {
		return nil, err
	}
	text = bytes.ReplaceAll(text, []byte(samplefeeds.DefaultBase+"/"), []byte(feeds+"/"))

	var objects []*unstructured.Unstructured
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := documents.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

func (w *world) apply(ctx context.Context, object *unstructured.Unstructured) error {
	namespaced, err := w.client.IsObjectNamespaced(object)
	if err != nil {
		return err
	}
	if namespaced && object.GetNamespace() == "" {
		object.SetNamespace(metav1.NamespaceDefault)
	}
	return w.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), fieldOwner, client.ForceOwnership)
}

// grant gives the operator the role that it has in a cluster: what is missing there is missed here.
func (w *world) grant(ctx context.Context, role string) error {
	objects, err := readManifest(role, samplefeeds.DefaultBase)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := w.apply(ctx, object); err != nil {
			return fmt.Errorf("apply %s: %w", filepath.Base(role), err)
		}
		if !strings.HasSuffix(object.GetKind(), "Role") {
			continue
		}
		err := w.client.Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: object.GetName()},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: object.GetKind(), Name: object.GetName()},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: operatorUser}},
		})
		if err != nil {
			return fmt.Errorf("bind %s: %w", object.GetName(), err)
		}
	}
	return nil
}
