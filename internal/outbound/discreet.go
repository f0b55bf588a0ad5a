// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"errors"
	"net/netip"
	"regexp"
	"strings"
)

// discreet is an error without the addresses in its text: those of inside servers, of the name servers and
// of the operator itself are not for everybody who may read a status. What it is made of can be
// asked for by errors.Is and errors.As, but is not shown: it has no Unwrap.
type discreet struct{ err error }

func (d *discreet) Error() string        { return withoutAddresses(d.err.Error()) }
func (d *discreet) Is(target error) bool { return errors.Is(d.err, target) }
func (d *discreet) As(target any) bool   { return errors.As(d.err, target) }

// likeAddress is what an address of IPv4 or IPv6 may look like, with a port or without.
var likeAddress = regexp.MustCompile(`\[?[0-9A-Fa-f:]*[:.][0-9A-Fa-f:.]*[0-9A-Fa-f:](?:%[0-9A-Za-z._-]+)?\]?(?::[0-9]+)?`)

func withoutAddresses(text string) string {
	return likeAddress.ReplaceAllStringFunc(text, func(found string) string {
		for _, end := range []string{"", ":"} { // that of the clause in which it stands
			address := strings.TrimSuffix(found, end)
			_, err := netip.ParseAddrPort(address)
			if _, bare := netip.ParseAddr(strings.Trim(address, "[]")); err == nil || bare == nil {
				return "(address)" + found[len(address):]
			}
		}
		return found
	})
}
