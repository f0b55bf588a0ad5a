// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postmemory_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/posted"
	"github.com/feed-operator/feed-operator/internal/postmemory"
)

// R3.13, R6.4: many ask at once for what was posted to more destinations than there is room for. In the end as much is in memory as is
// believed to be: otherwise there would be less and less room, until nothing stays.
func TestTheRoomForPostsIsCountedRightly(t *testing.T) {
	t.Parallel()
	const destinations, posts = 6, 4
	now := time.Now()
	made := fake.NewClientBuilder().WithScheme(apitest.Scheme())
	for n := range destinations {
		name := fmt.Sprintf("press-%d", n)
		book := posted.New()
		for i := range posts {
			entry := feed.Entry{GUID: fmt.Sprint(i), Title: fmt.Sprint(i)}
			book.Remember(posted.Of("https://news.example", feed.Identify(entry), feed.Trust{}), posted.Post{Time: now}, now)
		}
		made.WithObjects(&v1alpha1.FeedMemory{
			ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, Labels: map[string]string{v1alpha1.LabelDestination: name}},
			Posted:     &v1alpha1.PostedMemory{Destination: name, Number: 1, Posts: posts, Data: book.Unwritten()[0].Data},
		})
	}
	known := postmemory.NewMemories(clocktesting.NewFakeClock(now), made.Build(), posts)
	var all sync.WaitGroup
	for worker := range 16 {
		all.Go(func() {
			for n := range 400 {
				if err := known.Ask(t.Context(), types.NamespacedName{Namespace: "a", Name: fmt.Sprintf("press-%d", (worker+n)%destinations)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if there, believed := known.InMemory(); there != believed {
		t.Errorf("%d posts are in memory, and %d are believed to be", there, believed)
	}
}
