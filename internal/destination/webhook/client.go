// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/redact"
)

var (
	_ destination.Destination = (*Client)(nil)
	_ destination.Repeater    = (*Client)(nil)
)

// MaxAnswer bounds what is read of an answer, in bytes. Only a refusal's words are looked at.
const MaxAnswer = 64 << 10

// Config is where to send and as whom.
type Config struct {
	// URL of the receiver. Secret means that nobody may see it, and that one that is not known there (404) is as good as a token
	// that is refused.
	URL    string
	Secret bool
	// Token is a bearer token. May be empty.
	Token string
	// SigningKeys are those of Standard Webhooks, separated by spaces, each of them whsec_ and base64. May be empty.
	SigningKeys string
	// Header holds further headers, all of them secret.
	Header http.Header
	// ContentType of the body.
	ContentType string
	// DuplicateCodes are the answers by which the receiver says that it has had this before.
	DuplicateCodes []int32
	// Repeats is set if a call of which nobody knows whether it has arrived may be made again with the same key.
	Repeats bool
	// Transport is the way out, from outbound.Client.Transport.
	Transport http.RoundTripper
	// Now is the clock of the caller. Default: time.Now.
	Now func() time.Time
}

// Client sends to one receiver. It is safe for concurrent use.
type Client struct {
	config Config
	url    *url.URL
	signer signer
	sent   *redact.Sent
}

// New returns a client. Its error is a *failure.Error that says what is wrong with the configuration, and nothing of
// what is secret in it.
func New(config Config) (*Client, error) {
	config.Token = strings.TrimSpace(config.Token)
	if strings.ContainsFunc(config.Token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil, misconfigured(v1alpha1.CategoryAuth, failure.TypeCredentials, "The token has characters in it that no token has, such as a line break.")
	}
	address, err := url.Parse(strings.TrimSpace(config.URL))
	if err != nil || address.Hostname() == "" || address.Scheme != "https" && address.Scheme != "http" || address.User != nil || address.Fragment != "" {
		return nil, misconfigured(v1alpha1.CategoryValidation, failure.TypeInvalidURL,
			"The URL of the webhook cannot be used: it must look like https://ops.example.org/news.")
	}
	signer, err := newSigner(config.SigningKeys)
	if err != nil {
		return nil, err
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Client{config: config, url: address, signer: signer, sent: redact.NewSent(config.secrets(address)...)}, nil
}

// secrets are what a receiver is sent that it must not be quoted with.
func (c Config) secrets(address *url.URL) []string {
	secrets := append([]string{c.Token}, redact.CredentialsIn(c.URL)...)
	for _, values := range c.Header {
		secrets = append(secrets, values...)
	}
	if !c.Secret {
		return secrets
	}
	// Some services have the secret in the name of the host, or in a parameter of any name.
	secrets = append(secrets, c.URL, address.String(), address.Host, address.Hostname(), address.EscapedPath(), address.Path, address.RawQuery)
	for _, values := range address.Query() {
		secrets = append(secrets, values...)
	}
	return append(secrets, strings.Split(strings.Trim(address.Path, "/"), "/")...)
}

// WithoutEchoes is an error about the receiver, without what it is sent in confidence.
func (c *Client) WithoutEchoes(err error) *failure.Error { return failure.WithoutEchoes(err, c.sent) }

// URL is what is called. It may be a secret.
func (c *Client) URL() *url.URL { return c.url }

// Repeats implements destination.Repeater.
func (c *Client) Repeats() bool { return c.config.Repeats }

// Deliver sends the text of a post, which is the whole body, with one request. Any answer from 200 to 299 is success, and so are those by
// which the receiver says that it has had it before. Redirects are not followed.
//
// The key is sent as Idempotency-Key, a quoted string as the draft of the IETF has it
// (https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/), and as the webhook-id of Standard Webhooks
// (https://www.standardwebhooks.com), where there is a key to sign with.
func (c *Client) Deliver(ctx context.Context, key string, post destination.Post) (destination.Receipt, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url.String(), strings.NewReader(post.Text))
	if err != nil {
		return destination.Receipt{}, misconfigured(v1alpha1.CategoryValidation, failure.TypeInvalidURL, "The URL of the webhook cannot be used.")
	}
	maps.Copy(request.Header, c.config.Header)
	request.Header.Set("Content-Type", c.config.ContentType)
	request.Header.Set("Idempotency-Key", `"`+key+`"`)
	if c.config.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.config.Token)
	}
	if err := c.signer.sign(request.Header, key, c.config.Now(), post.Text); err != nil {
		return destination.Receipt{}, err
	}
	answer, err := c.config.Transport.RoundTrip(request)
	if err != nil {
		failed := c.WithoutEchoes(err)
		failed.Rejected = failed.Type == failure.TypeRedirect
		return destination.Receipt{}, failed
	}
	defer func() { _ = answer.Body.Close() }()
	switch {
	case answer.StatusCode >= 200 && answer.StatusCode <= 299:
		return destination.Receipt{}, nil
	case slices.Contains(c.config.DuplicateCodes, int32(answer.StatusCode)): //nolint:gosec // three digits
		return destination.Receipt{Duplicate: true}, nil
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, MaxAnswer))
	if err != nil {
		body = nil // that it was refused says more than that its reasons could not be read
	}
	return destination.Receipt{}, c.refusal(answer, body)
}

