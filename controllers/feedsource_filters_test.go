// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
)

// filtered gives a source filters.
func filtered(filters ...v1alpha1.EntryFilter) func(*v1alpha1.FeedSource) {
	return func(source *v1alpha1.FeedSource) { source.Spec.Filters = filters }
}

// dropping and keeping are filters.
func dropping(name, expression string) v1alpha1.EntryFilter {
	return v1alpha1.EntryFilter{Name: name, Action: v1alpha1.FilterDrop, Expression: expression}
}

func keeping(name, expression string) v1alpha1.EntryFilter {
	return v1alpha1.EntryFilter{Name: name, Action: v1alpha1.FilterKeep, Expression: expression}
}

// refilter changes the filters of a source.
func (w *world) refilter(name string, filters ...v1alpha1.EntryFilter) *v1alpha1.FeedSource {
	w.t.Helper()
	var source v1alpha1.FeedSource
	apitest.Eventually(w.t, func(ctx context.Context) error {
		source = v1alpha1.FeedSource{}
		if err := w.client.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: name}, &source); err != nil {
			return err
		}
		source.Spec.Filters = filters
		return w.client.Update(ctx, &source)
	})
	return &source
}

// polledAs checks that the poll of the spec in force was written down.
func polledAs(changed *v1alpha1.FeedSource) func(*v1alpha1.FeedSource) error {
	return func(source *v1alpha1.FeedSource) error {
		if source.Status.ObservedGeneration != changed.Generation {
			return fmt.Errorf("generation %d of %d was seen", source.Status.ObservedGeneration, changed.Generation)
		}
		return hasReady(source.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	}
}

// categorized gives entries a category each, in turn.
func categorized(entries []feedtest.Entry, categories ...string) []feedtest.Entry {
	for i := range entries {
		entries[i].Categories = []string{categories[i%len(categories)]}
	}
	return entries
}

// R1.8, R1.5, R1.2: an entry that the filters drop never becomes an item, also not when they are gone, the
// memory is read anew, or the entry is listed again; the first poll counts what passes.
func TestAnEntryThatFiltersDropNeverBecomesAnItem(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	first := categorized(web.Entries("first", 8), "Sports", "お知らせ") // 8 (Sports), 7 (お知らせ), 6, 5 …
	web.List(first...)
	w := newWorld(t)
	created := w.creations()
	w.source("news", web.FeedURL(), func(source *v1alpha1.FeedSource) {
		source.Spec.InitialItems = new(int32(2))
		source.Spec.Filters = []v1alpha1.EntryFilter{dropping("no-sports", "'Sports' in categories"), keeping("first-only", "title.fold().contains('first')")}
	})
	w.untilItems("news", allProcessed(2))
	w.untilSource("news", hasFiltered(4))

	second := categorized(web.Entries("second", 2), "お知らせ") // no filter with Keep matches them
	web.List(append(second, first...)...)
	w.poll("news")
	w.untilSource("news", hasFiltered(6))

	changed := w.refilter("news")
	w.untilSource("news", polledAs(changed))
	w.restart()
	web.List(first[:1]...)
	w.poll("news")
	third := categorized(web.Entries("third", 1), "Sports")
	web.List(append(third, append(second, first...)...)...)
	source := w.poll("news")
	if diff := cmp.Diff([]string{"News about first-5", "News about first-7", "News about third-1"}, created()); diff != "" {
		t.Errorf("items that were made: %s", diff)
	}
	if err := hasFiltered(6)(source); err != nil {
		t.Error(err)
	}
}

// hasFiltered checks how many entries a source says it has dropped.
func hasFiltered(want int64) func(*v1alpha1.FeedSource) error {
	return func(source *v1alpha1.FeedSource) error {
		if got := source.Status.FilteredEntries; got != want {
			return fmt.Errorf("%d entries were filtered, want %d", got, want)
		}
		return nil
	}
}

// untilPolled lets the time of the next poll come, and waits until it was made.
func (w *world) untilPolled(name string, web *feedtest.Server) {
	w.t.Helper()
	w.clock.Step(15 * time.Minute)
	want := web.Hits("/feed.xml") + 1
	await(w.t, func() error {
		w.lookAt(controllers.SourceKey, types.NamespacedName{Namespace: w.namespace, Name: name})
		if web.Hits("/feed.xml") < want {
			return errNotYet
		}
		return nil
	})
}

// R1.8, R1.3: where some entries become items and some do not, both are counted in the end, in one write.
func TestWhatIsFilteredIsCountedBesideWhatIsNot(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("old", 1)...)
	w := newWorld(t)
	w.source("news", web.FeedURL(), filtered(dropping("no-ads", "title.contains('ad')")))
	w.untilItems("news", allProcessed(1))
	web.List(append(web.Entries("ad", 3), web.Entries("news", 2)...)...)
	w.untilPolled("news", web)
	w.untilItems("news", allProcessed(3))
	w.clock.Step(2 * time.Minute) // the counts are written once a minute
	w.untilCounted("news", func(source *v1alpha1.FeedSource) error {
		return errors.Join(hasFiltered(3)(source), equal("processed items", source.Status.Items.Processed, 3))
	})
}

