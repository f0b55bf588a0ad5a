// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedsource

import (
	"strings"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/seen"
)

// identity is how far the GUIDs and URLs of a feed identify its entries.
type identity struct{ guids, urls seen.Standing }

// identityOf returns that once a document with so many entries was observed; an empty one says nothing.
func identityOf(book *seen.Memory, entries int) *identity {
	if entries == 0 {
		return nil
	}
	guids, urls := book.Standing()
	return &identity{guids, urls}
}

// setIdentityShared reports what of the feed does not identify its entries.
func setIdentityShared(source *v1alpha1.FeedSource, found *identity, now time.Time) {
	if found == nil {
		return
	}
	said := strings.TrimSpace(doubtful("GUID", found.guids) + " " + doubtful("link", found.urls))
	reason := v1alpha1.ReasonGUIDsAndURLsShared
	switch {
	case said == "":
	case found.guids == seen.Trusted:
		reason = v1alpha1.ReasonURLsShared
	case found.urls == seen.Trusted:
		reason = v1alpha1.ReasonGUIDsShared
	}
	if said != "" {
		said += " Entries are identified by GUID or link where one of them still does, else by their titles: " +
			"an edited title then makes another item. Only the publisher of the feed can fix this"
	}
	note(source, v1alpha1.ConditionIdentityShared, reason, said, now)
}

func doubtful(attribute string, found seen.Standing) string {
	switch found {
	case seen.SomeShared:
		return "Different entries of the feed come with the same " + attribute + ", which therefore identifies none of them."
	case seen.MostShared:
		return "Most entries of the feed had their " + attribute + " in common with others, so no " + attribute + " of it identifies an entry."
	case seen.Changing:
		return "Entries of the feed come with another " + attribute + " in each poll, so a new " + attribute + " does not mean a new entry."
	case seen.Trusted:
	}
	return ""
}
