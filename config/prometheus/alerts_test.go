// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package prometheus_test holds the alerts against Prometheus' own tests of rules, which are in the folder tests.
package prometheus_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/promtest"
)

// tests are the files with the tests of the alerts, by the alert that each is about.
func tests(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("tests", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	about := map[string]string{}
	for _, file := range files {
		about[strings.TrimSuffix(filepath.Base(file), ".yaml")] = file
	}
	return about
}

// R5.3: each alert fires when it should, and not when it nearly should.
func TestAlertsFireWhenTheyShould(t *testing.T) {
	t.Parallel()
	promtest.Run(t, "check", "rules", "--lint=all", "--lint-fatal", promtest.RulesFile(t))
	for alert, file := range tests(t) {
		t.Run(alert, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			// Rules are named relative to the file of their tests.
			path := filepath.Join(t.TempDir(), filepath.Base(file))
			with := strings.Replace(string(text), "../alerts.yaml", promtest.RulesFile(t, alert), 1)
			if with == string(text) {
				t.Fatalf("%s tests other rules than ../alerts.yaml", file)
			}
			if err := os.WriteFile(path, []byte(some(t, with)), 0o600); err != nil {
				t.Fatal(err)
			}
			promtest.Run(t, "test", "rules", path)
		})
	}
}

// some is a file of tests as it is; in part, with two of those in which the alert fires, and two of those in which it does not: some go on for days.
func some(t *testing.T, file string) string {
	t.Helper()
	if portion.IsWhole() {
		return file
	}
	var parsed map[string]any
	if err := yaml.Unmarshal([]byte(file), &parsed); err != nil {
		t.Fatal(err)
	}
	var fires, near []any
	for _, test := range parsed["tests"].([]any) {
		if name, _ := test.(map[string]any)["name"].(string); strings.HasPrefix(name, "fires ") {
			fires = append(fires, test)
		} else {
			near = append(near, test)
		}
	}
	parsed["tests"] = append(portion.SomeOf(fires, 2), portion.SomeOf(near, 2)...)
	text, err := yaml.Marshal(parsed)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// R5.3: each alert has a test that makes it fire, and one that comes near and does not.
func TestEachAlertHasBothTests(t *testing.T) {
	t.Parallel()
	files := tests(t)
	for _, rule := range promtest.Rules(t) {
		text, err := os.ReadFile(files[rule.Alert])
		if err != nil {
			t.Errorf("%s has no tests: %v", rule.Alert, err)
			continue
		}
		delete(files, rule.Alert)
		var parsed struct {
			Tests []struct {
				Name    string `json:"name"`
				Queries []struct {
					Expr string `json:"expr"`
					Want []any  `json:"exp_samples"`
				} `json:"promql_expr_test"`
			} `json:"tests"`
		}
		if err := yaml.Unmarshal(text, &parsed); err != nil {
			t.Fatal(err)
		}
		fires, near := 0, 0
		for _, test := range parsed.Tests {
			fired := 0
			for _, query := range test.Queries {
				if strings.Contains(query.Expr, `ALERTS{alertname="`+rule.Alert+`",alertstate="firing"}`) && len(query.Want) > 0 {
					fired++
				}
			}
			switch {
			case strings.HasPrefix(test.Name, "fires ") && fired > 0:
				fires++
			case strings.HasPrefix(test.Name, "does not fire ") && fired == 0 && len(test.Queries) > 0:
				near++
			default:
				t.Errorf("%s: %q fires %d times", rule.Alert, test.Name, fired)
			}
		}
		if fires == 0 || near == 0 {
			t.Errorf("%s has %d tests in which it fires, and %d in which it does not", rule.Alert, fires, near)
		}
	}
	for alert := range files {
		t.Errorf("there is no alert %s", alert)
	}
}

// R5.3: each alert says how bad it is, what that means and for whom, and where it is written what to do.
func TestAlertsSayWhatTheyMean(t *testing.T) {
	t.Parallel()
	severities := map[string]bool{"warning": true, "critical": true}
	for _, rule := range promtest.Rules(t) {
		if !severities[rule.Labels["severity"]] || len(rule.Labels) != 1 {
			t.Errorf("%s has the labels %v", rule.Alert, rule.Labels)
		}
		for _, annotation := range []string{"summary", "description"} {
			if text := rule.Annotations[annotation]; !strings.HasSuffix(text, ".") || strings.Contains(text, "\n") {
				t.Errorf("%s: %s %q", rule.Alert, annotation, text)
			}
		}
		page := regexp.MustCompile(`/docs/runbooks/(\w+)\.md$`).FindStringSubmatch(rule.Annotations["runbook_url"])
		if page == nil || page[1] != rule.Alert {
			t.Errorf("%s: runbook %q", rule.Alert, rule.Annotations["runbook_url"])
			continue
		}
		if _, err := os.Stat(filepath.Join("..", "..", "docs", "runbooks", page[1]+".md")); err != nil {
			t.Error(err)
		}
	}
}
