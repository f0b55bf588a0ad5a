// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/feed-operator/feed-operator/internal/anthropictest"
	"github.com/feed-operator/feed-operator/internal/openaitest"
)

// The AIProviders of the samples.
const (
	geminiSample = "gemini"
	claudeSample = "claude"
	gptSample    = "gpt"
)

// modelStandIn is an AI service on this machine. It summarizes an article by its beginning, and
// refuses calls in a rhythm.
type modelStandIn struct {
	// name of the AIProvider that it serves.
	name string
	serviceAccess
	close func()
}

// startModels starts stand-ins for the services that the developer has no key for. There is none for
// Gemini: whoever judges articles has to read them.
func startModels(allowed access, now func() time.Time) []*modelStandIn {
	var models []*modelStandIn
	if allowed.anthropic == nil {
		models = append(models, startClaude(now))
	}
	if allowed.openAI == nil {
		models = append(models, startGPT(now))
	}
	return models
}

func startClaude(now func() time.Time) *modelStandIn {
	key := rand.Text()
	server := anthropictest.New(key)
	rhythm := newRhythm(claudeSteps, now)
	server.OnCall(func(anthropictest.Call) (anthropictest.Answer, bool) {
		if taken := rhythm.next(); taken != takes {
			return anthropictest.Throttled(taken.pause), true
		}
		return anthropictest.Answer{}, false
	})
	return &modelStandIn{
		name: claudeSample, serviceAccess: serviceAccess{key: key, endpoint: server.URL}, close: server.Close,
	}
}

func startGPT(now func() time.Time) *modelStandIn {
	key := rand.Text()
	server := openaitest.New(key)
	rhythm := newRhythm(gptSteps, now)
	server.OnCall(func(openaitest.Call) (openaitest.Answer, bool) {
		if rhythm.next() != takes {
			return openaitest.Overloaded(), true
		}
		return openaitest.Answer{}, false
	})
	return &modelStandIn{
		name: gptSample, serviceAccess: serviceAccess{key: key, endpoint: server.URL}, close: server.Close,
	}
}

// services is how each AIProvider of the samples that takes a key is called, nil where it cannot be:
// by the key of the developer, or at a stand-in.
func (w *world) services() map[string]*serviceAccess {
	services := map[string]*serviceAccess{
		geminiSample: w.access.gemini, claudeSample: w.access.anthropic, gptSample: w.access.openAI,
	}
	for _, model := range w.models {
		services[model.name] = &model.serviceAccess
	}
	return services
}

// writers say who summarizes.
func (w *world) writers() string {
	var local, remote, said []string
	for _, name := range []string{claudeSample, gptSample} {
		if slices.ContainsFunc(w.models, func(model *modelStandIn) bool { return model.name == name }) {
			local = append(local, name)
		} else {
			remote = append(remote, name)
		}
	}
	if len(local) > 0 {
		said = append(said, fmt.Sprintf("%s on this machine: %s the beginning of an article, and refuse%s many calls, "+
			"so that you can watch others take over.", are(local, "a stand-in", "stand-ins"),
			plural(local, "it copies", "they copy"), plural(local, "s", "")))
	}
	if len(remote) > 0 {
		said = append(said, are(remote, "the real service, with your key.", "the real services, with your keys."))
	}
	return strings.Join(said, "\n")
}

func are(names []string, one, many string) string {
	return "The " + plural(names, "AIProvider ", "AIProviders ") + strings.Join(names, " and ") + plural(names, " is "+one, " are "+many)
}

func plural(names []string, one, many string) string {
	if len(names) == 1 {
		return one
	}
	return many
}
