// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package extractive

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

// Articles of about 2 KB. Processor time tells more than the time that passes, on a machine that has other work too.
func BenchmarkGenerate(b *testing.B) {
	for _, name := range []string{"en-press-release", "en-blog", "ja-ministry-survey", "ja-blog"} {
		request := readArticle(b, name)
		request.MaxCharacters = 400
		b.Run(fmt.Sprintf("%s/%d bytes", name, len(request.Text)), func(b *testing.B) {
			b.ReportAllocs()
			before := processorTime(b)
			for b.Loop() {
				if _, err := New().Generate(b.Context(), request); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
