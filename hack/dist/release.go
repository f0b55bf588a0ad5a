// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// releaseOptions are what the release is made with.
type releaseOptions struct {
	helm, kubectl, downloads string
	platforms                []string
}

func releaseCommand(r *release) *cobra.Command {
	var with releaseOptions
	command := &cobra.Command{
		Use: "release", Short: "Make all that a release has beside the image", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return r.release(cmd.Context(), with) },
	}
	command.Flags().StringVar(&with.helm, "helm", "helm", "path of helm")
	command.Flags().StringVar(&with.kubectl, "kubectl", "kubectl", "path of kubectl")
	command.Flags().StringVar(&with.downloads, "downloads", "https://github.com/feed-operator/feed-operator/releases/download",
		"URL below which the files of all versions are, for krew")
	command.Flags().StringSliceVar(&with.platforms, "platform", []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"},
		"platforms of the plugin")
	return command
}

func (r *release) release(ctx context.Context, with releaseOptions) error {
	if err := r.discard(manifest, "feed-operator-*.tgz", pluginArchive+"*", krewManifest); err != nil {
		return err
	}
	if err := r.render(ctx, with.kubectl); err != nil {
		return err
	}
	if err := r.packageChart(ctx, with.helm); err != nil {
		return err
	}
	return r.buildPlugin(ctx, with)
}

// manifest is the file with all that config/default makes.
const manifest = "install.yaml"

// render writes install.yaml: config/default, with the image of the release.
func (r *release) render(ctx context.Context, kubectl string) error {
	// kustomize takes what this is based on by a relative path only.
	overlay, err := os.MkdirTemp("", "install-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(overlay) }()
	base, err := relative(overlay, filepath.Join(r.root, "config", "default"))
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": []string{base},
		"images": []any{map[string]string{"name": "feed-operator", "newName": r.image, "newTag": r.version.given}},
	})
	if err == nil {
		err = write(filepath.Join(overlay, "kustomization.yaml"), text)
	}
	if err != nil {
		return err
	}
	rendered, err := r.run(ctx, nil, kubectl, "kustomize", overlay)
	if err != nil {
		return err
	}
	image := r.image + ":" + r.version.given
	if !bytes.Contains(rendered, []byte("image: "+image+"\n")) {
		return fmt.Errorf("config/default has no image feed-operator that could become %s", image)
	}
	about := fmt.Sprintf("# feed-operator %s: kubectl apply -f %s\n", r.version.given, manifest)
	return write(filepath.Join(r.into, manifest), append([]byte(about), rendered...))
}

// relative is the way from one folder to another.
func relative(from, to string) (string, error) {
	for _, path := range []*string{&from, &to} {
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return "", err
		}
		if *path, err = filepath.EvalSymlinks(absolute); err != nil {
			return "", err
		}
	}
	return filepath.Rel(from, to)
}

// packageChart packages config/chart as that of the release, with its image.
func (r *release) packageChart(ctx context.Context, helm string) error {
	into, err := filepath.Abs(r.into)
	if err != nil {
		return err
	}
	if _, err := r.run(ctx, nil, helm, "package", filepath.Join("config", "chart"), "--destination="+into,
		"--version="+r.version.semantic, "--app-version="+r.version.given); err != nil {
		return err
	}
	values := struct {
		Image struct {
			Repository string `json:"repository"`
		} `json:"image"`
	}{}
	text, err := os.ReadFile(filepath.Join(r.root, "config", "chart", "values.yaml"))
	if err == nil {
		err = yaml.Unmarshal(text, &values)
	}
	if err != nil {
		return err
	}
	return rewrite(filepath.Join(into, "feed-operator-"+r.version.semantic+".tgz"), r.made, func(file *entry) {
		if file.name == "feed-operator/values.yaml" {
			file.content = []byte(strings.Replace(string(file.content), "repository: "+values.Image.Repository+"\n", "repository: "+r.image+"\n", 1))
		}
	})
}
