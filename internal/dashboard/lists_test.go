// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/dashboard/paged"
)

// R5.4: however many sources, providers and destinations there are, no page is so long that it is not kept for the next one who asks, as whoever may create
// objects in one namespace could make those of all others wait. What needs a person comes first, and whoever turns the pages sees all.
func TestListsOfAllKindsHaveABound(t *testing.T) {
	t.Parallel()
	const n = 230
	condition := func(status metav1.ConditionStatus, reason string) []metav1.Condition {
		return []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status, Reason: reason, Message: "It is " + reason}}
	}
	var objects []client.Object
	for i := range n {
		meta := metav1.ObjectMeta{Namespace: fmt.Sprint("team-", i), Name: fmt.Sprintf("one-%04d", i)}
		provider, destination := &v1alpha1.AIProvider{ObjectMeta: meta}, &v1alpha1.FeedDestination{ObjectMeta: meta}
		source := aSource(meta.Namespace, meta.Name)
		status, reason := metav1.ConditionTrue, "Succeeded"
		if i == n-1 { // the last by its name
			status, reason = metav1.ConditionFalse, v1alpha1.ReasonCredentialsRefused
			source.Status.Conditions = append(condition(status, v1alpha1.ReasonPollFailed), metav1.Condition{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue})
		}
		provider.Status.Conditions, destination.Status.Conditions = condition(status, reason), condition(status, reason)
		objects = append(objects, provider, destination, source, anItem(source, "item", v1alpha1.PhaseProcessed))
	}
	w := newWorld(t, nil, objects...)
	for _, path := range []string{"/", "/items", "/sources", "/providers", "/destinations"} {
		if size := w.see(path).Body.Len(); size > mostPage {
			t.Errorf("%s has %d bytes", path, size)
		}
	}
	name := regexp.MustCompile(`one-\d{4}`)
	last := fmt.Sprintf("one-%04d", n-1)
	for _, path := range []string{"/sources", "/providers", "/destinations"} {
		var seen []string
		for next := path; next != ""; {
			page := w.see(next)
			rows := name.FindAllString(page.text(), -1)
			if len(rows) > paged.Rows {
				t.Errorf("%s has %d rows", next, len(rows))
			}
			seen = append(seen, rows...)
			next = ""
			for _, link := range page.all("a", "href") {
				if strings.HasPrefix(link, path+"?page=") && link > path+fmt.Sprint("?page=", len(seen)/paged.Rows) {
					next = link
				}
			}
		}
		if len(seen) == 0 || seen[0] != last {
			t.Errorf("%s begins with %v", path, seen[:min(3, len(seen))])
		}
		slices.Sort(seen)
		if len(seen) != n || len(slices.Compact(seen)) != n {
			t.Errorf("%s shows %d rows, want each of %d once", path, len(seen), n)
		}
		found := w.see(path + "?q=ONE-0123")
		if rows := name.FindAllString(found.text(), -1); !slices.Equal(rows, []string{"one-0123"}) {
			t.Errorf("%s finds %v", path, rows)
		}
		found.has("1–1 of 1")
		if rows := name.FindAllString(w.see(path+"?namespace=team-7").text(), -1); !slices.Equal(rows, []string{"one-0007"}) {
			t.Errorf("%s finds %v in a namespace", path, rows)
		}
		w.see(path+"?q=nothing").has("like that", "Show all")
	}
	w.see("/").has("Needs a person", "2 refused keys or configurations", "1 stale source", fmt.Sprintf("%d of %d, those that do not work first", paged.Rows, n), last)
	const evil = "<script>\u202e\x1b"
	for _, path := range []string{"/sources", "/items"} { // what is written is shown again
		page := w.see(path + "?namespace=" + url.QueryEscape(evil+strings.Repeat("x", 9000)))
		page.lacks("<script>\u202e", "\u202e", "\x1b")
		if size := page.Body.Len(); size > 16<<10 {
			t.Errorf("%s has %d bytes for a name that nobody has", path, size)
		}
	}
	for query, fields := range map[string][]string{"/items": {"q", "source", "namespace"}, "/items?namespace=team-7": {"q", "namespace"}} { // what is more than a person picks, they write
		if got := w.see(query).all("input", "name"); !slices.Equal(slices.DeleteFunc(got, func(name string) bool { return name == "form" }), append([]string{"q"}, fields...)) {
			t.Errorf("%s has the fields %v", query, got)
		}
	}
}

