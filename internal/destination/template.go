// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package destination

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"text/template"
	"text/template/parse"
	"time"
)

// Marks that stand in a text while it is made. They are noncharacters: no text has them.
const (
	linkMark = "\uFDD0" // the item's link, so that nothing can cut it
	lineMark = "\uFDD1" // an action of the template, in a line that may turn out empty
)

const (
	maxTemplate = 16 << 10  // bytes
	maxRendered = 128 << 10 // bytes
)

// errTooMuch means that a template wrote more than maxRendered.
var errTooMuch = errors.New("the text is too long")

// fields are what a template sees. Their documentation is that of Style.
type fields struct {
	Title, Summary, URL, Author, Source, FeedTitle, Language string
	Categories                                               commaList
	Hashtags                                                 spaceList
	Published                                                day
}

type commaList []string

func (l commaList) String() string { return strings.Join(l, ", ") }

type spaceList []string

func (l spaceList) String() string { return strings.Join(l, " ") }

// day is a time that is written as a day unless a template asks for something else. The zero time
// is written as nothing; a string is what makes it false in a template's eyes.
type day string

func newDay(t time.Time) day {
	if t.IsZero() {
		return ""
	}
	return day(t.UTC().Format(time.RFC3339))
}

func (d day) String() string {
	written, _ := d.Format(time.DateOnly)
	return written
}

// maxDateLayout bounds the layout of a day, in bytes. A layout may be what another one has written, and some of what is written is twice as long as
// the layout, and a layout again: in November, 1 becomes 11, that becomes 1111, and so on.
const maxDateLayout = 256

// Format writes the day as a layout of package time has it.
func (d day) Format(layout string) (string, error) {
	if len(layout) > maxDateLayout {
		return "", fmt.Errorf("the layout of a day has at most %d bytes", maxDateLayout)
	}
	if t, err := time.Parse(time.RFC3339, string(d)); err == nil {
		return t.Format(layout), nil
	}
	return "", nil // there is no date
}

// layout is a template that was checked: it ends soon and writes little, whatever it is given.
type layout struct{ template *template.Template }

func newLayout(name, source string) (*layout, error) {
	if len(source) > maxTemplate {
		return nil, fmt.Errorf("the %s is too long: it has %d bytes, at most %d are allowed", name, len(source), maxTemplate)
	}
	source = strings.NewReplacer(linkMark, "", lineMark, "", "\r\n", "\n").Replace(strings.ToValidUTF8(source, ""))
	parsed, err := template.New(name).Parse(source)
	if err != nil {
		return nil, explain(name, err)
	}
	if len(parsed.Templates()) > 1 {
		return nil, fmt.Errorf("the %s is wrong: it must not define other templates", name)
	}
	out := &layout{template: parsed}
	if parsed.Tree == nil || parsed.Root == nil { // nothing in it
		return &layout{template: template.Must(template.New(name).Parse(""))}, nil
	}
	if err := (checker{name: name, source: source}).check(parsed.Root, false); err != nil {
		return nil, err
	}
	markLines(parsed.Root)
	for _, sample := range samples {
		if _, err := out.render(sample); err != nil {
			return nil, explain(name, err)
		}
	}
	return out, nil
}

// samples are an item that has everything and one that has nothing.
var samples = []fields{
	{
		Title: "Title", Summary: "Summary.", URL: linkMark, Author: "Author", Source: "source", FeedTitle: "Feed", Language: "en",
		Categories: commaList{"One", "Two"}, Hashtags: spaceList{"#One", "#Two"}, Published: "2026-05-04T10:30:00Z",
	},
	{},
}

func (l *layout) render(values fields) (string, error) {
	out := &boundedText{}
	err := l.template.Execute(out, values)
	return out.String(), err
}

type boundedText struct{ strings.Builder }

func (b *boundedText) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxRendered {
		return 0, errTooMuch
	}
	return b.Builder.Write(p)
}

var place = regexp.MustCompile(`(?s)^template: [^:]*:(\d+)(?::\d+)?: (?:executing "[^"]*" at )?(.*)$`)

// explain reports for a person where a template is wrong.
func explain(name string, err error) error {
	if found := place.FindStringSubmatch(err.Error()); found != nil {
		return fmt.Errorf("the %s is wrong in line %s: %s", name, found[1], found[2])
	}
	return fmt.Errorf("the %s is wrong: %s", name, strings.TrimPrefix(err.Error(), "template: "))
}

