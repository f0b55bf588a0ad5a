// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/net/netutil"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmanager "sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/feed-operator/feed-operator/internal/apiclock"
	"github.com/feed-operator/feed-operator/internal/dashboard"
	"github.com/feed-operator/feed-operator/internal/redact"
	"github.com/feed-operator/feed-operator/internal/watches"
)

// pageFlags are what a person can set about the web page.
type pageFlags struct {
	pageAddress           string
	pageHosts             []string
	pageAuth, pageActions bool
}

func (f *pageFlags) checkPage() error {
	if f.pageAddress == "0" {
		return nil
	}
	host, _, err := net.SplitHostPort(f.pageAddress)
	if err != nil {
		return fmt.Errorf("--dashboard-bind-address %q is not an address such as 127.0.0.1:8083, or 0", f.pageAddress)
	}
	if f.pageActions && !f.pageAuth && !isLoopback(host) {
		return fmt.Errorf("--dashboard-actions without --dashboard-auth lets everybody act who reaches %s: bind it to loopback, such as "+
			"--dashboard-bind-address=127.0.0.1:8083, or set --dashboard-auth", f.pageAddress)
	}
	for i, name := range f.pageHosts {
		if name == "" || strings.ContainsAny(name, ":/@ ") {
			return fmt.Errorf("--dashboard-host %q is not a name such as feeds.example.org, without a scheme and a port", name)
		}
		f.pageHosts[i] = strings.ToLower(strings.TrimSuffix(name, "."))
	}
	return nil
}

// isLoopback reports whether only this machine, or pod, reaches an address. A name may lead anywhere, but for localhost.
func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.Unmap().IsLoopback()
}

// mostConnections is how many connections the page takes at the same time: those of all viewers, with some room.
const mostConnections = 4 * dashboard.MostViewers

// addDashboard serves the web page, on every replica.
func addDashboard(ctx context.Context, manager ctrl.Manager, flags *flags, now *apiclock.Clock, watched *watches.Watches) error {
	page := flags.pageFlags
	if page.pageAddress == "0" {
		return nil
	}
	log := ctrl.Log.WithName("dashboard")
	board := dashboard.NewBoard(manager.GetClient(), now.Now)
	if err := board.Hear(ctx, manager.GetCache()); err != nil {
		return err
	}
	options := dashboard.Options{
		Board: board, Live: manager.GetAPIReader(), Now: now.Now, Passed: now.Passed, Actions: page.pageActions, Hosts: page.pageHosts,
		Silence: func(namespaces []string) time.Duration { return max(now.Silence(), watched.Silence(namespaces)) },
		Writer:  manager.GetClient(), Log: log,
	}
	if page.pageAuth {
		options.Reviews, options.As = manager.GetClient(), writerFor(manager, redact.Remember)
	}
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", page.pageAddress)
	if err != nil {
		return fmt.Errorf("--dashboard-bind-address: %w", err)
	}
	if host, _, err := net.SplitHostPort(listener.Addr().String()); !page.pageAuth && err == nil && !isLoopback(host) {
		log.Info("Everybody who reaches the page sees the items of all namespaces: --dashboard-auth asks who they are", "address", listener.Addr().String())
	}
	log.Info("Page served", "address", listener.Addr().String(), "actions", page.pageActions, "auth", page.pageAuth)
	return manager.Add(newPageServer(options, listener))
}

func newPageServer(options dashboard.Options, listener net.Listener) *ctrlmanager.Server {
	const readTimeout, writeTimeout, idleTimeout, shutdownTimeout = 10 * time.Second, 30 * time.Second, 30 * time.Second, 5 * time.Second
	ending := make(chan struct{})
	server := &http.Server{
		Handler:           dashboard.NewHandler(options, ending),
		ReadHeaderTimeout: readTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout, // of streams, for each write
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    16 << 10,
	}
	server.RegisterOnShutdown(func() { close(ending) })
	return &ctrlmanager.Server{
		Name: "dashboard", Server: server, Listener: netutil.LimitListener(listener, mostConnections), ShutdownTimeout: new(shutdownTimeout),
	}
}

// peopleOfThePage own the tokens by which people act, among what the log masks. No namespace has that name. They are as many as somebody cares to make: so
// they are not the operator's own, which is never forgotten.
const peopleOfThePage = "people of the page"

// writerFor makes clients that write as the person whose token it is, and as nobody else. Remember is told of the token, so that the log masks it.
func writerFor(manager ctrl.Manager, remember func(owner, secret string)) func(token string) (client.Client, error) {
	anonymous := rest.AnonymousClientConfig(manager.GetConfig())
	return func(token string) (client.Client, error) {
		if token == "" {
			return nil, errors.New("there is no token to write with")
		}
		remember(peopleOfThePage, token)
		theirs := rest.CopyConfig(anonymous)
		theirs.BearerToken = token
		theirs.QPS, theirs.RateLimiter = -1, nil // what people press takes nothing of what the operator may write
		return client.New(theirs, client.Options{Scheme: manager.GetScheme(), Mapper: manager.GetRESTMapper()})
	}
}
