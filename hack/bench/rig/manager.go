// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/feed-operator/feed-operator/hack/dev/child"
	"github.com/feed-operator/feed-operator/hack/dev/controlplane"
)

// managerGrace is how long the operator may take to end by itself.
const managerGrace = 30 * time.Second

// Manager is the operator's own program, as it is deployed.
type Manager struct {
	*child.Process
	program string
	// profiles is where it serves its profiles, and folder where they are put; both are empty where none is asked for.
	profiles, folder string
	// Page is the URL of its web page.
	Page string
}

// StartManager starts the program on one namespace, observed as its operators do: with a page that somebody has open.
func StartManager(ctx context.Context, p *Plane, namespace string, flags ...string) (*Manager, error) {
	return startManager(ctx, p, true, namespace, flags)
}

// StartManagerUnviewed is StartManager for one whose page nobody has opened.
func StartManagerUnviewed(ctx context.Context, p *Plane, namespace string, flags ...string) (*Manager, error) {
	return startManager(ctx, p, false, namespace, flags)
}

func startManager(ctx context.Context, p *Plane, viewed bool, namespace string, flags []string) (*Manager, error) {
	page, err := controlplane.FreeAddress(ctx)
	if err != nil {
		return nil, err
	}
	metrics, err := controlplane.FreeAddress(ctx)
	if err != nil {
		return nil, err
	}
	m := &Manager{program: filepath.Base(p.options.Manager), folder: p.options.Profiles, Page: "http://" + page}
	if m.folder != "" {
		var err error
		if m.profiles, err = controlplane.FreeAddress(ctx); err != nil {
			return nil, err
		}
		flags = append(flags, "--pprof-bind-address="+m.profiles)
	}
	process, err := child.Start("the operator", p.options.Manager, slices.Concat([]string{
		"--kubeconfig=" + p.cluster.Kubeconfig(), "--namespace=" + namespace, "--allow-cidr=" + loopback.String(), "--allow-http",
		"--feeds-bind-address=127.0.0.1:0", "--dashboard-bind-address=" + page, "--metrics-bind-address=" + metrics, "--health-probe-bind-address=127.0.0.1:0",
	}, p.observers.flags(), flags), filepath.Join(p.dir, fmt.Sprintf("manager-%d.log", p.managers.Add(1))))
	if err != nil {
		return nil, err
	}
	m.Process = process
	viewedPage := ""
	if viewed {
		viewedPage = m.Page
	}
	ctx, stop := context.WithCancel(ctx)
	go func() {
		<-process.Done()
		stop()
	}()
	p.observers.watch(ctx, "http://"+metrics+"/metrics", viewedPage)
	return m, nil
}

// Stop ends it in order, and waits.
func (m *Manager) Stop(ctx context.Context) { m.Process.Stop(context.WithoutCancel(ctx), managerGrace) }

// ReaderMemory reads how much the process holds that it has started to read PDF documents.
func (m *Manager) ReaderMemory() (Memory, error) {
	read, err := memoryOfReader(m.program, m.PID())
	return read, m.Explain(err)
}

// Memory reads how much it holds.
func (m *Manager) Memory() (Memory, error) {
	read, err := memoryOf(m.PID())
	return read, m.Explain(err)
}

// CPU reads how long it has used a core.
func (m *Manager) CPU() (time.Duration, error) {
	used, err := cpuOf(m.PID())
	return used, m.Explain(err)
}

// Explain adds to an error what the operator said last.
func (m *Manager) Explain(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w; the operator said:\n%s", err, m.Tail(12))
}
