// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/redact"
)

// cluster is the API server that kubectl would ask.
type cluster struct {
	rules     *clientcmd.ClientConfigLoadingRules
	overrides clientcmd.ConfigOverrides
}

// newCluster is that of the flags, which are called as kubectl calls them.
func newCluster(flags *pflag.FlagSet) *cluster {
	c := &cluster{rules: clientcmd.NewDefaultClientConfigLoadingRules()}
	flags.StringVar(&c.rules.ExplicitPath, clientcmd.RecommendedConfigPathFlag, "", "Path to the kubeconfig file to use for CLI requests.")
	names := clientcmd.RecommendedConfigOverrideFlags("")
	names.ClusterOverrideFlags.APIServer.ShortName = "s"
	names.AuthOverrideFlags.Username.LongName, names.AuthOverrideFlags.Password.LongName = "", "" // kubectl has them no longer
	clientcmd.BindOverrideFlags(&c.overrides, flags, names)
	return c
}

// connect returns the client and the namespace that the flags name.
func (c *cluster) connect() (client.Client, string, error) {
	chosen := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(c.rules, &c.overrides)
	config, err := chosen.ClientConfig()
	if err != nil {
		return nil, "", err
	}
	redact.Remember("", config.BearerToken)
	redact.Remember("", config.Password)
	config.QPS = -1 // the server's own fairness decides
	namespace, _, err := chosen.Namespace()
	if err != nil {
		return nil, "", err
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, "", err
	}
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, "", err
	}
	if err := authorizationv1.AddToScheme(scheme); err != nil {
		return nil, "", err
	}
	connected, err := client.New(config, client.Options{Scheme: scheme})
	return connected, namespace, err
}

// pageSize is how many objects are asked for at once.
const pageSize = 500

// list reads all objects of a kind, page by page, and hands each page on. Each is read into a list of its
// own: decoding into one that is not empty would merge the two.
func list[L any, P interface {
	*L
	client.ObjectList
}](ctx context.Context, c client.Client, take func(page P), options ...client.ListOption) error {
	for more := ""; ; {
		page := P(new(L))
		asked := append([]client.ListOption{client.Limit(pageSize), client.Continue(more)}, options...)
		if err := c.List(ctx, page, asked...); err != nil {
			return err
		}
		take(page)
		if more = page.GetContinue(); more == "" {
			return nil
		}
	}
}

// notFound returns what kubectl says, and in which namespace that was.
func notFound(err error, namespace string) error {
	if client.IgnoreNotFound(err) == nil {
		return fmt.Errorf("%w in the namespace %s", err, namespace)
	}
	return err
}
