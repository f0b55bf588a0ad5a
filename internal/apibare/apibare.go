// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apibare keeps what people hang onto objects, and no decision needs, out of the memory of the operator: it drops it from the API server's answers
// as they come, before anything decodes or holds them. Nothing bounds that but the size of a whole object: the API server takes 100,000 labels, which are
// 5 MB of memory when they are decoded, 1 GB in a list of 200 items; and annotations of 256 KB. Whoever may edit objects in one namespace would decide by
// that how much memory the work of all takes.
//
// What is written of such an object afterwards has to be a patch: an update would drop the same from what is there.
package apibare

import (
	"net/http"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apipath"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

const feedItems = "feeditems"

// bare are the resources of which the answers are read so. FeedMemories are found by their labels; nobody but the operator writes them.
var bare = map[string]bool{feedItems: true, "feedsources": true, "aiproviders": true, "feeddestinations": true}

// parts are the parts of an object, and which members of each are dropped.
type parts map[string]map[string]bool

const metadata = "metadata"

// hung is what people hang onto objects.
var hung = map[string]bool{"labels": true, "managedFields": true, "ownerReferences": true, "finalizers": true}

var (
	// ofAll is what is dropped of every object.
	ofAll = parts{metadata: hung}
	// ofWatchedItems is what is dropped of items in watches, which are for the cache alone: also what that would drop first thing (itemcache.Slim). It is most
	// of an item, and would be decoded with each of its events.
	ofWatchedItems = parts{
		metadata: hung,
		"spec":   {"content": true, "compressedContent": true, "author": true, "categories": true},
		"status": {"history": true},
	}
)

// meant are the annotations that say something to the operator, and what is kept of them. Others of the project, of lists of feeds and of backups, say
// something to the kubectl plugin, which reads objects itself.
var meant = map[string]func(value string) (kept string, is bool){
	v1alpha1.AnnotationRetry: token, v1alpha1.AnnotationPoll: token,
	v1alpha1.AnnotationOriginalUID: short, v1alpha1.AnnotationOriginalCreation: short,
	metav1.InitialEventsAnnotationKey: short, // by which a watch says that all that there is has come
}

// token is an annotation of any length, of which the form is kept in which it is compared.
func token(value string) (string, bool) { return lifecycle.TokenOf(value), true }

// short is one that says nothing if it is longer.
func short(value string) (string, bool) { return value, len(value) <= 64 }

// WrapTransport drops that from the answers about the operator's kinds, for rest.Config.Wrap.
func WrapTransport(next http.RoundTripper) http.RoundTripper { return transport{next} }

type transport struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(request)
	if err != nil || response.StatusCode >= http.StatusMultipleChoices || !strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
		return response, err
	}
	less := dropped(request.URL)
	if less == nil {
		return response, nil
	}
	response.Body, response.ContentLength = newAnswer(response.Body, less), -1
	response.Header.Del("Content-Length")
	return response, nil
}

// WrappedRoundTripper lets client-go find the transport below, which it closes idle connections of.
func (t transport) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }

// dropped is what is dropped of the answer to a request to an address; nil for nothing.
func dropped(asked *url.URL) parts {
	switch _, resource, _ := apipath.Of(asked.Path); {
	case resource == feedItems && asked.Query().Get("watch") == "true":
		return ofWatchedItems
	case bare[resource]:
		return ofAll
	}
	return nil
}
