// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package inmemory_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
)

// item is a FeedItem with more in its metadata and its status.
func item(name, metadata, status string) string {
	return fmt.Sprintf(`{"apiVersion":"feeds.feed-operator.io/v1alpha1","kind":"FeedItem","metadata":{"name":%q%s},`+
		`"spec":{"sourceRef":{"name":"news","uid":"x"},"title":"A title"}%s}`, name, metadata, status)
}

const source = `{"apiVersion":"feeds.feed-operator.io/v1alpha1","kind":"FeedSource","metadata":{"name":"news"},"spec":{"url":"https://example.org/feed"}}`

// of is a further part of the metadata.
func of(name, value string) string { return fmt.Sprintf(`,%q:%q`, name, value) }

// 1. What is created.

func TestObjectsAreCreatedAsByTheRealOne(t *testing.T) {
	both(t, func(s *script) {
		s.ask(http.MethodPost, items, item("a", "", `,"status":{"phase":"Processed"}`))
		s.ask(http.MethodPost, items, item("a", "", ""))
		s.ask(http.MethodGet, items+"/a", "")
		s.ask(http.MethodPost, items, item("b", of("resourceVersion", "7"), ""))
		s.ask(http.MethodPost, items, item("b", of("namespace", "elsewhere"), ""))
		s.ask(http.MethodPost, items, item("b", of("uid", "mine")+`,"generation":7,"labels":{"x":"y"}`, ""))
		generated := s.silent(http.MethodPost, items, item("", of("generateName", "news-"), ""))
		if name := text(generated, "metadata", "name"); len(name) != len("news-12345") {
			t.Errorf("generated %q", name)
		}
		s.ask(http.MethodPost, sources, source) // which has defaults
		s.ask(http.MethodPost, "/apis/feeds.feed-operator.io/v1alpha1/namespaces/nowhere/feeditems", item("a", "", ""))
	})
}

func TestFieldsThatNoSchemaKnowsAreDroppedOrRefused(t *testing.T) {
	both(t, func(s *script) {
		odd := `{"apiVersion":"feeds.feed-operator.io/v1alpha1","kind":"FeedItem","metadata":{"name":"odd"},` +
			`"spec":{"sourceRef":{"name":"news","uid":"x","odd":1},"new":{"a":1}}}`
		for _, how := range []string{"Strict", "Warn", "Ignore"} {
			s.ask(http.MethodPost, items+"?dryRun=All&fieldValidation="+how, odd)
		}
		s.ask(http.MethodGet, items+"/odd", "")
		s.ask(http.MethodPost, items, odd)
		s.ask(http.MethodPatch, items+"/odd/status?fieldValidation=Strict", `{"status":{"new":1}}`, merge)
		s.ask(http.MethodPatch, items+"/odd/status?fieldValidation=Strict", `{"status":{"retryCount":1}}`, merge)
		s.ask(http.MethodPatch, items+"/odd/status?fieldValidation=Ignore", `{"status":{"new":1}}`, merge)
	})
}

// 2. What is changed.

func TestUpdatesConflictWhereTheRealOnesDo(t *testing.T) {
	both(t, func(s *script) {
		s.ask(http.MethodPost, items, item("a", "", ""))
		s.ask(http.MethodPut, items+"/a", item("a", "", ""))
		var version string
		// The first time, the real one stores what is a default.
		for range 2 {
			same, err := json.Marshal(s.silent(http.MethodGet, items+"/a", ""))
			if err != nil {
				t.Fatal(err)
			}
			version = versionOf(s.silent(http.MethodPut, items+"/a", string(same)))
		}
		clear(s.called)
		s.call("VERSION-", version)
		s.ask(http.MethodPut, items+"/a", item("a", of("resourceVersion", version)+`,"labels":{"x":"y"}`, ""))
		s.ask(http.MethodPut, items+"/a", item("a", of("resourceVersion", version), ""))
		s.ask(http.MethodPut, items+"/a", item("b", of("resourceVersion", version), ""))
		s.ask(http.MethodPut, items+"/none", item("none", of("resourceVersion", version), ""))
		s.ask(http.MethodPut, items+"/a", item("a", of("resourceVersion", version)+of("uid", "another"), ""))
	})
}

