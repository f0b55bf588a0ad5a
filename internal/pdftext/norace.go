// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package pdftext

import "github.com/tetratelabs/wazero"

const raceDetector = false

// compiler compiles PDFium, and keeps nothing.
func compiler() (wazero.RuntimeConfig, error) { return wazero.NewRuntimeConfigCompiler(), nil }
