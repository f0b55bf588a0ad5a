// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package destination

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// R4.1: a template is over documented fields.
func TestNewComposerSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	const allowed = "there are and, or, not, eq, ne, lt, le, gt and ge"
	tests := map[string]struct {
		style Style
		want  string
	}{
		"an unknown field": {
			Style{Template: "{{.Title}}\n{{.Link}}"},
			"the template is wrong in line 2: there is no field .Link; there are .Title, .Summary, .URL, .Author, .Categories, .Hashtags, " +
				".Published, .Source, .FeedTitle and .Language",
		},
		"an unknown field where few items get": {
			Style{ContentWarning: "{{if .Title}}{{else}}{{with .Author}}{{$.Nope}}{{end}}{{end}}"}, "the content warning is wrong in line 1: there is no field .Nope",
		},
		"a field of a field":            {Style{Template: "{{.Title.Author}}"}, "can't evaluate field Author in type string"},
		"not closed":                    {Style{Template: "a\nb {{.Title"}, "the template is wrong in line 2: unclosed action"},
		"a function that nobody has":    {Style{Template: "{{upper .Title}}"}, `the template is wrong in line 1: function "upper" not defined`},
		"a format that writes a lot":    {Style{Template: `{{printf "%9999999d" 1}}`}, "the function printf cannot be called; " + allowed},
		"text that doubles":             {Style{Template: `{{$x := "x"}}{{$x = print $x $x}}`}, "the function print cannot be called"},
		"a call in brackets":            {Style{Template: `{{if eq (len .Title) 3}}{{end}}`}, "the function len cannot be called"},
		"a call in a chain":             {Style{Template: `{{(index .Categories 0).Format}}`}, "the function index cannot be called"},
		"a call in a pipe":              {Style{Template: `{{.Title | html}}`}, "the function html cannot be called"},
		"an unknown field of a chain":   {Style{Template: `{{(.Published).Year}}`}, "there is no field .Year"},
		"a range over numbers":          {Style{Template: "{{range 1000000000}}{{end}}"}, "a range goes over .Categories or .Hashtags only"},
		"a range over text":             {Style{Template: "{{range .Title}}{{end}}"}, "a range goes over .Categories or .Hashtags only"},
		"a range over a variable":       {Style{Template: "{{$x := 9}}{{range $x}}{{end}}"}, "a range goes over .Categories or .Hashtags only"},
		"a range in a range":            {Style{Template: "{{range .Categories}}\n{{range $.Categories}}{{end}}{{end}}"}, "the template is wrong in line 2: a range must not stand within another"},
		"a range in a range's else":     {Style{Template: "{{range .Categories}}{{else}}{{if 1}}{{range $.Hashtags}}{{end}}{{end}}{{end}}"}, "a range must not stand within another"},
		"a template that calls itself":  {Style{Template: `{{template "template"}}`}, "it must not call other templates"},
		"a template in a template":      {Style{Template: `{{define "a"}}{{template "a"}}{{end}}`}, "it must not define other templates"},
		"a block":                       {Style{Template: `{{block "a" .}}{{end}}`}, "it must not define other templates"},
		"arguments that are missing":    {Style{Template: "{{.Published.Format}}"}, "wrong number of args for Format"},
		"what cannot be compared":       {Style{Template: "{{eq .Title 1}}"}, "incompatible types for comparison"},
		"more than a template may have": {Style{Template: strings.Repeat("x", maxTemplate+1)}, "the template is too long"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := NewComposer(test.style)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %v, want %q", err, test.want)
			}
		})
	}
}

func TestNewComposerTakesWhatIsHarmless(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		"", " ", "\n", "{{/* nothing */}}", "no fields", "{{- .Title -}}",
		"{{range $i, $c := .Categories}}{{if $i}}, {{end}}{{$c}}{{else}}none{{end}}",
		"{{range $.Hashtags}}{{.}}{{break}}{{end}}",
		"{{with .Published}}{{.Format \"15:04\"}}{{end}}", "{{$t := .Title}}{{if and $t (ne $t .Summary)}}{{$t}}{{end}}",
		"{{if .Author}}by {{.Author}}{{else if .FeedTitle}}by {{.FeedTitle}}{{end}}", "{{.}}", "\xff{{.Title}}",
	} {
		if _, err := NewComposer(Style{Template: source, ContentWarning: source}); err != nil {
			t.Errorf("NewComposer(%q) = %v", source, err)
		}
	}
}

// What would be too long even to be shortened is not kept in memory.
func TestComposeBoundsWhatATemplateWrites(t *testing.T) {
	t.Parallel()
	style := Style{Template: strings.Repeat("{{.Summary}}", 1000) + "{{.URL}}"}
	material := Material{Title: "A title", Summary: strings.Repeat("word ", 2000), URL: "https://x.example/"}
	post, err := compose(t, style, material, Limits{MaxCharacters: 5000})
	if err != nil {
		t.Fatal(err)
	}
	checkPost(t, material, Limits{MaxCharacters: 5000}, post)

	written, err := newLayout("template", style.Template)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := written.render(fields{Summary: material.Summary}); !errors.Is(err, errTooMuch) || len(text) > maxRendered {
		t.Errorf("error = %v after %d bytes, want it to end at %d", err, len(text), maxRendered)
	}
}

// R4.1: a day that was written may be the layout of a day, and in November each 1 becomes 11. What comes of that in between is bounded too.
func TestComposeBoundsADateThatIsTheLayoutOfADate(t *testing.T) {
	t.Parallel()
	nested := func(calls int) string {
		return "{{" + strings.Repeat(".Published.Format (", calls-1) + `.Published.Format "1"` + strings.Repeat(")", calls-1) + "}}"
	}
	material := Material{Title: "A title", Summary: "A summary.", URL: "https://example.org/1", Published: time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)}
	for calls, want := range map[int]string{8: "", 24: "the layout of a day has at most 256 bytes"} {
		for name, style := range map[string]Style{"template": {Template: "{{.Title}} " + nested(calls)}, "content warning": {ContentWarning: nested(calls)}} {
			composer, err := NewComposer(style)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := composer.Compose(material, Limits{}); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%d calls in the %s: %v, want %q", calls, name, err, want)
			}
		}
	}
}