func equal[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s: %v, want %v", what, got, want)
	}
	return nil
}

// R1.8: an expression that cannot work is told on the condition, in words, the feed is not polled, and
// nothing is lost by that: once it is mended, what the feed lists is polled at once.
func TestAFilterThatCannotWorkIsToldAndNothingIsPolled(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	entries := web.Entries("news", 3)
	web.List(entries[2:]...)
	w := newWorld(t)
	bad := dropping("no-sports", "'Sports' in categorys")
	refused := func(source *v1alpha1.FeedSource) error {
		return errors.Join(
			hasReady(source.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonInvalidFilter),
			equal("stalled", meta.IsStatusConditionTrue(source.Status.Conditions, v1alpha1.ConditionStalled), true),
			equal("generation", source.Status.ObservedGeneration, source.Generation),
		)
	}
	w.source("news", web.FeedURL(), filtered(keeping("all", "true"), bad))
	source := w.untilSource("news", refused)
	ready := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionReady)
	const want = "The feed is not polled until its filters are corrected: spec.filters[1] (no-sports): line 1, column 13: " +
		"undeclared reference to 'categorys' (did you mean 'categories'?)"
	if ready.Message != want {
		t.Errorf("it says\n%s\nwant\n%s", ready.Message, want)
	}
	// Neither time, nor a poll by hand, nor a restart has it polled.
	w.clock.Step(time.Hour)
	w.annotate(source, v1alpha1.AnnotationPoll, "now")
	w.restart()
	other := feedtest.New(t)
	other.List(other.Entries("other", 1)...)
	w.source("other", other.FeedURL())
	w.untilItems("other", allProcessed(1))
	w.untilSource("news", refused)
	if hits := web.Hits("/feed.xml"); hits != 0 {
		t.Errorf("the feed was polled %d times", hits)
	}
	w.untilSource("news", polledAs(w.refilter("news", dropping("no-sports", "'Sports' in categories"))))
	w.awaitItems("news", allProcessed(1))

	// One that worked before: what comes meanwhile is not lost.
	w.refilter("news", bad)
	w.untilSource("news", refused)
	hits := web.Hits("/feed.xml")
	web.List(entries...)
	w.clock.Step(2 * time.Hour)
	w.lookAt(controllers.SourceKey, client.ObjectKeyFromObject(source))
	w.untilSource("news", refused)
	if got := web.Hits("/feed.xml"); got != hits {
		t.Errorf("the feed was polled %d times more", got-hits)
	}
	mended := w.refilter("news", dropping("no-sports", "'Sports' in categories"))
	w.untilSource("news", polledAs(mended))
	w.awaitItems("news", allProcessed(3))
}

