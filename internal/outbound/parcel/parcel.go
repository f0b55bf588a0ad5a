// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package parcel is the body of an answer on its way in: received as it comes, piece by piece, so that what has not come takes no memory; and
// unpacked when it is its turn, up to a limit.
//
// It knows no address and no request, and makes no connection: that is outbound's, the only one who uses it.
package parcel

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/feed-operator/feed-operator/internal/budget"
)

// Sizes of the pieces in which a body is read, in bytes. What has not come takes no memory, but for the rest
// of one piece.
const (
	FirstPiece   = 8 << 10
	largestPiece = 256 << 10
)

// leastWork is how much memory is taken at least to unpack and use a body: most bodies need no more, and nothing
// has to be asked for twice.
const leastWork = 4 << 20

// Parcel is a body as it has come, compressed or not. It is decompressed when all of it is there, so that a few
// bytes of a sender who never comes to the end hold a few bytes here, whatever they would become.
type Parcel struct {
	coding string
	pieces [][]byte
	size   int64
}

// Grower takes room for bytes, or says why not.
type Grower interface{ Grow(bytes int64) error }

// Receive reads a body, and takes its bytes of the room as they come. It stops where the body is larger than its
// limit for certain, and where there is no room.
func Receive(answer *http.Response, limit int64, room Grower) (*Parcel, error) {
	coding, err := contentCoding(answer.Header)
	if err != nil {
		return nil, err
	}
	p := &Parcel{coding: coding}
	wire := &meter{body: answer.Body, left: limit + MaxOverhead}
	next := int64(FirstPiece)
	if answer.ContentLength > 0 && answer.ContentLength <= maxTrusted {
		next = answer.ContentLength + 1 // the end of the body shows without another piece
	}
	for {
		if err := room.Grow(next); err != nil {
			return nil, err
		}
		piece := newPiece(next)
		n, err := io.ReadFull(wire, piece)
		if n > 0 {
			p.pieces = append(p.pieces, piece[:n])
			p.size += int64(n)
		}
		switch {
		case coding == "" && p.size > limit: // whether or not it also broke off
			return nil, ErrTooLarge
		case err == nil:
			next = min(max(p.size, FirstPiece), largestPiece)
			continue
		case wire.err != nil && !errors.Is(wire.err, io.EOF):
			return nil, wire.err
		}
		break
	}
	if coding != "" {
		answer.Header.Del("Content-Encoding")
		answer.Header.Del("Content-Length")
		answer.ContentLength, answer.Uncompressed = -1, true
	}
	if p.size == 0 { // an answer without a body is not compressed
		p.coding = ""
	}
	return p, nil
}

// unused are pieces of FirstPiece, and of two, four and eight times that, of bodies that nobody needed: most feeds that are sent again
// are as they were, and most are small. No room is taken for what lies here: there are as many as were read at a time, until the garbage collector
// takes them. Larger ones would be a good part of the memory for documents.
var unused [4]sync.Pool

// unusedOf is where pieces of a size are left, if there is a place for such.
func unusedOf(size int64) *sync.Pool {
	for i := range unused {
		if size == FirstPiece<<i {
			return &unused[i]
		}
	}
	return nil
}

// newPiece makes room for so many bytes.
func newPiece(size int64) []byte {
	if pool := unusedOf(size); pool != nil {
		if piece, is := pool.Get().(*[]byte); is {
			return *piece
		}
	}
	return make([]byte, size)
}

// Recycle leaves the pieces of a parcel, which nobody reads any more, to others.
func (p *Parcel) Recycle() {
	for _, piece := range p.pieces {
		if pool := unusedOf(int64(cap(piece))); pool != nil {
			piece = piece[:cap(piece)]
			pool.Put(&piece)
		}
	}
	p.Drop()
}

// Drop forgets what has come.
func (p *Parcel) Drop() { p.pieces = nil }

