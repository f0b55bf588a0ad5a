// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// APIWrites are writes that the API server has counted, by what was written. Those that it
// refused count as well.
type APIWrites map[string]int

// watchedGroups are the API groups to which the operator writes.
var watchedGroups = map[string]bool{
	v1alpha1.GroupVersion.Group: true,
	"events.k8s.io":             true,
	leaseGroup:                  true,
}

// Leases are shown but not added up: an operator without leader election holds none, and the API
// server renews one of its own all the time.
const (
	leaseGroup = "coordination.k8s.io"
	leases     = "leases (the API server's own, not counted)"
)

// APIWrites reads how many writes the API server has seen so far. An Event may come a moment
// after what it tells of, so they are read again until they stand still.
func (p *Plane) APIWrites(ctx context.Context) (APIWrites, error) {
	client, err := kubernetes.NewForConfig(p.config)
	if err != nil {
		return nil, err
	}
	last := APIWrites{}
	for still := 0; still < 3; still++ {
		text, err := client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
		if err != nil {
			return nil, fmt.Errorf("read the metrics of the API server: %w", err)
		}
		writes, err := parseWrites(text)
		if err != nil {
			return nil, err
		}
		if writes.Total() != last.Total() {
			still = 0
		}
		last = writes
		if err := Pause(ctx, 200*time.Millisecond); err != nil {
			return nil, err
		}
	}
	return last, nil
}

var label = regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)

// parseWrites reads the counter of requests out of the text of the API server's metrics.
func parseWrites(text []byte) (APIWrites, error) {
	writes := APIWrites{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		series, ours := strings.CutPrefix(lines.Text(), "apiserver_request_total{")
		if !ours {
			continue
		}
		end := strings.LastIndex(series, "} ")
		if end < 0 {
			return nil, fmt.Errorf("a metric that cannot be read: %s", lines.Text())
		}
		labels := map[string]string{}
		for _, found := range label.FindAllStringSubmatch(series[:end], -1) {
			labels[found[1]] = found[2]
		}
		if !isWrite(labels["verb"]) || !watchedGroups[labels["group"]] {
			continue
		}
		count, err := strconv.ParseFloat(series[end+2:], 64)
		if err != nil {
			return nil, fmt.Errorf("a metric that cannot be read: %w", err)
		}
		if labels["group"] == leaseGroup {
			writes[leases] += int(count)
			continue
		}
		what := strings.ToLower(labels["verb"]) + " " + labels["resource"]
		if sub := labels["subresource"]; sub != "" {
			what += "/" + sub
		}
		if !strings.HasPrefix(labels["code"], "2") {
			what += " (" + labels["code"] + ")"
		}
		writes[what] += int(count)
	}
	return writes, lines.Err()
}

func isWrite(verb string) bool {
	switch verb {
	case "POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION":
		return true
	}
	return false
}

// Since returns what was written after an earlier reading.
func (w APIWrites) Since(before APIWrites) APIWrites {
	more := APIWrites{}
	for what, count := range w {
		if count > before[what] {
			more[what] = count - before[what]
		}
	}
	return more
}

// Total is how many writes there were in all, but for the leases.
func (w APIWrites) Total() int {
	total := 0
	for what, count := range w {
		if what != leases {
			total += count
		}
	}
	return total
}
