// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/syndication"
)

// feedServer serves the summaries as feeds, on every replica: it only reads.
type feedServer struct {
	address string
	handler http.Handler
}

func addFeeds(manager ctrl.Manager, flags *flags) error {
	if flags.feedsAddress == "0" {
		return nil
	}
	reader := controllers.FeedReader{Cached: manager.GetClient(), Live: manager.GetAPIReader()}
	return manager.Add(&feedServer{
		address: flags.feedsAddress,
		handler: syndication.NewHandler(reader, syndication.Options{
			BaseURL: flags.feedsBaseURL,
			Log:     ctrl.Log.WithName("feeds"),
		}),
	})
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (s *feedServer) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (s *feedServer) Start(ctx context.Context) error {
	const readTimeout, writeTimeout, idleTimeout = 10 * time.Second, 30 * time.Second, 2 * time.Minute
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", s.address)
	if err != nil {
		return fmt.Errorf("--feeds-bind-address: %w", err)
	}
	server := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: readTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    16 << 10,
	}
	context.AfterFunc(ctx, func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
		defer cancel()
		_ = server.Shutdown(ending)
	})
	ctrl.Log.WithName("feeds").Info("Feeds served", "address", listener.Addr().String())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
