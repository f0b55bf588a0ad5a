// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rig is what is measured, and what that needs around it: a control plane of its own, the operator inside this
// process or as a program of its own, and stand-ins for feeds and services. It reads what these have used and counted.
//
// It knows no part of the measurements, no figure and no bar, and of the operator only what a user of it knows: its
// flags, its objects, and how it is put together.
package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

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

// Options say what is measured.
type Options struct {
	// Root is the folder of the checkout.
	Root string
	// Manager is the operator's own program.
	Manager string
	// Profiles is the folder for CPU profiles of the operator at work, empty where none are wanted.
	Profiles string
	// Observed is whether metrics are scraped, traces taken and the page viewed meanwhile, as where the operator is run.
	Observed bool
}

// Scale is how much is measured.
type Scale struct {
	// Items is with how many processed items memory is measured, and Sources with how many sources polling and a restart.
	Items, Sources int
	// Short is whether all is measured at a small size, to see that it works.
	Short bool
}

// Of is one of two sizes: the whole one, or the short one where all is to be short.
func (s Scale) Of(whole, short int) int {
	if s.Short {
		return short
	}
	return whole
}

// Plane is the API server on which one part is measured.
type Plane struct {
	options Options
	dir     string
	// managers counts the operators that were started: each has a log of its own.
	managers atomic.Int32
	cluster  *controlplane.Cluster
	// config reaches the API server without a limit of our own, as the operator does by default.
	config *rest.Config
	scheme *runtime.Scheme
	// observers look at the operators; nil where nobody is to.
	observers *observers
	// Client reads and writes without a cache.
	Client client.WithWatch
	// version of the API server.
	version string
}

// Start starts a control plane of its own in a temporary folder, with the operator's kinds.
func Start(ctx context.Context, o Options) (_ *Plane, failed error) {
	binaries, err := findBinaries(o.Root)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "feed-operator-bench-")
	if err != nil {
		return nil, err
	}
	p := &Plane{options: o, dir: dir, scheme: runtime.NewScheme()}
	defer func() {
		if failed != nil {
			p.Stop(ctx)
		}
	}()
	if o.Observed {
		if p.observers, err = newObservers(ctx); err != nil {
			return nil, err
		}
	}
	Progress("Starting a control plane …")
	p.cluster, err = controlplane.Start(ctx, controlplane.Options{Binaries: binaries, Dir: dir, State: "state", Fresh: true})
	if err != nil {
		return nil, err
	}
	p.config = p.cluster.Admin()
	p.config.QPS = -1

	crds := envtest.CRDInstallOptions{Paths: []string{filepath.Join(o.Root, "config", "crd", "bases")}, ErrorIfPathMissing: true}
	if _, err := envtest.InstallCRDs(p.config, crds); err != nil {
		return nil, fmt.Errorf("install the CRDs: %w", err)
	}
	if err := errors.Join(clientgoscheme.AddToScheme(p.scheme), apiextensionsv1.AddToScheme(p.scheme), v1alpha1.AddToScheme(p.scheme)); err != nil {
		return nil, err
	}
	if p.Client, err = client.NewWithWatch(p.config, client.Options{Scheme: p.scheme}); err != nil {
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

// Root is the folder of the checkout.
func (p *Plane) Root() string { return p.options.Root }

// Stop ends the control plane and removes its data.
func (p *Plane) Stop(ctx context.Context) {
	p.observers.close()
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

// Namespace makes a namespace for one measurement, so that none sees the objects of another.
func (p *Plane) Namespace(ctx context.Context) (string, error) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-"}}
	if err := p.Client.Create(ctx, namespace); err != nil {
		return "", fmt.Errorf("create a namespace: %w", err)
	}
	return namespace.Name, nil
}
