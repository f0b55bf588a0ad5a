// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// reconsider is how long a person has to stop it before anything is posted to a real account.
const reconsider = 15 * time.Second

// words say who summarizes the samples, and where their posts go; to a developer who brings sources of
// their own, what those can name.
func (w *world) words() string {
	said := []string{w.writers()}
	webhooks := "\nThe FeedDestinations " + chatSample + " and " + opsSample + " are webhooks of a stand-in on this machine: " + w.chat.URL + "/"
	switch {
	case len(w.options.run.sources) > 0 && w.standIn == nil:
		return said[0] + "\nThe FeedDestination mastodon is your account." + webhooks
	case len(w.options.run.sources) > 0:
		return said[0] + "\nThe FeedDestination mastodon is a stand-in on this machine: " + w.standIn.URL + "/" + webhooks
	case w.access.gemini != nil:
		said = append(said, "Gemini screens the press releases and summarizes them, with your key.")
	}
	var unset []string
	for _, service := range []struct {
		variable string
		access   *serviceAccess
	}{{"ANTHROPIC_API_KEY", w.access.anthropic}, {"OPENAI_API_KEY", w.access.openAI}, {"GEMINI_API_KEY", w.access.gemini}} {
		if service.access == nil {
			unset = append(unset, service.variable)
		}
	}
	if len(unset) > 0 {
		said = append(said, "(The real ones write where you set "+strings.Join(unset, ", ")+" in the environment.)")
	}
	if w.standIn != nil {
		said = append(said, "Posts go to a stand-in for Mastodon on this machine: "+w.standIn.URL+"/")
	}
	said = append(said, "Messages to a chat, and a webhook in batches, go to a stand-in for those: "+w.chat.URL+"/")
	return strings.Join(said, "\n")
}

// warn returns what will be posted to accounts that are not on this machine, and gives time to stop that.
func (w *world) warn(ctx context.Context, out io.Writer, objects []*unstructured.Unstructured) error {
	text := w.warning(objects)
	if text == "" {
		return nil
	}
	_, _ = fmt.Fprintf(out, "\n%s\nPosting begins in %s. Stop it with Ctrl-C.\n\n", text, reconsider)
	select {
	case <-ctx.Done():
		return errors.New("stopped before anything was posted")
	case <-time.After(reconsider):
		return nil
	}
}

// warning reports for each destination that is not the stand-in where it posts, and what. It is empty
// where there is none that a source posts to.
func (w *world) warning(objects []*unstructured.Unstructured) string {
	local := ""
	if w.standIn != nil {
		local = w.standIn.URL
	}
	var said []string
	for _, object := range objects {
		from := sourcesOf(objects, object.GetName())
		if object.GetKind() != kindDestination || len(from) == 0 {
			continue
		}
		if to, is := webhookOf(objects, object); is && !strings.HasPrefix(to, w.chat.URL+"/") {
			said = append(said, fmt.Sprintf("%s: what is new in %s is sent there, by the FeedDestination %s.", originOf(to), strings.Join(from, ", "), object.GetName()))
		}
		server, found, _ := unstructured.NestedString(object.Object, "spec", "mastodon", "server")
		if !found || server == local {
			continue
		}
		visibility, _, _ := unstructured.NestedString(object.Object, "spec", "mastodon", "visibility")
		said = append(said, fmt.Sprintf("%s: what is new in %s is posted to your account there, with the visibility %s.",
			server, strings.Join(from, ", "), cmp.Or(visibility, "that the account is set to")))
	}
	if len(said) == 0 {
		return ""
	}
	if len(w.options.run.sources) == 0 {
		entries := 0
		for _, count := range w.feeds.Initial() {
			entries += count
		}
		said = append(said, fmt.Sprintf("These are the sample feeds: %d invented entries now and one more every %s, with links that lead "+
			"nowhere but on this machine.", entries, newEntryEvery))
	}
	said = append(said, "Each run starts from nothing: what an earlier run has posted is posted again.")
	return strings.Join(said, "\n")
}

// webhookOf returns the URL that a FeedDestination sends to, empty if it is in a Secret that is not among the objects; false for one
// that is no webhook.
func webhookOf(objects []*unstructured.Unstructured, destination *unstructured.Unstructured) (string, bool) {
	webhook, is, _ := unstructured.NestedMap(destination.Object, "spec", "webhook")
	if to, _ := webhook["url"].(string); !is || to != "" {
		return to, is
	}
	name, _, _ := unstructured.NestedString(webhook, "secretRef", "name")
	key, _, _ := unstructured.NestedString(webhook, "urlFrom", "secretKey")
	for _, object := range objects {
		if object.GetKind() != kindSecret || object.GetName() != name {
			continue
		}
		if to, found, _ := unstructured.NestedString(object.Object, "stringData", cmp.Or(key, "url")); found {
			return to, true
		}
		encoded, _, _ := unstructured.NestedString(object.Object, "data", cmp.Or(key, "url"))
		to, _ := base64.StdEncoding.DecodeString(encoded)
		return strings.TrimSpace(string(to)), true
	}
	return "", true
}

// originOf is as much of a URL as is no secret.
func originOf(address string) string {
	at, err := url.Parse(address)
	if err != nil || at.Host == "" {
		return "A webhook whose URL is in a Secret"
	}
	return at.Scheme + "://" + at.Host
}

// sourcesOf are the names of the sources that post to a destination.
func sourcesOf(objects []*unstructured.Unstructured, destination string) []string {
	var names []string
	for _, object := range objects {
		references, _, _ := unstructured.NestedSlice(object.Object, "spec", "destinations")
		if object.GetKind() == kindSource && slices.ContainsFunc(references, func(reference any) bool {
			fields, _ := reference.(map[string]any)
			return fields["name"] == destination
		}) {
			names = append(names, object.GetName())
		}
	}
	return names
}
