// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feedsource

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/conditions"
	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/feedmemory"
	"github.com/feed-operator/feed-operator/internal/filter"
	"github.com/feed-operator/feed-operator/internal/polling"
)

// compiledFilters are the filters of one generation of a source, or why they cannot work.
type compiledFilters struct {
	generation int64
	// set is nil where they are not light.
	set     *filter.Set
	invalid error
}

// checkFilters returns why the filters of a source cannot work. It looks once per generation.
func (w *sourceState) checkFilters(source *v1alpha1.FeedSource) error {
	if w.filters == nil || w.filters.generation != source.Generation {
		set, err := filter.Compile(source.Spec.Filters)
		w.filters = &compiledFilters{generation: source.Generation, invalid: err}
		if set.Light() {
			w.filters.set = set
		}
	}
	return w.filters.invalid
}

// compileFilters makes the filters of a source ready. Light ones are kept; the others, of which a few hundred sources would take all memory, are made
// anew.
func (w *sourceState) compileFilters(source *v1alpha1.FeedSource) (*filter.Set, error) {
	if err := w.checkFilters(source); err != nil || w.filters.set != nil {
		return w.filters.set, err
	}
	return filter.Compile(source.Spec.Filters)
}

// filtersInvalid is that the feed is not polled because a filter cannot work: what it would let
// through could not be taken back, and what it would drop would never come again.
func filtersInvalid(invalid error) conditions.Readiness {
	return conditions.Readiness{
		Reason: v1alpha1.ReasonInvalidFilter, Stalled: true,
		Message: "The feed is not polled until its filters are corrected: " + strings.ReplaceAll(invalid.Error(), "\n", "; "),
	}
}

// filterNew asks the filters about entries that were never seen. An error says that the operator is
// stopping: then nothing is known of the entries.
func (w *sourceState) filterNew(ctx context.Context, source *v1alpha1.FeedSource, memory *feedmemory.Memory, fresh []feed.Entry) (filter.Sifted, error) {
	if memory.Lost || len(fresh) == 0 { // none becomes an item, or there is none
		return filter.Sifted{Kept: fresh}, nil
	}
	filters, err := w.compileFilters(source)
	if err != nil {
		return filter.Sifted{}, err
	}
	limited, cancel := context.WithTimeout(ctx, filter.MaxTime)
	defer cancel()
	found := filters.Sift(limited, fresh)
	for _, failing := range found.Failing {
		ctrl.LoggerFrom(ctx).Info("Filter failed", "filter", failing.Filter, "reason", failing.Reason, "entries", failing.Entries)
	}
	return found, ctx.Err()
}

// settle adds to a plan for what was kept what becomes of the others: what was dropped is seen, and
// what was not judged is held. But nothing is held of the backlog of a first poll, because the next one has no
// bound: what came after so much is older than what is wanted.
func settle(plan *polling.Plan, found filter.Sifted, first polling.First) {
	var seen []feed.Entry
	for _, dropped := range found.Dropped {
		seen = append(seen, dropped.Entry)
	}
	for _, unjudged := range found.Unjudged {
		if first.Backlog(unjudged) {
			seen = append(seen, unjudged)
		} else {
			plan.Held++
		}
	}
	plan.Remember = slices.Concat(plan.Remember, seen)
}

// setFiltersFailing reports which filters could not be evaluated for the last entries that were new and judged.
func setFiltersFailing(source *v1alpha1.FeedSource, judged bool, message string, now time.Time) {
	said := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionFiltersFailing)
	if outdated := said != nil && said.ObservedGeneration != source.Generation; judged || outdated {
		note(source, v1alpha1.ConditionFiltersFailing, v1alpha1.ReasonEvaluationFailed, message, now)
	}
}
