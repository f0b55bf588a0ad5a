// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package inmemory

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// kind is what is known of the objects of a resource.
type kind struct {
	resource      schema.GroupVersionResource
	name, list    string
	clusterScoped bool // it is not in a namespace
	// custom kinds have a schema, count generations, and are updated only by who names the version that is replaced.
	schema *structuralschema.Structural
	// review is set for questions about permissions, which are answered and not kept: everybody may do everything.
	review bool
	// hasStatus is set where the status is a resource of its own.
	hasStatus bool
	// selectable are the fields that a list can be restricted by, beside the name and the namespace: their paths, by what they are called.
	selectable map[string][]string
}

func (k *kind) gvk() schema.GroupVersionKind { return k.resource.GroupVersion().WithKind(k.name) }

// builtin are the kinds of Kubernetes that the operator and its tests use.
func builtin() []*kind {
	of := func(group, resource, name string) *kind {
		return &kind{resource: schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}, name: name, list: name + "List"}
	}
	namespaces, secrets := of("", namespaces, "Namespace"), of("", "secrets", "Secret")
	namespaces.clusterScoped = true
	may := of("authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview")
	may.clusterScoped, may.review = true, true
	secrets.selectable = map[string][]string{"type": {"type"}}
	return []*kind{
		namespaces, secrets, may, of("", "configmaps", "ConfigMap"),
		of("coordination.k8s.io", "leases", "Lease"), of("events.k8s.io", "events", "Event"),
	}
}

// customKinds reads the CustomResourceDefinitions of a folder.
func customKinds(folder string) (all []*kind, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no CustomResourceDefinition in %s", folder)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(text, &crd); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for i := range crd.Spec.Versions {
			custom, err := customKind(&crd, &crd.Spec.Versions[i])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			all = append(all, custom)
		}
	}
	return all, err
}

func customKind(crd *apiextensionsv1.CustomResourceDefinition, version *apiextensionsv1.CustomResourceDefinitionVersion) (*kind, error) {
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, &internal, nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(&internal)
	if err != nil {
		return nil, err
	}
	custom := &kind{
		resource: schema.GroupVersionResource{Group: crd.Spec.Group, Version: version.Name, Resource: crd.Spec.Names.Plural},
		name:     crd.Spec.Names.Kind, list: crd.Spec.Names.ListKind, clusterScoped: crd.Spec.Scope == apiextensionsv1.ClusterScoped,
		schema: structural, hasStatus: version.Subresources != nil && version.Subresources.Status != nil, selectable: map[string][]string{},
	}
	for _, field := range version.SelectableFields {
		path := strings.TrimPrefix(field.JSONPath, ".")
		custom.selectable[path] = strings.Split(path, ".")
	}
	return custom, nil
}

// fill gives a value the defaults of its schema, and takes away what is null where nothing may be.
func fill(value any, of *structuralschema.Structural) {
	if of == nil {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		for name, property := range of.Properties {
			if now, there := value[name]; there && (now != nil || property.Nullable) {
				continue
			}
			delete(value, name)
			if property.Default.Object != nil {
				value[name] = runtime.DeepCopyJSONValue(property.Default.Object)
			}
		}
		for name, of := range of.Properties {
			fill(value[name], &of)
		}
		if of.AdditionalProperties != nil {
			for _, value := range value {
				fill(value, of.AdditionalProperties.Structural)
			}
		}
	case []any:
		for _, value := range value {
			fill(value, of.Items)
		}
	}
}
