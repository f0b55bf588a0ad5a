// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/itemcontent"
)

// contents are all kinds of what feeds say about an entry.
func contents() map[string]string {
	var noise strings.Builder // does not compress well
	for i := range 20_000 {
		fmt.Fprintf(&noise, "%x ", i*i*7919%1_000_003)
	}
	return map[string]string{
		"nothing":                      "",
		"a sentence":                   "It rains.",
		"HTML":                         `<p class="lead">It <b>rains</b> &amp; pours.<br/><img src="https://www.example.org/a.png?x=1&y=2"></p>`,
		"Japanese":                     "厚生労働省は本日、令和八年度の調査結果を公表した。",
		"emoji and combining letters":  "👩‍👩‍👧‍👦 e\u0301 नमस्ते \u202eabc",
		"line breaks, tabs and quotes": "a\r\n\tb \"c\" 'd' \\e \\u0000 {{f}} ${g}",
		"what looks like base64":       "H4sIAAAAAAAA/8pIzcnJVyjPL8pJAQAAAP//",
		"what looks like JSON":         `{"spec": {"url": "x"}, "n": 1e400}`,
		"what looks like a date":       someTime,
		"as much as is kept plain":     strings.Repeat("字", 2730),
		"more than is kept plain":      strings.Repeat("It rains. ", 2000),
		"more than is kept at all":     noise.String(),
	}
}

// fullItem is an item with everything that a feed can say.
func fullItem(namespace, content string) *v1alpha1.FeedItem {
	item := &v1alpha1.FeedItem{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "test-"}}
	item.Spec = v1alpha1.FeedItemSpec{
		SourceRef:     v1alpha1.SourceReference{Name: "press", UID: "3e9b8f7c-0000-4000-8000-000000000001"},
		GUID:          "tag:example.org,2026:1",
		URL:           "https://www.example.org/1?a=1&b=2#c",
		Title:         "雨 & \"rain\"",
		Author:        "A. Nobody <nobody@example.org>",
		Categories:    []string{"weather", "天気"},
		PublishedTime: &metav1.Time{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
	}
	item.Spec.Content, item.Spec.CompressedContent = itemcontent.Pack(content)
	return item
}

