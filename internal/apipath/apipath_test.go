// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apipath

import "testing"

// R5.4: a path is about a kind of the operator whatever namespaces and objects are called, and whatever stands before the API server.
func TestPathsAreOfKinds(t *testing.T) {
	t.Parallel()
	const own = "/apis/feeds.feed-operator.io/v1alpha1/"
	for path, want := range map[string][3]string{
		own + "feeditems":                                    {"", "feeditems", ""},
		own + "namespaces/news/feeditems":                    {"news", "feeditems", ""},
		own + "namespaces/feeditems/feedsources/a/status":    {"feeditems", "feedsources", "a"},
		"/k8s/clusters/c-1" + own + "namespaces/a/feeditems": {"a", "feeditems", ""},
		"/api/v1/namespaces/news/secrets/feeditems":          {"", "", ""},
		"/apis/events.k8s.io/v1/namespaces/news/events":      {"", "", ""},
		own: {"", "", ""},
		"":  {"", "", ""},
	} {
		if namespace, resource, name := Of(path); [3]string{namespace, resource, name} != want {
			t.Errorf("%s is about %q, a %q in %q", path, name, resource, namespace)
		}
	}
}
