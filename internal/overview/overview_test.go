// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package overview_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/overview"
)

var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// overviewOf returns what is said of a source, after its header.
func overviewOf(t *testing.T, source v1alpha1.FeedSource) string {
	t.Helper()
	var out strings.Builder
	if err := overview.Write(&out, overview.State{Sources: []v1alpha1.FeedSource{source}, Now: now}); err != nil {
		t.Fatal(err)
	}
	_, said, _ := strings.Cut(out.String(), "\n")
	return said
}

// R5.1: a source that is ready may need a person all the same.
func TestWhatNeedsAPersonIsTold(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{
		v1alpha1.ConditionCreationPaused, v1alpha1.ConditionDamaged, v1alpha1.ConditionMemoryRebuilt,
		v1alpha1.ConditionNotificationsBlocked, v1alpha1.ConditionFiltersFailing,
	} {
		source := v1alpha1.FeedSource{}
		source.Status.Conditions = []metav1.Condition{
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Message: "Reads it"}, {Type: kind, Status: metav1.ConditionTrue, Message: "Look here"},
		}
		if said := overviewOf(t, source); !strings.Contains(said, "Reads it. Look here") {
			t.Errorf("%s: %s", kind, said)
		}
	}
}
