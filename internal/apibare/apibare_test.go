// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apibare

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/itemcache"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

const items = "/apis/feeds.feed-operator.io/v1alpha1/namespaces/news/feeditems"

// server answers with a body.
type server struct {
	body   io.Reader
	status int
	kind   string
}

func (s server) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: s.status, Header: http.Header{"Content-Type": {s.kind}, "Content-Length": {"1"}}, ContentLength: 1, Body: io.NopCloser(s.body),
	}, nil
}

// read returns what is read of the answer to a request.
func read(t *testing.T, path string, from server) (string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://api.example"+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := WrapTransport(from).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

func sent(body string) server {
	return server{strings.NewReader(body), http.StatusOK, "application/json"}
}

// R3.13: of what people hang onto an object nothing is read but what says something to the operator, whatever the answer is: an object, a list or a watch.
func TestWhatPeopleHangOntoAnObjectIsNotRead(t *testing.T) {
	t.Parallel()
	const object = `{"apiVersion":"v","kind":"FeedItem","metadata":{"name":"a","labels":{"team":"web","labels":"x"},"managedFields":[{"fieldsV1":{"f:a":{}}}],` +
		`"ownerReferences":[{"uid":"1"}],"finalizers":["x"],"annotations":{"note":"long","feeds.feed-operator.io/retry":"1","feeds.feed-operator.io/folder":"f"},"uid":"u"},` +
		`"spec":{"title":"A \"title\" \u003c\ud83d\ude00","metadata":{"labels":{"of":"nobody"}},"items":[{"metadata":{"labels":1}}]},"status":{"phase":"Pending","labels":[]}}`
	const bare = `{"apiVersion":"v","kind":"FeedItem","metadata":{"name":"a","annotations":{"feeds.feed-operator.io/retry":"1"},"uid":"u"},` +
		`"spec":{"title":"A \"title\" \u003c\ud83d\ude00","metadata":{"labels":{"of":"nobody"}},"items":[{"metadata":{"labels":1}}]},"status":{"phase":"Pending","labels":[]}}`
	const bookmark = `{"type":"BOOKMARK","object":{"kind":"FeedItem","metadata":{"resourceVersion":"7","annotations":{"k8s.io/initial-events-end":"true"}},"spec":{}}}`
	for name, test := range map[string]struct{ answer, want string }{
		"an object":              {object, bare},
		"a list":                 {`{"kind":"FeedItemList","metadata":{"continue":"x","resourceVersion":"7"},"items":[` + object + "," + object + `]}`, `{"kind":"FeedItemList","metadata":{"continue":"x","resourceVersion":"7"},"items":[` + bare + "," + bare + `]}`},
		"an empty list":          {`{"metadata":{},"items":[]}`, `{"metadata":{},"items":[]}`},
		"a list that is null":    {`{"items":null,"metadata":null}`, `{"items":null,"metadata":null}`},
		"a watch":                {`{"type":"ADDED","object":` + object + "}\n" + bookmark + "\n", `{"type":"ADDED","object":` + bare + "}\n" + bookmark},
		"a watch that has ended": {"", ""},
		"a status":               {`{"kind":"Status","metadata":{},"code":200}`, `{"kind":"Status","metadata":{},"code":200}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := read(t, items, sent(test.answer))
			if diff := cmp.Diff(test.want, strings.TrimSuffix(got, "\n")); diff != "" || err != nil {
				t.Errorf("error %v, read (-want +got)\n%s", err, diff)
			}
		})
	}
}

// R3.13: what the cache drops of an item is not read of its watch, and is of all other answers. The cached form is the same.
func TestWhatTheCacheDropsIsNotReadOfItsWatch(t *testing.T) {
	t.Parallel()
	item := &v1alpha1.FeedItem{
		ObjectMeta: metav1.ObjectMeta{Namespace: "news", Name: "a", UID: "u", ResourceVersion: "7", Generation: 1},
		Spec: v1alpha1.FeedItemSpec{
			SourceRef: v1alpha1.SourceReference{Name: "press", UID: "s"}, GUID: "guid", URL: "https://news.example/a", Title: "A title", Author: "someone",
			Categories: []string{"politics"}, Content: "dropped", CompressedContent: "dropped", Image: &v1alpha1.EntryImage{URL: "https://news.example/a.png"},
		},
		Status: v1alpha1.FeedItemStatus{
			Phase: v1alpha1.PhasePending, Reason: v1alpha1.ReasonAPIFailed, ArticleHash: "hash", RetryCount: 1,
			History:    []v1alpha1.HistoryEntry{{Stage: v1alpha1.StageScreen, Object: "dropped"}},
			Deliveries: []v1alpha1.Delivery{{Destination: "mastodon", TextHash: "hash"}},
			Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "RetryLater", Message: "why"}},
		},
	}
	text, err := json.Marshal(item)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := read(t, items+"?watch=false", sent(`{"object":`+string(text)+`}`))
	watched, watchErr := read(t, items+"?allowWatchBookmarks=true&watch=true", sent(`{"type":"MODIFIED","object":`+string(text)+`}`))
	if err := errors.Join(err, watchErr); err != nil || strings.Count(whole, "dropped") != 3 || strings.Contains(watched, "dropped") || strings.Contains(watched, "someone") {
		t.Errorf("error %v\nof an answer are read %s\nof a watch are read  %s", err, whole, watched)
	}
	if diff := cmp.Diff(cached(t, whole), cached(t, watched)); diff != "" {
		t.Errorf("the cached form is another one (-whole +watched)\n%s", diff)
	}
}

// cached is what the cache keeps of the item of an event.
func cached(t *testing.T, event string) any {
	t.Helper()
	var of struct{ Object *v1alpha1.FeedItem }
	if err := json.Unmarshal([]byte(event), &of); err != nil {
		t.Fatal(err)
	}
	slim, err := itemcache.Slim(of.Object)
	if err != nil {
		t.Fatal(err)
	}
	return slim
}

// R3.13: an annotation that says something to the operator is as long as whoever may annotate the object wants. What is kept of it is no longer than what
// it may say, and a token is still another one than others.
func TestNoAnnotationIsKeptThatIsLongerThanWhatItMaySay(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 250<<10)
	for name, want := range map[string]string{
		"feeds.feed-operator.io/retry": lifecycle.TokenOf(long), "feeds.feed-operator.io/poll": lifecycle.TokenOf(long),
		"feeds.feed-operator.io/original-uid": "", "feeds.feed-operator.io/original-creation": "", "feeds.feed-operator.io/title": "",
	} {
		got, err := read(t, items+"/a", sent(fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, name, long)))
		var object struct {
			Metadata struct{ Annotations map[string]string }
		}
		if err = errors.Join(err, json.Unmarshal([]byte(got), &object)); err != nil || object.Metadata.Annotations[name] != want {
			t.Errorf("%s: %d bytes are kept (%v)", name, len(got), err)
		}
	}
}

// R3.13: other answers are read as they are.
func TestOtherAnswersAreReadAsTheyAre(t *testing.T) {
	t.Parallel()
	const object = `{"metadata": {"labels": {"team": "web"}}}`
	for path, from := range map[string]server{
		"/apis/feeds.feed-operator.io/v1alpha1/namespaces/feeditems/feedmemories/a": sent(object),
		"/api/v1/namespaces/feeditems/secrets":                                      sent(object),
		"/apis/feeds.feed-operator.io/v1alpha1/feeditemsandmore":                    sent(object),
		items:        {strings.NewReader(object), http.StatusConflict, "application/json"},
		items + "/a": {strings.NewReader(object), http.StatusOK, "application/vnd.kubernetes.protobuf"},
	} {
		if got, err := read(t, path, from); got != object || err != nil {
			t.Errorf("%s: %s (%v)", path, got, err)
		}
	}
	for _, path := range []string{
		items, items + "/a/status", "/apis/feeds.feed-operator.io/v1alpha1/feedsources", "/k8s/of/proxy" + items,
		"/apis/feeds.feed-operator.io/v1alpha1/namespaces/namespaces/aiproviders", "/apis/feeds.feed-operator.io/v1alpha1/namespaces/a/feeddestinations/b",
	} {
		if got, err := read(t, path, sent(object)); strings.TrimSpace(got) != `{"metadata":{}}` || err != nil {
			t.Errorf("%s: %s (%v)", path, got, err)
		}
	}
}

// R1.6: an event of a watch is handed on when it has come, whatever comes after it.
func TestAnEventOfAWatchIsNotHeldBack(t *testing.T) {
	t.Parallel()
	out, in := io.Pipe()
	watch := newAnswer(out, ofAll)
	for i := range 3 {
		event := fmt.Sprintf(`{"type":"ADDED","object":{"metadata":{"name":"%d"}}}`+"\n", i)
		go func() { _, _ = io.WriteString(in, event) }()
		got := make([]byte, len(event))
		if _, err := io.ReadFull(watch, got); err != nil || string(got) != event {
			t.Errorf("%q (%v)", got, err)
		}
	}
	reset := errors.New("connection reset")
	_ = in.CloseWithError(reset)
	if _, err := watch.Read(make([]byte, 1)); !errors.Is(err, reset) {
		t.Errorf("it ends with %v", err)
	}
}

// R1.6: an answer that is cut off, wherever, ends as its body does, and is never taken for a whole one.
func TestAnAnswerThatIsCutOffIsNotWhole(t *testing.T) {
	t.Parallel()
	const whole = `{"metadata":{"labels":{"a":"b"},"annotations":{"feeds.feed-operator.io/retry":"1"}},"items":[{"metadata":{"name":"a"},"spec":{"x":[1,2]}}]}`
	for n := 1; n < len(whole); n++ {
		if got, err := read(t, items, sent(whole[:n])); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("of %s came %s (%v)", whole[:n], got, err)
		}
	}
	if got, err := read(t, items, sent("<html>Sign in</html>")); err == nil {
		t.Errorf("of a page came %s", got)
	}
}

// endless is a list of objects of which each has as many labels as the API server takes. Nothing holds it.
func endless(objects int) io.Reader {
	labels := func() io.Reader {
		i := 0
		return readerFunc(func(into []byte) (int, error) {
			if i == 100_000 {
				return 0, io.EOF
			}
			i++
			return copy(into, fmt.Sprintf(`"l%d":"",`, i)), nil
		})
	}
	parts := []io.Reader{strings.NewReader(`{"metadata":{},"items":[`)}
	for i := range objects {
		comma := ","
		if i == 0 {
			comma = ""
		}
		parts = append(parts, strings.NewReader(comma+`{"metadata":{"labels":{`), labels(), strings.NewReader(fmt.Sprintf(`"z":""},"name":"%d"}}`, i)))
	}
	return io.MultiReader(append(parts, strings.NewReader("]}"))...)
}

type readerFunc func(into []byte) (int, error)

func (f readerFunc) Read(into []byte) (int, error) { return f(into) }

// R3.13: however many labels a page of items has, what is held of them at any time is less than one object with all of its own.
func TestLabelsAreNeverHeld(t *testing.T) {
	t.Parallel()
	list := newAnswer(io.NopCloser(endless(5)), ofAll)
	text, err := io.ReadAll(list)
	if err != nil || len(text) > 1000 || strings.Count(string(text), `"name"`) != 5 {
		t.Errorf("%d bytes are read: %.200s (%v)", len(text), text, err)
	}
	if held := cap(list.in.UnreadBuffer()) + cap(list.made.ready); held > 64<<10 {
		t.Errorf("%d bytes are held", held)
	}
}

// R1.6: whatever an object is, nothing else of it is changed.
func TestAllElseIsReadAsItIs(t *testing.T) {
	t.Parallel()
	names := rapid.SampledFrom([]string{"metadata", "labels", "annotations", "items", "object", "name", "spec", "finalizers", "feeds.feed-operator.io/poll", "\"ü\n", ""})
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		plain := []*rapid.Generator[any]{
			rapid.String().AsAny(), rapid.Float64Range(-1e9, 1e9).AsAny(), rapid.Bool().AsAny(), rapid.Just[any](nil),
		}
		if depth > 0 {
			below := rapid.Deferred(func() *rapid.Generator[any] { return value(depth - 1) })
			plain = append(plain, rapid.MapOfN(names, below, 0, 5).AsAny(), rapid.SliceOfN(below, 0, 3).AsAny())
		}
		return rapid.OneOf(plain...)
	}
	rapid.Check(t, func(t *rapid.T) {
		object := rapid.MapOfN(names, value(4), 0, 6).Draw(t, "object")
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(newAnswer(io.NopCloser(strings.NewReader(string(text))), ofAll))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var want, is any
		if err := errors.Join(json.Unmarshal(text, &want), json.Unmarshal(got, &is)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(expected(want), is); diff != "" {
			t.Fatalf("of %s came %s\n%s", text, got, diff)
		}
	})
}

// expected is what is to be read of an answer.
func expected(answer any) any {
	object, is := answer.(map[string]any)
	if !is {
		return answer
	}
	strip := func(of any) {
		metadata, is := of.(map[string]any)
		if !is {
			return
		}
		for name := range hung {
			delete(metadata, name)
		}
		annotations, _ := metadata["annotations"].(map[string]any)
		for name, value := range annotations {
			text, is := value.(string)
			if keep := meant[name]; keep == nil || !is {
				delete(annotations, name)
			} else {
				annotations[name], _ = keep(text)
			}
		}
	}
	strip(object["metadata"])
	below, _ := object["items"].([]any)
	for _, one := range append(below, object["object"]) {
		if of, is := one.(map[string]any); is {
			strip(of["metadata"])
		}
	}
	return object
}
