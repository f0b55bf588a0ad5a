// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"

	uberzap "go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// unsampled has a logger write every line: of lines with the same message, controller-runtime would
// leave out most that come more often than 100 times a second, as those of the stream do when many
// items are worked on. It does so unless the level is a low one; so it is given a low one, and the
// level that is wanted is set above that.
func unsampled(options zap.Options) zap.Options {
	const low = zapcore.Level(-2)
	if options.Development {
		return options
	}
	wanted := options.Level
	if wanted == nil {
		wanted = zapcore.InfoLevel
	}
	if !wanted.Enabled(low) {
		options.Level = low
		options.ZapOpts = append(slices.Clone(options.ZapOpts), uberzap.IncreaseLevel(wanted))
	}
	return options
}
