// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// startTimeout is how long each step of an API server's start may take: some start while many tests run.
const startTimeout = 2 * time.Minute

// definitions is the folder of the CustomResourceDefinitions below the module's root.
var definitions = filepath.Join("config", "crd", "bases")

// Launch starts a control plane and returns how an administrator reaches it. Stop the environment in the end, also after an error.
func Launch(environment *envtest.Environment) (*rest.Config, error) {
	environment.ControlPlaneStartTimeout = startTimeout
	if err := settle(&environment.ControlPlane); err != nil {
		return nil, err
	}
	var ofAPIServer, ofEtcd ending
	environment.ControlPlane.GetAPIServer().Err, environment.ControlPlane.Etcd.Err = &ofAPIServer, &ofEtcd
	config, err := environment.Start()
	if environment.KubeConfig == nil && err != nil {
		return nil, fmt.Errorf("%w; the end of the log of etcd:\n%s\nand of the API server:\n%s", err, &ofEtcd, &ofAPIServer)
	}
	// The library gives the default namespace five seconds, which are over before that on a busy machine. It runs all the same.
	if started := environment.KubeConfig != nil; started && errors.Is(err, context.DeadlineExceeded) {
		config = environment.Config
		err = untilReady(config)
	}
	return config, err
}

// settle gives the processes of a control plane addresses of their own. Left to itself the library takes a port of 127.0.0.1 that is free at that moment, and
// tries that one again and again when another server of the tests has got it since.
func settle(plane *envtest.ControlPlane) error {
	ofAPIServer, err := freeAddress(context.Background())
	if err != nil {
		return err
	}
	ofEtcd, err := freeAddress(context.Background())
	if err != nil {
		return err
	}
	if plane.Etcd == nil {
		plane.Etcd = &envtest.Etcd{}
	}
	plane.Etcd.URL = &url.URL{Scheme: "http", Host: ofEtcd}
	serving := &plane.GetAPIServer().SecureServing
	serving.Address, serving.Port, err = net.SplitHostPort(ofAPIServer)
	return err
}

// ending keeps the end of what is written to it. The zero value is ready; it may be used by several at once.
type ending struct {
	mu   sync.Mutex
	text []byte
}

// kept is how many bytes of an ending are kept: some lines.
const kept = 4096

// Write implements io.Writer.
func (e *ending) Write(more []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.text = append(e.text, more...)
	e.text = e.text[max(0, len(e.text)-kept):]
	return len(more), nil
}

// String is what is kept.
func (e *ending) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return string(e.text)
}

// untilReady waits until the default namespace is there.
func untilReady(config *rest.Config) error {
	direct, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	var last error
	err = wait.PollUntilContextTimeout(context.Background(), often, startTimeout, true, func(ctx context.Context) (bool, error) {
		last = direct.Get(ctx, client.ObjectKey{Name: corev1.NamespaceDefault}, &corev1.Namespace{})
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("the default namespace is not there after %s: %w", startTimeout, last)
	}
	return nil
}

// InstallKinds applies the CustomResourceDefinitions of a folder, returns when each can be watched, and says how many they are.
func InstallKinds(config *rest.Config, folder string) (int, error) {
	return install(config, envtest.CRDInstallOptions{Paths: []string{folder}, ErrorIfPathMissing: true})
}

func install(config *rest.Config, options envtest.CRDInstallOptions) (int, error) {
	options.MaxTime = startTimeout
	installed, err := envtest.InstallCRDs(config, options)
	if err != nil {
		return 0, err
	}
	api, err := dynamic.NewForConfig(config)
	if err != nil {
		return 0, err
	}
	for _, crd := range installed {
		if err := untilWatched(api, crd); err != nil {
			return 0, fmt.Errorf("%s cannot be watched after %s: %w", crd.Name, startTimeout, err)
		}
	}
	return len(installed), nil
}

// untilWatched waits until a kind can be watched. The API server says of a kind that it is established before it has a store of it, and makes that at the
// first request; until it is full it answers 429 to those that watch.
func untilWatched(api dynamic.Interface, crd *apiextensionsv1.CustomResourceDefinition) error {
	for _, version := range crd.Spec.Versions {
		if !version.Served {
			continue
		}
		of := schema.GroupVersionResource{Group: crd.Spec.Group, Version: version.Name, Resource: crd.Spec.Names.Plural}
		var last error
		err := wait.PollUntilContextTimeout(context.Background(), often, startTimeout, true, func(ctx context.Context) (bool, error) {
			var watched watch.Interface
			if watched, last = api.Resource(of).Watch(ctx, metav1.ListOptions{}); last == nil {
				watched.Stop()
			}
			return last == nil, nil
		})
		if err != nil {
			return errors.Join(last, err)
		}
	}
	return nil
}
