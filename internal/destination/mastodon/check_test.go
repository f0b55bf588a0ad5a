// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mastodon

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

func TestChecks(t *testing.T) { // R4.1, R4.4
	t.Parallel()
	tests := map[string]struct {
		options mastodontest.Options
		want    destination.Account
	}{
		"Mastodon": {
			mastodontest.Options{},
			destination.Account{Limits: destination.Limits{MaxCharacters: 500, CharactersPerURL: 23}, Software: "Mastodon 4.4.0", HonoursKeys: true},
		},
		"a fork of Mastodon": {
			mastodontest.Options{Version: "4.4.0-alpha.1+glitch", MaxCharacters: 1000},
			destination.Account{Limits: destination.Limits{MaxCharacters: 1000, CharactersPerURL: 23}, Software: "Mastodon 4.4.0-alpha.1+glitch", HonoursKeys: true},
		},
		"GoToSocial": {
			mastodontest.Options{Version: mastodontest.GoToSocial, MaxCharacters: 5000, CharactersPerURL: 25},
			destination.Account{Limits: destination.Limits{MaxCharacters: 5000, CharactersPerURL: 25}, Software: mastodontest.GoToSocial},
		},
		"GoToSocial that does not say so": {
			mastodontest.Options{Version: "0.19.1+git-8b0e1a9"},
			destination.Account{Limits: destination.Limits{MaxCharacters: 500, CharactersPerURL: 23}, Software: "0.19.1+git-8b0e1a9"},
		},
		"Pixelfed": {
			mastodontest.Options{Version: mastodontest.Pixelfed},
			destination.Account{Limits: destination.Limits{MaxCharacters: 500, CharactersPerURL: 23}, Software: mastodontest.Pixelfed},
		},
		"snac": {
			mastodontest.Options{Version: "4.0.0 (not true; snac 2.70)"},
			destination.Account{Limits: destination.Limits{MaxCharacters: 500, CharactersPerURL: 23}, Software: "4.0.0 (not true; snac 2.70)"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newServer(t, test.options)
			got, err := newClient(t, server.URL).Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			test.want.Handle = "@feeds@" + strings.TrimPrefix(server.URL, "http://")
			test.want.URL = server.URL + "/@feeds"
			test.want.CanRead = true
			if diff := cmp.Diff(test.want, got, withoutImageLimits); diff != "" {
				t.Errorf("account (-want +got):\n%s", diff)
			}
		})
	}
}

// withoutImageLimits leaves out what TestLimitsOfImages is about.
var withoutImageLimits = cmpopts.IgnoreFields(destination.Limits{}, "MaxImageBytes", "ImageTypes", "MaxDescription")

// A token that may only write is not a wrong one.
func TestChecksATokenThatMayOnlyWrite(t *testing.T) {
	t.Parallel()
	server := newServerOf(t, mastodontest.Options{Token: token})
	got, err := newClient(t, server.URL).Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := destination.Account{
		CannotRead: onlyWrites, Limits: destination.Limits{MaxCharacters: 500, CharactersPerURL: 23},
		Software: "Mastodon 4.4.0", HonoursKeys: true,
	}
	if diff := cmp.Diff(want, got, withoutImageLimits); diff != "" {
		t.Errorf("account (-want +got):\n%s", diff)
	}
}

func TestChecksATokenThatReadsNoStatuses(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/accounts/verify_credentials":
			_, _ = fmt.Fprint(w, `{"id":"7","acct":"feeds","url":"https://social.example/@feeds"}`)
		case "/api/v2/instance":
			_, _ = fmt.Fprint(w, `{"domain":"example.org","version":"4.4.0"}`)
		default:
			answer{403, nil, `{"error":"This action is outside the authorized scopes"}`}.ServeHTTP(w, r)
		}
	})
	got, err := newClient(t, server).Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.CanRead || got.CannotRead == "" || got.Handle != "@feeds@example.org" || got.URL != "https://social.example/@feeds" {
		t.Errorf("got %+v", got)
	}
}

