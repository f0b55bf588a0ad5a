// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package article

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// corpus returns the pages that the library which looks for the main text is tested with, and the texts that people
// found in them, by name.
func corpus(t testing.TB) map[string][2]string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "codeberg.org/readeck/go-readability/v2").Output()
	if err != nil {
		t.Fatalf("find the library's module: %v", err)
	}
	folders, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "test-pages", "*", "source.html"))
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string][2]string{}
	for at, page := range folders {
		if at%inflation != 0 {
			continue // the race detector makes this slow, and finds nothing in it
		}
		folder := filepath.Dir(page)
		source, err := os.ReadFile(filepath.Join(folder, "source.html"))
		if err != nil {
			t.Fatal(err)
		}
		expected, err := os.ReadFile(filepath.Join(folder, "expected.html"))
		if err != nil {
			t.Fatal(err)
		}
		tree, err := html.Parse(strings.NewReader(string(expected)))
		if err != nil {
			t.Fatal(err)
		}
		pages[filepath.Base(folder)] = [2]string{string(source), normalize(render(tree))}
	}
	if len(pages)*inflation < 100 {
		t.Fatalf("%d pages, want at least 100", len(pages))
	}
	return pages
}

// agreement is the harmonic mean of how many of the words of a text are in another, and the other way round.
func agreement(got, want string) float64 {
	words := map[string]int{}
	wanted := strings.Fields(want)
	for _, word := range wanted {
		words[word]++
	}
	common, all := 0, 0
	for word := range strings.FieldsSeq(got) {
		all++
		if words[word] > 0 {
			words[word]--
			common++
		}
	}
	return 2 * float64(common) / float64(max(all+len(wanted), 1))
}

// R2.5: of pages that others have collected, the text is what people found in them, and none of them is taken for a notice.
func TestCorpus(t *testing.T) {
	t.Parallel()
	sum, pages := 0.0, corpus(t)
	for name, page := range pages {
		_, text, err := extract(page[0])
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		agrees := agreement(text, page[1])
		sum += agrees
		if ink(page[1]) > maxStub && !isArticle(text) {
			t.Errorf("%s is an article, but became %.200q", name, text)
		}
		if testing.Verbose() {
			t.Logf("%.3f %d %s", agrees, ink(text), name)
		}
	}
	least := 0.99
	if inflation > 1 { // of a few pages
		least = 0.96
	}
	if mean := sum / float64(len(pages)); mean < least {
		t.Errorf("the texts agree to %.3f, want at least %.3f", mean, least)
	} else {
		t.Logf("the texts of %d pages agree to %.4f", len(pages), mean)
	}
}
