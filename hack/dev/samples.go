// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// mastodonSample is the name of what the samples have for Mastodon: the destination and its Secret.
const mastodonSample = "mastodon"

// sections are the fields of an AIProvider's spec that say which service it is, by the name of the
// sample for it, which is that of its Secret too.
var sections = map[string]string{geminiSample: "gemini", claudeSample: "anthropic", gptSample: "openAI"}

// standInInterval is the time between two posts to the stand-in: nobody is flooded there.
const standInInterval = "1s"

// readSamples reads the manifests of config/samples. Where the developer brings sources of their own,
// those of the samples are left out, and so is each file of which they bring an object themselves.
func (w *world) readSamples(own []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	names, err := filepath.Glob(filepath.Join(w.options.root, "config", "samples", "*.yaml"))
	if err != nil {
		return nil, err
	}
	var samples []*unstructured.Unstructured
	for _, name := range names {
		objects, err := readManifest(name, w.feeds.Base)
		if err != nil {
			return nil, err
		}
		replaced := slices.ContainsFunc(objects, func(sample *unstructured.Unstructured) bool {
			return len(own) > 0 && sample.GetKind() == kindSource ||
				slices.ContainsFunc(own, func(object *unstructured.Unstructured) bool { return same(sample, object) })
		})
		if !replaced {
			samples = append(samples, objects...)
		}
	}
	return w.access.fit(samples, w.services(), w.standIn, w.chat)
}

func same(sample, own *unstructured.Unstructured) bool {
	namespace := own.GetNamespace()
	return sample.GetKind() == own.GetKind() && sample.GetName() == own.GetName() &&
		(namespace == "" || namespace == sample.GetNamespace())
}

// fit makes the samples work with what there is: the keys and the account of the developer, the
// built-in summarizer and the stand-ins.
func (a access) fit(samples []*unstructured.Unstructured, services map[string]*serviceAccess, local *standIn, webhooks *chat,
) ([]*unstructured.Unstructured, error) {
	var fitting []*unstructured.Unstructured
	for _, sample := range samples {
		service, takesKey := services[sample.GetName()]
		if sample.GetKind() == kindSource {
			takesKey = false
		}
		if takesKey && service == nil {
			continue
		}
		var err error
		switch kind := sample.GetKind(); {
		case takesKey && kind == kindSecret:
			err = setSecret(sample, "apiKey", service.key)
		case takesKey && kind == kindProvider:
			err = setAll(sample, map[string]string{"model": service.model, "endpoint": service.endpoint}, "spec", sections[sample.GetName()])
		case kind == kindSecret && sample.GetName() == mastodonSample:
			err = setSecret(sample, "accessToken", a.token(local))
		case kind == kindDestination && sample.GetName() == mastodonSample:
			err = a.fitDestination(sample, local)
		case kind == kindSecret && sample.GetName() == chatSample:
			err = setSecret(sample, "url", webhooks.urlOf(chatSample))
		case kind == kindDestination && sample.GetName() == opsSample:
			err = setAll(sample, map[string]string{"url": webhooks.urlOf(opsSample)}, "spec", "webhook")
		case kind == kindSource && services[geminiSample] == nil:
			err = withoutGemini(sample)
		}
		if err != nil {
			return nil, err
		}
		fitting = append(fitting, sample)
	}
	return fitting, nil
}

func (a access) token(local *standIn) string {
	if a.mastodon != nil {
		return a.mastodon.token
	}
	return local.token
}

func (a access) fitDestination(sample *unstructured.Unstructured, local *standIn) error {
	if a.mastodon != nil {
		return setAll(sample, map[string]string{"server": a.mastodon.server}, "spec", "mastodon")
	}
	if err := setAll(sample, map[string]string{"minInterval": standInInterval}, "spec"); err != nil {
		return err
	}
	return setAll(sample, map[string]string{"server": local.URL}, "spec", "mastodon")
}

// withoutGemini leaves the summaries of a source to its other providers. None of those can screen.
func withoutGemini(source *unstructured.Unstructured) error {
	providers, _, err := unstructured.NestedSlice(source.Object, "spec", "providers")
	if err != nil {
		return err
	}
	rest := slices.DeleteFunc(providers, func(provider any) bool {
		reference, _ := provider.(map[string]any)
		return reference["name"] == geminiSample
	})
	if len(rest) == len(providers) {
		return nil
	}
	unstructured.RemoveNestedField(source.Object, "spec", "screening")
	return unstructured.SetNestedSlice(source.Object, rest, "spec", "providers")
}

// setAll sets the fields that have a value.
func setAll(object *unstructured.Unstructured, values map[string]string, in ...string) error {
	for field, value := range values {
		if value == "" {
			continue
		}
		if err := unstructured.SetNestedField(object.Object, value, append(slices.Clone(in), field)...); err != nil {
			return err
		}
	}
	return nil
}

func setSecret(secret *unstructured.Unstructured, key, value string) error {
	return unstructured.SetNestedField(secret.Object, base64.StdEncoding.EncodeToString([]byte(value)), "data", key)
}
