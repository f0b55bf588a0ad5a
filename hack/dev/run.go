// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/hack/dev/child"
	"github.com/feed-operator/feed-operator/hack/dev/controlplane"
	"github.com/feed-operator/feed-operator/hack/dev/samplefeeds"
)

const (
	// managerGrace is how long the operator may take to finish what is under way.
	managerGrace = 30 * time.Second
	// newEntryEvery is how often a new entry appears in a sample feed.
	newEntryEvery = 75 * time.Second
	// guideAtLatest is when the guide is shown although items still wait for their turn to be posted.
	guideAtLatest = 45 * time.Second
	// feedsAddress is where the operator serves the summaries, unless the port is taken.
	feedsAddress = "127.0.0.1:8082"
	// pageAddress is where the operator serves its web page, unless the port is taken.
	pageAddress = "127.0.0.1:8083"
	// operatorUser is whom the API server takes the operator for: RBAC gives it what the operator has
	// in a cluster, and no more.
	operatorUser = "feed-operator-manager"
)

type runOptions struct {
	once    bool
	sources []string
	manager string
	limit   time.Duration
	// environment holds the variables that readAccess makes sense of.
	environment map[string]string
}

// world is all that `dev run` has started.
type world struct {
	options  options
	binaries controlplane.Binaries
	feeds    *samplefeeds.Server
	// access is what the developer lets it use; without an account there, posts go to the standIn, and
	// for the services without a key there are models.
	access  access
	standIn *standIn
	// chat takes what is sent to the webhooks of the samples.
	chat    *chat
	models  []*modelStandIn
	cluster *controlplane.Cluster
	manager *child.Process
	client  client.Client
	// serves is the URL at which the operator serves the summaries, page that of its web page.
	serves, page string
}

// runOperator runs everything until it is stopped; with --once until all items are done.
func (o options) runOperator(ctx, patience context.Context) error {
	ctrl.SetLogger(logr.Discard())
	allowed, err := readAccess(o.run.environment)
	if err != nil {
		return err
	}
	w := &world{options: o, access: allowed}
	defer w.stop(patience)
	err = w.play(ctx)
	if o.run.once {
		return err
	}
	return unlessStopped(ctx, err)
}

func (w *world) play(ctx context.Context) error {
	if err := w.start(ctx); err != nil {
		return err
	}
	objects, err := w.readObjects()
	if err != nil {
		return err
	}
	if err := w.warn(ctx, os.Stdout, objects); err != nil {
		return err
	}
	board, err := watchBoard(ctx, w.cluster.Admin(), w.client.Scheme(), os.Stdout, w.standIn == nil)
	if err != nil {
		return err
	}
	// Before the cluster goes, or the watches would complain about it.
	defer board.stop()
	if w.standIn != nil {
		go w.standIn.showPosts(ctx, board.note)
	}
	go w.chat.showMessages(ctx, board.note)
	sources, err := w.applyObjects(ctx, objects)
	if err != nil {
		return err
	}
	if w.options.run.once {
		return w.finish(ctx, board, sources)
	}
	go w.feeds.PublishEvery(ctx, newEntryEvery, func(title string) { board.note("A sample feed has a new entry: " + title) })
	return w.accompany(ctx, board, sources)
}

