// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/feed-operator/feed-operator/internal/metrics"
)

// R5.2: each metric is documented, with its labels, and no other is.
func TestEachMetricIsDocumented(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	if err := metrics.New().Register(registry, metrics.Process{}); err != nil {
		t.Fatal(err)
	}
	described := make(chan *prometheus.Desc)
	go func() {
		registry.Describe(described)
		close(described)
	}()
	// A description does not give its parts, but prints them.
	parts := regexp.MustCompile(`fqName: "(\w+)".*variableLabels: \{([\w,]*)\}`)
	want := map[string]string{}
	for description := range described {
		found := parts.FindStringSubmatch(description.String())
		if found == nil {
			t.Fatalf("%s", description)
		}
		want[found[1]] = sortedNames(strings.Split(found[2], ","))
	}
	listed := map[string]string{}
	for _, row := range rows(t, "metrics.md", "Metric", "Type", "Labels", "What it says") {
		listed[strings.Trim(row[0], "`")] = sortedNames( // rows cuts the quotes at the ends
			regexp.MustCompile("`(\\w+)`").FindAllString("`"+row[2]+"`", -1))
		if row[1] == "" || row[3] == "" {
			t.Errorf("row %q", row)
		}
	}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("metrics.md (-the registry +the page):\n%s", diff)
	}
}

// sortedNames joins names that stand in code quotes, or not.
func sortedNames(names []string) string {
	for i := range names {
		names[i] = strings.Trim(names[i], "`")
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}
