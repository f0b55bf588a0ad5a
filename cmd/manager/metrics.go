// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/feed-operator/feed-operator/internal/dashboard/people"
)

// metricsOptions says how metrics are served: to everybody who reaches them, or by https to those whom the API server lets get them.
func metricsOptions(flags *flags, scheme *runtime.Scheme) metricsserver.Options {
	options := metricsserver.Options{BindAddress: flags.metricsAddress}
	if flags.metricsAuth {
		options.SecureServing, options.CertDir = true, flags.metricsCertDir
		options.FilterProvider = func(config *rest.Config, httpClient *http.Client) (metricsserver.Filter, error) {
			return forWhoMayGet(config, httpClient, scheme)
		}
	}
	return options
}

// reviewTimeout bounds what the API server is asked about one request.
const reviewTimeout = 10 * time.Second

// forWhoMayGet lets through who shows a token that may get the path, by TokenReview and SubjectAccessReview, as the page does. That of controller-runtime
// would do it as well, and bring the libraries of an API server along.
func forWhoMayGet(config *rest.Config, httpClient *http.Client, scheme *runtime.Scheme) (metricsserver.Filter, error) {
	mapper, err := newMapper(config, httpClient)
	if err != nil {
		return nil, err
	}
	reviews, err := client.New(config, client.Options{HTTPClient: httpClient, Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, err
	}
	known := people.New(reviews, time.Now)
	return func(log logr.Logger, next http.Handler) (http.Handler, error) {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithTimeout(r.Context(), reviewTimeout)
			defer cancel()
			of, err := known.Who(ctx, known.TokenOf(r), r.RemoteAddr)
			may := false
			if err == nil {
				may, err = known.MayGet(ctx, of, r.URL.Path)
			}
			switch {
			case errors.Is(err, people.ErrSignIn):
				w.Header().Set("WWW-Authenticate", "Bearer")
				http.Error(w, "Show a token that the API server knows: Authorization: Bearer ...", http.StatusUnauthorized)
			case errors.Is(err, people.ErrBusy):
				http.Error(w, "Too many unknown tokens are being checked.", http.StatusServiceUnavailable)
			case err != nil:
				log.Error(err, "Failed to ask who scrapes the metrics")
				http.Error(w, "The API server does not answer.", http.StatusServiceUnavailable)
			case !may:
				http.Error(w, "You may not get "+r.URL.Path+": the ClusterRole feed-operator-metrics-reader lets you.", http.StatusForbidden)
			default:
				next.ServeHTTP(w, r)
			}
		}), nil
	}, nil
}
