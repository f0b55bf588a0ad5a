// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mastodontest

import (
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"strings"
)

// accountID is the id of the one account.
const accountID = "109000000000000001"

// routes are the endpoints that are counted by their patterns.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, handler http.HandlerFunc) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			s.mu.Lock()
			s.counts[pattern]++
			hook := s.onRequest
			s.mu.Unlock()
			w.Header().Set("Date", s.options.Now().UTC().Format(http.TimeFormat))
			if hook == nil || !hook(w, r) {
				handler(w, r)
			}
		})
	}
	handle("POST /api/v1/statuses", s.forWriting(s.postStatus))
	handle("POST /api/v1/media", s.forWriting(s.uploadMedia))
	handle("POST /api/v2/media", s.forWriting(s.uploadMedia))
	handle("GET /api/v1/media/{id}", s.forWriting(s.getMedia))
	handle("GET /media/{id}", s.showImage)
	handle("GET /api/v1/statuses/{id}", s.forReading(s.getStatus))
	handle("GET /api/v1/statuses/{id}/source", s.withToken(s.forReading(s.getSource)))
	handle("GET /api/v1/accounts/verify_credentials", s.withToken(s.forReading(func(w http.ResponseWriter, r *http.Request) {
		answer(w, s.account(r))
	})))
	handle("GET /api/v1/accounts/{id}/statuses", s.forReading(s.listStatuses))
	handle("GET /api/v2/instance", s.instanceV2)
	handle("GET /api/v1/instance", s.instanceV1)
	handle("GET /{$}", s.showPosts)
	handle("/api/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusNotFound, "Not found") })
	handle("/", s.showPost)
	return mux
}

// authorized reports whether a request has the token.
func (s *Server) authorized(r *http.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	given := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	return s.options.Token == "" || subtle.ConstantTimeCompare([]byte(given), []byte(s.options.Token)) == 1
}

// withToken asks for a token; which one is judged by what it wraps.
func (s *Server) withToken(handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" && !s.authorized(r) {
			refuse(w, http.StatusUnauthorized, "This method requires an authenticated user")
			return
		}
		handler(w, r)
	}
}

func (s *Server) forWriting(handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.authorized(r) {
			refuse(w, http.StatusUnauthorized, "The access token is invalid")
			return
		}
		handler(w, r)
	}
}

// forReading takes requests without a token, which see what everybody sees.
func (s *Server) forReading(handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		given := r.Header.Get("Authorization") != ""
		if given && !s.authorized(r) {
			refuse(w, http.StatusUnauthorized, "The access token is invalid")
			return
		}
		if given && !s.options.TokenMayRead {
			refuse(w, http.StatusForbidden, "This action is outside the authorized scopes")
			return
		}
		handler(w, r)
	}
}

// account is the Account entity.
func (s *Server) account(r *http.Request) map[string]any {
	name := s.options.Username
	return map[string]any{
		"id": accountID, "username": name, "acct": name, "display_name": name,
		"url": s.base(r) + "/@" + name, "uri": s.base(r) + "/users/" + name,
		"locked": false, "bot": true, "note": "", "created_at": "2020-01-01T00:00:00.000Z",
		"avatar": "", "avatar_static": "", "header": "", "header_static": "",
		"followers_count": 0, "following_count": 0, "statuses_count": 0, "emojis": []any{}, "fields": []any{},
	}
}

func (s *Server) configuration() map[string]any {
	return map[string]any{
		"statuses": map[string]any{
			"max_characters":              s.options.MaxCharacters,
			"max_media_attachments":       4,
			"characters_reserved_per_url": s.options.CharactersPerURL,
		},
		"media_attachments": map[string]any{
			"supported_mime_types": imageTypes, "image_size_limit": s.options.MaxImageBytes, "description_limit": maxDescription,
		},
	}
}

func (s *Server) instanceV2(w http.ResponseWriter, r *http.Request) {
	answer(w, map[string]any{
		"domain": r.Host, "title": "A server for tests", "version": s.options.Version,
		"source_url": "https://github.com/mastodon/mastodon", descriptionField: "", "languages": []string{"en"},
		"configuration": s.configuration(),
	})
}

func (s *Server) instanceV1(w http.ResponseWriter, r *http.Request) {
	answer(w, map[string]any{
		"uri": r.Host, "title": "A server for tests", "version": s.options.Version,
		descriptionField: "", "languages": []string{"en"}, "configuration": s.configuration(),
	})
}

// base is the URL that a request came to, without a slash at the end.
func (s *Server) base(r *http.Request) string {
	if s.URL != "" {
		return s.URL
	}
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

func answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(body)
}

func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": message})
}
