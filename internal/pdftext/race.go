// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build race

package pdftext

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/tetratelabs/wazero"
)

const raceDetector = true

// compiler compiles PDFium, and keeps what it has made for the next process. To compile it takes half a minute of a core with the race
// detector, and what comes of that is the same as without: so the processes of all tests would spend minutes on it. No program that
// is in use is built like this.
func compiler() (wazero.RuntimeConfig, error) {
	made, err := wazero.NewCompilationCacheWithDir(filepath.Join(os.TempDir(), fmt.Sprintf("feed-operator-tests-%d", os.Getuid())))
	if err != nil {
		return nil, err
	}
	return wazero.NewRuntimeConfigCompiler().WithCompilationCache(made), nil
}
