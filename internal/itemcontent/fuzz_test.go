// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package itemcontent

import (
	"errors"
	"testing"

	"github.com/feed-operator/feed-operator/internal/failure"
)

// R2.11: whatever somebody has put into an item, unpacking ends, within bounds.
func FuzzUnpack(f *testing.F) {
	_, compressed := Pack(prose(3000))
	f.Add("", compressed)
	f.Add("plain", "")
	f.Add("", "H4sIAAAAAAAA/wAAAP//AQAA//8AAAAAAAAAAA==")
	f.Fuzz(func(t *testing.T, plain, compressed string) {
		unpacked, err := Unpack(plain, compressed)
		var failed *failure.Error
		if err != nil && !errors.As(err, &failed) || len(unpacked) > 4<<20 && compressed != "" {
			t.Errorf("%d bytes, error %#v", len(unpacked), err)
		}
	})
}
