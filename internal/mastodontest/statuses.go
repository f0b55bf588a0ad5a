// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mastodontest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxRequest bounds the body of a request, in bytes.
const maxRequest = 1 << 20

// postStatus is POST /api/v1/statuses.
func (s *Server) postStatus(w http.ResponseWriter, r *http.Request) {
	if !s.withinLimit(w) {
		return
	}
	post, err := readStatus(w, r)
	if err != nil {
		refuse(w, http.StatusBadRequest, "The request cannot be read")
		return
	}
	if status, message := s.invalid(post); status != 0 {
		refuse(w, status, message)
		return
	}
	if message := s.illustrate(&post); message != "" {
		refuse(w, http.StatusUnprocessableEntity, "Validation failed: "+message)
		return
	}
	pending := &Pending{Post: post, Request: r, server: s, writer: w}
	s.mu.Lock()
	hook := s.onPost
	s.mu.Unlock()
	if hook != nil && hook(pending) {
		return
	}
	made := pending.Commit()
	if pending.replay && s.options.Keys == FailsReplay {
		refuse(w, http.StatusInternalServerError, "Internal Server Error")
		return
	}
	answer(w, s.status(r, made))
}

// readStatus reads a form or JSON. What the server stores has no space around it.
func readStatus(w http.ResponseWriter, r *http.Request) (Post, error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
	var fields struct {
		Status      string   `json:"status"`
		SpoilerText string   `json:"spoiler_text"`
		Visibility  string   `json:"visibility"`
		Language    string   `json:"language"`
		Media       []string `json:"media_ids"`
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == "application/json" {
		if err := json.NewDecoder(r.Body).Decode(&fields); err != nil {
			return Post{}, fmt.Errorf("read JSON: %w", err)
		}
	} else {
		if err := r.ParseForm(); err != nil {
			return Post{}, fmt.Errorf("read form: %w", err)
		}
		fields.Status, fields.SpoilerText = r.PostForm.Get("status"), r.PostForm.Get("spoiler_text")
		fields.Visibility, fields.Language = r.PostForm.Get("visibility"), r.PostForm.Get("language")
		fields.Media = r.PostForm["media_ids[]"]
	}
	var images []Image
	for _, id := range fields.Media {
		images = append(images, Image{ID: id})
	}
	return Post{
		Text:        strings.TrimSpace(fields.Status),
		SpoilerText: strings.TrimSpace(fields.SpoilerText),
		Visibility:  cmp.Or(fields.Visibility, "public"),
		Language:    fields.Language,
		Images:      images,
		Key:         r.Header.Get("Idempotency-Key"),
	}, nil
}

// invalid says with what status and words a post is refused, or 0.
func (s *Server) invalid(post Post) (int, string) {
	length, limit := s.length(post.SpoilerText, post.Text), s.options.MaxCharacters
	switch {
	case length > limit && s.isGoToSocial():
		return http.StatusBadRequest,
			fmt.Sprintf("Bad Request: status too long, %d characters provided (including spoiler/content warning) but limit is %d", length, limit)
	case length > limit:
		return http.StatusUnprocessableEntity, fmt.Sprintf("Validation failed: Text character limit of %d exceeded", limit)
	case post.Text == "" && post.SpoilerText == "":
		return http.StatusUnprocessableEntity, "Validation failed: Text can't be blank"
	case !slices.Contains([]string{"public", "unlisted", "private", "direct"}, post.Visibility):
		return http.StatusUnprocessableEntity, "Validation failed: Visibility is not included in the list"
	}
	return 0, ""
}

// withinLimit counts a request to post, sets the headers about it, and answers one too many.
func (s *Server) withinLimit(w http.ResponseWriter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	limit, now := cmp.Or(s.options.PostsPerWindow, 300), s.options.Now()
	if now.Sub(s.window) >= s.options.Window || now.Before(s.window) {
		s.window, s.inWindow = now, 0
	}
	s.inWindow++
	w.Header().Set("X-RateLimit-Limit", strconv.Itoa(limit))
	w.Header().Set("X-RateLimit-Remaining", strconv.Itoa(max(limit-s.inWindow, 0)))
	w.Header().Set("X-RateLimit-Reset", s.window.Add(s.options.Window).UTC().Format("2006-01-02T15:04:05.000000Z"))
	if s.options.PostsPerWindow > 0 && s.inWindow > limit {
		refuse(w, http.StatusTooManyRequests, "Too many requests")
		return false
	}
	return true
}

// listStatuses is GET /api/v1/accounts/{id}/statuses. As on real servers, what is left out is left
// out after the page was cut: a page that is short, or empty, need not be the last.
func (s *Server) listStatuses(w http.ResponseWriter, r *http.Request) {
	if r.PathValue("id") != accountID {
		refuse(w, http.StatusNotFound, "Record not found")
		return
	}
	query := r.URL.Query()
	limit, err := strconv.Atoi(cmp.Or(query.Get("limit"), "20"))
	if err != nil || limit < 1 {
		limit = 20
	}
	limit = min(limit, s.options.PageSize)
	minID, upwards := query.Get("min_id"), query.Get("min_id") != ""

	s.mu.Lock()
	var page []Post // newest first
	more := false
	inRange := func(post *Post) bool {
		return (query.Get("max_id") == "" || compareIDs(post.ID, query.Get("max_id")) < 0) &&
			(query.Get("since_id") == "" || compareIDs(post.ID, query.Get("since_id")) > 0) &&
			(minID == "" || compareIDs(post.ID, minID) > 0)
	}
	for i := range s.posts {
		at := len(s.posts) - 1 - i
		if upwards {
			at = i
		}
		if !inRange(s.posts[at]) {
			continue
		}
		if len(page) == limit {
			more = true
			break
		}
		page = append(page, *s.posts[at])
	}
	s.mu.Unlock()

	if upwards {
		slices.Reverse(page)
		more = true // what min_id was taken from
	}
	s.linkPages(w, r, page, more)
	excludeBoosts, own := truthy(query.Get("exclude_reblogs")), s.authorized(r)
	shown := make([]any, 0, len(page))
	for _, post := range page {
		if excludeBoosts && post.Boost || !own && !isOpen(post) {
			continue
		}
		shown = append(shown, s.status(r, post))
	}
	answer(w, shown)
}

// linkPages sets the Link header of RFC 8288.
func (s *Server) linkPages(w http.ResponseWriter, r *http.Request, page []Post, more bool) {
	if len(page) == 0 {
		return
	}
	link := func(parameter, id, relation string) string {
		query := r.URL.Query()
		for _, other := range []string{"max_id", "min_id", "since_id"} {
			query.Del(other)
		}
		query.Set(parameter, id)
		return fmt.Sprintf("<%s%s?%s>; rel=%q", s.base(r), r.URL.Path, query.Encode(), relation)
	}
	links := []string{link("min_id", page[0].ID, "prev")}
	if more {
		links = slices.Insert(links, 0, link("max_id", page[len(page)-1].ID, "next"))
	}
	w.Header().Set("Link", strings.Join(links, ", "))
}

// getStatus is GET /api/v1/statuses/{id}.
func (s *Server) getStatus(w http.ResponseWriter, r *http.Request) {
	if post, found := s.visible(r); found {
		answer(w, s.status(r, post))
		return
	}
	refuse(w, http.StatusNotFound, "Record not found")
}

// getSource is GET /api/v1/statuses/{id}/source.
func (s *Server) getSource(w http.ResponseWriter, r *http.Request) {
	if post, found := s.visible(r); found {
		answer(w, map[string]string{"id": post.ID, "text": post.Text, "spoiler_text": post.SpoilerText})
		return
	}
	refuse(w, http.StatusNotFound, "Record not found")
}

func (s *Server) visible(r *http.Request) (Post, bool) {
	own := s.authorized(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	post := s.find(r.PathValue("id"))
	if post == nil || !own && !isOpen(*post) {
		return Post{}, false
	}
	return *post, true
}

func isOpen(post Post) bool { return post.Visibility == "public" || post.Visibility == "unlisted" }

func truthy(value string) bool { return value == "true" || value == "1" }

// status is the Status entity.
func (s *Server) status(r *http.Request, post Post) map[string]any {
	var language, editedAt, boosted any
	if post.Language != "" {
		language = post.Language
	}
	if !post.EditedAt.IsZero() {
		editedAt = timestamp(post.EditedAt)
	}
	if post.Boost {
		boosted = map[string]any{"id": post.ID, "content": s.content(r, post.Text), "created_at": timestamp(post.CreatedAt)}
	}
	link := s.base(r) + "/@" + url.PathEscape(s.options.Username) + "/" + post.ID
	return map[string]any{
		"id": post.ID, "created_at": timestamp(post.CreatedAt), "edited_at": editedAt,
		"in_reply_to_id": nil, "in_reply_to_account_id": nil,
		"sensitive": post.SpoilerText != "", "spoiler_text": post.SpoilerText,
		"visibility": post.Visibility, "language": language,
		"uri": link, "url": link, "content": s.content(r, post.Text),
		"replies_count": 0, "reblogs_count": 0, "favourites_count": 0,
		"favourited": false, "reblogged": post.Boost, "muted": false, "bookmarked": false, "pinned": false,
		"reblog": boosted, "application": nil, "account": s.account(r),
		"media_attachments": s.attachments(r, post), "mentions": []any{}, "tags": []any{}, "emojis": []any{}, "filtered": []any{},
		"card": nil, "poll": nil,
	}
}

func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
