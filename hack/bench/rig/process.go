// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"fmt"
	"os"
	"time"

	"github.com/prometheus/procfs"
)

// Memory of a process, in bytes.
type Memory struct {
	Resident, Peak int64
}

// memoryOf reads what Linux says of a process.
func memoryOf(pid int) (Memory, error) {
	status, err := statusOf(pid)
	return Memory{Resident: int64(status.VmRSS), Peak: int64(status.VmHWM)}, err //nolint:gosec // no machine has that much
}

// memoryOfReader reads how much memory the process has that another has started to read PDF documents, beside
// its program, which both have in memory.
func memoryOfReader(name string, parent int) (Memory, error) {
	reader, err := findProcess(name, parent)
	if err != nil {
		return Memory{}, err
	}
	status, err := statusOf(reader.PID)
	return Memory{Resident: int64(status.RssAnon), Peak: int64(status.VmHWM) - int64(status.RssFile)}, err //nolint:gosec // as above
}

func statusOf(pid int) (procfs.ProcStatus, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return procfs.ProcStatus{}, err
	}
	return process.NewStatus()
}

// cpuOf reads how long a process has used a core.
func cpuOf(pid int) (time.Duration, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	stat, err := process.Stat()
	return time.Duration(stat.CPUTime() * float64(time.Second)), err
}

// CPUTime is how long this process and the API server with its storage have used a core.
type CPUTime struct {
	Self, Server time.Duration
}

// CPUUsed reads the CPU time used so far. It is zero where there is no /proc.
func CPUUsed() (used CPUTime) {
	used.Self, _ = cpuOf(os.Getpid())
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if process, err := findProcess(name, os.Getpid()); err == nil {
			of, _ := cpuOf(process.PID)
			used.Server += of
		}
	}
	return used
}

// Since returns what was used after an earlier reading.
func (c CPUTime) Since(before CPUTime) CPUTime {
	return CPUTime{Self: c.Self - before.Self, Server: c.Server - before.Server}
}

// longestName is how much of a program's name Linux keeps.
const longestName = 15

// findProcess returns a process that another one has started.
func findProcess(name string, parent int) (procfs.Proc, error) {
	all, err := procfs.AllProcs()
	if err != nil {
		return procfs.Proc{}, err
	}
	for _, process := range all {
		stat, err := process.Stat()
		if err == nil && stat.Comm == name[:min(len(name), longestName)] && stat.PPID == parent { // else it has ended meanwhile
			return process, nil
		}
	}
	return procfs.Proc{}, fmt.Errorf("%s does not run", name)
}
