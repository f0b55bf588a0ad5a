// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// withArticle is an API server that has an item with its article.
type withArticle struct{ client.Reader }

func (withArticle) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	*object.(*v1alpha1.FeedItem) = *anItem(aSource(key.Namespace, "news"), key.Name, v1alpha1.PhaseProcessed, func(item *v1alpha1.FeedItem) {
		item.Spec.Content = "The article."
		item.Status.Summary = &v1alpha1.Summary{Text: "What it says."}
	})
	return nil
}

// R3.13, R5.4: what is kept of an item for those who look at it is what the page shows of it.
func TestTheArticleOfAnItemThatIsLookedAtIsNotKept(t *testing.T) {
	t.Parallel()
	items := newWholeItems(withArticle{}, time.Now)
	for range 2 { // as it is read, and as it is kept
		item, err := items.of(t.Context(), "a", Item{Standing: &Standing{Namespace: "a"}, Name: "one", Version: "1"})
		if err != nil {
			t.Fatal(err)
		}
		if len(item.Spec.Content) != 0 || item.Status.Summary.Text != "What it says." {
			t.Errorf("kept: %+v", item)
		}
	}
}
