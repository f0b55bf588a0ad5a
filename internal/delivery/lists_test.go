// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// slowReader is an API server that answers lists when it is told to.
type slowReader struct {
	client.Reader
	asked   atomic.Int32
	answers chan struct{}
}

func (r *slowReader) List(context.Context, client.ObjectList, ...client.ListOption) error {
	r.asked.Add(1)
	<-r.answers
	return nil
}

// R1.10, R3.13: however many posts are looked for, few pages of all items are read at once. Who waits for that waits as long as its look takes.
func TestFewPagesOfAllItemsAreReadAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const looks, atOnce = 30, 2
		reader := &slowReader{answers: make(chan struct{})}
		var lists itemLists
		var read atomic.Int32
		for i := range looks {
			go func() {
				if err := lists.next(t.Context(), reader, &v1alpha1.FeedItemList{}, fmt.Sprint("tenant-", i), "news"); err == nil {
					read.Add(1)
				}
			}()
		}
		synctest.Wait()
		if asked := reader.asked.Load(); asked != atOnce {
			t.Errorf("%d pages are read at once, want %d", asked, atOnce)
		}
		over, end := context.WithCancel(t.Context())
		end()
		if err := lists.next(over, reader, &v1alpha1.FeedItemList{}, "late", "news"); !errors.Is(err, context.Canceled) {
			t.Errorf("a look that is over ends with %v", err)
		}
		close(reader.answers)
		synctest.Wait()
		if got := read.Load(); got != looks {
			t.Errorf("%d of %d pages were read", got, looks)
		}
	})
}

// R3.13: whose looks are many, each at many items, is in the way of a neighbour's with one page at a time.
func TestLooksAtManyItemsHoldUpNoNeighbour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const looks = 20
		reader := &slowReader{answers: make(chan struct{})}
		var lists itemLists
		over, end := context.WithCancel(t.Context())
		for range looks {
			go func() {
				var err error
				for err == nil {
					err = lists.next(over, reader, &v1alpha1.FeedItemList{}, "hog", "hog")
				}
			}()
		}
		synctest.Wait()
		read := make(chan error, 1)
		go func() { read <- lists.next(t.Context(), reader, &v1alpha1.FeedItemList{}, "neighbour", "neighbour") }()
		synctest.Wait()
		pages := 0
		for done := false; !done; {
			reader.answers <- struct{}{}
			pages++
			synctest.Wait()
			select {
			case err := <-read:
				if err != nil {
					t.Error(err)
				}
				done = true
			default:
			}
		}
		if pages > 2 {
			t.Errorf("%d pages of the others were read first", pages-1)
		}
		end()
		close(reader.answers)
		synctest.Wait()
		if len(lists.owners) > 0 {
			t.Errorf("%d namespaces are kept", len(lists.owners))
		}
	})
}
