// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"strings"
	"sync"
	"testing"
	"time"
)

// stalled is for how long nothing moves until a test does what OnStall was given: much longer than anything takes that goes well.
const stalled = 50 * time.Second

var onStall sync.Map // of func(), by the name of the test

// OnStall has Eventually do something in a test, and in its subtests, each time that nothing has moved for a while: such as letting the
// test's clock pass. What comes of a race that goes the other way once in a hundred runs may be due a minute later; that is no failure,
// and the log of the test says that it was so.
func OnStall(t *testing.T, do func()) {
	t.Helper()
	onStall.Store(t.Name(), do)
	t.Cleanup(func() { onStall.Delete(t.Name()) })
}

// stall is what OnStall was given for a test or the one that it is part of.
func stall(t *testing.T) {
	t.Helper()
	for name := t.Name(); ; {
		if do, found := onStall.Load(name); found {
			do.(func())()
			return
		}
		cut := strings.LastIndexByte(name, '/')
		if cut < 0 {
			return
		}
		name = name[:cut]
	}
}
