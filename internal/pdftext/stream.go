// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pdftext

import (
	"bytes"
	"compress/zlib"
	"encoding/ascii85"
	"io"
)

// decode returns the bytes of a stream. What is broken off, or in a form that texts are not in, such as
// an image, is as much as there is of it.
func (f *file) decode(s stream) []byte {
	if !f.budget.token() {
		return nil
	}
	f.budget.spend(streamCost + len(s.raw)/bytesPerToken)
	data := f.cipher.decrypt(s)
	filters := f.list(s.dict["Filter"])
	if len(filters) > 4 {
		return nil
	}
	for _, filter := range filters {
		switch f.name(filter) {
		case "FlateDecode", "Fl":
			data = f.inflate(data)
		case "ASCIIHexDecode", "AHx":
			data = (&lexer{data: data, budget: f.budget}).hex(maxStream)
		case "ASCII85Decode", "A85":
			data = f.fromASCII85(data)
		case "Crypt":
		default:
			return nil
		}
	}
	f.budget.spend(len(data) / bytesPerToken)
	return data[:min(len(data), maxStream)]
}

func (f *file) inflate(data []byte) []byte {
	var err error
	if known, ok := f.flate.(zlib.Resetter); ok {
		err = known.Reset(bytes.NewReader(data), nil)
	} else {
		f.flate, err = zlib.NewReader(bytes.NewReader(data))
	}
	if err != nil {
		return nil
	}
	return f.readAll(f.flate)
}

// readAll returns what the budget has room for; what is broken off is still a text.
func (f *file) readAll(reader io.Reader) []byte {
	out, _ := io.ReadAll(io.LimitReader(reader, int64(min(f.budget.inflated, maxStream))))
	f.budget.inflated -= len(out)
	return out
}

func (f *file) fromASCII85(data []byte) []byte {
	data = bytes.TrimPrefix(bytes.TrimSpace(data), []byte("<~"))
	if at := bytes.IndexByte(data, '~'); at >= 0 {
		data = data[:at]
	}
	return f.readAll(ascii85.NewDecoder(bytes.NewReader(data)))
}
