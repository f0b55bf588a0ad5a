// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mmcdole/gofeed"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// survey is what there is to see at one moment.
type survey struct {
	sources []v1alpha1.FeedSource
	items   []v1alpha1.FeedItem
	// initial is how many entries each sample feed has, by URL.
	initial map[string]int
	// samples is set when the items of the sample sources are known, and all of them must be processed.
	samples bool
	// published are the links that the operator's feeds list, by the URL of each feed.
	published map[string]map[string]bool
	// local says that posts go to the stand-in, which has these posts at this URL.
	local  bool
	posts  []mastodontest.Post
	server string
	// providers are the AIProviders, once the operator has stopped and written its counters down, and
	// asked is what their stand-ins say, by name.
	providers []v1alpha1.AIProvider
	asked     map[string]record
}

func (w *world) survey(ctx context.Context, names []client.ObjectKey) (*survey, error) {
	s := &survey{initial: w.feeds.Initial(), samples: len(w.options.run.sources) == 0, published: map[string]map[string]bool{}}
	for _, name := range names {
		var source v1alpha1.FeedSource
		if err := w.client.Get(ctx, name, &source); err != nil {
			return nil, err
		}
		s.sources = append(s.sources, source)
	}
	var items v1alpha1.FeedItemList
	if err := w.client.List(ctx, &items); err != nil {
		return nil, err
	}
	s.items = items.Items
	if w.standIn != nil { // after the items: what they say was posted is there
		s.local, s.posts, s.server = true, w.standIn.Posts(), w.standIn.URL
	}
	if !s.samples || len(s.unfinished()) > 0 {
		return s, nil
	}
	for _, name := range names {
		for _, format := range []string{"atom", "json"} {
			address := w.serves + "/feeds/" + name.Namespace + "/" + name.Name + "." + format
			links, err := readLinks(ctx, address)
			if err != nil {
				return nil, err
			}
			s.published[address] = links
		}
	}
	return s, nil
}

// readLinks reads a feed over HTTP, as any reader would.
func readLinks(ctx context.Context, address string) (map[string]bool, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := (&http.Client{Timeout: 10 * time.Second}).Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() //nolint:errcheck // read only
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", address, response.Status)
	}
	feed, err := gofeed.NewParser().Parse(response.Body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	links := map[string]bool{}
	for _, item := range feed.Items {
		links[item.Link] = true
	}
	return links, nil
}

// missing lists what is not done yet, for a person; nothing when all is done.
func (s *survey) missing() []string {
	missing := s.unfinished()
	for address, links := range s.published {
		for i := range s.items {
			item := &s.items[i]
			path := "/feeds/" + item.Namespace + "/" + item.Spec.SourceRef.Name + "."
			if item.Status.Summary != nil && strings.Contains(address, path) && !links[item.Spec.URL] {
				missing = append(missing, fmt.Sprintf("%s does not list %s", address, item.Spec.URL))
			}
		}
	}
	slices.Sort(missing)
	return missing
}

// unfinished lists sources that were not polled well, and items that are not done.
func (s *survey) unfinished() []string {
	var unfinished []string
	for i := range s.sources {
		source := &s.sources[i]
		items := 0
		for j := range s.items {
			if s.items[j].Namespace == source.Namespace && s.items[j].Spec.SourceRef.Name == source.Name {
				items++
			}
		}
		ready := apimeta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionReady)
		switch {
		case ready == nil:
			unfinished = append(unfinished, fmt.Sprintf("source %s has not been polled", source.Name))
		case ready.Status != "True":
			unfinished = append(unfinished, fmt.Sprintf("source %s is not ready: %s", source.Name, ready.Message))
		case s.samples && items != min(s.initial[source.Spec.URL], source.InitialItems()):
			unfinished = append(unfinished, fmt.Sprintf("source %s has %d items, and should have %d",
				source.Name, items, min(s.initial[source.Spec.URL], source.InitialItems())))
		}
	}
	for i := range s.items {
		item := &s.items[i]
		if item.Status.Phase != v1alpha1.PhaseProcessed && item.Status.Phase != v1alpha1.PhaseFailed {
			unfinished = append(unfinished, describe(item))
		}
	}
	return unfinished
}

// verdict fails when a sample did not end as it must: processed, with a summary that was posted, or
// screened out. It fails in any case when the stand-in has not each item's post once, or when the
// stand-ins for AI services were called otherwise than the operator says, or too early.
func (s *survey) verdict() error {
	if wrong := s.wrongCalls(); len(wrong) > 0 {
		return fmt.Errorf("the AI services were not called as they should be:\n  %s", strings.Join(wrong, "\n  "))
	}
	wrong := s.wrongPosts()
	for i := range s.items {
		item := &s.items[i]
		screenedOut := item.Status.Phase == v1alpha1.PhaseProcessed && item.Status.Reason == v1alpha1.ReasonNotValuable
		switch {
		case !s.samples || screenedOut:
		case item.Status.Phase != v1alpha1.PhaseProcessed || item.Status.Summary == nil:
			wrong = append(wrong, describe(item))
		case postOf(item) == nil:
			wrong = append(wrong, describe(item)+", but was not posted")
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("not every item was summarized and posted once:\n  %s", strings.Join(wrong, "\n  "))
	}
	return nil
}

func (s *survey) wrongPosts() []string {
	if !s.local {
		return nil
	}
	return notOnce(s.items, s.posts, s.server)
}

func describe(item *v1alpha1.FeedItem) string {
	text := fmt.Sprintf("%s of %s (%s) is %s", item.Name, item.Spec.SourceRef.Name, item.Spec.Title, item.Status.Phase)
	if item.Status.Reason != "" {
		text += ", " + string(item.Status.Reason)
	}
	if why := whyItem(item); why != "" {
		text += ": " + why
	}
	return text
}
