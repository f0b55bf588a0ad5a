// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// A copy is equal and shares nothing: the cache hands out objects that must not change.
func TestDeepCopy(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for kind, kindType := range scheme.KnownTypes(v1alpha1.GroupVersion) {
		if kindType.PkgPath() != reflect.TypeFor[v1alpha1.FeedItem]().PkgPath() {
			continue // options and events of the API machinery
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			object := reflect.New(kindType)
			fill(object.Elem())
			original := object.Interface().(runtime.Object)
			clone := original.DeepCopyObject()
			if diff := cmp.Diff(original, clone); diff != "" {
				t.Errorf("the copy differs (-original +copy):\n%s", diff)
			}
			if path := shared(object.Elem(), reflect.ValueOf(clone).Elem()); path != "" {
				t.Errorf("the copy shares %s%s", kind, path)
			}
		})
	}
}

// fill sets everything that can be set.
func fill(value reflect.Value) {
	switch value.Interface().(type) {
	case metav1.Time:
		value.Set(reflect.ValueOf(metav1.NewTime(time.Unix(1_700_000_000, 0))))
		return
	case metav1.MicroTime:
		value.Set(reflect.ValueOf(metav1.NewMicroTime(time.Unix(1_700_000_000, 1000))))
		return
	case metav1.FieldsV1, metav1.TypeMeta:
		return
	case types.UID:
		value.SetString("uid")
		return
	}
	switch value.Kind() {
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		fill(value.Elem())
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 2, 2))
		fill(value.Index(0))
		fill(value.Index(1))
	case reflect.Map:
		value.Set(reflect.MakeMap(value.Type()))
		value.SetMapIndex(reflect.ValueOf("key").Convert(value.Type().Key()), reflect.ValueOf("value").Convert(value.Type().Elem()))
	case reflect.Struct:
		for _, field := range value.Fields() {
			if field.CanSet() {
				fill(field)
			}
		}
	case reflect.String:
		value.SetString("text")
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Int32, reflect.Int64:
		value.SetInt(7)
	default:
		panic("fill does not know " + value.Type().String())
	}
}

// shared returns the path of something that both values point to.
func shared(a, b reflect.Value) string {
	switch a.Kind() {
	case reflect.Map, reflect.Slice, reflect.Pointer:
		if !a.IsNil() && a.Pointer() == b.Pointer() && !isEmpty(a.Type()) {
			return " (" + a.Type().String() + ")"
		}
	default:
	}
	switch a.Kind() {
	case reflect.Pointer:
		if !a.IsNil() {
			return shared(a.Elem(), b.Elem())
		}
	case reflect.Slice:
		for i := range a.Len() {
			if path := shared(a.Index(i), b.Index(i)); path != "" {
				return "[]" + path
			}
		}
	case reflect.Struct:
		if a.Type() == reflect.TypeFor[metav1.Time]() || a.Type() == reflect.TypeFor[metav1.MicroTime]() {
			return "" // its location is shared, and never changes
		}
		for i := range a.NumField() {
			if path := shared(a.Field(i), b.Field(i)); path != "" {
				return "." + a.Type().Field(i).Name + path
			}
		}
	default:
	}
	return ""
}

// isEmpty reports whether a pointer leads to nothing that could be changed: all such are one.
func isEmpty(pointer reflect.Type) bool {
	return pointer.Kind() == reflect.Pointer && pointer.Elem().Size() == 0
}
