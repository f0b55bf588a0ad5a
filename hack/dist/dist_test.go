// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/tooltest"
)

var server *apitest.Server

// In memory, because only tests that are left to `make test-real` need one at all.
func TestMain(m *testing.M) { os.Exit(apitest.RunInMemory(m, &server)) }

// repository is this one, but for the programs: they only say their version, so that they are built in a moment.
func repository(t *testing.T) string {
	t.Helper()
	of, root := apitest.ModuleRoot(t), t.TempDir()
	files := map[string]string{"go.mod": "module example.org/standin\n\ngo 1.26.0\n"}
	for _, program := range []string{"manager", "kubectl-feed"} {
		files["cmd/"+program+"/main.go"] = "package main\n\nvar version string\n\nfunc main() { println(version) }\n"
	}
	for _, name := range []string{".ko.yaml", "LICENSE"} {
		text, err := os.ReadFile(filepath.Join(of, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(of, "config"), filepath.Join(root, "config")); err != nil {
		t.Fatal(err)
	}
	return root
}

// dist runs the command on a repository, as make does, and returns the folder of what it makes.
func dist(t *testing.T, root string, arguments ...string) (string, error) {
	t.Helper()
	into := filepath.Join(root, "dist")
	made := command()
	made.SetArgs(append(arguments, "--root="+root, "--into="+into, "--version=v1.2.3", "--source-date-epoch=1800000000"))
	return into, made.ExecuteContext(t.Context())
}

// registry is one that keeps images in its memory, as long as the test runs. It returns its host and port.
func registry(t *testing.T) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), tooltest.Need(t, "crane"), "registry", "serve", "--address=127.0.0.1:0")
	said, err := command.StderrPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() {
		_ = command.Process.Kill()
		<-ended
		_ = command.Wait()
	})
	port := make(chan string, 1)
	go func() {
		defer close(ended)
		serving := regexp.MustCompile(`serving on port (\d+)`)
		for lines := bufio.NewScanner(said); lines.Scan(); {
			if match := serving.FindStringSubmatch(lines.Text()); match != nil {
				port <- match[1]
			}
		}
	}()
	select {
	case of := <-port:
		return "127.0.0.1:" + of
	case <-ended:
		t.Fatal("the registry has ended")
	}
	return ""
}

// base pushes a base image for both platforms, whose user is root, and returns its name with its digest.
func base(t *testing.T, host string) string {
	t.Helper()
	layer := filepath.Join(t.TempDir(), "layer.tar")
	err := archive(layer, time.Unix(0, 0), func(add func(entry) error) error {
		return add(entry{"etc/passwd", 0o644, []byte("root:x:0:0::/:\n")})
	})
	if err != nil {
		t.Fatal(err)
	}
	name := host + "/base"
	index := []string{"index", "append", "--tag=" + name + ":both"}
	for _, processor := range []string{"amd64", "arm64"} {
		tooltest.Run(t, "crane", "append", "--new_layer="+layer, "--new_tag="+name+":"+processor)
		tooltest.Run(t, "crane", "mutate", name+":"+processor, "--set-platform=linux/"+processor, "--user=0", "--tag="+name+":"+processor)
		index = append(index, "--manifest="+name+":"+processor)
	}
	tooltest.Run(t, "crane", index...)
	return name + "@" + strings.TrimSpace(tooltest.Run(t, "crane", "digest", name+":both"))
}

