// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apitest gives tests a real API server with the operator's kinds.
package apitest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest/inmemory"
	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/tooltest"
)

// patience is how long a test waits for something that must happen, while nothing moves towards it. It is
// generous: it says that something does not happen at all, not that it is slow.
const patience = 2 * time.Minute

// longest is how long a test waits in all.
const longest = 5 * patience

// What is waited for is checked this often; but what takes long to check, as on a busy machine, no oftener than that this is a
// fifth of the time, and never less often than that patience allows for many checks.
const (
	often   = 20 * time.Millisecond
	seldom  = 4
	longGap = 2 * time.Second
)

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
	// HasKinds is set where all kinds are those of this version.
	HasKinds bool

	real func() (*Server, error)
}

// parallel is how many tests run at the same time if nobody says otherwise: most of them wait, most of the time.
const parallel = 16

// GOGC of the tests and of the API server: they take memory rather than time. With the race detector more of it costs time again.
const (
	memoryOfTests  = 200
	memoryOfServer = 400
)

// Run starts an API server, calls the tests, and stops it. Use it in TestMain.
func Run(m *testing.M, into **Server) int { return RunAtOnce(m, into, parallel) }

// RunAtOnce is Run for tests of which fewer may run at the same time, unless the command line says otherwise: such as start several processes each.
func RunAtOnce(m *testing.M, into **Server, tests int) int {
	if err := prepare(tests); err != nil {
		return complain(err)
	}
	server, stop, err := startReal()
	defer stop()
	if err != nil {
		return complain(err)
	}
	*into = server
	return m.Run()
}

// RunInMemory is Run with an API server in the memory of the tests' process, unless they are run in their whole size. A test that needs more than it has
// asks for a real one: see Server.Real.
func RunInMemory(m *testing.M, into **Server) int {
	if portion.IsWhole() {
		return Run(m, into)
	}
	server, err := startInMemory()
	if err == nil {
		err = prepare(parallel)
	}
	if err != nil {
		return complain(err)
	}
	stop := func() {}
	server.real = sync.OnceValues(func() (*Server, error) {
		started, stopIt, err := startReal()
		stop = stopIt
		return started, err
	})
	defer func() { stop() }()
	*into = server
	return m.Run()
}

// prepare sets what all tests of a process have in common.
func prepare(tests int) error {
	ctrl.SetLogger(quietUnlessAsked())
	debug.SetGCPercent(memoryOfTests)
	return flag.Set("test.parallel", strconv.Itoa(tests)) // the command line is read later, and wins
}

// startReal starts a control plane with the operator's kinds; what stops it is to be called after an error too.
func startReal() (*Server, func(), error) {
	root, err := tooltest.Root()
	if err != nil {
		return nil, func() {}, err
	}
	assets, err := assets(root)
	if err != nil {
		return nil, func() {}, err
	}
	environment := &envtest.Environment{BinaryAssetsDirectory: assets}
	stop := func() { _ = environment.Stop() }
	// What a server does for its own sake is left out.
	environment.ControlPlane.GetAPIServer().Configure().Set("enable-priority-and-fairness", "false").Set("profiling", "false")
	config, err := startWith(environment, map[string]string{"GOGC": strconv.Itoa(memoryOfServer)})
	if err != nil {
		return nil, stop, err
	}
	if _, err := InstallKinds(config, filepath.Join(root, definitions)); err != nil {
		return nil, stop, err
	}
	config.QPS = -1
	direct, err := client.NewWithWatch(config, client.Options{Scheme: Scheme()})
	return &Server{Config: config, Kubeconfig: environment.KubeConfig, Client: direct, Assets: assets, HasKinds: true}, stop, err
}

// Another starts one of the same sort, of the test's own.
func (s *Server) Another(t *testing.T) *Server {
	t.Helper()
	if s.real == nil {
		return StartOlder(t, nil)
	}
	another, err := startInMemory()
	if err != nil {
		t.Fatal(err)
	}
	return another
}

func startInMemory() (*Server, error) {
	root, err := tooltest.Root()
	if err != nil {
		return nil, err
	}
	server, err := inmemory.New(filepath.Join(root, definitions))
	if err != nil {
		return nil, err
	}
	direct, err := client.NewWithWatch(server.Config(), client.Options{Scheme: Scheme()})
	return &Server{Config: server.Config(), Client: direct, HasKinds: true}, err
}

// Real returns the API server itself, or a real one where it is in memory, for what only that has: permissions, policies, service accounts, kubectl.
func (s *Server) Real(t *testing.T) *Server {
	t.Helper()
	if s.real == nil {
		return s
	}
	started, err := s.real()
	if err != nil {
		t.Fatal(err)
	}
	return started
}

// startWith starts an environment whose processes find such variables in theirs.
func startWith(environment *envtest.Environment, variables map[string]string) (*rest.Config, error) {
	for name, value := range variables {
		before, was := os.LookupEnv(name)
		if err := os.Setenv(name, value); err != nil {
			return nil, err
		}
		defer func() {
			if was {
				_ = os.Setenv(name, before)
			} else {
				_ = os.Unsetenv(name)
			}
		}()
	}
	return Launch(environment)
}

// Scheme holds the operator's kinds and those of Kubernetes. All tests have the same; nobody adds to it.
var Scheme = sync.OnceValue(func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
})

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
	stalls := 0
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	defer cancel()
	for {
		began := time.Now()
		err := check(ctx)
		if err == nil {
			return
		}
		if ctx.Err() == nil && err.Error() != last.Error() { // what one says that is cut off is not what is wrong
			last, since, stalls = err, time.Now(), 0
		}
		if time.Since(since) > time.Duration(stalls+1)*stalled {
			stalls++
			t.Logf("nothing has moved for %s: %v", time.Since(since).Round(time.Second), last)
			stall(t)
		}
		select {
		case <-ctx.Done():
		case <-time.After(min(max(often, seldom*time.Since(began)), longGap)):
		}
		if ctx.Err() != nil || time.Since(since) > patience {
			t.Fatalf("waited %s in vain: %v", time.Since(since).Round(time.Second), last)
		}
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

// ModuleRoot is the folder of the project's go.mod.
func ModuleRoot(t *testing.T) string {
	t.Helper()
	return tooltest.ModuleRoot(t)
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
