// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"github.com/feed-operator/feed-operator/internal/retry"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// clearPauses forgets, once for each token, why a service is not to be called now: its cool-down, its
// quota, its circuit. What had been refused is asked about again, with what there is now.
func (r *Reconciler[T, P, C]) clearPauses(id schedule.Resource, found P) {
	asked := retry.Request{Token: retry.Token(found), Last: found.Service().LastHandledRetry}
	if asked.IsNew() {
		r.Services.Clear(id, asked.Token)
	}
}