// R2.8, R3.5, R3.7, R4.4: an item that never changes can still be worked on and annotated, whatever the
// feed has put into it.
func TestStatusAndAnnotationsChangeWhateverTheItemHolds(t *testing.T) {
	t.Parallel()
	namespace := server.Namespace(t)
	for name, content := range contents() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			item := fullItem(namespace, content)
			if err := server.Client.Create(t.Context(), item); err != nil {
				t.Fatal(err)
			}
			before := item.DeepCopy()
			item.Status = fullStatus()
			if err := server.Client.Status().Patch(t.Context(), item, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
				t.Errorf("patch the status: %v", err)
			}
			patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"1"}}}`, v1alpha1.AnnotationRetry)
			if err := server.Client.Patch(t.Context(), item, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
				t.Errorf("annotate: %v", err)
			}
			before = item.DeepCopy()
			item.Status.Phase, item.Status.Reason, item.Status.Failure = v1alpha1.PhaseProcessed, v1alpha1.ReasonNone, nil
			if err := server.Client.Status().Patch(t.Context(), item, client.MergeFrom(before)); err != nil {
				t.Errorf("patch the status again: %v", err)
			}
			var live v1alpha1.FeedItem
			if err := server.Client.Get(t.Context(), client.ObjectKeyFromObject(item), &live); err != nil {
				t.Fatal(err)
			}
			want := fullStatus()
			want.Phase, want.Reason, want.Failure = v1alpha1.PhaseProcessed, v1alpha1.ReasonNone, nil
			if diff := cmp.Diff(want, live.Status); diff != "" || live.Annotations[v1alpha1.AnnotationRetry] != "1" {
				t.Errorf("not what was written; annotations %v, status (-want +got):\n%s", live.Annotations, diff)
			}
			got, err := itemcontent.Unpack(live.Spec.Content, live.Spec.CompressedContent)
			if err != nil || !strings.HasPrefix(content, strings.TrimRight(got, "…")) || (content != "" && got == "") {
				t.Errorf("the content came back as %.80q, %v", got, err)
			}
			if err := server.Client.Update(t.Context(), &live); err != nil {
				t.Errorf("write the same again: %v", err)
			}
		})
	}
}

// R1.1: an item is what the feed said.
func TestAnItemsSpecNeverChanges(t *testing.T) {
	t.Parallel()
	namespace := server.Namespace(t)
	full, bare := fullItem(namespace, "It rains."), fullItem(namespace, "")
	bare.Spec = v1alpha1.FeedItemSpec{SourceRef: bare.Spec.SourceRef}
	for _, item := range []*v1alpha1.FeedItem{full, bare} {
		if err := server.Client.Create(t.Context(), item); err != nil {
			t.Fatal(err)
		}
	}
	tests := map[string]struct {
		item  *v1alpha1.FeedItem
		patch string
	}{
		"the title is edited":         {full, `{"title":"Sun"}`},
		"the URL is edited":           {full, `{"url":"https://www.example.org/2"}`},
		"the GUID is removed":         {full, `{"guid":null}`},
		"the author is removed":       {full, `{"author":null}`},
		"a category is added":         {full, `{"categories":["weather","天気","rain"]}`},
		"the categories change order": {full, `{"categories":["天気","weather"]}`},
		"the time is another one":     {full, `{"publishedTime":"2026-01-02T03:04:06Z"}`},
		"the content is edited":       {full, `{"content":"The sun shines."}`},
		"the source is another one":   {full, `{"sourceRef":{"name":"other"}}`},
		"a title is added":            {bare, `{"title":"Sun"}`},
		"content is added":            {bare, `{"content":"The sun shines."}`},
		"a compressed one is added":   {bare, `{"compressedContent":"H4sIAAAAAAAA"}`},
		"a time is added":             {bare, `{"publishedTime":"2026-01-02T03:04:05Z"}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := server.Client.Patch(t.Context(), test.item.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"spec":`+test.patch+`}`)))
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec is immutable: it is what the feed listed") {
				t.Errorf("error is %v", err)
			}
		})
	}
}

// fullStatus is a status with everything in it.
func fullStatus() v1alpha1.FeedItemStatus {
	now := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	return v1alpha1.FeedItemStatus{
		Phase: v1alpha1.PhaseDeferred, Reason: v1alpha1.ReasonAPIFailed, RetryCount: 2,
		LastCheckTime: &now, NextRetryTime: &now, FirstFailureTime: &now, LastFailureTime: &now,
		Failure: &v1alpha1.Failure{
			Category: v1alpha1.CategoryAPI, Type: "HTTPStatus", Message: "The server answered 503.", Retryable: true,
			Stage: v1alpha1.StageSummarize, Object: "built-in", Time: now, HTTPStatus: 503, Chain: []string{"outer", "inner"}, Stack: "main.go:1",
		},
		ProviderFailures: []v1alpha1.ProviderFailure{{Name: "built-in", Category: v1alpha1.CategoryAPI, Count: 3, Time: now}},
		ArticleHash:      strings.Repeat("0", 64),
		Screening:        &v1alpha1.Screening{Valuable: true, Complete: true, Explanation: "天気が変わる。", Provider: "gemini"},
		Summary:          &v1alpha1.Summary{Text: "雨が降る。", Provider: "built-in", Model: "extractive", Tokens: 12},
		Deliveries: []v1alpha1.Delivery{{
			Destination: "mastodon", State: v1alpha1.DeliveryDone, Key: strings.Repeat("0", 64), TextHash: strings.Repeat("0", 64),
			FirstAttemptTime: &now, NotAfter: &now, Time: &now, ID: "113", URL: "https://mastodon.example/@press/113",
		}, {
			Destination: "second", State: v1alpha1.DeliveryQueued, Key: strings.Repeat("1", 64), FirstAttemptTime: &now, NotAfter: &now,
			FailedAttempts: 2, NextRetryTime: &now, Failure: &v1alpha1.Failure{
				Category: v1alpha1.CategoryNetwork, Type: "Timeout", Message: "No answer.", Retryable: true,
				Stage: v1alpha1.StageDeliver, Object: "second", Time: now,
			},
		}},
		LastHandledRetry: "1",
		Conditions: []metav1.Condition{{
			Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "APIFailed", Message: "x", LastTransitionTime: now, ObservedGeneration: 1,
		}},
	}
}
