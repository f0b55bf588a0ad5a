// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"sync"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/openaitest"
)

// mended is a provider that refuses everything until it is mended, and then holds the calls after
// some, so that an operator can be killed in the middle.
type mended struct {
	mu    sync.Mutex
	works bool
	asked map[string]int // by title, since it works
	total int
	held  chan struct{} // closed when a call is held
	gate  chan struct{} // closed when it may go on
}

var titleOfNews = regexp.MustCompile(`News about news-\d+\b`)

func (m *mended) answer(call openaitest.Call) (openaitest.Answer, bool) {
	const middle = 15
	m.mu.Lock()
	if !m.works {
		m.mu.Unlock()
		return openaitest.Error(http.StatusBadRequest, "invalid_request_error", "odd", "Not today."), true
	}
	m.asked[titleOfNews.FindString(call.User)]++
	m.total++
	hold := m.total > middle
	if m.total == middle+1 {
		close(m.held)
	}
	m.mu.Unlock()
	if hold {
		<-m.gate
	}
	return openaitest.Answer{}, false
}

// R3.7: everything that has failed at a provider is retried by one annotation, and the operator is
// killed in the middle. The next one goes on: each item is tried once for the token, but for those
// whose call was made and not written down.
func TestARetryOfAProviderSurvivesTheEndOfTheManager(t *testing.T) {
	t.Parallel()
	const n, underWay = 40, 4
	namespace := server.Namespace(t)
	m := &mended{asked: map[string]int{}, held: make(chan struct{}), gate: make(chan struct{})}
	model := openaitest.New("")
	t.Cleanup(model.Close)
	model.OnCall(m.answer)
	described := &v1alpha1.AIProvider{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "writer"}}
	described.Spec.OpenAI = &v1alpha1.OpenAIProvider{Model: "model-1", Endpoint: model.URL}
	described.Spec.MaxConcurrent = new(int32(1))
	web := feedtest.New(t)
	web.List(web.Entries("news", n)...)
	source := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "news"}}
	source.Spec.URL, source.Spec.InitialItems = web.FeedURL(), new(int32(n))
	source.Spec.Providers = []v1alpha1.ProviderReference{{Name: "writer"}}
	for _, object := range []client.Object{described, source} {
		if err := server.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	first := start(t, namespace, "--allow-http")
	untilAll(t, namespace, n, v1alpha1.PhaseFailed)

	m.mu.Lock()
	m.works = true
	m.mu.Unlock()
	retry := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"now"}}}`, v1alpha1.AnnotationRetry))
	if err := server.Client.Patch(t.Context(), described, retry); err != nil {
		t.Fatal(err)
	}
	<-m.held
	first.end(t, syscall.SIGKILL)
	close(m.gate)
	start(t, namespace, "--allow-http")
	untilAll(t, namespace, n, v1alpha1.PhaseProcessed)

	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.asked) != n || m.total > n+underWay {
		t.Errorf("%d of %d items were tried, in %d calls", len(m.asked), n, m.total)
	}
	for title, times := range m.asked {
		if times > 2 {
			t.Errorf("%s was tried %d times", title, times)
		}
	}
}

// untilAll waits until all items of a namespace are in a phase.
func untilAll(t *testing.T, namespace string, n int, phase v1alpha1.Phase) {
	t.Helper()
	apitest.Eventually(t, func(ctx context.Context) error {
		var items v1alpha1.FeedItemList
		if err := server.Client.List(ctx, &items, client.InNamespace(namespace)); err != nil {
			return err
		}
		if len(items.Items) != n {
			return errors.New("not all are there yet")
		}
		for i := range items.Items {
			if status := items.Items[i].Status; status.Phase != phase {
				return fmt.Errorf("one is %s/%s: %+v", status.Phase, status.Reason, status.Failure)
			}
		}
		return nil
	})
}
