// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// QueueCredentialsNotices queues on a service the notices to destinations that its credentials are refused. Refused
// names what was refused: each destination hears of it once, and what is known of other credentials goes.
//
// The key of a notice is that of its refusal and its destination, so that one which is queued again, because an
// operator was cut off, is no other one to the server.
func QueueCredentialsNotices(status *v1alpha1.ServiceStatus, service types.UID, refused string, destinations []string) {
	notices := slices.DeleteFunc(slices.Clone(status.CredentialsNotices), func(notice v1alpha1.CredentialsNotice) bool {
		return notice.Refused != refused
	})
	for _, name := range destinations {
		known := slices.ContainsFunc(notices, func(notice v1alpha1.CredentialsNotice) bool { return notice.Destination == name })
		if known || len(notices) >= v1alpha1.MaxCredentialsNotices {
			continue
		}
		notices = append(notices, v1alpha1.CredentialsNotice{
			Notification: v1alpha1.Notification{
				Destination: name, State: v1alpha1.NotificationQueued,
				Key: keyOf("credentials/" + string(service) + "/" + name + "/" + refused),
			},
			Refused: refused,
		})
	}
	status.CredentialsNotices = notices
}

// CredentialsNoticeTo returns the notice of a service to a destination, or nil.
func CredentialsNoticeTo(status *v1alpha1.ServiceStatus, destination string) *v1alpha1.CredentialsNotice {
	for i := range status.CredentialsNotices {
		if status.CredentialsNotices[i].Destination == destination {
			return &status.CredentialsNotices[i]
		}
	}
	return nil
}

// SettleCredentialsNotice writes the outcome of an attempt at a notice, that ended now, into the status of its
// service. It returns false when the outcome does not belong there any more: the credentials were replaced, others
// are refused, or the attempt is noted already.
func SettleCredentialsNotice(status *v1alpha1.ServiceStatus, service types.UID, outcome NotificationOutcome, now time.Time) bool {
	notice := CredentialsNoticeTo(status, outcome.Destination)
	if notice == nil || !outcome.belongsTo(&notice.Notification) {
		return false
	}
	if outcome.Unwanted {
		status.CredentialsNotices = slices.DeleteFunc(status.CredentialsNotices, func(other v1alpha1.CredentialsNotice) bool {
			return other.Destination == outcome.Destination
		})
		return true
	}
	outcome.note(&notice.Notification, string(service), now)
	return true
}

// DropCredentialsNotices takes back what was not sent of credentials that are accepted now. What was sent stays, so
// that the same credentials, should they be refused again, are not told of twice.
func DropCredentialsNotices(status *v1alpha1.ServiceStatus) {
	var told []v1alpha1.CredentialsNotice
	for _, notice := range status.CredentialsNotices {
		if notice.State == v1alpha1.NotificationDone {
			told = append(told, notice)
		}
	}
	status.CredentialsNotices = told
}
