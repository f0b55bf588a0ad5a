// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/portion"
)

var server *apitest.Server

func TestMain(m *testing.M) { os.Exit(apitest.Run(m, &server)) }

// rule is what one field may hold, with the values at its borders.
type rule struct {
	kind string
	// field is its path, with [] for the first element of a list.
	field string
	// with are the other fields that the field needs beside it.
	with map[string]any
	// valid values are accepted.
	valid []any
	// invalid values are refused in words that say what to do.
	invalid []refusal
}

type refusal struct {
	value any
	says  string
}

// absent is the value of a field that is not there.
type absent struct{}

// beside adds what the field needs beside it.
func (r rule) beside(with map[string]any) rule {
	r.with = with
	return r
}

// numbers may be from low to high.
func numbers(kind, field string, low, high int64) rule {
	return rule{kind: kind, field: field, valid: []any{low, high}, invalid: []refusal{
		{low - 1, fmt.Sprintf("should be greater than or equal to %d", low)},
		{high + 1, fmt.Sprintf("should be less than or equal to %d", high)},
	}}
}

// counts may be low or more.
func counts(kind, field string, low int64) rule {
	return rule{kind: kind, field: field, valid: []any{low, low + 1_000_000}, invalid: []refusal{
		{low - 1, fmt.Sprintf("should be greater than or equal to %d", low)},
	}}
}

// texts may have so many characters at most, of any alphabet, and must have one if needed.
func texts(kind, field string, needed bool, longest int) rule {
	r := rule{kind: kind, field: field, valid: []any{"x", strings.Repeat("x", longest), strings.Repeat("字", longest)}, invalid: []refusal{
		{strings.Repeat("x", longest+1), fmt.Sprintf("may not be more than %d", longest)},
	}}
	if needed {
		r.invalid = append(r.invalid, refusal{"", "should be at least 1 chars long"}, refusal{absent{}, "Required value"})
	} else {
		r.valid = append(r.valid, "", absent{})
	}
	return r
}

// durations may be from low to high; all else is refused with the same words.
func durations(kind, field, low, high string) rule {
	name := field[strings.LastIndex(field, ".")+1:]
	says := fmt.Sprintf("%s must be from %s to %s", name, low, high)
	r := rule{kind: kind, field: field, valid: []any{low, high, absent{}}}
	for _, value := range []string{"0s", "-1h", "999ms", high + "1s", "10000h", "", "5", "1d", "soon"} {
		r.invalid = append(r.invalid, refusal{value, says})
	}
	return r
}

// choices are the only values.
func choices(kind, field string, values ...any) rule {
	r := rule{kind: kind, field: field, valid: values}
	for _, value := range []string{"sometimes", strings.ToLower(values[len(values)-1].(string)) + " "} {
		r.invalid = append(r.invalid, refusal{value, fmt.Sprintf("supported values: %s", quoted(values))})
	}
	return r
}

func quoted(values []any) string {
	parts := make([]string, 0, len(values))
	for _, value := range values {
		parts = append(parts, fmt.Sprintf("%q", value))
	}
	return strings.Join(parts, ", ")
}

// lists may have so many elements at most.
func lists(kind, field string, most int, element func(int) any) rule {
	of := func(count int) []any {
		list := make([]any, 0, count)
		for i := range count {
			list = append(list, element(i))
		}
		return list
	}
	return rule{kind: kind, field: field, valid: []any{of(0), of(1), of(most), absent{}}, invalid: []refusal{
		{of(most + 1), fmt.Sprintf("must have at most %d items", most)},
	}}
}

// unique lists have no two elements of one name.
func (r rule) unique(twice any) rule {
	r.invalid = append(r.invalid, refusal{[]any{twice, twice}, "Duplicate value"})
	return r
}