func TestTheStatusIsAResourceOfItsOwn(t *testing.T) {
	both(t, func(s *script) {
		s.silent(http.MethodPost, sources, source)
		now := func() string { return versionOf(s.silent(http.MethodGet, sources+"/news", "")) }
		changed := func(metadata, url, more string) string {
			return fmt.Sprintf(`{"apiVersion":"feeds.feed-operator.io/v1alpha1","kind":"FeedSource","metadata":{"name":"news"%s},"spec":{"url":%q}%s}`, metadata, url, more)
		}
		// Of the object, not the status; of the status, nothing else.
		s.ask(http.MethodPut, sources+"/news", changed(of("resourceVersion", now()), "https://example.org/other", `,"status":{"lastHandledPoll":"no"}`))
		s.ask(http.MethodPut, sources+"/news/status", changed(of("resourceVersion", now())+`,"labels":{"x":"y"}`, "https://example.org/no", `,"status":{"lastHandledPoll":"yes"}`))
		s.ask(http.MethodPatch, sources+"/news/status", `{"metadata":{"annotations":{"x":"y"}},"spec":{"url":"https://example.org/no"},"status":{"lastHandledPoll":"more"}}`, merge)
		s.ask(http.MethodPatch, sources+"/news", `{"spec":{"url":"https://example.org/yes"},"status":{"lastHandledPoll":"no"}}`, merge)
		s.ask(http.MethodPatch, sources+"/news", `{"metadata":{"annotations":{"x":"y"}}}`, merge) // no generation
		s.ask(http.MethodPut, sources+"/news/status", changed(of("resourceVersion", now()), "https://example.org/no", ""))
		s.ask(http.MethodPut, sources+"/news/status", changed("", "https://example.org/no", ""))
		s.ask(http.MethodGet, sources+"/news/status", "")
		s.ask(http.MethodGet, sources+"/news", "")
		s.ask(http.MethodPatch, sources+"/none/status", `{"status":{}}`, merge)
	})
}

func TestMergePatchesAreThoseOfTheRealOne(t *testing.T) {
	both(t, func(s *script) {
		s.silent(http.MethodPost, items, item("a", `,"annotations":{"x":"y","z":"0"}`, ""))
		uid := text(s.silent(http.MethodGet, items+"/a", ""), "metadata", "uid")
		version := versionOf(s.silent(http.MethodGet, items+"/a", ""))
		s.ask(http.MethodPatch, items+"/a", `{"metadata":{"annotations":{"x":null,"new":"1"}}}`, merge)
		s.ask(http.MethodPatch, items+"/a", `{"metadata":{"annotations":{"x":null,"new":"1"}}}`, merge) // nothing more
		s.ask(http.MethodPatch, items+"/a", fmt.Sprintf(`{"metadata":{"resourceVersion":%q,"annotations":{"new":"2"}}}`, version), merge)
		s.ask(http.MethodPatch, items+"/a", fmt.Sprintf(`{"metadata":{"resourceVersion":%q,"annotations":{"new":"2"}}}`,
			versionOf(s.silent(http.MethodGet, items+"/a", ""))), merge)
		s.ask(http.MethodPatch, items+"/a", fmt.Sprintf(`{"metadata":{"uid":%q,"annotations":{"new":"3"}}}`, uid), merge)
		s.ask(http.MethodPatch, items+"/a", `{"metadata":{"uid":"another"}}`, merge)
		s.ask(http.MethodPatch, items+"/a/status", `{"metadata":{"uid":"another"},"status":{"retryCount":1}}`, merge)
		s.ask(http.MethodPatch, items+"/a/status", fmt.Sprintf(`{"metadata":{"resourceVersion":%q},"status":{"retryCount":1}}`, version), merge)
		s.ask(http.MethodPatch, items+"/a", `{"metadata":{"name":"b"}}`, merge)
		s.ask(http.MethodPatch, items+"/none", `{}`, merge)
		s.ask(http.MethodPatch, items+"/a/status", `{"status":{"deliveries":[{"destination":"m","state":"Queued"}],"retryCount":2}}`, merge)
		s.ask(http.MethodPatch, items+"/a/status", `{"status":{"deliveries":[{"destination":"n","state":"Queued"}],"retryCount":null}}`, merge)
		s.ask(http.MethodPatch, items+"/a/status", `{"status":null}`, merge)
		s.ask(http.MethodPatch, items+"/a?dryRun=All", `{"metadata":{"annotations":{"dry":"1"}}}`, merge)
		s.ask(http.MethodGet, items+"/a", "")
	})
}

