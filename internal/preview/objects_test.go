// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package preview_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/internal/preview"
)

func feedSource(name, url string) string {
	return "apiVersion: feeds.feed-operator.io/v1alpha1\nkind: FeedSource\nmetadata: {name: " + name + "}\nspec: {url: " + url + "}\n"
}

// item is a manifest as a part of a list.
func item(manifest string) string {
	return "- " + strings.ReplaceAll(strings.TrimSuffix(manifest, "\n"), "\n", "\n  ") + "\n"
}

// R6.5: what kubectl writes of several objects is read like a file with each of them, and of two of one name the
// last one counts, at the place of the first.
func TestSourcesAreReadFromFiles(t *testing.T) {
	t.Parallel()
	const list = "apiVersion: v1\nkind: List\nmetadata: {resourceVersion: ''}\nitems:\n"
	other := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	for name, test := range map[string]struct {
		manifests string
		want      []string
	}{
		"a list": {list + item(feedSource("a", "https://a.example")) + item(other) + item(feedSource("b", "https://b.example")),
			[]string{"a https://a.example", "b https://b.example"}},
		"a list between others": {feedSource("a", "https://a.example") + "---\n" + list + item(feedSource("b", "https://b.example")) + "---\n" + feedSource("c", "https://c.example"),
			[]string{"a https://a.example", "b https://b.example", "c https://c.example"}},
		"a list in JSON": {`{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "feeds.feed-operator.io/v1alpha1", "kind": "FeedSource", ` +
			`"metadata": {"name": "a"}, "spec": {"url": "https://a.example"}}]}`, []string{"a https://a.example"}},
		"a list without items":      {list, nil},
		"a list of another version": {strings.Replace(list, "v1", "example.org/v1", 1) + item(feedSource("a", "https://a.example")), nil},
		"two of one name": {feedSource("a", "https://old.example") + "---\n" + feedSource("b", "https://b.example") + "---\n" + feedSource("a", "https://new.example"),
			[]string{"a https://new.example", "b https://b.example"}},
		"one name in two namespaces": {feedSource("a", "https://a.example") + "---\n" + strings.Replace(feedSource("a", "https://other.example"), "{name", "{namespace: other, name", 1),
			[]string{"a https://a.example", "a https://other.example"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := preview.Objects{Namespace: "default"}
			if err := objects.Read(strings.NewReader(test.manifests)); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, source := range objects.Sources() {
				got = append(got, source.Name+" "+source.Spec.URL)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	for manifests, want := range map[string]string{
		list + item(strings.Replace(feedSource("a", "x"), "url", "ulr", 1)):                                              `items[0]: FeedSource: error unmarshaling JSON: while decoding JSON: json: unknown field "ulr"`,
		list + item("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {apiKey: "+apiKey+"!}\n"):                  "a Secret in it cannot be read",
		list + item("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {apiKey: "+apiKey+", apiKey: bc}\n"): "a List in it cannot be read",
		strings.Replace(list, "items:", "items: "+apiKey, 1):                                                             "a List in it cannot be read",
		list + "- " + apiKey + "\n": "items[0]: it is not YAML, or no manifest",
	} {
		err := (&preview.Objects{}).Read(strings.NewReader(manifests))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), apiKey) {
			t.Errorf("%s: %v", manifests, err)
		}
	}
}
