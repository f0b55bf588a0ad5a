// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/expression"
	"github.com/feed-operator/feed-operator/internal/failure"
)

// maxBody is how many bytes a body may have.
const maxBody = 256 << 10

// The values of kind.
const (
	kindItem         = "Item"
	kindNotification = "Notification"
)

var _ destination.Writer = (*Writer)(nil)

// Writer makes the bodies of a webhook. It may be used by many goroutines at a time.
type Writer struct {
	name    string
	program cel.Program
	format  format
	dated   bool
}

// NewWriter makes the writer of a webhook's bodies: by a format, or by an expression (v1alpha1.WebhookDestination.Body). Without
// both, the format is JSON. The error says for a person what is wrong in the expression, and where.
func NewWriter(name v1alpha1.WebhookFormat, body string) (*Writer, error) {
	if body != "" {
		return compile("", format{body: body})
	}
	if name == "" {
		name = v1alpha1.WebhookJSON
	}
	known, ok := formats[name]
	if !ok {
		return nil, fmt.Errorf("there is no format %q", string(name))
	}
	return compile(string(name), known)
}

// compile makes a format ready.
func compile(name string, f format) (*Writer, error) {
	env, err := language()
	if err != nil {
		return nil, err
	}
	checked, err := expression.Compile(env, f.body)
	if err != nil {
		return nil, err
	}
	if got := checked.OutputType(); !isObject(got) {
		return nil, fmt.Errorf(`the expression must give a JSON object, such as {"text": title}, not %s`, cel.FormatCELType(got))
	}
	program, err := expression.Program(env, checked, sizes(), maxCost)
	if errors.Is(err, expression.ErrCostly) {
		return nil, fmt.Errorf("%w: loops in loops, long texts that are put together or replaced, and patterns that are not written out "+
			"are costly; make it simpler", err)
	}
	if err != nil {
		return nil, err
	}
	w := &Writer{name: name, program: program, format: f}
	for _, reference := range checked.NativeRep().ReferenceMap() {
		w.dated = w.dated || reference.Name == "published"
	}
	return w, nil
}

// isObject reports whether a value of a type may be a JSON object.
func isObject(got *cel.Type) bool {
	switch got.Kind() {
	case types.DynKind:
		return true
	case types.MapKind:
		key := got.Parameters()[0].Kind()
		return key == types.StringKind || key == types.DynKind || key == types.TypeParamKind
	default:
		return false
	}
}

// Compose makes the body for an item; the same material always gives the same bytes. The limits are a server's of posts, and say
// nothing to a webhook.
//
// The error is a *failure.Error of the category Validation: there is nothing to say, the expression fails on this item, or what it
// gives is no JSON object or too much.
func (w *Writer) Compose(m destination.Material, _ destination.Limits) (destination.Post, error) {
	values := blank(kindItem)
	values["title"] = destination.LegibleLine(m.Title, maxLine)
	values["summary"] = destination.Legible(m.Summary, maxText)
	values["url"] = destination.WebLink(m.URL)
	values["author"] = destination.LegibleLine(m.Author, maxName)
	values["categories"] = linesOf(m.Categories)
	values["language"] = destination.LegibleLine(m.Language, maxName)
	values["guid"] = destination.LegibleLine(m.GUID, maxGUID)
	values["feed"] = destination.LegibleLine(m.FeedTitle, maxName)
	values["provider"] = destination.LegibleLine(m.Provider, maxName)
	values["model"] = destination.LegibleLine(m.Model, maxName)
	values["source"], values["ns"], values["item"], values["key"] = m.Source, m.Namespace, m.Item, m.Key
	if year := m.Published.UTC().Year(); !m.Published.IsZero() && year > 0 && year <= 9999 {
		values["published"] = types.Timestamp{Time: m.Published.UTC()}
	}
	if values["title"] == "" && values["summary"] == "" && values["url"] == "" {
		return destination.Post{}, failure.New(v1alpha1.CategoryValidation, failure.TypeEmpty,
			"There is nothing to send: the item has no title, no summary and no link.")
	}
	return w.write(values)
}

// ComposeNotice makes the body for a notice. The error is as that of Compose.
func (w *Writer) ComposeNotice(n destination.Notice, _ destination.Limits) (destination.Post, error) {
	values := blank(kindNotification)
	values["title"] = destination.LegibleLine(n.Subject, maxLine)
	values["url"] = destination.WebLink(n.URL)
	values["entry"] = destination.LegibleLine(n.Title, maxLine)
	values["error"] = destination.Legible(n.Error, maxText)
	values["facts"] = destination.LegibleLine(n.Facts, maxLine)
	values["advice"] = destination.LegibleLine(n.Advice, maxLine)
	values["source"], values["ns"], values["item"], values["key"] = n.Source, n.Namespace, n.Item, n.Key
	values["language"] = "en"
	var lines []string
	for _, name := range []string{"entry", "error", "facts", "advice"} {
		line := values[name].(string)
		if line != "" && name == "error" {
			line = "Last error: " + line
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	values["summary"] = strings.Join(lines, "\n")
	return w.write(values)
}

// blank are the variables of something of which nothing is known.
func blank(kind string) map[string]any {
	values := map[string]any{}
	for _, known := range variables {
		values[known.name] = ""
	}
	values["kind"], values["categories"], values["published"] = kind, []string{}, types.NullValue
	return values
}

func linesOf(categories []string) []string {
	lines := []string{}
	for _, category := range categories[:min(len(categories), maxCategories)] {
		if category = destination.LegibleLine(category, maxName); category != "" {
			lines = append(lines, category)
		}
	}
	return lines
}

// write evaluates the expression.
func (w *Writer) write(values map[string]any) (destination.Post, error) {
	link := values["url"].(string)
	if w.format.link > 0 && len(slack(link)) > w.format.link {
		return destination.Post{}, failure.New(v1alpha1.CategoryValidation, failure.TypeTooLong,
			fmt.Sprintf("The link of the item has %d characters, more than %s takes.", len(link), w.name))
	}
	given, _, err := w.program.Eval(values)
	if err != nil {
		return destination.Post{}, failure.Wrap(v1alpha1.CategoryValidation, failure.TypeUnsupported,
			"The body cannot be made: "+w.because(err, values)+".", err)
	}
	text, err := toJSON(given)
	if errors.Is(err, errTooLarge) || err == nil && w.format.most > 0 && max(len(text), 2*size(text)) > w.format.most {
		most := maxBody
		if w.format.most > 0 {
			most = w.format.most
		}
		return destination.Post{}, failure.New(v1alpha1.CategoryValidation, failure.TypeTooLong,
			fmt.Sprintf("The body has more than %d bytes.", most))
	}
	if err != nil {
		return destination.Post{}, failure.Wrap(v1alpha1.CategoryValidation, failure.TypeUnsupported,
			"The body cannot be made: "+err.Error()+".", err)
	}
	return destination.Post{Text: text, Link: link, Language: values["language"].(string)}, nil
}

// because returns why an evaluation has failed, in words that repeat nothing of the item.
func (w *Writer) because(err error, values map[string]any) string {
	if w.dated && values["published"] == types.NullValue && strings.Contains(err.Error(), "no such overload") {
		return `there is no date (published is null); handle that explicitly: published == null ? … : …`
	}
	return expression.Reason(err)
}

// shortened is a name for a message.
func shortened(name string) string {
	const most = 60
	if utf8.RuneCountInString(name) <= most {
		return name
	}
	return string([]rune(name)[:most]) + "…"
}