// 3. What is deleted.

func TestObjectsAreDeletedAsByTheRealOne(t *testing.T) {
	both(t, func(s *script) {
		s.silent(http.MethodPost, items, item("a", "", ""))
		old := versionOf(s.silent(http.MethodGet, items+"/a", ""))
		is := s.silent(http.MethodPatch, items+"/a", `{"metadata":{"annotations":{"x":"y"}}}`, merge)
		s.ask(http.MethodDelete, items+"/a", `{"preconditions":{"uid":"another"}}`)
		s.ask(http.MethodDelete, items+"/a", fmt.Sprintf(`{"preconditions":{"uid":%q,"resourceVersion":%q}}`, text(is, "metadata", "uid"), old))
		s.ask(http.MethodDelete, items+"/a?dryRun=All", "")
		s.ask(http.MethodDelete, items+"/a", fmt.Sprintf(`{"preconditions":{"uid":%q,"resourceVersion":%q}}`, text(is, "metadata", "uid"), versionOf(is)))
		s.ask(http.MethodDelete, items+"/a", "")
		s.ask(http.MethodGet, items+"/a", "")
		s.ask(http.MethodPost, items, item("a", "", ""))
	})
}

func TestFinalizersHoldAnObject(t *testing.T) {
	both(t, func(s *script) {
		s.silent(http.MethodPost, items, item("a", `,"finalizers":["example.org/one","example.org/two"]`, ""))
		s.ask(http.MethodDelete, items+"/a", "")
		s.ask(http.MethodDelete, items+"/a", "")
		s.ask(http.MethodGet, items+"/a", "")
		s.ask(http.MethodPost, items, item("a", "", ""))
		s.ask(http.MethodPatch, items+"/a/status", `{"status":{"retryCount":1}}`, merge)
		s.ask(http.MethodPatch, items+"/a", `{"metadata":{"finalizers":["example.org/two"]}}`, merge)
		s.ask(http.MethodPatch, items+"/a", `{"metadata":{"finalizers":null}}`, merge)
		s.ask(http.MethodGet, items+"/a", "")
	})
}

func TestManyAreDeletedBySelection(t *testing.T) {
	both(t, func(s *script) {
		s.silent(http.MethodPost, items, item("a", `,"labels":{"x":"y"}`, ""))
		s.silent(http.MethodPost, items, item("b", `,"labels":{"x":"y"},"finalizers":["example.org/one"]`, ""))
		s.silent(http.MethodPost, items, item("c", "", ""))
		s.silent(http.MethodDelete, items+"?labelSelector=x%3Dy", "")
		s.ask(http.MethodGet, items, "")
	})
}

// 4. What is listed and watched.

