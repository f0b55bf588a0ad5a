// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package items

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/hack/bench/figure"
	"github.com/feed-operator/feed-operator/hack/bench/rig"
	"github.com/feed-operator/feed-operator/internal/webhooktest"
)

// The bars of batches (R4.3).
const (
	mostForWaiting  = 10.0 // seconds, until what waits is sent
	mostForSlow     = 30.0 // seconds, the timeout of a request
	mostMoreMemory  = 50.0 // MB above idle
	slowReceiver    = 5 * time.Second
	itemsOfABatch   = v1alpha1.DefaultBatchItems
	hookName        = "hook"
	sourcesOfHook   = 10
	untilHookIsSeen = 3 * time.Second // the operator hears of a change of its spec
	// batchesWindow is how much of the measurement a profile covers, where one is asked for.
	batchesWindow = 10 * time.Second
)

// Batches measures what it takes to send what has waited for a webhook that was suspended, by the operator that is deployed: to a receiver that
// answers at once, and one batch to one that takes five seconds.
func Batches(ctx context.Context, p *rig.Plane, s rig.Scale) ([]figure.Row, error) {
	waiting := s.Of(1000, 200)
	quick, err := sendWaiting(ctx, p, waiting, 0)
	if err != nil {
		return nil, err
	}
	slow, err := sendWaiting(ctx, p, itemsOfABatch, slowReceiver)
	if err != nil {
		return nil, err
	}
	requests := (waiting + itemsOfABatch - 1) / itemsOfABatch
	return []figure.Row{
		figure.AtMost(fmt.Sprintf("time until %d waiting items have arrived at an instant receiver, %d requests", waiting, quick.requests),
			fmt.Sprintf("%.1f s", quick.took.Seconds()), quick.took.Seconds(), mostForWaiting, " s"),
		figure.AtMost("  requests beyond those that it takes", fmt.Sprint(quick.requests-requests), float64(quick.requests-requests), 0, ""),
		figure.AtMost("  memory above that with everything waiting", fmt.Sprintf("%.0f MB", quick.memory), quick.memory, mostMoreMemory, " MB"),
		figure.AtMost("  items that have not arrived once", fmt.Sprint(quick.wrong), float64(quick.wrong), 0, ""),
		figure.AtMost(fmt.Sprintf("time of one request with %d items to a receiver that takes %s", itemsOfABatch, slowReceiver),
			fmt.Sprintf("%.1f s", slow.took.Seconds()), slow.took.Seconds(), mostForSlow, " s"),
		figure.AtMost("  items that have not arrived once", fmt.Sprint(slow.wrong), float64(slow.wrong), 0, ""),
	}, nil
}

// sending is what it took to send what has waited.
type sending struct {
	took     time.Duration
	requests int
	// memory is how much more the operator held at its peak than while all waited, in MB.
	memory float64
	// wrong is how many items have not arrived, or more than once.
	wrong int
}

// sendWaiting has items wait for a webhook that is suspended, and measures from when it is not any more until all have arrived.
func sendWaiting(ctx context.Context, p *rig.Plane, items int, delay time.Duration) (sent sending, err error) {
	feeds, err := rig.ServeFeeds(ctx)
	if err != nil {
		return sent, err
	}
	defer feeds.Close()
	hook := webhooktest.New(webhooktest.Options{}) //nolint:contextcheck // it serves until it is closed
	defer hook.Close()
	if delay > 0 {
		hook.OnRequest(func(pending *webhooktest.Pending) bool { //nolint:contextcheck // the context is that of the request
			return rig.Pause(pending.Request.Context(), delay) != nil
		})
	}
	namespace, err := p.Namespace(ctx)
	if err != nil {
		return sent, err
	}
	most := int32(itemsOfABatch)
	destination := &v1alpha1.FeedDestination{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: hookName}}
	destination.Spec.Webhook = &v1alpha1.WebhookDestination{URL: hook.URL, Batch: &v1alpha1.WebhookBatch{MaxItems: &most}}
	destination.Spec.Suspend = true
	if err := p.Client.Create(ctx, destination); err != nil {
		return sent, err
	}
	manager, err := rig.StartManager(ctx, p, namespace, rig.FeedsOnOneHost...)
	if err != nil {
		return sent, err
	}
	defer manager.Stop(ctx)
	err = createSources(ctx, p, feeds, namespace, sourcesOfHook, items/sourcesOfHook, func(source *v1alpha1.FeedSource) {
		source.Spec.Destinations = []v1alpha1.DestinationReference{{Name: hookName}}
	})
	if err != nil {
		return sent, err
	}
	rig.Progress("%d items are summarized and wait for a webhook …", items)
	if err := manager.Explain(untilItems(ctx, p, namespace, items, func(item *v1alpha1.FeedItem) bool { return item.Status.Summary != nil })); err != nil {
		return sent, err
	}
	if err := rig.Pause(ctx, untilHookIsSeen); err != nil {
		return sent, err
	}
	idle, err := manager.Memory()
	if err != nil {
		return sent, err
	}
	endProfile, err := manager.Profile(ctx, fmt.Sprintf("batches-%d", items), batchesWindow)
	if err != nil {
		return sent, err
	}
	defer endProfile()
	began := time.Now()
	if err := p.Client.Patch(ctx, destination, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"suspend":false}}`))); err != nil {
		return sent, err
	}
	arrived := (items + itemsOfABatch - 1) / itemsOfABatch
	waiting, cancel := context.WithTimeout(ctx, rig.Patience)
	defer cancel()
	if _, err := hook.Await(waiting, arrived); err != nil {
		return sent, manager.Explain(err)
	}
	sent.took = time.Since(began)
	err = untilItems(ctx, p, namespace, items, func(item *v1alpha1.FeedItem) bool { return item.Status.Phase == v1alpha1.PhaseProcessed })
	if err != nil {
		return sent, manager.Explain(err)
	}
	after, err := manager.Memory()
	if err != nil {
		return sent, err
	}
	sent.memory = max(figure.Megabytes(after.Resident)-figure.Megabytes(idle.Resident), figure.Megabytes(after.Peak)-figure.Megabytes(idle.Peak))
	sent.requests = hook.Requests()
	sent.wrong, err = notArrivedOnce(hook.Taken(), items)
	return sent, err
}

// untilItems waits until so many items of a namespace are as they are to be.
func untilItems(ctx context.Context, p *rig.Plane, namespace string, want int, is func(*v1alpha1.FeedItem) bool) error {
	return rig.Until(ctx, func(ctx context.Context) (bool, error) {
		var list v1alpha1.FeedItemList
		if err := p.Client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return false, err
		}
		found := 0
		for i := range list.Items {
			if is(&list.Items[i]) {
				found++
			}
		}
		return found == want, nil
	})
}

// notArrivedOnce counts the items that are not in the requests exactly once.
func notArrivedOnce(taken []webhooktest.Delivery, items int) (wrong int, err error) {
	times := map[string]int{}
	for _, delivery := range taken {
		var body struct {
			Records []struct {
				Key string `json:"idempotencyKey"`
			} `json:"records"`
		}
		if err := json.Unmarshal([]byte(delivery.Body), &body); err != nil {
			return 0, fmt.Errorf("read what the operator has sent: %w", err)
		}
		for _, record := range body.Records {
			times[record.Key]++
		}
	}
	for _, n := range times {
		if n != 1 {
			wrong++
		}
	}
	return wrong + max(items-len(times), 0), nil
}