// R6.2: the image is built and pushed without Docker, for both platforms: it runs the operator, of this version, as a user who is not root, whatever the
// base image says, and tells of what it was made. What is kept in files is the same image. To build it again makes the same one.
func TestTheImageIsWhatIsPulled(t *testing.T) {
	portion.Whole(t, "it makes an image")
	t.Parallel()
	ko, host := tooltest.Need(t, "ko"), registry(t)
	root, name, made := repository(t), host+"/feed-operator:v1.2.3", time.Unix(1_800_000_000, 0)
	build := []string{"image", "--ko=" + ko, "--image=" + host + "/feed-operator", "--base=" + base(t, host), "--revision=0123abcd"}
	into, err := dist(t, root, append(build, "--push")...)
	if err != nil {
		t.Fatal(err)
	}
	digest := tooltest.Run(t, "crane", "digest", name)
	for _, processor := range []string{"amd64", "arm64"} {
		var image struct {
			Architecture, OS string
			Created          time.Time
			Config           struct {
				User       string
				Entrypoint []string
				Labels     map[string]string
			}
		}
		text := tooltest.Run(t, "crane", "config", "--platform=linux/"+processor, name)
		if err := json.Unmarshal([]byte(text), &image); err != nil {
			t.Fatal(err)
		}
		if image.OS != "linux" || image.Architecture != processor || image.Config.User != "65532:65532" || !image.Created.Equal(made) ||
			!slices.Equal(image.Config.Entrypoint, []string{"/ko-app/manager"}) {
			t.Errorf("%s: %s", processor, text)
		}
		want := map[string]string{"title": "feed-operator", "licenses": "Apache-2.0", "version": "v1.2.3", "revision": "0123abcd",
			"source": "https://github.com/feed-operator/feed-operator", "created": "2027-01-15T08:00:00Z"}
		got := map[string]string{}
		for label, value := range image.Config.Labels {
			got[strings.TrimPrefix(label, "org.opencontainers.image.")] = value
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("labels of %s (-want +got):\n%s", processor, diff)
		}
	}
	if runtime.GOOS == "linux" {
		file := filepath.Join(t.TempDir(), "image.tar")
		tooltest.Run(t, "crane", "export", "--platform=linux/"+runtime.GOARCH, name, file)
		if said := says(t, unpacked(t, file)["ko-app/manager"]); said != "v1.2.3\n" {
			t.Errorf("the operator says that its version is %q", said)
		}
	}

	sboms, err := filepath.Glob(filepath.Join(into, sbomFolder, "*.spdx.json"))
	if err != nil || len(sboms) < 2 {
		t.Errorf("%d lists of what is in it: %v", len(sboms), err)
	}
	for _, sbom := range sboms {
		var list struct {
			Version string `json:"spdxVersion"`
		}
		text, err := os.ReadFile(sbom)
		if err == nil {
			err = json.Unmarshal(text, &list)
		}
		if err != nil || !strings.HasPrefix(list.Version, "SPDX-2.") {
			t.Errorf("%s: %s, %v", sbom, list.Version, err)
		}
	}

	kept := unpacked(t, filepath.Join(into, "feed-operator-image_v1.2.3.tar"))
	if index := string(kept["index.json"]); !strings.Contains(index, `"digest":"`+strings.TrimSpace(digest)+`"`) ||
		!strings.Contains(index, `"io.containerd.image.name":"`+name+`"`) || kept["oci-layout"] == nil {
		t.Errorf("pushed is %s; the archive has %v, with %s", digest, slices.Sorted(maps.Keys(kept)), index)
	}
	for file, content := range kept {
		if sum, is := strings.CutPrefix(file, "blobs/sha256/"); is && fmt.Sprintf("%x", sha256.Sum256(content)) != sum {
			t.Errorf("%s is not what it is called", file)
		}
	}

	if _, err := dist(t, root, build...); err != nil {
		t.Fatal(err)
	}
	if again := string(unpacked(t, filepath.Join(into, "feed-operator-image_v1.2.3.tar"))["index.json"]); again != string(kept["index.json"]) {
		t.Errorf("the same is built as another one: %s, then %s", kept["index.json"], again)
	}
	if sums := checked(t, into); len(sums) != 1 || sums["feed-operator-image_v1.2.3.tar"] == "" {
		t.Errorf("checksums of %v", sums)
	}
	if _, err := dist(t, root, append(build, "--base="+host+"/none")...); err == nil || !strings.Contains(err.Error(), "BASE_IMAGE") {
		t.Errorf("without a base image: %v", err)
	}
}

