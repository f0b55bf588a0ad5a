// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crd carries the CustomResourceDefinitions of this version in the programs that are built with it.
package crd

import "embed"

// Bases are the files of the folder bases, as `make generate` writes them: one CustomResourceDefinition each.
//
//go:embed bases/*.yaml
var Bases embed.FS
