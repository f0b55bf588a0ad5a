// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The rooms of the house stay small enough to be read: what works on a kind has no more methods and lines than a person keeps in mind.
// With -v this prints the figures of all rooms.
func TestRoomsAreSmall(t *testing.T) {
	t.Parallel()
	const mostLines, mostMethods = 2000, 30
	bounded := map[string]bool{"internal/attempt": true, "internal/delivery": true, "internal/notices": true, "internal/results": true}
	rooms := 0
	for _, top := range []string{"cmd", "controllers", "hack", "internal"} {
		err := filepath.WalkDir(filepath.Join("..", top), func(dir string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return err
			}
			lines, methods := measure(t, dir)
			if lines == 0 {
				return nil
			}
			name := filepath.ToSlash(strings.TrimPrefix(dir, ".."+string(filepath.Separator)))
			kind, most := "", 0
			for of, n := range methods {
				if n > most {
					kind, most = of, n
				}
			}
			t.Logf("%-36s %5d lines, %3d methods of %s", name, lines, most, kind)
			if lines > mostLines {
				t.Errorf("%s has %d lines: at most %d", name, lines, mostLines)
			}
			if top != "controllers" && !bounded[name] {
				return nil
			}
			rooms++
			if most > mostMethods {
				t.Errorf("%s has %d methods of %s: at most %d", name, most, kind, mostMethods)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if rooms < len(bounded)+5 {
		t.Errorf("only %d rooms were looked at", rooms)
	}
}

// Where docs/development.md says that something is decided, there is such a function.
func TestTheWayOfAnEntryIsAsDescribed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("development.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`([a-z/_]+\\.go)`, `([A-Za-z]+)`")
	found := named.FindAllStringSubmatch(string(text), -1)
	if len(found) < 10 {
		t.Fatalf("only %d functions are named", len(found))
	}
	for _, place := range found {
		code, err := os.ReadFile(filepath.Join("..", place[1]))
		if err != nil {
			t.Error(err)
			continue
		}
		if !regexp.MustCompile(`(?m)^func (\(\w+ [^)]*\) )?` + place[2] + `\(`).Match(code) {
			t.Errorf("%s has no function %s", place[1], place[2])
		}
	}
}

// measure counts the lines of a package without its tests, and the methods of its types.
func measure(t *testing.T, dir string) (lines int, methods map[string]int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	methods = map[string]int{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines += strings.Count(string(text), "\n")
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range parsed.Decls {
			if method, is := declared.(*ast.FuncDecl); is && method.Recv != nil {
				methods[receiver(method.Recv.List[0].Type)]++
			}
		}
	}
	return lines, methods
}

// receiver is the name of the type that a method has.
func receiver(expression ast.Expr) string {
	switch of := expression.(type) {
	case *ast.StarExpr:
		return receiver(of.X)
	case *ast.IndexExpr:
		return receiver(of.X)
	case *ast.IndexListExpr:
		return receiver(of.X)
	case *ast.Ident:
		return of.Name
	}
	return "?"
}
