// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"golang.org/x/net/html"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/itemcache"
)

var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// world is a page, and the objects that it shows.
type world struct {
	t       *testing.T
	client  client.WithWatch
	board   *Board
	handler http.Handler
	log     *bytes.Buffer
	// reviewing is called before a question about people is answered, if it is set.
	reviewing func(client.Object) error

	mu sync.Mutex
	// now is the time of the operator.
	now time.Time
	// passed is how much time has passed, whatever the clock says.
	passed time.Duration
	// may says what the holders of tokens may do, such as "list feeditems a": "*" in place of the namespace is for all.
	may map[string][]string
	// asked are the requests to the API server, by what they are.
	asked map[string]int
	ended chan struct{}
	// revoked is set if the API server takes no token any more for what is pressed.
	revoked bool
}

func (w *world) time() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) hasPassed() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.passed
}

// pass has time pass, so that the next look is at what there is then.
func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	w.now, w.passed = w.now.Add(d), w.passed+d
	w.mu.Unlock()
	w.board.Changed()
}

func (w *world) count(what string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked[what]
}

func newWorld(t *testing.T, change func(*Options), objects ...client.Object) *world {
	t.Helper()
	w := &world{t: t, now: noon, may: map[string][]string{}, asked: map[string]int{}, ended: make(chan struct{}), log: &bytes.Buffer{}}
	building := fake.NewClientBuilder().WithScheme(apitest.Scheme()).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{Create: w.review, Get: w.get})
	if err := itemcache.Index(t.Context(), apitest.Indexes{ClientBuilder: building}); err != nil {
		t.Fatal(err)
	}
	w.client = building.Build()
	w.board = NewBoard(w.client, w.time)
	options := Options{Board: w.board, Live: w.client, Now: w.time, Passed: w.hasPassed, Writer: w.client, Log: logr.Discard()}
	if change != nil {
		change(&options)
	}
	if options.Reviews == asked {
		options.Reviews = w.client
		options.As = func(token string) (client.Client, error) { return writer{w.client, w, token}, nil }
	}
	options.Log = funcr.New(func(prefix, args string) { fmt.Fprintln(w.log, prefix, args) }, funcr.Options{})
	w.handler = NewHandler(options, w.ended)
	return w
}

// asked stands for an API server that is asked who people are.
var asked client.Client = &writer{}

func withAuth(options *Options) { options.Reviews = asked }

func withActions(options *Options) { options.Actions = true }

// writer is the API server as the holder of a token reaches it.
type writer struct {
	client.Client
	w     *world
	token string
}

func (c writer) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	resource := "feeditems"
	if _, is := object.(*v1alpha1.FeedSource); is {
		resource = "feedsources"
	}
	if c.w.revoked {
		return apierrors.NewUnauthorized("the token was revoked")
	}
	if !c.w.allows(c.token, "patch "+resource+" "+object.GetNamespace()) {
		return forbidden(resource)
	}
	return c.Client.Patch(ctx, object, patch, options...)
}

func (w *world) allows(token, what string) bool {
	verb, namespace := what[:strings.LastIndex(what, " ")], what[strings.LastIndex(what, " ")+1:]
	return slices.Contains(w.may[token], verb+" "+namespace) || slices.Contains(w.may[token], verb+" *")
}

// review answers the questions that the API server is asked about people. The name of a person is "user of" their token, but for that of a
// ServiceAccount.
func (w *world) review(ctx context.Context, to client.WithWatch, object client.Object, options ...client.CreateOption) error {
	if w.reviewing != nil {
		if err := w.reviewing(object); err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch review := object.(type) {
	case *authenticationv1.TokenReview:
		w.asked["token"]++
		if _, known := w.may[review.Spec.Token]; known {
			review.Status.Authenticated, review.Status.User.Username = true, "user of "+review.Spec.Token
			if strings.HasPrefix(review.Spec.Token, "system:serviceaccount:") {
				review.Status.User.Username = review.Spec.Token
			}
		}
		return nil
	case *authorizationv1.SubjectAccessReview:
		w.asked["access"]++
		of := review.Spec.ResourceAttributes
		namespace := of.Namespace
		if namespace == "" {
			namespace = "everywhere" // which "*" allows, and no namespace
		}
		review.Status.Allowed = w.allows(strings.TrimPrefix(review.Spec.User, "user of "), of.Verb+" "+of.Resource+" "+namespace)
		return nil
	}
	return to.Create(ctx, object, options...)
}

func (w *world) get(ctx context.Context, to client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	w.mu.Lock()
	w.asked["get"]++
	w.mu.Unlock()
	return to.Get(ctx, key, object, options...)
}

// answer is what somebody gets.
type answer struct {
	*httptest.ResponseRecorder
	t    *testing.T
	tree *html.Node
}

// ask sends a request as a browser does; headers come in pairs, and "from" is the address that it comes from.
func (w *world) ask(method, path string, form url.Values, headers ...string) answer {
	w.t.Helper()
	var body string
	if form != nil {
		body = form.Encode()
	}
	request := httptest.NewRequestWithContext(w.t.Context(), method, path, strings.NewReader(body))
	request.Host = "127.0.0.1:8083"
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		switch headers[i] {
		case "Host":
			request.Host = headers[i+1]
		case "from":
			request.RemoteAddr = headers[i+1]
		default:
			request.Header.Add(headers[i], headers[i+1])
		}
	}
	recorder := httptest.NewRecorder()
	w.handler.ServeHTTP(recorder, request)
	tree, err := html.Parse(bytes.NewReader(recorder.Body.Bytes()))
	if err != nil {
		w.t.Fatal(err)
	}
	return answer{recorder, w.t, tree}
}