func TestChecksThatFail(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		path   string
		answer answer
		want   outcome
	}{
		"the token is wrong": {
			"verify_credentials", answer{401, nil, `{"error":"The access token is invalid"}`},
			outcome{v1alpha1.CategoryAuth, failure.TypeCredentials, 401, true},
		},
		"the account is disabled": {
			"verify_credentials", answer{403, nil, `{"error":"Your login is currently disabled"}`},
			outcome{v1alpha1.CategoryAuth, failure.TypeCredentials, 403, true},
		},
		"it is no Mastodon server": {
			"verify_credentials", answer{404, nil, `<html>`}, outcome{v1alpha1.CategoryValidation, failure.TypeHTTPStatus, 404, true},
		},
		"it is starting":   {"verify_credentials", answer{200, nil, `<html>`}, outcome{v1alpha1.CategoryAPI, failure.TypeMalformed, 200, false}},
		"it has no id":     {"verify_credentials", answer{200, nil, `{}`}, outcome{v1alpha1.CategoryAPI, failure.TypeMalformed, 200, false}},
		"it is overloaded": {"statuses", answer{503, nil, ``}, outcome{v1alpha1.CategoryAPI, failure.TypeHTTPStatus, 503, false}},
		"it is asked too often about itself": {
			"instance", answer{429, nil, ``}, outcome{v1alpha1.CategoryRateLimit, failure.TypeThrottled, 429, true},
		},
		"it says nothing of itself": {"instance", answer{500, nil, ``}, outcome{v1alpha1.CategoryAPI, failure.TypeHTTPStatus, 500, false}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newServer(t, mastodontest.Options{})
			server.OnRequest(func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.HasSuffix(r.URL.Path, test.path) {
					return false
				}
				test.answer.ServeHTTP(w, r)
				return true
			})
			_, err := newClient(t, server.URL).Check(t.Context())
			wantOutcome(t, err, test.want)
		})
	}
}

func TestLimitsOfTheServer(t *testing.T) { // R4.1
	t.Parallel()
	missing := answer{404, nil, `{"error":"Not found"}`}
	mastodon := destination.Limits{MaxCharacters: 500, CharactersPerURL: 23}
	tests := map[string]struct {
		v2, v1 answer
		want   destination.Limits
	}{
		"only the older page": {
			missing, answer{200, nil, `{"configuration":{"statuses":{"max_characters":1500,"characters_reserved_per_url":30}}}`},
			destination.Limits{MaxCharacters: 1500, CharactersPerURL: 30},
		},
		"Pleroma":              {missing, answer{200, nil, `{"max_toot_chars":5000}`}, destination.Limits{MaxCharacters: 5000, CharactersPerURL: 23}},
		"neither page":         {missing, missing, mastodon},
		"neither says":         {answer{200, nil, `{}`}, missing, mastodon},
		"a page of the web":    {answer{200, nil, `<html>`}, answer{200, nil, `{"max_toot_chars":700}`}, destination.Limits{MaxCharacters: 700, CharactersPerURL: 23}},
		"the newer one breaks": {answer{500, nil, ``}, answer{200, nil, `{"max_toot_chars":700}`}, destination.Limits{MaxCharacters: 700, CharactersPerURL: 23}},
		"limits that cannot be": {
			answer{200, nil, `{"configuration":{"statuses":{"max_characters":-1,"characters_reserved_per_url":99999999999}}}`}, missing, mastodon,
		},
		"limits of other types": {
			answer{200, nil, `{"version":4,"configuration":{"statuses":{"max_characters":800,"characters_reserved_per_url":"many"}}}`}, missing,
			destination.Limits{MaxCharacters: 800, CharactersPerURL: 23},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newServer(t, mastodontest.Options{})
			server.OnRequest(func(w http.ResponseWriter, r *http.Request) bool {
				switch r.URL.Path {
				case "/api/v2/instance":
					test.v2.ServeHTTP(w, r)
				case "/api/v1/instance":
					test.v1.ServeHTTP(w, r)
				default:
					return false
				}
				return true
			})
			got, err := newClient(t, server.URL).Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !cmp.Equal(got.Limits, test.want) {
				t.Errorf("limits are %+v, want %+v", got.Limits, test.want)
			}
		})
	}
}
