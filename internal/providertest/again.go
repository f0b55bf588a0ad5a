// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package providertest

import (
	"strings"
	"testing"

	"github.com/feed-operator/feed-operator/internal/aitest"
	"github.com/feed-operator/feed-operator/internal/failure"
)

func (s Subject[P]) shortensOnce(t *testing.T) {
	for name, test := range map[string]struct {
		answers   []aitest.Answer
		long      bool
		wantType  string
		wantCalls int
	}{
		"and succeed":                   {[]aitest.Answer{s.TooLong}, true, "", 2},
		"and then give up":              {[]aitest.Answer{s.TooLong, s.TooLong}, true, failure.TypeTooLong, 2},
		"but not what is short already": {[]aitest.Answer{s.TooLong}, false, failure.TypeTooLong, 1},
	} {
		server := s.Serve(t)
		server.Next(test.answers...)
		request := Article()
		if test.long {
			request = LongArticle()
		}
		_, err := s.Client(t, server.URL).Generate(t.Context(), request)
		if test.wantType != "" {
			if got := Failed(t, err); got.Type != test.wantType {
				t.Errorf("%s: failure is %s", name, got.Type)
			}
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		calls := server.Calls()
		if len(calls) != test.wantCalls {
			t.Fatalf("%s: %d calls", name, len(calls))
		}
		if len(calls) == 2 && (calls[1].Article() == "" || len(calls[1].Article()) > len(calls[0].Article())/4+1) {
			t.Errorf("%s: the second call has %d bytes of %d", name, len(calls[1].Article()), len(calls[0].Article()))
		}
	}
}

func (s Subject[P]) readsWhatBrokeOff(t *testing.T) {
	const (
		verdict = `{"screening":{"complete":true,"explanation":"Fine.","valuable":true},`
		against = `{"screening":{"complete":true,"explanation":"A ceremony.","valuable":false},"summ`
		long    = `"summary":"The council met on Tuesday and agreed on a new plan. Critics said that it`
		short   = `"summary":"It met. Cri`
	)
	for name, test := range map[string]struct {
		answers   []aitest.Answer
		want      string
		wantType  string
		wantCalls int
	}{
		"a long part is accepted up to its last sentence": {[]aitest.Answer{s.CutOff(verdict + long)},
			"The council met on Tuesday and agreed on a new plan.", "", 1},
		"a verdict against the article needs no summary": {[]aitest.Answer{s.CutOff(against)}, "", "", 1},
		"thoughts that used up the room are given more":  {[]aitest.Answer{s.CutOff(""), s.Summary("All of it.")}, "All of it.", "", 2},
		"a short part is asked for again":                {[]aitest.Answer{s.CutOff(verdict + short), s.Summary("All of it.")}, "All of it.", "", 2},
		"a short part is better than nothing":            {[]aitest.Answer{s.CutOff(verdict + short), s.Overloaded}, "It met.", "", 2},
		"a model without more room has broken off":       {[]aitest.Answer{s.CutOff(verdict), s.NoRoom}, "", failure.TypeTruncated, 2},
		"blanks after all of it are no loss": {[]aitest.Answer{s.CutOff(verdict + `"summary":"All of it"}` + strings.Repeat("\n", 1000))},
			"All of it", "", 1},
		"no more than twice":                            {[]aitest.Answer{s.CutOff(verdict), s.CutOff(verdict)}, "", failure.TypeTruncated, 2},
		"the verdict outlives a second call that fails": {[]aitest.Answer{s.CutOff(verdict), s.Overloaded}, "", failure.TypeOverloaded, 2},
	} {
		server := s.Serve(t)
		server.Next(test.answers...)
		request := Screened()
		request.MaxCharacters = 100
		response, err := s.Client(t, server.URL).Generate(t.Context(), request)
		if test.wantType != "" {
			if got := Failed(t, err); got.Type != test.wantType {
				t.Errorf("%s: failure is %s: %v", name, got.Type, got)
			}
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if response.Summary != test.want || response.Verdict == nil || response.Tokens == 0 {
			t.Errorf("%s: response is %+v", name, response)
		}
		calls := server.Calls()
		if len(calls) != test.wantCalls {
			t.Fatalf("%s: %d calls, want %d", name, len(calls), test.wantCalls)
		}
		if len(calls) == 2 && calls[1].Room <= calls[0].Room {
			t.Errorf("%s: the second call has room for %d tokens", name, calls[1].Room)
		}
	}
}
