// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"net/http"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/hack/bench/news"
)

func TestEachFeedOfACrowdIsAHostOfItsOwn(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux answers on all of 127.0.0.0/8")
	}
	hosts, err := ServeHosts(t.Context(), 70_000)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hosts.Close)
	hosts.Publish(news.Entries("crowd", 2))
	number := hosts.More()
	if number != 70_000 {
		t.Fatalf("the next host has the number %d", number)
	}

	ask := func(number int, etag string) (status int, validator string, size int) {
		t.Helper()
		status, header, body := ask(t, hosts.URL(number), etag)
		return status, header.Get("ETag"), len(body)
	}
	for _, number := range []int{0, 1, 300, number} {
		if status, _, size := ask(number, ""); status != http.StatusOK || size == 0 {
			t.Errorf("host %d answers %d with %d bytes", number, status, size)
		}
	}
	_, etag, _ := ask(0, "")
	for name, want := range map[Answers]int{NotModified: http.StatusNotModified, SameETag: http.StatusOK, SameBody: http.StatusOK} {
		hosts.Answer(name)
		status, validator, _ := ask(1, etag)
		if status != want || (validator == "") != (name == SameBody) {
			t.Errorf("answers %d: status %d with the validator %q", name, status, validator)
		}
	}
	if total := hosts.Total(); total != 8 {
		t.Errorf("%d requests are counted, want 8", total)
	}
	times := hosts.Times()
	if got := []int{len(times[0]), len(times[1]), len(times[2]), len(times[300]), len(times[number])}; !cmp.Equal(got, []int{2, 4, 0, 1, 1}) {
		t.Errorf("requests by host: %v", got)
	}
	if status, _, _ := ask(number+1, ""); status != http.StatusNotFound {
		t.Errorf("a host that is none answers %d", status)
	}
}
