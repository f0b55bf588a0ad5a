// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"cmp"
	"context"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/dashboard/foreign"
	"github.com/feed-operator/feed-operator/internal/dashboard/trend"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/overview"
)

// Snapshot is all that the page knows, as of one moment. It is shared by all viewers: nobody changes it.
type Snapshot struct {
	// Taken is when it was. That depends on what happens in all namespaces, and is not told.
	Taken time.Time
	// AsOf is the time by which pauses end and feeds become stale: it goes on at moments that depend on nothing.
	AsOf time.Time
	// spaces are the namespaces that hold anything, by name.
	spaces map[string]*space
	names  []string
}

// space is what there is in one namespace. Nothing in it depends on another one.
type space struct {
	name         string
	sources      []Source
	parts        []*part // the items, by source
	providers    []Service
	destinations []Service
	counts       v1alpha1.ItemCounts
	hours        [trend.Hours]trend.Hour
	// version differs where anything that the page shows of the namespace does.
	version uint64
}

// part are the items of one source. It is shared by all snapshots until one of them changes.
type part struct {
	items  []Item // those that were worked on last first
	counts v1alpha1.ItemCounts
	// version differs where any of the items does.
	version uint64
}

// Item is an item in a list. There may be 100,000 of them: what they have in common is there once.
type Item struct {
	*Standing
	// Title, or the link where there is none, as the cache has it: the words of strangers, which Shown makes fit to be seen.
	Name, Title string
	Version     string // resourceVersion
	// Checked is when it was last worked on, Next when it is tried again (0 for nobody knows), in seconds of Unix.
	Checked, Next int64
}

// Standing is what many items of a source have in common.
type Standing struct {
	Namespace, Source string
	Phase             v1alpha1.Phase
	Reason            v1alpha1.Reason
	Failing           string // the provider or destination at which it has failed
}

// Source is a FeedSource in a list.
type Source struct {
	Namespace, Name string
	// Title of the feed, in its own words. Of its address only the Host: the rest may be a secret.
	Title, Host, Format string
	State               overview.SourceState
	// Said is how polling goes, in words; Stalled is set where only a person can have it go on.
	Said     string
	Stalled  bool
	Read     time.Time // last successfully; zero for never
	Next     time.Time
	Unless   string // why there is no next poll
	Every    time.Duration
	Failures int32
	Items    v1alpha1.ItemCounts
}

// Service is an AIProvider or a FeedDestination in a list.
type Service struct {
	Namespace, Name, Kind string
	overview.Service
	State string
	// Refused is set where a person has to change a Secret or the spec.
	Refused bool
	// Done is how many calls a provider has had, or items a destination.
	Done     int64
	Failures int64
}

var seed = maphash.MakeSeed()

// take reads a Snapshot from the cache. Of the last one it takes the items of sources that have not changed since, and returns those of all.
func take(ctx context.Context, cache client.Reader, now time.Time, known map[types.UID]*part) (*Snapshot, map[types.UID]*part, error) {
	s := &Snapshot{Taken: now, AsOf: now.Truncate(oldest), spaces: map[string]*space{}}
	var sources v1alpha1.FeedSourceList
	var providers v1alpha1.AIProviderList
	var destinations v1alpha1.FeedDestinationList
	for _, list := range []client.ObjectList{&sources, &providers, &destinations} {
		if err := cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, nil, err
		}
	}
	parts := make(map[types.UID]*part, len(sources.Items))
	for i := range sources.Items {
		source := &sources.Items[i]
		of := known[source.UID]
		if of == nil {
			var err error
			if of, err = partOf(ctx, cache, source); err != nil {
				return nil, nil, err
			}
		}
		parts[source.UID] = of
		s.addSource(source, of)
	}
	for i := range providers.Items {
		of := &providers.Items[i]
		in := s.in(of.Namespace)
		in.providers = append(in.providers, s.service(in, of, "aiprovider", of.Status.Calls))
	}
	for i := range destinations.Items {
		of := &destinations.Items[i]
		in := s.in(of.Namespace)
		in.destinations = append(in.destinations, s.service(in, of, "feeddestination", of.Status.Delivered))
	}
	s.names = slices.Sorted(maps.Keys(s.spaces))
	for _, in := range s.spaces {
		in.sort()
		in.version += hashOf("hour", s.AsOf.Truncate(time.Hour).Format(time.RFC3339)) // at which the chart moves on
	}
	return s, parts, nil
}

// partOf reads the items of a source. Those whose source is gone are on their way out, and are not shown.
func partOf(ctx context.Context, cache client.Reader, source *v1alpha1.FeedSource) (*part, error) {
	items, err := itemcache.OfSource(ctx, cache, source)
	if err != nil {
		return nil, err
	}
	of, standings := &part{items: make([]Item, 0, len(items))}, map[Standing]*Standing{}
	for i := range items {
		item := itemOf(&items[i])
		if standings[*item.Standing] == nil {
			standings[*item.Standing] = item.Standing
		}
		item.Standing = standings[*item.Standing]
		of.items = append(of.items, item)
		of.counts.Add(item.Phase, 1)
		of.version += hashOf(item.Name, item.Version)
	}
	slices.SortFunc(of.items, func(a, b Item) int { return newer(&a, &b) })
	return of, nil
}

