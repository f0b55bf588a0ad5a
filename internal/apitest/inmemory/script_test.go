// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package inmemory_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/apitest/inmemory"
)

// server is the real one.
var server *apitest.Server

func TestMain(m *testing.M) { os.Exit(apitest.Run(m, &server)) }

// both plays a script at a real API server and at one in memory, and each must answer the same.
func both(t *testing.T, play func(*script)) {
	t.Helper()
	t.Parallel()
	inMemory, err := inmemory.New(filepath.Join(apitest.ModuleRoot(t), "config", "crd", "bases"))
	if err != nil {
		t.Fatal(err)
	}
	apitest.Eventually(t, func(ctx context.Context) error { // it serves new kinds a moment after it has them
		return errors.Join(server.Client.List(ctx, &v1alpha1.FeedItemList{}), server.Client.List(ctx, &v1alpha1.FeedSourceList{}))
	})
	want := playedAt(t, server.Config, play)
	if played := playedAt(t, inMemory.Config(), play); played != want {
		for line, here := range strings.Split(want, "\n") {
			there, _, _ := strings.Cut(played, "\n")
			if _, played, _ = strings.Cut(played, "\n"); there != here {
				t.Errorf("line %d\na real API server answers %s\none in memory      answers %s", line, here, there)
			}
		}
	}
	if testing.Verbose() {
		t.Log(want)
	}
}

func playedAt(t *testing.T, config *rest.Config, play func(*script)) string {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	host, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		t.Fatal(err)
	}
	made := &script{T: t, client: client, host: strings.TrimSuffix(host.String(), "/"), called: map[string]string{}}
	namespace := made.silent(http.MethodPost, "/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"generateName":"test-"}}`)
	made.namespace = text(namespace, "metadata", "name")
	play(made)
	return made.heard.String()
}

// script is what somebody asks an API server, and what it answers, but for what differs each time: names of namespaces, UIDs, versions, times.
type script struct {
	*testing.T
	client    *http.Client
	host      string
	namespace string
	// called is what UIDs and versions are called, in the order in which they were heard.
	called map[string]string
	heard  strings.Builder
}

const (
	items   = "/apis/feeds.feed-operator.io/v1alpha1/namespaces/NAMESPACE/feeditems"
	sources = "/apis/feeds.feed-operator.io/v1alpha1/namespaces/NAMESPACE/feedsources"
	secrets = "/api/v1/namespaces/NAMESPACE/secrets"
)

// merge is the kind of a patch.
var merge = http.Header{"Content-Type": {"application/merge-patch+json"}}

// ask sends a request and writes down what is answered, which it returns.
func (s *script) ask(method, path, body string, headers ...http.Header) map[string]any {
	s.Helper()
	code, header, object := s.do(method, path, body, headers...)
	fmt.Fprintf(&s.heard, "%s %s %s\n  %d", method, token.ReplaceAllString(path, "TOKEN"), s.told(body), code)
	for _, warning := range header.Values("Warning") {
		fmt.Fprintf(&s.heard, " %s", warning)
	}
	fmt.Fprintf(&s.heard, " %s\n", s.said(object))
	return object
}

// silent is ask for what is no part of the comparison.
func (s *script) silent(method, path, body string, headers ...http.Header) map[string]any {
	s.Helper()
	code, _, object := s.do(method, path, body, headers...)
	if code >= http.StatusBadRequest {
		s.Fatalf("%s %s: %d %v", method, path, code, object)
	}
	s.said(object)
	return object
}

func (s *script) request(method, path, body string, headers ...http.Header) *http.Request {
	s.Helper()
	path = strings.ReplaceAll(path, "NAMESPACE", s.namespace)
	request, err := http.NewRequestWithContext(s.Context(), method, s.host+path, strings.NewReader(strings.ReplaceAll(body, "NAMESPACE", s.namespace)))
	if err != nil {
		s.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	for _, more := range headers {
		for name := range more {
			request.Header.Set(name, more.Get(name))
		}
	}
	return request
}

func (s *script) do(method, path, body string, headers ...http.Header) (code int, header http.Header, object map[string]any) {
	s.Helper()
	answer, err := s.client.Do(s.request(method, path, body, headers...))
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.Fatal(err)
	}
	if err := json.Unmarshal(text, &object); err != nil {
		s.Fatalf("%s %s: %d %s", method, path, answer.StatusCode, text)
	}
	return answer.StatusCode, answer.Header, object
}

