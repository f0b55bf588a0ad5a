// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"

	admission "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/provider"
)

// The ways in which webhooks and policies refuse. A webhook that names no code is answered for with 400 and without a reason
// (k8s.io/apiserver/pkg/admission/plugin/webhook/errors), which is what Kyverno does; it may name any other. A ValidatingAdmissionPolicy that
// names no reason refuses with 422.
var policies = map[string]metav1.Status{
	"a webhook that names no code": {Code: http.StatusBadRequest, Message: `admission webhook "validate.kyverno.svc-fail" denied the request: not liked`},
	"a webhook that calls it invalid": {
		Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: `admission webhook "taste.example" denied the request: not liked`,
	},
	"a webhook that calls it a conflict": {
		Code: http.StatusConflict, Reason: metav1.StatusReasonConflict, Message: `admission webhook "taste.example" denied the request: not liked`,
	},
	"a webhook that finds nothing": {
		Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound, Message: `admission webhook "taste.example" denied the request: no rule found`,
	},
	"a policy of the API server": {
		Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
		Message: `feeditems.feeds.feed-operator.io "news-1" is forbidden: ValidatingAdmissionPolicy 'taste' with binding 'taste' denied request: not liked`,
	},
}

// R3.14, R2.8: whatever code it chooses, what refuses the items of a namespace holds them up: each is summarized and posted once.
func TestNothingIsPaidForTwiceWhileAPolicyRefusesItems(t *testing.T) {
	t.Parallel()
	const n = 5
	for name, answer := range portion.Some(policies, 2) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			writer := &script{}
			w := scriptedWorld(t, map[string]*script{"writer": writer})
			refused := w.refuses(answer, "")
			server := w.mastodon(both(ignoresKeys, writeOnly))
			w.openDestination("press", server.URL)
			begin := sync.OnceFunc(func() { refused.on.Store(true) })
			writer.answer = func(_ int, request provider.Request) (provider.Response, error) {
				begin()
				return written(request), nil
			}
			web := feedtest.New(t)
			web.List(web.Entries("news", n)...)
			w.source("news", web.FeedURL(), summarizedBy("writer"), postsTo("press"))
			w.last(refused)
			w.last(refused)
			refused.on.Store(false)
			w.itemsInTime("news", allProcessed(n))
			if calls, posts := writer.calls(), server.Count("POST /api/v1/statuses"); calls != n || posts != n {
				t.Errorf("%d calls of the model and %d posts for %d items", calls, posts, n)
			}
		})
	}
}

// R3.14, R4.4: a post is made, and then a policy refuses to have that written down. It is known, and is written when that is possible; at
// a destination that can be neither asked nor trusted with a key nobody else could ever find out.
func TestAPostThatIsKnownIsNotForgottenForAPolicy(t *testing.T) {
	t.Parallel()
	for name, answer := range portion.Some(policies, 2) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			refused := w.refuses(answer, "")
			server := w.mastodon(both(ignoresKeys, writeOnly))
			w.openDestination("press", server.URL)
			server.OnRequest(func(_ http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodPost {
					refused.on.Store(true)
				}
				return false
			})
			w.oneItem("press")
			w.last(refused)
			server.OnRequest(nil)
			refused.on.Store(false)
			w.itemsInTime("news", allProcessed(1))
			if posts := server.Count("POST /api/v1/statuses"); posts != 1 {
				t.Errorf("%d posts", posts)
			}
		})
	}
}

// R3.14: the API server's own policies, as it answers for them.
func TestAPolicyOfTheAPIServerHoldsUpItsNamespace(t *testing.T) {
	t.Parallel()
	const n = 5
	writer := &script{}
	w := scriptedWorld(t, map[string]*script{"writer": writer})
	allow := w.policy()
	web := feedtest.New(t)
	web.List(web.Entries("news", n)...)
	w.source("news", web.FeedURL(), summarizedBy("writer"))
	await(t, func() error {
		if writer.calls() == 0 {
			return errNotYet
		}
		return nil
	})
	for range 3 {
		for range 60 {
			w.clock.Step(1e9)
		}
		w.lookAtItems("news")
	}
	allow()
	w.itemsInTime("news", func(items []v1alpha1.FeedItem) error { return allProcessed(n)(others(items, "probe")) })
	if calls := writer.calls(); calls != n {
		t.Errorf("%d calls of the model for %d items", calls, n)
	}
}

func others(items []v1alpha1.FeedItem, name string) []v1alpha1.FeedItem {
	var rest []v1alpha1.FeedItem
	for i := range items {
		if items[i].Name != name {
			rest = append(rest, items[i])
		}
	}
	return rest
}

// policy has the API server refuse all statuses of items in the namespace of a world, until allow is called.
func (w *world) policy() (allow func()) {
	w.t.Helper()
	ctx := w.t.Context()
	clients, err := kubernetes.NewForConfig(apiServer().Config)
	if err != nil {
		w.t.Fatal(err)
	}
	api := clients.AdmissionregistrationV1()
	here := &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": w.namespace}}
	policy := &admission.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}, Spec: admission.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admission.MatchResources{NamespaceSelector: here, ResourceRules: []admission.NamedRuleWithOperations{{
			RuleWithOperations: admission.RuleWithOperations{
				Operations: []admission.OperationType{admission.Update},
				Rule:       admission.Rule{APIGroups: []string{"feeds.feed-operator.io"}, APIVersions: []string{"*"}, Resources: []string{"feeditems/status"}},
			},
		}}},
		Validations: []admission.Validation{{Expression: "false", Message: "not liked"}},
	}}
	binding := &admission.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}, Spec: admission.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: w.namespace, ValidationActions: []admission.ValidationAction{admission.Deny},
	}}
	if _, err := api.ValidatingAdmissionPolicies().Create(ctx, policy, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	if _, err := api.ValidatingAdmissionPolicyBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	probe := &v1alpha1.FeedItem{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "probe"}}
	probe.Spec = v1alpha1.FeedItemSpec{SourceRef: v1alpha1.SourceReference{Name: "nobody", UID: types.UID("nobody")}, URL: "https://probe.example/", Title: "Probe"}
	if err := w.client.Create(ctx, probe); err != nil {
		w.t.Fatal(err)
	}
	tried := 0
	refuses := func(want bool) {
		await(w.t, func() error { //nolint:contextcheck // it waits by itself
			tried++
			patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"status":{"retryCount":%d}}`, tried))
			err := w.client.Status().Patch(ctx, probe.DeepCopy(), patch)
			if (err != nil) != want {
				return errors.New("the policy is not that far")
			}
			if want {
				w.t.Logf("refused with %v", err)
			}
			return nil
		})
	}
	refuses(true)
	return func() {
		if err := api.ValidatingAdmissionPolicyBindings().Delete(ctx, w.namespace, metav1.DeleteOptions{}); err != nil {
			w.t.Fatal(err)
		}
		if err := api.ValidatingAdmissionPolicies().Delete(ctx, w.namespace, metav1.DeleteOptions{}); err != nil {
			w.t.Fatal(err)
		}
		refuses(false)
	}
}
