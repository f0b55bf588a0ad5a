// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package apiclock

import "time"

func sinceBoot() func() time.Duration { return monotonic() }
