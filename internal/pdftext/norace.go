// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package pdftext

const raceDetector = false
