// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chart_test holds the Helm chart against the manifests of config/default, a real API server and the operator itself.
package chart_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	corev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/tooltest"
)

var server *apitest.Server

func TestMain(m *testing.M) { os.Exit(apitest.Run(m, &server)) }

// home is the namespace into which kustomize installs, and tests where it does not matter.
const home = "feed-operator-system"

// cases are the files of values in testdata, by their name.
func cases(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "*.yaml"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	named := map[string]string{}
	for _, file := range files {
		named[strings.TrimSuffix(filepath.Base(file), ".yaml")] = file
	}
	return named
}

// rendered is what the chart makes of a release in the namespace home.
func rendered(t *testing.T, release string, arguments ...string) string {
	t.Helper()
	text, err := tryRender(t, release, arguments...)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// tryRender is rendered for what helm may refuse.
func tryRender(t *testing.T, release string, arguments ...string) (string, error) {
	t.Helper()
	return tooltest.Try(t, "helm", "", append([]string{"template", release, ".", "--namespace=" + home}, arguments...)...)
}

// kustomized is what kubectl makes of a folder below config.
func kustomized(t *testing.T, folder string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join(server.Assets, "kubectl"), "kustomize", filepath.Join("..", folder))
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// objects are those of a text with many, by kind and name.
func objects(t *testing.T, text string) map[string]*unstructured.Unstructured {
	t.Helper()
	all := map[string]*unstructured.Unstructured{}
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), len(text)+1)
	for {
		object := &unstructured.Unstructured{}
		switch err := decoder.Decode(object); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatalf("%v in\n%s", err, text)
		case len(object.Object) == 0:
			continue
		}
		key := object.GetKind() + " " + object.GetName()
		if object.GetKind() == "Role" || object.GetKind() == "RoleBinding" {
			key += " in " + object.GetNamespace()
		}
		if all[key] != nil {
			t.Errorf("%s is there twice", key)
		}
		all[key] = object
	}
}

