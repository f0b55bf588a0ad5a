// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/feed-operator/feed-operator/internal/apitest"
)

// R6.2: a source from before the bound of spec.article.maxBytes was lowered goes on after an upgrade: its status is
// written, and its spec may be changed elsewhere; only a new value must keep the bound, and the answer says which it is.
func TestASourceFromBeforeABoundWasLoweredGoesOn(t *testing.T) {
	t.Parallel()
	const group = "upgrade.example.org" // a copy of the kind, because other tests use the kind itself
	text, err := os.ReadFile(filepath.Join(apitest.ModuleRoot(t), "config", "crd", "bases", "feeds.feed-operator.io_feedsources.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	define := func(maximum string) *unstructured.Unstructured {
		crd := &unstructured.Unstructured{}
		changed := strings.NewReplacer("feeds.feed-operator.io", group, "maximum: 10485760", "maximum: "+maximum).Replace(string(text))
		if err := yaml.Unmarshal([]byte(changed), &crd.Object); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"shortNames", "categories"} { // and those of the kind itself stay its own
			unstructured.RemoveNestedField(crd.Object, "spec", "names", name)
		}
		return crd
	}
	c, ctx := server.Client, t.Context()
	crd := define("52428800")
	if err := c.Create(ctx, crd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Delete(context.WithoutCancel(ctx), crd) })
	source := func() *unstructured.Unstructured {
		object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
			"url": "https://example.org/feed", "article": map[string]any{"maxBytes": int64(50 << 20)},
		}}}
		object.SetAPIVersion(group + "/v1alpha1")
		object.SetKind("FeedSource")
		object.SetName("old")
		return object
	}
	old := source()
	old.SetNamespace(server.Namespace(t))
	apitest.Eventually(t, func(ctx context.Context) error { return c.Create(ctx, old) })

	lowered := define("10485760")
	lowered.SetResourceVersion(crd.GetResourceVersion())
	apitest.Eventually(t, func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(crd), crd); err != nil {
			return err
		}
		lowered.SetResourceVersion(crd.GetResourceVersion())
		return c.Update(ctx, lowered)
	})
	fresh := source() // the new bound is in force
	apitest.Eventually(t, func(ctx context.Context) error {
		fresh.SetNamespace(old.GetNamespace())
		fresh.SetName("")
		fresh.SetGenerateName("new-")
		err := c.Create(ctx, fresh.DeepCopy())
		if err == nil || !strings.Contains(err.Error(), "should be less than or equal to 10485760") {
			return fmt.Errorf("a larger value is taken, or refused for something else: %w", err)
		}
		return nil
	})
	merge := func(patch string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(patch)) }
	if err := c.Status().Patch(ctx, old.DeepCopy(), merge(`{"status":{"title":"News"}}`)); err != nil {
		t.Errorf("its status cannot be written: %v", err)
	}
	if err := c.Patch(ctx, old.DeepCopy(), merge(`{"spec":{"suspend":true}}`)); err != nil {
		t.Errorf("its spec cannot be changed elsewhere: %v", err)
	}
	if err := c.Patch(ctx, old.DeepCopy(), merge(`{"spec":{"article":{"maxBytes":41943040}}}`)); err == nil || !strings.Contains(err.Error(), "10485760") {
		t.Errorf("a new value above the bound: %v", err)
	}
}
