// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// ofHelm are labels that only a release has. The selectors of kustomize's installation have none of them either.
var ofHelm = []string{"app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "app.kubernetes.io/version", "helm.sh/chart"}

// plain takes from an object what only a release has.
func plain(anything any) {
	switch of := anything.(type) {
	case map[string]any:
		for _, label := range ofHelm {
			delete(of, label)
		}
		delete(of, "helm.sh/resource-policy")
		for _, within := range of {
			plain(within)
		}
	case []any:
		for _, within := range of {
			plain(within)
		}
	}
}

// asKustomize are the values by which the chart is what config/default is: nobody is asked who scrapes metrics there.
var asKustomize = []string{"--set=metrics.auth=false", "--set=image.repository=feed-operator", "--set=image.tag=dev"}

// R6.2: what Helm installs is what kubectl apply -k installs, to the last field: neither has what the other lacks.
func TestTheChartIsTheSameAsKustomize(t *testing.T) {
	t.Parallel()
	theirs := objects(t, kustomized(t, "default"))
	delete(theirs, "Namespace "+home) // Helm makes one by --create-namespace
	ours := objects(t, rendered(t, "feed-operator", asKustomize...))
	scrape := objects(t, rendered(t, "feed-operator")) // this role is useless without --metrics-auth, and so it is not in the other
	ours["ClusterRole feed-operator-metrics-reader"] = scrape["ClusterRole feed-operator-metrics-reader"]
	for _, role := range []string{"feeds-viewer", "feeds-editor", "feeds-restorer"} { // several releases each have theirs
		ours["ClusterRole "+role] = ours["ClusterRole feed-operator-"+role]
		delete(ours, "ClusterRole feed-operator-"+role)
		ours["ClusterRole "+role].SetName(role)
	}
	delete(container(t, ours), "imagePullPolicy") // kustomize leaves it to the default
	compare(t, theirs, ours)
}

// R5.3: the monitoring of the chart is that of config/prometheus and config/grafana.
func TestTheMonitoringOfTheChartIsTheSame(t *testing.T) {
	t.Parallel()
	theirs := objects(t, kustomized(t, "prometheus")+"\n---\n"+kustomized(t, "grafana"))
	all := objects(t, rendered(t, "feed-operator",
		append(asKustomize, "--set=serviceMonitor.enabled=true", "--set=prometheusRule.enabled=true", "--set=grafanaDashboard.enabled=true")...))
	ours := map[string]*unstructured.Unstructured{}
	for key := range theirs {
		ours[key] = all[key]
	}
	compare(t, theirs, ours)
}

func compare(t *testing.T, theirs, ours map[string]*unstructured.Unstructured) {
	t.Helper()
	contents := func(of map[string]*unstructured.Unstructured) map[string]any {
		all := map[string]any{}
		for key, object := range of {
			if object == nil {
				continue
			}
			// Numbers are the same whether they were read as whole ones or not.
			text, err := json.Marshal(object)
			var content map[string]any
			if err == nil {
				err = json.Unmarshal(text, &content)
			}
			if err != nil {
				t.Fatal(err)
			}
			plain(content)
			all[key] = content
		}
		return all
	}
	if diff := cmp.Diff(contents(theirs), contents(ours)); diff != "" {
		t.Errorf("kustomize and the chart differ (-kustomize +chart):\n%s", diff)
	}
	if len(theirs) == 0 {
		t.Error("nothing was compared")
	}
}

// container is that of the Deployment.
func container(t *testing.T, of map[string]*unstructured.Unstructured) map[string]any {
	t.Helper()
	containers, _, err := unstructured.NestedFieldNoCopy(of["Deployment feed-operator-manager"].Object, "spec", "template", "spec", "containers")
	all, is := containers.([]any)
	if err != nil || !is || len(all) != 1 {
		t.Fatalf("%v, %v", containers, err)
	}
	one, _ := all[0].(map[string]any)
	return one
}

// R6.2: whichever way it is installed, and with whatever values, the operator is no root, has no capabilities and no way to get any, writes to no disk,
// and its system calls are filtered; and its nodes can be drained.
func TestTheOperatorMayDoNothingOnItsNode(t *testing.T) {
	t.Parallel()
	renderings := map[string]string{"kustomize": kustomized(t, "default")}
	for name, values := range cases(t) {
		renderings["helm with "+name] = rendered(t, name, "--values="+values)
	}
	for name, text := range renderings {
		all := objects(t, text)
		var deployment appsv1.Deployment
		only(t, all, "Deployment", &deployment)
		pod := deployment.Spec.Template.Spec
		if of := pod.SecurityContext; of == nil || of.RunAsNonRoot == nil || !*of.RunAsNonRoot || of.SeccompProfile == nil || of.SeccompProfile.Type != "RuntimeDefault" {
			t.Errorf("%s: the pod has %+v", name, of)
		}
		if pod.HostNetwork || pod.HostPID || pod.HostIPC || len(pod.InitContainers) != 0 || len(pod.Containers) != 1 {
			t.Errorf("%s: the pod is %+v", name, pod)
		}
		of := pod.Containers[0].SecurityContext
		if of == nil || of.ReadOnlyRootFilesystem == nil || !*of.ReadOnlyRootFilesystem || of.AllowPrivilegeEscalation == nil || *of.AllowPrivilegeEscalation ||
			of.Capabilities == nil || len(of.Capabilities.Add) != 0 || !slices.Equal(of.Capabilities.Drop, []corev1.Capability{"ALL"}) || of.Privileged != nil {
			t.Errorf("%s: the container has %+v", name, of)
		}
		for _, volume := range pod.Volumes {
			if volume.Secret == nil {
				t.Errorf("%s: there is a volume that may be written to: %+v", name, volume)
			}
		}
		if name == "helm with bare" {
			continue
		}
		var budget policyv1.PodDisruptionBudget
		only(t, all, "PodDisruptionBudget", &budget)
		if diff := cmp.Diff(deployment.Spec.Selector, budget.Spec.Selector); diff != "" || budget.Spec.MaxUnavailable == nil || budget.Spec.MinAvailable != nil {
			t.Errorf("%s: %+v%s", name, budget.Spec, diff)
		}
	}
}

// R6.2: a namespace whose pods are held to the strictest standard takes the operator's pod: the real admission of it says nothing.
func TestTheStrictestStandardOfPodsIsMet(t *testing.T) {
	t.Parallel()
	strict := server.Namespace(t)
	labels := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`))
	if err := server.Client.Patch(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: strict}}, labels); err != nil {
		t.Fatal(err)
	}
	if err := server.Client.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: strict, Name: "default"}}); err != nil {
		t.Fatal(err)
	}
	try := func(pod *corev1.Pod) error {
		pod.GenerateName, pod.Namespace, pod.Spec.ServiceAccountName = "manager-", strict, ""
		pod.Spec.AutomountServiceAccountToken = new(false)
		return server.Client.Create(t.Context(), pod, client.DryRunAll)
	}
	for name, text := range map[string]string{"kustomize": kustomized(t, "default"), "helm": rendered(t, "feed-operator")} {
		var deployment appsv1.Deployment
		only(t, objects(t, text), "Deployment", &deployment)
		template := deployment.Spec.Template
		if err := try(&corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: *template.Spec.DeepCopy()}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		lax := template.Spec.DeepCopy()
		lax.SecurityContext.RunAsNonRoot = nil
		if err := try(&corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: *lax}); err == nil || !strings.Contains(err.Error(), "runAsNonRoot") {
			t.Errorf("%s: one that may be root: %v", name, err)
		}
	}
}

// R6.2: each value is in the schema, which has no other; and what the chart asks for in thresholds is what config/prometheus has.
func TestTheSchemaHasEachValue(t *testing.T) {
	t.Parallel()
	var values, thresholds map[string]any
	var schema map[string]any
	for file, into := range map[string]*map[string]any{
		"values.yaml": &values, filepath.Join("..", "prometheus", "values.yaml"): &thresholds, "values.schema.json": &schema,
	} {
		text, err := os.ReadFile(file)
		if err == nil {
			err = yaml.Unmarshal(text, into)
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	rule, _ := values["prometheusRule"].(map[string]any)
	if diff := cmp.Diff(thresholds["alerts"], rule["alerts"]); diff != "" {
		t.Errorf("config/prometheus/values.yaml and the chart differ (-config +chart):\n%s", diff)
	}
	var same func(at string, value any, schema map[string]any)
	same = func(at string, value any, schema map[string]any) {
		properties, closed := schema["properties"].(map[string]any)
		if !closed {
			return
		}
		if schema["additionalProperties"] != false {
			t.Errorf("%s: a value that is misspelt would be taken", at)
		}
		fields, _ := value.(map[string]any)
		want, got := slices.Sorted(maps.Keys(fields)), slices.Sorted(maps.Keys(properties))
		got = slices.DeleteFunc(got, func(name string) bool { return at == "" && name == "global" }) // Helm's own
		if diff := cmp.Diff(want, got); diff != "" && fields != nil {
			t.Errorf("%s: values.yaml and its schema differ (-values +schema):\n%s", at, diff)
		}
		for name, field := range fields {
			below, _ := properties[name].(map[string]any)
			same(at+"."+name, field, below)
		}
	}
	same("", values, schema)
}

// R6.2: one that works in some namespaces and asks nobody who they are has nothing in the cluster as a whole, so that many can be side by side.
func TestAnOperatorOfSomeNamespacesIsInThoseAlone(t *testing.T) {
	t.Parallel()
	for key, object := range objects(t, rendered(t, "feeds", "--set=watchNamespaces={team-a},crds.install=false,metrics.auth=false,rbac.people=false")) {
		if in := object.GetNamespace(); in != home && in != "team-a" {
			t.Errorf("%s is in %q", key, in)
		}
	}
}

// What Artifact Hub shows of the kinds is what there is, and its examples are accepted.
func TestTheChartSaysWhichKindsItHas(t *testing.T) {
	t.Parallel()
	var chart struct {
		Annotations map[string]string `json:"annotations"`
	}
	text, err := os.ReadFile("Chart.yaml")
	if err == nil {
		err = yaml.Unmarshal(text, &chart)
	}
	var kinds []struct {
		Kind, Name, Version string
	}
	var examples []map[string]any
	if err == nil {
		err = yaml.Unmarshal([]byte(chart.Annotations["artifacthub.io/crds"]), &kinds)
	}
	if err == nil {
		err = yaml.Unmarshal([]byte(chart.Annotations["artifacthub.io/crdsExamples"]), &examples)
	}
	if err != nil || len(examples) == 0 {
		t.Fatalf("%d examples, %v", len(examples), err)
	}
	want, got := map[string]bool{}, map[string]bool{}
	for key, object := range objects(t, kustomized(t, "crd")) {
		kind, _, _ := unstructured.NestedString(object.Object, "spec", "names", "kind")
		want[strings.Fields(key)[1]+" "+kind+" "+v1alpha1.GroupVersion.Version] = true
	}
	for _, kind := range kinds {
		got[kind.Name+" "+kind.Kind+" "+kind.Version] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("config/crd and Chart.yaml differ (-crd +chart):\n%s", diff)
	}
	strict := client.WithFieldValidation(server.Client, metav1.FieldValidationStrict)
	for _, example := range examples {
		object := &unstructured.Unstructured{Object: example}
		object.SetNamespace(metav1.NamespaceDefault)
		if err := strict.Create(t.Context(), object, client.DryRunAll); err != nil {
			t.Errorf("%s: %v", object.GetKind(), err)
		}
	}
}
