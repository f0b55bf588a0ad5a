// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/client-go/kubernetes"
)

// ItemReads reads how often the API server was asked for FeedItems so far: for one, or a list.
func (p *Plane) ItemReads(ctx context.Context) (int, error) {
	client, err := kubernetes.NewForConfig(p.config)
	if err != nil {
		return 0, err
	}
	text, err := client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the metrics of the API server: %w", err)
	}
	reads := 0
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if !strings.HasPrefix(line, "apiserver_request_total{") || !strings.Contains(line, `resource="feeditems"`) ||
			!strings.Contains(line, `verb="GET"`) && !strings.Contains(line, `verb="LIST"`) {
			continue
		}
		count, err := strconv.ParseFloat(line[strings.LastIndex(line, " ")+1:], 64)
		if err != nil {
			return 0, fmt.Errorf("read the metrics of the API server: %w", err)
		}
		reads += int(count)
	}
	return reads, lines.Err()
}
