// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package batch_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/feed-operator/feed-operator/internal/batch"
)

// R4.3: what takes no room where it is kept, because it is the same over and over, takes a bounded room where it is sent; and how much that is, is known
// before it is read.
func TestRecordsAreBoundedAsTheyAreSent(t *testing.T) {
	t.Parallel()
	record := func(bytes int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("x", bytes-2) + `"`) }
	half := batch.MaxBytes/2 - 2 // with a bracket and a comma
	packed, err := batch.Pack([]json.RawMessage{record(half), record(half)})
	if err != nil {
		t.Fatal(err)
	}
	if size := batch.SizeOf(packed); size < 2*int64(half) || size > batch.MaxBytes {
		t.Errorf("%d bytes are said to be %d", 2*half, size)
	}
	if read, err := batch.Unpack(packed); err != nil || len(read) != 2 {
		t.Errorf("%d records: %v", len(read), err)
	}
	if _, err := batch.Pack([]json.RawMessage{record(half), record(half), record(2)}); !errors.Is(err, batch.ErrTooLarge) {
		t.Errorf("more than %d bytes: %v", batch.MaxBytes, err)
	}
	for _, damaged := range []string{"", "A", "no base64!", "AAAA"} {
		if size := batch.SizeOf(damaged); size != 0 {
			t.Errorf("%q has %d bytes", damaged, size)
		}
	}
	if size := batch.SizeOf("/////////////////////w=="); size > 2*batch.MaxBytes { // says 4 GiB
		t.Errorf("a lie is believed: %d", size)
	}
}

// R4.4: records are known by the key that the operator has put into them, whatever else the user's body has.
func TestRecordsAreKnownByTheirKeysAlone(t *testing.T) {
	t.Parallel()
	records := make([]json.RawMessage, 0, 3)
	for _, member := range members(3) {
		record, err := batch.Record(`{"IdempotencyKEY":"another","idempotencykey":"a third"}`, member.Key)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, record)
	}
	if !batch.AreOf(records, members(3)) {
		t.Errorf("%s are not known", records)
	}
	for name, others := range map[string][]json.RawMessage{
		"fewer": records[:2], "in another order": {records[1], records[0], records[2]}, "without keys": {json.RawMessage(`{}`), records[1], records[2]},
		"no records": {json.RawMessage(`[]`), records[1], records[2]},
	} {
		if batch.AreOf(others, members(3)) {
			t.Errorf("%s: %s are taken for them", name, others)
		}
	}
}
