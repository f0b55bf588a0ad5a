// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// The names of what buildPlugin makes: an archive for each platform, and the manifest by which krew finds them.
const (
	pluginArchive = "kubectl-feed_"
	krewManifest  = "feed.yaml"
)

// The manifest of a plugin: https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest.
type (
	krewPlugin struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Metadata   map[string]string `json:"metadata"`
		Spec       krewSpec          `json:"spec"`
	}
	krewSpec struct {
		Version          string         `json:"version"`
		Homepage         string         `json:"homepage"`
		ShortDescription string         `json:"shortDescription"`
		Description      string         `json:"description"`
		Platforms        []krewPlatform `json:"platforms"`
	}
	krewPlatform struct {
		Selector struct {
			MatchLabels map[string]string `json:"matchLabels"`
		} `json:"selector"`
		URI    string     `json:"uri"`
		SHA256 string     `json:"sha256"`
		Bin    string     `json:"bin"`
		Files  []krewFile `json:"files"`
	}
	krewFile struct {
		From string `json:"from"`
		To   string `json:"to"`
	}
)

// buildPlugin builds the plugin for each platform, and writes the manifest of all.
func (r *release) buildPlugin(ctx context.Context, with releaseOptions) error {
	license, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return err
	}
	built, err := os.MkdirTemp("", "kubectl-feed-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(built) }()
	plugin := krewPlugin{
		APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin", Metadata: map[string]string{"name": "feed"},
		Spec: krewSpec{
			Version: "v" + r.version.semantic, Homepage: "https://github.com/feed-operator/feed-operator",
			ShortDescription: "Preview feeds, and see how feed-operator works on them",
			Description: "Shows what would become of a feed, without a cluster; turns subscriptions in OPML into FeedSources and back;\n" +
				"and says how all feeds, providers and destinations of feed-operator are, and what needs attention.\n",
		},
	}
	for _, platform := range with.platforms {
		system, processor, _ := strings.Cut(platform, "/")
		program := filepath.Join(built, system+"-"+processor)
		if _, err := r.run(ctx, []string{"CGO_ENABLED=0", "GOOS=" + system, "GOARCH=" + processor}, "go", "build", "-trimpath",
			"-ldflags=-s -w -X main.version="+r.version.given, "-o", program, "./cmd/kubectl-feed"); err != nil {
			return err
		}
		content, err := os.ReadFile(program)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%s%s_%s_%s.tar.gz", pluginArchive, r.version.given, system, processor)
		if err := archive(filepath.Join(r.into, name), r.made, func(add func(entry) error) error {
			if err := add(entry{"kubectl-feed", 0o755, content}); err != nil {
				return err
			}
			return add(entry{"LICENSE", 0o644, license})
		}); err != nil {
			return err
		}
		sum, err := checksum(filepath.Join(r.into, name))
		if err != nil {
			return err
		}
		of := krewPlatform{
			URI: fmt.Sprintf("%s/%s/%s", with.downloads, r.version.given, name), SHA256: sum, Bin: "kubectl-feed",
			Files: []krewFile{{"kubectl-feed", "."}, {"LICENSE", "."}},
		}
		of.Selector.MatchLabels = map[string]string{"os": system, "arch": processor}
		plugin.Spec.Platforms = append(plugin.Spec.Platforms, of)
	}
	text, err := yaml.Marshal(plugin)
	if err != nil {
		return err
	}
	return write(filepath.Join(r.into, krewManifest), text)
}
