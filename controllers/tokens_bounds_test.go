// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/aitest"
	"github.com/feed-operator/feed-operator/internal/anthropictest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/geminitest"
	"github.com/feed-operator/feed-operator/internal/openaitest"
	"github.com/feed-operator/feed-operator/internal/provider"
)

// R1.6, R3.9: whatever a server claims that a request has cost, the status of the provider is written, and
// goes on to be; one that another version has left with a number that nothing can be added to, too.
func TestNoCountOfTokensKeepsAStatusFromBeingWritten(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		service service
		counted func(text, tokens string) aitest.Answer
	}{
		"Gemini":    {ofGemini, geminitest.Counted},
		"OpenAI":    {ofOpenAI, openaitest.Counted},
		"Anthropic": {ofAnthropic, anthropictest.Counted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := w.service(test.service, "writer")
			for _, claimed := range []string{"9223372036854775807", "9223372036854775807", "-9223372036854775808"} {
				server.Next(test.counted("The committee has met.", claimed))
			}
			web := feedtest.New(t)
			web.List(web.Entries("news", 3)...)
			w.source("news", web.FeedURL(), summarizedBy("writer"))
			w.awaitItems("news", allProcessed(3))
			hasTokens := func(calls, tokens int64) func(*v1alpha1.AIProvider) error {
				return func(p *v1alpha1.AIProvider) error {
					if p.Status.Calls != calls || p.Status.Tokens != tokens {
						return fmt.Errorf("%d calls, %d tokens, want %d and %d", p.Status.Calls, p.Status.Tokens, calls, tokens)
					}
					return isReady(p)
				}
			}
			w.untilProvider("writer", hasTokens(3, 2*provider.MaxTokens))

			for i, tokens := range []string{"9223372036854775807", "9007199254740993"} {
				left := &v1alpha1.AIProvider{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "writer"}}
				patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"tokens":`+tokens+`}}`))
				if err := w.client.Status().Patch(t.Context(), left, patch); err != nil {
					t.Fatal(err)
				}
				name := fmt.Sprintf("more-%d", i)
				web.List(web.Entries(name, 1)...)
				w.source(name, web.FeedURL(), summarizedBy("writer"))
				w.awaitItems(name, allProcessed(1))
				w.untilProvider("writer", hasTokens(4+int64(i), 1_000_000_000_000_000))
			}
		})
	}
}
