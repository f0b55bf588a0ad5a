// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package eventstream makes CloudEvents of what happens to items, and keeps them until they are sent to the destinations that ask for them.
//
// It is pure. It knows no network, no API server and no clock; who sends the events, and when, is not its business. What it keeps is
// bounded in bytes, for each destination and for all, and nobody who puts something in ever waits.
package eventstream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/conditions"
	"github.com/feed-operator/feed-operator/internal/redact"
)

// Entry is one line of the stream of events: what has happened to an item.
type Entry struct {
	// Namespace, Item and Source are the names of the item and of the FeedSource that it came from.
	Namespace, Item, Source string
	// ID is the same whenever the same entry is told again.
	ID string
	// Type, Status and Time are as in docs/operations.md.
	Type   string
	Status v1alpha1.EventStatus
	Time   time.Time
	// Fields are those of the line, by name.
	Fields map[string]any
}

// Error is the error of an entry.
type Error struct {
	Category v1alpha1.Category `json:"category"`
	Message  string            `json:"message,omitempty"`
}

// Retry is which attempt an entry is about, and whether another follows.
type Retry struct {
	Count     int32  `json:"count"`
	Max       int    `json:"max"`
	Retryable bool   `json:"retryable"`
	NextTime  string `json:"nextTime,omitempty"`
}

// TimeFormat is that of the times of entries: RFC 3339 with milliseconds, of a constant length.
const TimeFormat = "2006-01-02T15:04:05.000Z07:00"

// maxText is how many bytes a text of an event may have that others have written.
const maxText = 2048

// envelope is an event as the JSON format of CloudEvents 1.0 has it
// (https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/formats/json-format.md).
type envelope struct {
	SpecVersion     string         `json:"specversion"`
	ID              string         `json:"id"`
	Source          string         `json:"source"`
	Type            string         `json:"type"`
	Subject         string         `json:"subject"`
	Time            string         `json:"time"`
	DataContentType string         `json:"datacontenttype"`
	Data            map[string]any `json:"data"`
}

// Event is a CloudEvent that is ready to be sent.
type Event struct {
	ID, Body string
	// calls is how many requests with it have failed.
	calls int
}

// Make makes the event of an entry: source, subject and type are as those of the webhook format CloudEvents, and data has the fields of the
// line. The same entry always gives the same event. What looks like a secret is masked, whoever was to have done that before.
func Make(entry Entry) (Event, error) {
	data := make(map[string]any, len(entry.Fields))
	for name, value := range entry.Fields {
		data[name] = harmless(name, value)
	}
	var body bytes.Buffer
	encode := json.NewEncoder(&body)
	encode.SetEscapeHTML(false)
	err := encode.Encode(envelope{
		SpecVersion: "1.0", ID: entry.ID, Source: "/namespaces/" + entry.Namespace + "/feedsources/" + entry.Source,
		Type: "io.feed-operator.feeds." + entry.Type + ".v1", Subject: entry.Item, Time: entry.Time.UTC().Format(TimeFormat),
		DataContentType: "application/json", Data: data,
	})
	if err != nil {
		return Event{}, fmt.Errorf("event %s of item %s: %w", entry.Type, entry.Item, err)
	}
	return Event{ID: entry.ID, Body: string(bytes.TrimSuffix(body.Bytes(), []byte("\n")))}, nil
}

// harmless is a field without what looks like a secret, and of a bounded length. Names, IDs and times are the operator's own.
func harmless(name string, value any) any {
	switch v := value.(type) {
	case Error:
		v.Message = masked(v.Message)
		return v
	case string:
		if name == "waitsFor" || name == "url" {
			return masked(v)
		}
	}
	return value
}

func masked(text string) string { return conditions.Cut(redact.Text(text), maxText) }
