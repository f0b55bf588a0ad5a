// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
)

// R5.2: with --metrics-auth, who shows no token is refused, and who may not get /metrics; who may is answered, by https. A running operator counts its
// writes.
func TestMetricsAreForWhoMayGetThem(t *testing.T) {
	t.Parallel()
	namespace, address := server.Namespace(t), apitest.FreeAddress(t)
	start(t, namespace, "--metrics-bind-address="+address, "--metrics-auth")
	anyone, scraper := tokenOf(t, namespace, "anyone"), tokenOf(t, namespace, "scraper")
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace + "-metrics"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: namespace + "-metrics"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "scraper"}},
	}
	role := &rbacv1.ClusterRole{ObjectMeta: binding.ObjectMeta, Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}}
	if err := errors.Join(server.Client.Create(t.Context(), role), server.Client.Create(t.Context(), binding)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Client.Delete(context.Background(), binding)
		_ = server.Client.Delete(context.Background(), role)
	})
	described := &v1alpha1.AIProvider{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "built-in"}} // something to write about
	described.Spec.Extractive = &v1alpha1.ExtractiveProvider{}
	if err := server.Client.Create(t.Context(), described); err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]int{"": http.StatusUnauthorized, "nonsense": http.StatusUnauthorized, anyone: http.StatusForbidden} {
		apitest.Eventually(t, func(ctx context.Context) error {
			if status, body, err := scrape(ctx, address, token); err != nil || status != want || strings.Contains(body, "feed_operator") {
				return fmt.Errorf("status %d, want %d: %w", status, want, err)
			}
			return nil
		})
	}
	apitest.Eventually(t, func(ctx context.Context) error {
		const written = `feed_operator_api_writes_total{resource="aiproviders",result="2xx",verb="patch"} `
		status, body, err := scrape(ctx, address, scraper)
		if _, value, there := strings.Cut(body, written); err != nil || status != http.StatusOK || !there || strings.HasPrefix(value, "0\n") {
			return fmt.Errorf("status %d, and no write of the provider in it: %w", status, err)
		}
		return nil
	})
}

// tokenOf makes a ServiceAccount, and a token of it.
func tokenOf(t *testing.T, namespace, name string) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	request := &authenticationv1.TokenRequest{}
	if err := server.Client.Create(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	if err := server.Client.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// scrape asks an operator for its metrics, as who has a token.
func scrape(ctx context.Context, address, token string) (status int, body string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/metrics", nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, // the operator has signed its certificate itself
	}}
	answer, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = answer.Body.Close() }()
	read, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(read), err
}
