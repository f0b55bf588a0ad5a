// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kinds knows the schemas of the operator's kinds as this program was built with them, and reports what of
// them an API server does not have, whose CustomResourceDefinitions are older: it drops such fields without an
// error. The package must never know an API server; it is given what that publishes of itself.
package kinds

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/feed-operator/feed-operator/config/crd"
)

// Kind is a kind as this program was built with it.
type Kind struct {
	// Name of the kind, such as FeedItem.
	Name string
	// CRD is the name of its CustomResourceDefinition.
	CRD    string
	schema *schema
}

// schema is what of an OpenAPI schema decides whether a value is kept, dropped or refused.
type schema struct {
	Properties map[string]*schema `json:"properties"`
	Items      *schema            `json:"items"`
	Enum       []any              `json:"enum"`
	KeepsAll   bool               `json:"x-kubernetes-preserve-unknown-fields"`
}

// definition is what is read of a CustomResourceDefinition.
type definition struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Names struct {
			Kind string `json:"kind"`
		} `json:"names"`
		Versions []struct {
			Schema struct {
				OpenAPIV3Schema *schema `json:"openAPIV3Schema"`
			} `json:"schema"`
		} `json:"versions"`
	} `json:"spec"`
}

// Built returns the kinds that this program was built with, by name. There is one version of each.
var Built = sync.OnceValues(func() (map[string]Kind, error) {
	files, err := fs.Glob(crd.Bases, "bases/*.yaml")
	if err != nil {
		return nil, err
	}
	built := map[string]Kind{}
	for _, file := range files {
		text, err := fs.ReadFile(crd.Bases, file)
		if err != nil {
			return nil, err
		}
		var found definition
		if err := yaml.Unmarshal(text, &found); err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		if len(found.Spec.Versions) != 1 || found.Spec.Versions[0].Schema.OpenAPIV3Schema == nil {
			return nil, fmt.Errorf("read %s: it has not one version with a schema", file)
		}
		name := found.Spec.Names.Kind
		built[name] = Kind{Name: name, CRD: found.Metadata.Name, schema: found.Spec.Versions[0].Schema.OpenAPIV3Schema}
	}
	return built, nil
})

// lacking returns what of the schema another one does not have: the paths of its fields (status.deliveries[].key), and of
// the values of its enumerations (status.phase="Pending"), in the order of the alphabet. Documentation, defaults and
// bounds are not looked at.
func (s *schema) lacking(other *schema) []string {
	var missing []string
	s.compare(other, "", &missing)
	slices.Sort(missing)
	return missing
}

func (s *schema) compare(other *schema, path string, missing *[]string) {
	if other.KeepsAll {
		return
	}
	for name, property := range s.Properties {
		at := strings.TrimPrefix(path+"."+name, ".")
		if has := other.Properties[name]; has != nil {
			property.compare(has, at, missing)
		} else {
			*missing = append(*missing, at)
		}
	}
	if s.Items != nil && other.Items != nil {
		s.Items.compare(other.Items, path+"[]", missing)
	}
	if len(other.Enum) == 0 {
		return
	}
	for _, value := range s.Enum {
		if !slices.Contains(other.Enum, value) {
			*missing = append(*missing, fmt.Sprintf("%s=%q", path, fmt.Sprint(value)))
		}
	}
}
