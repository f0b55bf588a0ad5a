// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"encoding/json"
	"html"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf16"

	cloudevents "github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/slack-go/slack"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/destination/webhook"
	"github.com/feed-operator/feed-operator/internal/portion"
)

func init() { portion.Draws(25) }

var (
	chats = []v1alpha1.WebhookFormat{v1alpha1.WebhookSlack, v1alpha1.WebhookDiscord, v1alpha1.WebhookTeams, v1alpha1.WebhookMattermost, v1alpha1.WebhookGoogleChat}
	all   = append([]v1alpha1.WebhookFormat{v1alpha1.WebhookJSON, v1alpha1.WebhookCloudEvents}, chats...)
)

const link = "https://www.example.org/a_b/(c)?d=1&e=*2*&f=[3]"

// hostile is an item that tries everything.
func hostile() destination.Material {
	marks := "\"quoted\" 😀👨‍👩‍👧 *bold* _it_ ~no~ `code` ||spoiler|| > quote\n# head\n- list\n1. one\n=== \n---\n" +
		"<!channel> <!here|here> <@U1> <@&12> <#C1> <users/all> &lt;!channel&gt; @everyone @here @channel @all @U1 #tag " +
		"[click](https://evil.com/x) <https://evil.com|me> ![i](http://evil.com/i.png) evil.com \\*slash\\ " +
		"{{DATE(2026-01-01T00:00:00Z)}} <b>bold</b> <script>alert(1)</script> \u202egnp.exe\u202c \u2067hidden\u2069\u200b\x00\x07\ufeff"
	return destination.Material{
		Title: "Title: " + strings.ReplaceAll(marks, "\n", " "), Summary: "Summary. " + marks, URL: link, Author: "Ann @everyone <!here>", FeedTitle: "News <@U1>",
		Language: "en", Categories: []string{"a", "@b", ""}, Published: time.Date(2026, 4, 1, 23, 30, 0, 0, time.FixedZone("", 9*3600)), GUID: "tag:example.org,2026:1",
		Namespace: "news", Source: "press", Item: "press-1", Provider: "gemini", Model: "gemini-3-flash", Key: "4f1a2b3c",
	}
}

func notice() destination.Notice {
	from := hostile()
	return destination.Notice{
		Subject: "Failed for good: FeedItem news/press-1", Title: from.Title, Error: from.Summary, Facts: "First attempt: 2026-05-04 01:30:00 UTC; retries: 5",
		Key: "9c8b", URL: link, Advice: "To retry: kubectl -n news annotate feeditem press-1 feeds.feed-operator.io/retry=$(date +%s) --overwrite",
		Namespace: "news", Source: "press", Item: "press-1",
	}
}

func writer(t interface {
	Helper()
	Fatal(...any)
}, format v1alpha1.WebhookFormat, body string) *webhook.Writer {
	t.Helper()
	made, err := webhook.NewWriter(format, body)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// schemas are those of the formats, by their names.
func schemas(t *testing.T) map[v1alpha1.WebhookFormat]*jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	const own = "../../../docs/schemas/webhook-v1.json"
	for _, name := range append(files, own) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		schema, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
		if err != nil {
			t.Fatal(name, err)
		}
		if name == own {
			delete(schema.(map[string]any), "$id") // it is found beside those that refer to it
		}
		if err := compiler.AddResource("file:///"+filepath.Base(name), schema); err != nil {
			t.Fatal(err)
		}
	}
	compiled := map[v1alpha1.WebhookFormat]*jsonschema.Schema{}
	for _, format := range all {
		name := string(format) + ".json"
		if format == v1alpha1.WebhookJSON {
			name = filepath.Base(own)
		}
		if compiled[format], err = compiler.Compile("file:///" + name); err != nil {
			t.Fatal(err)
		}
	}
	return compiled
}

func decoded(t interface {
	Helper()
	Fatalf(string, ...any)
}, text string) map[string]any {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return body
}

