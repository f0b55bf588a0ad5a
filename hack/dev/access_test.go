// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatTheEnvironmentLetsItUse(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		variables map[string]string
		want      access
		wantErr   string
	}{
		"nothing": {},
		"a key": {
			variables: map[string]string{"GEMINI_API_KEY": "key-1", "GEMINI_MODEL": "gemini-2.5-pro"},
			want:      access{gemini: &serviceAccess{key: "key-1", model: "gemini-2.5-pro"}},
		},
		"an account": {
			variables: map[string]string{"MASTODON_SERVER": "https://mastodon.example/", "MASTODON_ACCESS_TOKEN": "token-1"},
			want:      access{mastodon: &mastodonAccess{server: "https://mastodon.example", token: "token-1"}},
		},
		"everything": {
			variables: map[string]string{
				"OPENAI_API_KEY": "key-1", "OPENAI_MODEL": "gpt-5", "ANTHROPIC_API_KEY": "key-2", "ANTHROPIC_ENDPOINT": "https://claude.example/",
				"MASTODON_SERVER": "https://mastodon.example/", "MASTODON_ACCESS_TOKEN": "token-1",
			},
			want: access{
				openAI: &serviceAccess{key: "key-1", model: "gpt-5"}, anthropic: &serviceAccess{key: "key-2", endpoint: "https://claude.example"},
				mastodon: &mastodonAccess{server: "https://mastodon.example", token: "token-1"},
			},
		},
		"servers on this machine": {
			variables: map[string]string{
				"GEMINI_API_KEY": "key-1", "GEMINI_ENDPOINT": "http://localhost:9000",
				"MASTODON_SERVER": "https://mastodon.example", "MASTODON_ACCESS_TOKEN": "token-1",
			},
			want: access{
				gemini:   &serviceAccess{key: "key-1", endpoint: "http://localhost:9000"},
				mastodon: &mastodonAccess{server: "https://mastodon.example", token: "token-1"},
			},
		},
		"a server of one's own that speaks OpenAI's API": {
			variables: map[string]string{
				"OPENAI_API_KEY": "none", "OPENAI_ENDPOINT": "http://localhost:11434/v1", "ANTHROPIC_API_KEY": "key-2",
				"MASTODON_SERVER": "https://mastodon.example/", "MASTODON_ACCESS_TOKEN": "token-1",
			},
			want: access{
				openAI: &serviceAccess{key: "none", endpoint: "http://localhost:11434/v1"}, anthropic: &serviceAccess{key: "key-2"},
				mastodon: &mastodonAccess{server: "https://mastodon.example", token: "token-1"},
			},
		},
		"a server without a token": {
			variables: map[string]string{"MASTODON_SERVER": "https://mastodon.example"},
			wantErr:   "MASTODON_SERVER is set, but MASTODON_ACCESS_TOKEN is not",
		},
		"a token without a server": {
			variables: map[string]string{"MASTODON_ACCESS_TOKEN": "token-1"},
			wantErr:   "MASTODON_ACCESS_TOKEN is set, but MASTODON_SERVER is not",
		},
		"a server that is no URL": {
			variables: map[string]string{"MASTODON_SERVER": "mastodon.example", "MASTODON_ACCESS_TOKEN": "token-1"},
			wantErr:   "must be a URL",
		},
		"a server with a password": {
			variables: map[string]string{"MASTODON_SERVER": "https://me:secret-1@mastodon.example", "MASTODON_ACCESS_TOKEN": "token-1"},
			wantErr:   "without a name or a password",
		},
		"a token that all could read on its way": {
			variables: map[string]string{"MASTODON_SERVER": "http://mastodon.example", "MASTODON_ACCESS_TOKEN": "token-1"},
			wantErr:   "must begin with https://",
		},
		"a key for OpenAI that all could read on its way": {
			variables: map[string]string{"OPENAI_API_KEY": "key-1", "OPENAI_ENDPOINT": "http://ollama.example:11434/v1"},
			wantErr:   "OPENAI_ENDPOINT must begin with https://",
		},
		"a key that all could read on its way": {
			variables: map[string]string{"GEMINI_API_KEY": "key-1", "GEMINI_ENDPOINT": "http://gemini.example"},
			wantErr:   "GEMINI_ENDPOINT must begin with https://",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := readAccess(test.variables)
			if test.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantErr) {
					t.Fatalf("got %v, want %q", err, test.wantErr)
				}
				for _, secret := range []string{"token-1", "key-1", "secret-1"} { // R5.6
					if strings.Contains(err.Error(), secret) {
						t.Errorf("the error holds a secret: %v", err)
					}
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(access{}, serviceAccess{}, mastodonAccess{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// R5.6: no process that is started from here inherits a key.
func TestTheEnvironmentKeepsNoSecret(t *testing.T) {
	for _, name := range accessVariables {
		t.Setenv(name, " value of "+name+"\n")
	}
	taken := takeEnvironment()
	for _, name := range accessVariables {
		if left, there := os.LookupEnv(name); there {
			t.Errorf("%s is still %q", name, left)
		}
		if taken[name] != "value of "+name {
			t.Errorf("%s was %q", name, taken[name])
		}
	}
}
