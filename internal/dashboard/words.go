// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import "github.com/feed-operator/feed-operator/api/v1alpha1"

// reasons are what the reasons of items mean, for who has not read the documentation.
var reasons = map[v1alpha1.Reason]string{
	v1alpha1.ReasonNotValuable:          "judged not to be worth a summary",
	v1alpha1.ReasonPageNotReady:         "the page has no readable or no complete article yet",
	v1alpha1.ReasonDownloadFailed:       "the article could not be fetched",
	v1alpha1.ReasonLargeFileSkipped:     "the article is larger than is allowed: skipped",
	v1alpha1.ReasonNoContent:            "the feed gives no content, and no page is to be read: skipped",
	v1alpha1.ReasonAlreadyPosted:        "every destination has a post of it already: skipped",
	v1alpha1.ReasonAPIFailed:            "a provider or a delivery has failed",
	v1alpha1.ReasonWaiting:              "waits for something that is missing or not available",
	v1alpha1.ReasonRetryLimitExceeded:   "the last of its retries has failed",
	v1alpha1.ReasonAuthenticationFailed: "credentials are refused: it is retried when they are replaced",
	v1alpha1.ReasonInvalidContent:       "its content cannot be read, or is refused",
	v1alpha1.ReasonInvalidConfiguration: "the request is refused as it is configured",
	v1alpha1.ReasonDeliveryUncertain:    "nobody can say whether it was posted: look there before you retry, which posts it again",
}

var phaseWords = map[v1alpha1.Phase]string{
	v1alpha1.PhaseUnprocessed: "new, not tried yet",
	v1alpha1.PhasePending:     "a summary or a delivery is outstanding",
	v1alpha1.PhaseDeferred:    "tried, and will be tried again",
	v1alpha1.PhaseProcessed:   "done",
	v1alpha1.PhaseFailed:      "failed for good, until a person retries it",
}

var stages = map[v1alpha1.Stage]string{
	v1alpha1.StagePoll:      "Poll",
	v1alpha1.StageArticle:   "Article",
	v1alpha1.StageScreen:    "Screening",
	v1alpha1.StageSummarize: "Summary",
	v1alpha1.StageDeliver:   "Delivery",
	v1alpha1.StageNotify:    "Notification",
}
