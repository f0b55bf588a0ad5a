// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// R3.14: each time that is written down is listed, with what bounds it.
func TestEveryTimeThatIsWrittenDownHasABound(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "config", "crd", "bases", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	want := map[string]bool{"day": true} // a date, as text
	for _, file := range files {
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal([]byte(read(t, file)), &definition); err != nil {
			t.Fatal(err)
		}
		for _, version := range definition.Spec.Versions {
			addTimes("", version.Schema.OpenAPIV3Schema, want)
		}
	}
	listed := map[string]bool{}
	for _, row := range rows(t, "development.md", "time", "of", "at most", "one that is later") {
		for _, name := range regexp.MustCompile(`\w+`).FindAllString(row[0], -1) {
			listed[name] = true
		}
		if slices.Contains(row, "") {
			t.Errorf("row %q", row)
		}
	}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("times (-written down +listed):\n%s", diff)
	}
}

// addTimes adds the names of the properties that are times.
func addTimes(name string, schema *apiextensionsv1.JSONSchemaProps, to map[string]bool) {
	if schema.Format == "date-time" {
		to[name] = true
	}
	for property := range schema.Properties {
		inner := schema.Properties[property]
		addTimes(property, &inner, to)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		addTimes(name, schema.Items.Schema, to)
	}
}
