// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crdcheck finds out whether the API server's CustomResourceDefinitions are those of this version, and reports what is not to be begun while
// they are not. Its client writes whole what must not lose a field, and its transport takes only the API server's own word for that an object is not there.
//
// It knows the kinds and what the API server publishes of them. It must never know what the operator does with an object.
package crdcheck

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/kinds"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/record"
)

// The kinds of which the operator writes something.
const (
	KindSource      = "FeedSource"
	KindItem        = "FeedItem"
	KindMemory      = "FeedMemory"
	KindProvider    = "AIProvider"
	KindDestination = "FeedDestination"
)

// checkKinds is how often the API server is asked about its kinds while they are outdated, or could not be read, and recheckKinds while all is well: somebody
// may replace them by older ones, and what is read then lacks what was written.
const (
	checkKinds   = time.Minute
	recheckKinds = 5 * time.Minute
)

// Checker knows whether the API server keeps what the operator writes. Where its CustomResourceDefinitions are older than
// the operator, it drops fields without an error: a claim without its end, a result without its post. So nothing is begun
// of which the traces would be lost, until the CustomResourceDefinitions are updated.
//
// It asks for what the API server publishes of its kinds at the start, and then every few minutes. What must not lose a field is written so that it fails
// where one would be dropped (record.Claim, Whole): that shows at once what has changed since.
type Checker struct {
	clock clock.Clock
	log   logr.Logger
	// publish returns the OpenAPI document of the operator's kinds, and its version; no document where that is the known one.
	publish func(ctx context.Context, known string) (document []byte, version string, err error)
	client  client.Reader
	waker   *queue.Waker
	// suspected is told when a write has shown that something is outdated.
	suspected chan struct{}

	// version of the document that was read last, and lacking by it. For Check alone.
	version string
	lacking map[string]kinds.Outdated
	unread  bool // the document could not be read, or says nothing of a kind yet
	problem string

	mu       sync.Mutex
	outdated map[string]kinds.Outdated
}

// New makes a Checker that asks an API server with a client of HTTP, and brings back what waits for it through the waker. It asks nothing before Check.
func New(config *rest.Config, http *http.Client, clock clock.Clock, log logr.Logger, reader client.Reader, waker *queue.Waker) (*Checker, error) {
	publish, err := publishedBy(config, http)
	return &Checker{
		clock: clock, log: log, publish: publish, client: reader, waker: waker, suspected: make(chan struct{}, 1),
	}, err
}

// publishedBy reads what an API server publishes of the operator's kinds, as every client may that is known to it.
func publishedBy(config *rest.Config, http *http.Client) (func(context.Context, string) ([]byte, string, error), error) {
	discovered, err := discovery.NewDiscoveryClientForConfigAndClient(config, http)
	if err != nil {
		return nil, err
	}
	documents := openapi.NewClientWithContext(discovered.RESTClient())
	return func(ctx context.Context, known string) ([]byte, string, error) {
		paths, err := documents.PathsWithContext(ctx)
		if err != nil {
			return nil, "", err
		}
		path := paths["apis/"+v1alpha1.GroupVersion.String()]
		if path == nil {
			return []byte("{}"), "", nil // it is not published yet
		}
		version := path.ServerRelativeURL() // it holds a hash of the document
		if version == known {
			return nil, known, nil
		}
		document, err := path.SchemaWithContext(ctx, "application/json")
		return document, version, err
	}, nil
}

// Check finds out which kinds are outdated in the API server, and reports it once.
func (r *Checker) Check(ctx context.Context) {
	const longest = 10 * time.Second
	bounded, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	document, version, err := r.publish(bounded, r.version)
	if ctx.Err() != nil { // the operator stops
		return
	}
	if err == nil && document != nil {
		var unknown []string
		var lacking map[string]kinds.Outdated
		if lacking, unknown, err = kinds.Compare(document); err == nil {
			r.version, r.lacking, r.unread = version, lacking, len(unknown) > 0
		}
	}
	if err != nil {
		if err.Error() != r.problem {
			r.log.Error(err, "Failed to check the version of the CustomResourceDefinitions, retrying every minute")
		}
		r.unread, r.problem = true, err.Error()
		return
	}
	r.problem = ""
	r.set(r.lacking)
}

