// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package anthropic

import (
	"cmp"
	"net/http"
	"regexp"
	"time"

	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/provider/modelapi"
)

// wordsRenewed is how the API says when a budget is renewed: "You will regain access on 2026-05-01 at 00:00 UTC."
var wordsRenewed = regexp.MustCompile(`(?i)regain access on (\d{4}-\d{2}-\d{2})(?: at (\d{2}:\d{2}))?`)

// waitHint is how long the API asked for a pause, 0 when it did not say: by the header Retry-After;
// else, for a spent budget, by its words; else, for too fast a pace, until the limits that are used up
// are full again (https://platform.claude.com/docs/en/api/rate-limits).
func waitHint(header http.Header, words string, refusal modelapi.Refusal, now time.Time) time.Duration {
	wait := failure.RetryAfter(header.Get("Retry-After"), now)
	switch {
	case wait > 0:
	case refusal.Type == failure.TypeQuotaSpent, refusal.Meaning == http.StatusPaymentRequired:
		if found := wordsRenewed.FindStringSubmatch(words); found != nil {
			wait = failure.Until(found[1]+"T"+cmp.Or(found[2], "00:00")+":00Z", now)
		}
	case refusal.Meaning == http.StatusTooManyRequests:
		for _, limit := range []string{"Requests", "Tokens", "Input-Tokens", "Output-Tokens"} {
			if failure.UsedUp(header.Get("Anthropic-Ratelimit-" + limit + "-Remaining")) {
				wait = max(wait, failure.Until(header.Get("Anthropic-Ratelimit-"+limit+"-Reset"), now))
			}
		}
	}
	return wait
}
