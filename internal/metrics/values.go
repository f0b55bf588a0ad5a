// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/schedule"
)

// The values of labels that are not those of the API.
const (
	pollChanged, pollUnchanged, pollFailed = "changed", "unchanged", "failed"

	endSummarized, endSkipped, endFailed = "summarized", "skipped", "failed"

	deliverySent, deliveryResent, deliveryFound, deliveryDuplicate = "sent", "resent", "found", "duplicate"
	deliverySpooled, deliveryDead                                  = "spooled", "dead"
)

// stateSuspended stands beside the states of the availability.
const stateSuspended = "Suspended"

var (
	stages = []string{
		string(v1alpha1.StageArticle), string(v1alpha1.StageScreen), string(v1alpha1.StageSummarize), string(v1alpha1.StageDeliver),
		string(v1alpha1.StageNotify),
	}
	categories = []string{
		string(v1alpha1.CategoryNetwork), string(v1alpha1.CategoryRateLimit), string(v1alpha1.CategoryAPI), string(v1alpha1.CategoryAuth),
		string(v1alpha1.CategoryValidation), string(v1alpha1.CategoryUnknown),
	}
	// failureReasons are those of items that have failed for good.
	failureReasons = []v1alpha1.Reason{
		v1alpha1.ReasonRetryLimitExceeded, v1alpha1.ReasonAuthenticationFailed, v1alpha1.ReasonInvalidContent, v1alpha1.ReasonInvalidConfiguration,
		v1alpha1.ReasonDeliveryUncertain,
	}
	availabilityStates = []string{
		string(schedule.StateReady), string(schedule.StateCoolingDown), string(schedule.StateQuotaSpent), string(schedule.StateCircuitOpen),
		string(schedule.StateDown), stateSuspended,
	}
	// intervals are the classes of sources by how often they are polled.
	intervals = []struct {
		name   string
		atMost time.Duration
	}{{"15m", 15 * time.Minute}, {"1h", time.Hour}, {"6h", 6 * time.Hour}, {"longer", 1<<63 - 1}}
)

// ProviderTypes are the types of AI providers, as metrics name them.
var ProviderTypes = []string{"gemini", "openai", "anthropic", "extractive"}

// TypeOf is the type of a provider; nil is the built-in one.
func TypeOf(provider *v1alpha1.AIProvider) string {
	switch {
	case provider == nil, provider.Spec.Extractive != nil:
		return "extractive"
	case provider.Spec.Gemini != nil:
		return "gemini"
	case provider.Spec.Anthropic != nil:
		return "anthropic"
	}
	return "openai"
}

// intervalOf is the class of a source.
func intervalOf(source *v1alpha1.FeedSource) string {
	for _, class := range intervals {
		if source.Interval() <= class.atMost {
			return class.name
		}
	}
	return ""
}
