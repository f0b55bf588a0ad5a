// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package anthropic

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/feed-operator/feed-operator/internal/providertest"
)

// TestEnvironmentHasNoEffect: the keys of whoever runs the operator are not those of its users. R5.6
func TestEnvironmentHasNoEffect(t *testing.T) {
	var strayed atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed.Add(1) }))
	t.Cleanup(elsewhere.Close)
	const stray = "stray-0123456789"
	home := t.TempDir()
	for name, text := range map[string]string{
		"active_config":            "stray",
		"configs/stray.json":       `{"version":"1.0","base_url":"` + elsewhere.URL + `","authentication":{"type":"user_oauth"}}`,
		"credentials/stray.json":   `{"type":"user_oauth","access_token":"` + stray + `"}`,
		"configs/default.json":     `{"version":"1.0","base_url":"` + elsewhere.URL + `","authentication":{"type":"user_oauth"}}`,
		"credentials/default.json": `{"type":"user_oauth","access_token":"` + stray + `"}`,
	} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The SDK stops at the first that it finds, so each is tried alone.
	for name, variables := range map[string]map[string]string{
		"a key":              {"ANTHROPIC_API_KEY": stray},
		"a token":            {"ANTHROPIC_AUTH_TOKEN": stray},
		"an address":         {"ANTHROPIC_BASE_URL": elsewhere.URL},
		"headers":            {"ANTHROPIC_CUSTOM_HEADERS": "X-Stray: " + stray},
		"a profile":          {"ANTHROPIC_PROFILE": "stray", "ANTHROPIC_CONFIG_DIR": home},
		"a default profile":  {"ANTHROPIC_CONFIG_DIR": home},
		"proxies":            {"HTTP_PROXY": elsewhere.URL, "HTTPS_PROXY": elsewhere.URL, "NO_PROXY": ""},
		"all that there are": {"ANTHROPIC_API_KEY": stray, "ANTHROPIC_AUTH_TOKEN": stray, "ANTHROPIC_BASE_URL": elsewhere.URL},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("ANTHROPIC_CONFIG_DIR", t.TempDir())
			for name, value := range variables {
				t.Setenv(name, value)
			}
			server := subject.Serve(t)
			p := subject.Client(t, server.URL)
			if _, err := p.Generate(t.Context(), providertest.Article()); err != nil {
				t.Errorf("Generate: %v", err)
			}
			if err := p.Check(t.Context()); err != nil {
				t.Errorf("Check: %v", err)
			}
			calls := server.Calls()
			if len(calls) != 1 || strayed.Load() != 0 {
				t.Fatalf("%d calls, and %d to somebody else", len(calls), strayed.Load())
			}
			for name, values := range calls[0].Header {
				if strings.Contains(strings.Join(values, " "), stray) {
					t.Errorf("header %s is %q", name, values)
				}
			}
		})
	}
	t.Setenv("ANTHROPIC_API_KEY", stray)
	t.Setenv("ANTHROPIC_BASE_URL", elsewhere.URL)
	p, err := New(Config{Model: subject.Model, APIKey: providertest.Key, Transport: providertest.WayOut()})
	if err != nil || p.api.Endpoint.String() != DefaultEndpoint {
		t.Errorf("the default endpoint is %v (%v)", p.api.Endpoint, err)
	}
	// What is not said in the configuration is missing, whatever the environment holds.
	if _, err := New(Config{Model: subject.Model, Endpoint: elsewhere.URL, Transport: providertest.WayOut()}); err == nil {
		t.Error("a provider without a key was made")
	}
}
