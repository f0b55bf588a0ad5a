// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apiclock"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/dashboard"
	"github.com/feed-operator/feed-operator/internal/feedtest"
)

// tokenFor is a token of a new ServiceAccount that may list and retry the items of some namespaces.
func tokenFor(t *testing.T, server *apitest.Server, home string, namespaces ...string) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "reader"}}
	objects := []client.Object{account}
	for _, namespace := range namespaces {
		objects = append(objects,
			&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "page"}, Rules: []rbacv1.PolicyRule{{
				APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"feeditems"}, Verbs: []string{"list", "patch"},
			}}},
			&rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "page"},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "page"},
				Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: home, Name: "reader"}},
			})
	}
	for _, object := range objects {
		if err := server.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	request := &authenticationv1.TokenRequest{}
	if err := server.Client.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// onPage asks the page as the holder of a token, and returns its answer.
func onPage(ctx context.Context, method, address, token string, form url.Values) (status int, text string, err error) {
	request, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	noRedirects := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := noRedirects.Do(request)
	if err != nil {
		return 0, "", err
	}
	body, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(body), errors.Join(err, answer.Body.Close())
}

// R5.4: on a real API server an item that has failed for good is shown to who may list it, with its failure in words; they retry it by the page with
// their own token, and it is done. Who may list the items of another namespace sees nothing of it.
func TestAPersonRetriesAnItemByThePage(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("plan", 1)...)
	w := newWorld(t, onRealServer)
	server := w.api
	elsewhere := server.Namespace(t)
	mine, theirs := tokenFor(t, server, w.namespace, w.namespace), tokenFor(t, server, elsewhere, elsewhere)

	board := dashboard.NewBoard(w.manager.GetClient(), w.clock.Now)
	if err := board.Hear(t.Context(), w.manager.GetCache()); err != nil {
		t.Fatal(err)
	}
	ending := make(chan struct{})
	page := httptest.NewServer(dashboard.NewHandler(dashboard.Options{
		Board: board, Live: w.manager.GetAPIReader(), Now: w.clock.Now, Passed: func() time.Duration { return apiclock.PassedBy(w.clock) },
		Actions: true, Reviews: server.Client,
		As: func(token string) (client.Client, error) {
			config := rest.AnonymousClientConfig(server.Config)
			config.BearerToken = token
			return client.New(config, client.Options{Scheme: server.Client.Scheme(), Mapper: server.Client.RESTMapper()})
		},
	}, ending))
	t.Cleanup(page.Close)
	t.Cleanup(func() { close(ending) })

	var broken atomic.Bool
	broken.Store(true)
	web.OnRequest(func(answer http.ResponseWriter, r *http.Request) bool {
		if !broken.Load() || !strings.HasPrefix(r.URL.Path, "/articles/") {
			return false
		}
		http.Error(answer, "not now", http.StatusServiceUnavailable)
		return true
	})
	w.source("news", web.FeedURL(), func(source *v1alpha1.FeedSource) {
		source.Spec.Article = &v1alpha1.ArticlePolicy{Source: v1alpha1.ArticleSourcePage}
		source.Spec.Retry = &v1alpha1.RetryPolicy{MaxRetries: new(int32(0))}
	})
	item := w.untilItems("news", eachOf(1, inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonRetryLimitExceeded)))[0]
	where := page.URL + "/items/" + w.namespace + "/" + item.Name
	var form string
	apitest.Eventually(t, func(ctx context.Context) error { // the cache may be behind what the test has read, and roles are in force a moment later
		w.clock.Step(time.Second) //nolint:contextcheck // the clock is that of the test
		status, text, err := onPage(ctx, http.MethodGet, where, mine, nil)
		if err != nil {
			return err
		}
		found := regexp.MustCompile(`name="form" value="([^"]+)"`).FindStringSubmatch(text)
		if status != http.StatusOK || !strings.Contains(text, item.Status.Failure.Message) || found == nil {
			return fmt.Errorf("%d: %s", status, text)
		}
		form = found[1]
		return nil
	})
	for _, path := range []string{"/", "/items", "/sources"} {
		status, text, err := onPage(t.Context(), http.MethodGet, page.URL+path, theirs, nil)
		if err != nil || status != http.StatusOK || strings.Contains(text, w.namespace) || strings.Contains(text, item.Name) {
			t.Errorf("%s shows another namespace: %d, %v: %s", path, status, err, text)
		}
	}
	if status, _, err := onPage(t.Context(), http.MethodPost, where+"/retry", theirs, url.Values{"form": {form}}); err != nil || status != http.StatusForbidden {
		t.Errorf("who may not retry it: %d, %v", status, err)
	}
	broken.Store(false)
	if status, text, err := onPage(t.Context(), http.MethodPost, where+"/retry", mine, url.Values{"form": {form}}); err != nil || status != http.StatusSeeOther {
		t.Fatalf("retry: %d, %v: %s", status, err, text)
	}
	w.untilItems("news", allProcessed(1))
}
