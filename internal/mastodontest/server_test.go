// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mastodontest_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

func newServer(t *testing.T, options mastodontest.Options) *mastodontest.Server {
	t.Helper()
	server := mastodontest.New(options)
	t.Cleanup(server.Close)
	return server
}

// call makes a request with the token "t" and returns the status, headers and JSON of the answer.
func call(t *testing.T, method, address, contentType, key, body string) (int, http.Header, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer t")
	request.Header.Set("Content-Type", contentType)
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(answer)
}

func post(t *testing.T, server *mastodontest.Server, key, text string) (int, string) {
	t.Helper()
	status, _, answer := call(t, http.MethodPost, server.URL+"/api/v1/statuses", "application/x-www-form-urlencoded", key,
		url.Values{"status": {text}}.Encode())
	return status, answer
}

func TestPostsOfFormsAndJSON(t *testing.T) {
	t.Parallel()
	server := newServer(t, mastodontest.Options{Token: "t"})
	want := []mastodontest.Post{
		{Text: "A & b", SpoilerText: "cw", Visibility: "unlisted", Language: "ja", Key: "k"},
		{Text: "c", Visibility: "public"},
	}
	status, header, _ := call(t, http.MethodPost, server.URL+"/api/v1/statuses", "application/x-www-form-urlencoded", "k",
		"status=A+%26+b&spoiler_text=cw&visibility=unlisted&language=ja")
	if status != http.StatusOK || header.Get("X-RateLimit-Remaining") != "299" {
		t.Errorf("status %d, %s requests left, want 200 and 299", status, header.Get("X-RateLimit-Remaining"))
	}
	if status, _, _ := call(t, http.MethodPost, server.URL+"/api/v1/statuses", "application/json", "", `{"status":" c "}`); status != http.StatusOK {
		t.Errorf("status %d of JSON, want 200", status)
	}
	if diff := cmp.Diff(want, server.Posts(), cmpopts.IgnoreFields(mastodontest.Post{}, "ID", "CreatedAt")); diff != "" {
		t.Errorf("posts (-want +got):\n%s", diff)
	}
	if server.Count("POST /api/v1/statuses") != 2 {
		t.Errorf("%d requests counted, want 2", server.Count("POST /api/v1/statuses"))
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		keys       mastodontest.Keys
		wantStatus int
		wantPosts  int
	}{
		"the first post is the answer":           {mastodontest.HonoursKeys, http.StatusOK, 1},
		"the key is ignored":                     {mastodontest.IgnoresKeys, http.StatusOK, 2},
		"a replay fails and makes no other post": {mastodontest.FailsReplay, http.StatusInternalServerError, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
			server := newServer(t, mastodontest.Options{Token: "t", Keys: test.keys, Now: func() time.Time { return now }})
			_, first := post(t, server, "k", "text")
			status, second := post(t, server, "k", "text")
			if status != test.wantStatus || len(server.Posts()) != test.wantPosts {
				t.Errorf("status %d and %d posts, want %d and %d", status, len(server.Posts()), test.wantStatus, test.wantPosts)
			}
			if test.keys == mastodontest.HonoursKeys && first != second {
				t.Errorf("the replay got %s, want %s", second, first)
			}
			now = now.Add(time.Hour)
			if status, _ := post(t, server, "k", "text"); status != http.StatusOK || len(server.Posts()) != test.wantPosts+1 {
				t.Errorf("an hour later: status %d, %d posts", status, len(server.Posts()))
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	link := "https://example.org/" + strings.Repeat("x", 100)
	tests := map[string]struct {
		options mastodontest.Options
		text    string
		want    int
	}{
		"too long":                        {mastodontest.Options{Token: "t", MaxCharacters: 5}, "123456", http.StatusUnprocessableEntity},
		"grapheme clusters are counted":   {mastodontest.Options{Token: "t", MaxCharacters: 2}, "👨‍👩‍👧e\u0301", http.StatusOK},
		"a link counts its weight":        {mastodontest.Options{Token: "t", MaxCharacters: 25}, "a " + link, http.StatusOK},
		"a mention counts without host":   {mastodontest.Options{Token: "t", MaxCharacters: 2}, "@a@example.org", http.StatusOK},
		"GoToSocial counts all of a link": {mastodontest.Options{Token: "t", MaxCharacters: 25, Version: mastodontest.GoToSocial}, "a " + link, http.StatusBadRequest},
		"nothing":                         {mastodontest.Options{Token: "t"}, " ", http.StatusUnprocessableEntity},
		"a wrong token":                   {mastodontest.Options{Token: "other"}, "a", http.StatusUnauthorized},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, answer := post(t, newServer(t, test.options), "", test.text)
			if status != test.want {
				t.Errorf("status %d, want %d: %s", status, test.want, answer)
			}
		})
	}
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	server := newServer(t, mastodontest.Options{Token: "t", PostsPerWindow: 1, Now: func() time.Time { return now }})
	for _, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		status, header, _ := call(t, http.MethodPost, server.URL+"/api/v1/statuses", "application/x-www-form-urlencoded", "", "status=a")
		if status != want || header.Get("X-RateLimit-Reset") != "2026-11-01T03:00:00.000000Z" {
			t.Errorf("status %d, reset %s", status, header.Get("X-RateLimit-Reset"))
		}
	}
	now = now.Add(3 * time.Hour)
	if status, _ := post(t, server, "", "a"); status != http.StatusOK {
		t.Errorf("status %d in the next window, want 200", status)
	}
}