// texts are the texts in a body, by where they stand.
func texts(value any, at string, found map[string]string) map[string]string {
	switch v := value.(type) {
	case string:
		found[strings.TrimPrefix(at, ".")] = v
	case []any:
		for i, element := range v {
			texts(element, at+"."+strconv.Itoa(i), found)
		}
	case map[string]any:
		for key, element := range v {
			if key == "text" && v["type"] == "mrkdwn" {
				key = "mrkdwn"
			}
			texts(element, at+"."+key, found)
		}
	}
	return found
}

// lengths are what the services take at most, by where texts stand.
var lengths = map[v1alpha1.WebhookFormat]map[*regexp.Regexp]int{
	v1alpha1.WebhookSlack: {
		regexp.MustCompile(`^text$`): 40_000, regexp.MustCompile(`^blocks\.0\.text\.text$`): 150, regexp.MustCompile(`^blocks\..\.text\.(text|mrkdwn)$`): 3_000,
	},
	v1alpha1.WebhookDiscord:    {regexp.MustCompile(`title$`): 256, regexp.MustCompile(`description$`): 4_096, regexp.MustCompile(`url$`): 2_048},
	v1alpha1.WebhookMattermost: {regexp.MustCompile(`^text$`): 16_383},
}

// bytesTaken are what the services take at most of a body.
var bytesTaken = map[v1alpha1.WebhookFormat]int{v1alpha1.WebhookTeams: 28 << 10, v1alpha1.WebhookGoogleChat: 32_000}

type reporter interface {
	Helper()
	Errorf(string, ...any)
	Fatalf(string, ...any)
}

// checkFits checks that a service takes a body: its schema, and its lengths as it may count.
func checkFits(t reporter, schema *jsonschema.Schema, format v1alpha1.WebhookFormat, text string) {
	t.Helper()
	body := decoded(t, text)
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v", err)
	}
	if err := schema.Validate(parsed); err != nil {
		t.Errorf("%s: %v\n%s", format, err, text)
	}
	for at, found := range texts(body, "", map[string]string{}) {
		for where, most := range lengths[format] {
			if count := len(utf16.Encode([]rune(found))); where.MatchString(at) && count > most {
				t.Errorf("%s: %s has %d characters, at most %d", format, at, count, most)
			}
		}
	}
	if most := bytesTaken[format]; most > 0 && max(len(text), 2*len(utf16.Encode([]rune(text)))) > most {
		t.Errorf("%s: %d bytes, at most %d", format, len(text), most)
	}
	if len(text) > 256<<10 {
		t.Errorf("%s: %d bytes", format, len(text))
	}
}

var (
	calls = regexp.MustCompile(`<[!@#&]|<users/|(^|[^\w./])@(everyone|here|channel|all|U1|b)\b`)
	leads = regexp.MustCompile(`(?i)://evil|www\.evil|\bevil\.com($|[^0-9A-Za-z+@-])`)
	marks = "*_~`|>#[]()"

	escaped  = regexp.MustCompile(`\\[\\*_~` + "`" + `|>#\[\]()]`)
	markedUp = regexp.MustCompile(`(?m)^([-+=\t ]|\d+[.)])|&#?\w+;|<[^\x{2060}]`)
)