// only returns the one object of a kind.
func only(t *testing.T, of map[string]*unstructured.Unstructured, kind string, into any) {
	t.Helper()
	var found []*unstructured.Unstructured
	for _, object := range of {
		if object.GetKind() == kind {
			found = append(found, object)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d objects of the kind %s", len(found), kind)
	}
	text, err := json.Marshal(found[0])
	if err == nil {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		err = decoder.Decode(into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// kubeconfig is a file by which the API server is reached as an administrator.
func kubeconfig(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, server.Kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// namespace makes a namespace unless it is there.
func namespace(t *testing.T, name string) {
	t.Helper()
	if err := server.Client.Apply(t.Context(), corev1.Namespace(name), client.FieldOwner("chart-test")); err != nil {
		t.Fatal(err)
	}
}

// withMonitoring installs the kinds of the Prometheus Operator.
func withMonitoring(t *testing.T) {
	t.Helper()
	folder := tooltest.Need(t, "monitoring-crds")
	if _, err := apitest.InstallKinds(server.Config, folder); err != nil {
		t.Fatal(err)
	}
}

// schemas writes what the API server publishes of all its kinds as files for kubeconform, and returns where they are. A field that is not published is
// an error there.
func schemas(t *testing.T) string {
	t.Helper()
	published, err := discovery.NewDiscoveryClientForConfig(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	var versions map[string]openapi.GroupVersion
	apitest.Eventually(t, func(context.Context) (err error) { // new kinds are published a moment after they are accepted
		versions, err = published.OpenAPIV3().Paths()
		if err == nil && versions["apis/monitoring.coreos.com/v1"] == nil {
			err = errors.New("ServiceMonitors are not published yet")
		}
		return err
	})
	folder, written := t.TempDir(), 0
	for path, version := range versions {
		if !strings.Contains(path, "/v1") { // no object of ours is of an older version
			continue
		}
		text, err := version.Schema("application/json")
		if err != nil {
			t.Fatal(err)
		}
		var document struct {
			Components struct {
				Schemas map[string]map[string]any `json:"schemas"`
			} `json:"components"`
		}
		text = bytes.ReplaceAll(text, []byte("#/components/schemas/"), []byte("#/definitions/"))
		if err := json.Unmarshal(text, &document); err != nil {
			t.Fatal(err)
		}
		for _, schema := range document.Components.Schemas {
			closed(schema)
		}
		for name, schema := range document.Components.Schemas {
			kinds, _ := schema["x-kubernetes-group-version-kind"].([]any)
			if strings.HasPrefix(name, "io.k8s.apimachinery.") { // the options of requests, which all groups have
				continue
			}
			for _, kind := range kinds {
				of, _ := kind.(map[string]any)
				group := of["group"]
				if group == "" {
					group = of["version"]
				}
				file := strings.ToLower(fmt.Sprintf("%s-%s-%s.json", of["kind"], group, of["version"]))
				text, err := json.Marshal(map[string]any{"$ref": "#/definitions/" + name, "definitions": document.Components.Schemas})
				if err == nil {
					err = os.WriteFile(filepath.Join(folder, file), text, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
				written++
			}
		}
	}
	if written < 50 {
		t.Fatalf("only %d kinds are published", written)
	}
	return folder
}

// closed has a schema, and all within it, refuse fields that it does not name.
func closed(anything any) {
	schema, is := anything.(map[string]any)
	if !is {
		return
	}
	_, named := schema["properties"]
	_, more := schema["additionalProperties"]
	if named && !more && schema["x-kubernetes-preserve-unknown-fields"] != true {
		schema["additionalProperties"] = false
	}
	if properties, is := schema["properties"].(map[string]any); is {
		for _, property := range properties {
			closed(property)
		}
	}
	closed(schema["items"])
	closed(schema["additionalProperties"])
	for _, several := range []string{"allOf", "anyOf", "oneOf"} {
		some, _ := schema[several].([]any)
		for _, one := range some {
			closed(one)
		}
	}
}

// R6.2: whatever of its values somebody sets, the chart is one that Helm finds nothing wrong with, its objects have no field that Kubernetes does not
// know, and a real API server takes them, takes them again, and lets them go.
func TestTheChartIsInstalledWithAnyValues(t *testing.T) {
	t.Parallel()
	tooltest.Need(t, "helm")
	tooltest.Need(t, "kubeconform")
	withMonitoring(t)
	for _, team := range []string{"team-a", "team-b"} {
		namespace(t, team)
	}
	known, reach := schemas(t), kubeconfig(t)
	t.Run("values", func(t *testing.T) {
		t.Parallel()
		for name, values := range portion.Some(cases(t), 1) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				installs(t, name, values, known, reach)
			})
		}
	})
}

// installs has Helm install, update and remove a release, and looks at what it makes.
func installs(t *testing.T, name, values, known, reach string) {
	t.Helper()
	tooltest.Run(t, "helm", "lint", "--strict", ".", "--values="+values)
	text := rendered(t, name, "--values="+values)
	if said, err := tooltest.Try(t, "kubeconform", text, "-strict", "-summary", "-output=json",
		"-schema-location="+filepath.Join(known, "{{.ResourceKind}}-{{.Group}}-{{.ResourceAPIVersion}}.json")); err != nil {
		t.Errorf("%v: %s", err, said)
	}
	into := "chart-" + name
	release := []string{name, ".", "--namespace=" + into, "--values=" + values, "--kubeconfig=" + reach, "--take-ownership"}
	tooltest.Run(t, "helm", append([]string{"install", "--create-namespace"}, release...)...)
	there := func(object *unstructured.Unstructured) error {
		found := &metav1.PartialObjectMetadata{}
		found.SetGroupVersionKind(object.GroupVersionKind())
		in := object.GetNamespace()
		if in == home {
			in = into
		}
		return server.Client.Get(t.Context(), client.ObjectKey{Namespace: in, Name: object.GetName()}, found)
	}
	made := objects(t, text)
	for key, object := range made {
		if err := there(object); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	tooltest.Run(t, "helm", append([]string{"upgrade", "--set=replicas=2"}, release...)...)
	if name == "mirrored" { // this one would take the kinds along, which others need
		return
	}
	tooltest.Run(t, "helm", "uninstall", name, "--namespace="+into, "--kubeconfig="+reach)
	for key, object := range made {
		if err, kept := there(object), object.GetKind() == "CustomResourceDefinition"; kept != (err == nil) {
			t.Errorf("%s, after the release was removed: %v", key, err)
		}
	}
}

// R6.2: who has installed by kubectl apply -k goes on with Helm as docs/installing.md says, and keeps the kinds and all that is of them.
func TestAnInstallationMovesToHelm(t *testing.T) {
	portion.Whole(t, "what it moves to is tried")
	t.Parallel()
	text, reach := kustomized(t, "default"), kubeconfig(t)
	file := filepath.Join(t.TempDir(), "install.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := kubectl(t, "apply", "--server-side", "--force-conflicts", "-f", file); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	move := []string{"install", "feed-operator", ".", "--namespace=" + home, "--kubeconfig=" + reach, "--take-ownership", "--force-conflicts"}
	if _, err := tooltest.Try(t, "helm", "", move...); err == nil || !strings.Contains(err.Error(), "immutable") {
		t.Errorf("the Deployment of the other way can be taken over as well: %v", err)
	}
	if out, err := kubectl(t, "delete", "deployment", "feed-operator-manager", "--namespace="+home); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	tooltest.Run(t, "helm", append([]string{"upgrade", "--install"}, move[1:]...)...)
	if out, err := kubectl(t, "get", "services,deployments", "--namespace="+home, "-o", "jsonpath={.items[*].metadata.labels.app\\.kubernetes\\.io/managed-by}"); err != nil ||
		out != "Helm Helm Helm" {
		t.Errorf("%s, %v", out, err)
	}
}
