// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var versions = Versions{Kubernetes: "v1.99.2", Etcd: "v9.8.7"}

// publisher is a server of releases, with every program's name as its content.
func publisher(t *testing.T) map[string][]byte {
	t.Helper()
	published := map[string][]byte{}
	for _, program := range []string{apiServer, controllerManager, kubectl} {
		path := "/k8s/v1.99.2/bin/" + runtime.GOOS + "/" + runtime.GOARCH + "/" + program
		published[path] = []byte(program)
		published[path+".sha256"] = []byte(checksum([]byte(program)) + "\n")
	}
	name := "etcd-v9.8.7-" + runtime.GOOS + "-" + runtime.GOARCH
	archive := tarball(t, map[string]string{name + "/README.md": "read me", name + "/etcd": etcd, name + "/etcdctl": "etcdctl"})
	published["/etcd/v9.8.7/"+name+".tar.gz"] = archive
	published["/etcd/v9.8.7/SHA256SUMS"] = []byte(checksum([]byte("other")) + "  other.zip\n" + checksum(archive) + "  " + name + ".tar.gz\n")
	return published
}

func checksum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func tarball(t *testing.T, members map[string]string) []byte {
	t.Helper()
	var archive bytes.Buffer
	packed := gzip.NewWriter(&archive)
	entries := tar.NewWriter(packed)
	for name, text := range members {
		if err := entries.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := entries.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := entries.Close(); err != nil {
		t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

// newInstallation gets its programs from what is published, and has nothing to build from.
func newInstallation(t *testing.T, published map[string][]byte) (installation, *bytes.Buffer) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, found := published[r.URL.Path]
		if !found {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	module := t.TempDir()
	if err := os.WriteFile(filepath.Join(module, "go.mod"), []byte("module empty\n\ngo 1.26.0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	progress := &bytes.Buffer{}
	return installation{
		binaries: Binaries{Dir: t.TempDir()}, versions: versions, module: module, progress: progress,
		releases: releases{kubernetes: server.URL + "/k8s", etcd: server.URL + "/etcd", client: server.Client(), stall: time.Minute, platform: "linux"},
	}, progress
}

func listing(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestReleasesAreTakenWhereTheyCanBeDownloaded(t *testing.T) {
	t.Parallel()
	i, progress := newInstallation(t, publisher(t))
	// What a killed run left behind.
	if err := os.Mkdir(filepath.Join(i.binaries.Dir, ".partial-123"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := i.complete(t.Context(), Anywhere); err != nil {
		t.Fatal(err)
	}
	want := []string{".source", etcd, apiServer, controllerManager, kubectl}
	if diff := cmp.Diff(want, listing(t, i.binaries.Dir)); diff != "" {
		t.Error(diff)
	}
	for _, program := range programs {
		text, err := os.ReadFile(i.binaries.path(program))
		if err != nil || string(text) != program {
			t.Errorf("%s holds %q (%v)", program, text, err)
		}
	}
	if missing := i.binaries.missing(); len(missing) > 0 {
		t.Errorf("%q cannot be executed", missing)
	}
	if !strings.Contains(progress.String(), "Downloaded kubectl in 0s, checksum verified.") {
		t.Error(progress)
	}
}

func TestWhatCannotBeTrustedOrIsNotThereIsBuilt(t *testing.T) {
	t.Parallel()
	kubeAPIServer := "/k8s/v1.99.2/bin/" + runtime.GOOS + "/" + runtime.GOARCH + "/kube-apiserver"
	for name, test := range map[string]struct {
		spoil func(published map[string][]byte)
		want  string
	}{
		"a file that is not what its checksum says": {
			spoil: func(published map[string][]byte) { published[kubeAPIServer] = []byte("something else") },
			want:  "kube-apiserver has the checksum",
		},
		"a file that is cut short": {
			spoil: func(published map[string][]byte) { published[kubeAPIServer] = []byte("kube-api") },
			want:  "kube-apiserver has the checksum",
		},
		"a checksum that is missing": {
			spoil: func(published map[string][]byte) { delete(published, kubeAPIServer+".sha256") },
			want:  "kube-apiserver.sha256 answers 404 Not Found",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			published := publisher(t)
			test.spoil(published)
			i, progress := newInstallation(t, published)
			err := i.complete(t.Context(), Anywhere)
			if err == nil || !strings.Contains(err.Error(), "build kube-apiserver") {
				t.Errorf("the module is empty, and building says %v", err)
			}
			if !strings.Contains(progress.String(), test.want) {
				t.Errorf("%q is not in: %s", test.want, progress)
			}
			// etcd was fine; nothing half-written is left.
			if diff := cmp.Diff([]string{".source", etcd}, listing(t, i.binaries.Dir)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestADownloadThatStallsEnds(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("the beginning"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	r := releases{client: server.Client(), stall: 50 * time.Millisecond}
	_, err := r.text(t.Context(), server.URL)
	if err == nil || !strings.Contains(err.Error(), "nothing arrived for 50ms") {
		t.Errorf("got %v", err)
	}
}

func TestPlatformsWithoutReleasesBuild(t *testing.T) {
	t.Parallel()
	i, progress := newInstallation(t, publisher(t))
	i.releases.platform = "darwin"
	if err := i.complete(t.Context(), Anywhere); err == nil || !strings.Contains(err.Error(), "build etcd") {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(progress.String(), "there are none for darwin") {
		t.Error(progress)
	}
}

func TestVersionsComeFromTheModule(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		want Versions
		fail bool
	}{
		"in a block": {
			text: "module m\n\nrequire (\n\tk8s.io/kubernetes v1.99.2 // indirect\n\tgo.etcd.io/etcd/server/v3 v9.8.7\n)\n",
			want: versions,
		},
		"on lines of their own": {
			text: "require k8s.io/kubernetes v1.99.2\nrequire go.etcd.io/etcd/server/v3 v9.8.7\n",
			want: versions,
		},
		"replaced modules and tools are no versions": {
			text: "tool go.etcd.io/etcd/server/v3\nreplace k8s.io/kubernetes => k8s.io/kubernetes v1.0.0\n",
			fail: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			module := t.TempDir()
			if err := os.WriteFile(filepath.Join(module, "go.mod"), []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := ReadVersions(module)
			if diff := cmp.Diff(test.want, got); diff != "" || (err != nil) != test.fail {
				t.Errorf("%v %s", err, diff)
			}
		})
	}
}

func TestOurOwnModulePinsBoth(t *testing.T) {
	t.Parallel()
	if _, err := ReadVersions(filepath.Join("..", "..", "devcluster")); err != nil {
		t.Error(err)
	}
}

func TestOnlyOneHoldsALock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	unlock, _, err := tryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, holder, err := tryLock(path); err == nil || !strings.HasPrefix(holder, "process ") {
		t.Errorf("the second one got it: %q %v", holder, err)
	}
	told := ""
	again, err := acquire(t.Context(), path, func(holder string) {
		told = holder
		unlock()
	})
	if err != nil || told == "" {
		t.Fatalf("%q %v", told, err)
	}
	again()
}
