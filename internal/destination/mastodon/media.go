// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mastodon

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"

	api "github.com/mattn/go-mastodon"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/failure"
)

// mediaPath is where images are given to the server, and v1MediaPath where older ones are, and where each is asked for.
const (
	mediaPath   = "/api/v2/media"
	v1MediaPath = "/api/v1/media"
)

// Upload gives an image to the server with one request, or two where it is too old for the first. It is ready where the answer is
// 200; with 202, which Mastodon gives for what it works on for longer and Pixelfed for each, Uploaded tells.
func (c *Client) Upload(ctx context.Context, image destination.Image) (id string, ready bool, err error) {
	id, ready, err = c.upload(ctx, mediaPath, image)
	if known, is := asFailure(err); is && hasNoSource(known.Status) && known.Status != http.StatusGone {
		id, ready, err = c.upload(ctx, v1MediaPath, image)
	}
	return id, ready, err
}

func (c *Client) upload(ctx context.Context, path string, image destination.Image) (id string, ready bool, err error) {
	var head bytes.Buffer
	form := multipart.NewWriter(&head)
	if image.Description != "" {
		if err := form.WriteField("description", image.Description); err != nil {
			return "", false, err
		}
	}
	_, extension, _ := strings.Cut(image.Type, "/")
	if _, err := form.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {fmt.Sprintf(`form-data; name="file"; filename="image.%s"`, extension)}, "Content-Type": {image.Type},
	}); err != nil {
		return "", false, err
	}
	end := "\r\n--" + form.Boundary() + "--\r\n"
	size := int64(head.Len() + len(image.Content) + len(end))
	body := io.MultiReader(&head, bytes.NewReader(image.Content), strings.NewReader(end)) // the image is there once, and stays so
	return c.media(ctx, http.MethodPost, path, body, size, form.FormDataContentType())
}

// Uploaded asks for an image that was not ready.
func (c *Client) Uploaded(ctx context.Context, id string) (ready bool, err error) {
	_, ready, err = c.media(ctx, http.MethodGet, v1MediaPath+"/"+url.PathEscape(id), nil, 0, "")
	return ready, err
}

func (c *Client) media(ctx context.Context, method, path string, body io.Reader, size int64, contentType string) (id string, ready bool, err error) {
	request, err := http.NewRequestWithContext(ctx, method, c.server.JoinPath(path).String(), body)
	if err != nil {
		return "", false, failure.New(v1alpha1.CategoryValidation, failure.TypeInvalidURL,
			fmt.Sprintf("The address of %s cannot be used.", c.server.Host))
	}
	request.Header.Set("Authorization", "Bearer "+c.api.Config.AccessToken)
	if body != nil {
		request.ContentLength = size
		request.Header.Set("Content-Type", contentType)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return "", false, c.failed(err)
	}
	defer func() { _ = response.Body.Close() }()
	var attachment struct {
		ID api.ID `json:"id"`
	}
	if err := json.NewDecoder(response.Body).Decode(&attachment); err != nil || !usableID(attachment.ID) || len(attachment.ID) > maxMediaID {
		return "", false, malformed(c.server.Host, response.StatusCode)
	}
	return string(attachment.ID), response.StatusCode == http.StatusOK, nil
}

// maxMediaID is what an item can keep, in characters.
const maxMediaID = 128

// isUnfinished reports whether an answer is one of those that are not 200 and no refusal: an image was taken and is not ready.
func isUnfinished(request *http.Request, status int) bool {
	switch {
	case request.Method == http.MethodPost && strings.HasSuffix(request.URL.Path, mediaPath):
		return status == http.StatusAccepted
	case request.Method == http.MethodGet && strings.Contains(request.URL.Path, v1MediaPath+"/"):
		return status == http.StatusPartialContent
	}
	return false
}
