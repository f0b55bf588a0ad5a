// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mastodon

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	api "github.com/mattn/go-mastodon"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/failure"
)

const (
	// pageSize is the most that Mastodon gives at once.
	pageSize = 40
	// maxPages bounds a search: servers answer a token 300 times in five minutes. Mastodon takes 300 posts in three hours, so that
	// it goes back four days at least, however much else is posted.
	maxPages = 250
	// maxRequests bounds all that a search asks for, pages and sources of statuses, for the same reason: without a link to go by, every status of the account
	// is one whose source has to be seen.
	maxRequests = 290
	// maxCandidates bounds what is kept of the statuses that look like a post, in bytes of their texts: a server may say that all do.
	// It has hundreds of the longest that servers take.
	maxCandidates = 2 << 20
	// unknownClock is how far a server's clock may be behind that says nothing of it.
	unknownClock = 24 * time.Hour
)

// candidate is a status that may be the one that is looked for.
type candidate struct {
	status *api.Status
	// linked is set if the status has the link of the post.
	linked bool
}

// sources is how many sources of statuses a search may still ask for.
type sources struct{ left int }

// Find looks for a post among the account's own statuses, of every visibility, back to
// query.Since, oldest first: one with the link of the post, and its text unless it was edited. The
// server's clock may be another one than the caller's. Where not all of them were seen, its error is
// destination.ErrTooMany.
func (c *Client) Find(ctx context.Context, query destination.Query) (destination.Receipt, bool, error) {
	ctx = withTimeoutOfEach(ctx, query.Timeout)
	account, err := c.api.GetAccountCurrentUser(ctx)
	if err != nil {
		return destination.Receipt{}, false, c.failed(err)
	}
	if !usableID(account.ID) {
		return destination.Receipt{}, false, malformed(c.server.Host, http.StatusOK)
	}
	query.Since = c.since(query.Since) // the server has just said what time it is
	candidates, pages, err := c.candidates(ctx, account.ID, query)
	if err != nil {
		return destination.Receipt{}, false, err
	}
	sources := sources{left: maxRequests - pages}
	slices.SortStableFunc(candidates, func(a, b candidate) int {
		return cmp.Or(a.status.CreatedAt.Compare(b.status.CreatedAt), a.status.ID.Compare(b.status.ID))
	})
	for _, candidate := range candidates {
		found := receipt(candidate.status)
		if query.Taken != nil && query.Taken(found) {
			continue
		}
		same, err := c.same(ctx, candidate, query, &sources)
		if err != nil {
			return destination.Receipt{}, false, err
		}
		if same {
			return found, true, nil
		}
	}
	return destination.Receipt{}, false, nil
}

// since is a time of the caller's as the server's clock had it, the earliest that it may have been: by its answers, and by the posts that
// it has made, which may have their time from another machine. Answers alone may be those of a proxy whose clock is ahead, so that they only have it
// be earlier.
func (c *Client) since(at time.Time) time.Time {
	answers, byAnswers := c.clocks.answers.Least()
	posts, byPosts := c.clocks.posts.Least()
	switch {
	case byAnswers && byPosts:
		return at.Add(min(answers, posts))
	case byAnswers:
		return at.Add(min(answers, 0))
	case byPosts:
		return at.Add(posts)
	}
	return at.Add(-unknownClock)
}