// R5.4, R3.13: what needs a person in one namespace is named beside what does in another one, in which much more is wrong, and later.
func TestANamespaceHidesNothingOfAnother(t *testing.T) {
	t.Parallel()
	var objects []client.Object
	wrong := func(namespace string, n int, ago time.Duration) {
		for i := range n {
			meta := metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s-refused-%d", namespace, i)}
			destination := &v1alpha1.FeedDestination{ObjectMeta: meta}
			destination.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonCredentialsRefused}}
			stale := aSource(namespace, fmt.Sprintf("%s-stale-%d", namespace, i), func(s *v1alpha1.FeedSource) {
				s.Status.LastSuccessTime = new(metav1.NewTime(noon.Add(-24 * time.Hour)))
			})
			objects = append(objects, destination, stale, anItem(stale, fmt.Sprintf("%s-dead-%d", namespace, i), v1alpha1.PhaseFailed, checked(ago)),
				anItem(stale, fmt.Sprintf("%s-uncertain-%d", namespace, i), v1alpha1.PhaseFailed, because(v1alpha1.ReasonDeliveryUncertain), checked(ago)))
		}
	}
	wrong("loud", 2*needed, time.Minute)
	wrong("quiet", 1, time.Hour)
	w := newWorld(t, nil, objects...)
	w.see("/").has("quiet-refused-0", "quiet-stale-0", "quiet-dead-0", "quiet-uncertain-0", "loud-refused-3", "loud-stale-3", "11 dead letters", "11 stale sources")
}

// R5.4, R3.13: what needs a person of one source is named beside what does of another one in the same namespace, of which more has failed, and later.
func TestASourceHidesNothingOfAnother(t *testing.T) {
	t.Parallel()
	loud, quiet := aSource("a", "loud"), aSource("a", "quiet")
	objects := []client.Object{loud, quiet, anItem(quiet, "quiet-dead", v1alpha1.PhaseFailed, checked(time.Hour))}
	for i := range 4 * needed {
		objects = append(objects, anItem(loud, fmt.Sprint("loud-dead-", i), v1alpha1.PhaseFailed, checked(time.Duration(i)*time.Second)))
	}
	page := newWorld(t, nil, objects...).see("/")
	page.has(fmt.Sprint(4*needed+1, " dead letters"), "loud-dead-0", "loud-dead-3")
	if before, _, _ := strings.Cut(page.text(), "Recent items"); !strings.Contains(before, "quiet-dead") || strings.Contains(before, "loud-dead-4") {
		t.Errorf("what needs a person is %.600s", before)
	}
}

// R5.4: where more namespaces need a person than there are places, those are named in which something has failed last, whatever their names are.
func TestTheNamespacesThatFailedLastAreNamed(t *testing.T) {
	t.Parallel()
	var objects []client.Object
	for i := range needed + 1 {
		source := aSource(fmt.Sprint("team-", i), "press")
		objects = append(objects, source, anItem(source, fmt.Sprint("uncertain-", i), v1alpha1.PhaseFailed,
			because(v1alpha1.ReasonDeliveryUncertain), checked(time.Duration(needed-i)*time.Minute)))
	}
	before, _, _ := strings.Cut(newWorld(t, nil, objects...).see("/").text(), "Recent items")
	if !strings.Contains(before, fmt.Sprint("uncertain-", needed)) || strings.Contains(before, "uncertain-0") {
		t.Errorf("what needs a person is %.600s", before)
	}
}

// R5.4: services that do not work are listed of each namespace in turn: many of one hide nothing of another.
func TestServicesThatDoNotWorkAreListedInTurn(t *testing.T) {
	t.Parallel()
	var objects []client.Object
	down := func(namespace, name, reason string) {
		provider := &v1alpha1.AIProvider{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		provider.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason}}
		objects = append(objects, provider)
	}
	for i := range paged.Rows {
		down("a", fmt.Sprint("refused-", i), v1alpha1.ReasonCredentialsRefused)
	}
	down("b", "only-down", "Unavailable")
	newWorld(t, nil, objects...).see("/").has("only-down", "refused-0")
}
