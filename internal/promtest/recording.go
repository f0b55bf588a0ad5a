// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package promtest

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"sigs.k8s.io/yaml"
)

// step is how far apart the samples are that promtool gets.
const step = time.Minute

// target are the labels by which Prometheus tells apart what it scrapes, as the ServiceMonitor in config/prometheus has them.
var target = map[string]string{
	"namespace": "feed-operator-system", "job": "feed-operator-metrics", "service": "feed-operator-metrics", "endpoint": "metrics",
	"container": "manager", "pod": "feed-operator-manager-0", "instance": "10.0.0.1:8080",
}

// Recording is what a Prometheus knows that has scraped a registry from time to time, by the clock of a test. Between two scrapes everything is as the
// earlier one found it.
type Recording struct {
	t      *testing.T
	now    func() time.Time
	server *httptest.Server

	start   time.Time
	scrapes []scrape
}

type scrape struct {
	at     time.Duration // since the first one
	values map[string]float64
}

// Record serves a registry as the operator does, over HTTP, to record it.
func Record(t *testing.T, now func() time.Time, registry prometheus.Gatherer) *Recording {
	t.Helper()
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}))
	t.Cleanup(server.Close)
	return &Recording{t: t, now: now, server: server, start: now()}
}

// Scrape asks for the metrics as they are now.
func (r *Recording) Scrape() {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.server.URL, http.NoBody)
	if err != nil {
		r.t.Fatal(err)
	}
	response, err := r.server.Client().Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		r.t.Fatalf("%s: %v", response.Status, err)
	}
	values := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			r.add(values, family.GetName(), metric)
		}
	}
	r.scrapes = append(r.scrapes, scrape{r.now().Sub(r.start), values})
}

// Gone notes that nothing answers when the metrics are asked for, as of an operator that has ended.
func (r *Recording) Gone() { r.scrapes = append(r.scrapes, scrape{at: r.now().Sub(r.start)}) }

// add adds the series of a metric.
func (r *Recording) add(values map[string]float64, name string, metric *dto.Metric) {
	r.t.Helper()
	labels := maps.Clone(target)
	for _, label := range metric.GetLabel() {
		if _, taken := target[label.GetName()]; taken {
			r.t.Errorf("%s has the label %s, which its target has too: Prometheus would rename one of them", name, label.GetName())
		}
		labels[label.GetName()] = label.GetValue()
	}
	histogram := metric.GetHistogram()
	if histogram == nil {
		values[seriesOf(name, labels)] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
		return
	}
	values[seriesOf(name+"_sum", labels)] = histogram.GetSampleSum()
	values[seriesOf(name+"_count", labels)] = float64(histogram.GetSampleCount())
	for _, bucket := range histogram.GetBucket() {
		labels["le"] = strconv.FormatFloat(bucket.GetUpperBound(), 'f', -1, 64)
		values[seriesOf(name+"_bucket", labels)] = float64(bucket.GetCumulativeCount())
	}
}

func seriesOf(name string, labels map[string]string) string {
	pairs := make([]string, 0, len(labels))
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, fmt.Sprintf("%s=%q", label, labels[label]))
	}
	return name + "{" + strings.Join(pairs, ",") + "}"
}

// Firing checks that those of the alerts fire that are named, and no other, at the time of the last scrape.
func (r *Recording) Firing(alerts ...string) {
	r.t.Helper()
	rules := Rules(r.t)
	tests := make([]query, 0, len(rules))
	for _, rule := range rules {
		test := query{Expr: fmt.Sprintf(`group(ALERTS{alertname=%q,alertstate="firing"})`, rule.Alert), At: r.last().String()}
		if slices.Contains(alerts, rule.Alert) {
			test.Want = []sample{{Labels: "{}", Value: 1}}
		}
		tests = append(tests, test)
	}
	for _, alert := range alerts {
		if !slices.ContainsFunc(rules, func(rule Rule) bool { return rule.Alert == alert }) {
			r.t.Fatalf("there is no alert %q", alert)
		}
	}
	r.evaluate(tests)
}

// Answers checks that queries have an answer at the time of the last scrape, with a number in it.
func (r *Recording) Answers(queries ...string) {
	r.t.Helper()
	tests := make([]query, 0, len(queries))
	for _, expr := range queries {
		// No comparison is true of what is not a number.
		tests = append(tests, query{Expr: "group((" + expr + ") > -Inf)", At: r.last().String(), Want: []sample{{Labels: "{}", Value: 1}}})
	}
	r.evaluate(tests)
}

// Last is the value that the last scrape has found for a series, by its labels beside those of the target.
func (r *Recording) Last(name string, labels map[string]string) float64 {
	r.t.Helper()
	all := maps.Clone(target)
	maps.Copy(all, labels)
	r.last()
	value, there := r.scrapes[len(r.scrapes)-1].values[seriesOf(name, all)]
	if !there {
		r.t.Fatalf("no %s of %v was scraped", name, labels)
	}
	return value
}

// last is when the last scrape was.
func (r *Recording) last() time.Duration {
	if len(r.scrapes) == 0 {
		r.t.Fatal("nothing was scraped")
	}
	return r.scrapes[len(r.scrapes)-1].at.Truncate(step)
}

// The format of promtool's unit tests: https://prometheus.io/docs/prometheus/latest/configuration/unit_testing_rules/
type (
	unitTests struct {
		RuleFiles []string   `json:"rule_files"`
		Interval  string     `json:"evaluation_interval"`
		Tests     []unitTest `json:"tests"`
	}
	unitTest struct {
		Interval string   `json:"interval"`
		Series   []series `json:"input_series"`
		Queries  []query  `json:"promql_expr_test"`
	}
	series struct {
		Series string `json:"series"`
		Values string `json:"values"`
	}
	query struct {
		Expr string   `json:"expr"`
		At   string   `json:"eval_time"`
		Want []sample `json:"exp_samples,omitempty"`
	}
	sample struct {
		Labels string  `json:"labels"`
		Value  float64 `json:"value"`
	}
)

// evaluate has promtool evaluate queries, and fails the test where an answer is another one.
func (r *Recording) evaluate(tests []query) {
	r.t.Helper()
	text, err := yaml.Marshal(unitTests{
		RuleFiles: []string{RulesFile(r.t)}, Interval: step.String(),
		Tests: []unitTest{{Interval: step.String(), Series: r.series(), Queries: tests}},
	})
	path := filepath.Join(r.t.TempDir(), "test.yaml")
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	Run(r.t, "test", "rules", path)
}

// series are what was scraped, at each step.
func (r *Recording) series() []series {
	names := map[string]bool{}
	for _, scraped := range r.scrapes {
		for name := range scraped.values {
			names[name] = true
		}
	}
	all := make([]series, 0, len(names))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		var values []string
		known, next, last := "_", 0, r.last()
		for at := time.Duration(0); at <= last; at += step {
			for ; next < len(r.scrapes) && r.scrapes[next].at < at+step; next++ {
				value, there := r.scrapes[next].values[name]
				switch {
				case there:
					known = strconv.FormatFloat(value, 'f', -1, 64)
				case known != "_":
					known = "stale"
				}
			}
			values = append(values, known)
		}
		all = append(all, series{name, strings.Join(values, " ")})
	}
	return all
}