// minimal are the least specs that are accepted.
var minimal = map[string]map[string]any{
	"FeedSource":      {"url": "https://www.example.org/feed.xml"},
	"FeedItem":        {"sourceRef": map[string]any{"name": "press", "uid": "3e9b8f7c-0000-4000-8000-000000000001"}},
	"AIProvider":      {"extractive": map[string]any{}},
	"FeedDestination": {"mastodon": aMastodon},
	"FeedMemory":      nil,
}

// objectOf returns the least object of a kind.
func objectOf(kind, namespace string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	object.SetNamespace(namespace)
	object.SetGenerateName("test-")
	if spec := minimal[kind]; spec != nil {
		object.Object["spec"] = (&unstructured.Unstructured{Object: spec}).DeepCopy().Object
	}
	return object
}

// set puts a value at a path; [] is the first element of a list.
func set(object map[string]any, path string, value any) {
	name, rest, deeper := strings.Cut(path, ".")
	inList := strings.HasSuffix(name, "[]")
	name = strings.TrimSuffix(name, "[]")
	_, remove := value.(absent)
	switch {
	case inList:
		list, _ := object[name].([]any)
		if len(list) == 0 {
			list = []any{any(map[string]any{})}
		}
		if !deeper {
			list[0] = value
		} else {
			set(list[0].(map[string]any), rest, value)
		}
		object[name] = list
	case deeper:
		inner, ok := object[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			object[name] = inner
		}
		set(inner, rest, value)
	case remove:
		delete(object, name)
	default:
		object[name] = value
	}
}

// at returns the value at a path, or nil.
func at(object map[string]any, path string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(object, strings.Split(path, ".")...)
	return value
}

// submit has the API server judge an object with the value, without keeping it.
func (r rule) submit(t *testing.T, namespace string, value any) error {
	t.Helper()
	object := objectOf(r.kind, namespace)
	ofStatus := strings.HasPrefix(r.field, "status.")
	if ofStatus {
		if err := server.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(r.with)) {
		set(object.Object, path, r.with[path])
	}
	set(object.Object, r.field, value)
	if ofStatus {
		return server.Client.Status().Update(t.Context(), object, client.DryRunAll)
	}
	return server.Client.Create(t.Context(), object, client.DryRunAll)
}

// allRules is every rule of every kind.
func allRules(t *testing.T) map[string]rule {
	t.Helper()
	all := map[string]rule{}
	for _, table := range []map[string]rule{feedSourceRules, feedItemRules, aiProviderRules, feedDestinationRules, feedMemoryRules} {
		for sentence, r := range table {
			if _, twice := all[sentence]; twice {
				t.Fatalf("two rules are called %q", sentence)
			}
			all[sentence] = r
		}
	}
	return all
}

// R1.1, R4.1, R5.1, R5.6: what makes no sense is refused when it is applied, in words that name the
// field and say what it may be.
func TestTheAPIServerRefusesWhatMakesNoSense(t *testing.T) {
	t.Parallel()
	namespace := server.Namespace(t)
	for sentence, r := range allRules(t) {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			for _, value := range portion.SomeOf(r.valid, 1) { // the whole has each border from within; what is beyond is always tried
				if err := r.submit(t, namespace, value); err != nil {
					t.Errorf("%s %s = %.60v was refused: %v", r.kind, r.field, value, err)
				}
			}
			for _, bad := range r.invalid {
				err := r.submit(t, namespace, bad.value)
				switch field := strings.ReplaceAll(r.field, "[]", "["); {
				case !apierrors.IsInvalid(err):
					t.Errorf("%s %s = %.60v: %v, want it refused as invalid", r.kind, r.field, bad.value, err)
				case !strings.Contains(strings.ReplaceAll(err.Error(), "[0]", "["), field):
					t.Errorf("%s %s = %.60v: the message does not name the field: %.600v", r.kind, r.field, bad.value, err)
				case !strings.Contains(err.Error(), bad.says):
					t.Errorf("%s %s = %.60v: the message does not say %q: %.600v", r.kind, r.field, bad.value, bad.says, err)
				}
			}
		})
	}
}