// R1.8: a filter that fails for an entry loses nothing, is told without a word of the entry, and holds up
// no other entry.
func TestAFilterThatFailsForAnEntryKeepsIt(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	entries := web.Entries("dated", 2)
	entries = append(entries, feedtest.Entry{GUID: "tag:undated", Link: web.ArticleURL("undated"), Title: "Undated"})
	web.List(entries...)
	w := newWorld(t)
	w.source("news", web.FeedURL(), filtered(dropping("no-old", "published < timestamp('2026-04-01T08:30:00Z')")))
	items := w.untilItems("news", allProcessed(2))
	if diff := cmp.Diff([]string{"News about dated-2", "Undated"}, titles(items)); diff != "" {
		t.Error(diff)
	}
	source := w.untilSource("news", hasFiltered(1))
	failing := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionFiltersFailing)
	const want = "The filter no-old could not be evaluated for 1 of the new entries, and has dropped none of them: the entry has no date (published is null)"
	if failing == nil || failing.Reason != v1alpha1.ReasonEvaluationFailed || !strings.HasPrefix(failing.Message, want) || strings.Contains(failing.Message, "Undated") {
		t.Errorf("condition %+v", failing)
	}
	if err := hasReady(source.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonSucceeded); err != nil {
		t.Error(err)
	}
	// It is told until the filters are changed.
	source = w.poll("news")
	if meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionFiltersFailing) == nil {
		t.Error("it is told no more")
	}
	changed := w.refilter("news", dropping("no-old", "published != null && published < timestamp('2026-04-01T08:30:00Z')"))
	source = w.untilSource("news", polledAs(changed))
	if failing := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionFiltersFailing); failing != nil {
		t.Errorf("it is still told: %+v", failing)
	}
}

// R1.8, R1.6: an expression that would take for ever is refused, and one that takes long within its
// bounds is evaluated over the longest content; neither keeps the feed of another source.
func TestACostlyFilterHoldsUpNobody(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	entries := web.Entries("long", 3)
	for i := range entries {
		entries[i].Content = "<p>" + strings.Repeat("xxxxxxxxxx 字 ", 200) + "</p>"
		entries[i].Categories = strings.Split(strings.Repeat("a b c d e f g h ", 4)+"x", " ")
	}
	web.List(entries...)
	w := newWorld(t)
	feedOnly := func(source *v1alpha1.FeedSource) {
		source.Spec.Article = &v1alpha1.ArticlePolicy{Source: v1alpha1.ArticleSourceFeed}
	}
	for name, expression := range map[string]string{
		"loops":    "categories.all(a, categories.all(b, categories.all(c, categories.all(d, a + b != c + d))))",
		"patterns": `content.matches('(\\w{1,100}){9}y')`,
		"copies":   "content.split('').join(content) == 'x'",
	} {
		w.source(name, web.FeedURL(), filtered(dropping("costly", expression)))
		w.untilSource(name, func(source *v1alpha1.FeedSource) error {
			if err := hasReady(source.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonInvalidFilter); err != nil {
				return err
			}
			if message := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionReady).Message; !strings.Contains(message, "can take too long") {
				return errors.New(message)
			}
			return nil
		})
	}
	if hits := web.Hits("/feed.xml"); hits != 0 {
		t.Errorf("the feed was polled %d times", hits)
	}
	w.source("heavy", web.FeedURL(), feedOnly, filtered(
		dropping("pattern", "content.matches('(x+x+)+y')"),
		dropping("letters", "content.split('').exists(c, c == 'Z')"),
		dropping("words", "['aaaa', 'bbbb', 'cccc'].exists(word, content.fold().contains(word))"),
	))
	w.untilItems("heavy", allProcessed(3))
}

// R1.8, R1.3: filters cost no write while nothing is new, also where they have dropped something before.
func TestFiltersCostNoWriteWhileNothingIsNew(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.WithoutValidators()
	entries := web.Entries("same", 3)
	entries[0].Published = time.Time{}
	web.List(entries...)
	w := newWorld(t)
	w.source("news", web.FeedURL(), filtered(dropping("old", "published < timestamp('2026-04-01T07:30:00Z')")))
	w.untilItems("news", allProcessed(2))
	w.clock.Step(2 * time.Minute)
	before := w.untilCounted("news", func(source *v1alpha1.FeedSource) error {
		return errors.Join(hasFiltered(1)(source), equal("processed items", source.Status.Items.Processed, 2))
	})
	for range 3 {
		w.untilPolled("news", web)
	}
	w.stop()
	var after v1alpha1.FeedSource
	if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(before), &after); err != nil {
		t.Fatal(err)
	}
	if after.ResourceVersion != before.ResourceVersion {
		t.Errorf("the source was written: %s", cmp.Diff(before.Status, after.Status))
	}
}
