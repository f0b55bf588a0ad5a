// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"time"

	"github.com/mmcdole/gofeed"
	ext "github.com/mmcdole/gofeed/extensions"

	"github.com/feed-operator/feed-operator/internal/dates"
)

// published returns when the entry was published, else updated; zero when neither date is usable. The
// language is that of the feed.
func published(item *gofeed.Item, language string) time.Time {
	if t := dateOf(item.Published, item.PublishedParsed, language); !t.IsZero() {
		return t
	}
	if t := extensionDate(item.Extensions, datesOfPublication, language); !t.IsZero() {
		return t
	}
	if t := dateOf(item.Updated, item.UpdatedParsed, language); !t.IsZero() {
		return t
	}
	return extensionDate(item.Extensions, datesOfUpdate, language)
}

// dateOf returns the time in UTC; zero when it is not usable. The parser knows more forms than dates.Parse,
// but takes every zone that it does not know for UTC.
func dateOf(raw string, parsed *time.Time, language string) time.Time {
	t, sure := dates.Parse(raw, language)
	if !sure && parsed != nil {
		return dates.Usable(*parsed)
	}
	return t
}

// dcterms is the prefix of Dublin Core's terms
// (https://www.dublincore.org/specifications/dublin-core/dcmi-terms/).
const dcterms = "dcterms"

// Dates that entries have in extensions, by prefix and name.
var (
	datesOfPublication = [][2]string{
		{dcterms, "issued"}, {dcterms, "available"}, {dcterms, "date"}, {"prism", "publicationDate"}, {dcterms, "created"},
	}
	datesOfUpdate = [][2]string{{dcterms, "modified"}}
)

// extensionDate returns the first of the dates that is there and usable.
func extensionDate(extensions ext.Extensions, names [][2]string, language string) time.Time {
	for _, name := range names {
		for _, element := range extensions[name[0]][name[1]] {
			if t, _ := dates.Parse(element.Value, language); !t.IsZero() {
				return t
			}
		}
	}
	return time.Time{}
}

// ClampDates makes now, when the document was read, of each date that lies after it: what is listed
// was published. Such entries would else stay the newest of all for years.
func (d *Document) ClampDates(now time.Time) {
	now = now.UTC().Truncate(time.Second)
	for i := range d.Entries {
		if d.Entries[i].Published.After(now) {
			d.Entries[i].Published = now
		}
	}
}