// said is an answer without what differs each time.
func (s *script) said(object map[string]any) string {
	object = runtime.DeepCopyJSON(object)
	s.bare(object)
	text, err := json.Marshal(object)
	if err != nil {
		s.Fatal(err)
	}
	return s.told(string(text))
}

// told is a text without what differs each time.
func (s *script) told(text string) string {
	text = differing.ReplaceAllStringFunc(text, func(is string) string { return cmp.Or(s.called[is], is) })
	text = strings.ReplaceAll(text, s.namespace, "NAMESPACE")
	return whole.ReplaceAllString(moment.ReplaceAllString(text, "TIME"), "OBJECT")
}

var (
	differing = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b\d+\b`) // UIDs and versions
	moment    = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	token     = regexp.MustCompile(`eyJ\w+`)
	whole     = regexp.MustCompile(`\\"\{.*?\}\\"`) // an object in a message
)

// bare calls UIDs and versions by when they were heard first, and leaves out who manages which field.
func (s *script) bare(object map[string]any) {
	// What is listed is of the version that anybody wrote last.
	_, isList := object["items"]
	if meta, has := object["metadata"].(map[string]any); has && (isList || isBookmark(object)) {
		delete(meta, "resourceVersion")
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		switch value := object[name].(type) {
		case map[string]any:
			s.bare(value)
		case []any:
			for _, one := range value {
				if one, is := one.(map[string]any); is {
					s.bare(one)
				}
			}
		case string:
			switch name {
			case "uid":
				object[name] = s.call("UID-", value)
			case "resourceVersion":
				object[name] = s.call("VERSION-", value)
			case "continue":
				if object[name] = "TOKEN"; value == "" {
					delete(object, name)
				}
			}
		}
	}
	delete(object, "managedFields")
}

// isBookmark reports whether an object has nothing but a version.
func isBookmark(object map[string]any) bool {
	for name := range object {
		if name != "apiVersion" && name != "kind" && name != "metadata" {
			return false
		}
	}
	return text(object, "kind") == "FeedItem"
}

// call is what a UID or a version is called.
func (s *script) call(prefix, is string) string {
	if len(is) < len("x1") || strings.HasPrefix(is, prefix) { // it is the test's own
		return is
	}
	called := s.called[is]
	if called == "" {
		n := 1
		for _, other := range s.called {
			if strings.HasPrefix(other, prefix) {
				n++
			}
		}
		called = fmt.Sprintf("%s%d", prefix, n)
		s.called[is] = called
	}
	return called
}

// watching is a watch.
type watching struct {
	*script
	body  io.Closer
	lines *bufio.Scanner
}

// watch begins to watch what comes after a version.
func (s *script) watch(path, query, version string) *watching {
	s.Helper()
	answer, err := s.client.Do(s.request(http.MethodGet, path+"?watch=true&"+query+"&resourceVersion="+version, ""))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = answer.Body.Close() })
	fmt.Fprintf(&s.heard, "WATCH %s %s\n  %d\n", path, s.told(query), answer.StatusCode)
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	return &watching{s, answer.Body, lines}
}

// next writes down the next n events.
func (w *watching) next(n int) {
	w.Helper()
	for range n {
		w.event()
	}
}

// event writes down an event, and reports whether there was one before the end.
func (w *watching) event() bool {
	w.Helper()
	if !w.lines.Scan() {
		fmt.Fprintf(&w.heard, "  END %v\n", w.lines.Err())
		return false
	}
	var event map[string]any
	if err := json.Unmarshal(w.lines.Bytes(), &event); err != nil {
		w.Fatalf("%v: %s", err, w.lines.Text())
	}
	if isProgress(event) {
		return w.event()
	}
	fmt.Fprintf(&w.heard, "  %s\n", w.said(event))
	return true
}

// isProgress reports whether an event is a bookmark that says only how far a watch has come. A server may send one at any time, and need not
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#watch-bookmarks): a real one has sent one sooner where it was busy.
func isProgress(event map[string]any) bool {
	object, _ := event["object"].(map[string]any)
	return event["type"] == string(watch.Bookmark) && text(object, "metadata", "annotations", metav1.InitialEventsAnnotationKey) == ""
}

// text is a field of an object.
func text(object map[string]any, path ...string) string {
	for _, name := range path[:len(path)-1] {
		object, _ = object[name].(map[string]any)
	}
	found, _ := object[path[len(path)-1]].(string)
	return found
}

func versionOf(object map[string]any) string { return text(object, "metadata", "resourceVersion") }
