// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package watches

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"
)

const (
	own  = "https://api.example/apis/feeds.feed-operator.io/v1alpha1/"
	ofA  = own + "namespaces/a/feeditems"
	ofB  = own + "namespaces/b/feeditems"
	all  = own + "feeditems"
	from = "?allowWatchBookmarks=true&watch=true"
)

// answers is an API server that answers with a status; 0 stands for no answer.
type answers struct{ status int }

func (a *answers) RoundTrip(*http.Request) (*http.Response, error) {
	if a.status == 0 {
		return nil, errors.New("the connection broke")
	}
	return &http.Response{StatusCode: a.status, Body: http.NoBody}, nil
}

// R5.4: it is known since when nothing is heard of a namespace, until it is watched again. Requests that are no cache's say nothing of that.
func TestItIsKnownSinceWhenNothingIsHeard(t *testing.T) {
	t.Parallel()
	type step struct {
		method, url string
		status      int
		silent      time.Duration // of namespace a, afterwards; each step takes a minute
	}
	for name, steps := range map[string][]step{
		"a watch that is refused": {
			{"GET", ofA + from, 200, 0}, {"GET", ofA + from, 403, time.Minute}, {"GET", ofA + from, 500, 2 * time.Minute}, {"GET", ofA + from, 0, 3 * time.Minute},
			{"GET", ofA + from, 200, 0}, {"GET", ofA + from, 429, time.Minute},
		},
		"a list that is refused, until it is watched what follows": {
			{"GET", ofA + "?resourceVersion=0", 500, time.Minute}, {"GET", ofA + "?resourceVersion=0", 200, 2 * time.Minute}, {"GET", ofA + from, 200, 0},
		},
		"a watch that is too old":     {{"GET", ofA + from, 410, 0}, {"GET", ofA + from, 403, time.Minute}, {"GET", ofA + from, 410, 2 * time.Minute}},
		"all namespaces":              {{"GET", all + from, 403, time.Minute}, {"GET", all + from, 200, 0}},
		"another namespace":           {{"GET", ofB + from, 403, 0}},
		"another kind also":           {{"GET", ofA + from, 403, time.Minute}, {"GET", own + "namespaces/a/feedsources" + from, 200, 2 * time.Minute}},
		"a list of somebody else":     {{"GET", ofA, 403, 0}, {"GET", ofA + from, 403, time.Minute}, {"GET", ofA, 200, 2 * time.Minute}},
		"an object":                   {{"GET", ofA + "/one?resourceVersion=0", 404, 0}},
		"a write":                     {{"POST", ofA + "?resourceVersion=0", 403, 0}},
		"what is none of the kinds":   {{"GET", "https://api.example/api/v1/namespaces/a/secrets" + from, 403, 0}},
		"what an older answer stands": {{"GET", all + from, 403, time.Minute}, {"GET", ofA + from, 403, 2 * time.Minute}, {"GET", all + from, 200, 2 * time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now, api := time.Hour, &answers{}
			watches := New(func() time.Duration { return now })
			through := watches.WrapTransport(api)
			for i, s := range steps {
				request, err := http.NewRequestWithContext(t.Context(), s.method, s.url, http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				api.status = s.status
				if response, err := through.RoundTrip(request); err == nil {
					_ = response.Body.Close()
				}
				now += time.Minute
				if got := watches.Silence([]string{"a", "c"}); got != s.silent {
					t.Errorf("after step %d nothing is heard for %s, want %s", i, got, s.silent)
				}
			}
		})
	}
}

// R5.4: an operator that stops ends its own watches.
func TestWhoEndsAWatchIsNotRefused(t *testing.T) {
	t.Parallel()
	watches := New(func() time.Duration { return time.Hour })
	ctx, stop := context.WithCancel(t.Context())
	stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, all+from, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if response, err := watches.WrapTransport(&answers{}).RoundTrip(request); err == nil {
		_ = response.Body.Close()
	}
	if len(watches.refused) > 0 {
		t.Errorf("%v", watches.refused)
	}
}
