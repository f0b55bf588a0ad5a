// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/feed-operator/feed-operator/internal/budget"
	"github.com/feed-operator/feed-operator/internal/outbound/parcel"
)

// What an answer of an API takes in memory while its client reads it, in bytes: some copies of its text, and for each
// value in its JSON what the libraries make of one. A list of a million empty objects would else be a gigabyte.
const (
	copiesOfAnswer = 3
	eachValue      = 600
	// usualAnswer is up to where an answer always has room, and is read at once: what was paid for, or has posted
	// something, must not be lost because others fill the memory. A long answer of a model takes half of it.
	usualAnswer = 256 << 10
)

// errTooManyValues is for an answer that takes more memory than any document may.
var errTooManyValues = &parcel.EncodingError{Problem: "has more values in it than any answer needs"}

// answerRoom is the room of one answer of an API.
type answerRoom struct {
	*budget.Room
	taken int64
}

// Grow takes as much as is usual in any case, and more if there is room.
func (r *answerRoom) Grow(bytes int64) error {
	if r.taken+bytes > usualAnswer {
		return r.Room.Grow(bytes)
	}
	r.taken += bytes
	r.Charge(bytes)
	return nil
}

// read reads the whole body of an answer. What its client will make of it is counted.
func (r *answerRoom) read(ctx context.Context, answer *http.Response, limit int64) (body []byte, err error) {
	received, err := parcel.Receive(answer, limit, r)
	if err != nil {
		return nil, err
	}
	use := func(unpacked []byte) error {
		weight := weightOfAnswer(unpacked)
		if weight > budget.Largest {
			return errTooManyValues
		}
		r.Release()
		r.taken = 0
		body = unpacked
		return r.Grow(weight)
	}
	if guess := received.Guess(limit); received.Window()+guess <= usualAnswer {
		unpacked, err := received.Unpack(guess)
		if err == nil {
			err = use(unpacked)
		}
		if !errors.Is(err, parcel.ErrTooLarge) || guess == limit {
			return body, err
		}
	}
	err = received.Open(ctx, limit, r.Room, nil, use)
	return body, err
}

func weightOfAnswer(body []byte) int64 {
	values := 1
	for _, mark := range []string{"{", "[", ","} {
		values += bytes.Count(body, []byte(mark))
	}
	return int64(len(body))*copiesOfAnswer + int64(values)*eachValue
}

// until returns a body that gives back the room when it is closed, or when the context ends.
func (r *answerRoom) until(ctx context.Context, body []byte) io.ReadCloser {
	release := sync.OnceFunc(r.Release)
	stop := context.AfterFunc(ctx, release)
	return &answerBody{Reader: bytes.NewReader(body), close: func() {
		stop()
		release()
	}}
}

type answerBody struct {
	*bytes.Reader
	close func()
}

// Close implements io.Closer.
func (b *answerBody) Close() error {
	b.close()
	return nil
}
