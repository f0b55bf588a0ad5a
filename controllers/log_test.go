// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"sync"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

// givenUp are the items of which the operator has said that what it knows of them is not taken now. Before it says so it tries for some
// seconds of the machine's time, and in those the clock of a test must not jump: the time that a call may take is written with what is tried.
type givenUp struct {
	mu    sync.Mutex
	items map[string]bool
}

// has says whether something was given up of an item, by its name.
func (g *givenUp) has(item string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.items[item]
}

// logger listens to what a manager logs, and hands it on.
func (g *givenUp) logger() logr.Logger {
	return logr.New(listener{LogSink: ctrl.Log.GetSink(), heard: g})
}

// listener is the log of one object, or of all.
type listener struct {
	logr.LogSink
	heard *givenUp
	item  string
}

func (l listener) Enabled(level int) bool { return level <= 1 || l.LogSink.Enabled(level) }

func (l listener) Info(level int, message string, keysAndValues ...any) {
	if message == "Kept a result in memory until the API server accepts it" || message == "Postponed while the API server refuses writes" {
		l.hear()
	}
	if l.LogSink.Enabled(level) {
		l.LogSink.Info(level, message, keysAndValues...)
	}
}

func (l listener) Error(err error, message string, keysAndValues ...any) {
	l.hear()
	l.LogSink.Error(err, message, keysAndValues...)
}

func (l listener) hear() {
	l.heard.mu.Lock()
	defer l.heard.mu.Unlock()
	if l.heard.items == nil {
		l.heard.items = map[string]bool{}
	}
	l.heard.items[l.item] = true
}

func (l listener) WithValues(keysAndValues ...any) logr.LogSink {
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		if name, is := keysAndValues[i+1].(string); is && keysAndValues[i] == "name" {
			l.item = name
		}
	}
	l.LogSink = l.LogSink.WithValues(keysAndValues...)
	return l
}

func (l listener) WithName(name string) logr.LogSink {
	l.LogSink = l.LogSink.WithName(name)
	return l
}