// start brings everything up, except for the sources.
func (w *world) start(ctx context.Context) error {
	o := w.options
	manager := o.path(o.run.manager)
	if _, err := os.Stat(manager); err != nil {
		return fmt.Errorf("the operator's program is missing; `make build` builds it: %w", err)
	}
	var err error
	if w.binaries, err = o.ensureBinaries(ctx); err != nil {
		return err
	}
	if w.feeds, err = samplefeeds.Serve(ctx); err != nil {
		return err
	}
	fmt.Printf("Sample feeds are served at %s.\n", w.feeds.Base)
	if w.access.mastodon == nil {
		if w.standIn, err = startStandIn(ctx); err != nil {
			return fmt.Errorf("start the stand-in for Mastodon: %w", err)
		}
	}
	if w.chat, err = startChat(ctx); err != nil {
		return fmt.Errorf("start the stand-in for a chat: %w", err)
	}
	w.models = startModels(w.access, time.Now)
	fmt.Println(w.words())

	fmt.Println("Starting a new control plane; what an earlier run left is removed …")
	start := time.Now()
	w.cluster, err = controlplane.Start(ctx, controlplane.Options{
		Binaries: w.binaries, Dir: o.path(o.dir), State: "run", Fresh: true,
	})
	if err != nil {
		return err
	}
	fmt.Printf("The control plane is ready after %s.\n", time.Since(start).Round(100*time.Millisecond))
	if err := w.install(ctx); err != nil {
		return err
	}
	return w.startManager(ctx, manager)
}

// install applies the kinds and the operator's permissions.
func (w *world) install(ctx context.Context) error {
	config := w.cluster.Admin()
	crds := filepath.Join(w.options.root, "config", "crd", "bases")
	if _, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{Paths: []string{crds}, ErrorIfPathMissing: true}); err != nil {
		return fmt.Errorf("install the CRDs: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return err
	}
	var err error
	if w.client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	rbac := filepath.Join(w.options.root, "config", "rbac")
	return errors.Join(w.grant(ctx, filepath.Join(rbac, "role.yaml")), w.grant(ctx, filepath.Join(rbac, "dashboard_actions_role.yaml")))
}

func (w *world) startManager(ctx context.Context, program string) error {
	user, err := w.cluster.UserConfig(operatorUser)
	if err != nil {
		return err
	}
	kubeconfig, err := w.cluster.WriteKubeconfig("manager.kubeconfig", user)
	if err != nil {
		return err
	}
	address, err := freeAddress(ctx, feedsAddress)
	if err != nil {
		return err
	}
	w.serves = "http://" + address
	page, err := freeAddress(ctx, pageAddress)
	if err != nil {
		return err
	}
	w.page = "http://" + page + "/"
	w.manager, err = child.Start("the operator", program, append([]string{
		"--kubeconfig=" + kubeconfig,
		"--feeds-bind-address=" + address,
		"--dashboard-bind-address=" + page,
		"--dashboard-actions",
		"--metrics-bind-address=0",
		"--health-probe-bind-address=0",
		"--leader-elect=false",
	}, managerFlags...), filepath.Join(w.options.path(w.options.dir), "manager.log"))
	fmt.Printf("The operator's page: %s\n", w.page)
	return err
}

// accompany shows what happens until somebody stops it or something dies.
func (w *world) accompany(ctx context.Context, board *board, sources []client.ObjectKey) error {
	look := time.NewTicker(time.Second)
	defer look.Stop()
	began := time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-w.cluster.Died():
			return err
		case <-w.manager.Done():
			return w.manager.Err()
		case <-look.C:
			if board.firstItemsDone(time.Since(began) > guideAtLatest) {
				board.note(w.guide(sources))
				look.Stop()
			}
		}
	}
}

// stop ends everything in order: the operator first, so that it can write down what it was at.
func (w *world) stop(patience context.Context) {
	if w.cluster != nil {
		fmt.Println("\nStopping … (Ctrl-C again to kill)")
	}
	if w.manager != nil {
		w.manager.Stop(patience, managerGrace)
	}
	if w.cluster != nil {
		w.cluster.Stop(patience)
	}
	if w.feeds != nil {
		w.feeds.Close()
	}
	if w.standIn != nil {
		w.standIn.Close()
	}
	if w.chat != nil {
		w.chat.Close()
	}
	for _, model := range w.models {
		model.close()
	}
}

// freeAddress returns the wanted address when it is free, and else one with another port.
func freeAddress(ctx context.Context, wanted string) (string, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", wanted)
	if err != nil {
		if listener, err = config.Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
			return "", fmt.Errorf("find a free port: %w", err)
		}
	}
	return listener.Addr().String(), listener.Close()
}