// R6.2: what make dist makes can be installed as it is: the manifests by kubectl, the chart by helm, the plugin by krew, all of one version, with the
// image of the release. The checksums are right, and the same commit makes the same bytes.
func TestWhatIsReleasedCanBeInstalled(t *testing.T) {
	portion.Whole(t, "it makes a release twice")
	t.Parallel()
	helm := tooltest.Need(t, "helm")
	tooltest.Need(t, "krew")
	root, cli := repository(t), filepath.Join(server.Assets, "kubectl")
	var into string
	all := func() map[string]string {
		t.Helper()
		var err error
		into, err = dist(t, root, "release", "--helm="+helm, "--kubectl="+cli, "--image=registry.example.org/mirror/feed-operator",
			"--downloads=https://example.org/download", "--platform="+runtime.GOOS+"/"+runtime.GOARCH+",plan9/amd64")
		if err != nil {
			t.Fatal(err)
		}
		return checked(t, into)
	}
	sums := all()
	archived := "kubectl-feed_v1.2.3_" + runtime.GOOS + "_" + runtime.GOARCH + ".tar.gz"
	want := []string{"feed-operator-1.2.3.tgz", "feed.yaml", "install.yaml", archived, "kubectl-feed_v1.2.3_plan9_amd64.tar.gz"}
	if diff := cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(maps.Keys(sums))); diff != "" {
		t.Errorf("what is released (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(sums, all()); diff != "" {
		t.Errorf("the same is made of other bytes the second time:\n%s", diff)
	}
	const image = "registry.example.org/mirror/feed-operator:v1.2.3"

	reach := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(reach, server.Kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl := func(arguments ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), cli, append(arguments, "--kubeconfig="+reach)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	kubectl("apply", "--server-side", "--force-conflicts", "--validate=strict", "-f", filepath.Join(into, "install.yaml"))
	if runs := kubectl("get", "deployments", "-n", "feed-operator-system", "-o", "jsonpath={.items[*].spec.template.spec.containers[*].image}"); runs != image {
		t.Errorf("install.yaml runs %q", runs)
	}

	chart := filepath.Join(into, "feed-operator-1.2.3.tgz")
	tooltest.Run(t, "helm", "lint", "--strict", chart)
	if text := tooltest.Run(t, "helm", "template", "feeds", chart); !strings.Contains(text, `image: "`+image+`"`) || strings.Count(text, "kind: CustomResourceDefinition") < 5 {
		t.Errorf("the chart has another image, or lacks the kinds")
	}
	for file := range unpacked(t, chart) {
		if strings.HasSuffix(file, ".go") || strings.Contains(file, "testdata") || strings.HasSuffix(file, ".gotmpl") {
			t.Errorf("the chart has %s", file)
		}
	}

	text, err := os.ReadFile(filepath.Join(into, "feed.yaml"))
	var plugin krewPlugin
	if err == nil {
		err = yaml.UnmarshalStrict(text, &plugin)
	}
	if err != nil || plugin.Spec.Version != "v1.2.3" || len(plugin.Spec.Platforms) != 2 {
		t.Fatalf("%v in %s", err, text)
	}
	for _, platform := range plugin.Spec.Platforms {
		file, below := strings.CutPrefix(platform.URI, "https://example.org/download/v1.2.3/")
		if !below || sums[file] != platform.SHA256 {
			t.Errorf("krew is told that %s is %s", platform.URI, platform.SHA256)
		}
	}
	t.Run("by krew", func(t *testing.T) {
		t.Parallel()
		place := t.TempDir()
		install := exec.CommandContext(t.Context(), tooltest.Need(t, "krew"), "install",
			"--manifest="+filepath.Join(into, "feed.yaml"), "--archive="+filepath.Join(into, archived))
		install.Env = append(os.Environ(), "KREW_ROOT="+place, "KREW_NO_UPGRADE_CHECK=1")
		if out, err := install.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		program, err := os.ReadFile(filepath.Join(place, "bin", "kubectl-feed"))
		if err != nil {
			t.Fatal(err)
		}
		if said := says(t, program); said != "v1.2.3\n" {
			t.Errorf("the plugin says that its version is %q", said)
		}
	})
}

// checked reads the checksums of a folder, and checks each.
func checked(t *testing.T, folder string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, checksums))
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(text)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if got, err := checksum(filepath.Join(folder, name)); err != nil || got != sum {
			t.Errorf("%s is %s, and not %s: %v", name, got, sum, err)
		}
		sums[name] = sum
	}
	return sums
}

// unpacked are the files of an archive, by their name.
func unpacked(t *testing.T, path string) map[string][]byte {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var from io.Reader = file
	if filepath.Ext(path) != ".tar" {
		if from, err = gzip.NewReader(file); err != nil {
			t.Fatal(err)
		}
	}
	files := map[string][]byte{}
	for reader := tar.NewReader(from); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if fs.FileMode(header.Mode).IsRegular() && header.Typeflag == tar.TypeReg {
			if files[strings.TrimPrefix(header.Name, "/")], err = io.ReadAll(reader); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// says runs a program, and returns what it complains of.
func says(t *testing.T, program []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, program, 0o700); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), path).CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// R6.2: whatever git describe says is a version for all.
func TestEachVersionIsOneForHelm(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"v1.2.3": "1.2.3", "1.2.3": "1.2.3", "v1.2.3-rc.1": "1.2.3-rc.1", "v1.2.3-4-g470c166": "1.2.3-4-g470c166",
		"470c166": "0.0.0-dev.g470c166", "0123456": "0.0.0-dev.g0123456", "470c166-dirty": "0.0.0-dev.g470c166-dirty", "devel": "0.0.0-dev.gdevel",
		"v1.2": "0.0.0-dev.gv1-2", "v01.2.3": "0.0.0-dev.gv01-2-3",
	} {
		if got, err := parseVersion(given); err != nil || got.semantic != want || got.given != given {
			t.Errorf("%s: %+v, %v, want %s", given, got, err, want)
		}
	}
	for _, given := range []string{"", "v1.2.3+build", "a b", "-x", "../x", strings.Repeat("x", 129)} {
		if got, err := parseVersion(given); err == nil || !strings.Contains(err.Error(), "--version") {
			t.Errorf("%q: %+v, %v", given, got, err)
		}
	}
}
