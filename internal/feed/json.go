// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/mmcdole/gofeed"
	jsonfeed "github.com/mmcdole/gofeed/json"
)

// parseJSON reads JSON Feed (https://www.jsonfeed.org/version/1.1/).
func parseJSON(text []byte, base string) (*Document, error) {
	members, items, omitted, damage := readJSON(text)
	parsed := &jsonfeed.Feed{}
	if err := decodeMembers(members, parsed); err != nil && damage == nil {
		damage = err
	}
	isFeed := strings.Contains(parsed.Version, "jsonfeed.org/version/") ||
		parsed.Title != "" && items != nil && (parsed.HomePageURL != "" || parsed.FeedURL != "")
	if !isFeed {
		return nil, notAFeed("The address answers with JSON that is no JSON Feed.")
	}
	for _, raw := range items {
		item, err := decodeItem(raw)
		if err != nil {
			damage = cmp.Or(damage, fmt.Errorf("an entry is not as the format has it: %w", err))
		}
		if item == nil {
			continue
		}
		item.Authors = slices.DeleteFunc(item.Authors, func(a *jsonfeed.Author) bool { return a == nil })
		parsed.Items = append(parsed.Items, item)
	}
	if damage != nil && len(parsed.Items) == 0 {
		return nil, malformed(fmt.Sprintf("The feed is not well-formed and no entry of it could be read: %v.", damage), damage)
	}
	general, err := new(gofeed.DefaultJSONTranslator).Translate(parsed)
	if err != nil {
		return nil, malformed(fmt.Sprintf("The feed could not be read: %v.", err), err)
	}
	declared := parsed.Version[strings.LastIndexByte(parsed.Version, '/')+1:]
	if declared == "1" {
		declared = "1.0"
	}
	document := newDocument(general, "JSON Feed", declared, base)
	document.Omitted = omitted
	if damage != nil {
		document.Damage = damage.Error()
	}
	links := newResolver(cmp.Or(document.Link, base))
	author := authorOf(general.Authors, general.Author)
	for _, item := range general.Items {
		entry := newEntry(item)
		entry.Author = cmp.Or(entry.Author, author)
		for _, link := range item.Links {
			entry.URL = cmp.Or(entry.URL, links.resolve(link))
		}
		// The format wishes for ids that are URLs.
		entry.URL = cmp.Or(entry.URL, resolver{}.resolve(item.GUID))
		document.Entries = append(document.Entries, entry)
	}
	return document, nil
}

// decodeItem reads an entry. A member of the wrong type costs only itself, and nothing where it is
// clear what was meant: a number for a text, or one value for a list.
func decodeItem(raw json.RawMessage) (*jsonfeed.Item, error) {
	item := &jsonfeed.Item{}
	damage := json.Unmarshal(raw, item)
	if damage == nil {
		return item, nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil, damage
	}
	damage = nil
	for _, name := range slices.Sorted(maps.Keys(members)) {
		err := decodeMember(name, members[name])
		if meant := meantBy(members[name]); err != nil && decodeMember(name, meant) == nil {
			members[name] = meant
		} else if err != nil {
			delete(members, name)
			damage = cmp.Or(damage, err)
		}
	}
	rest, err := json.Marshal(members)
	if err == nil {
		item = &jsonfeed.Item{}
		err = json.Unmarshal(rest, item)
	}
	if err != nil {
		return nil, err
	}
	return item, damage
}

// meantBy makes a text of a number or a truth value, and a list of a text.
func meantBy(value json.RawMessage) json.RawMessage {
	switch value[0] {
	case '"':
		return slices.Concat([]byte("["), value, []byte("]"))
	case '[', '{':
		return value
	}
	return slices.Concat([]byte{'"'}, value, []byte{'"'})
}

func decodeMember(name string, value json.RawMessage) error {
	member, err := json.Marshal(map[string]json.RawMessage{name: value})
	if err != nil {
		return err
	}
	return json.Unmarshal(member, &jsonfeed.Item{})
}

// readJSON returns the members of an object, and its items one by one, without those after
// MaxEntries, which it counts. What was read before the document breaks off or goes wrong is
// returned with the error.
func readJSON(text []byte) (members map[string]json.RawMessage, items []json.RawMessage, omitted int, damage error) {
	members = map[string]json.RawMessage{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return members, nil, 0, err
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return members, items, omitted, complete(err)
		}
		name, _ := key.(string)
		var value json.RawMessage
		if name == "items" && nextIs(decoder, text, '[') {
			items, omitted, err = readItems(decoder)
		} else if err = decoder.Decode(&value); err == nil {
			members[name] = value
		}
		if err != nil {
			return members, items, omitted, complete(err)
		}
	}
	_, err := decoder.Token()
	return members, items, omitted, complete(err)
}

// nextIs says whether the next value begins with the character.
func nextIs(decoder *json.Decoder, text []byte, first byte) bool {
	rest := bytes.TrimLeft(text[decoder.InputOffset():], " \t\r\n:")
	return len(rest) > 0 && rest[0] == first
}

func readItems(decoder *json.Decoder) (items []json.RawMessage, omitted int, err error) {
	items = []json.RawMessage{}
	if _, err := decoder.Token(); err != nil {
		return items, 0, err
	}
	for decoder.More() {
		var item json.RawMessage
		if err := decoder.Decode(&item); err != nil {
			return items, omitted, err
		}
		if len(items) == MaxEntries {
			omitted++
			continue
		}
		items = append(items, item)
	}
	_, err = decoder.Token()
	return items, omitted, err
}

// complete names the end of a document that came too early.
func complete(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// decodeMembers fills the feed, but for its items. A member of the wrong type costs only itself.
func decodeMembers(members map[string]json.RawMessage, parsed *jsonfeed.Feed) error {
	var damage error
	for _, member := range []struct {
		name string
		into any
	}{
		{"version", &parsed.Version}, {"title", &parsed.Title}, {"home_page_url", &parsed.HomePageURL},
		{"feed_url", &parsed.FeedURL}, {"language", &parsed.Language}, {"author", &parsed.Author}, {"authors", &parsed.Authors},
	} {
		if raw, ok := members[member.name]; ok {
			if err := json.Unmarshal(raw, member.into); err != nil {
				damage = fmt.Errorf("%s is not as the format has it: %w", member.name, err)
			}
		}
	}
	parsed.Authors = slices.DeleteFunc(parsed.Authors, func(a *jsonfeed.Author) bool { return a == nil })
	return damage
}
