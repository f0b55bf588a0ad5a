// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pdftext

import (
	"encoding/binary"
	"errors"
	"io"
)

// The process is sent documents, each as its length in four bytes and its bytes. One without bytes asks whether the
// process can read, and is answered by ready. Every other is answered by what became of it and how many pages it has,
// in two bytes each, and by its text, after the length of that in four bytes. Numbers are big-endian.

// outcome is what became of a document.
type outcome uint16

const (
	ready outcome = iota
	wasRead
	notPDF
	locked
	tooLarge
)

// outcomes are the errors that they mean.
var outcomes = map[outcome]error{wasRead: nil, notPDF: ErrNoPDF, locked: ErrLocked, tooLarge: ErrTooLarge}

var errFrame = errors.New("a frame that nobody sends")

func writeDocument(to io.Writer, data []byte) error {
	if err := binary.Write(to, binary.BigEndian, uint32(len(data))); err != nil { //nolint:gosec // bounded by maxFile
		return err
	}
	_, err := to.Write(data)
	return err
}

func readDocument(from io.Reader) ([]byte, error) {
	var length uint32
	if err := binary.Read(from, binary.BigEndian, &length); err != nil {
		return nil, err
	}
	if length > maxFile {
		return nil, errFrame
	}
	data := make([]byte, length)
	_, err := io.ReadFull(from, data)
	return data, err
}

// answerHead is what comes before the text.
type answerHead struct {
	Outcome outcome
	Pages   uint16
	Length  uint32
}

type answer struct {
	outcome outcome
	Document
}

func writeAnswer(to io.Writer, a answer) error {
	head := answerHead{Outcome: a.outcome, Pages: uint16(a.Pages), Length: uint32(len(a.Text))} //nolint:gosec // bounded by maxPages and maxText
	if err := binary.Write(to, binary.BigEndian, head); err != nil {
		return err
	}
	_, err := io.WriteString(to, a.Text)
	return err
}

func readAnswer(from io.Reader) (answer, error) {
	var head answerHead
	if err := binary.Read(from, binary.BigEndian, &head); err != nil {
		return answer{}, err
	}
	if head.Length > maxText {
		return answer{}, errFrame
	}
	text := make([]byte, head.Length)
	if _, err := io.ReadFull(from, text); err != nil {
		return answer{}, err
	}
	return answer{head.Outcome, plain(string(text), int(head.Pages))}, nil
}
