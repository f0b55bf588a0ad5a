// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package promtest gives tests what Prometheus makes of metrics: the alerts that come with the operator, and any query, on series that a test writes or
// scrapes. It is Prometheus' own promtool that evaluates them; `make test` builds it.
package promtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/feed-operator/feed-operator/internal/tooltest"
)

// Tool is the path of promtool: that of the environment variable PROMTOOL, or what make has built last. It fails the test where there is none.
func Tool(t *testing.T) string {
	t.Helper()
	tool := tooltest.Path(t, "promtool")
	if tool == "" {
		t.Fatal("there is no promtool: run the tests by `make test`, or `make promtool` once before")
	}
	return tool
}

// Rule is one alert.
type Rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// File is where the alerts that come with the operator are, in the repository.
var File = filepath.Join("config", "prometheus", "alerts.yaml")

// Rules are the alerts that come with the operator.
func Rules(t *testing.T) []Rule {
	t.Helper()
	var rule struct {
		Spec struct {
			Groups []struct {
				Rules []Rule `json:"rules"`
			} `json:"groups"`
		} `json:"spec"`
	}
	text, err := os.ReadFile(filepath.Join(tooltest.ModuleRoot(t), File))
	if err == nil {
		err = yaml.Unmarshal(text, &rule)
	}
	if err != nil {
		t.Fatal(err)
	}
	var all []Rule
	for _, group := range rule.Spec.Groups {
		all = append(all, group.Rules...)
	}
	if len(all) == 0 {
		t.Fatalf("%s has no alerts", File)
	}
	return all
}

// RulesFile writes the alerts that come with the operator, or only those that are named, as Prometheus itself reads them, without what the Prometheus
// Operator has around them. It returns the path.
func RulesFile(t *testing.T, alerts ...string) string {
	t.Helper()
	rules := slices.DeleteFunc(Rules(t), func(rule Rule) bool { return len(alerts) > 0 && !slices.Contains(alerts, rule.Alert) })
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "feed-operator", "rules": rules}}})
	path := filepath.Join(t.TempDir(), "rules.yaml")
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Run runs promtool, and fails the test where that finds something wrong.
func Run(t *testing.T, arguments ...string) {
	t.Helper()
	if said, err := try(t, arguments...); err != nil {
		t.Errorf("promtool: %v\n%s", err, said)
	}
}

func try(t *testing.T, arguments ...string) (said []byte, err error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), Tool(t), arguments...) //nolint:gosec // the tool that make has built
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	command.Env = append(os.Environ(), "GOGC=400") // it ends in a moment, and takes memory rather than time
	err = command.Run()
	return out.Bytes(), err
}
