// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/feed-operator/feed-operator/internal/portion"
)

func startCluster(t *testing.T, options Options) (*Cluster, *kubernetes.Clientset) {
	t.Helper()
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" {
		t.Fatal("KUBEBUILDER_ASSETS is not set: run the tests with `make test`")
	}
	options.Binaries = Binaries{Dir: assets}
	cluster, err := Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(cluster.Admin())
	if err != nil {
		t.Fatal(err)
	}
	return cluster, client
}

// R6.1: a real control plane, whose data and keys outlive it.
func TestAControlPlaneBehavesLikeAClusterAndKeepsItsData(t *testing.T) {
	portion.Whole(t, "it starts a control plane twice")
	t.Parallel()
	options := Options{Dir: t.TempDir(), State: "state"}
	cluster, client := startCluster(t, options)
	ctx := t.Context()

	if _, err := Start(ctx, Options{Dir: options.Dir, State: "other"}); err == nil || !strings.Contains(err.Error(), "is running in") {
		t.Error("a second control plane was started in the same folder")
	}
	mode, err := os.Stat(cluster.Kubeconfig())
	if err != nil || mode.Mode().Perm() != 0o600 {
		t.Errorf("the kubeconfig: %v %v", mode, err)
	}

	nobody, err := cluster.UserConfig("nobody")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kubernetes.NewForConfigOrDie(nobody).CoreV1().Secrets("").List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a user without any role lists secrets: %v", err)
	}

	owner, err := client.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owned", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID},
	}}}
	if _, err := client.CoreV1().ConfigMaps("default").Create(ctx, owned, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := client.CoreV1().ConfigMaps("default").Delete(ctx, owner.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	collected(t, client, owned.Name)

	token, err := client.CoreV1().ServiceAccounts("default").CreateToken(ctx, "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cluster.Stop(ctx)
	if err := <-cluster.Died(); err == nil {
		t.Error("the end of the processes was not reported")
	}

	cluster, client = startCluster(t, options)
	defer cluster.Stop(ctx)
	review, err := client.AuthenticationV1().TokenReviews().Create(ctx,
		&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token.Status.Token}}, metav1.CreateOptions{})
	if err != nil || !review.Status.Authenticated {
		t.Errorf("the token of the first run is not valid in the second: %+v %v", review, err)
	}
}

// collected waits until the garbage collector has deleted a config map.
func collected(t *testing.T, client *kubernetes.Clientset, name string) {
	t.Helper()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		_, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatal("the dependent of a deleted object stays")
		case <-again.C:
		}
	}
}

func TestAControlPlaneThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	broken := t.TempDir()
	script := "#!/bin/sh\necho 'the disk is full' >&2\nexit 7\n"
	if err := os.WriteFile(filepath.Join(broken, etcd), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Options{Binaries: Binaries{Dir: broken}, Dir: t.TempDir(), State: "state"})
	if err == nil {
		t.Fatal("it started")
	}
	for _, want := range []string{"etcd has ended (exit status 7)", "the disk is full"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}
