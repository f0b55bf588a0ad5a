// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

var folder = filepath.Join("..", "..", "config", "prometheus")

// rendered fills the template of the alerts with values.
func rendered(t *testing.T, values map[string]any) ([]byte, error) {
	t.Helper()
	text, err := yaml.Marshal(values)
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return render(filepath.Join(folder, "alerts.yaml.tmpl"), file, "feed-operator-system")
}

// alertValues are those of values.yaml, a copy for each caller.
func alertValues(t *testing.T) (values, alerts map[string]any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "values.yaml"))
	if err == nil {
		err = yaml.Unmarshal(text, &values)
	}
	if err != nil {
		t.Fatal(err)
	}
	alerts, _ = values["alerts"].(map[string]any)
	return values, alerts
}

// R5.3: each threshold is a value that does what it says, and one that is missing is said.
func TestEachValueIsUsed(t *testing.T) {
	t.Parallel()
	values, alerts := alertValues(t)
	before, err := rendered(t, values)
	if err != nil {
		t.Fatal(err)
	}
	if committed, err := os.ReadFile(filepath.Join(folder, "alerts.yaml")); err != nil || !bytes.Equal(before, committed) {
		t.Errorf("alerts.yaml is not what `make generate` makes of its values: %v", err)
	}
	changed := func(where string, of map[string]any, key string) {
		was := of[key]
		of[key] = "another"
		if after, err := rendered(t, values); err != nil || bytes.Equal(before, after) {
			t.Errorf("another %s changes nothing: %v", where, err)
		}
		delete(of, key)
		if _, err := rendered(t, values); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("without %s: %v", where, err)
		}
		of[key] = was
	}
	for _, alert := range slices.Sorted(maps.Keys(alerts)) {
		of, nested := alerts[alert].(map[string]any)
		if !nested {
			changed(alert, alerts, alert)
		}
		for _, key := range slices.Sorted(maps.Keys(of)) {
			changed(alert+"."+key, of, key)
		}
	}
}
