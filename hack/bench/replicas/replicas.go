// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package replicas measures several replicas of the operator at once, each a process of its own: how quickly one takes over from another one, and what they
// do together when the namespaces are divided among them.
package replicas

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/hack/bench/rig"
	"github.com/feed-operator/feed-operator/internal/shard"
)

// elected are the flags of a replica.
func elected(leases string, shards int) []string {
	return append([]string{"--leader-elect", "--leader-election-namespace=" + leases, fmt.Sprintf("--shards=%d", shards)}, rig.FeedsOnOneHost...)
}

// holders are the replicas that hold shards, with how many each holds.
func holders(ctx context.Context, p *rig.Plane, leases string, shards int) (map[string]int, error) {
	var list coordinationv1.LeaseList
	if err := p.Client.List(ctx, &list, client.InNamespace(leases)); err != nil {
		return nil, err
	}
	each := map[string]int{}
	for i := range list.Items {
		holder := list.Items[i].Spec.HolderIdentity
		if _, of, is := shard.ParseLeaseName(list.Items[i].Name); is && of == shards && holder != nil && *holder != "" {
			each[*holder]++
		}
	}
	return each, nil
}

// untilHeld waits until so many replicas hold all shards between them, as many each.
func untilHeld(ctx context.Context, p *rig.Plane, leases string, shards, replicas int) error {
	return rig.Until(ctx, func(ctx context.Context) (bool, error) {
		each, err := holders(ctx, p, leases, shards)
		for _, n := range each {
			if n != shards/replicas {
				return false, err
			}
		}
		return len(each) == replicas, err
	})
}
