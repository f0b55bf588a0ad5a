// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/provider"
)

// denies has a policy of the cluster refuse writes of items in the namespace that an expression does not hold for, and waits until it does.
// The policy has the reason that policies have where none is given.
func (w *world) denies(resource, expression, message string) {
	w.t.Helper()
	name := "test-" + w.namespace
	kind := admissionv1.Rule{APIGroups: []string{v1alpha1.GroupVersion.Group}, APIVersions: []string{"*"}, Resources: []string{resource}}
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	policy.Spec.MatchConstraints = &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
		RuleWithOperations: admissionv1.RuleWithOperations{Rule: kind, Operations: []admissionv1.OperationType{admissionv1.OperationAll}},
	}}}
	policy.Spec.Validations = []admissionv1.Validation{{Expression: expression, MessageExpression: message}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}
	binding.Spec.PolicyName = name
	binding.Spec.ValidationActions = []admissionv1.ValidationAction{admissionv1.Deny}
	binding.Spec.MatchResources = &admissionv1.MatchResources{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: w.namespace}},
	}
	for _, object := range []client.Object{policy, binding} {
		if err := w.client.Create(w.t.Context(), object); err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(func() { _ = w.client.Delete(w.t.Context(), object) })
	}
}

// R3.13: what a policy says when it refuses an item, in which it may repeat what a feed has written, is not taken for the API server
// having older kinds: nobody else is held up by it.
func TestAPolicyThatRepeatsAFeedHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	tenants := newTenants(t, 2, onRealServer)
	neighbour, hostile := tenants[0], tenants[1]
	hostile.denies("feeditems", `request.operation != 'CREATE' || !object.spec.title.contains('unwanted')`, `'not to be published: ' + object.spec.title`)
	unwanted := `unwanted: strict decoding error: unknown field "status.deliveries[0].key"`
	await(t, func() error { // a policy is in force a moment after it was made
		probe := &v1alpha1.FeedItem{ObjectMeta: metav1.ObjectMeta{Namespace: hostile.namespace, Name: "probe"}}
		probe.Spec.Title, probe.Spec.SourceRef = unwanted, v1alpha1.SourceReference{Name: "news", UID: "1"}
		if err := hostile.client.Create(t.Context(), probe, client.DryRunAll); err == nil {
			return errNotYet
		}
		return nil
	})
	web, other := feedtest.New(t), feedtest.New(t)
	entries := web.Entries("news", 1)
	entries[0].Title = unwanted
	web.List(entries...)
	hostile.source("news", web.FeedURL())
	hostile.untilSource("news", func(source *v1alpha1.FeedSource) error {
		if said := fmt.Sprint(source.Status.Conditions); !strings.Contains(said, "denied request") && !strings.Contains(said, v1alpha1.ReasonCRDOutdated) {
			return fmt.Errorf("not refused yet: %+v", source.Status.Conditions)
		}
		return nil
	})
	other.List(other.Entries("other", 1)...)
	neighbour.source("other", other.FeedURL())
	neighbour.untilItems("other", allProcessed(1))
}

// R3.14: a policy that refuses what is written on the items of a namespace has its calls paid for once, not once a minute: most
// policies give the reason "Invalid", which is that of a status which no API server takes.
func TestAPolicyThatRefusesResultsHasThemKept(t *testing.T) {
	t.Parallel()
	writer := &script{}
	w := scriptedWorld(t, map[string]*script{"writer": writer})
	begun := make(chan struct{})
	writer.answer = func(call int, request provider.Request) (provider.Response, error) {
		if call == 0 {
			<-begun
		}
		return written(request), nil
	}
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("writer"))
	w.untilItems("news", func([]v1alpha1.FeedItem) error {
		if writer.calls() == 0 {
			return errNotYet
		}
		return nil
	})
	w.denies("feeditems/status", "false", "'no'")
	items, err := w.items(t.Context(), "news")
	if err != nil {
		t.Fatal(err)
	}
	await(t, func() error { // a policy is in force a moment after it was made
		patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"articleHash":"x"}}`))
		if err := w.client.Status().Patch(t.Context(), items[0].DeepCopy(), patch, client.DryRunAll); err == nil {
			return errNotYet
		}
		return nil
	})
	close(begun)
	for range 4 {
		for range 60 {
			w.clock.Step(time.Second)
		}
		w.lookAtItems("news")
	}
	if calls := writer.calls(); calls != 1 {
		t.Errorf("the model was called %d times for an item of which nothing can be written", calls)
	}
}
