// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// panel is one of Grafana's, as far as a test looks at it.
type panel struct {
	ID      int    `json:"id"`
	Type    string `json:"type"`
	Title   string `json:"title"`
	GridPos struct{ X, Y, W, H int }
	Targets []struct {
		Expr       string            `json:"expr"`
		Datasource map[string]string `json:"datasource"`
	} `json:"targets"`
}

// grafanaBoard reads the panels that show something.
func grafanaBoard(t *testing.T) []panel {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(apitest.ModuleRoot(t), "config", "grafana", "feed-operator.json"))
	var read struct {
		Panels []panel `json:"panels"`
	}
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if err != nil {
		t.Fatal(err)
	}
	panels := slices.DeleteFunc(read.Panels, func(p panel) bool { return p.Type == "row" })
	if len(panels) < 20 {
		t.Fatalf("only %d panels", len(panels))
	}
	return panels
}

// R5.4: no panel of the Grafana dashboard is empty: each query has an answer after a day on which something failed.
func TestNoPanelOfTheDashboardIsEmpty(t *testing.T) {
	t.Parallel()
	broken, steady := &script{answer: failsFor(1000, v1alpha1.CategoryValidation)}, &script{}
	w := watchedWorld(t, map[string]*script{"broken": broken, "steady": steady})
	server := w.mastodon()
	w.openDestination("press", server.URL)
	var refused atomic.Bool
	server.OnPost(func(p *mastodontest.Pending) bool {
		if refused.Swap(true) {
			return false
		}
		p.Header().Set("Retry-After", "60")
		p.Answer(http.StatusTooManyRequests, "application/json", `{"error":"Too many requests"}`)
		return true
	})
	web := feedtest.New(t)
	w.source("news", web.FeedURL(), summarizedBy("broken", "steady"), postsTo("press"))
	w.poll("news")
	w.prometheus.Scrape()
	w.clock.Step(10 * time.Minute)
	news := web.Entries("news", 1)
	news[0].Published = w.clock.Now() // after its source was made, so that it says something of delays
	web.List(news...)
	w.poll("news")
	w.itemsInTime("news", allProcessed(1))
	w.shows(map[string]float64{`items_ended_total{result="summarized",retried="true"}`: 1, `item_end_to_end_seconds{interval="15m"}`: 1})
	w.pass(10 * time.Minute)

	var queries []string
	for _, shown := range grafanaBoard(t) {
		if len(shown.Targets) == 0 {
			t.Errorf("%q shows nothing", shown.Title)
		}
		for _, target := range shown.Targets {
			// What Grafana puts in their places.
			expr := strings.NewReplacer("$__rate_interval", "1h", "$namespace", "(feed-operator-system|staging)").Replace(target.Expr)
			if strings.Contains(expr, "$") || target.Datasource["uid"] != "${datasource}" {
				t.Errorf("%q: %s at %v", shown.Title, expr, target.Datasource)
			}
			queries = append(queries, expr)
		}
	}
	w.prometheus.Answers(queries...)
}

// R5.4: each metric of the operator is on the dashboard, and no panel lies on another one.
func TestTheDashboardShowsEachMetric(t *testing.T) {
	t.Parallel()
	panels := grafanaBoard(t)
	shown, taken := map[string]bool{}, map[[2]int]string{}
	ids := map[int]bool{}
	for _, p := range panels {
		for _, target := range p.Targets {
			for _, name := range regexp.MustCompile(`feed_operator_\w+`).FindAllString(target.Expr, -1) {
				shown[name] = true
			}
		}
		if ids[p.ID] || p.GridPos.W == 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("%q: ID %d, at %+v", p.Title, p.ID, p.GridPos)
		}
		ids[p.ID] = true
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if taken[at] != "" {
					t.Fatalf("%q lies on %q", p.Title, taken[at])
				}
				taken[at] = p.Title
			}
		}
	}
	page, err := os.ReadFile(filepath.Join(apitest.ModuleRoot(t), "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	listed := regexp.MustCompile("(?m)^\\| `(feed_operator_\\w+)`").FindAllStringSubmatch(string(page), -1)
	if len(listed) < 25 {
		t.Fatalf("docs/metrics.md lists %d metrics", len(listed))
	}
	for _, metric := range listed {
		if !shown[metric[1]] {
			t.Errorf("no panel shows %s", metric[1])
		}
	}
}
