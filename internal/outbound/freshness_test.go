// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbound_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/internal/outbound"
)

// R1.3: how long a server says that its answer stays as it is.
func TestHowLongAnAnswerIsFresh(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)
	at := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	const year = 365 * 24 * time.Hour
	for name, test := range map[string]struct {
		header http.Header
		want   time.Duration
	}{
		"nothing said":           {http.Header{}, 0},
		"max-age":                {http.Header{"Cache-Control": {"public, max-age=3600"}}, time.Hour},
		"in capitals and quotes": {http.Header{"Cache-Control": {`MAX-AGE="60"`}}, time.Minute},
		"in a second line":       {http.Header{"Cache-Control": {"public", "max-age=60"}}, time.Minute},
		"said twice":             {http.Header{"Cache-Control": {"max-age=3600, max-age=60"}}, time.Minute},
		"not to be kept":         {http.Header{"Cache-Control": {"max-age=3600, no-cache"}}, 0},
		"not to be stored":       {http.Header{"Cache-Control": {"no-store, max-age=3600"}}, 0},
		"for shared caches":      {http.Header{"Cache-Control": {"s-maxage=3600"}}, 0},
		"less than nothing":      {http.Header{"Cache-Control": {"max-age=-1"}}, 0},
		"words":                  {http.Header{"Cache-Control": {"max-age=soon"}}, 0},
		"more than a year":       {http.Header{"Cache-Control": {"max-age=99999999999"}}, year},
		"more than a number":     {http.Header{"Cache-Control": {"max-age=99999999999999999999999"}}, 0},
		"max-age before Expires": {http.Header{"Cache-Control": {"max-age=60"}, "Expires": {at(time.Hour)}, "Date": {at(0)}}, time.Minute},
		"Expires after Date":     {http.Header{"Expires": {at(3 * time.Hour)}, "Date": {at(time.Hour)}}, 2 * time.Hour},
		"Expires without Date":   {http.Header{"Expires": {at(time.Hour)}, "Date": nil}, time.Hour},
		"Expires in the past":    {http.Header{"Expires": {at(-time.Hour)}, "Date": {at(0)}}, 0},
		"Expires that is zero":   {http.Header{"Expires": {"0"}}, 0},
		"Expires in a century":   {http.Header{"Expires": {"Thu, 01 Jan 2126 00:00:00 GMT"}, "Date": {at(0)}}, year},
	} {
		for _, status := range []int{http.StatusOK, http.StatusNotModified} {
			t.Run(name+" "+http.StatusText(status), func(t *testing.T) {
				t.Parallel()
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					maps.Copy(w.Header(), test.header)
					w.WriteHeader(status)
				}))
				t.Cleanup(server.Close)
				client := outbound.New(outbound.Config{
					AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Now: func() time.Time { return now },
				})
				response, err := client.Get(t.Context(), outbound.Request{URL: server.URL, ETag: `"1"`})
				if err != nil {
					t.Fatal(err)
				}
				if response.FreshFor != test.want {
					t.Errorf("got %s, want %s", response.FreshFor, test.want)
				}
			})
		}
	}
}
