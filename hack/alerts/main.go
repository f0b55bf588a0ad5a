// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command alerts writes config/prometheus/alerts.yaml: the template beside it, with the values beside it. It gives the template what Helm gives
// one of a chart, so that a chart can have the same.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"text/template"

	"sigs.k8s.io/yaml"
)

// namespace is that of config/default, in which the operator is installed.
const namespace = "feed-operator-system"

func main() {
	if err := run(filepath.Join("config", "prometheus")); err != nil {
		fmt.Fprintln(os.Stderr, "alerts: "+err.Error())
		os.Exit(1)
	}
}

func run(folder string) error {
	rendered, err := render(filepath.Join(folder, "alerts.yaml.tmpl"), filepath.Join(folder, "values.yaml"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "alerts.yaml"), rendered, 0o644) //nolint:gosec // a file of the repository, for everybody
}

// render fills a template. A value that it names and that is missing is an error.
func render(templateFile, valuesFile string) ([]byte, error) {
	text, err := os.ReadFile(valuesFile)
	if err != nil {
		return nil, err
	}
	var values map[string]any
	if err := yaml.Unmarshal(text, &values); err != nil {
		return nil, fmt.Errorf("%s: %w", valuesFile, err)
	}
	parsed, err := template.New(filepath.Base(templateFile)).Option("missingkey=error").ParseFiles(templateFile)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = parsed.Execute(&out, map[string]any{"Values": values, "Release": map[string]any{"Namespace": namespace}})
	return out.Bytes(), err
}
