// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/feed-operator/feed-operator/config/crd"
	"github.com/feed-operator/feed-operator/internal/kinds"
)

// tree is a part of a CustomResourceDefinition.
type tree = map[string]any

// at returns a part of a part.
func at(t *testing.T, part tree, path ...string) tree {
	t.Helper()
	for _, name := range path {
		next, is := part[name].(tree)
		if !is {
			t.Fatalf("there is no %q in %v", name, path)
		}
		part = next
	}
	return part
}

// document is what an API server publishes that has the CRDs of this version, but for a change.
func document(t *testing.T, change func(kind string, schema tree)) []byte {
	t.Helper()
	files, err := fs.Glob(crd.Bases, "bases/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	schemas := tree{}
	for _, file := range files {
		text, err := fs.ReadFile(crd.Bases, file)
		if err != nil {
			t.Fatal(err)
		}
		var definition tree
		if err := yaml.Unmarshal(text, &definition); err != nil {
			t.Fatal(err)
		}
		kind, _ := at(t, definition, "spec", "names")["kind"].(string)
		versions, _ := at(t, definition, "spec")["versions"].([]any)
		version, _ := versions[0].(tree)
		schema := at(t, version, "schema", "openAPIV3Schema")
		change(kind, schema)
		schema["x-kubernetes-group-version-kind"] = []any{tree{"group": "feeds.feed-operator.io", "version": "v1alpha1", "kind": kind}}
		schemas["io.feed-operator.feeds.v1alpha1."+kind] = schema
	}
	text, err := json.Marshal(tree{"components": tree{"schemas": schemas}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// of changes a part of one kind.
func of(t *testing.T, kind string, change func(tree), path ...string) func(string, tree) {
	t.Helper()
	return func(name string, schema tree) {
		if name == kind {
			change(at(t, schema, path...))
		}
	}
}

func without(name string) func(tree) { return func(part tree) { delete(part, name) } }

// bare takes out of a schema what decides nothing about which fields are kept.
func bare(part any) {
	switch part := part.(type) {
	case tree:
		if text, is := part["description"].(string); is && text != "" {
			delete(part, "description")
		}
		for _, name := range []string{"default", "maxLength", "maxItems", "pattern", "x-kubernetes-validations"} {
			if _, isField := part[name].(tree); !isField {
				delete(part, name)
			}
		}
		for _, next := range part {
			bare(next)
		}
	case []any:
		for _, next := range part {
			bare(next)
		}
	}
}

// What an API server lacks is named by where it is; what people write is told from what the operator must record.
func TestWhatAnAPIServerLacks(t *testing.T) {
	t.Parallel()
	item := []string{"properties", "status", "properties"}
	row := slices.Concat(item, []string{"deliveries", "items", "properties"})
	for name, test := range map[string]struct {
		change func(kind string, schema tree)
		want   map[string]kinds.Outdated
	}{
		"nothing": {func(string, tree) {}, map[string]kinds.Outdated{}},
		"only documentation, defaults and bounds": {func(_ string, schema tree) { bare(schema) }, map[string]kinds.Outdated{}},
		"a field of a list": {of(t, "FeedItem", without("notAfter"), row...), map[string]kinds.Outdated{
			"FeedItem": {CRD: "feeditems.feeds.feed-operator.io", Recorded: []string{"status.deliveries[].notAfter"}},
		}},
		"a whole part": {of(t, "FeedItem", without("summary"), item...), map[string]kinds.Outdated{
			"FeedItem": {CRD: "feeditems.feeds.feed-operator.io", Recorded: []string{"status.summary"}},
		}},
		"a field of what only the operator writes": {of(t, "FeedItem", without("guid"), "properties", "spec", "properties"), map[string]kinds.Outdated{
			"FeedItem": {CRD: "feeditems.feeds.feed-operator.io", Recorded: []string{"spec.guid"}},
		}},
		"a field that people write": {of(t, "FeedSource", without("screening"), "properties", "spec", "properties"), map[string]kinds.Outdated{
			"FeedSource": {CRD: "feedsources.feeds.feed-operator.io", Settable: []string{"spec.screening"}},
		}},
		"a value": {of(t, "FeedItem", func(phase tree) { phase["enum"] = []any{"Unprocessed", "Deferred", "Pending", "Processed"} }, slices.Concat(item, []string{"phase"})...),
			map[string]kinds.Outdated{"FeedItem": {CRD: "feeditems.feeds.feed-operator.io", Recorded: []string{`status.phase="Failed"`}}}},
		"nothing of what it keeps as it is": {of(t, "FeedItem", func(status tree) {
			delete(status, "properties")
			status["x-kubernetes-preserve-unknown-fields"] = true
		}, "properties", "status"), map[string]kinds.Outdated{}},
	} {
		got, unknown, err := kinds.Compare(document(t, test.change))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" || len(unknown) != 0 {
			t.Errorf("%s: unknown %v, (-want +got)\n%s", name, unknown, diff)
		}
	}
}

// A kind that is not published yet is not outdated.
func TestAKindThatIsNotThereIsNotOutdated(t *testing.T) {
	t.Parallel()
	got, unknown, err := kinds.Compare([]byte(`{"components":{"schemas":{}}}`))
	want := []string{"AIProvider", "FeedDestination", "FeedItem", "FeedMemory", "FeedSource"}
	if err != nil || len(got) != 0 || !slices.Equal(unknown, want) {
		t.Errorf("%v, %v, %v", got, unknown, err)
	}
	if _, _, err := kinds.Compare([]byte("<html>")); err == nil {
		t.Error("no document is taken for one")
	}
}

// The fields are read out of the words of an API server that was asked to be strict.
func TestTheFieldsThatAnAnswerNames(t *testing.T) {
	t.Parallel()
	answer := `FeedItem in version "v1alpha1" cannot be handled as a FeedItem: strict decoding error: ` +
		`unknown field "status.deliveries[1].notAfter", unknown field "status.deliveries[0].notAfter", unknown field "status.summary"`
	want := []string{"status.deliveries[].notAfter", "status.summary"}
	if diff := cmp.Diff(want, kinds.UnknownFields(answer)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	repeated := `FeedItem "a" is invalid: patch: Invalid value: "{\"title\":\"unknown field \"spec.title\"\"}": ` + answer
	if diff := cmp.Diff(want, kinds.UnknownFields(repeated)); diff != "" {
		t.Errorf("with what was written: (-want +got)\n%s", diff)
	}
	if got := kinds.UnknownFields(`Operation cannot be fulfilled: the object has been modified`); got != nil {
		t.Errorf("fields %v of a conflict", got)
	}
}

// The message of a condition names everything that there is room for.
func TestTheMessageNamesTheFields(t *testing.T) {
	t.Parallel()
	var fields []string
	for i := range 20 {
		fields = append(fields, fmt.Sprintf("status.field%02d", i))
	}
	said := kinds.Outdated{CRD: "feeditems.feeds.feed-operator.io", Recorded: fields}.Message()
	for _, words := range []string{"feeditems.feeds.feed-operator.io", "status.field00", "status.field07", "and 12 more"} {
		if !strings.Contains(said, words) {
			t.Errorf("%q is not said: %s", words, said)
		}
	}
}
