// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/secrets"
)

// maxManifests bounds a file.
const maxManifests = 8 << 20

// Objects are what a preview knows: what was read from files and, if that is wanted, what a cluster has
// besides.
type Objects struct {
	// Namespace of what does not name one.
	Namespace string
	// Cluster is asked for what is not in the files. May be nil.
	Cluster secrets.Reader

	sources []*v1alpha1.FeedSource
	others  map[objectKey]client.Object
	// values of Secrets that come from elsewhere, by the Secret's name and key.
	values map[string]map[string]string
}

type objectKey struct {
	kind reflect.Type
	name client.ObjectKey
}

func keyOf(object client.Object, name client.ObjectKey) objectKey {
	return objectKey{reflect.TypeOf(object), name}
}

// Sources are the FeedSources of the files, in their order.
func (o *Objects) Sources() []*v1alpha1.FeedSource { return o.sources }

// Read takes in the manifests of a file, also those in Lists. Kinds that have nothing to do with a preview are passed
// over. The error holds no value of a Secret.
func (o *Objects) Read(file io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(file, maxManifests+1))
	if err != nil {
		return err
	}
	if len(text) > maxManifests {
		return fmt.Errorf("it is larger than %d MiB", maxManifests>>20)
	}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := reader.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := o.add(document); err != nil {
			return err
		}
	}
}

// add takes in one manifest.
func (o *Objects) add(document []byte) error {
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal(document, &kind); err != nil {
		return errors.New("it is not YAML, or no manifest")
	}
	var object client.Object
	switch kind.GroupVersionKind() {
	case v1alpha1.GroupVersion.WithKind("FeedSource"):
		object = &v1alpha1.FeedSource{}
	case v1alpha1.GroupVersion.WithKind("AIProvider"):
		object = &v1alpha1.AIProvider{}
	case v1alpha1.GroupVersion.WithKind("FeedDestination"):
		object = &v1alpha1.FeedDestination{}
	case corev1.SchemeGroupVersion.WithKind("Secret"):
		object = &corev1.Secret{}
	case corev1.SchemeGroupVersion.WithKind("List"):
		return o.takeList(document)
	default:
		return nil
	}
	if err := yaml.UnmarshalStrict(document, object); err != nil {
		if _, ok := object.(*corev1.Secret); ok { // what is wrong may be a value
			return errors.New("a Secret in it cannot be read: its values must be text under stringData, or base64 under data")
		}
		return fmt.Errorf("%s: %w", kind.Kind, err)
	}
	if object.GetName() == "" {
		return fmt.Errorf("%s: metadata.name is missing", kind.Kind)
	}
	o.Add(object)
	return nil
}

// takeList takes in what kubectl writes of several objects.
func (o *Objects) takeList(document []byte) error {
	var list struct {
		metav1.TypeMeta `json:",inline"`

		Metadata any               `json:"metadata"`
		Items    []json.RawMessage `json:"items"`
	}
	if yaml.UnmarshalStrict(document, &list) != nil { // what is wrong may be the value of a Secret
		return errors.New("a List in it cannot be read: it must have items, and no key twice")
	}
	for i, item := range list.Items {
		if err := o.add(item); err != nil {
			return fmt.Errorf("items[%d]: %w", i, err)
		}
	}
	return nil
}

// Add takes in an object as if it were in a file. Of two of the same name the last one counts, at
// the place of the first.
func (o *Objects) Add(object client.Object) {
	if object.GetNamespace() == "" {
		object.SetNamespace(o.Namespace)
	}
	if source, ok := object.(*v1alpha1.FeedSource); ok {
		same := func(other *v1alpha1.FeedSource) bool {
			return client.ObjectKeyFromObject(other) == client.ObjectKeyFromObject(source)
		}
		if at := slices.IndexFunc(o.sources, same); at >= 0 {
			o.sources[at] = source
		} else {
			o.sources = append(o.sources, source)
		}
	}
	if secret, ok := object.(*corev1.Secret); ok {
		for key, value := range secret.StringData {
			setSecret(secret, key, value)
		}
	}
	if o.others == nil {
		o.others = map[objectKey]client.Object{}
	}
	o.others[keyOf(object, client.ObjectKeyFromObject(object))] = object
}

// SetSecret puts a value into the Secrets of that name, also where no file has one: for what a person
// does not want to write into a file.
func (o *Objects) SetSecret(name, key, value string) {
	if o.values == nil {
		o.values = map[string]map[string]string{}
	}
	if o.values[name] == nil {
		o.values[name] = map[string]string{}
	}
	o.values[name][key] = value
}

func setSecret(secret *corev1.Secret, key, value string) {
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	secret.Data[key] = []byte(value)
}

// Get returns an object of the files or, where it is in none, of the cluster.
func (o *Objects) Get(ctx context.Context, name client.ObjectKey, into client.Object, options ...client.GetOption) error {
	err := o.get(ctx, name, into, options...)
	secret, ok := into.(*corev1.Secret)
	if values := o.values[name.Name]; ok && len(values) > 0 && client.IgnoreNotFound(err) == nil {
		secret.Namespace, secret.Name, err = name.Namespace, name.Name, nil
		for key, value := range values {
			setSecret(secret, key, value)
		}
	}
	return err
}

func (o *Objects) get(ctx context.Context, name client.ObjectKey, into client.Object, options ...client.GetOption) error {
	if found, ok := o.others[keyOf(into, name)]; ok {
		reflect.ValueOf(into).Elem().Set(reflect.ValueOf(found.DeepCopyObject()).Elem())
		return nil
	}
	if o.Cluster != nil {
		return o.Cluster.Get(ctx, name, into, options...)
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: reflect.TypeOf(into).Elem().Name()}, name.Name)
}
