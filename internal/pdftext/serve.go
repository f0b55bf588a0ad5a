// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pdftext

import (
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"
)

// reader reads a document, in about so much time at the most. It never fails: the answer says what was wrong.
type reader func(data []byte, timeout time.Duration) answer

// memoryAtWork is above what the collector works harder, in bytes. To open PDFium takes more.
const memoryAtWork = 192 << 20

// serve is the process that reads documents: it takes them from in, and answers to out, until there are no more to
// come. Then its parent has ended, or needs it no more, and it ends at once, whatever it does. It is confined before
// it takes the first one. The result is the exit code.
func serve(in io.Reader, out io.Writer, confine func() error, open func() (reader, error)) int {
	// Who stops the parent from a terminal stops the group of its processes: the parent decides what is still read.
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	documents := make(chan []byte)
	go func() {
		for {
			data, err := readDocument(in)
			if err != nil {
				os.Exit(0)
			}
			documents <- data
		}
	}()
	read, err := open()
	if err != nil {
		return 1
	}
	if err := confine(); err != nil {
		return 1
	}
	debug.SetMemoryLimit(memoryAtWork)
	debug.FreeOSMemory() // what it took to open is many times what is needed from now on
	for data := range documents {
		got := answer{outcome: ready}
		if len(data) > 0 {
			got = read(data, readingTime)
		}
		if err := writeAnswer(out, got); err != nil {
			return 1
		}
		debug.FreeOSMemory()
	}
	return 0
}
