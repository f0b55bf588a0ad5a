// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

// doubt has each post that was still to be made looked for first: an operator may have made it since the backup. It returns how many those are. Where the
// destination cannot be asked, they are left to a person, or sent again with the same key where that is what its owner wants.
func doubt(b *Backup, now time.Time) (posts int) {
	sources := map[types.UID]*v1alpha1.FeedSource{}
	for i := range b.Sources {
		sources[b.Sources[i].UID] = &b.Sources[i]
	}
	for i := range b.Items {
		item := &b.Items[i]
		source := sources[item.Spec.SourceRef.UID]
		if item.Terminal() || source == nil {
			continue
		}
		if item.Status.Summary == nil { // what is made of it is posted only once it was looked for
			for _, ref := range source.Spec.Destinations {
				if lifecycle.RowOf(item, ref.Name) != nil {
					continue
				}
				item.Status.Deliveries = append(item.Status.Deliveries, v1alpha1.Delivery{
					Destination: ref.Name, State: v1alpha1.DeliveryQueued, Key: lifecycle.DeliveryKey(item, ref.Name),
				})
			}
		}
		for j := range item.Status.Deliveries {
			if row := &item.Status.Deliveries[j]; !row.Ended() {
				doubtOf(row, b.Time, now)
				posts++
			}
		}
	}
	// A batch that was not finished may have been sent, with others, since.
	for i := range b.Destinations {
		b.Destinations[i].Status.Batches = nil
	}
	return posts
}

// doubtOf has a delivery be as one whose answer was lost.
func doubtOf(row *v1alpha1.Delivery, since metav1.Time, now time.Time) {
	if row.FirstAttemptTime == nil || since.Before(row.FirstAttemptTime) {
		row.FirstAttemptTime = &since
	}
	ended := rounded(now)
	row.State, row.NotAfter, row.NextRetryTime = v1alpha1.DeliveryIntent, &ended, new(rounded(now.Add(lifecycle.SettleTime)))
	row.Failure = &v1alpha1.Failure{
		Category: v1alpha1.CategoryUnknown, Type: lifecycle.TypeUncertain, Retryable: true,
		Message: "It may have been posted after the backup that this item was restored from",
		Stage:   v1alpha1.StageDeliver, Object: row.Destination, Time: ended,
	}
}

// skipNew has each source remember as seen what its feed lists at the next poll: as where its memory was lost (MemoryRebuilt).
func skipNew(b *Backup) {
	sources := map[types.UID]*v1alpha1.FeedSource{}
	for i := range b.Sources {
		sources[b.Sources[i].UID] = &b.Sources[i]
	}
	hasItems := map[types.UID]bool{}
	for i := range b.Items {
		hasItems[b.Items[i].Spec.SourceRef.UID] = true
	}
	for i := range b.Memories {
		memory := &b.Memories[i]
		owner := metav1.GetControllerOf(memory)
		if memory.Posted != nil || memory.Batch != nil || owner == nil || sources[owner.UID] == nil {
			continue
		}
		status := &sources[owner.UID].Status
		if status.LastSuccessTime == nil && memory.Data.URLHash != "" && hasItems[owner.UID] { // read, and not reported yet
			status.LastSuccessTime = &b.Time
		}
		if status.LastSuccessTime != nil {
			memory.Data.URLHash, memory.Data.ETag, memory.Data.LastModified, memory.Data.BodyHash = "", "", "", ""
		}
	}
}
