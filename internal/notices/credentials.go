// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package notices

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/conditions"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/queue"
	"github.com/feed-operator/feed-operator/internal/record"
)

// ServicePointer is a pointer to such an object.
type ServicePointer[T any] interface {
	*T
	v1alpha1.ServiceObject
}

// QueueCredentials queues on a service the notices that its credentials are refused, before the item is written that
// fails for it: from then on they do not depend on that item, nor on an operator that lives on. Refused is the
// revision of the service that was refused.
func QueueCredentials[T any, P ServicePointer[T]](ctx context.Context, c client.Client, live client.Reader, key client.ObjectKey,
	refused string, destinations []string,
) error {
	// What the cache shows as queued is queued, so that of many items only the first few write.
	service := P(new(T))
	if err := c.Get(ctx, key, service); err != nil {
		return err
	}
	return record.Write[T, P](ctx, c, live, service, func(service P) bool {
		lifecycle.QueueCredentialsNotices(service.Service(), service.GetUID(), conditions.Cut(refused, 256), destinations)
		return true
	})
}

// CredentialsQueued lets through services on which an item has queued a notice just now.
var CredentialsQueued = queue.Updated(func(earlier, later client.Object) bool {
	before, isService := earlier.(v1alpha1.ServiceObject)
	after, still := later.(v1alpha1.ServiceObject)
	return isService && still && slices.ContainsFunc(after.Service().CredentialsNotices, func(notice v1alpha1.CredentialsNotice) bool {
		known := lifecycle.CredentialsNoticeTo(before.Service(), notice.Destination)
		return notice.State == v1alpha1.NotificationQueued && (known == nil || known.Key != notice.Key)
	})
})
