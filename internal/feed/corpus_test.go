// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// corpus returns the documents that the parser library is tested with, by path.
func corpus(t testing.TB) map[string][]byte {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/mmcdole/gofeed").Output()
	if err != nil {
		t.Fatalf("find the library's module: %v", err)
	}
	root := filepath.Join(strings.TrimSpace(string(out)), "testdata")
	documents := map[string][]byte{}
	err = filepath.WalkDir(root, func(path string, file fs.DirEntry, err error) error {
		if err != nil || file.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		documents[name], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(documents) < 1000 {
		t.Fatalf("%d documents under %s, want at least 1000", len(documents), root)
	}
	return documents
}

// R1.2, R1.6: every document of the corpus is read without harm, and always into the same
// identities, in whatever order its entries come.
func TestCorpus(t *testing.T) {
	t.Parallel()
	read := 0
	for name, body := range corpus(t) {
		document, err := Parse(body, "", "https://feeds.example/feed.xml")
		if err != nil {
			continue
		}
		read++
		again, err := Parse(body, "application/xml", "https://feeds.example/feed.xml")
		if err != nil {
			t.Errorf("%s: the second pass fails: %v", name, err)
			continue
		}
		known := namesOf(document.Entries)
		for _, entries := range [][]Entry{again.Entries, shuffled(again.Entries)} {
			for entry := range namesOf(entries) {
				if !known[entry] {
					t.Errorf("%s: a new identity in a further pass", name)
				}
			}
		}
	}
	if read < 350 {
		t.Errorf("%d documents were read, want at least 350", read)
	}
	t.Logf("%d documents were read", read)
}

func namesOf(entries []Entry) map[string]bool {
	trust := trustIn(entries)
	names := map[string]bool{}
	for _, entry := range entries {
		names[ItemName("source", "uid", entry, trust)] = true
	}
	return names
}

func shuffled(entries []Entry) []Entry {
	mixed := append([]Entry(nil), entries...)
	random := rand.New(rand.NewPCG(1, 2))
	random.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
	return mixed
}
