// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Outdated is a CustomResourceDefinition of an API server that is older than this program.
type Outdated struct {
	// CRD is its name.
	CRD string
	// Recorded are the fields and values that it lacks and that the operator has to write.
	Recorded []string
	// Settable are those that it lacks and that people write. Who uses one is told by the API server that it is dropped, and
	// the operator works as if nobody did.
	Settable []string
}

// published is what is read of an OpenAPI document (version 3) of a group and version.
type published struct {
	Components struct {
		Schemas map[string]struct {
			schema
			Kinds []struct {
				Kind string `json:"kind"`
			} `json:"x-kubernetes-group-version-kind"`
		} `json:"schemas"`
	} `json:"components"`
}

// Compare returns which of the kinds that this program was built with are outdated in an API server, by its OpenAPI
// document of their group and version, and which are not in there at all. Both are by name of the kind.
func Compare(document []byte) (outdated map[string]Outdated, unknown []string, err error) {
	built, err := Built()
	if err != nil {
		return nil, nil, err
	}
	var has published
	if err := json.Unmarshal(document, &has); err != nil {
		return nil, nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	served := map[string]*schema{}
	for _, found := range has.Components.Schemas {
		for _, kind := range found.Kinds {
			served[kind.Kind] = &found.schema
		}
	}
	outdated = map[string]Outdated{}
	for name, kind := range built {
		if served[name] == nil {
			unknown = append(unknown, name)
			continue
		}
		if missing := kind.schema.lacking(served[name]); len(missing) > 0 {
			outdated[name] = sortOut(kind, missing)
		}
	}
	slices.Sort(unknown)
	return outdated, unknown, nil
}

// Dropped reports for a kind that an API server does not know these fields of what the operator has written.
func Dropped(kind string, fields []string) (Outdated, error) {
	built, err := Built()
	return sortOut(built[kind], fields), err
}

// writtenWhole are the kinds that only the operator writes; of the others it writes the status.
var writtenWhole = []string{"FeedItem", "FeedMemory"}

func sortOut(kind Kind, missing []string) Outdated {
	found := Outdated{CRD: kind.CRD}
	for _, field := range missing {
		if strings.HasPrefix(field, "spec.") && !slices.Contains(writtenWhole, kind.Name) {
			found.Settable = append(found.Settable, field)
		} else {
			found.Recorded = append(found.Recorded, field)
		}
	}
	return found
}

// unknownField is how the API server names a field that it does not know where it was asked to be strict
// (fieldValidation=Strict): strict decoding error: unknown field "status.deliveries[0].key".
var unknownField = regexp.MustCompile(`unknown field "([^"]+)"`)

// index is the number of an element of a list.
var index = regexp.MustCompile(`\[\d+\]`)

// UnknownFields returns the fields that an API server says it does not know; none: its answer is about something else.
func UnknownFields(answer string) []string {
	const strict = "strict decoding error: "
	said := strings.LastIndex(answer, strict) // before that, it may repeat what was written
	if said < 0 {
		return nil
	}
	var fields []string
	for _, match := range unknownField.FindAllStringSubmatch(answer[said:], -1) {
		if field := index.ReplaceAllString(match[1], "[]"); !slices.Contains(fields, field) {
			fields = append(fields, field)
		}
	}
	slices.Sort(fields)
	return fields
}

// Message reports in words which CRD is older, and what of the operator's own it lacks.
func (o Outdated) Message() string {
	const most = 8
	fields, more := o.Recorded, ""
	if len(fields) > most {
		fields, more = fields[:most], fmt.Sprintf(" and %d more", len(fields)-most)
	}
	return fmt.Sprintf("the CustomResourceDefinition %s lacks %s%s", o.CRD, strings.Join(fields, ", "), more)
}
