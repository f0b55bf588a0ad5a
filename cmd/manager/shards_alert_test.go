// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	names "github.com/prometheus/common/model"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/promtest"
	"github.com/feed-operator/feed-operator/internal/shard"
)

// fleet are the addresses of the metrics of several replicas, which are scraped together.
type fleet []string

// Gather implements prometheus.Gatherer. The replicas are told apart by a label, as pods are by theirs.
func (f fleet) Gather() (all []*dto.MetricFamily, err error) {
	byName := map[string]*dto.MetricFamily{}
	for i, address := range f {
		families, err := scrapeOpen(context.Background(), address)
		if err != nil {
			return nil, err
		}
		for name, family := range families {
			if !strings.HasPrefix(name, "feed_operator_") {
				continue
			}
			for _, metric := range family.GetMetric() {
				metric.Label = append(metric.Label, &dto.LabelPair{Name: new("replica"), Value: new(strconv.Itoa(i))})
			}
			if byName[name] == nil {
				byName[name] = family
				all = append(all, family)
				continue
			}
			byName[name].Metric = append(byName[name].Metric, family.GetMetric()...)
		}
	}
	return all, nil
}

// scrapeOpen asks an operator for its metrics that shows them to everybody.
func scrapeOpen(ctx context.Context, address string) (map[string]*dto.MetricFamily, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", http.NoBody)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	parser := expfmt.NewTextParser(names.UTF8Validation)
	return parser.TextToMetricFamilies(answer.Body)
}

// held is how many of the replicas say that they hold each shard.
func (f fleet) held(ctx context.Context) (map[string]int, error) {
	by := map[string]int{}
	for _, address := range f {
		families, err := scrapeOpen(ctx, address)
		if err != nil {
			return nil, err
		}
		for _, metric := range families["feed_operator_shard_held"].GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "shard" {
					by[label.GetValue()] += int(metric.GetGauge().GetValue())
				}
			}
		}
	}
	return by, nil
}

// untilHeld waits until the replicas say of so many shards that one of them holds each, and of the others that none does.
func (f fleet) untilHeld(t *testing.T, want int) {
	t.Helper()
	apitest.Eventually(t, func(ctx context.Context) error {
		by, err := f.held(ctx)
		if err != nil {
			return err
		}
		held := 0
		for name, replicas := range by {
			if replicas > 1 {
				return fmt.Errorf("%d replicas hold shard %s", replicas, name)
			}
			held += replicas
		}
		if held != want || len(by) != 4 {
			return fmt.Errorf("replicas hold %v", by)
		}
		return nil
	})
}

// R5.3, R6.3: a shard that no replica works on, because somebody else renews its Lease, alerts after five minutes; and no more when a replica has taken it.
func TestAShardThatNobodyHoldsAlerts(t *testing.T) {
	portion.Whole(t, "promtool holds its rule to its cases, and that shards are held is tried without alerts")
	t.Parallel()
	c := newCountry(t)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: c.leases, Name: shard.LeaseName(2, 4)}}
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = new("somebody else"), new(int32(15))
	if err := server.Client.Create(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var renewing sync.WaitGroup
	renewing.Go(func() {
		for n := int32(1); ; n++ {
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return
			}
			lease.Spec.LeaseTransitions = new(n)
			if err := server.Client.Update(ctx, lease); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
	})
	var replicas fleet
	for range 2 {
		address := apitest.FreeAddress(t)
		c.kept(t, 4, "--metrics-bind-address="+address)
		replicas = append(replicas, address)
	}
	replicas.untilHeld(t, 3)
	now := time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)
	prometheus := promtest.Record(t, func() time.Time { return now }, replicas)
	pass := func(minutes int) {
		for range minutes {
			prometheus.Scrape()
			now = now.Add(time.Minute)
		}
		prometheus.Scrape()
	}
	pass(4)
	prometheus.Firing()
	pass(2)
	prometheus.Firing("FeedOperatorShardUnheld")
	stop()
	renewing.Wait()
	replicas.untilHeld(t, 4)
	pass(1)
	prometheus.Firing()
	c.open(t)
}