func TestListsAreThoseOfTheRealOne(t *testing.T) {
	both(t, func(s *script) {
		for i, name := range []string{"c", "a", "b", "d"} {
			s.silent(http.MethodPost, items, item(name, fmt.Sprintf(`,"labels":{"even":"%t"}`, i%2 == 0), ""))
		}
		s.silent(http.MethodPatch, items+"/a/status", `{"status":{"phase":"Processed"}}`, merge)
		for _, query := range []string{
			"", "?labelSelector=even%3Dtrue", "?labelSelector=even+notin+(true)", "?labelSelector=%21even", "?labelSelector=even%3D%3D%3D",
			"?fieldSelector=status.phase%3DProcessed", "?fieldSelector=status.phase%21%3DProcessed%2Cspec.sourceRef.name%3Dnews",
			"?fieldSelector=metadata.name%3Db", "?fieldSelector=spec.title%3DA", "?fieldSelector=x", "?limit=2", "?limit=4",
			"?limit=1&labelSelector=even%3Dtrue",
		} {
			s.ask(http.MethodGet, items+query, "")
		}
		first := s.silent(http.MethodGet, items+"?limit=3", "")
		s.ask(http.MethodGet, items+"?limit=3&continue="+text(first, "metadata", "continue"), "")
		s.ask(http.MethodGet, items+"?limit=1&continue=nonsense", "")
		asMetadata := http.Header{"Accept": {"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}}
		s.ask(http.MethodGet, items+"?limit=1", "", asMetadata)
		s.ask(http.MethodGet, items+"/a", "", http.Header{"Accept": {"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}})
	})
}

func TestAWatchTellsWhatChangesInItsOrder(t *testing.T) {
	both(t, func(s *script) {
		s.silent(http.MethodPost, items, item("before", "", ""))
		version := versionOf(s.silent(http.MethodGet, items, ""))
		w := s.watch(items, "", version)
		s.silent(http.MethodPost, items, item("a", `,"finalizers":["example.org/one"]`, ""))
		s.silent(http.MethodPatch, items+"/a/status", `{"status":{"retryCount":1}}`, merge)
		s.silent(http.MethodPatch, items+"/a/status", `{"status":{"retryCount":1}}`, merge) // nothing changes
		s.silent(http.MethodPost, items, item("b", "", ""))
		s.silent(http.MethodDelete, items+"/a", "")
		s.silent(http.MethodPatch, items+"/a", `{"metadata":{"finalizers":null}}`, merge)
		s.silent(http.MethodDelete, items+"/b", "")
		w.next(6)
		again := s.watch(items, "", version) // all of it again
		again.next(6)
	})
}

func TestAWatchBeginsWithWhatIsThere(t *testing.T) {
	both(t, func(s *script) {
		s.silent(http.MethodPost, items, item("a", "", ""))
		s.silent(http.MethodPost, items, item("b", "", ""))
		const streamed = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
		for i, query := range []string{"", streamed} {
			for j, version := range []string{"", "0"} {
				w := s.watch(items, query, version)
				w.next(2 + i) // with a bookmark
				s.silent(http.MethodPatch, items+"/b", fmt.Sprintf(`{"metadata":{"annotations":{"seen":"%d"}}}`, 2*i+j), merge)
				w.next(1)
			}
		}
	})
}

func TestAWatchOfASelectionTellsWhatEntersAndLeavesIt(t *testing.T) {
	both(t, func(s *script) {
		version := versionOf(s.silent(http.MethodGet, items, ""))
		byPhase := s.watch(items, "fieldSelector=status.phase%3DDeferred", version)
		byLabel := s.watch(items, "labelSelector=x", version)
		s.silent(http.MethodPost, items, item("a", `,"labels":{"x":"y"}`, ""))
		s.silent(http.MethodPatch, items+"/a/status", `{"status":{"phase":"Deferred"}}`, merge)
		s.silent(http.MethodPatch, items+"/a", `{"metadata":{"labels":{"x":null}}}`, merge)
		s.silent(http.MethodPatch, items+"/a/status", `{"status":{"phase":"Processed"}}`, merge)
		s.silent(http.MethodPatch, items+"/a/status", `{"status":{"phase":"Deferred"}}`, merge)
		s.silent(http.MethodDelete, items+"/a", "")
		byPhase.next(5)
		byLabel.next(3)
	})
}

func TestAWatchEndsWhenItIsToEnd(t *testing.T) {
	both(t, func(s *script) {
		version := versionOf(s.silent(http.MethodGet, items, ""))
		w := s.watch(items, "timeoutSeconds=1", version)
		w.event()
		s.ask(http.MethodGet, items+"?watch=true&resourceVersion=x", "")
	})
}

// 5. The kinds of Kubernetes.

func TestSecretsAndNamespacesAreThoseOfTheRealOne(t *testing.T) {
	both(t, func(s *script) {
		secret := `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"key"},"stringData":{"apiKey":"abc"}}`
		s.ask(http.MethodPost, secrets, secret)
		s.ask(http.MethodPatch, secrets+"/key", `{"stringData":{"other":"def"}}`, merge)
		s.ask(http.MethodPut, secrets+"/key", secret) // without a version
		s.ask(http.MethodGet, secrets+"?fieldSelector=type%3DOpaque", "")
		s.ask(http.MethodDelete, secrets+"/key", "")
		s.ask(http.MethodPost, "/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"NAMESPACE-2"}}`)
		s.ask(http.MethodDelete, "/api/v1/namespaces/NAMESPACE", "")
		s.ask(http.MethodPost, items, item("a", "", ""))
	})
}
