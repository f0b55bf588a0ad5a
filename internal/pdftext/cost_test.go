// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pdftext

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/internal/pdftest"
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

// peakOf is how much memory a process has had at the most, in bytes, beside that of its program, which its parent has too.
func peakOf(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0 // it has ended
	}
	field := func(name string) int64 {
		_, rest, _ := strings.Cut(string(status), name)
		kilobytes, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
		count, err := strconv.ParseInt(kilobytes, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return count << 10
	}
	return field("VmHWM:") - field("RssFile:")
}

// next is the text of a document that is read after one made to hurt.
const next = "The next one is read."

// newHastyReader gives documents made to hurt little time, so that the test takes little, and others as much as usual.
func newHastyReader() (reader, error) {
	read, err := newPDFium()
	return func(data []byte, usually time.Duration) answer {
		if bytes.Contains(data, fmt.Appendf(nil, "<%x>", next)) {
			return read(data, usually)
		}
		return read(data, time.Second)
	}, err
}

// R1.6: each of these documents asks for gigabytes, or for hours. The process that reads them stays within its memory, and
// reads the next one.
func TestDocumentsMadeToHurt(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" || raceDetector {
		t.Skip("the memory of a process is looked up in /proc, and the race detector takes many times as much")
	}
	var child *exec.Cmd
	p := run(t, func() (_ *exec.Cmd, err error) {
		child, err = itself()
		child.Args[1] = hastily
		return child, err
	}, usual)
	good := pdftest.Write(pdftest.Options{}, []string{next})
	const font = "5 0 obj<</Type/Font/Subtype/Type1>>endobj"
	bomb := deflated(t, deflated(t, bytes.Repeat([]byte("1 "), 64<<20)))
	stream := func(number int, entries string, body []byte) string {
		return fmt.Sprintf("%d 0 obj<</Length %d %s>>stream\n%s\nendstream endobj", number, len(body), entries, body)
	}
	var branches strings.Builder // each form draws the next one twice
	for i := range 40 {
		branches.WriteString(stream(6+i, fmt.Sprintf("/Subtype/Form/Resources<</XObject<</X %d 0 R>>>>", 7+i), []byte("/X Do /X Do")) + "\n")
	}
	flate := func(number int, entries, body string) string {
		return stream(number, "/Filter/FlateDecode"+entries, deflated(t, []byte(body)))
	}
	// So many pages share their content, which is object 5, and their resources.
	pages := func(contents string, more ...string) []byte {
		return page("x", "2 0 obj<</Kids["+strings.Repeat("<</Contents 5 0 R>>", maxPages)+"]>>endobj 5 0 obj["+contents+"]endobj", strings.Join(more, "\n"))
	}
	var fonts, described, choices, overlaps strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&fonts, "/F%d %d 0 R", i, 100+i)
		fmt.Fprintf(&described, "%d 0 obj<<>>", 100+i)
		fmt.Fprintf(&choices, "/F%d 1 Tf ", i)
		fmt.Fprintf(&overlaps, "%d 0 ", 100+i)
	}
	overlapping := func(object string) string {
		return flate(9, fmt.Sprintf("/Type/ObjStm/N 100000/First %d", overlaps.Len()), overlaps.String()+object)
	}
	for name, data := range map[string][]byte{
		"a stream in a stream that inflates a millionfold": page("x", font, stream(4, "/Filter[/FlateDecode/FlateDecode]", bomb)),
		"a table for billions of objects":                  append(page("x", font), "xref\n4000000000 1\n0000000000 00000 n \ntrailer<</Size 4000000000/Root 1 0 R>>"...),
		"a stream of billions of objects":                  page("x", font, stream(9, "/Type/ObjStm/N 4000000000/First 4", []byte("1 0 2 0 3 0 <<>>"))),
		"forms that draw each other":                       page("/X Do /X Do", font, branches.String()),
		"a large comment in a form that is drawn often":    page(strings.Repeat("/X Do ", 100_000), font, stream(6, "/Subtype/Form", bytes.Repeat([]byte("%"), 8<<20))),
		"arrays in arrays":                                 page(strings.Repeat("[", 4<<20), font),
		"dictionaries without end":                         page("x", strings.Repeat("<</A<<>>", 1<<20)),
		"a string that is never closed":                    page("("+strings.Repeat("(", 8<<20), font),
		"pages that are their own":                         page("x", "2 0 obj<</Kids 8 0 R>>endobj 8 0 obj["+strings.Repeat("<</Kids 8 0 R>>", 100)+"]endobj"),
		"a font with many differences, chosen again and again": page(strings.Repeat("/F 1 Tf ", 100_000),
			"3 0 obj<</Type/Page/Contents 4 0 R/Resources<</Font<</F<</Encoding<</Differences["+strings.Repeat("/a ", 100_000)+"]>>>>>>>>>>endobj"),
		"a line of very many pieces":  page("BT /F 1 Tf "+strings.Repeat("(a)Tj ", 400_000), font),
		"a string of very many codes": page("x", font, flate(4, "", "BT /F 1 Tf ("+strings.Repeat("a", (12<<20)-100)+") Tj")),
		"a code that means millions of characters": page("BT /F 1 Tf ("+strings.Repeat("a", 1_000)+") Tj",
			"5 0 obj<</Subtype/Type1/ToUnicode 7 0 R>>endobj", flate(7, "", "1 beginbfchar <61>("+strings.Repeat("\x00A", 4<<20)+") endbfchar")),
		"pages of very many empty streams":                   pages(strings.Repeat("6 0 R ", 400_000), flate(6, "", "")),
		"a stream of objects that are all the same long one": page("x", font, overlapping("("+strings.Repeat("a", 8<<20)+")")),
		"very many fonts":                                    page(choices.String(), "3 0 obj<</Type/Page/Contents 4 0 R/Resources<</Font<<"+fonts.String()+">>>>>>endobj", described.String()),
		"very many strings":                                  page("["+strings.Repeat("(ab)", 1_600_000), font),
		"forms in forms that are all large":                  page("/X Do", font, flate(6, "/Subtype/Form/Resources<</XObject<</X 6 0 R>>>>", "/X Do "+strings.Repeat(" ", (12<<20)-10))),
		"very many names":                                    page("x", font, "9 0 obj["+strings.Repeat("/"+strings.Repeat("a", 24), 1_200_000)),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := p.read(t.Context(), data)
			t.Logf("%d KiB: %v", len(data)>>10, err)
			if peak := peakOf(t, child.Process.Pid); peak > Memory {
				t.Errorf("it took %d MiB for a document of %d KiB", peak>>20, len(data)>>10)
			}
			if got, err := p.read(t.Context(), good); err != nil || got.Text != next {
				t.Errorf("the next one: %q, %v", got.Text, err)
			}
		})
	}
}
