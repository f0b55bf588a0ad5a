// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWritesAreReadFromTheMetricsOfTheAPIServer(t *testing.T) {
	t.Parallel()
	const metrics = `# HELP apiserver_request_total [STABLE] Counter of apiserver requests.
# TYPE apiserver_request_total counter
apiserver_request_total{code="0",component="apiserver",dry_run="",group="feeds.feed-operator.io",resource="feeditems",scope="namespace",subresource="",verb="WATCH",version="v1alpha1"} 3
apiserver_request_total{code="200",component="apiserver",dry_run="",group="feeds.feed-operator.io",resource="feeditems",scope="resource",subresource="",verb="GET",version="v1alpha1"} 100
apiserver_request_total{code="200",component="apiserver",dry_run="",group="feeds.feed-operator.io",resource="feeditems",scope="resource",subresource="status",verb="PATCH",version="v1alpha1"} 40
apiserver_request_total{code="201",component="apiserver",dry_run="",group="feeds.feed-operator.io",resource="feeditems",scope="resource",subresource="",verb="POST",version="v1alpha1"} 1.2e+06
apiserver_request_total{code="409",component="apiserver",dry_run="",group="feeds.feed-operator.io",resource="feeditems",scope="resource",subresource="status",verb="PATCH",version="v1alpha1"} 2
apiserver_request_total{code="201",component="apiserver",dry_run="",group="events.k8s.io",resource="events",scope="resource",subresource="",verb="POST",version="v1"} 4
apiserver_request_total{code="200",component="apiserver",dry_run="",group="coordination.k8s.io",resource="leases",scope="resource",subresource="",verb="PUT",version="v1"} 7
apiserver_request_total{code="201",component="apiserver",dry_run="",group="",resource="secrets",scope="resource",subresource="",verb="POST",version="v1"} 9
apiserver_request_terminations_total{code="504",component="apiserver",group="feeds.feed-operator.io",verb="POST"} 5
`
	got, err := parseWrites([]byte(metrics))
	if err != nil {
		t.Fatal(err)
	}
	want := APIWrites{
		"patch feeditems/status": 40, "patch feeditems/status (409)": 2, "post feeditems": 1_200_000,
		"post events": 4, leases: 7,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if total := got.Total(); total != 1_200_046 {
		t.Errorf("%d writes in all, want all but the leases", total)
	}
	more := APIWrites{"post events": 6, "post feeditems": 1_200_000, leases: 8}.Since(got)
	if diff := cmp.Diff(APIWrites{"post events": 2, leases: 1}, more); diff != "" {
		t.Error(diff)
	}
}
