// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
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
	config, err := environment.Start()
	// The library gives the default namespace five seconds, which are over before that on a busy machine. It runs all the same.
	if started := environment.KubeConfig != nil; started && errors.Is(err, context.DeadlineExceeded) {
		config = environment.Config
		err = untilReady(config)
	}
	return config, err
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

// InstallKinds applies the CustomResourceDefinitions of a folder, returns when all are established, and says how many they are.
func InstallKinds(config *rest.Config, folder string) (int, error) {
	return install(config, envtest.CRDInstallOptions{Paths: []string{folder}, ErrorIfPathMissing: true})
}

func install(config *rest.Config, options envtest.CRDInstallOptions) (int, error) {
	options.MaxTime = startTimeout
	installed, err := envtest.InstallCRDs(config, options)
	return len(installed), err
}
