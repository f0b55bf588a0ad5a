// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/hack/dev/controlplane"
)

// patience is how long anything that must happen is waited for before the benchmark gives up.
const patience = 5 * time.Minute

// plane is the API server on which everything is measured.
type plane struct {
	dir     string
	cluster *controlplane.Cluster
	// config reaches the API server without a limit of our own, as the operator does by default.
	config *rest.Config
	scheme *runtime.Scheme
	// client reads and writes without a cache.
	client  client.WithWatch
	version string
}

// startPlane starts a control plane of its own in a temporary folder, with the operator's kinds.
func startPlane(ctx context.Context, root string) (_ *plane, failed error) {
	binaries, err := findBinaries(root)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "feed-operator-bench-")
	if err != nil {
		return nil, err
	}
	p := &plane{dir: dir, scheme: runtime.NewScheme()}
	defer func() {
		if failed != nil {
			p.stop(ctx)
		}
	}()
	progress("Starting a control plane …")
	p.cluster, err = controlplane.Start(ctx, controlplane.Options{Binaries: binaries, Dir: dir, State: "state", Fresh: true})
	if err != nil {
		return nil, err
	}
	p.config = p.cluster.Admin()
	p.config.QPS = -1

	crds := envtest.CRDInstallOptions{Paths: []string{filepath.Join(root, "config", "crd", "bases")}, ErrorIfPathMissing: true}
	if _, err := envtest.InstallCRDs(p.config, crds); err != nil {
		return nil, fmt.Errorf("install the CRDs: %w", err)
	}
	if err := errors.Join(clientgoscheme.AddToScheme(p.scheme), apiextensionsv1.AddToScheme(p.scheme), v1alpha1.AddToScheme(p.scheme)); err != nil {
		return nil, err
	}
	if p.client, err = client.NewWithWatch(p.config, client.Options{Scheme: p.scheme}); err != nil {
		return nil, err
	}
	server, err := discovery.NewDiscoveryClientForConfig(p.config)
	if err != nil {
		return nil, err
	}
	version, err := server.ServerVersion()
	if err != nil {
		return nil, err
	}
	p.version = version.GitVersion
	return p, nil
}

// stop ends the control plane and removes its data.
func (p *plane) stop(ctx context.Context) {
	if p.cluster != nil {
		p.cluster.Stop(context.WithoutCancel(ctx))
	}
	_ = os.RemoveAll(p.dir)
}

// findBinaries finds the control plane's programs: where KUBEBUILDER_ASSETS says, or where the
// checkout keeps those of its version.
func findBinaries(root string) (controlplane.Binaries, error) {
	dir := os.Getenv("KUBEBUILDER_ASSETS")
	if dir == "" {
		found, err := filepath.Glob(filepath.Join(root, "bin", "k8s", "*", "kube-apiserver"))
		if err != nil || len(found) == 0 {
			return controlplane.Binaries{}, errors.New("there is no kube-apiserver under bin/k8s: `make bench` gets it, or set KUBEBUILDER_ASSETS to its folder")
		}
		dir = filepath.Dir(found[len(found)-1])
	}
	for _, program := range []string{"etcd", "kube-apiserver", "kube-controller-manager"} {
		if _, err := os.Stat(filepath.Join(dir, program)); err != nil { //nolint:gosec // the developer says where
			return controlplane.Binaries{}, fmt.Errorf("%s is missing in %s: `make bench` gets it: %w", program, dir, err)
		}
	}
	return controlplane.Binaries{Dir: dir}, nil
}

// namespace makes a namespace for one measurement, so that none sees the objects of another.
func (p *plane) namespace(ctx context.Context) (string, error) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-"}}
	if err := p.client.Create(ctx, namespace); err != nil {
		return "", fmt.Errorf("create a namespace: %w", err)
	}
	return namespace.Name, nil
}
