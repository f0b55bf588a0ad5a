// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package opml

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/redact"
)

// Sources makes a FeedSource of each feed, like template but for its name and its URL. Feeds that cannot
// become one, and those that are in the list already, are skipped.
func Sources(feeds []Feed, template v1alpha1.FeedSource) (sources []v1alpha1.FeedSource, skipped []Skipped) {
	byName, byURL := map[string]bool{}, map[string]string{}
	for _, entry := range feeds { // names that were given go first: they are what a FeedSource is called already
		if isName(entry.Name) {
			byName[entry.Name] = true
		}
	}
	given := map[string]bool{}
	for _, entry := range feeds {
		address, err := feedURL(entry.URL)
		if err != nil {
			skipped = append(skipped, Skipped{Title: cmp.Or(entry.Title, entry.Name), Why: err.Error(), Refused: true})
			continue
		}
		canonical := feed.CanonicalURL(address)
		if first, listed := byURL[canonical]; listed {
			skipped = append(skipped, Skipped{Title: cmp.Or(entry.Title, entry.Name), Why: fmt.Sprintf("it is the same feed as %s", first)})
			continue
		}
		name := entry.Name
		if !isName(name) || given[name] {
			name = unique(Name(entry.Title, address), address, func(name string) bool { return byName[name] })
		}
		byName[name], given[name], byURL[canonical] = true, true, name
		source := *template.DeepCopy()
		source.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "FeedSource"}
		source.Name, source.Spec.URL = name, address
		if title := line(entry.Title); title != "" && title != name {
			metav1.SetMetaDataAnnotation(&source.ObjectMeta, v1alpha1.AnnotationTitle, title)
		}
		if path := pathOf(entry.Folder); path != "" {
			metav1.SetMetaDataAnnotation(&source.ObjectMeta, v1alpha1.AnnotationFolder, path)
		}
		sources = append(sources, source)
	}
	return sources, skipped
}

// Feeds makes the list of some FeedSources. What their URLs hold of credentials is left out.
func Feeds(sources []v1alpha1.FeedSource) []Feed {
	feeds := make([]Feed, 0, len(sources))
	for i := range sources {
		source := &sources[i]
		feeds = append(feeds, Feed{
			Name:   source.Name,
			Title:  cmp.Or(line(source.Annotations[v1alpha1.AnnotationTitle]), line(source.Status.Title), source.Name),
			URL:    redact.WithoutCredentials(source.Spec.URL),
			Folder: folderOf(source.Annotations[v1alpha1.AnnotationFolder]),
		})
	}
	return feeds
}

func isName(name string) bool { return len(validation.IsDNS1123Subdomain(name)) == 0 }

// feedURL returns the URL of a feed as the API takes it. The error explains why it does not,
// without the URL, which may hold a password.
func feedURL(raw string) (string, error) {
	raw = strings.TrimSpace(raw)
	if rest, ok := cutScheme(raw, "feed:"); ok { // https://en.wikipedia.org/wiki/Feed_URI_scheme
		raw = rest
		if strings.HasPrefix(rest, "//") {
			raw = "http:" + rest
		}
	}
	parsed, err := url.Parse(raw)
	switch {
	case err != nil:
		return "", fmt.Errorf("its URL cannot be read")
	case parsed.Scheme != "http" && parsed.Scheme != "https", parsed.Hostname() == "":
		return "", fmt.Errorf("url must be a full http:// or https:// URL")
	case parsed.User != nil:
		return "", fmt.Errorf("url must not hold a user name or password: put them into a Secret and name it in secretRef")
	case len(raw) > maxURL:
		return "", fmt.Errorf("url must not have more than %d characters", maxURL)
	}
	return raw, nil
}

func cutScheme(raw, scheme string) (string, bool) {
	if len(raw) < len(scheme) || !strings.EqualFold(raw[:len(scheme)], scheme) {
		return raw, false
	}
	return raw[len(scheme):], true
}

// escape keeps the names of folders apart that have the separator in them.
var escape, unescape = strings.NewReplacer("%", "%25", "/", "%2F"), strings.NewReplacer("%25", "%", "%2F", "/")

// pathOf is a folder as the annotation holds it: News/Technology.
func pathOf(folder []string) string {
	names := make([]string, 0, len(folder))
	for _, name := range folder {
		names = append(names, escape.Replace(name))
	}
	return strings.Join(names, "/")
}

func folderOf(path string) []string {
	var folder []string
	for name := range strings.SplitSeq(path, "/") {
		if name = line(unescape.Replace(name)); name != "" && len(folder) < maxDepth {
			folder = append(folder, name)
		}
	}
	return folder
}
