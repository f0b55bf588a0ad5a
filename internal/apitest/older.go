// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/kinds"
)

// Without names fields that an older version of the operator's kinds does not have, by kind: status.deliveries[].key.
type Without map[string][]string

// StartOlder starts an API server of the test's own, whose CustomResourceDefinitions lack some fields.
func StartOlder(t *testing.T, without Without) *Server {
	t.Helper()
	server := startEmpty(t)
	server.Install(t, without)
	return server
}

// StartFrom starts an API server of the test's own, with the CustomResourceDefinitions of a folder: those of another version, each of which lacks
// something that this one has.
func StartFrom(t *testing.T, folder string) *Server {
	t.Helper()
	server := startEmpty(t)
	server.InstallFrom(t, folder)
	return server
}

// startEmpty starts an API server without the operator's kinds.
func startEmpty(t *testing.T) *Server {
	t.Helper()
	assets, err := assets(ModuleRoot(t))
	if err != nil {
		t.Fatal(err)
	}
	environment := &envtest.Environment{BinaryAssetsDirectory: assets}
	t.Cleanup(func() { _ = environment.Stop() })
	config, err := Launch(environment)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	direct, err := client.NewWithWatch(config, client.Options{Scheme: Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return &Server{Config: config, Kubeconfig: environment.KubeConfig, Client: direct, Assets: assets}
}

// InstallFrom replaces the CustomResourceDefinitions by those of a folder, as StartFrom does, and returns when the API server works by them and reports it.
func (s *Server) InstallFrom(t *testing.T, folder string) {
	t.Helper()
	installed, err := InstallKinds(s.Config, folder)
	if err != nil {
		t.Fatal(err)
	}
	s.untilPublished(t, installed)
}

// Install replaces the CustomResourceDefinitions by those of this version, but for some fields, and returns when the API
// server works by them and reports it.
func (s *Server) Install(t *testing.T, without Without) {
	t.Helper()
	options := envtest.CRDInstallOptions{Paths: []string{filepath.Join(ModuleRoot(t), definitions)}, ErrorIfPathMissing: true}
	if err := envtest.ReadCRDFiles(&options); err != nil {
		t.Fatal(err)
	}
	options.Paths = nil
	for _, crd := range options.CRDs {
		for _, field := range without[crd.Spec.Names.Kind] {
			if err := drop(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, field); err != nil {
				t.Fatalf("%s: %v", crd.Name, err)
			}
		}
	}
	if _, err := install(s.Config, options); err != nil {
		t.Fatal(err)
	}
	s.untilPublished(t, len(without))
}

// untilPublished waits until the API server publishes kinds of which so many lack something that this version has.
func (s *Server) untilPublished(t *testing.T, older int) {
	t.Helper()
	documents := openapi.NewClientWithContext(discovery.NewDiscoveryClientForConfigOrDie(s.Config).RESTClient())
	Eventually(t, func(ctx context.Context) error {
		paths, err := documents.PathsWithContext(ctx)
		if err != nil {
			return err
		}
		path := paths["apis/"+v1alpha1.GroupVersion.String()]
		if path == nil {
			return fmt.Errorf("it is not among %d paths", len(paths))
		}
		document, err := path.SchemaWithContext(ctx, "application/json")
		if err != nil {
			return err
		}
		outdated, unknown, err := kinds.Compare(document)
		if err == nil && (len(unknown) > 0 || len(outdated) != older) {
			err = fmt.Errorf("published: outdated %+v, unknown %v", outdated, unknown)
		}
		return err
	})
}

// drop takes a field out of a schema.
func drop(schema *apiextensionsv1.JSONSchemaProps, path string) error {
	name, rest, deeper := strings.Cut(path, ".")
	name, list := strings.CutSuffix(name, "[]")
	property, has := schema.Properties[name]
	if !has {
		return fmt.Errorf("there is no field %q", path)
	}
	if !deeper {
		delete(schema.Properties, name)
		return nil
	}
	next := &property
	if list {
		next = property.Items.Schema
	}
	err := drop(next, rest)
	schema.Properties[name] = property
	return err
}
