// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/tooltest"
)

// whole are values that are given on as they are, so that they count as one.
var whole = map[string]bool{"resources": true, "serviceMonitor.tlsConfig": true, "grafanaDashboard.labels": true, "prometheusRule.alerts": true}

// leaves are the paths of values, such as image.tag.
func leaves(at string, values map[string]any) []string {
	var paths []string
	for name, value := range values {
		path := strings.TrimPrefix(at+"."+name, ".")
		if below, is := value.(map[string]any); is && len(below) > 0 && !whole[path] {
			paths = append(paths, leaves(path, below)...)
		} else {
			paths = append(paths, path)
		}
	}
	return paths
}

// has reports whether values say something about a path, and takes it out of them.
func has(values map[string]any, path string) bool {
	name, rest, more := strings.Cut(path, ".")
	value, there := values[name]
	if below, is := value.(map[string]any); more && is {
		return has(below, rest)
	}
	delete(values, name)
	return there && !more
}

// R6.2: no value does nothing: each is set by one of the cases, which would be rendered otherwise without it.
func TestEachValueDoesSomething(t *testing.T) {
	t.Parallel()
	tooltest.Need(t, "helm")
	valuesOf := func(file string) map[string]any {
		t.Helper()
		var values map[string]any
		text, err := os.ReadFile(file)
		if err == nil {
			err = yaml.Unmarshal(text, &values)
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		return values
	}
	sets := map[string][]string{}
	for _, file := range cases(t) {
		for _, path := range leaves("", valuesOf("values.yaml")) {
			if has(valuesOf(file), path) {
				sets[path] = append(sets[path], file)
			}
		}
	}
	all := leaves("", valuesOf("values.yaml"))
	for _, path := range all {
		if len(sets[path]) == 0 {
			t.Errorf("no case sets %s", path)
		}
	}
	for _, path := range portion.SomeOf(slices.Sorted(maps.Keys(sets)), 8) {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			for _, file := range sets[path] {
				without := valuesOf(file)
				has(without, path)
				text, err := yaml.Marshal(without)
				other := filepath.Join(t.TempDir(), "values.yaml")
				if err == nil {
					err = os.WriteFile(other, text, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
				out, err := tryRender(t, "feeds", "--values="+other)
				// The chart may refuse what is left, such as a page for everybody who comes without signing in.
				if err != nil && !strings.Contains(err.Error(), "execution error at") {
					t.Fatal(err)
				}
				if err != nil || out != rendered(t, "feeds", "--values="+file) {
					return
				}
			}
			t.Errorf("it changes nothing in %s", sets[path])
		})
	}
}
