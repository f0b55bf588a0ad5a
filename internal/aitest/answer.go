// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"regexp"

	"github.com/feed-operator/feed-operator/internal/prose"
)

// Call is one request for a text, as it came in.
type Call struct {
	// ID of the request.
	ID string
	// Model that is asked.
	Model string
	// System and User are the texts of the prompt.
	System, User string
	// Documents are the files that came with the prompt.
	Documents []File
	// Malformed is set if such a file is not as the API wants it.
	Malformed bool
	// Screening is set if a verdict was asked for.
	Screening bool
	// Room for the answer, in tokens.
	Room int
	// KeyElsewhere is set if a key was where it does not belong, such as in the URL, where everyone on the
	// way can read it.
	KeyElsewhere bool
	// KeyRefused is set if the key was not the server's.
	KeyRefused bool
	// Header and Body are the request in full.
	Header http.Header
	Body   []byte
}

// File is a document in a prompt.
type File struct {
	MIMEType string
	Data     []byte
}

// Attach notes a file that came in base64. All these APIs want a PDF document.
func (c *Call) Attach(mimeType, encoded string) {
	data, err := base64.StdEncoding.DecodeString(encoded)
	c.Malformed = c.Malformed || err != nil || mimeType != "application/pdf" || !bytes.HasPrefix(data, []byte("%PDF-"))
	c.Documents = append(c.Documents, File{MIMEType: mimeType, Data: data})
}

var articleText = regexp.MustCompile(`(?s)\[BEGIN text ([0-9a-f]{32})\]\n(.*)\n\[END text ([0-9a-f]{32})\]`)

// Article is the fenced text of the article in User.
func (c Call) Article() string {
	if found := articleText.FindStringSubmatch(c.User); found != nil && found[1] == found[3] {
		return found[2]
	}
	return ""
}

// Answer is what the server answers to a request.
type Answer struct {
	status int
	hang   bool
	render func(call Call) (http.Header, []byte)
}

// Hang is no answer until the request ends.
func Hang() Answer { return Answer{hang: true} }

// Body is any answer at all.
func Body(status int, contentType, body string) Answer {
	return Answer{status: status, render: func(Call) (http.Header, []byte) {
		return http.Header{"Content-Type": {contentType}}, []byte(body)
	}}
}

// HTML is a web page in place of an answer, with any status.
func HTML(status int) Answer {
	return Body(status, "text/html; charset=utf-8", "<!doctype html><title>Sign in</title><p>Please sign in to the network.")
}

// Document is an answer in JSON.
func Document(status int, body func(call Call) any) Answer {
	return Answer{status: status, render: func(call Call) (http.Header, []byte) {
		text, err := json.MarshalIndent(body(call), "", "  ")
		if err != nil {
			panic(err) // of what stand-ins make, everything can be written
		}
		return http.Header{"Content-Type": {"application/json; charset=UTF-8"}}, text
	}}
}

// WithHeader returns the answer with one header more.
func (a Answer) WithHeader(name, value string) Answer {
	return a.withHeaders(http.Header{http.CanonicalHeaderKey(name): {value}})
}

func (a Answer) withHeaders(more http.Header) Answer {
	if a.hang || len(more) == 0 {
		return a
	}
	render := a.render
	a.render = func(call Call) (http.Header, []byte) {
		header, body := render(call)
		maps.Copy(header, more)
		return header, body
	}
	return a
}

// Declined is what models write that decline.
const Declined = "I'm sorry, but I can't help with summarizing this article."

// Writer is a model: what it writes to a call.
type Writer func(call Call) string

// Opening summarizes an article by its beginning.
func Opening(call Call) string {
	summary := prose.Cut(call.Article(), 160)
	if summary == "" {
		summary = "The article has no text."
	}
	return Summary(summary)(call)
}

// Summary writes this summary. Where a verdict was asked for, it is for the article.
func Summary(text string) Writer {
	return func(call Call) string {
		if !call.Screening {
			return written(map[string]any{"summary": text})
		}
		return Verdict(true, true, "The article meets the criteria.", text)(call)
	}
}

// Verdict writes this verdict and this summary.
func Verdict(valuable, complete bool, explanation, summary string) Writer {
	return Exactly(written(map[string]any{
		"summary": summary, "screening": map[string]any{"complete": complete, "explanation": explanation, "valuable": valuable},
	}))
}

// Exactly writes this text.
func Exactly(text string) Writer { return func(Call) string { return text } }

func written(answer any) string {
	text, err := json.Marshal(answer)
	if err != nil {
		panic(err) // strings can be written
	}
	return string(text)
}
