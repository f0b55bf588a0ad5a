// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/prose"
	"github.com/feed-operator/feed-operator/internal/terminal"
)

const (
	// labelWidth is the column in which what is said begins.
	labelWidth = 13
	// textWidth is how wide a text may be after the label and its border.
	textWidth = 100 - labelWidth - 2
	// firstLines is how much is shown of an article.
	firstLines = 4
	// longestList is how many dropped entries are named.
	longestList = 10
)

// Printer writes a preview for a person. Everything that others have written is made plain.
type Printer struct {
	To  io.Writer
	err error
}

// Err is the first error of writing.
func (p *Printer) Err() error { return p.err }

func (p *Printer) write(format string, arguments ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.To, format, arguments...)
	}
}

// say writes a labelled line, wrapped where it is long.
func (p *Printer) say(label, text string) {
	if text == "" {
		return
	}
	for i, line := range terminal.Wrap(terminal.Line(text), textWidth) {
		if i > 0 {
			label = ""
		}
		p.write("%s%s\n", pad(label), line)
	}
}

// quote writes a text with a border.
func (p *Printer) quote(text string, most int) {
	lines := terminal.Wrap(strings.TrimSpace(terminal.Plain(text)), textWidth)
	for i, line := range lines {
		if most > 0 && i == most && len(lines) > most+1 {
			p.write("%s│ … (%d more lines)\n", pad(""), len(lines)-most)
			return
		}
		p.write("%s\n", strings.TrimRight(pad("")+"│ "+line, " "))
	}
}

func pad(label string) string {
	return "  " + label + strings.Repeat(" ", max(labelWidth-2-terminal.Width(label), 1))
}

// Feed writes what was read.
func (p *Printer) Feed(source *v1alpha1.FeedSource, read *Feed) {
	document := read.Document
	p.write("%s\n", terminal.Clip(terminal.Line(source.Name+" · "+document.Title), textWidth))
	p.say("Feed", failure.Mask(source.Spec.URL))
	p.say("Format", fmt.Sprintf("%s, %s", document.Format, entries(len(document.Entries))))
	if read.MovedTo != "" {
		p.say("Moved", "for good, to "+failure.Mask(read.MovedTo)+": set spec.url to that")
	}
	p.say("Warning", document.Warning())
	p.say("First poll", firstPoll(read))
	p.say("Filters", read.FiltersFailing)
	if len(read.Entries) != read.Created {
		p.say("Shown", fmt.Sprintf("the newest %s (--entries)", entries(len(read.Entries))))
	}
	for i, dropped := range read.Dropped {
		if i == longestList {
			p.say("", fmt.Sprintf("and %d more", len(read.Dropped)-i))
			break
		}
		p.say("Dropped", titleOf(dropped.Entry)+": "+dropped.Why)
	}
	if source.UID == "" && len(read.Entries) > 0 {
		p.say("Names", "the end of an item's name follows from the UID that the cluster gives the source, so it will be another one")
	}
}

func firstPoll(read *Feed) string {
	said := fmt.Sprintf("%s become items, the oldest first", entries(read.Created))
	if read.Created == 1 {
		said = "1 entry becomes an item"
	}
	if read.Remembered > 0 {
		said += fmt.Sprintf("; %s only remembered as seen (spec.initialItems)", entries(read.Remembered))
	}
	if n := len(read.Dropped); n > 0 {
		said += fmt.Sprintf("; %s dropped by spec.filters", entries(n))
	}
	return said
}

func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// Entry writes what is known of an entry before the work on it.
func (p *Printer) Entry(number, of int, entry *Entry) {
	p.write("\n%s\n", terminal.Clip(terminal.Line(fmt.Sprintf("%d/%d · %s", number, of, titleOf(entry.Entry))), textWidth))
	p.say("Item", entry.Item.Name)
	p.say("Known by", entry.KnownBy)
	p.say("Link", entry.Item.Spec.URL)
	if published := entry.Item.Spec.PublishedTime; published != nil {
		p.say("Published", published.UTC().Format(time.RFC3339))
	} else {
		p.say("Published", "the feed gives no usable date: the time at which the entry is first seen counts")
	}
	p.say("Author", entry.Item.Spec.Author)
	p.say("Categories", strings.Join(entry.Item.Spec.Categories, ", "))
}

