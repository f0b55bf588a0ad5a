// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package child

import "syscall"

// attributes asks the kernel to kill the process when this program dies, however it dies.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
