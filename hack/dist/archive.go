// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// entry is a file in an archive.
type entry struct {
	name    string
	mode    int64
	content []byte
}

// archive writes files into an archive, compressed where its name says so. Nothing in it depends on who made it, where and when.
func archive(path string, made time.Time, files func(add func(entry) error) error) (err error) {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	var into io.WriteCloser = out
	if !strings.HasSuffix(path, ".tar") {
		into = gzip.NewWriter(out)
		defer func() { err = errors.Join(err, into.Close()) }()
	}
	writer := tar.NewWriter(into)
	err = files(func(file entry) error {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: file.name, Mode: file.mode, Size: int64(len(file.content)), ModTime: made}
		if err := writer.WriteHeader(header); err != nil {
			return err
		}
		_, err := writer.Write(file.content)
		return err
	})
	return errors.Join(err, writer.Close())
}

// folder adds all files of a folder to an archive.
func folder(path string, add func(entry) error) error {
	root := os.DirFS(path)
	return fs.WalkDir(root, ".", func(name string, of fs.DirEntry, err error) error {
		if err != nil || of.IsDir() {
			return err
		}
		content, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		return add(entry{name, 0o644, content})
	})
}

// rewrite writes a compressed archive anew, so that it says nothing of when it was made, with its files as change makes them.
func rewrite(path string, made time.Time, change func(*entry)) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return archive(path, made, func(add func(entry) error) error {
		unzipped, err := gzip.NewReader(bytes.NewReader(text))
		if err != nil {
			return err
		}
		reader := tar.NewReader(unzipped)
		for {
			header, err := reader.Next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			content, err := io.ReadAll(reader)
			if err != nil {
				return err
			}
			file := entry{header.Name, 0o644, content}
			change(&file)
			if err := add(file); err != nil {
				return err
			}
		}
	})
}

// checksums is the file with the SHA-256 of all others, as sha256sum -c reads it.
const checksums = "SHA256SUMS"

func writeChecksums(folder string) error {
	files, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	var lines []string
	for _, file := range files {
		if !file.Type().IsRegular() || file.Name() == checksums {
			continue
		}
		sum, err := checksum(filepath.Join(folder, file.Name()))
		if err != nil {
			return err
		}
		lines = append(lines, fmt.Sprintf("%s  %s\n", sum, file.Name()))
	}
	slices.Sort(lines)
	return write(filepath.Join(folder, checksums), []byte(strings.Join(lines, "")))
}

// checksum is the SHA-256 of a file, in hexadecimal.
func checksum(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// write writes a file that everybody may read.
func write(path string, content []byte) error {
	return os.WriteFile(path, content, 0o644) //nolint:gosec // what is released is for everybody
}
