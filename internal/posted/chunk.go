// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package posted

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// chunkForm is the version of a chunk that is written.
	chunkForm = 1
	// chunkSize is how many posts a chunk takes: about 50 KB, which is what a minute with posts writes.
	chunkSize = 1000
	// mostInChunk is how many are read from one: two operators at once may have filled it.
	mostInChunk = 8 * chunkSize
	// longestURL is how long the URL of a post may be in bytes to be kept; nobody's is longer.
	longestURL = 200
	// longestChunk bounds what a chunk may be unpacked to.
	longestChunk = mostInChunk * (1 + 2*binary.MaxVarintLen64 + attributes*8 + longestURL)
)

// ErrNewer means that a chunk was written by a newer version of the operator.
var ErrNewer = errors.New("written by a newer version")

// Post is what is kept of a post.
type Post struct {
	// URL of the post; empty where the other side gave none.
	URL string
	// Time at which it was made, in whole seconds.
	Time time.Time
}

type record struct {
	Identity
	url string
	at  int64 // seconds since 1970
}

func (r *record) post() Post { return Post{URL: r.url, Time: time.Unix(r.at, 0).UTC()} }

// writers are those that pack; each has nearly a megabyte.
var writers = sync.Pool{New: func() any { return gzip.NewWriter(io.Discard) }}

// encode packs posts: base64 of a version and of gzip over their number, their masks, times, keys and URLs.
func encode(records []record) string {
	var packed bytes.Buffer
	packed.WriteByte(chunkForm)
	raw := binary.AppendUvarint(nil, uint64(len(records)))
	for i := range records {
		raw = append(raw, records[i].mask())
	}
	before := int64(0)
	for i := range records {
		raw = binary.AppendVarint(raw, records[i].at-before)
		before = records[i].at
	}
	for i := range records {
		for _, key := range records[i].keys {
			if !key.IsZero() {
				raw = append(raw, key[:]...)
			}
		}
	}
	for i := range records {
		raw = binary.AppendUvarint(raw, uint64(len(records[i].url)))
		raw = append(raw, records[i].url...)
	}
	writer := writers.Get().(*gzip.Writer)
	defer writers.Put(writer)
	writer.Reset(&packed)
	_, _ = writer.Write(raw) // into memory
	_ = writer.Close()
	return base64.StdEncoding.EncodeToString(packed.Bytes())
}

// decode unpacks what encode has packed, whatever it is given.
func decode(data string) ([]record, error) {
	packed, err := base64.StdEncoding.DecodeString(data)
	switch {
	case err != nil:
		return nil, err
	case len(packed) == 0:
		return nil, errCut
	case packed[0] > chunkForm:
		return nil, ErrNewer
	case packed[0] != chunkForm:
		return nil, errForm
	}
	reader, err := gzip.NewReader(bytes.NewReader(packed[1:]))
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(reader, longestChunk+1))
	switch {
	case err != nil:
		return nil, err
	case len(raw) > longestChunk:
		return nil, errors.New("it is too large")
	}
	return unpack(raw)
}

func unpack(raw []byte) ([]record, error) {
	in := input{rest: raw}
	count := in.uvarint()
	if in.err != nil || count > mostInChunk {
		return nil, cmp.Or(in.err, fmt.Errorf("%d posts are too many", count))
	}
	masks := in.next(count)
	records := make([]record, len(masks))
	at := int64(0)
	for i := range records {
		at += in.varint()
		records[i].at = at
	}
	for i := range records {
		if in.err != nil {
			return nil, in.err
		}
		records[i].Identity, in.rest, in.err = identityFrom(masks[i], in.rest)
	}
	for i := range records {
		records[i].url = string(in.next(in.uvarint()))
		if len(records[i].url) > longestURL {
			return nil, errors.New("a URL is too long")
		}
	}
	if in.err == nil && len(in.rest) > 0 {
		in.err = fmt.Errorf("%d bytes too many", len(in.rest))
	}
	if in.err != nil {
		return nil, in.err
	}
	return records, nil
}

// input is what is left to be read, until the first error.
type input struct {
	rest []byte
	err  error
}

func (in *input) uvarint() uint64 {
	value, n := binary.Uvarint(in.rest)
	in.skip(n)
	return value
}

func (in *input) varint() int64 {
	value, n := binary.Varint(in.rest)
	in.skip(n)
	return value
}

func (in *input) skip(n int) {
	if in.err == nil && n <= 0 {
		in.err = errCut
	}
	if in.err == nil {
		in.rest = in.rest[n:]
	}
}

func (in *input) next(n uint64) []byte {
	if in.err == nil && n > uint64(len(in.rest)) {
		in.err = errCut
	}
	if in.err != nil {
		return nil
	}
	taken := in.rest[:n]
	in.rest = in.rest[n:]
	return taken
}
