// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// Write shows what would become of some sources, as it turns out. The error says which of them cannot be
// read; the others are shown.
func Write(ctx context.Context, to io.Writer, previewer *Previewer, sources []*v1alpha1.FeedSource) error {
	printer := &Printer{To: to}
	var errs []error
	for i, source := range sources {
		if i > 0 {
			printer.write("\n")
		}
		read, err := previewer.Read(ctx, source)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			errs = append(errs, named(source, err))
			continue
		}
		printer.Feed(source, read)
		for i := range read.Entries {
			printer.Entry(i+1, len(read.Entries), &read.Entries[i])
			done, err := previewer.Work(ctx, source, read.Entries[i].Item)
			if err != nil {
				return err
			}
			printer.Outcome(source, done)
		}
	}
	return errors.Join(append(errs, printer.Err())...)
}

// WriteItems writes the items that would be created, as YAML or JSON. No article is read.
func WriteItems(ctx context.Context, to io.Writer, previewer *Previewer, sources []*v1alpha1.FeedSource, format string) error {
	var errs []error
	items := v1alpha1.FeedItemList{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "FeedItemList"}}
	items.Items = []v1alpha1.FeedItem{}
	for _, source := range sources {
		read, err := previewer.Read(ctx, source)
		if err != nil {
			errs = append(errs, named(source, err))
			continue
		}
		for i := range read.Entries {
			items.Items = append(items.Items, *read.Entries[i].Item)
		}
	}
	text, err := json.MarshalIndent(items, "", "  ")
	if err == nil && format == "yaml" {
		text, err = yaml.JSONToYAML(text)
	}
	if err != nil {
		return err
	}
	if format == "json" {
		text = append(text, '\n')
	}
	_, err = to.Write(text)
	return errors.Join(append(errs, err)...)
}

func named(source *v1alpha1.FeedSource, err error) error {
	return fmt.Errorf("source/%s: %w", source.Name, err)
}
