// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package pdftext

// confine does nothing where the operator does not run: there the plugin previews what its user asks for. PDFium
// reaches no files and no network there either, and its own memory is bounded.
func confine() error { return nil }
