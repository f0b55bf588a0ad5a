// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	_ "embed"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/feed-operator/feed-operator/internal/portion"
)

// left are the tests that `make test` leaves to `make test-real`.
//
//go:embed testdata/left_to_test_real.txt
var left string

// leavesItself reports whether a test calls portion.Whole, outside of its parts.
func leavesItself(test *ast.FuncDecl) (leaves bool) {
	for _, statement := range test.Body.List {
		if expression, is := statement.(*ast.ExprStmt); is {
			if call, is := expression.X.(*ast.CallExpr); is {
				called, is := call.Fun.(*ast.SelectorExpr)
				leaves = leaves || is && called.Sel.Name == "Whole"
			}
		}
	}
	return leaves
}

// Each requirement that is proven here, and each story, which is a file, has a test that `make test` runs too.
func TestWhatIsLeftToTestRealIsInPartShownByTheOthers(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	named, run := map[string]bool{}, map[string]bool{} // requirements
	known := map[string]bool{}                         // tests
	requirement := regexp.MustCompile(`R\d+\.\d+`)
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		tests, here := 0, 0
		for _, declared := range parsed.Decls {
			test, is := declared.(*ast.FuncDecl)
			if !is || test.Recv != nil || !strings.HasPrefix(test.Name.Name, "Test") || test.Name.Name == "TestMain" {
				continue
			}
			name := test.Name.Name
			known[name] = true
			tests++
			isLeft := portion.Leaves(left, name) || leavesItself(test)
			if !isLeft {
				here++
			}
			for _, id := range requirement.FindAllString(test.Doc.Text(), -1) {
				named[id] = true
				run[id] = run[id] || !isLeft
			}
		}
		if tests > 0 && here == 0 {
			t.Errorf("%s: all tests are left", file)
		}
	}
	for id := range named {
		if !run[id] {
			t.Errorf("%s: all tests that name it are left", id)
		}
	}
	for name := range strings.Lines(left) {
		if name = strings.TrimSpace(name); name != "" && !strings.HasPrefix(name, "#") && !known[name] {
			t.Errorf("%s is no test", name)
		}
	}
	if len(known) == 0 || len(named) == 0 || slices.Contains(strings.Split(left, "\n"), "TestWhatIsLeftToTestRealIsInPartShownByTheOthers") {
		t.Error("nothing is checked")
	}
}