func (w *world) see(path string, headers ...string) answer {
	w.t.Helper()
	got := w.ask(http.MethodGet, path, nil, headers...)
	if got.Code != http.StatusOK {
		w.t.Fatalf("GET %s: %d: %s", path, got.Code, got.text())
	}
	return got
}

// text is what a person reads.
func (a answer) text() string {
	var words []string
	for node := range a.tree.Descendants() {
		if node.Type == html.TextNode {
			words = append(words, strings.Fields(node.Data)...)
		}
	}
	return strings.Join(words, " ")
}

// all are the elements of a kind that have an attribute.
func (a answer) all(tag, attribute string) (values []string) {
	for node := range a.tree.Descendants() {
		for _, has := range node.Attr {
			if node.Type == html.ElementNode && node.Data == tag && has.Key == attribute {
				values = append(values, has.Val)
			}
		}
	}
	return values
}

// form is the token of the form on a page.
func (a answer) form() string {
	for node := range a.tree.Descendants() {
		if node.Type == html.ElementNode && node.Data == "input" && attribute(node, "name") == "form" {
			return attribute(node, "value")
		}
	}
	return ""
}

func attribute(node *html.Node, key string) string {
	for _, has := range node.Attr {
		if has.Key == key {
			return has.Val
		}
	}
	return ""
}

func (a answer) has(words ...string) {
	a.t.Helper()
	for _, want := range words {
		if !strings.Contains(a.text(), want) {
			a.t.Errorf("%q is not on the page: %s", want, a.text())
		}
	}
}

func (a answer) lacks(words ...string) {
	a.t.Helper()
	for _, not := range words {
		if strings.Contains(a.Body.String(), not) {
			a.t.Errorf("%q is on the page: %s", not, a.text())
		}
	}
}

func aSource(namespace, name string, change ...func(*v1alpha1.FeedSource)) *v1alpha1.FeedSource {
	source := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID("uid-" + namespace + "-" + name), CreationTimestamp: metav1.NewTime(noon.Add(-48 * time.Hour)),
	}}
	source.Spec.URL = "https://" + name + ".example/private-path/feed?token=s3cr3t"
	source.Status.LastSuccessTime = new(metav1.NewTime(noon.Add(-time.Minute)))
	source.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Succeeded", Message: "Reads it"}}
	for _, c := range change {
		c(source)
	}
	return source
}

func anItem(source *v1alpha1.FeedSource, name string, phase v1alpha1.Phase, change ...func(*v1alpha1.FeedItem)) *v1alpha1.FeedItem {
	item := &v1alpha1.FeedItem{ObjectMeta: metav1.ObjectMeta{
		Namespace: source.Namespace, Name: name, UID: types.UID("uid-" + source.Namespace + "-" + name), CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour)),
	}}
	item.Spec.SourceRef = v1alpha1.SourceReference{Name: source.Name, UID: source.UID}
	item.Spec.Title = "Title of " + name
	item.Status.Phase = phase
	item.Status.LastCheckTime = new(metav1.NewTime(noon.Add(-time.Minute)))
	for _, c := range change {
		c(item)
	}
	return item
}

func because(reason v1alpha1.Reason) func(*v1alpha1.FeedItem) {
	return func(item *v1alpha1.FeedItem) { item.Status.Reason = reason }
}

func titled(title string) func(*v1alpha1.FeedItem) {
	return func(item *v1alpha1.FeedItem) { item.Spec.Title = title }
}

func checked(ago time.Duration) func(*v1alpha1.FeedItem) {
	return func(item *v1alpha1.FeedItem) { item.Status.LastCheckTime = new(metav1.NewTime(noon.Add(-ago))) }
}

func key(namespace, name string) client.ObjectKey {
	return client.ObjectKey{Namespace: namespace, Name: name}
}
