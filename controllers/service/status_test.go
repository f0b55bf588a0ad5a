// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"testing"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// R3.6, R6.2: what was learned of a service is known after a restart; a state that this version does not know, and one that only the
// look at the service can tell, are not taken over.
func TestAvailabilityIsTakenOverFromTheStatus(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]schedule.State{
		"Ready": schedule.StateReady, "CoolingDown": schedule.StateCoolingDown, "QuotaSpent": schedule.StateQuotaSpent,
		"CircuitOpen": schedule.StateCircuitOpen, "Down": "", "Open": "", "": "",
	} {
		held := &v1alpha1.Availability{State: v1alpha1.AvailabilityState(state), Failures: 3}
		if got := availabilityOf(held); got.State != want || want != "" && got.Failures != 3 {
			t.Errorf("%q is taken over as %q, after %d failures", state, got.State, got.Failures)
		}
	}
	if got := availabilityOf(nil); got != (schedule.Availability{}) {
		t.Errorf("of nothing, there is %v", got)
	}
}
