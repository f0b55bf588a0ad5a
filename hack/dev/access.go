// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
)

// access is what the developer lets `dev run` use in place of what is on this machine. Its secrets
// are kept in memory and in Secrets of the local cluster, and are never printed.
type access struct {
	gemini    *serviceAccess
	openAI    *serviceAccess
	anthropic *serviceAccess
	mastodon  *mastodonAccess
}

// serviceAccess is the key of an AI service.
type serviceAccess struct {
	key string
	// model and endpoint are empty for those of the sample.
	model, endpoint string
}

type mastodonAccess struct {
	server, token string
}

// accessVariables are where the developer puts it.
var accessVariables = []string{
	"GEMINI_API_KEY", "GEMINI_MODEL", "GEMINI_ENDPOINT",
	"OPENAI_API_KEY", "OPENAI_MODEL", "OPENAI_ENDPOINT",
	"ANTHROPIC_API_KEY", "ANTHROPIC_MODEL", "ANTHROPIC_ENDPOINT",
	"MASTODON_SERVER", "MASTODON_ACCESS_TOKEN",
}

// takeEnvironment returns the variables and removes them, so that no process that is started from
// here inherits a secret.
func takeEnvironment() map[string]string {
	taken := map[string]string{}
	for _, name := range accessVariables {
		taken[name] = strings.TrimSpace(os.Getenv(name))
		_ = os.Unsetenv(name)
	}
	return taken
}

// readAccess makes sense of the variables. Its errors name them, and never hold a value.
func readAccess(variables map[string]string) (access, error) {
	var a access
	for prefix, service := range map[string]**serviceAccess{"GEMINI": &a.gemini, "OPENAI": &a.openAI, "ANTHROPIC": &a.anthropic} {
		key := variables[prefix+"_API_KEY"]
		if key == "" {
			continue
		}
		endpoint, err := serverURL(prefix+"_ENDPOINT", variables[prefix+"_ENDPOINT"])
		if err != nil {
			return access{}, err
		}
		*service = &serviceAccess{key: key, model: variables[prefix+"_MODEL"], endpoint: endpoint}
	}
	server, token := variables["MASTODON_SERVER"], variables["MASTODON_ACCESS_TOKEN"]
	switch {
	case server == "" && token == "":
		return a, nil
	case server == "" || token == "":
		set, unset := "MASTODON_SERVER", "MASTODON_ACCESS_TOKEN"
		if server == "" {
			set, unset = unset, set
		}
		return access{}, fmt.Errorf("%s is set, but %s is not: set both to post to your account, or neither to post to a stand-in on this machine", set, unset)
	}
	server, err := serverURL("MASTODON_SERVER", server)
	if err != nil {
		return access{}, err
	}
	a.mastodon = &mastodonAccess{server: server, token: token}
	return a, nil
}

// serverURL checks where a secret is to be sent to: by https, or to this machine.
func serverURL(variable, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	server, err := url.Parse(text)
	if err != nil || server.Hostname() == "" || server.User != nil {
		return "", errors.New(variable + " must be a URL such as https://mastodon.example, without a name or a password in it")
	}
	if server.Scheme != "https" && !plainOnThisMachine(text) {
		return "", errors.New(variable + " must begin with https://, or nobody could keep the key secret on its way; http:// is for this machine only")
	}
	return strings.TrimSuffix(text, "/"), nil
}

// plainOnThisMachine reports whether a server is reached without encryption, which is allowed where
// nothing leaves the machine.
func plainOnThisMachine(text string) bool {
	server, err := url.Parse(text)
	if err != nil || server.Scheme != "http" {
		return false
	}
	address := net.ParseIP(server.Hostname())
	return server.Hostname() == "localhost" || address != nil && address.IsLoopback()
}

// managerFlags are what the operator has to be allowed so that it reaches what is on this machine: the
// sample feeds, and the stand-ins by plain http. There is one for webhooks always.
var managerFlags = []string{"--allow-cidr=127.0.0.1/32", "--allow-http"}
