// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pdftext

import (
	"os"
	"testing"
)

// hastily is the command line of the process that has little time for a document.
const hastily = "read-pdf-hastily"

// The program of the tests is also the process that reads documents, and one that does so badly.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == badly {
		os.Exit(serve(os.Stdin, os.Stdout, confine, func() (reader, error) { return obey, nil }))
	}
	if len(os.Args) == 2 && os.Args[1] == hastily {
		os.Exit(serve(os.Stdin, os.Stdout, confine, newHastyReader))
	}
	Main()
	os.Exit(m.Run())
}
