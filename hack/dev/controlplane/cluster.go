// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/feed-operator/feed-operator/hack/dev/child"
)

const (
	// startLimit is how long the control plane may take to become ready.
	startLimit = 2 * time.Minute
	// stopGrace is how long each process may take to end by itself.
	stopGrace = 15 * time.Second
)

// Options say where a control plane lives.
type Options struct {
	// Binaries that it is made of.
	Binaries Binaries
	// Dir gets the kubeconfig and the logs. Only one control plane at a time may use it.
	Dir string
	// State is the folder in Dir for etcd's data and the keys.
	State string
	// Fresh empties State first, and lets etcd write without waiting for the disk.
	Fresh bool
}

// Cluster is a running control plane.
type Cluster struct {
	dir        string
	endpoint   string
	admin      *rest.Config
	kubeconfig string
	clients    *authority
	// processes in the order in which they were started.
	processes []*child.Process
	unlock    func()
	died      chan error
}

// Start brings a control plane up and waits until it can be used: the API server is ready, and the
// namespace "default" has its service account. When it returns an error, nothing is left running.
func Start(ctx context.Context, options Options) (_ *Cluster, failed error) {
	dir, err := filepath.Abs(options.Dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("make the folder of the control plane: %w", err)
	}
	unlock, holder, err := tryLock(filepath.Join(dir, "lock"))
	if errors.Is(err, errLocked) {
		return nil, fmt.Errorf("a control plane is running in %s already (%s): stop it, or use another folder", dir, holder)
	}
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir, unlock: unlock, died: make(chan error, 1)}
	defer func() {
		if failed != nil {
			c.Stop(context.WithoutCancel(ctx))
		}
	}()

	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not ready after %s", startLimit))
	defer cancel()
	state := filepath.Join(dir, options.State)
	if options.Fresh {
		if err := os.RemoveAll(state); err != nil {
			return nil, fmt.Errorf("empty %s: %w", state, err)
		}
	}
	settings, err := newSettings(ctx, options.Binaries, state, options.Fresh)
	if err != nil {
		return nil, fmt.Errorf("set up the control plane: %w", err)
	}
	if err := c.bringUp(ctx, settings); err != nil {
		return nil, err
	}
	c.watch()
	return c, nil
}

func (c *Cluster) bringUp(ctx context.Context, s *settings) error {
	c.clients, c.endpoint = s.clients, s.endpoint()
	admin, err := c.UserConfig("kubernetes-admin", "system:masters")
	if err != nil {
		return err
	}
	c.admin = admin
	if c.kubeconfig, err = c.WriteKubeconfig("kubeconfig", admin); err != nil {
		return err
	}
	manager, err := c.UserConfig("system:kube-controller-manager")
	if err != nil {
		return err
	}
	managerKubeconfig := filepath.Join(s.dir, "kube-controller-manager.kubeconfig")
	if err := writeKubeconfig(managerKubeconfig, manager); err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return err
	}

	if err := c.run(ctx, etcd, s.binaries.path(etcd), s.etcdArguments(), s.etcdHealthy); err != nil {
		return err
	}
	err = c.run(ctx, apiServer, s.binaries.path(apiServer), s.apiServerArguments(), func(ctx context.Context) error {
		return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
	if err != nil {
		return err
	}
	return c.run(ctx, controllerManager, s.binaries.path(controllerManager), s.controllerManagerArguments(managerKubeconfig),
		func(ctx context.Context) error {
			_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return errors.New("the namespace default has no service account yet")
			}
			return err
		})
}

// run starts a process and waits until it is ready.
func (c *Cluster) run(ctx context.Context, name, path string, arguments []string, ready func(context.Context) error) error {
	process, err := child.Start(name, path, arguments, filepath.Join(c.dir, name+".log"))
	if err != nil {
		return err
	}
	c.processes = append(c.processes, process)

	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		attempt, cancel := context.WithTimeout(ctx, 5*time.Second)
		unready := ready(attempt)
		cancel()
		if unready == nil {
			return nil
		}
		select {
		case <-process.Done():
			return process.Err()
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w (%w); the end of its log:\n%s", name, context.Cause(ctx), unready, process.Tail(12))
		case <-again.C:
		}
	}
}

// watch reports the first process that ends.
func (c *Cluster) watch() {
	for _, process := range c.processes {
		go func() {
			<-process.Done()
			select {
			case c.died <- process.Err():
			default:
			}
		}()
	}
}

// Died receives one error when a process of the control plane has ended, which before Stop means
// that it cannot be used any more.
func (c *Cluster) Died() <-chan error { return c.died }

// Admin is the configuration of a client that may do everything.
func (c *Cluster) Admin() *rest.Config { return rest.CopyConfig(c.admin) }

// Kubeconfig is the path of the file with which kubectl may do everything.
func (c *Cluster) Kubeconfig() string { return c.kubeconfig }

// Stop ends every process, the one that was started last first, and returns when none is left.
// When ctx ends they are killed.
func (c *Cluster) Stop(ctx context.Context) {
	for _, process := range slices.Backward(c.processes) {
		process.Stop(ctx, stopGrace)
	}
	c.unlock()
}
