// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package providertest

import "testing"

// Run runs what every provider must hold. It is for R1.7, R2.4, R2.5, R2.6, R1.6, R3.1, R3.3, R3.9 and R5.6.
func (s Subject[P]) Run(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(*testing.T){
		"asks once for verdict and summary":            s.asksOnce,
		"returns a verdict against the article":        s.returnsAVerdictAgainst,
		"returns the verdict beside a missing summary": s.returnsTheVerdictAlone,
		"refuses what cannot be answered":              s.refusesRequests,
		"refuses a configuration that is wrong":        s.refusesConfigurations,
		"takes each name of a model and endpoint":      s.takesNamesAndEndpoints,
		"ends its calls with their context":            s.endsWithTheContext,
		"shares nothing with another":                  s.sharesNothing,
		"tells that a key is wrong":                    s.tellsOfAWrongKey,
		"masks a key that is sent back":                s.masksItsKey,
		"follows no redirects":                         s.followsNoRedirects,
		"keeps the failures of the way out":            s.keepsFailures,
		"shortens an article once":                     s.shortensOnce,
		"makes the best of an answer that broke off":   s.readsWhatBrokeOff,
		"counts tokens within bounds":                  s.countsWithinBounds,
		"sends documents as they are":                  s.sendsDocuments,
		"knows what its API means":                     s.knowsWhatIsMeant,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}
