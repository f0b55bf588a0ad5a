// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package preview_test

import (
	"os"
	"testing"

	"github.com/feed-operator/feed-operator/internal/pdftext"
)

// The program of the tests is also the process that reads PDF documents.
func TestMain(m *testing.M) {
	pdftext.Main()
	os.Exit(m.Run())
}
