// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
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
	sets, unchanged := map[string][]string{}, map[string]func() (string, error){}
	for _, file := range cases(t) {
		unchanged[file] = sync.OnceValues(func() (string, error) { return tryRender(t, "feeds", "--values="+file) })
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
	for _, path := range portion.SomeOf(slices.Sorted(maps.Keys(sets)), 4) {
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
				if err != nil {
					return
				}
				with, err := unchanged[file]()
				if err != nil {
					t.Fatal(err)
				}
				if out != with {
					return
				}
			}
			t.Errorf("it changes nothing in %s", sets[path])
		})
	}
}

// R6.2: a name that YAML would read as a number or as nothing stays a name, wherever it is put, and an argument is what its value says to its end.
func TestNamesAndArgumentsStayTexts(t *testing.T) {
	t.Parallel()
	tooltest.Need(t, "helm")
	text := rendered(t, "0", "--namespace=1e3", "--set-string=watchNamespaces={123,null,true}", "--set-string=serviceAccount.name=007",
		"--set-string=priorityClassName=1", "--set-string=metrics.certificateSecret=0x1", "--set-string=feeds.baseURL=https://feeds.example/#a: b #c",
		"--set-string=otlpEndpoint=https://otlp.example/ #all", "--set-string=dashboard.hosts={0x1}", "--set=dashboard.actions=true",
		"--set-json=metrics.readers=[{\"namespace\":\"1\",\"name\":\"2\"}]", "--set=serviceMonitor.enabled=true", "--set=prometheusRule.enabled=true",
		"--set=grafanaDashboard.enabled=true", "--set=dashboard.auth=true", "--set=dashboard.expose=true")
	all := objects(t, text)
	for name, object := range all {
		if kept := object.GetNamespace(); object.GetLabels()["app.kubernetes.io/instance"] != "0" || kept == "" && !strings.Contains(name, "Cluster") &&
			!strings.HasPrefix(name, "CustomResourceDefinition") {
			t.Errorf("%s is in the namespace %q, with the labels %v", name, kept, object.GetLabels())
		}
	}
	for _, namespace := range []string{"123", "null", "true"} {
		if all["Role 0-feed-operator-manager in "+namespace] == nil {
			t.Errorf("no role in %s: %v", namespace, slices.Sorted(maps.Keys(all)))
		}
	}
	var deployment appsv1.Deployment
	only(t, all, "Deployment", &deployment)
	pod := deployment.Spec.Template.Spec
	for _, argument := range []string{
		"--namespace=null", "--feeds-base-url=https://feeds.example/#a: b #c", "--otlp-endpoint=https://otlp.example/ #all", "--dashboard-host=0x1",
	} {
		if !slices.Contains(pod.Containers[0].Args, argument) {
			t.Errorf("%q is not in %q", argument, pod.Containers[0].Args)
		}
	}
	if pod.ServiceAccountName != "007" || pod.PriorityClassName != "1" || pod.Volumes[0].Secret.SecretName != "0x1" {
		t.Errorf("%q, %q, %q", pod.ServiceAccountName, pod.PriorityClassName, pod.Volumes[0].Secret.SecretName)
	}
}
