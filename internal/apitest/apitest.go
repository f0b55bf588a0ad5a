// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apitest gives tests a real API server with the operator's kinds.
package apitest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// patience is how long a test waits for something that must happen, while nothing moves towards it. It is
// generous: it says that something does not happen at all, not that it is slow.
const patience = 2 * time.Minute

// longest is how long a test waits in all.
const longest = 5 * patience

// Server is a running API server.
type Server struct {
	// Config reaches it as an administrator.
	Config *rest.Config
	// Kubeconfig is the same as a file.
	Kubeconfig []byte
	// Client reads and writes without a cache.
	Client client.WithWatch
	// Assets is the folder of the control plane's binaries, kubectl among them.
	Assets string
}

// Run starts an API server, calls the tests, and stops it. Use it in TestMain.
func Run(m *testing.M, into **Server) int {
	ctrl.SetLogger(quietUnlessAsked())
	root, err := moduleRoot()
	if err != nil {
		return complain(err)
	}
	assets, err := assets(root)
	if err != nil {
		return complain(err)
	}
	environment := &envtest.Environment{
		BinaryAssetsDirectory: assets,
		CRDDirectoryPaths:     []string{filepath.Join(root, "config", "crd", "bases")},
		ErrorIfCRDPathMissing: true,
	}
	config, err := environment.Start()
	if err != nil {
		return complain(err)
	}
	defer func() { _ = environment.Stop() }()
	config.QPS = -1
	direct, err := client.NewWithWatch(config, client.Options{Scheme: Scheme()})
	if err != nil {
		return complain(err)
	}
	*into = &Server{Config: config, Kubeconfig: environment.KubeConfig, Client: direct, Assets: assets}
	return m.Run()
}

// Scheme holds the operator's kinds and those of Kubernetes.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
}

// Namespace makes a namespace of its own for a test.
func (s *Server) Namespace(t *testing.T) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := s.Client.Create(t.Context(), namespace); err != nil {
		t.Fatalf("create a namespace: %v", err)
	}
	return namespace.Name
}

// Eventually waits until check returns nil, and fails the test with its last error if it never does. An error
// that says something new is a step towards it.
func Eventually(t *testing.T, check func(context.Context) error) {
	t.Helper()
	last, since := errors.New("never checked"), time.Now()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, longest, true, func(ctx context.Context) (bool, error) {
		err := check(ctx)
		if err == nil || ctx.Err() != nil { // what one says that is cut off is not what is wrong
			return err == nil, ctx.Err()
		}
		if err.Error() != last.Error() {
			last, since = err, time.Now()
		}
		if time.Since(since) > patience {
			return false, err
		}
		return false, nil
	})
	if err != nil {
		t.Fatalf("waited %s in vain: %v", time.Since(since).Round(time.Second), last)
	}
}

// assets finds the binaries of the control plane: where KUBEBUILDER_ASSETS says, or where
// `make devcluster` and `make test` put them.
func assets(root string) (string, error) {
	if folder := os.Getenv("KUBEBUILDER_ASSETS"); folder != "" {
		return folder, nil
	}
	found, err := filepath.Glob(filepath.Join(root, "bin", "k8s", "*", "kube-apiserver"))
	if err != nil || len(found) == 0 {
		return "", errors.New("there is no kube-apiserver under bin/k8s: run `make test` once, which builds it")
	}
	return filepath.Dir(found[len(found)-1]), nil
}

func moduleRoot() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder, nil
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return "", fmt.Errorf("no go.mod above %s", folder)
		}
		folder = parent
	}
}

// ModuleRoot is the folder of the project's go.mod.
func ModuleRoot(t *testing.T) string {
	t.Helper()
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// quietUnlessAsked returns a logger that is silent, unless APITEST_LOG is set.
func quietUnlessAsked() logr.Logger {
	if os.Getenv("APITEST_LOG") == "" {
		return logr.Discard()
	}
	return zap.New(zap.WriteTo(os.Stderr), zap.UseDevMode(true))
}

func complain(err error) int {
	fmt.Fprintln(os.Stderr, "apitest: "+strings.TrimSpace(err.Error()))
	return 1
}
