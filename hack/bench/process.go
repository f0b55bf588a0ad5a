// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"time"

	"github.com/prometheus/procfs"
)

// memory of a process, in bytes.
type memory struct {
	resident, peak int64
}

// memoryOf reads what Linux says of a process.
func memoryOf(pid int) (memory, error) {
	status, err := statusOf(pid)
	return memory{resident: int64(status.VmRSS), peak: int64(status.VmHWM)}, err //nolint:gosec // no machine has that much
}

// memoryOfReader reads how much memory the process has that another has started to read PDF documents, beside
// its program, which both have in memory.
func memoryOfReader(name string, parent int) (memory, error) {
	reader, err := findProcess(name, parent)
	if err != nil {
		return memory{}, err
	}
	status, err := statusOf(reader.PID)
	return memory{resident: int64(status.RssAnon), peak: int64(status.VmHWM) - int64(status.RssFile)}, err //nolint:gosec // as above
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

// cpuTime is how long this process and the API server with its storage have used a core.
type cpuTime struct {
	self, server time.Duration
}

// cpuUsed reads the CPU time used so far. It is zero where there is no /proc.
func cpuUsed() (used cpuTime) {
	used.self, _ = cpuOf(os.Getpid())
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if process, err := findProcess(name, os.Getpid()); err == nil {
			of, _ := cpuOf(process.PID)
			used.server += of
		}
	}
	return used
}

func (c cpuTime) since(before cpuTime) cpuTime {
	return cpuTime{self: c.self - before.self, server: c.server - before.server}
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
