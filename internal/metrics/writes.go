// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/feed-operator/feed-operator/internal/watches"
)

// resources are what the operator reads and writes, as the paths of the API server name it.
var resources = []string{"feedsources", "feeditems", "aiproviders", "feeddestinations", "feedmemories", "events", "leases"}

// otherResource stands for all that is none of these.
const otherResource = "other"

var verbs = map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete"}

// WrapTransport counts the requests that write, and the lists and watches that fail, for rest.Config.Wrap.
func (m *Metrics) WrapTransport(next http.RoundTripper) http.RoundTripper { return counting{next, m} }

type counting struct {
	http.RoundTripper
	*Metrics
}

func (c counting) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := c.RoundTripper.RoundTrip(request)
	resource, collection := resourceOf(request.URL.Path)
	if verb := verbs[request.Method]; verb != "" {
		result := "error"
		if err == nil {
			result = strconv.Itoa(response.StatusCode/100) + "xx"
		}
		c.apiWrites.WithLabelValues(resource, verb, result).Inc()
	}
	// Without lists and watches the cache stays as it was, and so do all gauges, which are worked out from it.
	if request.Method == http.MethodGet && collection && watches.Refused(request, response, err) {
		c.apiWatchErrors.WithLabelValues(resource).Inc()
	}
	return response, err
}

// WrappedRoundTripper lets client-go find the transport below, which it closes idle connections of.
func (c counting) WrappedRoundTripper() http.RoundTripper { return c.RoundTripper }

// resourceOf is what a path of the API server is about, and whether it is about all of them, or all of a namespace, instead of one:
// /api(s)/GROUP/VERSION/namespaces/NAMESPACE/RESOURCE/NAME/SUBRESOURCE.
func resourceOf(path string) (resource string, collection bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for i, part := range parts {
		named := i > 0 && parts[i-1] == "namespaces" // a namespace may have any name
		if !named && slices.Contains(resources, part) {
			return part, i == len(parts)-1
		}
	}
	return otherResource, false
}
