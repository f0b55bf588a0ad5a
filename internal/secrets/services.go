// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/redact"
)

// Values are what a service is called with, by the keys of its Secret.
type Values map[string]string

// OfProvider returns what an AIProvider is called with, and the version of the Secret that it comes from; both are empty for one
// that needs none.
func OfProvider(ctx context.Context, live Reader, described *v1alpha1.AIProvider) (values Values, version string, err error) {
	return valuesOf(ctx, live, described, []string{KeyAPIKey}, nil)
}

// OfDestination returns what a FeedDestination is called with, likewise. A webhook's Secret must have what its spec names, and one
// of the token and the signing key, if that names nothing.
func OfDestination(ctx context.Context, live Reader, described *v1alpha1.FeedDestination) (values Values, version string, err error) {
	webhook := described.Spec.Webhook
	if webhook == nil {
		return valuesOf(ctx, live, described, []string{KeyAccess}, nil)
	}
	var needed []string
	if key := webhook.URLKey(); key != "" {
		needed = append(needed, key)
	}
	for _, header := range webhook.Headers {
		needed = append(needed, header.SecretKey)
	}
	values, version, err = valuesOf(ctx, live, described, needed, []string{KeyToken, KeySigning})
	if err != nil || webhook.SecretRef == nil {
		return nil, "", err
	}
	for _, header := range webhook.Headers {
		if !httpguts.ValidHeaderFieldValue(values[header.SecretKey]) {
			return nil, "", unusable(webhook.SecretRef.Name, fmt.Sprintf("has a line break, or another character that HTTP does not allow, in the key %q, "+
				"which the header %s needs", header.SecretKey, header.Name))
		}
	}
	if len(values) == 0 {
		return nil, "", unusable(webhook.SecretRef.Name, "has none of the keys token and signingKey")
	}
	return values, version, nil
}

// HeaderOf returns the extra headers of a webhook.
func HeaderOf(webhook *v1alpha1.WebhookDestination, values Values) http.Header {
	header := http.Header{}
	for _, extra := range webhook.Headers {
		header.Set(extra.Name, values[extra.SecretKey])
	}
	return header
}

// valuesOf reads the values of a service's Secret that it is called with: all of the needed ones, and those that are there of the others.
func valuesOf(ctx context.Context, live Reader, service v1alpha1.ServiceObject, needed, optional []string) (Values, string, error) {
	ref := service.SecretRef()
	if ref == nil {
		return nil, "", nil
	}
	secret, err := secretOf(ctx, live, service.GetNamespace(), *ref)
	if err != nil {
		return nil, "", err
	}
	values := Values{}
	for _, key := range needed {
		if values[key] = strings.TrimSpace(string(secret.Data[key])); values[key] == "" {
			return nil, "", unusable(secret.Name, fmt.Sprintf("has no key %q, or it is empty", key))
		}
	}
	for _, key := range optional {
		if value := strings.TrimSpace(string(secret.Data[key])); value != "" {
			values[key] = value
		}
	}
	for _, value := range values {
		redact.Remember(service.GetNamespace(), value)
	}
	return values, string(secret.UID) + "/" + secret.ResourceVersion, nil
}
