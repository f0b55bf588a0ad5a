// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle_test

import (
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

// R4.4: where posts were passed over in a look because they are other items', one of them may have been made with the key of this
// one: the other side would answer with that post, and make none. Else the key stays, and protects.
func TestAKeyThatMayBeUsedUpIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	passedOver := func(outcome *lifecycle.DeliveryOutcome) { outcome.Mistaken = true }
	for name, test := range map[string]struct {
		look        []func(*lifecycle.DeliveryOutcome)
		wantAnother bool
	}{
		"nothing is like it":           {[]func(*lifecycle.DeliveryOutcome){missing}, false},
		"what is like it is another's": {[]func(*lifecycle.DeliveryOutcome){missing, passedOver}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			item := toPost(here)
			row := intend(item, here, created)
			before := row.Key
			settleDelivery(t, item, result(row, test.look...), created.Add(2*time.Minute))
			if row.State != v1alpha1.DeliveryQueued || row.Key == "" || (row.Key != before) != test.wantAnother {
				t.Errorf("it is %s with the key %q after %q, want another: %t", row.State, row.Key, before, test.wantAnother)
			}
		})
	}
}
