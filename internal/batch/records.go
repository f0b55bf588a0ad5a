// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package batch

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

const (
	// maxPacked bounds the records of a batch as they are kept, in characters: an object holds 1.5 MB at most.
	maxPacked = 600_000
	// MaxBytes bounds them as they are sent: 100 of the longest summaries are less. An expression can make more of each item, which takes next
	// to no room where it is kept, and all of it in memory while it is sent.
	MaxBytes = 4 << 20
	// maxUnpacked bounds what is read of them, in bytes.
	maxUnpacked = MaxBytes + 1<<10
)

// ErrTooLarge means that records are too many to be kept together.
var ErrTooLarge = errors.New("the records are too large for one batch")

// Record is the body of one item as a part of a batch, with its idempotency key beside what it has anyway.
func Record(body, key string) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &fields); err != nil || fields == nil {
		return nil, errors.New("the body is no JSON object")
	}
	quoted, err := json.Marshal(key)
	if err != nil {
		return nil, err
	}
	fields["idempotencyKey"] = quoted
	return encode(fields)
}

// Pack makes the form in which records are kept.
func Pack(records []json.RawMessage) (string, error) {
	text, err := encode(records)
	if err != nil {
		return "", err
	}
	if len(records) > 1 && len(text) > MaxBytes {
		return "", ErrTooLarge
	}
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := writer.Write(text); err != nil {
		return "", err
	}
	if err := writer.Close(); err != nil {
		return "", err
	}
	if base64.StdEncoding.EncodedLen(packed.Len()) > maxPacked {
		return "", ErrTooLarge
	}
	return base64.StdEncoding.EncodeToString(packed.Bytes()), nil
}

// SizeOf is how many bytes records have that are kept, as far as they say so: it is known before they are read. It is never more than Unpack reads.
func SizeOf(data string) int64 {
	const end, size = 8, 4 // the last characters, and the last bytes, which are the size (RFC 1952)
	foot, err := base64.StdEncoding.DecodeString(data[max(0, len(data)-end):])
	if err != nil || len(foot) < size {
		return 0
	}
	return min(int64(binary.LittleEndian.Uint32(foot[len(foot)-size:])), maxUnpacked)
}

// Unpack reads them.
func Unpack(data string) ([]json.RawMessage, error) {
	packed, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return nil, fmt.Errorf("the records of a batch cannot be read: %w", err)
	}
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("the records of a batch cannot be read: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(reader, maxUnpacked))
	if err != nil {
		return nil, fmt.Errorf("the records of a batch cannot be read: %w", err)
	}
	var records []json.RawMessage
	if err := json.Unmarshal(text, &records); err != nil {
		return nil, fmt.Errorf("the records of a batch cannot be read: %w", err)
	}
	return records, nil
}

// AreOf reports whether records are those of some members, in their order.
func AreOf(records []json.RawMessage, members []v1alpha1.BatchMember) bool {
	if len(records) != len(members) {
		return false
	}
	for i, record := range records {
		var fields map[string]json.RawMessage // a struct would take a field of the user's that is spelled with other capitals for the key
		var key string
		if err := json.Unmarshal(record, &fields); err != nil || json.Unmarshal(fields["idempotencyKey"], &key) != nil || key != members[i].Key {
			return false
		}
	}
	return true
}

// Body is what is sent of the next part of a batch, and its idempotency key.
func Body(b *v1alpha1.Batch, records []json.RawMessage) (body, key string, err error) {
	part := Part(b)
	if len(part) == 0 || len(records) != len(b.Members) {
		return "", "", errors.New("the batch and what is kept of its records do not belong together")
	}
	key = KeyOf(part)
	text, err := encode(struct {
		Key     string            `json:"batchIdempotencyKey"`
		Records []json.RawMessage `json:"records"`
	}{key, records[b.Parts[0].From:b.Parts[0].To]})
	return string(text), key, err
}

// encode writes JSON as people read it: with < and & as they are.
func encode(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimRight(out.Bytes(), "\n"), nil
}
