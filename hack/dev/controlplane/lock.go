// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// errLocked means that another process holds a lock.
var errLocked = errors.New("locked")

// tryLock takes the lock on a file, or returns errLocked and who holds it. The system gives the
// lock back when this process ends, however it ends.
func tryLock(path string) (unlock func(), holder string, err error) {
	file, err := os.OpenFile(filepath.Clean(path), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, "", err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer file.Close() //nolint:errcheck // nothing was written
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, "", fmt.Errorf("lock %s: %w", path, err)
		}
		text, _ := os.ReadFile(filepath.Clean(path))
		return nil, strings.TrimSpace(string(text)), errLocked
	}
	// Who holds it is for people only.
	_ = file.Truncate(0)
	_, _ = file.WriteAt(fmt.Appendf(nil, "process %d\n", os.Getpid()), 0)
	return func() { _ = file.Close() }, "", nil
}

// acquire takes the lock, and waits for it while another process holds it.
func acquire(ctx context.Context, path string, waiting func(holder string)) (unlock func(), err error) {
	again := time.NewTicker(500 * time.Millisecond)
	defer again.Stop()
	for told := false; ; {
		unlock, holder, err := tryLock(path)
		if !errors.Is(err, errLocked) {
			return unlock, err
		}
		if !told {
			waiting(holder)
			told = true
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-again.C:
		}
	}
}
