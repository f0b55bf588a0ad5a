// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mastodon posts to Mastodon and to servers that speak its client API, and finds out
// there what was posted.
//
// It knows that API, and what its servers do differently. It makes one request for one delivery,
// and never waits: what is refused, throttled or unclear is the caller's to decide about. It must
// never let the access token, or the body of an answer, into an error.
package mastodon

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	api "github.com/mattn/go-mastodon"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/peerclock"
	"github.com/feed-operator/feed-operator/internal/redact"
)

var (
	_ destination.Destination = (*Client)(nil)
	_ destination.Finder      = (*Client)(nil)
	_ destination.Checker     = (*Client)(nil)
	_ destination.Illustrator = (*Client)(nil)
)

// Config is where to post and as whom.
type Config struct {
	// Server is the address of the server, such as "https://example.social". Without a scheme it
	// is https.
	Server string
	// AccessToken of the account. It needs the scope write:statuses; to look up what was posted
	// also read:accounts and read:statuses; for images write:media.
	AccessToken string
	// Transport is the way out, from outbound.Client.Transport.
	Transport http.RoundTripper
	// Now is the clock of the caller, by which the times of a Query are. Default: time.Now.
	Now func() time.Time
}

// Client speaks with one account on one server. It is safe for concurrent use.
type Client struct {
	server *url.URL
	http   *http.Client
	api    *api.Client
	now    func() time.Time
	clocks *clocks
}

// clocks are those of a server: that of whoever answers, which may be a proxy in front of it, and that of whoever makes posts.
type clocks struct{ answers, posts peerclock.Difference }

// New returns a client. Its error is a *failure.Error that says what is wrong with the
// configuration.
func New(cfg Config) (*Client, error) {
	server, err := parseServer(cfg.Server)
	if err != nil {
		return nil, err
	}
	token := strings.TrimSpace(cfg.AccessToken)
	if token == "" {
		return nil, misconfigured(v1alpha1.CategoryAuth, failure.TypeCredentials, "The access token is empty.")
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil, misconfigured(v1alpha1.CategoryAuth, failure.TypeCredentials,
			"The access token has characters in it that no token has, such as a line break.")
	}
	now := cfg.Now
	if now == nil {
		now = time.Now
	}
	known := &clocks{}
	way := &http.Client{Transport: &transport{
		next: cfg.Transport, host: server.Host, token: token, sent: redact.NewSent(token), now: now, clock: &known.answers,
	}}
	library := api.NewClient(&api.Config{Server: server.String(), AccessToken: token})
	library.Client = *way
	return &Client{server: server, http: way, api: library, now: now, clocks: known}, nil
}

// parseServer reads the address of a server as people write it.
func parseServer(address string) (*url.URL, error) {
	address = strings.TrimSpace(address)
	if !strings.Contains(address, "://") {
		address = "https://" + address
	}
	server, err := url.Parse(address)
	if err != nil || server.Hostname() == "" || server.Scheme != "https" && server.Scheme != "http" ||
		server.User != nil || server.RawQuery != "" || server.Fragment != "" {
		return nil, misconfigured(v1alpha1.CategoryValidation, failure.TypeInvalidURL,
			"The address of the Mastodon server cannot be used: it must look like https://example.social.")
	}
	server.Path, server.RawPath = strings.TrimRight(server.Path, "/"), ""
	return server, nil
}

func misconfigured(category v1alpha1.Category, kind, message string) error {
	failed := failure.New(category, kind, message)
	failed.Unsent = true
	return failed
}

// failed returns the failure behind an error of the library. All but one kind of them come from
// the transport: what is left is an answer that the library could not read, whose words are not
// repeated because they quote the answer.
func (c *Client) failed(err error) error {
	if known, ok := asFailure(err); ok {
		return known
	}
	return malformed(c.server.Host, http.StatusOK)
}
