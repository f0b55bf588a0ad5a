// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/feed-operator/feed-operator/internal/apitest"
)

// Each way in and out of the operator has one place: statuses are written in internal/record, items made in internal/derive, where
// what a feed repeats is masked, Secrets read in internal/secrets, and providers called by generate.go and by internal/provider.
func TestNothingGoesRoundTheRedactor(t *testing.T) {
	t.Parallel()
	// Whole files are looked through: the literal text with which each begins is found at once.
	places := map[*regexp.Regexp]string{
		regexp.MustCompile(`\.Status\(\)\.(Patch|Update|Apply|Create)\(`): "internal/record/|internal/backup/", // a backup holds what an operator has masked
		regexp.MustCompile(`(?m)&v1alpha1\.FeedItem\{$`):                  "internal/derive/",
		regexp.MustCompile(`(?m)corev1\.Secret$|corev1\.Secret\{`):        "internal/secrets/|controllers/cache.go|internal/preview/",
		regexp.MustCompile(`provider\.Generate\(`):                        "generate.go|internal/preview/",
	}
	root, read := apitest.ModuleRoot(t), 0
	for _, top := range []string{"controllers", "internal"} {
		err := fs.WalkDir(os.DirFS(root), top, func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return err
			}
			read++
			text, err := os.ReadFile(filepath.Join(root, file))
			if err != nil {
				return err
			}
			for pattern, allowed := range places {
				if regexp.MustCompile(allowed).MatchString(file) {
					continue
				}
				for _, at := range pattern.FindAllIndex(text, -1) {
					t.Errorf("%s:%d goes round the place where secrets are masked (%s): %s", file, 1+bytes.Count(text[:at[0]], []byte("\n")), allowed, text[at[0]:at[1]])
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if read < 100 {
		t.Errorf("only %d files were read", read)
	}
}