func (s *Snapshot) in(namespace string) *space {
	found := s.spaces[namespace]
	if found == nil {
		found = &space{name: namespace}
		s.spaces[namespace] = found
	}
	return found
}

// hashOf differs where one of the parts does. Hashes are added up, because a cache has no order.
func hashOf(parts ...string) uint64 {
	var hash maphash.Hash
	hash.SetSeed(seed)
	for _, part := range parts {
		_, _ = hash.WriteString(part)
		_ = hash.WriteByte(0)
	}
	return hash.Sum64()
}

// addSource adds a source and its items.
func (s *Snapshot) addSource(source *v1alpha1.FeedSource, of *part) {
	in, counts := s.in(source.Namespace), of.counts
	in.parts = append(in.parts, of)
	for i := range of.items {
		in.count(&of.items[i], s.AsOf)
	}
	in.version += of.version
	shown := Source{
		Namespace: source.Namespace, Name: source.Name, Title: foreign.Line(source.Status.Title), Host: foreign.HostOf(source.Spec.URL),
		Format: foreign.Line(source.Status.Format), State: overview.StateOf(source, s.AsOf), Said: foreign.Line(overview.OfSource(source, counts)),
		Stalled: meta.IsStatusConditionTrue(source.Status.Conditions, v1alpha1.ConditionStalled), Failures: source.Status.ConsecutiveFailures,
		Every: source.Interval(), Items: counts,
	}
	shown.Next, shown.Unless = overview.NextPoll(source, s.AsOf)
	if source.Status.EffectiveInterval != nil {
		shown.Every = source.Status.EffectiveInterval.Duration
	}
	if source.Status.LastSuccessTime != nil {
		shown.Read = source.Status.LastSuccessTime.Time
	}
	in.sources = append(in.sources, shown)
	in.version += hashOf(source.Name, string(source.UID), source.ResourceVersion, string(shown.State))
}

func itemOf(item *v1alpha1.FeedItem) Item {
	of := Item{Standing: &Standing{Namespace: item.Namespace, Source: item.Spec.SourceRef.Name, Phase: cmp.Or(item.Status.Phase, v1alpha1.PhaseUnprocessed)}}
	of.Name, of.Version, of.Reason, of.Checked = item.Name, item.ResourceVersion, item.Status.Reason, item.LastCheck().Unix()
	of.Title = cmp.Or(item.Spec.Title, item.Spec.URL, item.Name)
	if next := item.Status.NextRetryTime; next != nil && !item.Terminal() {
		of.Next = next.Unix()
	}
	for _, row := range item.Status.Deliveries {
		if row.Failure != nil {
			of.Failing = row.Destination
			return of
		}
	}
	if failed := item.Status.ProviderFailures; len(failed) > 0 && of.Phase != v1alpha1.PhaseProcessed {
		of.Failing = failed[len(failed)-1].Name
	}
	return of
}

// count adds an item to the queue and to the chart.
func (in *space) count(item *Item, now time.Time) {
	in.counts.Add(item.Phase, 1)
	ago := int(now.Truncate(time.Hour).Sub(time.Unix(item.Checked, 0).Truncate(time.Hour)) / time.Hour)
	if ago < 0 || ago >= trend.Hours {
		return
	}
	switch hour := &in.hours[trend.Hours-1-ago]; item.Phase {
	case v1alpha1.PhaseProcessed:
		hour.Processed++
	case v1alpha1.PhaseFailed:
		hour.Failed++
	case v1alpha1.PhaseUnprocessed, v1alpha1.PhasePending, v1alpha1.PhaseDeferred:
	}
}

// refusals are the reasons of the condition Ready for which a person has to change a Secret or the spec.
var refusals = []string{
	v1alpha1.ReasonCredentialsMissing, v1alpha1.ReasonCredentialsRefused, v1alpha1.ReasonConfigurationRefused, v1alpha1.ReasonEndpointGone,
}

func (s *Snapshot) service(in *space, object v1alpha1.ServiceObject, kind string, done int64) Service {
	status := object.Service()
	said := overview.OfService(status, s.AsOf)
	of := Service{Namespace: in.name, Name: object.GetName(), Kind: kind, Service: said, State: "Ready", Done: done}
	ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	switch {
	case ready != nil && ready.Status != "True":
		of.State, of.Refused = ready.Reason, slices.Contains(refusals, ready.Reason)
	case !said.Well && status.Availability != nil:
		of.State = string(status.Availability.State)
	case !said.Well:
		of.State = "Unknown"
	}
	of.Why = strings.TrimPrefix(said.Why, of.State+": ") // it is said already
	if ready != nil {
		of.Why = strings.TrimPrefix(of.Why, ready.Reason+": ")
	}
	of.Why = foreign.Line(of.Why)
	for _, failed := range status.Failures {
		of.Failures += failed.Count
	}
	in.version += hashOf(kind, object.GetName(), string(object.GetUID()), object.GetResourceVersion(), of.State)
	return of
}

func (in *space) sort() {
	slices.SortFunc(in.sources, func(a, b Source) int { return strings.Compare(a.Name, b.Name) })
	byName := func(a, b Service) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(in.providers, byName)
	slices.SortFunc(in.destinations, byName)
}

// newer sorts those first that were worked on last.
func newer(a, b *Item) int {
	return cmp.Or(cmp.Compare(b.Checked, a.Checked), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
