// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crdcheck_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/feed-operator/feed-operator/internal/crdcheck"
)

type answers struct{ body string }

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(a.body))}, nil
}

// R1.8, R3.14: only the API server knows that an object is not there. Where its kind is not served, or a proxy does not know the way, nothing is forgotten.
func TestOnlyTheAPIServerSaysThatAnObjectIsNotThere(t *testing.T) {
	t.Parallel()
	const gone = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","details":{"name":"one","kind":"feedmemories"},"code":404}`
	const objects, others = "/apis/feeds.feed-operator.io/v1alpha1/namespaces/news/feedmemories/one", "/apis/feeds.feed-operator.io/v2"
	for name, test := range map[string]struct {
		path, body string
		want       int
	}{
		"the object is not there":               {objects, gone, http.StatusNotFound},
		"the kind is not served":                {objects, "404 page not found\n", http.StatusServiceUnavailable},
		"a proxy does not know the way":         {objects, `{"error":"no route"}`, http.StatusServiceUnavailable},
		"the API server is below a path":        {"/k8s/clusters/one" + objects, "404 page not found\n", http.StatusServiceUnavailable},
		"a version that there is not":           {others, "404 page not found\n", http.StatusNotFound},
		"something that is not the operator's":  {"/api/v1/namespaces/news/secrets/one", "404 page not found\n", http.StatusNotFound},
		"what is longer than any answer of one": {objects, strings.Repeat(" ", 1<<20) + gone, http.StatusServiceUnavailable},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://api.example"+test.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := crdcheck.WrapTransport(answers{test.body}).RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != test.want || !strings.HasPrefix(test.body, string(body)) || len(body) == 0 {
			t.Errorf("%s: %d %q (%v)", name, response.StatusCode, body[:min(len(body), 20)], err)
		}
		_ = response.Body.Close()
	}
}
