// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package inmemory

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// key names an object of a kind.
type key struct{ namespace, name string }

func (k key) compare(other key) int {
	return cmp.Or(cmp.Compare(k.namespace, other.namespace), cmp.Compare(k.name, other.name))
}

// stored is a version of an object. It never changes.
type stored struct {
	unstructured.Unstructured
	version uint64
	encoded []byte
}

func (o *stored) key() key { return key{o.GetNamespace(), o.GetName()} }

// change is one from a version of an object to the next; without before it was made, without after it is gone.
type change struct {
	version       uint64
	before, after *stored
}

// collection holds the objects of a kind.
type collection struct {
	*kind
	lock *sync.Mutex
	// spaces are what is in each namespace, and under "" what is in all.
	spaces map[string]*space
}

// space is what is in a namespace, or in all, of a kind.
type space struct {
	objects map[key]*stored
	changes []change
	// forgotten is the version of the last change that is not remembered any more.
	forgotten uint64
	changed   sync.Cond // there is another change
}

// in returns the space of a namespace.
func (c *collection) in(namespace string) *space {
	found := c.spaces[namespace]
	if found == nil {
		found = &space{objects: map[key]*stored{}, changed: sync.Cond{L: c.lock}}
		c.spaces[namespace] = found
	}
	return found
}

// add notes what has changed, and forgets what was before the last changes.
func (s *space) add(key key, of change, kept int) {
	if of.after == nil {
		delete(s.objects, key)
	} else {
		s.objects[key] = of.after
	}
	if s.changes = append(s.changes, of); len(s.changes) > 2*kept {
		s.forgotten = s.changes[kept-1].version
		s.changes = slices.Clone(s.changes[kept:])
	}
	s.changed.Broadcast()
}

// since are the changes after a version.
func (s *space) since(version uint64) []change {
	from, _ := slices.BinarySearchFunc(s.changes, version+1, func(c change, version uint64) int { return cmp.Compare(c.version, version) })
	return s.changes[from:len(s.changes):len(s.changes)]
}

// at makes an object one of a version.
func at(object map[string]any, version uint64) *stored {
	made := &stored{Unstructured: unstructured.Unstructured{Object: object}, version: version}
	made.SetResourceVersion(strconv.FormatUint(version, 10))
	made.encoded = encode(object)
	return made
}

// encode writes an object, of which all is known to be JSON.
func encode(object any) []byte {
	text, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return text
}

// put replaces an object by another, nil by a new one, and one by nothing where after is nil; it returns what is there now, or was there last.
func (s *Server) put(c *collection, before *stored, after map[string]any) *stored {
	s.version++
	made := change{version: s.version, before: before}
	var is *stored
	if after == nil {
		is = at(before.DeepCopy().Object, s.version)
	} else {
		is = at(after, s.version)
		made.after = is
	}
	key := is.key()
	c.in("").add(key, made, s.Kept)
	if key.namespace != "" {
		c.in(key.namespace).add(key, made, s.Kept)
	}
	return is
}

// selection is which objects of a kind somebody asks for.
type selection struct {
	kind      *kind
	namespace string // "" for all
	labels    labels.Selector
	fields    fields.Selector
}

func (s selection) has(object *stored) bool {
	if object == nil || !s.labels.Matches(labels.Set(object.GetLabels())) {
		return false
	}
	if s.fields.Empty() {
		return true
	}
	known := fields.Set{"metadata.name": object.GetName(), "metadata.namespace": object.GetNamespace()}
	for name, path := range s.kind.selectable {
		known[name], _, _ = unstructured.NestedString(object.Object, path...)
	}
	return s.fields.Matches(known)
}

// objectsOf are the objects of a selection, by namespace and name.
func (c *collection) objectsOf(selected selection) (all []*stored) {
	for _, object := range c.in(selected.namespace).objects {
		if selected.has(object) {
			all = append(all, object)
		}
	}
	slices.SortFunc(all, func(a, b *stored) int { return a.key().compare(b.key()) })
	return all
}

// without is a copy of an object without some of its parts.
func without(object map[string]any, parts ...string) map[string]any {
	rest := maps.Clone(object)
	for _, part := range parts {
		delete(rest, part)
	}
	return rest
}
