// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"encoding/json"
	"errors"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/outbound"
)

// R1.7: whoever can read the objects and Events of a namespace learns nothing of the address that a name has
// inside, be it that of a feed, a provider or a destination; those who run the operator do.
func TestNoObjectNamesAnAddressThatIsRefused(t *testing.T) {
	t.Parallel()
	var told sync.Map
	w := newWorld(t, func(w *world) {
		w.out = outbound.New(outbound.Config{
			AllowHTTP: true, Now: w.clock.Now, Refused: func(host string, address netip.Addr, _ string) { told.Store(host, address) },
		})
	})
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	_, port, _ := strings.Cut(strings.TrimPrefix(web.URL, "http://"), ":")
	w.source("news", "http://localhost:"+port+"/feed.xml")
	w.secret("writer", "apiKey", openAIKey)
	w.provider("writer", ofOpenAI.asks("http://localhost:"+port+"/v1", "writer"))
	w.destination("account", "http://localhost:"+port)
	w.untilSource("news", func(source *v1alpha1.FeedSource) error {
		if source.Status.Failure == nil {
			return errors.New("not polled")
		}
		return nil
	})
	w.untilProvider("writer", isNotReady(v1alpha1.ReasonConfigurationRefused))
	w.untilDestination("account", isClosed(v1alpha1.ReasonConfigurationRefused))
	for _, object := range w.everything() {
		text, err := json.Marshal(object.Object)
		if err != nil {
			t.Fatal(err)
		}
		for _, address := range []string{"127.0.0.1", "::1"} {
			if strings.Contains(string(text), address) {
				t.Errorf("%s is in %s", address, text)
			}
		}
	}
	if _, ok := told.Load("localhost"); !ok {
		t.Error("those who run the operator are not told of the address")
	}
	if web.Hits("/feed.xml") != 0 {
		t.Error("a refused address was connected to")
	}
}
