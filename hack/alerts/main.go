// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command alerts writes config/prometheus/alerts.yaml: the template beside it, with the values beside it. It gives the template what Helm gives
// one of a chart, so that a chart can have the same.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"text/template"

	"sigs.k8s.io/yaml"
)

func main() {
	if err := run("config"); err != nil {
		fmt.Fprintln(os.Stderr, "alerts: "+err.Error())
		os.Exit(1)
	}
}

func run(config string) error {
	installed, err := read(filepath.Join(config, "default", "kustomization.yaml"))
	if err != nil {
		return err
	}
	namespace, _ := installed["namespace"].(string)
	if namespace == "" {
		return errors.New("config/default/kustomization.yaml says no namespace")
	}
	folder := filepath.Join(config, "prometheus")
	rendered, err := render(filepath.Join(folder, "alerts.yaml.tmpl"), filepath.Join(folder, "values.yaml"), namespace)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "alerts.yaml"), rendered, 0o644) //nolint:gosec // a file of the repository, for everybody
}

func read(file string) (content map[string]any, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal(text, &content); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return content, nil
}

// render fills a template for an operator that is installed in a namespace. A value that the template names and that is missing is an error.
func render(templateFile, valuesFile, namespace string) ([]byte, error) {
	values, err := read(valuesFile)
	if err != nil {
		return nil, err
	}
	parsed, err := template.New(filepath.Base(templateFile)).Option("missingkey=error").ParseFiles(templateFile)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = parsed.Execute(&out, map[string]any{"Values": values, "Release": map[string]any{"Namespace": namespace}})
	return out.Bytes(), err
}