func misconfigured(category v1alpha1.Category, kind, message string) error {
	failed := failure.New(category, kind, message)
	failed.Unsent = true
	return failed
}

// refusal is the failure for an answer that is no success.
func (c *Client) refusal(answer *http.Response, body []byte) *failure.Error {
	status := answer.StatusCode
	failed := &failure.Error{
		Category: failure.FromStatus(status), Type: failure.TypeHTTPStatus, Status: status,
		RetryAfter: c.wait(status, answer.Header), Rejected: nothingDone(status),
	}
	todo := ""
	switch {
	case status == http.StatusGone:
		failed.Type, todo = failure.TypeGone, "It is not called again until the FeedDestination or its Secret is changed."
	case status == http.StatusNotFound && c.config.Secret: // that of a chat was deleted, or is misspelt
		failed.Category, failed.Type, todo = v1alpha1.CategoryAuth, failure.TypeCredentials, "There is no such webhook: correct its URL in the Secret."
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		failed.Type, todo = failure.TypeCredentials, "Correct the token, or the URL, in the Secret."
	case status == http.StatusNotFound:
		todo = "Correct spec.webhook.url."
	case status == http.StatusTooManyRequests:
		failed.Type = failure.TypeThrottled
	case status == http.StatusPaymentRequired:
		failed.Type, failed.Quota = failure.TypeQuotaSpent, true
	case status == http.StatusRequestEntityTooLarge:
		failed.Type = failure.TypeTooLong
	}
	receiver := c.url.Host
	if c.config.Secret {
		receiver = "The webhook"
	}
	sentences := []string{strings.TrimSpace(fmt.Sprintf("%s answered %d %s", receiver, status, http.StatusText(status))) + "."}
	if todo != "" {
		sentences = append(sentences, todo)
	}
	if words := destination.WordsOf(body, c.sent, c.config.Token); words != "" {
		sentences = append(sentences, "It says: "+strings.TrimRight(words, ".")+".")
	}
	failed.Message = strings.Join(sentences, " ")
	return failed
}

// nothingDone reports for the status of a refusal that the receiver has done nothing. Of 408 and of errors of its own nobody knows; 501
// and 503 say that it does not serve the request.
func nothingDone(status int) bool {
	switch status {
	case http.StatusRequestTimeout:
		return false
	case http.StatusNotImplemented, http.StatusServiceUnavailable:
		return true
	}
	return status >= 300 && status <= 499
}

// maxWait is the longest wait that a receiver is believed to mean.
const maxWait = 24 * time.Hour

// wait is how long a receiver asks for a pause: by Retry-After and, with 429, by X-RateLimit-Reset-After, in seconds, or by
// X-RateLimit-Reset, in seconds since 1970 or from now; with any other status, or where X-RateLimit-Remaining says that something is
// left, these say nothing of the sort.
func (c *Client) wait(status int, header http.Header) time.Duration {
	now := failure.AnsweredAt(header.Get("Date"), c.config.Now())
	longest := failure.RetryAfter(header.Get("Retry-After"), now)
	if status == http.StatusTooManyRequests && failure.UsedUp(header.Get("X-RateLimit-Remaining")) {
		longest = max(longest, failure.RetryAfter(header.Get("X-RateLimit-Reset-After"), now), failure.Until(header.Get("X-RateLimit-Reset"), now))
	}
	return min(longest, maxWait)
}

// ContentType is that of a body in a format.
func ContentType(format v1alpha1.WebhookFormat) string {
	if format == v1alpha1.WebhookCloudEvents {
		return "application/cloudevents+json"
	}
	return "application/json"
}
