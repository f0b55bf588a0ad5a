// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pdftext

import "golang.org/x/sys/unix"

// maxData is how much memory the process may have that it can write to, in bytes, used or not. The collector reserves more than
// it uses. PDFium itself is bounded by maxPDFium.
const maxData = 2 * Memory

// confine takes from the process what it does not need to read documents: to open files and connections, to
// write files, and more memory.
func confine() error {
	limits := map[int]uint64{unix.RLIMIT_NOFILE: 0, unix.RLIMIT_FSIZE: 0, unix.RLIMIT_CORE: 0}
	if !raceDetector { // which reserves terabytes
		limits[unix.RLIMIT_DATA] = maxData
	}
	for resource, limit := range limits {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return err
		}
	}
	return nil
}
