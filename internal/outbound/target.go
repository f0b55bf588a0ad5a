// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// target is a URL that a request can be sent to, in a form in which equal things look equal.
type target struct {
	// url has an http or https scheme, a host in lower-case ASCII, no user info and no fragment.
	url *url.URL
	// user is the user info that the URL came with, or nil. It counts where the caller gave it, not
	// in a redirect.
	user *url.Userinfo
}

// origin is what credentials are bound to.
type origin struct{ scheme, host, port string }

// parseTarget reads a URL. Its error is a text for a person that does not repeat the URL.
func parseTarget(raw string) (target, error) {
	parsed, err := url.Parse(strings.TrimSpace(raw))
	if err != nil {
		return target{}, errors.New("the URL cannot be read: it is malformed")
	}
	return newTarget(parsed)
}

// HostOf returns the host of a URL as it is looked up, in whatever way it is written: in lower-case
// ASCII, without a port. It is empty where no request can be sent to the URL.
func HostOf(raw string) string {
	at, err := parseTarget(raw)
	if err != nil {
		return ""
	}
	return at.url.Hostname()
}

// follow reads the Location of an answer that came from t.
func (t target) follow(location string) (target, error) {
	reference, err := url.Parse(strings.TrimSpace(location))
	if err != nil {
		return target{}, errors.New("the URL cannot be read: it is malformed")
	}
	return newTarget(t.url.ResolveReference(reference))
}

func newTarget(parsed *url.URL) (target, error) {
	switch parsed.Scheme {
	case "http", "https":
	case "":
		return target{}, errors.New("the URL has no scheme: it must begin with https:// or http://")
	default:
		return target{}, fmt.Errorf("the URL scheme %.20q is not supported: it must be https or http", parsed.Scheme)
	}
	host, err := asciiHost(parsed.Hostname())
	if err != nil {
		return target{}, err
	}
	if _, notAddress := netip.ParseAddr(host); strings.Contains(host, ":") && (notAddress != nil || parsed.Host[0] != '[') {
		return target{}, errors.New("the host of the URL is not a valid name or address")
	}
	port := parsed.Port()
	if port != "" {
		if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
			return target{}, errors.New("the URL has a port that does not exist: it must be 1 to 65535")
		}
	}
	clean := *parsed
	clean.User, clean.Fragment, clean.RawFragment = nil, "", ""
	switch {
	case port != "":
		clean.Host = net.JoinHostPort(host, port)
	case strings.Contains(host, ":"):
		clean.Host = "[" + host + "]"
	default:
		clean.Host = host
	}
	return target{url: &clean, user: parsed.User}, nil
}

// asciiHost returns the host as it is looked up, so that it can also be shown: other alphabets
// could pass for another host.
func asciiHost(host string) (string, error) {
	if host == "" {
		return "", errors.New("the URL names no host")
	}
	for i := range len(host) {
		if host[i] < 0x80 {
			continue
		}
		ascii, err := idna.Lookup.ToASCII(host)
		if err != nil || ascii == "" {
			return "", errors.New("the host of the URL is not a valid name")
		}
		return ascii, nil
	}
	return strings.ToLower(host), nil
}

func (t target) origin() origin {
	port := t.url.Port()
	if port == "" {
		port = "443"
		if t.url.Scheme == "http" {
			port = "80"
		}
	}
	return origin{scheme: t.url.Scheme, host: t.url.Hostname(), port: port}
}

// String returns the URL without user info.
func (t target) String() string { return t.url.String() }
