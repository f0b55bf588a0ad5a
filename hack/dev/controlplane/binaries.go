// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// The programs of the control plane, by their file names.
const (
	etcd              = "etcd"
	apiServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
	kubectl           = "kubectl"
)

var programs = []string{etcd, apiServer, controllerManager, kubectl}

// Origin is where programs may be taken from.
type Origin int

const (
	// Anywhere takes official releases where they can be downloaded, and else builds.
	Anywhere Origin = iota
	// ModulesOnly builds from the Go module proxy without asking for releases.
	ModulesOnly
)

// Binaries is a folder that holds all programs of one version.
type Binaries struct {
	// Dir is the absolute path of the folder: what envtest wants in KUBEBUILDER_ASSETS.
	Dir string
}

// Kubectl returns the path of the kubectl that fits.
func (b Binaries) Kubectl() string { return b.path(kubectl) }

func (b Binaries) path(program string) string { return filepath.Join(b.Dir, program) }

// Ensure makes sure that etcd, kube-apiserver, kube-controller-manager and kubectl are in a folder
// below parent that is named for their version and this platform. What is missing is downloaded
// from the official releases, its checksum verified, or else built from the Go modules that the
// module in the folder `module` pins. Each file appears whole or not at all, and two that run at
// the same time do the work once. Progress is for a person.
func Ensure(ctx context.Context, module, parent string, origin Origin, progress io.Writer) (Binaries, error) {
	versions, err := ReadVersions(module)
	if err != nil {
		return Binaries{}, err
	}
	dir, err := filepath.Abs(filepath.Join(parent, versions.Kubernetes+"-"+runtime.GOOS+"-"+runtime.GOARCH))
	if err != nil {
		return Binaries{}, err
	}
	binaries := Binaries{Dir: dir}
	if len(binaries.missing()) == 0 {
		return binaries, nil
	}

	if err := os.MkdirAll(dir, 0o750); err != nil {
		return Binaries{}, fmt.Errorf("make the folder of the control plane: %w", err)
	}
	unlock, err := acquire(ctx, filepath.Join(dir, ".lock"), func(holder string) {
		_, _ = fmt.Fprintf(progress, "Waiting for another process (%s) that is fetching the control plane.\n", holder)
	})
	if err != nil {
		return Binaries{}, err
	}
	defer unlock()
	if len(binaries.missing()) == 0 {
		return binaries, nil
	}

	i := installation{
		binaries: binaries, versions: versions, module: module, progress: progress,
		releases: publicReleases(),
	}
	if err := i.complete(ctx, origin); err != nil {
		return Binaries{}, fmt.Errorf("get the control plane: %w", err)
	}
	return binaries, nil
}

// missing lists the programs that are not there yet. A file that is there is whole, because it was
// renamed into place.
func (b Binaries) missing() []string {
	var missing []string
	for _, program := range programs {
		if file, err := os.Stat(b.path(program)); err != nil || file.Mode()&0o100 == 0 {
			missing = append(missing, program)
		}
	}
	return missing
}

// installation is the work of getting what is missing.
type installation struct {
	binaries Binaries
	versions Versions
	module   string
	progress io.Writer
	releases releases
}

func (i installation) complete(ctx context.Context, origin Origin) error {
	// What an interrupted run left behind; nobody else is at it while we hold the lock.
	leftovers, _ := filepath.Glob(filepath.Join(i.binaries.Dir, ".partial-*"))
	for _, leftover := range leftovers {
		_ = os.RemoveAll(leftover)
	}
	partial, err := os.MkdirTemp(i.binaries.Dir, ".partial-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(partial) //nolint:errcheck // the next run removes it

	if origin == Anywhere {
		if err := i.download(ctx, partial); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			i.say("Official releases cannot be had here (%v).", err)
		}
	}
	return i.build(ctx, partial)
}

func (i installation) download(ctx context.Context, partial string) error {
	if !i.releases.offered() {
		return fmt.Errorf("there are none for %s", i.releases.platform)
	}
	for _, program := range i.binaries.missing() {
		start := time.Now()
		file := filepath.Join(partial, program)
		if err := i.releases.fetch(ctx, program, i.versions, file); err != nil {
			return err
		}
		if err := i.place(file, program, "released"); err != nil {
			return err
		}
		i.say("Downloaded %s in %s, checksum verified.", program, elapsed(start))
	}
	return nil
}

// place moves a finished file to where it belongs.
func (i installation) place(file, program, origin string) error {
	if err := os.Chmod(file, 0o755); err != nil { //nolint:gosec // a program is executable
		return err
	}
	if err := os.Rename(file, i.binaries.path(program)); err != nil {
		return err
	}
	note, err := os.OpenFile(i.binaries.path(".source"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(note, "%s %s\n", program, origin)
	return errors.Join(err, note.Close())
}

func (i installation) say(format string, values ...any) {
	_, _ = fmt.Fprintf(i.progress, format+"\n", values...)
}

func elapsed(since time.Time) time.Duration { return time.Since(since).Round(time.Second) }
