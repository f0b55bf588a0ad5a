// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package article

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/internal/budget"
	"github.com/feed-operator/feed-operator/internal/heaptest"
	"github.com/feed-operator/feed-operator/internal/outbound"
)

// R1.6, R1.10: to read a page takes no more memory than is taken of the budget for it, also where the page is made to
// hurt; what would be more than all that there is for work is not that much more. Not parallel: it looks at the
// memory of the whole process.
func TestWhatReadingAPageTakes(t *testing.T) {
	if inflation > 1 {
		t.Skip("only without the race detector, as in `make test-real`: it takes memory of its own")
	}
	const sentence = "This is a sentence, with commas, that goes on for a while. "
	const large = 4 << 20
	most := budget.New(budget.Default, time.Now).Document("").Most()
	attributes := func() string {
		var out strings.Builder
		for i := range 300_000 {
			fmt.Fprintf(&out, "a%d=1 ", i)
		}
		return out.String()
	}
	for name, test := range map[string]struct{ kind, before, again string }{
		"a page of tags":             {"text/html", "", "<p>x"},
		"a page of attributes":       {"text/html", "", "<p a b c d e f g h i>x"},
		"a tag of attributes":        {"text/html", "<div " + attributes() + ">", sentence},
		"a tag that never ends":      {"text/html", "<div", " a"},
		"attributes between slashes": {"text/html", "", "<p/a/b/c/d/e/f/g/h/i>x"},
		"attributes without a space": {"text/html", "", `<p a=""b=""c=""d=""e="">x`},
		"a page of paragraphs":       {"text/html", "", "<p>" + sentence + sentence + "</p>"},
		"a page that is a script":    {"text/html", "<p>" + sentence + "<script>", "x"},
		"a page in Latin-1":          {"text/html", "", "<p>caf\xe9, " + sentence},
		"a page in no charset":       {"text/html", "<p>", "\xe9\x81\xff"},
		"tables in tables":           {"text/html", "", "<table><tr><td>x"},
		"formatting, opened again":   {"text/html", "<p>" + strings.Repeat("<b id=1><i id=2>", 200) + "</p>", "<p>x"},
		"a text":                     {"text/plain", "", sentence + "\n"},
		"a text of words":            {"text/plain", "", "x "},
		"a text of lines":            {"text/plain", "", "x\n"},
		"a text in no charset":       {"text/plain", "", "\xe9\x81"},
	} {
		for _, size := range []int{100 << 10, large} {
			t.Run(fmt.Sprintf("%s, of %d KiB", name, size>>10), func(t *testing.T) {
				body := []byte(test.before + strings.Repeat(test.again, max(size-len(test.before), 0)/len(test.again)))
				taken := weigh(test.kind, body)
				limit := min(max(taken, 6<<20), most) * 5 / 4 // some of it is garbage that is collected late
				took := heaptest.Peak(limit, func() {
					_, _ = read(&outbound.Response{Body: body, Header: map[string][]string{"Content-Type": {test.kind}}})
				})
				t.Logf("%.1f MiB, of %.1f", float64(took)/(1<<20), float64(taken)/(1<<20))
				if took > limit {
					t.Errorf("it took %d KiB, %d KiB were counted", took>>10, taken>>10)
				}
				runtime.KeepAlive(body)
			})
		}
	}
}
