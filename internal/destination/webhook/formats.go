// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"strings"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// format is how a service takes a body: an expression as users write them, and what the service takes at most.
type format struct {
	body string
	// most is how many bytes it takes, in UTF-8 or UTF-16.
	most int
	// link is how many characters a link may have, each & counted as &amp;.
	link int
}

// formats are those that there are. What strangers have written is plain in those of chats.
var formats = map[v1alpha1.WebhookFormat]format{
	v1alpha1.WebhookJSON: {body: standard},

	// https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/formats/json-format.md
	v1alpha1.WebhookCloudEvents: {body: `{
		"specversion": "1.0",
		"id": key,
		"source": "/namespaces/" + ns + (source == "" ? "" : "/feedsources/" + source),
		"type": "io.feed-operator.feeds." + (kind == "Item" ? "item.summarized" : item == "" ? "notification" : "item.failed") + ".v1",
		` + given("subject=item", "time=published") + `,
		"datacontenttype": "application/json",
		"data": ` + standard + `}`},

	// https://docs.slack.dev/reference/block-kit/blocks: a header has 150 characters, a text 3,000. The text beside the blocks is for
	// notifications on a screen. Nothing is read in a plain_text.
	v1alpha1.WebhookSlack: {link: 2_990, body: `{
		"text": [` + heading + `.escapeSlack(300), ` + words + `.escapeSlack(3000), url == "" ? "" : "<" + url.escapeSlack() + ">"]
			.filter(t, t != "").join("\n"),
		"blocks": [{"type": "header", "text": {"type": "plain_text", "emoji": false, "text": ` + heading + `.cut(150)}}]
			+ (` + words + ` == "" ? [] : [{"type": "section", "text": {"type": "plain_text", "emoji": false, "text": ` + words + `.cut(3000)}}])
			+ (url == "" ? [] : [{"type": "section", "text": {"type": "mrkdwn", "verbatim": true, "text": "<" + url.escapeSlack() + ">"}}])}`},

	// https://discord.com/developers/docs/resources/message#embed-object-embed-limits: 256 and 4,096 characters, 6,000 together.
	v1alpha1.WebhookDiscord: {link: 2_048, body: `{
		"allowed_mentions": {"parse": []},
		"embeds": [{
			"title": ` + heading + `.escapeMarkdown(256),
			?"description": optional.ofNonZeroValue(` + words + `.escapeMarkdown(4096)),
			` + given("url") + `}]}`},

	// https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using: 28 KB, as UTF-8 or UTF-16.
	// Markdown is read in a TextBlock, not in a RichTextBlock. Each line is one, so that it is a line for every client.
	v1alpha1.WebhookTeams: {most: 28_000, link: 2_048, body: `{
		"type": "message",
		"attachments": [{
			"contentType": "application/vnd.microsoft.card.adaptive",
			"contentUrl": null,
			"content": {
				"$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
				"type": "AdaptiveCard",
				"version": "1.4",
				"body": [{"type": "RichTextBlock", "inlines": [
						{"type": "TextRun", "size": "Medium", "weight": "Bolder", "text": ` + heading + `.cut(300)}]}]
					+ ` + words + `.cut(6000).split("\n", 40).filter(line, line != "")
						.map(line, {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": line}]}),
				"actions": url == "" ? [] : [{"type": "Action.OpenUrl", "title": "Open", "url": url}]}}]}`},

	// https://developers.mattermost.com/integrate/webhooks/incoming: 16,383 characters. A name after an @ is called in a link, too.
	v1alpha1.WebhookMattermost: {link: 4_096, body: `{
		"text": ["**" + ` + heading + `.escapeMarkdown(1000) + "**", ` + words + `.escapeMarkdown(10000), url.replace("@", "%40")]
			.filter(t, t != "").join("\n\n")}`},

	// https://developers.google.com/workspace/chat/api/reference/rest/v1/cards: 32,000 bytes. HTML is read in a paragraph, not in a
	// title. A card has at least one paragraph.
	v1alpha1.WebhookGoogleChat: {most: 32_000, link: 2_048, body: `{
		"fallbackText": ` + heading + `.cut(200),
		"cardsV2": [{"cardId": "item", "card": {
			"header": {"title": ` + heading + `.cut(200)},
			"sections": [{"widgets":
				[dyn({"textParagraph": {"text": [` + words + `, ` + heading + `].filter(t, t != "")[0].escapeHTML(8000)}})]
				+ (url == "" ? [] : [dyn({"buttonList": {"buttons": [{"text": "Open", "onClick": {"openLink": {"url": url}}}]}})])}]}}]}`},
}

// standard is the operator's own format: docs/schemas/webhook-v1.json.
var standard = `{"version": "1", "kind": kind, "idempotencyKey": key, ` +
	given("title", "summary", "url", "guid", "author", "categories", "published", "language", "item", "entry", "error", "facts", "advice") + `,
	?"feed": optional.ofNonZeroValue({` + given("title=feed", "source", "namespace=ns") + `}),
	?"generatedBy": optional.ofNonZeroValue({` + given("provider", "model") + `})}`

const (
	// heading is the title, or who has written what has none.
	heading = `[title.plain(), feed.plain(), source, "News"].filter(t, t != "")[0]`
	// words are the summary. What a notification advises, at its end, is the operator's own, and a command in it must be whole where
	// it is copied.
	words = `(advice == "" ? summary.plain() : (summary.substring(0, summary.size() - advice.size()).plain() + "\n" + advice).trim())`
)

// given are the fields of an object that are there if a variable says something: "field=variable", or the name of both.
func given(fields ...string) string {
	all := make([]string, 0, len(fields))
	for _, field := range fields {
		name, variable, other := strings.Cut(field, "=")
		if !other {
			variable = name
		}
		all = append(all, `?"`+name+`": optional.ofNonZeroValue(`+variable+`)`)
	}
	return strings.Join(all, ", ")
}
