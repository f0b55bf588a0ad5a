// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Annotations of what `kubectl feed restore` has brought to a cluster: the API server gives each object a new UID and a new time of creation.
const (
	// AnnotationOriginalUID is the UID that a FeedSource or a FeedItem had where it was made. Readers of the published feeds, and destinations
	// that recognize idempotency keys, know it by that.
	AnnotationOriginalUID = "feeds.feed-operator.io/original-uid"
	// AnnotationOriginalCreation is when it was made there, as RFC 3339. It counts where it is before the creation time.
	AnnotationOriginalCreation = "feeds.feed-operator.io/original-creation"
	// AnnotationRestoredFrom names the backup that an object came from.
	AnnotationRestoredFrom = "feeds.feed-operator.io/restored-from"
	// AnnotationRestoring is on a FeedSource, AIProvider or FeedDestination as long as its backup is being restored: it stays suspended until then.
	AnnotationRestoring = "feeds.feed-operator.io/restoring"
	// AnnotationSuspendedForBackup is on what `kubectl feed backup --suspend` has suspended, so that a restore does not leave it so.
	AnnotationSuspendedForBackup = "feeds.feed-operator.io/suspended-for-backup"
)

// OriginalUID returns the UID that an object had where it was first made: its own, unless it was restored from a backup.
func OriginalUID(object metav1.Object) types.UID {
	const longest = 64
	if uid := object.GetAnnotations()[AnnotationOriginalUID]; uid != "" && len(uid) <= longest {
		return types.UID(uid)
	}
	return object.GetUID()
}

// Created returns when an object was first made, also where it was restored from a backup since.
func Created(object metav1.Object) metav1.Time {
	created := object.GetCreationTimestamp()
	before, err := time.Parse(time.RFC3339, object.GetAnnotations()[AnnotationOriginalCreation])
	if err == nil && before.Before(created.Time) {
		return metav1.NewTime(before)
	}
	return created
}
