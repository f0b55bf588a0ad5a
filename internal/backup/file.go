// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// The file has one line of JSON for each object: first a Header, then the objects, then an end with how many they are and the SHA-256 of all
// lines before it. So one that was cut, or edited, is told from a whole one before anything is written.
const (
	format = "feed-operator backup"
	// formatVersion is raised when what is written cannot be read by programs from before.
	formatVersion = 1
)

// longestLine is how long a line may be: an object of etcd has 1.5 MB at most, and JSON escapes some of its characters.
const longestLine = 16 << 20

// Header says what a backup is of.
type Header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// ID names the backup, so that what is restored twice is written once.
	ID string `json:"id"`
	// Namespace that it was made of.
	Namespace string `json:"namespace"`
	// Time since when something may have happened that is not in it.
	Time metav1.Time `json:"time"`
	// Final means that nothing has happened since: no operator works on these objects any more.
	Final bool `json:"final"`
}

// Backup is what one namespace holds of the operator's kinds.
type Backup struct {
	Header

	Providers    []v1alpha1.AIProvider
	Destinations []v1alpha1.FeedDestination
	Sources      []v1alpha1.FeedSource
	Memories     []v1alpha1.FeedMemory
	Items        []v1alpha1.FeedItem
}

// newID names a backup.
func newID() string {
	var id [8]byte
	_, _ = rand.Read(id[:]) // it never fails
	return hex.EncodeToString(id[:])
}

// line is one object of the file.
type line struct {
	Provider    *v1alpha1.AIProvider      `json:"aiProvider,omitempty"`
	Destination *v1alpha1.FeedDestination `json:"feedDestination,omitempty"`
	Source      *v1alpha1.FeedSource      `json:"feedSource,omitempty"`
	Memory      *v1alpha1.FeedMemory      `json:"feedMemory,omitempty"`
	Item        *v1alpha1.FeedItem        `json:"feedItem,omitempty"`
	End         *end                      `json:"end,omitempty"`
}

// end is the last line.
type end struct {
	Objects int    `json:"objects"`
	SHA256  string `json:"sha256"`
}

// Write writes the backup. What it writes holds no Secret, and what feeds and people have written: nobody else should read it.
func (b *Backup) Write(to io.Writer) error {
	w := &summing{to: bufio.NewWriter(to), sum: sha256.New()}
	w.line(b.Header)
	for i := range b.Providers {
		w.line(line{Provider: &b.Providers[i]})
	}
	for i := range b.Destinations {
		w.line(line{Destination: &b.Destinations[i]})
	}
	for i := range b.Sources {
		w.line(line{Source: &b.Sources[i]})
	}
	for i := range b.Memories {
		w.line(line{Memory: &b.Memories[i]})
	}
	for i := range b.Items {
		w.line(line{Item: &b.Items[i]})
	}
	w.line(line{End: &end{Objects: b.Len(), SHA256: hex.EncodeToString(w.sum.Sum(nil))}})
	return errors.Join(w.err, w.to.Flush())
}

// Len is how many objects there are.
func (b *Backup) Len() int {
	return len(b.Providers) + len(b.Destinations) + len(b.Sources) + len(b.Memories) + len(b.Items)
}

// summing writes lines, and adds them up.
type summing struct {
	to  *bufio.Writer
	sum hash.Hash
	err error
}

func (w *summing) line(value any) {
	text, err := json.Marshal(value)
	if err == nil && w.err == nil {
		text = append(text, '\n')
		w.sum.Write(text)
		_, err = w.to.Write(text)
	}
	if w.err == nil {
		w.err = err
	}
}

// Read reads a backup. An error says what is wrong with it, and what to do.
func Read(from io.Reader) (*Backup, error) {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, longestLine)
	b, sum, names := &Backup{}, sha256.New(), map[string]bool{}
	if !lines.Scan() {
		switch err := lines.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			return nil, errNoBackup
		case err != nil:
			return nil, err
		}
		return nil, errors.New("it is empty: is it the right file?")
	}
	if err := b.Header.read(lines.Bytes()); err != nil {
		return nil, err
	}
	for number := 2; ; number++ {
		sum.Write(lines.Bytes())
		sum.Write([]byte{'\n'})
		if !lines.Scan() {
			if err := lines.Err(); err != nil {
				return nil, fmt.Errorf("line %d: %w", number, err)
			}
			return nil, errors.New("it was cut: its last line, which says how many objects there are, is missing. Copy it again, or make another backup")
		}
		var next line
		if err := strict(lines.Bytes(), &next); err != nil {
			return nil, fmt.Errorf("line %d cannot be read: %w. It was edited, or is of a newer version: use the kubectl-feed that has made it", number, err)
		}
		if next.End == nil || next != (line{End: next.End}) {
			name, err := b.add(next)
			if err == nil && names[name] { // which of them was restored would be chance
				err = fmt.Errorf("%s is in it already: it was edited, or put together of several backups. Restore each as it was made", name)
			}
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", number, err)
			}
			names[name] = true
			continue
		}
		switch found := hex.EncodeToString(sum.Sum(nil)); {
		case next.End.SHA256 != found || next.End.Objects != b.Len():
			return nil, errors.New("it was edited, or damaged, since it was made: its checksum does not hold. " +
				"Restore it as it was made, and change the objects afterwards")
		case lines.Scan():
			return nil, errors.New("there is something after its end: restore one backup at a time")
		}
		return b, lines.Err()
	}
}

var errNoBackup = errors.New("it is not a backup of kubectl feed backup")

// read reads the first line.
func (h *Header) read(text []byte) error {
	if err := json.Unmarshal(text, h); err != nil || h.Format != format {
		return errNoBackup
	}
	if h.Version != formatVersion {
		return fmt.Errorf("it has version %d of the format, and this program reads version %d: use the kubectl-feed that has made it", h.Version, formatVersion)
	}
	if err := strict(text, &Header{}); err != nil {
		return fmt.Errorf("its first line cannot be read: %w. It was edited, or is of a newer version: use the kubectl-feed that has made it", err)
	}
	if h.ID == "" || h.Time.IsZero() {
		return errors.New("its first line was edited: restore it as it was made")
	}
	return nil
}

// add takes in the object of a line, and returns its kind and name.
func (b *Backup) add(next line) (name string, err error) {
	var alone line
	switch {
	case next.Provider != nil:
		b.Providers = append(b.Providers, *next.Provider)
		name, alone = "AIProvider "+next.Provider.Name, line{Provider: next.Provider}
	case next.Destination != nil:
		b.Destinations = append(b.Destinations, *next.Destination)
		name, alone = "FeedDestination "+next.Destination.Name, line{Destination: next.Destination}
	case next.Source != nil:
		b.Sources = append(b.Sources, *next.Source)
		name, alone = "FeedSource "+next.Source.Name, line{Source: next.Source}
	case next.Memory != nil:
		b.Memories = append(b.Memories, *next.Memory)
		name, alone = "FeedMemory "+next.Memory.Name, line{Memory: next.Memory}
	case next.Item != nil:
		b.Items = append(b.Items, *next.Item)
		name, alone = "FeedItem "+next.Item.Name, line{Item: next.Item}
	default:
		return "", errors.New("it holds no object: it was edited, or is of a newer version")
	}
	if next != alone {
		return "", errors.New("it holds several objects: it was edited")
	}
	return name, nil
}

// strict reads one JSON value without fields that are not known: they would be lost.
func strict(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something after its object")
	}
	return nil
}

// rounded is a time as the API server keeps it.
func rounded(at time.Time) metav1.Time { return metav1.NewTime(at.UTC().Truncate(time.Second)) }
