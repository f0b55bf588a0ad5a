// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// kubectl is the real one, for one namespace.
type kubectl struct {
	home, namespace string
}

func newKubectl(t *testing.T, namespace string) kubectl {
	t.Helper()
	k := kubectl{home: t.TempDir(), namespace: namespace}
	if err := os.WriteFile(filepath.Join(k.home, "kubeconfig"), server.Kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	return k
}

// try runs kubectl and returns what it says.
func (k kubectl) try(ctx context.Context, input string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, filepath.Join(server.Assets, "kubectl"), append([]string{"-n", k.namespace}, arguments...)...)
	command.Env = []string{"HOME=" + k.home, "KUBECONFIG=" + filepath.Join(k.home, "kubeconfig"), "GOGC=400"} // it ends in a moment
	command.Stdin = strings.NewReader(input)
	out, err := command.CombinedOutput()
	return string(out), err
}

func (k kubectl) run(t *testing.T, arguments ...string) string {
	t.Helper()
	out, err := k.try(t.Context(), "", arguments...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(arguments, " "), err, out)
	}
	return out
}

// story is a namespace with a source, two providers, a destination and an item in each phase.
func story(t *testing.T) kubectl {
	t.Helper()
	namespace := server.Namespace(t)
	source := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "press"}}
	source.Spec.URL = "https://www.example.org/feed.rdf"
	create(t, source, func() {
		source.Status.ObservedGeneration = source.Generation
		source.Status.Conditions = ready(metav1.ConditionTrue, "Succeeded", `Reads "News" (RSS 1.0) every 15m`)
		source.Status.Title, source.Status.EffectiveInterval = "News", source.Spec.Interval
		source.Status.Items = v1alpha1.ItemCounts{Deferred: 4, Processed: 17, Failed: 3}
		source.Status.FilteredEntries = 23
		source.Status.Totals = v1alpha1.ItemTotals{Processed: 1234, Succeeded: 1191, Failed: 43}
		source.Status.LastSuccessTime = new(metav1.Now())
	})
	provider := &v1alpha1.AIProvider{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "built-in"}}
	provider.Spec.Extractive, provider.Spec.RequestsPerMinute = &v1alpha1.ExtractiveProvider{}, new(int32(77))
	create(t, provider, func() {
		provider.Status.ObservedGeneration = provider.Generation
		provider.Status.Conditions = ready(metav1.ConditionFalse, "Suspended", "Suspended: nothing is asked")
	})
	gemini := &v1alpha1.AIProvider{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "gemini"}}
	gemini.Spec.Gemini = &v1alpha1.GeminiProvider{Model: "gemini-2.5-flash", SecretRef: v1alpha1.SecretReference{Name: "gemini"}}
	create(t, gemini, func() {
		gemini.Status = v1alpha1.AIProviderStatus{ServiceStatus: fullServiceStatus(), Calls: 1234, Tokens: 987_654, TokensToday: &v1alpha1.TokensToday{Day: "2026-01-02", Used: 54_321, Reserved: 60_000}, LastSuccessTime: new(metav1.Now())}
		gemini.Status.Conditions = ready(metav1.ConditionFalse, v1alpha1.ReasonCoolingDown, "Asked to be left alone until "+someTime)
	})
	destination := &v1alpha1.FeedDestination{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "mastodon"}}
	destination.Spec.Mastodon = &v1alpha1.MastodonDestination{Server: mastodonServer, SecretRef: v1alpha1.SecretReference{Name: "mastodon"}}
	create(t, destination, func() {
		destination.Status = fullDestinationStatus()
		destination.Status.Conditions = append(ready(metav1.ConditionTrue, v1alpha1.ReasonSucceeded, "Posts as @press@mastodon.example"), metav1.Condition{
			Type: v1alpha1.ConditionVerifiable, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonTokenMayNotRead, LastTransitionTime: metav1.Now(),
		})
	})
	for _, phase := range []v1alpha1.Phase{"", v1alpha1.PhaseDeferred, v1alpha1.PhasePending, v1alpha1.PhaseProcessed, v1alpha1.PhaseFailed} {
		item := fullItem(namespace, "It rains.")
		item.GenerateName, item.Name = "", "item-"+strings.ToLower(string(phase))
		if phase == "" {
			item.Name, item.Spec.SourceRef.Name = "item-new", "other"
		}
		create(t, item, func() {
			if phase != "" {
				item.Status = fullStatus()
				item.Status.Phase = phase
			}
			if phase == v1alpha1.PhaseProcessed {
				item.Status.Conditions = ready(metav1.ConditionTrue, "Succeeded", "Summarized by built-in")
			}
		})
	}
	return newKubectl(t, namespace)
}

func create(t *testing.T, object client.Object, setStatus func()) {
	t.Helper()
	if err := server.Client.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	setStatus()
	if err := server.Client.Status().Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

func ready(status metav1.ConditionStatus, reason, message string) []metav1.Condition {
	return []metav1.Condition{{
		Type: v1alpha1.ConditionReady, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.Now(),
	}}
}
