// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/internal/outbound"
)

// R1.7: what the flags allow and deny is what is reached, and the log has the address of what is refused.
func TestWhatIsDeniedIsNotReached(t *testing.T) {
	t.Parallel()
	flags, _, err := parseFlags([]string{"--allow-cidr=127.0.0.1/8", "--deny-cidr=127.0.0.1/32", "--deny-cidr=192.0.2.7/24"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	want := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("192.0.2.0/24")}
	if !slices.Equal(flags.denyCIDRs, want) || !slices.Equal(flags.allowCIDRs, []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}) {
		t.Errorf("denied %v, allowed %v", flags.denyCIDRs, flags.allowCIDRs)
	}
	var lines bytes.Buffer
	out := outbound.New(flags.outbound(newLogger(flags.log, &lines), time.Now))
	if _, err := out.Get(t.Context(), outbound.Request{URL: "http://localhost:1/"}); err == nil || strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("error %v", err)
	}
	if text := lines.String(); !strings.Contains(text, "Address refused") || !strings.Contains(text, "localhost") || !strings.Contains(text, "127.0.0.1") {
		t.Errorf("the log says %q", text)
	}
}
