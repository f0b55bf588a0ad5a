// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"fmt"
	"strings"
)

// aCredentialsNotice is the least that a notice of refused credentials says.
var aCredentialsNotice = map[string]any{
	"status.credentialsNotices[].destination": "admin", "status.credentialsNotices[].state": "Queued", "status.credentialsNotices[].refused": "2/1/3",
}

func credentialsNotice(i int) any {
	return map[string]any{"destination": fmt.Sprintf("destination-%d", i), "state": "Queued", "refused": "2/1/3"}
}

// anAvailability is the least that an availability says.
var anAvailability = map[string]any{"status.availability.state": "CoolingDown"}

// aCategoryCount is the least that a count of failures says.
var aCategoryCount = map[string]any{"status.failures[].category": "API", "status.failures[].count": int64(1)}

func categoryCount(i int) any {
	all := []string{"Network", "RateLimit", "API", "Auth", "Validation", "Unknown"}
	return map[string]any{"category": all[i%len(all)], "count": int64(1)}
}

// serviceRules are those of what is called: providers and destinations (R3.8, R3.9).
func serviceRules(kind string) map[string]rule {
	const notices = "status.credentialsNotices"
	return merge(failureRules(kind, "status.lastFailure", nil), toldRules(kind, notices, aCredentialsNotice), map[string]rule{
		kind + ": it has up to eight conditions":                 lists(kind, "status.conditions", 8, condition).unique(condition(0)),
		kind + ": its availability is one of five":               choices(kind, "status.availability.state", "Ready", "CoolingDown", "QuotaSpent", "CircuitOpen", "Down"),
		kind + ": an availability has a state":                   {kind: kind, field: "status.availability.state", valid: []any{"CircuitOpen"}, invalid: []refusal{{absent{}, "Required value"}}},
		kind + ": it has failed 0 or more times in a row":        counts(kind, "status.availability.failures", 0).beside(anAvailability),
		kind + ": its failures are counted by six categories":    lists(kind, "status.failures", 6, categoryCount).unique(categoryCount(0)),
		kind + ": failures are counted by a category":            categories(kind, "status.failures[].category").beside(aCategoryCount),
		kind + ": a category has 0 or more failures":             counts(kind, "status.failures[].count", 0).beside(aCategoryCount),
		kind + ": a Secret's version is noted in 128 characters": texts(kind, "status.refusedCredentials", false, 128),
		kind + ": 64 destinations are told of a refusal":         lists(kind, notices, 64, credentialsNotice).unique(credentialsNotice(0)),
		kind + ": a notice names what was refused":               mandatory(kind, notices+"[].refused", 256).beside(aCredentialsNotice),
		kind + ": a token of counts is noted in 64 characters":   texts(kind, "status.countsToken", false, 64),
		kind + ": a retry token is noted in 256 characters":      texts(kind, "status.lastHandledRetry", false, 256),
		kind + ": what was checked is noted in 256 characters":   texts(kind, "status.checkedFor", false, 256),
	})
}

// languages are BCP 47 tags.
func languages(kind, field string) rule {
	const pattern = "should match '^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$'"
	longest := "en" + strings.Repeat("-abcdefgh", 3) + "-abcde"
	return rule{kind: kind, field: field, valid: []any{"ja", "pt-BR", "zh-Hant-TW", "de-1996", longest, absent{}}, invalid: []refusal{
		{"", pattern},
		{"j", pattern},
		{"ja_JP", pattern},
		{"ja-", pattern},
		{"日本語", pattern},
		{"ja\nen", pattern},
		{longest + "f", "may not be more than 35"},
	}}
}
