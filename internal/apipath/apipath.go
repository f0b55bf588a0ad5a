// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apipath reads the paths of the API server's own API.
package apipath

import (
	"strings"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// Of returns which of the operator's kinds a path is about, as a resource such as feeditems, in which namespace, and which object; both are empty for
// all. Resource is empty where it is about none of the kinds. What stands before an API, as behind a proxy, does not matter.
func Of(path string) (namespace, resource, name string) {
	_, rest, _ := strings.Cut(path, "/apis/"+v1alpha1.GroupVersion.String()+"/")
	if within, is := strings.CutPrefix(rest, "namespaces/"); is {
		namespace, rest, _ = strings.Cut(within, "/")
	}
	resource, rest, _ = strings.Cut(rest, "/")
	name, _, _ = strings.Cut(rest, "/")
	return namespace, resource, name
}
