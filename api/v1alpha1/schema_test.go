// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
)

// No bound and no expression of the schema is without a case above.
func TestEveryRuleOfTheSchemaIsTried(t *testing.T) {
	t.Parallel()
	tried, said := map[string]bool{}, map[string]bool{}
	for _, r := range allRules(t) {
		where := r.kind + " " + r.field
		tried[where] = true
		for _, bad := range r.invalid {
			said[where+": "+bad.says] = true
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(minimal)) {
		for where, schema := range bounded(kind, *schemaOf(t, kind)) {
			if !tried[where] {
				t.Errorf("%s has a bound, and no test tries it", where)
			}
			for _, expression := range schema.XValidations {
				if !said[where+": "+expression.Message] {
					t.Errorf("%s: no test is refused with %q", where, expression.Message)
				}
			}
		}
	}
}

// schemaOf returns the schema of a kind's CRD.
func schemaOf(t *testing.T, kind string) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	plural := map[string]string{"FeedMemory": "feedmemories"}[kind]
	if plural == "" {
		plural = strings.ToLower(kind) + "s"
	}
	name := v1alpha1.GroupVersion.Group + "_" + plural + ".yaml"
	text, err := os.ReadFile(filepath.Join(apitest.ModuleRoot(t), "config", "crd", "bases", name))
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		t.Fatal(err)
	}
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema
}

// bounded returns what is bounded in a schema, by its path. Conditions are Kubernetes' own, and
// what must not change is tried by TestAnItemsSpecNeverChanges.
func bounded(kind string, root apiextensionsv1.JSONSchemaProps) map[string]apiextensionsv1.JSONSchemaProps {
	found := map[string]apiextensionsv1.JSONSchemaProps{}
	var walk func(path string, schema apiextensionsv1.JSONSchemaProps)
	walk = func(path string, schema apiextensionsv1.JSONSchemaProps) {
		if path == "status.conditions[]" {
			return
		}
		s := schema.DeepCopy()
		s.XValidations = slices.DeleteFunc(s.XValidations, func(expression apiextensionsv1.ValidationRule) bool {
			return strings.Contains(expression.Rule, "oldSelf")
		})
		if s.Minimum != nil || s.Maximum != nil || s.MinLength != nil || s.MaxLength != nil || s.MaxItems != nil ||
			s.Pattern != "" || len(s.Enum) > 0 || len(s.XValidations) > 0 {
			found[kind+" "+path] = *s
		}
		for name, inner := range schema.Properties {
			walk(strings.TrimPrefix(path+"."+name, "."), inner)
		}
		if schema.Items != nil && schema.Items.Schema != nil {
			walk(path+"[]", *schema.Items.Schema)
		}
	}
	walk("", root)
	return found
}
