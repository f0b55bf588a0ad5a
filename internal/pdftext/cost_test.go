// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pdftext

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

func deflated(t *testing.T, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	writer := zlib.NewWriter(&out)
	if _, err := writer.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// R1.6: each of these documents asks for gigabytes, or for hours. Not parallel: the test looks at what the
// whole process allocates.
func TestDocumentsMadeToHurt(t *testing.T) {
	const font = "5 0 obj<</Type/Font/Subtype/Type1>>endobj"
	bomb := deflated(t, deflated(t, bytes.Repeat([]byte("1 "), 64<<20)))
	stream := func(number int, entries string, body []byte) string {
		return fmt.Sprintf("%d 0 obj<</Length %d %s>>stream\n%s\nendstream endobj", number, len(body), entries, body)
	}
	var branches strings.Builder // each form draws the next one twice
	for i := range 40 {
		branches.WriteString(stream(6+i, fmt.Sprintf("/Subtype/Form/Resources<</XObject<</X %d 0 R>>>>", 7+i), []byte("/X Do /X Do")) + "\n")
	}
	for name, data := range map[string][]byte{
		"a stream in a stream that inflates a millionfold": page("x", font, stream(4, "/Filter[/FlateDecode/FlateDecode]", bomb)),
		"a table for billions of objects":                  append(page("x", font), "xref\n4000000000 1\n0000000000 00000 n \ntrailer<</Size 4000000000/Root 1 0 R>>"...),
		"a stream of billions of objects":                  page("x", font, stream(9, "/Type/ObjStm/N 4000000000/First 4", []byte("1 0 2 0 3 0 <<>>"))),
		"forms that draw each other":                       page("/X Do /X Do", font, branches.String()),
		"a large comment in a form that is drawn often":    page(strings.Repeat("/X Do ", 100_000), font, stream(6, "/Subtype/Form", bytes.Repeat([]byte("%"), 8<<20))),
		"arrays in arrays":                                 page(strings.Repeat("[", 4<<20), font),
		"dictionaries without end":                         page("x", strings.Repeat("<</A<<>>", 1<<20)),
		"an object that is never closed":                   page("x", "9 0 obj"+strings.Repeat("[<<>>", 1<<20)),
		"a string that is never closed":                    page("("+strings.Repeat("(", 8<<20), font),
		"pages that are their own":                         page("x", "2 0 obj<</Kids 8 0 R>>endobj 8 0 obj["+strings.Repeat("<</Kids 8 0 R>>", 100)+"]endobj"),
		"a range of all codes, many times": page("BT /F 1 Tf ("+strings.Repeat("a", 1<<20)+") Tj",
			"5 0 obj<</Subtype/Type0/ToUnicode 7 0 R>>endobj", stream(7, "", []byte("1 beginbfrange "+strings.Repeat("<00000000><ffffffff><0041>", 100_000)+" endbfrange"))),
		"a font with many differences, chosen again and again": page(strings.Repeat("/F 1 Tf ", 100_000),
			"3 0 obj<</Type/Page/Contents 4 0 R/Resources<</Font<</F<</Encoding<</Differences["+strings.Repeat("/a ", 100_000)+"]>>>>>>>>>>endobj"),
		"a line of very many pieces": page("BT /F 1 Tf "+strings.Repeat("(a)Tj ", 400_000), font),
		"very many lines":            page("BT /F 1 Tf "+strings.Repeat("(a-)Tj 0 -2 Td ", 200_000), font),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _ = Read(t.Context(), data)
			runtime.ReadMemStats(&after)
			if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > 450*inflation {
				t.Errorf("allocated %d MiB for a document of %d KiB", allocated, len(data)>>10)
			}
		})
	}
}
