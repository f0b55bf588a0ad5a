// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package modelapi is what providers that ask the API of a language model have in common: what they
// are told, the requests that one summary takes, the way that their SDK's requests take, and what an
// answer means by its status and by what it says.
//
// It knows HTTP, and how such APIs fail. It must never know the wire format of one of them, nor its
// SDK; nor let an API key into an error. It knows nothing of retries, pace or Kubernetes.
package modelapi

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/redact"
)

// Config says whom to ask, and how.
type Config struct {
	// Model that is asked, as the API names it.
	Model string
	// Endpoint is the base URL of the API, http or https. Empty is that of the Vendor.
	Endpoint string
	// APIKey is what the API knows the caller by. White space around it is ignored.
	APIKey string
	// Transport is the way out.
	Transport http.RoundTripper
	// Now is the clock that dates in answers are compared with. Default: time.Now.
	Now func() time.Time
}

// Vendor is what makes an API different before it is asked anything.
type Vendor struct {
	// Name of the API, for people.
	Name string
	// Endpoint is where the API is by default.
	Endpoint string
	// IsModel reports whether a name may be that of a model. It must let none through that could leave
	// the place in a URL that it is put into.
	IsModel func(name string) bool
	// Example of a model, for people.
	Example string
	// OpenElsewhere is set if other endpoints than the default may want no key.
	OpenElsewhere bool
	// WhenSpent is a sentence on what to do when the budget of the key is spent.
	WhenSpent string
}

// API is a model at an endpoint, and the key that it is asked with. It is safe for concurrent use.
type API struct {
	// Model is its name, as it was configured.
	Model string
	// Endpoint is the base URL, without a slash at its end.
	Endpoint *url.URL
	// Key is empty where the endpoint wants none.
	Key string

	vendor    Vendor
	transport http.RoundTripper
	now       func() time.Time
	sent      *redact.Sent
}

// New checks what the configuration says, without asking anybody anything. An error is a
// *failure.Error that says what in it is wrong.
func New(vendor Vendor, cfg Config) (*API, error) {
	a := &API{Model: cfg.Model, Key: strings.TrimSpace(cfg.APIKey), vendor: vendor, transport: cfg.Transport, now: cfg.Now}
	if a.now == nil {
		a.now = time.Now
	}
	if a.transport == nil {
		return nil, failure.New(v1alpha1.CategoryUnknown, failure.TypeUnsupported, fmt.Sprintf("No transport to %s is configured.", vendor.Name))
	}
	if !vendor.IsModel(a.Model) {
		return nil, failure.New(v1alpha1.CategoryValidation, failure.TypeModelNotFound,
			fmt.Sprintf("%q is no name of a model of %s. Use one such as %s.", cfg.Model, vendor.Name, vendor.Example))
	}
	needed := cfg.Endpoint == "" || !vendor.OpenElsewhere
	if a.Key == "" && needed || strings.ContainsFunc(a.Key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, failure.New(v1alpha1.CategoryAuth, failure.TypeCredentials, fmt.Sprintf(
			"The API key of %s is empty, or holds characters that no key has. Put the key as it is into the Secret.", vendor.Name))
	}
	endpoint, err := url.Parse(strings.TrimRight(cmp.Or(cfg.Endpoint, vendor.Endpoint), "/"))
	if err != nil || endpoint.Host == "" || endpoint.Scheme != "https" && endpoint.Scheme != "http" ||
		endpoint.User != nil || endpoint.RawQuery != "" || endpoint.Fragment != "" {
		return nil, failure.New(v1alpha1.CategoryValidation, failure.TypeInvalidURL, fmt.Sprintf(
			"The endpoint of %s must be a full URL such as %s, without user, query or fragment.", vendor.Name, vendor.Endpoint))
	}
	a.Endpoint = endpoint
	a.sent = redact.NewSent(a.Key)
	return a, nil
}

// Host is how messages name the endpoint.
func (a *API) Host() string { return a.Endpoint.Host }

// Now is the time on the clock of the configuration.
func (a *API) Now() time.Time { return a.now() }
