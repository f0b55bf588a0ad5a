// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crdcheck

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// WrapTransport has an answer of 404 for one of the operator's kinds count as one that an object is not there only where it is the API server that says so, for
// rest.Config.Wrap. While a kind is not served, as in the moments before its CustomResourceDefinition is established, and where a proxy in front of the
// API server does not know the way, that says nothing of the object: it becomes 503, after which everything is tried again, and nothing is forgotten.
func WrapTransport(next http.RoundTripper) http.RoundTripper { return served{next} }

type served struct{ http.RoundTripper }

func (s served) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := s.RoundTripper.RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusNotFound || !strings.Contains(request.URL.Path, "/apis/"+v1alpha1.GroupVersion.String()+"/") {
		return response, err
	}
	const longest = 64 << 10
	body, err := io.ReadAll(io.LimitReader(response.Body, longest))
	_ = response.Body.Close()
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	var said metav1.Status
	if json.Unmarshal(body, &said) != nil || said.Kind != "Status" {
		response.StatusCode, response.Status = http.StatusServiceUnavailable, "503 "+http.StatusText(http.StatusServiceUnavailable)
	}
	return response, nil
}

// WrappedRoundTripper lets client-go find the transport below, which it closes idle connections of.
func (s served) WrappedRoundTripper() http.RoundTripper { return s.RoundTripper }
