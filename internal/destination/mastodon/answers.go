// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mastodon

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/feed-operator/feed-operator/internal/redact"
)

// essential are the fields of statuses, accounts, sources and instances that this package reads.
var essential = map[string]bool{
	"id": true, "url": true, "created_at": true, "edited_at": true,
	"content": true, "text": true, "spoiler_text": true, "account": true, "reblog": true,
	"acct":    true,
	"version": true, "source_url": true, "domain": true, "configuration": true, "max_toot_chars": true,
}

// essentials reduces an answer, an object or a list of them, to the fields that are essential, without what the server
// was sent to know the operator by. It returns false when the answer is something else.
func essentials(body []byte, sent *redact.Sent) ([]byte, bool) {
	var reduced any
	switch first := bytes.TrimLeft(body, " \t\r\n"); {
	case len(first) > 0 && first[0] == '{':
		fields, ok := reduce(body, sent)
		if !ok {
			return nil, false
		}
		reduced = fields
	case len(first) > 0 && first[0] == '[':
		var items []json.RawMessage
		if err := json.Unmarshal(body, &items); err != nil {
			return nil, false
		}
		list := make([]map[string]json.RawMessage, 0, len(items))
		for _, item := range items {
			if fields, ok := reduce(item, sent); ok {
				list = append(list, fields)
			}
		}
		reduced = list
	default:
		return nil, false
	}
	out, err := json.Marshal(reduced)
	return out, err == nil
}

func reduce(object []byte, sent *redact.Sent) (map[string]json.RawMessage, bool) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(object, &fields); err != nil || fields == nil {
		return nil, false
	}
	for name, value := range fields {
		switch {
		case !essential[name]:
			delete(fields, name)
		case name == "account" || name == "reblog":
			inner, ok := reduce(value, sent)
			if !ok {
				delete(fields, name)
				continue
			}
			// What was unmarshalled can be marshalled.
			fields[name], _ = json.Marshal(inner)
		case name == "edited_at":
			var at time.Time
			if json.Unmarshal(value, &at) != nil {
				delete(fields, name)
			}
		default:
			var text string
			if json.Unmarshal(value, &text) == nil && sent.Holds(text) {
				fields[name], _ = json.Marshal(sent.Mask(text))
			}
		}
	}
	return fields, true
}
