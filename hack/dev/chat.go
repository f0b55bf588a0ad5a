// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/feed-operator/feed-operator/internal/terminal"
	"github.com/feed-operator/feed-operator/internal/webhooktest"
)

// chatAddress is where the stand-in for a chat is, unless the port is taken.
const chatAddress = "127.0.0.1:8090"

// The destinations of the samples that are webhooks: a chat, whose Secret has the same name, and a program.
const (
	chatSample = "chat"
	opsSample  = "ops"
)

// chat takes what is sent to webhooks, as a chat and as a program do, on this machine. Its page shows what has arrived.
type chat struct {
	*webhooktest.Server
	arrivals
}

func startChat(ctx context.Context) (*chat, error) {
	address, err := freeAddress(ctx, chatAddress)
	if err != nil {
		return nil, err
	}
	c := &chat{Server: webhooktest.NewUnstarted(webhooktest.Options{Address: address, Answer: "ok"})}
	return c, c.Start() //nolint:contextcheck // it serves until it is closed
}

// urlOf is where a destination of the samples sends to.
func (c *chat) urlOf(sample string) string { return c.URL + "/" + sample }

// showMessages shows each message as it arrives, until ctx ends.
func (c *chat) showMessages(ctx context.Context, show func(text string)) {
	for {
		if _, err := c.Await(ctx, c.showNew(show)+1); err != nil {
			return
		}
	}
}

// showNew shows the messages that were not shown yet, and returns how many were shown in all.
func (c *chat) showNew(show func(text string)) int {
	taken := c.Taken()
	return c.upTo(len(taken), func(i int) { show(readableMessage(taken[i], i+1, c.URL+"/")) })
}

// readableMessage is what has arrived at a webhook as a person reads it in a terminal.
func readableMessage(message webhooktest.Delivery, number int, address string) string {
	to := strings.Trim(terminal.Line(message.Path), "/")
	return framed([]string{fmt.Sprintf("Message %d", number), to, address}, strings.Split(messageText(message.Body), "\n"))
}

// fromSlack makes plain text of what is written for Slack: only links stand in angle brackets there.
var fromSlack = strings.NewReplacer("<", "", ">", "", "&lt;", "<", "&gt;", ">", "&amp;", "&")

// messageText is what a person reads of a body: the text of a chat, the titles of a batch, or what is known of an item; and of any
// other body all of it.
func messageText(body string) string {
	var known struct {
		Text                string
		Title, Summary, URL string
		Blocks              []any
		Records             []struct{ Title, URL string }
	}
	if json.Unmarshal([]byte(body), &known) != nil {
		return terminal.Plain(body)
	}
	var lines []string
	switch {
	case len(known.Records) > 0:
		lines = append(lines, fmt.Sprintf("Batch of %d:", len(known.Records)))
		for _, record := range known.Records {
			title := record.Title
			if title == "" {
				title = record.URL
			}
			lines = append(lines, "· "+terminal.Line(title))
		}
	case known.Text != "" && len(known.Blocks) > 0:
		lines = append(lines, fromSlack.Replace(known.Text))
	case known.Text != "":
		lines = append(lines, known.Text)
	default:
		for _, part := range []string{known.Title, known.Summary, known.URL} {
			if part != "" {
				lines = append(lines, part)
			}
		}
	}
	if len(lines) == 0 {
		return terminal.Plain(body)
	}
	return terminal.Plain(strings.Join(lines, "\n"))
}
