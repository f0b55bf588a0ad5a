// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
)

// imageOptions are what the image is built with.
type imageOptions struct {
	ko, base, revision string
	push               bool
}

func imageCommand(r *release) *cobra.Command {
	var with imageOptions
	command := &cobra.Command{
		Use: "image", Short: "Build the image, and push it where that is asked for", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return r.buildImage(cmd.Context(), with) },
	}
	command.Flags().StringVar(&with.ko, "ko", "ko", "path of ko")
	command.Flags().StringVar(&with.base, "base", "", "base image in place of that of .ko.yaml")
	command.Flags().StringVar(&with.revision, "revision", "", "commit that it is built from")
	command.Flags().BoolVar(&with.push, "push", false, "push it to the registry that its name says")
	return command
}

// The names of what buildImage makes.
const (
	layoutFolder = "image"
	sbomFolder   = "sbom"
	imageArchive = "feed-operator-image_"
)

// user is who the operator runs as: a number, because Kubernetes can only tell from a number that it is not root.
const user = "65532:65532"

// buildImage has ko build the image for all platforms, as an OCI layout, with a list of what is in it for each of them. Of the layout it makes an archive,
// which containerd, podman and docker load.
func (r *release) buildImage(ctx context.Context, with imageOptions) error {
	if err := r.discard(layoutFolder, sbomFolder, imageArchive+"*"); err != nil {
		return err
	}
	layout, sboms := filepath.Join(r.into, layoutFolder), filepath.Join(r.into, sbomFolder)
	// ko takes the path of the layout for the name of an image, which has no capital letters: those above the repository may have some.
	fromRoot, err := relative(r.root, r.into)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(sboms, 0o755); err != nil { //nolint:gosec // what is made is for everybody
		return err
	}
	arguments := []string{
		"build", "./cmd/manager", "--bare", "--tags=" + r.version.given, fmt.Sprintf("--push=%t", with.push),
		"--oci-layout-path=" + filepath.Join(fromRoot, layoutFolder), "--sbom=spdx", "--sbom-dir=" + filepath.Join(fromRoot, sbomFolder), "--image-user=" + user,
	}
	labels := map[string]string{
		"title": "feed-operator", "licenses": "Apache-2.0", "version": r.version.given,
		"source": "https://github.com/feed-operator/feed-operator", "created": r.made.Format(time.RFC3339),
	}
	if with.revision != "" {
		labels["revision"] = with.revision
	}
	for label, value := range labels {
		arguments = append(arguments, "--image-label=org.opencontainers.image."+label+"="+value)
	}
	environment := []string{"KO_DOCKER_REPO=" + r.image, "VERSION=" + r.version.given, fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.made.Unix())}
	if with.base != "" {
		environment = append(environment, "KO_DEFAULTBASEIMAGE="+with.base)
	}
	if _, err := r.run(ctx, environment, with.ko, arguments...); err != nil {
		return fmt.Errorf("%w: it has said why. Where it does not reach the base image, BASE_IMAGE names one that it reaches", err)
	}
	if err := nameImage(layout, r.image+":"+r.version.given, r.version.given); err != nil {
		return err
	}
	return archive(filepath.Join(r.into, imageArchive+r.version.given+".tar"), r.made, func(add func(entry) error) error { return folder(layout, add) })
}

// nameImage writes into a layout what its image is called: for containerd the whole name, for others the tag.
func nameImage(layout, name, tag string) error {
	file := filepath.Join(layout, "index.json")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var index map[string]any
	if err := json.Unmarshal(text, &index); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	manifests, _ := index["manifests"].([]any)
	if len(manifests) != 1 {
		return fmt.Errorf("%s names %d images, and not one", file, len(manifests))
	}
	manifest, is := manifests[0].(map[string]any)
	if !is {
		return errors.New(file + " does not name an image")
	}
	manifest["annotations"] = map[string]string{"org.opencontainers.image.ref.name": tag, "io.containerd.image.name": name}
	if text, err = json.Marshal(index); err != nil {
		return err
	}
	return write(file, text)
}