func TestPagesLeadToEveryPost(t *testing.T) {
	t.Parallel()
	server := newServer(t, mastodontest.Options{Token: "t", TokenMayRead: true, PageSize: 2})
	server.Publish(mastodontest.Post{Text: "1"}, mastodontest.Post{Text: "2", Visibility: "direct"},
		mastodontest.Post{Boost: true}, mastodontest.Post{Boost: true}, mastodontest.Post{Text: "3"}, mastodontest.Post{Boost: true})
	var sizes []int
	var texts []string
	next := server.URL + "/api/v1/accounts/109000000000000001/statuses?exclude_reblogs=true"
	for next != "" {
		_, header, body := call(t, http.MethodGet, next, "", "", "")
		var page []struct {
			Content string `json:"content"`
		}
		if err := json.Unmarshal([]byte(body), &page); err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(page))
		for _, status := range page {
			texts = append(texts, status.Content)
		}
		next = ""
		if found := regexp.MustCompile(`<([^>]*)>; rel="next"`).FindStringSubmatch(header.Get("Link")); found != nil {
			next = found[1]
		}
	}
	if diff := cmp.Diff([]int{1, 0, 2}, sizes); diff != "" {
		t.Errorf("sizes of the pages (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"<p>3</p>", "<p>2</p>", "<p>1</p>"}, texts); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
}

func TestPagesInBothDirections(t *testing.T) {
	t.Parallel()
	server := newServer(t, mastodontest.Options{Token: "t", TokenMayRead: true})
	var ids []string
	for _, visibility := range []string{"public", "direct", "unlisted", "private", "public"} {
		ids = append(ids, server.Publish(mastodontest.Post{Text: visibility, Visibility: visibility})...)
	}
	tests := map[string]struct {
		query     string
		anonymous bool
		want      []string
	}{
		"newest first":           {"limit=2", false, []string{ids[4], ids[3]}},
		"below an id":            {"limit=2&max_id=" + ids[3], false, []string{ids[2], ids[1]}},
		"the newest above an id": {"limit=2&since_id=" + ids[0], false, []string{ids[4], ids[3]}},
		"the next above an id":   {"limit=2&min_id=" + ids[0], false, []string{ids[2], ids[1]}},
		"what everybody sees":    {"", true, []string{ids[4], ids[2], ids[0]}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/accounts/109000000000000001/statuses?"+test.query, nil)
			if !test.anonymous {
				request.Header.Set("Authorization", "Bearer t")
			}
			recorder := httptest.NewRecorder()
			server.Handler().ServeHTTP(recorder, request)
			var page []struct {
				ID string `json:"id"`
			}
			if err := json.Unmarshal(recorder.Body.Bytes(), &page); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, status := range page {
				got = append(got, status.ID)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("ids (-want +got):\n%s", diff)
			}
		})
	}
}

