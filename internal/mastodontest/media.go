// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mastodontest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// descriptionField is the name of what describes an image, and other things.
const descriptionField = "description"

// maxDescription of an image, in characters.
const maxDescription = 1500

var imageTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp", "video/mp4"}

// mediaLife is for how long Mastodon keeps an image that no post shows.
const mediaLife = 24 * time.Hour

// upload is an image and how often it was asked for; shown is the key of the post that shows it.
type upload struct {
	Image
	at     time.Time
	checks int
	shown  bool
	key    string
}

// uploadMedia is POST /api/v2/media.
func (s *Server) uploadMedia(w http.ResponseWriter, r *http.Request) {
	file, header, err := r.FormFile("file")
	if err != nil {
		refuse(w, http.StatusUnprocessableEntity, "Validation failed: File can't be blank")
		return
	}
	content, err := io.ReadAll(io.LimitReader(file, int64(s.options.MaxImageBytes)+1))
	kind, description := header.Header.Get("Content-Type"), r.FormValue(descriptionField)
	switch {
	case err != nil:
		refuse(w, http.StatusBadRequest, "The request cannot be read")
		return
	case len(content) > s.options.MaxImageBytes:
		refuse(w, http.StatusUnprocessableEntity, "Validation failed: File size is too large")
		return
	case !slices.Contains(imageTypes, kind) || http.DetectContentType(content) != kind:
		refuse(w, http.StatusUnprocessableEntity, "Validation failed: File content type is invalid")
		return
	case len([]rune(description)) > maxDescription:
		refuse(w, http.StatusUnprocessableEntity, "Validation failed: Description is too long")
		return
	}
	s.mu.Lock()
	s.lastID++
	made := &upload{Image: Image{fmt.Sprint(s.lastID), kind, description, content}, at: s.options.Now()}
	s.uploads = append(s.uploads, made)
	s.mu.Unlock()
	if s.options.ImageChecks > 0 {
		s.answerMedia(w, http.StatusAccepted, made.Image)
		return
	}
	s.answerMedia(w, http.StatusOK, made.Image)
}

// getMedia is GET /api/v1/media/{id}.
func (s *Server) getMedia(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	found := s.upload(r.PathValue("id"))
	if found == nil {
		s.mu.Unlock()
		refuse(w, http.StatusNotFound, "Record not found")
		return
	}
	found.checks++
	ready := found.checks >= s.options.ImageChecks
	s.mu.Unlock()
	if ready {
		s.answerMedia(w, http.StatusOK, found.Image)
		return
	}
	s.answerMedia(w, http.StatusPartialContent, found.Image)
}

func (s *Server) answerMedia(w http.ResponseWriter, status int, image Image) {
	var address any
	if status == http.StatusOK {
		address = s.URL + "/media/" + image.ID
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"id": image.ID, "type": "image", "url": address, descriptionField: image.Description})
}

// upload needs the lock. An image that no post shows is gone after a day.
func (s *Server) upload(id string) *upload {
	for _, made := range s.uploads {
		if made.ID == id && (made.shown || s.options.Now().Sub(made.at) < mediaLife) {
			return made
		}
	}
	return nil
}

// illustrate finds the images of a post that is about to be accepted, or says why it cannot have them. One that is posted again with its key may.
func (s *Server) illustrate(post *Post) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, image := range post.Images {
		found := s.upload(image.ID)
		switch {
		case found == nil || found.shown && (post.Key == "" || found.key != post.Key):
			return "Media " + image.ID + " not found or already attached to another post"
		case found.checks < s.options.ImageChecks:
			return "Cannot attach files that have not finished processing. Try again in a moment!"
		}
		post.Images[i] = found.Image
	}
	return ""
}

// attach needs the lock.
func (s *Server) attach(post *Post) {
	for _, image := range post.Images {
		if found := s.upload(image.ID); found != nil {
			found.shown, found.key = true, post.Key
		}
	}
}

// Uploads returns the images that were uploaded, also those that no post shows, oldest first.
func (s *Server) Uploads() []Image {
	s.mu.Lock()
	defer s.mu.Unlock()
	images := make([]Image, 0, len(s.uploads))
	for _, made := range s.uploads {
		images = append(images, made.Image)
	}
	return images
}

// ForgetUploads deletes the images that no post shows, as servers do after a while.
func (s *Server) ForgetUploads() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uploads = slices.DeleteFunc(s.uploads, func(made *upload) bool { return !made.shown })
}

// attachments are the MediaAttachment entities of a post.
func (s *Server) attachments(r *http.Request, post Post) []any {
	attachments := make([]any, 0, len(post.Images))
	for _, image := range post.Images {
		attachments = append(attachments, map[string]any{
			"id": image.ID, "type": "image", "url": s.base(r) + "/media/" + image.ID, descriptionField: image.Description,
		})
	}
	return attachments
}

// showImage is an image as the page shows it.
func (s *Server) showImage(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	found := s.upload(r.PathValue("id"))
	s.mu.Unlock()
	if found == nil || !strings.HasPrefix(found.Type, "image/") {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", found.Type)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(found.Content)
}
