// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mastodontest

import (
	"bytes"
	"html/template"
	"net/http"
	"slices"
	"strings"
)

// maxShown is how many posts the page shows.
const maxShown = 200

var page = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="5">
<title>@{{.Username}}</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 2rem auto; padding: 0 1rem; }
article { border-top: 1px solid #8886; padding: .75rem 0; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; }
.warning { font-weight: bold; margin: 0; }
img { max-width: 100%; border-radius: .5rem; margin-top: .5rem; }
footer { color: #777; font-size: .85rem; }
</style>
</head>
<body>
<h1>@{{.Username}}</h1>
<p>A local stand-in for a Mastodon server. {{.Total}} posts{{if lt (len .Posts) .Total}}, these are the newest {{len .Posts}}{{end}}.</p>
{{range .Posts}}<article>
{{with .SpoilerText}}<p class="warning">{{.}}</p>
{{end}}<p class="text">{{.Text}}</p>
{{range .Images}}<img src="/media/{{.ID}}" alt="{{.Description}}" title="{{.Description}}">
{{end}}<footer><a href="/@{{$.Username}}/{{.ID}}">{{.CreatedAt.Format "2006-01-02 15:04:05 MST"}}</a> · {{.Visibility}}
{{- with .Language}} · {{.}}{{end}}{{if not .EditedAt.IsZero}} · edited{{end}}{{if .Boost}} · boost{{end}}</footer>
</article>
{{else}}<p>Nothing was posted yet.</p>
{{end}}</body>
</html>
`))

// showPosts is the page at the root, newest first.
func (s *Server) showPosts(w http.ResponseWriter, _ *http.Request) {
	posts := s.Posts()
	total := len(posts)
	slices.Reverse(posts)
	s.show(w, posts[:min(total, maxShown)], total)
}

// showPost is what the URL of a post leads to.
func (s *Server) showPost(w http.ResponseWriter, r *http.Request) {
	id, found := strings.CutPrefix(r.URL.Path, "/@"+s.options.Username+"/")
	s.mu.Lock()
	post := s.find(id)
	if !found || post == nil {
		s.mu.Unlock()
		http.NotFound(w, r)
		return
	}
	shown := *post
	s.mu.Unlock()
	s.show(w, []Post{shown}, 1)
}

func (s *Server) show(w http.ResponseWriter, posts []Post, total int) {
	var body bytes.Buffer
	err := page.Execute(&body, struct {
		Username string
		Posts    []Post
		Total    int
	}{s.options.Username, posts, total})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; img-src 'self'; style-src 'unsafe-inline'")
	_, _ = body.WriteTo(w)
}
