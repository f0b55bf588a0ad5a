// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// releases are the places where official programs are published, with a checksum beside each.
type releases struct {
	kubernetes string
	etcd       string
	client     *http.Client
	// platform is the operating system that programs are wanted for.
	platform string
	// stall ends a download of which nothing arrives for so long.
	stall time.Duration
}

func publicReleases() releases {
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		TLSHandshakeTimeout:   5 * time.Second,
		ResponseHeaderTimeout: 10 * time.Second,
		ForceAttemptHTTP2:     true,
	}
	return releases{
		kubernetes: "https://dl.k8s.io/release",
		etcd:       "https://github.com/etcd-io/etcd/releases/download",
		client:     &http.Client{Transport: transport},
		platform:   runtime.GOOS,
		stall:      20 * time.Second,
	}
}

// offered reports whether there are releases for this platform: Kubernetes publishes its servers for
// Linux only.
func (r releases) offered() bool { return r.platform == "linux" }

// fetch writes one program to a file. Its checksum has been verified when there is no error.
func (r releases) fetch(ctx context.Context, program string, versions Versions, file string) error {
	if program == etcd {
		return r.fetchEtcd(ctx, versions.Etcd, file)
	}
	address := strings.Join([]string{r.kubernetes, versions.Kubernetes, "bin", runtime.GOOS, runtime.GOARCH, program}, "/")
	checksum, err := r.text(ctx, address+".sha256")
	if err != nil {
		return err
	}
	return r.save(ctx, address, strings.TrimSpace(checksum), file)
}

func (r releases) fetchEtcd(ctx context.Context, version, file string) error {
	name := "etcd-" + version + "-" + runtime.GOOS + "-" + runtime.GOARCH
	sums, err := r.text(ctx, r.etcd+"/"+version+"/SHA256SUMS")
	if err != nil {
		return err
	}
	checksum := ""
	lines := bufio.NewScanner(strings.NewReader(sums))
	for lines.Scan() {
		if fields := strings.Fields(lines.Text()); len(fields) == 2 && fields[1] == name+".tar.gz" {
			checksum = fields[0]
		}
	}
	if checksum == "" {
		return fmt.Errorf("SHA256SUMS of etcd %s does not name %s.tar.gz", version, name)
	}
	archive := file + ".tar.gz"
	if err := r.save(ctx, r.etcd+"/"+version+"/"+name+".tar.gz", checksum, archive); err != nil {
		return err
	}
	return errors.Join(extract(archive, name+"/etcd", file), os.Remove(archive))
}

// text gets a small document.
func (r releases) text(ctx context.Context, address string) (string, error) {
	var text strings.Builder
	err := r.get(ctx, address, func(body io.Reader) error {
		_, err := io.Copy(&text, io.LimitReader(body, 1<<20))
		return err
	})
	return text.String(), err
}

// save downloads a file, and refuses it when its SHA-256 is not the given one.
func (r releases) save(ctx context.Context, address, checksum, file string) error {
	output, err := os.OpenFile(filepath.Clean(file), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	sum := sha256.New()
	err = r.get(ctx, address, func(body io.Reader) error {
		_, err := io.Copy(io.MultiWriter(output, sum), body)
		return err
	})
	if err := errors.Join(err, output.Close()); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); !strings.EqualFold(got, checksum) {
		return fmt.Errorf("%s has the checksum %s, and should have %s", path.Base(address), got, checksum)
	}
	return nil
}

func (r releases) get(ctx context.Context, address string, read func(io.Reader) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := fmt.Errorf("%s: nothing arrived for %s", address, r.stall)
	watch := time.AfterFunc(r.stall, func() { cancel(stalled) })
	defer watch.Stop()

	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	response, err := r.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // read only
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", address, response.Status)
	}

	body := response.Body
	err = read(readerFunc(func(p []byte) (int, error) {
		watch.Reset(r.stall)
		return body.Read(p)
	}))
	if err != nil && context.Cause(ctx) != nil {
		return context.Cause(ctx)
	}
	return err
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// extract takes one file out of a tar.gz archive.
func extract(archive, member, file string) error {
	input, err := os.Open(filepath.Clean(archive))
	if err != nil {
		return err
	}
	defer input.Close() //nolint:errcheck // read only
	unpacked, err := gzip.NewReader(input)
	if err != nil {
		return err
	}
	entries := tar.NewReader(unpacked)
	for {
		entry, err := entries.Next()
		if err != nil {
			return fmt.Errorf("find %s in %s: %w", member, filepath.Base(archive), err)
		}
		if entry.Name != member {
			continue
		}
		output, err := os.OpenFile(filepath.Clean(file), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(output, entries) //nolint:gosec // the archive's checksum was verified
		return errors.Join(err, output.Close())
	}
}
