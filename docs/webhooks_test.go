// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/destination/webhook"
)

// R4.2: docs/webhooks.md has each variable and function of an expression, each format and type of event, and no other.
func TestExpressionsOfWebhooksAreDocumented(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(apitest.ModuleRoot(t), "internal", "destination", "webhook")
	code := read(t, filepath.Join(dir, "language.go"))
	column := func(header ...string) []string {
		var cells []string
		for _, row := range rows(t, "webhooks.md", header...) {
			cells = append(cells, row[0])
		}
		slices.Sort(cells)
		return cells
	}
	declared := func(source, pattern, written string) []string {
		var names []string
		for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(source, -1) {
			names = append(names, strings.Replace(written, "*", found[1], 1))
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	functions := append(declared(code, `expression\.TextFunction\("(\w+)"`, "text.*()"), declared(code, `ShorteningFunction\("(\w+)"`, "text.*(n)")...)
	functions = append(functions, declared(code, `"(escape\w+)":`, "text.*()")...)
	slices.Sort(functions)
	var formats []string
	for _, found := range regexp.MustCompile(`Webhook\w+ WebhookFormat = "(\w+)"`).FindAllStringSubmatch(
		read(t, filepath.Join(apitest.ModuleRoot(t), "api", "v1alpha1", "webhook_types.go")), -1) {
		formats = append(formats, found[1])
	}
	slices.Sort(formats)
	for name, test := range map[string]struct{ want, got []string }{
		"variables": {declared(code, `\{"(\w+)", cel\.`, "*"), column("variable", "is")},
		"functions": {functions, column("function", "gives")},
		"formats":   {formats, column("format")},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" || len(test.want) < 5 {
			t.Errorf("%s (-program +page):\n%s", name, diff)
		}
	}
}

// R4.2: whoever copies a body from the page has one that works, for items and notifications; and the page's JSON is what the schema says.
func TestBodiesOfWebhooksAreRight(t *testing.T) {
	t.Parallel()
	page := read(t, "webhooks.md")
	found := regexp.MustCompile("(?ms)^```cel\n(.*?)^```").FindAllStringSubmatch(page, -1)
	for _, body := range found {
		of, err := webhook.NewWriter("", body[1])
		if err != nil {
			t.Errorf("%v in\n%s", err, body[1])
			continue
		}
		if _, err := of.Compose(destination.Material{Title: "t", Key: "k"}, destination.Limits{}); err != nil {
			t.Errorf("%v in\n%s", err, body[1])
		}
		if _, err := of.ComposeNotice(destination.Notice{Subject: "s", Key: "k"}, destination.Limits{}); err != nil {
			t.Errorf("%v in\n%s", err, body[1])
		}
	}
	if len(found) < 4 {
		t.Errorf("%d expressions were found", len(found))
	}
	shown := regexp.MustCompile("(?ms)^## JSON\n.*?^```json\n(.*?)^```").FindStringSubmatch(page)
	var example any
	if err := json.Unmarshal([]byte(shown[1]), &example); err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join("schemas", "webhook-v1.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(example); err != nil {
		t.Error(err)
	}
	// A field that a format may have is in the schema, and the example has what an item has.
	post, err := mustWriter(t, v1alpha1.WebhookCloudEvents).Compose(destination.Material{Title: "t", Key: "k", Namespace: "n", Source: "s"}, destination.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	kind := regexp.MustCompile(`"type":"([^"]+)"`).FindStringSubmatch(post.Text)[1]
	if types := rows(t, "webhooks.md", "type", "when"); types[0][0] != kind {
		t.Errorf("the type %s is not documented", kind)
	}
	known := map[string]any{}
	if err := json.Unmarshal([]byte(read(t, filepath.Join("schemas", "webhook-v1.json"))), &known); err != nil {
		t.Fatal(err)
	}
	for field := range known["properties"].(map[string]any) {
		if !strings.Contains(page, `"`+field+`"`) && !strings.Contains(page, "`"+field+"`") {
			t.Errorf("the field %s is not documented", field)
		}
	}
}

func mustWriter(t *testing.T, format v1alpha1.WebhookFormat) *webhook.Writer {
	t.Helper()
	of, err := webhook.NewWriter(format, "")
	if err != nil {
		t.Fatal(err)
	}
	return of
}

// R3.11: the event that the page shows is read by others, and it and the page have what the schema says.
func TestEventsOfItemsAreDocumented(t *testing.T) {
	t.Parallel()
	page := read(t, "webhooks.md")
	shown := regexp.MustCompile("(?ms)^## Events of items\n.*?^```json\n(.*?)^```").FindStringSubmatch(page)
	var event cloudevents.Event
	if err := json.Unmarshal([]byte(shown[1]), &event); err != nil {
		t.Fatal(err)
	}
	if err := event.Validate(); err != nil {
		t.Error(err)
	}
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join("schemas", "event-v1.json"))
	if err != nil {
		t.Fatal(err)
	}
	var data any
	if err := json.Unmarshal(event.Data(), &data); err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(data); err != nil {
		t.Error(err)
	}
	known := struct {
		Properties map[string]struct{ Enum []string }
	}{}
	if err := json.Unmarshal([]byte(read(t, filepath.Join("schemas", "event-v1.json"))), &known); err != nil {
		t.Fatal(err)
	}
	stream := page + read(t, "operations.md")
	for field := range known.Properties {
		if !strings.Contains(stream, "`"+field+"`") {
			t.Errorf("the field %s is not documented", field)
		}
	}
	var types []string
	for _, row := range rows(t, "operations.md", "type", "status", "when", "more") {
		types = append(types, row[0])
	}
	want := slices.Sorted(slices.Values(known.Properties["type"].Enum))
	slices.Sort(types)
	if diff := cmp.Diff(want, types); diff != "" || len(want) < 5 {
		t.Errorf("types (-schema +page):\n%s", diff)
	}
}