func TestContentIsEscapedAndLinked(t *testing.T) {
	t.Parallel()
	server := newServer(t, mastodontest.Options{Token: "t", TokenMayRead: true})
	server.Publish(mastodontest.Post{Text: "<b> #tag\n\nsee https://example.org/?a=1&b=2."})
	id := server.Posts()[0].ID
	want := []string{
		`<p>&lt;b&gt; <a href="` + server.URL + `/tags/tag" class="mention hashtag" rel="tag">#<span>tag</span></a></p>`,
		`<p>see <a href="https://example.org/?a=1&amp;b=2" `,
	}
	_, _, body := call(t, http.MethodGet, server.URL+"/api/v1/statuses/"+id, "", "", "")
	var status struct {
		Content string `json:"content"`
	}
	if err := json.Unmarshal([]byte(body), &status); err != nil {
		t.Fatal(err)
	}
	for _, part := range want {
		if !strings.Contains(status.Content, part) {
			t.Errorf("content is %s, want %s in it", status.Content, part)
		}
	}
	for _, path := range []string{"/", "/@feeds/" + id} {
		if _, _, page := call(t, http.MethodGet, server.URL+path, "", "", ""); !strings.Contains(page, "&lt;b&gt; #tag") {
			t.Errorf("the page %s is\n%s", path, page)
		}
	}
}

func TestTokenThatMayOnlyWrite(t *testing.T) {
	t.Parallel()
	server := newServer(t, mastodontest.Options{Token: "t"})
	server.Publish(mastodontest.Post{Text: "a"})
	for _, path := range []string{
		"/api/v1/accounts/verify_credentials", "/api/v1/accounts/109000000000000001/statuses",
		"/api/v1/statuses/" + server.Posts()[0].ID + "/source",
	} {
		if status, _, body := call(t, http.MethodGet, server.URL+path, "", "", ""); status != http.StatusForbidden {
			t.Errorf("%s: status %d, want 403: %s", path, status, body)
		}
	}
}

func TestHooks(t *testing.T) {
	t.Parallel()
	server := newServer(t, mastodontest.Options{Token: "t"})
	pending := make(chan *mastodontest.Pending, 1)
	server.OnPost(func(p *mastodontest.Pending) bool {
		pending <- p
		p.Reset()
		return true
	})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/api/v1/statuses", strings.NewReader(`{"status":"late"}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer t")
	request.Header.Set("Content-Type", "application/json")
	if response, err := http.DefaultClient.Do(request); err == nil {
		_ = response.Body.Close()
		t.Errorf("got an answer with status %d, want a broken connection", response.StatusCode)
	}
	if len(server.Posts()) != 0 {
		t.Errorf("%d posts before the commit", len(server.Posts()))
	}
	late := <-pending
	go func() { late.Commit(); late.Commit() }()
	posts, err := server.Await(t.Context(), 1)
	if err != nil || len(posts) != 1 || posts[0].Text != "late" {
		t.Errorf("got %v, %v", posts, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := server.Await(ended, 2); err == nil {
		t.Error("waiting for a second post ended without an error")
	}
}

func TestHandlerServesWithoutListening(t *testing.T) {
	t.Parallel()
	server := mastodontest.NewUnstarted(mastodontest.Options{MaxPosts: 2})
	for _, text := range []string{"a", "b", "c"} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/statuses", strings.NewReader(`{"status":"`+text+`"}`))
		request.Header.Set("Content-Type", "application/json")
		recorder := httptest.NewRecorder()
		server.Handler().ServeHTTP(recorder, request)
		if recorder.Code != http.StatusOK || !strings.Contains(recorder.Body.String(), `"url":"http://example.com/@feeds/`) {
			t.Errorf("got %d %s", recorder.Code, recorder.Body)
		}
	}
	if posts := server.Posts(); len(posts) != 2 || posts[0].Text != "b" {
		t.Errorf("got %v, want the newest two", posts)
	}
}
