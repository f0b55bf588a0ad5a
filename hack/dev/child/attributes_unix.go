// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package child

import "syscall"

// attributes cannot ask for more here: a process whose parent is killed outright stays.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