// Outcome writes what the work on an entry has come to.
func (p *Printer) Outcome(source *v1alpha1.FeedSource, done *Outcome) {
	if text := done.Article; text != nil {
		where := "from the page"
		if text.FromFeed {
			where = "from the feed"
		}
		if text.Text == "" {
			p.say("Article", "a PDF document without a text, "+where)
		} else {
			p.say("Article", fmt.Sprintf("%d characters, %s", prose.Count(text.Text), where))
			p.quote(text.Text, firstLines)
		}
	}
	for _, failed := range done.Failed {
		p.say("Failed", failed)
	}
	if verdict := done.Screening; verdict != nil {
		p.say("Screening", fmt.Sprintf("%s, says %s: %s", verdictWords(verdict), verdict.Provider, verdict.Explanation))
	}
	if summary := done.Summary; summary != nil {
		by := summary.Provider
		if summary.Tokens > 0 {
			by += fmt.Sprintf(" (%s, %d tokens)", summary.Model, summary.Tokens)
		}
		p.say("Summary", fmt.Sprintf("by %s, %d of %d characters", by, prose.Count(summary.Text), source.MaxCharacters()))
		p.quote(summary.Text, 0)
	}
	p.say("Then", consequence(done))
	for i := range done.Posts {
		p.post(&done.Posts[i])
	}
}

func verdictWords(verdict *v1alpha1.Screening) string {
	switch {
	case !verdict.Valuable:
		return "not worth a summary"
	case !verdict.Complete:
		return "not complete yet"
	}
	return "worth a summary"
}

// consequence returns what would become of the item where it is not summarized now.
func consequence(done *Outcome) string {
	said := ""
	switch done.Reason {
	case v1alpha1.ReasonNone:
		return ""
	case v1alpha1.ReasonLargeFileSkipped, v1alpha1.ReasonNoContent:
		said = "the item ends Processed without a summary"
	case v1alpha1.ReasonInvalidContent:
		said = "the item ends Failed"
	case v1alpha1.ReasonWaiting:
		said = "the item waits, which costs no retry"
	case v1alpha1.ReasonNotValuable:
		said = "the item is Deferred, looked at again when its page has changed, and in the end not posted"
	default:
		said = "the item is Deferred, and tried again"
	}
	said += " (" + string(done.Reason) + ")"
	if done.Problem != "" {
		said += ": " + done.Problem
	}
	return said
}

func (p *Printer) post(post *Post) {
	if post.Problem != "" {
		p.say("Post", post.Destination+": none. "+post.Problem)
		return
	}
	if post.Format != "" {
		p.body(post)
		return
	}
	facts := []string{fmt.Sprintf("%s: %d of %d characters", post.Destination, post.Length, post.Limit)}
	for _, fact := range []string{post.Visibility, post.Language, post.Account} {
		if fact != "" {
			facts = append(facts, fact)
		}
	}
	p.say("Post", strings.Join(facts, " · "))
	if post.Assumed != "" {
		p.say("", fmt.Sprintf("(the limit is assumed, because the server was not asked: %s)", post.Assumed))
	}
	if post.ContentWarning != "" {
		p.quote("[content warning] "+post.ContentWarning, 0)
	}
	p.quote(post.Text, 0)
	if image := post.Image; image != nil {
		said := "would be attached: " + failure.Mask(image.URL)
		if image.Description == "" {
			said += " (without an alternative text)"
		}
		p.say("Image", said)
		p.quote(image.Description, 0)
	}
}

// body writes what a webhook is sent, in one line, as it is.
func (p *Printer) body(post *Post) {
	how := "in a request of its own"
	if post.Batch != nil {
		how = fmt.Sprintf("in a batch of up to %d, which waits %s at most", post.Batch.Items(), post.Batch.Wait())
	}
	p.say("Post", fmt.Sprintf("%s: %s, %s", post.Destination, post.Format, how))
	if post.Assumed != "" {
		p.say("", fmt.Sprintf("(it could not be sent: %s)", post.Assumed))
	}
	if post.NewKey {
		p.say("", "(the idempotency key follows from the UID that the cluster gives the item, so it will be another one)")
	}
	p.write("%s\n", terminal.Plain(post.Text))
}
