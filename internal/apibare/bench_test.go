// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apibare

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// BenchmarkAList reads a list of 200 items of 4 KB.
func BenchmarkAList(b *testing.B) {
	text := strings.Repeat("What it says. ", 80)
	var list strings.Builder
	list.WriteString(`{"metadata":{"resourceVersion":"1"},"items":[`)
	for i := range 200 {
		if i > 0 {
			list.WriteString(",")
		}
		fmt.Fprintf(&list, `{"kind":"FeedItem","metadata":{"name":"%d","labels":{"source":"news"},"annotations":{}},"spec":{"title":"A title","content":%q,"sourceRef":{"name":"a"}},`+
			`"status":{"history":[%s{}],"summary":{"text":%q}}}`, i, text, strings.Repeat(`{"stage":"Deliver","time":"2026-01-01T00:00:00Z","attempt":1},`, 20), text)
	}
	list.WriteString("]}")
	b.SetBytes(int64(list.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := io.Copy(io.Discard, newAnswer(io.NopCloser(strings.NewReader(list.String())), ofAll)); err != nil {
			b.Fatal(err)
		}
	}
}