// Sum tells bodies from each other: it is the SHA-256 sum, in hex, of one that is given in pieces.
func Sum(pieces ...[]byte) string {
	sum := sha256.New()
	for _, piece := range pieces {
		sum.Write(piece)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Sum is that of a body that has come uncompressed; empty: of a compressed one nothing is known before it is unpacked.
func (p *Parcel) Sum() string {
	if p.coding != "" {
		return ""
	}
	return Sum(p.pieces...)
}

// reader reads the parcel as it is. It can be read again with another one.
func (p *Parcel) reader() io.Reader {
	pieces := make([]io.Reader, 0, len(p.pieces))
	for _, piece := range p.pieces {
		pieces = append(pieces, bytes.NewReader(piece))
	}
	return io.MultiReader(pieces...)
}

// Unpack returns the body as it was before it was compressed, if it is not larger than a limit.
func (p *Parcel) Unpack(limit int64) ([]byte, error) {
	if p.coding == "" && len(p.pieces) == 1 && p.size <= limit {
		return p.pieces[0], nil
	}
	decoded := p.reader()
	if p.coding != "" {
		decoder, err := newDecoder(p.coding, bufio.NewReader(decoded))
		if err != nil {
			return nil, asEncodingError(p.coding, err)
		}
		decoded = &decoding{coding: p.coding, decoder: decoder}
	}
	body := make([]byte, 0, limit+1)
	for int64(len(body)) <= limit {
		n, err := decoded.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case errors.Is(err, io.EOF):
			if int64(len(body)) > limit {
				return nil, ErrTooLarge
			}
			if len(body) < cap(body)/2 {
				body = bytes.Clone(body)
			}
			return body, nil
		case err != nil:
			return nil, err
		}
	}
	return nil, ErrTooLarge
}

// Guess is how large the body will be, in bytes, as far as that can be told: what is compressed says so only
// with gzip, and may lie.
func (p *Parcel) Guess(limit int64) int64 {
	const often = 8 // times as large as when it is compressed
	size := p.size*often + FirstPiece
	switch {
	case p.coding == "":
		return p.size
	case p.coding == "gzip" && p.size > 18: // a head and a foot
		size = int64(binary.LittleEndian.Uint32(p.last(4)))
	}
	return min(size, limit)
}

// last returns the last bytes of the parcel, which has so many.
func (p *Parcel) last(count int) []byte {
	var end []byte
	for i := len(p.pieces) - 1; i >= 0 && len(end) < count; i-- {
		piece := p.pieces[i]
		end = append(bytes.Clone(piece[max(0, len(piece)-(count-len(end))):]), end...)
	}
	return end
}

// Window is how much memory the decoder takes at most, in bytes. Brotli's takes as much as the body asks for in its
// first byte (RFC 7932, section 9.1), and half as much again while it grows.
func (p *Parcel) Window() int64 {
	switch p.coding {
	case "":
		return 0
	case "br":
		bits, first := 16, p.pieces[0][0]
		switch low, high := first>>1&7, first>>4&7; {
		case first&1 == 0:
		case low != 0:
			bits = 17 + int(low)
		case high != 0:
			bits = 8 + int(high)
		default:
			bits = 17
		}
		return 3 << bits / 2
	}
	return 64 << 10
}

// Open unpacks a parcel, and has the body used, both as work that waits for its turn in the budget. Weigh says
// how much memory the use of a body takes beside it, in bytes; nil: next to nothing. Where there turns out to be
// more to do than memory was taken for, all is given back, and the parcel waits for its turn at more.
func (p *Parcel) Open(ctx context.Context, limit int64, room *budget.Room, weigh func(body []byte) int64, use func(body []byte) error) error {
	guess := p.Guess(limit)
	need := max(p.Window()+guess, leastWork)
	for {
		more, err := p.attempt(ctx, guess, need, room, weigh, use)
		switch {
		case errors.Is(err, ErrTooLarge) && guess < limit:
			guess = limit
			need = max(p.Window()+guess, leastWork)
		case more > 0:
			need = more
		default:
			return err
		}
	}
}

// attempt waits for its turn, unpacks a parcel and has it used, if that takes no more memory than was granted, or all that
// there is. Else it reports how much it takes. What was granted is given back whatever happens, also where that panics.
func (p *Parcel) attempt(ctx context.Context, limit, need int64, room *budget.Room, weigh func(body []byte) int64,
	use func(body []byte) error,
) (more int64, err error) {
	granted, done, err := room.Work(ctx, need)
	if err != nil {
		return 0, err
	}
	defer done()
	body, err := p.Unpack(limit)
	if err != nil {
		return 0, err
	}
	if weigh != nil && granted < room.Most() {
		if need := p.Window() + int64(cap(body)) + weigh(body); need > granted {
			return need, nil
		}
	}
	return 0, use(body)
}
