// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/filter"
)

var expressionGiven = regexp.MustCompile("expression: ([^`\n]+)")

// R1.8: whoever copies an expression from these pages or the samples has one that works.
func TestExpressionsAreRight(t *testing.T) {
	t.Parallel()
	texts := pages(t)
	samples, err := filepath.Glob(filepath.Join("..", "config", "samples", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range samples {
		texts[name] = read(t, name)
	}
	found := 0
	for name, text := range texts {
		for _, given := range expressionGiven.FindAllString(text, -1) {
			if strings.HasSuffix(name, ".md") {
				given = strings.ReplaceAll(given, `\|`, "|") // in a table
			}
			tried := v1alpha1.EntryFilter{Name: "f", Action: v1alpha1.FilterDrop}
			if err := yaml.Unmarshal([]byte(given), &tried); err != nil {
				t.Errorf("%s: %s: %v", name, given, err)
				continue
			}
			if _, err := filter.Compile([]v1alpha1.EntryFilter{tried}); err != nil {
				t.Errorf("%s: %s: %v", name, given, err)
			}
			found++
		}
	}
	if found < 10 {
		t.Errorf("%d expressions were found", found)
	}
}