// candidates are the account's statuses since query.Since, by the server's clock, that look like the post. Where ids have an order, a page
// that ends with an older one is the last; else one of nothing but older ones. It also returns how many pages these were.
func (c *Client) candidates(ctx context.Context, account api.ID, query destination.Query) (candidates []candidate, pages int, err error) {
	var below api.ID
	kept := 0
	for pages = range maxPages {
		statuses, next, err := c.page(ctx, account, below, pageSize)
		if err != nil {
			return nil, 0, err
		}
		passed, ended := len(statuses) > 0, false
		for _, status := range statuses {
			at, ordered := made(status)
			older := at.Before(query.Since)
			if ended = older && ordered; older {
				continue
			}
			passed = false
			if status.Reblog != nil || !usableID(status.ID) || status.Account.ID != "" && status.Account.ID != account {
				continue
			}
			content := render(status.Content)
			linked := content.hasLink(query.Post.Link)
			if linked || query.Post.Link == "" && query.TextHash != "" || sameWords(content.text, query.Post.Text) {
				status.Account = api.Account{}
				candidates = append(candidates, candidate{status, linked})
				kept += len(status.Content) + len(status.SpoilerText) + len(status.URL)
			}
		}
		if kept > maxCandidates {
			return nil, 0, c.tooMany("too many of them look like it")
		}
		if passed || ended || next == "" {
			return candidates, pages + 1, nil
		}
		if next == below {
			return nil, 0, malformed(c.server.Host, http.StatusOK)
		}
		below = next
	}
	return nil, 0, c.tooMany(fmt.Sprintf("after %d pages those since %s were not all seen", maxPages, query.Since.UTC().Format(time.RFC3339)))
}

// tooMany is for an account of which not all statuses that matter can be looked at.
func (c *Client) tooMany(why string) error {
	return failure.Wrap(v1alpha1.CategoryValidation, failure.TypeTooLarge,
		fmt.Sprintf("The account's statuses at %s do not show whether the post was published: %s.", c.server.Host, why), destination.ErrTooMany)
}

// page returns a page of the account's statuses, newest first, and where the next one begins, or
// "". Pages are cut before what must not be seen is left out, so that even an empty one may be
// followed by another, and servers differ in whether they say so: without a link to the next
// page, only an empty one is the last.
func (c *Client) page(ctx context.Context, account, below api.ID, size int64) ([]*api.Status, api.ID, error) {
	position := api.Pagination{MaxID: below, Limit: size}
	statuses, err := c.api.GetAccountStatusesParams(ctx, api.ID(url.PathEscape(string(account))),
		url.Values{"exclude_reblogs": {"true"}}, &position)
	if err != nil {
		return nil, "", c.failed(err)
	}
	next := position.MaxID
	if next == "" && len(statuses) > 0 {
		next = statuses[len(statuses)-1].ID
	}
	return statuses, next, nil
}

// same reports whether a candidate is the post. A text that was edited says nothing, so that the link
// has to do. Where people see another text than was written, because the server knows a markup, its
// source tells; on a server that gives none, the words do.
func (c *Client) same(ctx context.Context, candidate candidate, query destination.Query, allowed *sources) (bool, error) {
	status, content, post := candidate.status, render(candidate.status.Content), query.Post
	if candidate.linked && !status.EditedAt.IsZero() {
		return true, nil
	}
	if sameText(content.text, post.Text) && sameText(status.SpoilerText, post.ContentWarning) {
		return true, nil
	}
	if allowed.left--; allowed.left < 0 {
		return false, c.tooMany("too many of them look like it")
	}
	source, err := c.api.GetStatusSource(ctx, api.ID(url.PathEscape(string(status.ID))))
	if err != nil {
		err = c.failed(err)
		if known, ok := asFailure(err); ok && hasNoSource(known.Status) {
			return sameWords(content.text, post.Text) && sameText(status.SpoilerText, post.ContentWarning), nil
		}
		return false, err
	}
	if source.ID == "" && source.Text == "" {
		return false, malformed(c.server.Host, http.StatusOK)
	}
	written := destination.TextHash(destination.Post{Text: source.Text, ContentWarning: source.SpoilerText})
	return written == query.TextHash || sameText(source.Text, post.Text) && sameText(source.SpoilerText, post.ContentWarning), nil
}

// hasNoSource reports for a status of HTTP that there is no source to be had: the server is too old, or
// the post was just deleted.
func hasNoSource(status int) bool {
	switch status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone, http.StatusNotImplemented:
		return true
	}
	return false
}