// set notes which kinds are outdated, and returns whether that is news.
func (r *Checker) set(outdated map[string]kinds.Outdated) (news bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if apiequality.Semantic.DeepEqual(r.outdated, outdated) || len(r.outdated) == 0 && len(outdated) == 0 {
		return false
	}
	r.outdated = maps.Clone(outdated)
	if len(outdated) == 0 {
		r.log.Info("CustomResourceDefinitions are up to date again, resumed work")
	}
	for _, name := range slices.Sorted(maps.Keys(outdated)) {
		found := outdated[name]
		if len(found.Recorded) > 0 {
			r.log.Error(errors.New(found.Message()), "CustomResourceDefinition is older than the operator, paused the work that needs it",
				"customResourceDefinition", found.CRD, "fields", found.Recorded, "toDo", howToUpdate)
		}
		if len(found.Settable) > 0 {
			r.log.Info("CustomResourceDefinition is older than the operator, some fields cannot be set",
				"customResourceDefinition", found.CRD, "fields", found.Settable, "toDo", howToUpdate)
		}
	}
	return true
}

const howToUpdate = "apply the CustomResourceDefinitions of the operator's version: kubectl apply -k config/crd"

// Why returns why nothing can be recorded of the first of the kinds that are outdated, in words for a person; empty: all can.
func (r *Checker) Why(names ...string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var said []string
	for _, name := range names {
		if found := r.outdated[name]; len(found.Recorded) > 0 {
			said = append(said, found.Message())
		}
	}
	if len(said) == 0 {
		return ""
	}
	return "The CustomResourceDefinitions are older than the operator: " + strings.Join(said, "; ") +
		". The API server would drop these fields without an error, so no work starts that has to be recorded there. To do: " +
		howToUpdate + ". Work resumes within a minute"
}

// Refused notes that the API server has refused a write of a kind because it would drop a part of it. Other errors, and
// none, say nothing.
func (r *Checker) Refused(kind string, err error) {
	dropped, is := errors.AsType[*record.DroppedError](err)
	if !is {
		return
	}
	found, err := kinds.Dropped(kind, dropped.Fields)
	if err != nil {
		return // then the check has said so
	}
	outdated := r.all()
	if outdated == nil {
		outdated = map[string]kinds.Outdated{}
	}
	found.Recorded = slices.Compact(slices.Sorted(slices.Values(slices.Concat(outdated[kind].Recorded, found.Recorded))))
	found.Settable = outdated[kind].Settable
	outdated[kind] = found
	if r.set(outdated) {
		select {
		case r.suspected <- struct{}{}:
		default:
		}
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (r *Checker) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable: it looks again when the operator begins to work, and while something is wrong.
func (r *Checker) Start(ctx context.Context) error {
	before := r.all()
	for r.Check(ctx); ctx.Err() == nil; {
		if now := r.all(); !apiequality.Semantic.DeepEqual(before, now) {
			before = now
			r.WakeAll(ctx)
		}
		wait := recheckKinds
		if len(before) > 0 || r.unread {
			wait = checkKinds
		}
		select {
		case <-r.clock.After(wait):
			r.Check(ctx)
		case <-r.suspected: // that is known already, and to be told; the API server is asked in a minute
		case <-ctx.Done():
		}
	}
	return nil
}

func (r *Checker) all() map[string]kinds.Outdated {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.outdated)
}

// WakeAll has everything looked at again: it may say what is wrong, or go on.
func (r *Checker) WakeAll(ctx context.Context) {
	for list, door := range map[client.ObjectList]*queue.Source{
		&v1alpha1.FeedSourceList{}: &r.waker.Sources, &v1alpha1.AIProviderList{}: &r.waker.Providers,
		&v1alpha1.FeedDestinationList{}: &r.waker.Destinations,
	} {
		if err := r.client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			r.log.Error(err, "Failed to list the objects to requeue")
			continue
		}
		_ = meta.EachListItem(list, func(listed runtime.Object) error {
			if object, is := listed.(client.Object); is {
				door.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(object)}, 0)
			}
			return nil
		})
	}
	items, err := itemcache.UnfinishedOf(ctx, r.client, metav1.NamespaceAll, itemcache.AnySource)
	if err != nil {
		r.log.Error(err, "Failed to list the items to requeue")
	}
	for i := range items {
		r.waker.ItemLater(client.ObjectKeyFromObject(&items[i]), 0)
	}
}
