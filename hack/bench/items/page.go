// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package items

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/hack/bench/figure"
	"github.com/feed-operator/feed-operator/hack/bench/rig"
)

const (
	pageItems, pageSources, pageViewers = 10_000, 100, 20
	// pageWatched is for how long the viewers watch, while something changes twice a second.
	pageWatched = 30 * time.Second
)

// browsers are all viewers: each has connections of its own.
var browsers = &http.Client{}

// Page measures what the web page costs the operator's own process.
func Page(ctx context.Context, p *rig.Plane, s rig.Scale) ([]figure.Row, error) {
	items := s.Of(pageItems, 1000)
	feeds, err := rig.ServeFeeds(ctx)
	if err != nil {
		return nil, err
	}
	defer feeds.Close()
	namespace, err := p.Namespace(ctx)
	if err != nil {
		return nil, err
	}
	services, err := rig.StartServices(ctx, items)
	if err != nil {
		return nil, err
	}
	defer services.Close()
	if err := p.CreateServices(ctx, services, namespace, v1alpha1.DefaultDestinationConcurrency); err != nil {
		return nil, err
	}
	if err := populate(ctx, p, feeds, namespace, pageSources, items/pageSources); err != nil {
		return nil, err
	}
	address, err := rig.FreeAddress(ctx)
	if err != nil {
		return nil, err
	}
	manager, err := rig.StartManager(ctx, p, namespace, rig.FeedsOnOneHost, "--dashboard-bind-address="+address)
	if err != nil {
		return nil, err
	}
	defer manager.Stop(ctx)
	if err := untilCounted(ctx, p, namespace, pageSources, items/pageSources); err != nil {
		return nil, manager.Explain(err)
	}
	rig.Progress("The operator holds %d items; waiting until it rests …", items)
	wait := calm
	if s.Short {
		wait = 5 * time.Second
	}
	if err := rig.Pause(ctx, wait); err != nil {
		return nil, err
	}
	return watchPage(ctx, p, manager, namespace, "http://"+address, items)
}

func watchPage(ctx context.Context, p *rig.Plane, manager *rig.Manager, namespace, address string, items int) ([]figure.Row, error) {
	memory, err := manager.Memory()
	if err != nil {
		return nil, err
	}
	before := memory.Resident
	reads, err := p.ItemReads(ctx)
	if err != nil {
		return nil, err
	}
	began, err := manager.CPU()
	if err != nil {
		return nil, err
	}
	size, err := fetchPage(ctx, address)
	if err != nil {
		return nil, manager.Explain(err)
	}
	first, err := manager.CPU()
	if err != nil {
		return nil, err
	}
	rig.Progress("%d viewers watch for %s …", pageViewers, pageWatched)
	watched, loaded, most, err := watchTogether(ctx, p, manager, namespace, address)
	if err != nil {
		return nil, manager.Explain(err)
	}
	last, err := manager.CPU()
	if err != nil {
		return nil, err
	}
	after, err := p.ItemReads(ctx)
	if err != nil {
		return nil, err
	}
	more := figure.Megabytes(most - before)
	share := (last - first).Seconds() / watched.Seconds()
	return []figure.Row{
		figure.AtMost(fmt.Sprintf("processor time until the page is there, with %d items of %d sources, nobody having looked before", items, pageSources),
			(first - began).Round(time.Millisecond).String(), (first - began).Seconds(), 0.2, " s"),
		figure.AtMost(fmt.Sprintf("resident memory that %d viewers take, at the most", pageViewers), fmt.Sprintf("%.0f MB", more), more, 30, " MB"),
		figure.AtMost("reads of items from the API server meanwhile", fmt.Sprint(after-reads), float64(after-reads), 0, ""),
		figure.Note("share of a core that they take, with the work on what changes twice a second", "%.0f %%", 100*share),
		figure.Note("pages that they have loaded", "%d of %d KB", loaded, size>>10),
	}, nil
}

// watchTogether has viewers load the page whenever they are told that something has changed, while something does. It returns the most that
// the operator held meanwhile.
func watchTogether(ctx context.Context, p *rig.Plane, manager *rig.Manager, namespace, address string) (took time.Duration, loaded int64, most int64, _ error) {
	ctx, stop := context.WithTimeout(ctx, pageWatched)
	defer stop()
	began := time.Now()
	var pages atomic.Int64
	var viewers sync.WaitGroup
	failures := make(chan error, pageViewers)
	for range pageViewers {
		viewers.Go(func() {
			if err := viewPage(ctx, address, &pages); err != nil && ctx.Err() == nil {
				failures <- err
			}
		})
	}
	for number := 0; ctx.Err() == nil; number++ {
		source := &v1alpha1.FeedSource{}
		source.Namespace, source.Name = namespace, sourceName(number%pageSources)
		patch := fmt.Sprintf(`{"metadata":{"labels":{"looked-at":"%d"}}}`, number)
		if err := p.Client.Patch(ctx, source, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil && ctx.Err() == nil {
			return 0, 0, 0, err
		}
		memory, err := manager.Memory()
		if err != nil {
			return 0, 0, 0, err
		}
		most = max(most, memory.Resident)
		_ = rig.Pause(ctx, 500*time.Millisecond)
	}
	viewers.Wait()
	close(failures)
	return time.Since(began), pages.Load(), most, <-failures
}

// viewPage loads the page each time that its stream tells of another version.
func viewPage(ctx context.Context, address string, pages *atomic.Int64) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/events", nil)
	if err != nil {
		return err
	}
	answer, err := browsers.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return errors.New("the stream is refused: " + answer.Status)
	}
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "data: ") {
			continue
		}
		if _, err := fetchPage(ctx, address); err != nil {
			return err
		}
		pages.Add(1)
	}
	return lines.Err()
}

// fetchPage loads the overview, and returns how large it is.
func fetchPage(ctx context.Context, address string) (size int64, _ error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/", nil)
	if err != nil {
		return 0, err
	}
	answer, err := browsers.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return 0, errors.New("the page is refused: " + answer.Status)
	}
	return io.Copy(io.Discard, answer.Body)
}
