// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/tooltest"
)

// R6.2: with what each way to install it lets it do, and nothing more, the operator works: in the namespaces that Helm was told, where it can read
// nothing elsewhere; and in all of them by kustomize. The API server refuses it nothing.
func TestTheOperatorWorksWithItsPermissionsAlone(t *testing.T) {
	portion.Whole(t, "the operator is run with the role of its own in the tests of controllers")
	t.Parallel()
	program, err := tooltest.Manager(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	theirs, others := server.Namespace(t), server.Namespace(t)
	feeds := map[string]*feedtest.Server{}
	for _, in := range []string{theirs, others} {
		feeds[in] = feedtest.New(t)
		feeds[in].List(feeds[in].Entries("news", 1)...)
		for name, url := range map[string]string{"news": feeds[in].FeedURL(), "broken": feeds[in].URL + "/missing.xml"} {
			source := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: name}, Spec: v1alpha1.FeedSourceSpec{URL: url}}
			if err := server.Client.Create(t.Context(), source); err != nil {
				t.Fatal(err)
			}
		}
	}
	processed := func(in string) {
		apitest.Eventually(t, func(ctx context.Context) error {
			items := &v1alpha1.FeedItemList{}
			if err := server.Client.List(ctx, items, client.InNamespace(in)); err != nil {
				return err
			}
			if len(items.Items) != 1 || items.Items[0].Status.Phase != v1alpha1.PhaseProcessed {
				return fmt.Errorf("%d items, %+v", len(items.Items), items.Items)
			}
			said := &eventsv1.EventList{}
			if err := server.Client.List(ctx, said, client.InNamespace(in)); err != nil {
				return err
			}
			if !slices.ContainsFunc(said.Items, func(event eventsv1.Event) bool { return event.Regarding.Name == "broken" }) {
				return errors.New("nobody is told that a feed is broken")
			}
			return nil
		})
	}

	narrow := run(t, program, objects(t, rendered(t, "narrow", "--set=watchNamespaces={"+theirs+"}", "--set=allowCIDRs={127.0.0.0/8}")))
	processed(theirs)
	narrow.refuses(t)
	if hits := feeds[others].Hits("/feed.xml"); hits != 0 {
		t.Errorf("the feed of another namespace was polled %d times", hits)
	}
	narrow.stop()
	if !may(t, narrow.user, theirs, "get", "secrets") {
		t.Error("the API server does not know what it may")
	}
	for _, verb := range []string{"get", "list", "watch", "patch", "create", "delete"} {
		for _, what := range []string{"secrets", "feeditems.feeds.feed-operator.io", "feedsources.feeds.feed-operator.io", "feeditems.feeds.feed-operator.io/status"} {
			if may(t, narrow.user, others, verb, what) {
				t.Errorf("it may %s %s elsewhere", verb, what)
			}
		}
	}

	run(t, program, objects(t, kustomized(t, "default")), "--allow-cidr=127.0.0.0/8")
	processed(others)
}

// may asks the API server what `kubectl auth can-i` does, as a ServiceAccount. What is meant is written as there: resource, group, and part.
func may(t *testing.T, user, namespace, verb, what string) bool {
	t.Helper()
	resource, part, _ := strings.Cut(what, "/")
	resource, group, _ := strings.Cut(resource, ".")
	config := rest.CopyConfig(server.Config)
	config.Impersonate.UserName = user
	as, err := client.New(config, client.Options{Scheme: apitest.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
		Namespace: namespace, Verb: verb, Group: group, Resource: resource, Subresource: part,
	}}}
	if err := as.Create(t.Context(), review); err != nil {
		t.Fatal(err)
	}
	return review.Status.Allowed
}

// operator is one that runs as its ServiceAccount may.
type operator struct {
	user, metrics string
	stop          func()
}

// run makes the ServiceAccount and the roles of an installation, and runs the operator as its Deployment says, with those.
func run(t *testing.T, program string, installation map[string]*unstructured.Unstructured, flags ...string) *operator {
	t.Helper()
	namespace(t, home)
	for _, object := range installation {
		switch object.GetKind() {
		case "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding":
			//nolint:staticcheck // what is applied is whatever was rendered
			if err := server.Client.Patch(t.Context(), object, client.Apply, client.FieldOwner("chart-test"), client.ForceOwnership); err != nil {
				t.Fatal(err)
			}
		}
	}
	var deployment appsv1.Deployment
	only(t, installation, "Deployment", &deployment)
	pod := deployment.Spec.Template.Spec
	o := &operator{user: "system:serviceaccount:" + home + ":" + pod.ServiceAccountName, metrics: apitest.FreeAddress(t)}

	config, err := clientcmd.Load(server.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, who := range config.AuthInfos {
		who.Impersonate = o.user
	}
	reach := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, reach); err != nil {
		t.Fatal(err)
	}
	said, err := os.CreateTemp(t.TempDir(), "log")
	if err != nil {
		t.Fatal(err)
	}
	flags = append(append([]string{"--kubeconfig=" + reach, "--leader-election-namespace=" + home, "--metrics-bind-address=" + o.metrics,
		"--health-probe-bind-address=0", "--feeds-bind-address=0", "--dashboard-bind-address=0"}, pod.Containers[0].Args...), flags...)
	command := exec.CommandContext(context.WithoutCancel(t.Context()), program, flags...)
	command.Stdout, command.Stderr = said, said
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	stopped := false
	o.stop = func() {
		if stopped {
			return
		}
		stopped = true
		_ = command.Process.Signal(syscall.SIGTERM) // so that it gives its lease back
		_ = command.Wait()
		text, err := os.ReadFile(said.Name())
		if err != nil || t.Failed() || strings.Contains(string(text), "forbidden") {
			t.Errorf("%v; it says\n%s", err, text)
		}
	}
	t.Cleanup(o.stop)
	return o
}

// refuses checks that it can find out whose a token is: one that nobody knows gets no metrics.
func (o *operator) refuses(t *testing.T) {
	t.Helper()
	insecure := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	apitest.Eventually(t, func(ctx context.Context) error { // it may have processed items before its metrics are served
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+o.metrics+"/metrics", http.NoBody)
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "Bearer nonsense")
		response, err := insecure.Do(request)
		if err != nil {
			return err
		}
		if response.StatusCode != http.StatusUnauthorized {
			t.Errorf("a token that nobody knows gets %s", response.Status)
		}
		return response.Body.Close()
	})
}

func kubectl(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), filepath.Join(server.Assets, "kubectl"), append(arguments, "--kubeconfig="+kubeconfig(t))...).CombinedOutput()
	return string(out), err
}
