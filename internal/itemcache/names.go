// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package itemcache

import (
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// sharedNames are the names that many items have in common: of namespaces, sources, destinations, phases and reasons. Of
// more than that, those go first for which nobody has asked longest: of sources that are gone, among them. What is forgotten is
// still right where it stands, and is kept twice at worst when it is asked for again.
var sharedNames = lru.New(32_768)

// shared returns a name that is the same in memory for all who ask for it, as far as there is room.
func shared(name string) string { return sharedIn(sharedNames, name) }

func sharedIn(names *lru.Cache, name string) string {
	found, _ := names.Get(name)
	if kept, known := found.(string); known {
		return kept
	}
	kept := strings.Clone(name) // name may be a part of something large
	names.Add(kept, kept)
	return kept
}

// FeedNames are what feeds call themselves, of those whose posts say it, until the cache has heard of it: it
// may hear of an item before that. The zero value knows none.
type FeedNames struct{ Known sync.Map } // feedName by types.NamespacedName of the source

type feedName struct {
	source types.UID
	name   string
}

// Of is what the feed of a source calls itself, as far as the cache has not heard of it.
func (n *FeedNames) Of(source *v1alpha1.FeedSource) string {
	found, _ := n.Known.Load(client.ObjectKeyFromObject(source))
	if known, ok := found.(feedName); ok && known.source == source.UID {
		return known.name
	}
	return ""
}

// Learn notes what the feed of a source calls itself.
func (n *FeedNames) Learn(source *v1alpha1.FeedSource, name string) {
	n.Known.Store(client.ObjectKeyFromObject(source), feedName{source.UID, name})
}

// Forget is called when the cache has a name for the source, or the source is gone.
func (n *FeedNames) Forget(key types.NamespacedName) { n.Known.Delete(key) }
