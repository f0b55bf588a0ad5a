// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime/pprof"
	"time"
)

// Profile begins a profile of this process, if profiles were asked for. The returned function ends it.
func (p *Plane) Profile(name string) (end func(), err error) {
	if p.options.Profiles == "" {
		return func() {}, nil
	}
	file, err := createProfile(p.options.Profiles, name)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		complain(file, file.Close())
	}, nil
}

// Profile begins a profile of the process, if that was asked for, over a window. The returned function waits for its end.
func (m *Manager) Profile(ctx context.Context, name string, window time.Duration) (end func(), err error) {
	if m.folder == "" {
		return func() {}, nil
	}
	file, err := createProfile(m.folder, name)
	if err != nil {
		return nil, err
	}
	url := fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", m.profiles, int(window.Seconds()))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	done := make(chan error, 1)
	go func() {
		response, err := (&http.Client{}).Do(request)
		if err == nil {
			_, err = io.Copy(file, response.Body)
			err = errors.Join(err, response.Body.Close())
		}
		done <- errors.Join(err, file.Close())
	}()
	return func() { complain(file, <-done) }, nil
}

// createProfile creates the file of a profile.
func createProfile(folder, name string) (*os.File, error) {
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return nil, err
	}
	return os.Create(filepath.Join(folder, name+".cpu.pprof"))
}

// complain tells a person of a profile that could not be written.
func complain(file *os.File, err error) {
	if err != nil {
		Progress("The profile %s is not whole: %v", file.Name(), err)
	}
}