// checker refuses what could make a template run long or write much: calls but of the functions
// that compare, templates that call each other, and loops but over the two lists, which are short.
type checker struct{ name, source string }

const knownFields = ".Title, .Summary, .URL, .Author, .Categories, .Hashtags, .Published, .Source, .FeedTitle and .Language"

var (
	isField = map[string]bool{
		"Title": true, "Summary": true, "URL": true, "Author": true, "Categories": true, "Hashtags": true,
		"Published": true, "Source": true, "FeedTitle": true, "Language": true,
	}
	isFunction = map[string]bool{
		"and": true, "or": true, "not": true, "eq": true, "ne": true, "lt": true, "le": true, "gt": true, "ge": true,
	}
)

func (c checker) wrong(at parse.Node, format string, args ...any) error {
	before := c.source[:min(int(at.Position()), len(c.source))]
	return fmt.Errorf("the %s is wrong in line %d: %s", c.name, 1+strings.Count(before, "\n"), fmt.Sprintf(format, args...))
}

// check looks at a node and all below it.
func (c checker) check(node parse.Node, inRange bool) error {
	switch n := node.(type) {
	case *parse.ListNode:
		if n == nil {
			return nil
		}
		return each(n.Nodes, func(child parse.Node) error { return c.check(child, inRange) })
	case *parse.ActionNode:
		return c.check(n.Pipe, inRange)
	case *parse.IfNode:
		return c.branch(&n.BranchNode, inRange)
	case *parse.WithNode:
		return c.branch(&n.BranchNode, inRange)
	case *parse.RangeNode:
		if inRange {
			return c.wrong(n, "a range must not stand within another")
		}
		if !isList(n.Pipe) {
			return c.wrong(n, "a range goes over .Categories or .Hashtags only")
		}
		return c.branch(&n.BranchNode, true)
	case *parse.TemplateNode:
		return c.wrong(n, "it must not call other templates")
	case *parse.PipeNode:
		if n == nil {
			return nil
		}
		return each(n.Cmds, func(child *parse.CommandNode) error {
			return each(child.Args, func(arg parse.Node) error { return c.check(arg, inRange) })
		})
	case *parse.IdentifierNode:
		if !isFunction[n.Ident] {
			return c.wrong(n, "the function %s cannot be called; there are and, or, not, eq, ne, lt, le, gt and ge", n.Ident)
		}
	case *parse.FieldNode:
		return c.field(n, n.Ident)
	case *parse.VariableNode:
		return c.field(n, n.Ident[1:])
	case *parse.ChainNode:
		if err := c.field(n, n.Field); err != nil {
			return err
		}
		return c.check(n.Node, inRange)
	}
	return nil
}

func (c checker) branch(n *parse.BranchNode, inRange bool) error {
	return errors.Join(c.check(n.Pipe, inRange), c.check(n.List, inRange), c.check(n.ElseList, inRange))
}

func (c checker) field(at parse.Node, names []string) error {
	return each(names, func(name string) error {
		if !isField[name] && name != "Format" {
			return c.wrong(at, "there is no field .%s; there are %s", name, knownFields)
		}
		return nil
	})
}

func each[T any](list []T, check func(T) error) error {
	for _, element := range list {
		if err := check(element); err != nil {
			return err
		}
	}
	return nil
}

func isList(pipe *parse.PipeNode) bool {
	if len(pipe.Cmds) != 1 || len(pipe.Cmds[0].Args) != 1 {
		return false
	}
	var names []string
	switch arg := pipe.Cmds[0].Args[0].(type) {
	case *parse.FieldNode:
		names = arg.Ident
	case *parse.VariableNode:
		names = arg.Ident[1:]
	}
	return len(names) == 1 && (names[0] == "Categories" || names[0] == "Hashtags")
}

// markLines puts a lineMark on both sides of every action.
func markLines(list *parse.ListNode) {
	if list == nil {
		return
	}
	mark := &parse.TextNode{NodeType: parse.NodeText, Text: []byte(lineMark)}
	var out []parse.Node
	for _, node := range list.Nodes {
		var branch *parse.BranchNode
		switch n := node.(type) {
		case *parse.TextNode:
			out = append(out, n)
			continue
		case *parse.IfNode:
			branch = &n.BranchNode
		case *parse.WithNode:
			branch = &n.BranchNode
		case *parse.RangeNode:
			branch = &n.BranchNode
		}
		if branch != nil {
			markLines(branch.List)
			markLines(branch.ElseList)
		}
		out = append(out, mark, node, mark)
	}
	list.Nodes = out
}
