// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/eventstream"
	"github.com/feed-operator/feed-operator/internal/telemetry"
)

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// R5.2: names and texts are as Prometheus' rules have them.
func TestNamesFollowTheRulesOfPrometheus(t *testing.T) {
	t.Parallel()
	problems, err := testutil.GatherAndLint(gathered(t, New(), Now{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
}

// gathered registers metrics, with what is not given of now left empty.
func gathered(t *testing.T, m *Metrics, now Now, objects ...client.Object) *prometheus.Registry {
	t.Helper()
	leads := make(chan struct{})
	close(leads)
	if now.Clock == nil {
		now.Clock = testingclock.NewFakePassiveClock(noon)
	}
	if now.Items == nil {
		now.Items = func() (v1alpha1.ItemCounts, map[v1alpha1.Reason]int) { return v1alpha1.ItemCounts{}, nil }
	}
	if now.Counted == nil {
		now.Counted = func() bool { return true }
	}
	if now.Held == nil {
		now.Held = func() Held { return Held{} }
	}
	if now.Leads == nil {
		now.Leads = leads
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	now.Cache = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithIndex(&v1alpha1.FeedItem{}, "status.unfinished", func(client.Object) []string { return []string{"any"} }).Build()
	registry := prometheus.NewRegistry()
	if err := m.Register(registry, Process{Operators: func() []Now { return []Now{now} }}); err != nil {
		t.Fatal(err)
	}
	return registry
}

// R5.2: what has never happened is 0, and not missing: else the first time would show in no rate.
func TestWhatHasNeverHappenedIsZero(t *testing.T) {
	t.Parallel()
	registry := gathered(t, New(), Now{})
	for name, series := range map[string]int{
		"feed_operator_items_ended_total": 6, "feed_operator_provider_errors_total": 24, "feed_operator_deliveries_total": 6,
		"feed_operator_services": 12, "feed_operator_items": 5, "feed_operator_dead_letters": 5, "feed_operator_stages_total": 15,
		"feed_operator_api_list_watch_errors_total": 7,
	} {
		if got, err := testutil.GatherAndCount(registry, name); got != series || err != nil {
			t.Errorf("%s has %d series, want %d: %v", name, got, series, err)
		}
	}
}

// R5.2: a replica that waits to lead counts no queue: the sum over all replicas is what there is.
func TestOnlyWhoLeadsCountsTheQueue(t *testing.T) {
	t.Parallel()
	registry := gathered(t, New(), Now{Leads: make(chan struct{})})
	for name, want := range map[string]int{"feed_operator_items": 0, "feed_operator_sources": 0, "feed_operator_services": 0, "feed_operator_writes_held": 1} {
		if got, err := testutil.GatherAndCount(registry, name); got != want || err != nil {
			t.Errorf("%d of %s, want %d: %v", got, name, want, err)
		}
	}
}

// R5.2, R6.3: a process with several operators, of which each works on a part of the namespaces, counts what those have together that lead; and says which parts
// they are.
func TestAProcessCountsWhatItsOperatorsHaveTogether(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	operator := func(namespace string, items int32, leads bool) Now {
		leading := make(chan struct{})
		if leads {
			close(leading)
		}
		source := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "news"}}
		source.Spec.Suspend = true
		return Now{
			Clock: testingclock.NewFakePassiveClock(noon), Leads: leading, Counted: func() bool { return true },
			Items: func() (v1alpha1.ItemCounts, map[v1alpha1.Reason]int) {
				return v1alpha1.ItemCounts{Pending: items}, map[v1alpha1.Reason]int{v1alpha1.ReasonDeliveryUncertain: int(items)}
			},
			Held: func() Held { return Held{Server: float64(items % 2), Namespaces: 1, Results: int64(items), Bytes: 10} },
			Cache: fake.NewClientBuilder().WithScheme(scheme).WithObjects(source).
				WithIndex(&v1alpha1.FeedItem{}, "status.unfinished", func(client.Object) []string { return []string{"any"} }).Build(),
		}
	}
	registry := prometheus.NewRegistry()
	err := New().Register(registry, Process{
		Operators: func() []Now { return []Now{operator("a", 2, true), operator("b", 3, true), operator("c", 50, false)} },
		Shards:    func() []Shard { return []Shard{{0, 3, true}, {1, 3, true}, {2, 3, false}} },
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `
# HELP feed_operator_shard_held 1 for a shard that this replica works on, else 0. Missing while replicas that were started with another number of shards hold theirs.
# TYPE feed_operator_shard_held gauge
feed_operator_shard_held{shard="0",shards="3"} 1
feed_operator_shard_held{shard="1",shards="3"} 1
feed_operator_shard_held{shard="2",shards="3"} 0
# HELP feed_operator_writes_held_namespaces Namespaces in which the API server refuses updates of FeedItems, which holds their work.
# TYPE feed_operator_writes_held_namespaces gauge
feed_operator_writes_held_namespaces 3
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "feed_operator_shard_held", "feed_operator_writes_held_namespaces"); err != nil {
		t.Error(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if metric.GetGauge() != nil {
				got[family.GetName()] += metric.GetGauge().GetValue()
			}
		}
	}
	for name, want := range map[string]float64{
		"feed_operator_items": 5, "feed_operator_dead_letters": 5, "feed_operator_sources": 2, "feed_operator_writes_held": 1, "feed_operator_results_kept": 55,
	} {
		if got[name] != want {
			t.Errorf("%s is %g, want %g", name, got[name], want)
		}
	}
}

// R5.2: gauges say how many there are now.
func TestGaugesSayHowManyThereAreNow(t *testing.T) {
	t.Parallel()
	ago := func(d time.Duration) metav1.Time { return metav1.NewTime(noon.Add(-d)) }
	source := func(name string, change func(*v1alpha1.FeedSource)) *v1alpha1.FeedSource {
		s := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: "news", Name: name, CreationTimestamp: ago(30 * 24 * time.Hour)}}
		s.Spec.Interval = &metav1.Duration{Duration: 15 * time.Minute}
		s.Status.LastSuccessTime = new(ago(time.Hour))
		s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
		change(s)
		return s
	}
	provider := func(name, state string, failures int32) *v1alpha1.AIProvider {
		p := &v1alpha1.AIProvider{ObjectMeta: metav1.ObjectMeta{Namespace: "news", Name: name}}
		p.Status.Availability = &v1alpha1.Availability{State: v1alpha1.AvailabilityState(state), Failures: failures}
		return p
	}
	item := func(name string, phase v1alpha1.Phase, age time.Duration) *v1alpha1.FeedItem {
		i := &v1alpha1.FeedItem{ObjectMeta: metav1.ObjectMeta{Namespace: "news", Name: name, CreationTimestamp: ago(age)}}
		i.Status.Phase = phase
		return i
	}
	registry := gathered(t, New(), Now{
		Items: func() (v1alpha1.ItemCounts, map[v1alpha1.Reason]int) {
			return v1alpha1.ItemCounts{Pending: 2, Failed: 1}, map[v1alpha1.Reason]int{v1alpha1.ReasonDeliveryUncertain: 1}
		},
	},
		source("well", func(s *v1alpha1.FeedSource) {
			s.Spec.Providers = []v1alpha1.ProviderReference{{Name: "down"}, {Name: "ready"}}
		}),
		source("at the border", func(s *v1alpha1.FeedSource) { s.Status.LastSuccessTime = new(ago(105 * time.Minute)) }),
		source("stale", func(s *v1alpha1.FeedSource) { s.Status.LastSuccessTime = new(ago(106 * time.Minute)) }),
		source("never read", func(s *v1alpha1.FeedSource) { s.Status = v1alpha1.FeedSourceStatus{} }),
		source("failing", func(s *v1alpha1.FeedSource) { s.Status.Conditions[0].Status = metav1.ConditionFalse }),
		source("off", func(s *v1alpha1.FeedSource) {
			s.Spec.Suspend, s.Spec.Providers = true, []v1alpha1.ProviderReference{{Name: "down"}}
		}),
		source("without a provider", func(s *v1alpha1.FeedSource) {
			s.Spec.Providers = []v1alpha1.ProviderReference{{Name: "down"}, {Name: "gone"}}
		}),
		provider("down", "CircuitOpen", 11), provider("ready", "Ready", 2),
		item("old", v1alpha1.PhasePending, 90*time.Minute), item("older, and done", v1alpha1.PhaseFailed, 300*time.Minute),
	)
	for name, want := range map[string]string{
		"feed_operator_sources": `
			feed_operator_sources{state="NotReady"} 1
			feed_operator_sources{state="Ready"} 3
			feed_operator_sources{state="Stale"} 2
			feed_operator_sources{state="Suspended"} 1`,
		"feed_operator_sources_without_provider":        "feed_operator_sources_without_provider 1",
		"feed_operator_oldest_waiting_item_age_seconds": "feed_operator_oldest_waiting_item_age_seconds 5400",
		"feed_operator_service_failures_in_a_row": `
			feed_operator_service_failures_in_a_row{kind="AIProvider"} 11
			feed_operator_service_failures_in_a_row{kind="FeedDestination"} 0`,
		"feed_operator_items": `
			feed_operator_items{phase="Deferred"} 0
			feed_operator_items{phase="Failed"} 1
			feed_operator_items{phase="Pending"} 2
			feed_operator_items{phase="Processed"} 0
			feed_operator_items{phase="Unprocessed"} 0`,
	} {
		same(t, registry, name, want)
	}
	same(t, registry, "feed_operator_services", servicesWith(map[string]int{`kind="AIProvider",state="CircuitOpen"`: 1, `kind="AIProvider",state="Ready"`: 1}))
}

// R5.3: after a start, nothing is said of the items until all of them are counted: a gauge that dips would end an alert, and begin it anew.
func TestItemsAreNotCountedHalf(t *testing.T) {
	t.Parallel()
	registry := gathered(t, New(), Now{Counted: func() bool { return false }})
	for name, want := range map[string]int{"feed_operator_items": 0, "feed_operator_dead_letters": 0, "feed_operator_sources": 4} {
		if got, err := testutil.GatherAndCount(registry, name); got != want || err != nil {
			t.Errorf("%d of %s, want %d: %v", got, name, want, err)
		}
	}
}

// R5.3: what is over by itself, though no call has shown it yet, is no trouble, nor what a person has suspended; an open circuit is.
func TestAQuietWeekendIsNoTrouble(t *testing.T) {
	t.Parallel()
	provider := func(name string, state v1alpha1.AvailabilityState, until time.Duration, failures int32) *v1alpha1.AIProvider {
		p := &v1alpha1.AIProvider{ObjectMeta: metav1.ObjectMeta{Namespace: "news", Name: name}}
		p.Status.Availability = &v1alpha1.Availability{State: state, Until: new(metav1.NewTime(noon.Add(until))), Failures: failures}
		return p
	}
	source := func(name string, judge string, writers ...string) *v1alpha1.FeedSource {
		s := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: "news", Name: name, CreationTimestamp: metav1.NewTime(noon)}}
		for _, writer := range writers {
			s.Spec.Providers = append(s.Spec.Providers, v1alpha1.ProviderReference{Name: writer})
		}
		if judge != "" {
			s.Spec.Screening = &v1alpha1.ScreeningPolicy{Providers: []v1alpha1.ProviderReference{{Name: judge}}}
		}
		return s
	}
	off := provider("off", "Ready", time.Minute, 40)
	off.Spec.Suspend = true
	spent := provider("spent", "QuotaSpent", 12*time.Hour, 2)
	spent.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse}}
	registry := gathered(t, New(), Now{},
		provider("was limited", "CoolingDown", -48*time.Hour, 3), provider("was spent", "QuotaSpent", -48*time.Hour, 1),
		provider("is limited", "CoolingDown", 20*time.Second, 1), provider("open", "CircuitOpen", -48*time.Hour, 9), off, spent,
		source("was limited", "", "was limited"), source("was spent", "", "was spent"), source("is limited for a moment", "", "is limited"),
		source("without a judge", "open", "was spent"), source("without a writer", "was spent", "open"), source("has a second", "", "open", "was limited"),
		source("spent", "", "spent"), source("off", "", "off"),
	)
	same(t, registry, "feed_operator_sources_without_provider", "feed_operator_sources_without_provider 4")
	same(t, registry, "feed_operator_service_failures_in_a_row", `
		feed_operator_service_failures_in_a_row{kind="AIProvider"} 9
		feed_operator_service_failures_in_a_row{kind="FeedDestination"} 0`)
	same(t, registry, "feed_operator_services", servicesWith(map[string]int{
		`kind="AIProvider",state="Ready"`: 2, `kind="AIProvider",state="CoolingDown"`: 1, `kind="AIProvider",state="CircuitOpen"`: 1,
		`kind="AIProvider",state="QuotaSpent"`: 1, `kind="AIProvider",state="Suspended"`: 1,
	}))
}

// servicesWith are all the series of services, in their order.
func servicesWith(numbers map[string]int) string {
	var lines []string
	for _, kind := range []string{"AIProvider", "FeedDestination"} {
		for _, state := range availabilityStates {
			labels := fmt.Sprintf("kind=%q,state=%q", kind, state)
			lines = append(lines, fmt.Sprintf("feed_operator_services{%s} %d", labels, numbers[labels]))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// sumOf is the sum of all that was observed.
func sumOf(t *testing.T, of prometheus.Observer) float64 {
	t.Helper()
	metric, is := of.(prometheus.Metric)
	if !is {
		t.Fatal("no metric")
	}
	var written dto.Metric
	if err := metric.Write(&written); err != nil {
		t.Fatal(err)
	}
	return written.GetHistogram().GetSampleSum()
}

// same compares one metric, whatever its help and type are.
func same(t *testing.T, registry prometheus.Gatherer, name, want string) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		header := "# HELP " + name + " " + family.GetHelp() + "\n# TYPE " + name + " " + strings.ToLower(family.GetType().String()) + "\n"
		if err := testutil.GatherAndCompare(registry, strings.NewReader(header+strings.ReplaceAll(strings.TrimSpace(want), "\t", "")+"\n"), name); err != nil {
			t.Error(err)
		}
		return
	}
	t.Errorf("there is no %s", name)
}

// R5.2: what the stream reports of an item is counted: its stages, deliveries, retries and end.
func TestTheStreamIsCounted(t *testing.T) {
	t.Parallel()
	source := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(noon.Add(-24 * time.Hour))}}
	source.Spec.Interval = &metav1.Duration{Duration: 30 * time.Minute}
	item := &v1alpha1.FeedItem{}
	item.Spec.PublishedTime = new(metav1.NewTime(noon.Add(-2 * time.Hour)))
	item.Status.Phase, item.Status.Summary = v1alpha1.PhaseProcessed, &v1alpha1.Summary{}
	item.Status.Deliveries = []v1alpha1.Delivery{{Destination: "press", FailedAttempts: 1}, {Destination: "had it", Duplicate: true}}
	stage := func(stage v1alpha1.Stage, status v1alpha1.HistoryStatus, more map[string]any) eventstream.Entry {
		entry := eventstream.Entry{Type: telemetry.TypeStageEnded, Status: v1alpha1.EventStatus(status), Time: noon, Fields: map[string]any{"stage": string(stage)}}
		maps.Copy(entry.Fields, more)
		return entry
	}
	failed := eventstream.Error{Category: v1alpha1.CategoryNetwork}
	m := New()
	for _, entry := range []eventstream.Entry{
		{Type: telemetry.TypeItemCreated},
		stage(v1alpha1.StageSummarize, v1alpha1.HistorySuccess, map[string]any{"durationMs": int64(1500), "fallbackFrom": []string{"first"}}),
		stage(v1alpha1.StageDeliver, v1alpha1.HistoryRetrying, map[string]any{
			"object": "press", "error": failed, "retry": eventstream.Retry{NextTime: noon.Add(5 * time.Minute).Format(time.RFC3339)},
		}),
		stage(v1alpha1.StageDeliver, v1alpha1.HistorySuccess, map[string]any{"object": "press", "retry": eventstream.Retry{Count: 1}}),
		stage(v1alpha1.StageDeliver, v1alpha1.HistorySuccess, map[string]any{"object": "had it"}),
		stage(v1alpha1.StageDeliver, v1alpha1.HistorySuccess, map[string]any{"object": "other"}),
		stage(v1alpha1.StageDeliver, v1alpha1.HistorySuccess, map[string]any{"object": "other", "found": true}),
		stage(v1alpha1.StageDeliver, v1alpha1.HistoryFailed, map[string]any{"object": "other", "error": failed}),
		{Type: telemetry.TypeItemEnded, Status: "success", Time: noon},
	} {
		m.Hear(item, func() *v1alpha1.FeedSource { return source }, entry)
	}
	for _, result := range []string{deliverySent, deliveryResent, deliveryDuplicate, deliveryFound, deliverySpooled, deliveryDead} {
		if got := testutil.ToFloat64(m.deliveries.WithLabelValues(result)); got != 1 {
			t.Errorf("%v %s", got, result)
		}
	}
	for name, got := range map[string]float64{
		"items created":       testutil.ToFloat64(m.itemsCreated),
		"fallbacks":           testutil.ToFloat64(m.fallbacks),
		"a retried item":      testutil.ToFloat64(m.itemsEnded.WithLabelValues(endSummarized, "true")),
		"a summary":           testutil.ToFloat64(m.stages.WithLabelValues("summarize", "success")),
		"failures / 2":        testutil.ToFloat64(m.deliveryFailures.WithLabelValues("Network")) / 2,
		"hours end to end /2": sumOf(t, m.endToEnd.WithLabelValues("1h")) / 7200,
		"the retry's delay":   sumOf(t, m.retryDelay.WithLabelValues("deliver")) / 300,
		"the stage's seconds": sumOf(t, m.stageSeconds.WithLabelValues("summarize")) / 1.5,
	} {
		if got != 1 {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// R5.2: entries from before their source was there say nothing of how long news takes, nor does what was skipped.
func TestABacklogIsNoDelay(t *testing.T) {
	t.Parallel()
	source := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(noon)}}
	old := &v1alpha1.FeedItem{Status: v1alpha1.FeedItemStatus{Phase: v1alpha1.PhaseProcessed, Summary: &v1alpha1.Summary{}}}
	old.Spec.PublishedTime = new(metav1.NewTime(noon.Add(-time.Hour)))
	skipped := &v1alpha1.FeedItem{Status: v1alpha1.FeedItemStatus{Phase: v1alpha1.PhaseProcessed}}
	skipped.Spec.PublishedTime = new(metav1.NewTime(noon.Add(time.Hour)))
	m := New()
	for _, item := range []*v1alpha1.FeedItem{old, skipped} {
		m.Hear(item, func() *v1alpha1.FeedSource { return source }, eventstream.Entry{Type: telemetry.TypeItemEnded, Time: noon.Add(2 * time.Hour)})
	}
	if got := sumOf(t, m.endToEnd.WithLabelValues("1h")); got != 0 {
		t.Errorf("%v s", got)
	}
}

// R5.2: writes are counted by what they are to, and a namespace is no resource however it is called.
func TestWritesAreCounted(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPatch {
			w.WriteHeader(http.StatusConflict)
		}
	}))
	defer server.Close()
	m := New()
	broken := m.WrapTransport(roundTripper(func(*http.Request) (*http.Response, error) { return nil, errors.New("no connection") }))
	for _, call := range []struct {
		by           http.RoundTripper
		method, path string
	}{
		{m.WrapTransport(http.DefaultTransport), http.MethodPatch, "/apis/feeds.feed-operator.io/v1alpha1/namespaces/events/feeditems/one/status"},
		{m.WrapTransport(http.DefaultTransport), http.MethodPost, "/apis/events.k8s.io/v1/namespaces/news/events"},
		{m.WrapTransport(http.DefaultTransport), http.MethodGet, "/apis/feeds.feed-operator.io/v1alpha1/feeditems"},
		{m.WrapTransport(http.DefaultTransport), http.MethodPost, "/api/v1/namespaces/leases/configmaps"},
		{broken, http.MethodPut, "/apis/coordination.k8s.io/v1/namespaces/x/leases/y"},
	} {
		request, err := http.NewRequestWithContext(t.Context(), call.method, server.URL+call.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if response, err := call.by.RoundTrip(request); err == nil {
			_ = response.Body.Close()
		}
	}
	same(t, gathered(t, m, Now{}), "feed_operator_api_writes_total", `
		feed_operator_api_writes_total{resource="events",result="2xx",verb="create"} 1
		feed_operator_api_writes_total{resource="feeditems",result="4xx",verb="patch"} 1
		feed_operator_api_writes_total{resource="leases",result="error",verb="update"} 1
		feed_operator_api_writes_total{resource="other",result="2xx",verb="create"} 1`)
}

// R5.2, R5.3: a list or a watch that is refused or not answered is counted; but neither what ends normally, nor what is about one object, nor what writes.
func TestListsAndWatchesThatFailAreCounted(t *testing.T) {
	t.Parallel()
	const kinds = "/apis/feeds.feed-operator.io/v1alpha1"
	stopped, stop := context.WithCancel(t.Context())
	stop()
	late, end := context.WithTimeout(t.Context(), 0)
	defer end()
	m := New()
	for _, call := range []struct {
		ctx          context.Context //nolint:containedctx // that of a request
		method, path string
		code         int // 0 for no answer
	}{
		// These count.
		{t.Context(), http.MethodGet, kinds + "/feeditems", http.StatusForbidden},
		{t.Context(), http.MethodGet, kinds + "/namespaces/events/feeditems?watch=true", http.StatusInternalServerError},
		{t.Context(), http.MethodGet, kinds + "/feedsources", 0},
		{late, http.MethodGet, kinds + "/feedsources?watch=true", 0},
		{t.Context(), http.MethodGet, "/apis/coordination.k8s.io/v1/namespaces/x/leases", http.StatusNotFound},
		{t.Context(), http.MethodGet, kinds + "/namespaces/x/feedmemories", http.StatusBadRequest},
		// These do not.
		{t.Context(), http.MethodGet, kinds + "/feeditems", http.StatusOK},
		{t.Context(), http.MethodGet, kinds + "/feeditems?watch=true", http.StatusGone},
		{stopped, http.MethodGet, kinds + "/feeditems?watch=true", 0},
		{t.Context(), http.MethodGet, kinds + "/namespaces/x/feeditems/one", http.StatusNotFound},
		{t.Context(), http.MethodGet, kinds + "/namespaces/x/feeditems/feeditems", http.StatusForbidden},
		{t.Context(), http.MethodGet, "/api/v1/namespaces/feeditems", http.StatusForbidden},
		{t.Context(), http.MethodGet, "/api/v1/namespaces/x/secrets", http.StatusForbidden},
		{t.Context(), http.MethodPost, kinds + "/namespaces/x/feeditems", http.StatusForbidden},
		{t.Context(), http.MethodDelete, kinds + "/namespaces/x/feeditems", 0},
	} {
		by := m.WrapTransport(roundTripper(func(*http.Request) (*http.Response, error) {
			if call.code == 0 {
				return nil, errors.New("no connection")
			}
			return &http.Response{StatusCode: call.code, Body: http.NoBody}, nil
		}))
		request, err := http.NewRequestWithContext(call.ctx, call.method, "https://api.example"+call.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if response, err := by.RoundTrip(request); err == nil {
			_ = response.Body.Close()
		}
	}
	same(t, gathered(t, m, Now{}), "feed_operator_api_list_watch_errors_total", `
		feed_operator_api_list_watch_errors_total{resource="aiproviders"} 0
		feed_operator_api_list_watch_errors_total{resource="events"} 0
		feed_operator_api_list_watch_errors_total{resource="feeddestinations"} 0
		feed_operator_api_list_watch_errors_total{resource="feeditems"} 2
		feed_operator_api_list_watch_errors_total{resource="feedmemories"} 1
		feed_operator_api_list_watch_errors_total{resource="feedsources"} 2
		feed_operator_api_list_watch_errors_total{resource="leases"} 1`)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// R5.2: a clock that is set back in the midst of a call makes no negative duration of it, by which the sum of all would fall, and a rate take that for a restart.
func TestNoCallTookLessThanNoTime(t *testing.T) {
	t.Parallel()
	m := New()
	m.ProviderCalled("openai", v1alpha1.StageSummarize, 2*time.Second, 10)
	m.ProviderCalled("openai", v1alpha1.StageSummarize, -24*time.Hour, -1)
	var written dto.Metric
	if err := m.providerSeconds.WithLabelValues("openai").(prometheus.Metric).Write(&written); err != nil {
		t.Fatal(err)
	}
	if sum, count := written.GetHistogram().GetSampleSum(), written.GetHistogram().GetSampleCount(); sum != 2 || count != 2 {
		t.Errorf("%d calls took %g seconds in all", count, sum)
	}
}
