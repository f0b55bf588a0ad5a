// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/hack/bench/figure"
	"github.com/feed-operator/feed-operator/hack/bench/news"
	"github.com/feed-operator/feed-operator/hack/bench/rig"
	"github.com/feed-operator/feed-operator/internal/shard"
)

const (
	mostShards        = 4
	namespacesOfShard = 2
	sourcesOfEach     = 5 // of each namespace
)

// Shards measures what 1, 2 and 4 replicas do together that have as many shards: how many items a second they process, and how much memory each holds. All run
// on this machine, together with the API server: what they need is compared, and not how quick they would be on machines of their own.
func Shards(ctx context.Context, p *rig.Plane, s rig.Scale) ([]figure.Row, error) {
	items := s.Of(2000, 200)
	var rows []figure.Row
	for _, count := range []int{1, 2, mostShards} {
		one, err := share(ctx, p, count, items)
		if err != nil {
			return rows, err
		}
		rows = append(rows,
			figure.Note(fmt.Sprintf("items/s of %d replicas with as many shards, by the built-in summarizer (%d items of 2 KB)", count, items), "%.0f",
				float64(items)/one.took.Seconds()),
			figure.Note("processor time of an item, of all replicas", "%.1f ms", one.processor.Seconds()*1000/float64(items)),
			figure.Note("resident memory of each", "%s", strings.Join(one.memory, ", ")),
			figure.AtMost("  items that were not made and processed once", fmt.Sprint(one.wrong), float64(one.wrong), 0, ""))
	}
	return rows, nil
}

// shared is what replicas have done together.
type shared struct {
	took, processor time.Duration
	memory          []string
	wrong           int
}

// share has some replicas process items of all namespaces.
func share(ctx context.Context, p *rig.Plane, count, items int) (done shared, err error) {
	feeds, err := rig.ServeFeeds(ctx)
	if err != nil {
		return done, err
	}
	defer feeds.Close()
	namespaces, err := spreadNamespaces(ctx, p)
	if err != nil {
		return done, err
	}
	flags := elected(namespaces[0], count)
	for _, namespace := range namespaces[1:] {
		flags = append(flags, "--namespace="+namespace)
	}
	var managers []*rig.Manager
	for range count {
		manager, err := rig.StartManager(ctx, p, namespaces[0], flags...)
		if err != nil {
			return done, err
		}
		defer manager.Stop(ctx)
		managers = append(managers, manager)
	}
	if err := managers[0].Explain(untilHeld(ctx, p, namespaces[0], count, count)); err != nil {
		return done, err
	}
	rig.Progress("%d replicas with as many shards process %d items …", count, items)
	before, err := processorTime(managers)
	if err != nil {
		return done, err
	}
	each := items / len(namespaces) / sourcesOfEach
	began := time.Now()
	for i := range sourcesOfEach {
		name := fmt.Sprint("feed-", i)
		url := feeds.Publish(name, news.Entries(name, each))
		for _, namespace := range namespaces {
			if err := p.Client.Create(ctx, news.Source(namespace, name, url)); err != nil {
				return done, err
			}
		}
	}
	found := 0
	for want := each * len(namespaces) * sourcesOfEach; found < want; {
		if err := rig.Pause(ctx, time.Second); err != nil { // to look takes the API server its time, too
			return done, err
		}
		if found, err = processed(ctx, p, namespaces); err != nil {
			return done, err
		}
		if time.Since(began) > rig.Patience {
			return done, managers[0].Explain(fmt.Errorf("%d of %d items are processed", found, want))
		}
	}
	done.took, done.wrong = time.Since(began), found-each*len(namespaces)*sourcesOfEach
	after, err := processorTime(managers)
	if err != nil {
		return done, err
	}
	done.processor = after - before
	for _, manager := range managers {
		memory, err := manager.Memory()
		if err != nil {
			return done, err
		}
		done.memory = append(done.memory, fmt.Sprintf("%.0f MB", figure.Megabytes(memory.Resident)))
	}
	return done, nil
}

// processed is how many items are processed.
func processed(ctx context.Context, p *rig.Plane, namespaces []string) (found int, err error) {
	for _, namespace := range namespaces {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("FeedItemList"))
		if err := p.Client.List(ctx, list, client.InNamespace(namespace), client.MatchingFields{"status.phase": string(v1alpha1.PhaseProcessed)}); err != nil {
			return 0, err
		}
		found += len(list.Items)
	}
	return found, nil
}

// spreadNamespaces makes as many namespaces for each shard.
func spreadNamespaces(ctx context.Context, p *rig.Plane) (namespaces []string, err error) {
	each := map[int]int{}
	for len(namespaces) < mostShards*namespacesOfShard {
		namespace, err := p.Namespace(ctx)
		if err != nil {
			return nil, err
		}
		if of := shard.Of(namespace, mostShards); each[of] < namespacesOfShard {
			each[of]++
			namespaces = append(namespaces, namespace)
		}
	}
	return namespaces, nil
}

// processorTime is how long all replicas have used a core.
func processorTime(managers []*rig.Manager) (used time.Duration, err error) {
	for _, manager := range managers {
		one, err := manager.CPU()
		if err != nil {
			return 0, err
		}
		used += one
	}
	return used, nil
}
