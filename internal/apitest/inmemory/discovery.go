// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package inmemory

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// discovered is what a path says of the kinds that are served; nil for all other paths.
func (s *Server) discovered(path string) any {
	path = strings.Trim(path, "/")
	if path == "api" {
		return metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}
	}
	groups := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	named := map[string]bool{}
	found := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}}
	for _, of := range s.collections {
		version := of.resource.GroupVersion()
		if group := version.Group; group != "" && !named[group] {
			named[group] = true
			served := metav1.GroupVersionForDiscovery{GroupVersion: version.String(), Version: version.Version}
			groups.Groups = append(groups.Groups, metav1.APIGroup{Name: group, Versions: []metav1.GroupVersionForDiscovery{served}, PreferredVersion: served})
		}
		if path == "api/"+version.String() || path == "apis/"+version.String() {
			found.GroupVersion = version.String()
			resource := metav1.APIResource{
				Name: of.resource.Resource, Kind: of.kind.name, SingularName: strings.ToLower(of.kind.name), Namespaced: !of.clusterScoped,
				Verbs: []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
			}
			found.APIResources = append(found.APIResources, resource)
			if of.hasStatus {
				resource.Name, resource.Verbs = resource.Name+"/status", []string{"get", "patch", "update"}
				found.APIResources = append(found.APIResources, resource)
			}
		}
	}
	switch {
	case path == "apis":
		return groups
	case found.GroupVersion != "":
		return found
	}
	return nil
}
