// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// memory of a process, in bytes.
type memory struct {
	resident, peak int64
}

// memoryOfChild reads what Linux says of the process of that name that this one has started.
func memoryOfChild(name string) (memory, error) {
	dir, err := findChild(name)
	if err != nil {
		return memory{}, err
	}
	return memoryOf(dir, "VmRSS", "VmHWM")
}

// memoryOfReader reads how much memory the process has that a child of that name has started to read PDF documents, beside
// its program, which the child has in memory too.
func memoryOfReader(name string) (memory, error) {
	parent, err := findChild(name)
	if err != nil {
		return memory{}, err
	}
	dir, err := findProcess(name, filepath.Base(parent))
	if err != nil {
		return memory{}, err
	}
	read, err := memoryOf(dir, "RssAnon", "VmHWM")
	if err != nil {
		return memory{}, err
	}
	shared, err := memoryOf(dir, "RssFile", "VmHWM")
	read.peak -= shared.resident
	return read, err
}

// memoryOf reads two fields of the status of a process.
func memoryOf(dir, resident, peak string) (m memory, _ error) {
	facts, err := readStatus(dir)
	if err != nil {
		return memory{}, err
	}
	for field, into := range map[string]*int64{resident: &m.resident, peak: &m.peak} {
		kilobytes, err := strconv.ParseInt(strings.TrimSuffix(facts[field], " kB"), 10, 64)
		if err != nil {
			return memory{}, fmt.Errorf("%s in %s: %w", field, dir, err)
		}
		*into = kilobytes << 10
	}
	return m, nil
}

// cpuOfChild reads how long the process of that name that this one has started has used a core.
func cpuOfChild(name string) (time.Duration, error) {
	dir, err := findChild(name)
	if err != nil {
		return 0, err
	}
	return ticks(dir), nil
}

// cpuTime is how long this process and the API server with its storage have used a core.
type cpuTime struct {
	self, server time.Duration
}

// cpuUsed reads the CPU time used so far. It is zero where there is no /proc.
func cpuUsed() cpuTime {
	used := cpuTime{self: ticks("/proc/self")}
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if dir, err := findChild(name); err == nil {
			used.server += ticks(dir)
		}
	}
	return used
}

func (c cpuTime) since(before cpuTime) cpuTime {
	return cpuTime{self: c.self - before.self, server: c.server - before.server}
}

// longestName is how much of a program's name Linux keeps.
const longestName = 15

// findChild returns the folder in /proc of a process that this one has started.
func findChild(name string) (string, error) { return findProcess(name, strconv.Itoa(os.Getpid())) }

// findProcess returns the folder in /proc of a process that another one has started.
func findProcess(name, parent string) (string, error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return "", err
	}
	for _, dir := range dirs {
		facts, err := readStatus(dir)
		if err != nil {
			continue // it has ended meanwhile
		}
		if facts["Name"] == name[:min(len(name), longestName)] && facts["PPid"] == parent {
			return dir, nil
		}
	}
	return "", fmt.Errorf("%s does not run", name)
}

// readStatus reads the lines of a process's status, such as "VmRSS:  1234 kB" (see proc(5)).
func readStatus(dir string) (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "status")) //nolint:gosec // a folder of /proc
	facts := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, found := strings.Cut(line, ":"); found {
			facts[name] = strings.TrimSpace(value)
		}
	}
	return facts, err
}

// ticks reads the CPU time of a process: the 14th and 15th field of its stat, in hundredths of a
// second (see proc(5)). The second field, in parentheses, is its name.
func ticks(dir string) time.Duration {
	text, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text)[strings.LastIndex(string(text), ")")+1:])
	if len(fields) < 13 {
		return 0
	}
	var sum time.Duration
	for _, field := range fields[11:13] {
		count, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0
		}
		sum += time.Duration(count) * 10 * time.Millisecond
	}
	return sum
}