// checkHarmless checks that nobody is called and nothing foreign is linked by a body of a chat, and nothing of it read as markup.
func checkHarmless(t reporter, format v1alpha1.WebhookFormat, text, link string) {
	t.Helper()
	for at, found := range texts(decoded(t, text), "", map[string]string{}) {
		if strings.HasSuffix(at, "url") || strings.HasSuffix(at, "$schema") || strings.HasSuffix(at, "contentType") {
			continue
		}
		read := found
		if link != "" {
			for _, own := range []string{"<" + html.EscapeString(link) + ">", strings.ReplaceAll(link, "@", "%40")} {
				read = strings.ReplaceAll(read, strings.ReplaceAll(own, "&#39;", "'"), "")
			}
		}
		if bad := calls.FindString(read); bad != "" {
			t.Errorf("%s: %s calls %q: %q", format, at, bad, found)
		}
		if bad := leads.FindString(read); bad != "" {
			t.Errorf("%s: %s leads to %q: %q", format, at, bad, found)
		}
		checkLegible(t, read)
		switch {
		case format == v1alpha1.WebhookSlack && (at == "text" || strings.HasSuffix(at, "mrkdwn")),
			format == v1alpha1.WebhookGoogleChat && strings.Contains(at, "textParagraph"):
			if strings.ContainsAny(read, "<>") {
				t.Errorf("%s: %s is read as markup: %q", format, at, found)
			}
		case format == v1alpha1.WebhookDiscord || format == v1alpha1.WebhookMattermost:
			read = escaped.ReplaceAllString(read, "x")
			if format == v1alpha1.WebhookMattermost {
				head, rest, _ := strings.Cut(read, "\n\n")
				read = strings.TrimSuffix(strings.TrimPrefix(head, "**"), "**") + "\n" + rest
			}
			if strings.ContainsAny(read, marks+`\`) || markedUp.MatchString(read) {
				t.Errorf("%s: %s is read as markup: %q of %q", format, at, read, found)
			}
		}
	}
}

// checkLegible checks that a text says what it shows.
func checkLegible(t reporter, text string) {
	t.Helper()
	if strings.ContainsFunc(text, func(r rune) bool {
		return r != '\n' && (unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Bidi_Control, r) || r == '\ufeff' || r == '\u200b' || r == unicode.ReplacementChar)
	}) {
		t.Errorf("something is hidden in %q", text)
	}
}

// R4.2: whatever stands in an item, the service takes the body, nobody is called, nothing is read as markup, the only link is the
// item's, whole; and the same material gives the same bytes.
func TestBodiesOfChatsAreHarmless(t *testing.T) {
	t.Parallel()
	compiled := schemas(t)
	long := hostile()
	long.Title, long.Summary = strings.Repeat(long.Title, 20), strings.Repeat(long.Summary, 20)
	marked, japanese, emoji, bare := hostile(), hostile(), hostile(), hostile()
	marked.Title, marked.Summary = strings.Repeat(`*"<&\`, 500), strings.Repeat(`*"<&\`, 2_000)
	japanese.Title, japanese.Summary = strings.Repeat("河川の水位", 200), strings.Repeat("水位は下がった。", 1_250)
	emoji.Title, emoji.Summary = strings.Repeat("👨‍👩‍👧", 300), strings.Repeat("👨‍👩‍👧😀", 1_600)
	bare.Title, bare.Summary = "@everyone", ""
	// More than any service takes: in part, each of them in one format at least.
	formats, endless := map[string]*webhook.Writer{}, map[string]destination.Material{
		"everything time and again": long, "marks alone": marked, "Japanese": japanese, "emoji": emoji,
		"many lines": {Title: "t", Summary: strings.Repeat("a\n", 5_000), URL: link, Key: "k", Namespace: "news"},
	}
	for _, format := range all {
		formats[string(format)] = writer(t, format, "")
	}
	short := map[string]destination.Material{
		"everything": hostile(), "a title that is only a call": bare,
		"a link alone":    {URL: link, Source: "press", Namespace: "news", Key: "k"},
		"a summary alone": {Summary: "It is so.", Source: "press", Namespace: "news", Key: "k"},
		"a person's page": {Title: "t", URL: "https://m.example/@channel?to=@all", Key: "k", Namespace: "news"},
	}
	for name, of := range formats {
		format, materials := v1alpha1.WebhookFormat(name), maps.Clone(short)
		maps.Copy(materials, portion.Across(name, formats, endless))
		for name, material := range materials {
			t.Run(string(format)+": "+name, func(t *testing.T) {
				t.Parallel()
				post, err := of.Compose(material, destination.Limits{MaxCharacters: 10})
				if err != nil {
					t.Fatal(err)
				}
				checkFits(t, compiled[format], format, post.Text)
				if slices.Contains(chats, format) {
					checkHarmless(t, format, post.Text, post.Link)
				}
				if want := destination.WebLink(material.URL); post.Link != want || !hasLink(t, format, post.Text, want) {
					t.Errorf("the link %q is not in %s", want, post.Text)
				}
				again, err := writer(t, format, "").Compose(material, destination.Limits{})
				if diff := cmp.Diff(post, again); err != nil || diff != "" {
					t.Errorf("it differs: %v %s", err, diff)
				}
			})
		}
	}
}

// hasLink reports whether a text of a body, or one of its lines, is the link as the service writes it.
func hasLink(t reporter, format v1alpha1.WebhookFormat, text, link string) bool {
	t.Helper()
	if link == "" {
		return true
	}
	written := link
	switch format {
	case v1alpha1.WebhookSlack:
		written = "<" + strings.ReplaceAll(link, "&", "&amp;") + ">"
	case v1alpha1.WebhookMattermost:
		written = strings.ReplaceAll(link, "@", "%40")
	default:
	}
	for _, found := range texts(decoded(t, text), "", map[string]string{}) {
		if slices.Contains(strings.Split(found, "\n"), written) {
			return true
		}
	}
	return false
}

// R4.2: a notification is told in each format, and what it advises can be copied.
func TestNotificationsAreTold(t *testing.T) {
	t.Parallel()
	compiled := schemas(t)
	for _, format := range all {
		for name, told := range map[string]destination.Notice{
			"an item": notice(),
			"credentials": {Subject: "Credentials refused: AIProvider news/gemini", Error: "401", Key: "k", Namespace: "news",
				Facts: "You are notified once.", Advice: "To do: correct the Secret gemini."},
			"hardly anything": {Subject: "Failed", Key: "k", Namespace: "news"},
		} {
			t.Run(string(format)+": "+name, func(t *testing.T) {
				t.Parallel()
				post, err := writer(t, format, "").ComposeNotice(told, destination.Limits{})
				if err != nil {
					t.Fatal(err)
				}
				checkFits(t, compiled[format], format, post.Text)
				if slices.Contains(chats, format) {
					checkHarmless(t, format, strings.ReplaceAll(post.Text, "$(date", "$date"), post.Link)
				}
				shown := ""
				for _, text := range texts(decoded(t, post.Text), "", map[string]string{}) {
					shown += html.UnescapeString(regexp.MustCompile(`\\([[:punct:]])`).ReplaceAllString(text, "$1")) + "\n"
				}
				for _, want := range []string{told.Subject, told.Facts, told.Advice} {
					if !strings.Contains(strings.ReplaceAll(shown, "\u2060", ""), want) {
						t.Errorf("%q is missing in %s", want, shown)
					}
				}
				if !strings.Contains(shown, told.Advice) { // to be copied
					t.Errorf("the advice is not as it was in %q", shown)
				}
			})
		}
	}
}

// R4.2: who reads JSON gets the text as it is, without what cannot be seen.
func TestTheJSONFormatIsAsWritten(t *testing.T) {
	t.Parallel()
	post, err := writer(t, "", "").Compose(hostile(), destination.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	body := decoded(t, post.Text)
	want := map[string]any{
		"version": "1", "kind": "Item", "idempotencyKey": "4f1a2b3c", "url": link, "guid": "tag:example.org,2026:1", "author": "Ann @everyone <!here>",
		"categories": []any{"a", "@b"}, "published": "2026-04-01T14:30:00Z", "language": "en", "item": "press-1",
		"feed":        map[string]any{"title": "News <@U1>", "source": "press", "namespace": "news"},
		"generatedBy": map[string]any{"provider": "gemini", "model": "gemini-3-flash"},
		"title":       body["title"], "summary": body["summary"],
	}
	if diff := cmp.Diff(want, body); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"title", "summary"} {
		text := body[name].(string)
		checkLegible(t, text)
		for _, part := range []string{"\"quoted\" 😀👨‍👩‍👧 *bold*", "<!channel>", "@everyone", "#tag", "[click](https://evil.com/x)", "<script>", "gnp.exe"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s has no %q: %s", name, part, text)
			}
		}
	}
	if strings.Contains(post.Text, `\u003c`) || !strings.HasPrefix(post.Text, `{"author":`) {
		t.Errorf("it is not as it should be written: %s", post.Text)
	}
	told, err := writer(t, "", "").ComposeNotice(notice(), destination.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	body = decoded(t, told.Text)
	lines := strings.Split(body["summary"].(string), "\n")
	if body["kind"] != "Notification" || body["title"] != notice().Subject || body["facts"] != notice().Facts || body["advice"] != notice().Advice ||
		lines[0] != body["entry"] || !strings.HasPrefix(lines[1], "Last error: Summary.") || lines[len(lines)-1] != notice().Advice {
		t.Errorf("told: %s", told.Text)
	}
}

// R4.2: what others have written reads the events.
func TestCloudEventsAreRead(t *testing.T) {
	t.Parallel()
	of := writer(t, v1alpha1.WebhookCloudEvents, "")
	told := notice()
	told.Source, told.Item = "", ""
	for name, test := range map[string]struct {
		make                       func() (destination.Post, error)
		kind, source, subject, key string
		dated                      bool
	}{
		"an item": {func() (destination.Post, error) { return of.Compose(hostile(), destination.Limits{}) },
			"io.feed-operator.feeds.item.summarized.v1", "/namespaces/news/feedsources/press", "press-1", "4f1a2b3c", true},
		"an item that has failed": {func() (destination.Post, error) { return of.ComposeNotice(notice(), destination.Limits{}) },
			"io.feed-operator.feeds.item.failed.v1", "/namespaces/news/feedsources/press", "press-1", "9c8b", false},
		"a service": {func() (destination.Post, error) { return of.ComposeNotice(told, destination.Limits{}) },
			"io.feed-operator.feeds.notification.v1", "/namespaces/news", "", "9c8b", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			post, err := test.make()
			if err != nil {
				t.Fatal(err)
			}
			var event cloudevents.Event
			if err := json.Unmarshal([]byte(post.Text), &event); err != nil {
				t.Fatal(err)
			}
			if err := event.Validate(); err != nil {
				t.Error(err)
			}
			if event.Type() != test.kind || event.Source() != test.source || event.Subject() != test.subject || event.ID() != test.key {
				t.Errorf("event %s", event)
			}
			if at := event.Time(); test.dated != at.Equal(hostile().Published) || test.dated == at.IsZero() {
				t.Errorf("time %s", at)
			}
			data := map[string]any{}
			if err := event.DataAs(&data); err != nil || data["version"] != "1" || data["idempotencyKey"] != test.key {
				t.Errorf("data %v, %v", data, err)
			}
		})
	}
}

// R4.2: what others have written for Slack reads the blocks.
func TestSlackBlocksAreRead(t *testing.T) {
	t.Parallel()
	post, err := writer(t, v1alpha1.WebhookSlack, "").Compose(hostile(), destination.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var message slack.WebhookMessage
	if err := json.Unmarshal([]byte(post.Text), &message); err != nil {
		t.Fatal(err)
	}
	var kinds []slack.MessageBlockType
	for _, block := range message.Blocks.BlockSet {
		kinds = append(kinds, block.BlockType())
		if section, is := block.(*slack.SectionBlock); is {
			if err := section.Text.Validate(); err != nil {
				t.Error(err)
			}
		}
	}
	if !slices.Equal(kinds, []slack.MessageBlockType{slack.MBTHeader, slack.MBTSection, slack.MBTSection}) {
		t.Errorf("blocks %v", kinds)
	}
}

// R4.2: a link that a service does not take is never cut.
func TestALinkIsNeverCut(t *testing.T) {
	t.Parallel()
	long := hostile()
	long.URL = "https://www.example.org/" + strings.Repeat("雪", 3_000)
	for _, format := range all {
		post, err := writer(t, format, "").Compose(long, destination.Limits{})
		switch slices.Contains(chats, format) {
		case true:
			if err == nil || !strings.Contains(err.Error(), "The link of the item has 27024 characters, more than "+string(format)+" takes.") {
				t.Errorf("%s: %v", format, err)
			}
		case false:
			if err != nil || !hasLink(t, format, post.Text, destination.WebLink(long.URL)) {
				t.Errorf("%s: %v", format, err)
			}
		}
	}
}
