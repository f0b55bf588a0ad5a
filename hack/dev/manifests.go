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

// applySources applies the manifests that were asked for, or the samples, and returns the FeedSources
// among them.
func (w *world) applySources(ctx context.Context) ([]client.ObjectKey, error) {
	names := w.options.run.sources
	if len(names) == 0 {
		samples, err := filepath.Glob(filepath.Join(w.options.root, "config", "samples", "*.yaml"))
		if err != nil {
			return nil, err
		}
		names = slices.DeleteFunc(samples, func(name string) bool { return filepath.Base(name) == "kustomization.yaml" })
	}
	var sources []client.ObjectKey
	for _, name := range names {
		objects, err := readManifest(w.options.path(name), w.feeds.Base)
		if err != nil {
			return nil, err
		}
		for _, object := range objects {
			if err := w.apply(ctx, object); err != nil {
				return nil, fmt.Errorf("apply %s of %s: %w", object.GetKind(), filepath.Base(name), err)
			}
			if object.GetKind() == "FeedSource" {
				sources = append(sources, client.ObjectKeyFromObject(object))
			}
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
