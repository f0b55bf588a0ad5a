// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/feed-operator/feed-operator/internal/apitest"
)

// logLine is a line of the log, as it is written in the code. What the stream writes has its level and fields by what has happened.
type logLine struct {
	level, place string
	fields       []string
	stream       bool
}

// R5.5: each line of the log is documented with its level and its fields, and no other is.
func TestEachLineOfTheLogIsDocumented(t *testing.T) {
	t.Parallel()
	written := linesOfTheLog(t)
	documented := map[string]bool{}
	name := regexp.MustCompile("`(\\w+)`")
	for _, row := range rows(t, "logs.md", "message", "level", "fields", "when") {
		message, level := row[0], row[1]
		line, is := written[message]
		switch {
		case !is:
			t.Errorf("nothing logs %q", message)
			continue
		case documented[message]:
			t.Errorf("%q is there twice", message)
		case !line.stream && level != line.level:
			t.Errorf("%q is of the level %s, not %s (%s)", message, line.level, level, line.place)
		}
		documented[message] = true
		fields := map[string]bool{}
		for _, field := range name.FindAllStringSubmatch("`"+row[2]+"`", -1) { // rows cuts the quotes at the ends
			fields[field[1]] = true
		}
		for _, field := range line.fields {
			if !fields[field] {
				t.Errorf("%q has the field %s (%s)", message, field, line.place)
			}
		}
	}
	for message, line := range written {
		if !documented[message] && !strings.HasPrefix(message, "Failed to ") {
			t.Errorf("docs/logs.md does not have %q (%s)", message, line.place)
		}
	}
	if len(documented) < 70 {
		t.Errorf("only %d lines are documented", len(documented))
	}
}

// linesOfTheLog are the lines that the operator writes, unless it is asked for more than that, by their messages.
func linesOfTheLog(t *testing.T) map[string]logLine {
	t.Helper()
	lines := map[string]logLine{}
	root := apitest.ModuleRoot(t)
	for _, top := range []string{"cmd/manager", "controllers", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, 0)
			if err != nil {
				return err
			}
			place := func(node ast.Node) string { return fmt.Sprint(set.Position(node.Pos())) }
			ofStream := strings.HasPrefix(filepath.Base(path), "stream") && filepath.Base(filepath.Dir(path)) == "telemetry"
			ast.Inspect(file, func(node ast.Node) bool {
				if text, is := textOf(node); is && ofStream && text != "" && text[0] >= 'A' && text[0] <= 'Z' {
					lines[text] = logLine{place: place(node), stream: true}
				}
				if call, is := node.(*ast.CallExpr); is {
					if message, line, is := lineOf(call); is {
						line.place = place(call)
						lines[message] = line
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return lines
}

// lineOf is the line that a call logs, if it logs one at every level.
func lineOf(call *ast.CallExpr) (message string, line logLine, is bool) {
	method, is := call.Fun.(*ast.SelectorExpr)
	if !is {
		return "", line, false
	}
	if on, is := method.X.(*ast.CallExpr); is {
		if verbose, is := on.Fun.(*ast.SelectorExpr); is && verbose.Sel.Name == "V" {
			return "", line, false
		}
	}
	if on, is := method.X.(*ast.Ident); is && on.Name == "http" { // http.Error answers, and logs nothing
		return "", line, false
	}
	at := slices.Index([]string{"Info", "Error"}, method.Sel.Name) // an error comes before its message
	if at < 0 || len(call.Args) <= at {
		return "", line, false
	}
	if message, is = textOf(call.Args[at]); !is {
		return "", line, false
	}
	line.level = []string{"info", "error"}[at]
	for i := at + 1; i < len(call.Args); i += 2 {
		switch key, _ := textOf(call.Args[i]); {
		case key == "severity" && i+1 < len(call.Args):
			line.level, _ = textOf(call.Args[i+1])
		case key != "":
			line.fields = append(line.fields, key)
		}
	}
	return message, line, true
}

// textOf is a text that stands in the code as it is.
func textOf(node ast.Node) (string, bool) {
	literal, is := node.(*ast.BasicLit)
	if !is || literal.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(literal.Value)
	return text, err == nil
}
