// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/openaitest"
	"github.com/feed-operator/feed-operator/internal/seen"
)

// What there is in a town beside its feeds, by the names of the plan.
const (
	apiServer = "the API server"
	replica   = "replica "
	clocks    = "the clocks"
	// model writes the summaries of one of the feeds.
	model = "model"
	// press gets the posts of both feeds, mirror those of one, and desk the notices of what has failed.
	press  = "press"
	mirror = "mirror"
	desk   = "desk"
)

var accountNames = []string{press, mirror, desk}

// postTimeout is how long one request to a destination or the model may take in a town.
const postTimeout = 2 * time.Second

// town is a namespace with two feeds, three accounts to post to, and a model; each behind a network of its own, and so is the API
// server. Some replicas of the operator work there.
type town struct {
	ctx       context.Context
	plan      *plan
	began     time.Time
	namespace string
	chronicle *chronicle
	// ahead is how far the clocks of all others are ahead of the operator's, in nanoseconds.
	ahead atomic.Int64

	apiServer *frontDoor
	accounts  map[string]*mastodon
	feeds     map[string]*feedtest.Server
	model     *openaitest.Server
	networks  map[string]*network
	replicas  map[string]*keptReplica

	// apiDisturbed means that the API server may not take writes.
	apiDisturbed atomic.Bool
	// interrupted is closed when a person ends the test; nil where nobody can.
	interrupted <-chan struct{}
	// tokens counts what a person has asked for.
	tokens atomic.Int64
	fail   func(format string, args ...any)
}

// newTown makes a town, with nobody at work yet.
func newTown(t *testing.T, p *plan) *town {
	t.Helper()
	n := &town{
		ctx: context.WithoutCancel(t.Context()), plan: p, began: time.Now(), namespace: server.Namespace(t), model: openaitest.New(""), fail: t.Errorf,
		accounts: map[string]*mastodon{}, feeds: map[string]*feedtest.Server{}, networks: map[string]*network{}, replicas: map[string]*keptReplica{},
	}
	n.chronicle = newChronicle(t, n)
	n.apiServer = newFrontDoor(t, n)
	n.networks[apiServer] = newNetwork(t, n.apiServer.URL)
	t.Cleanup(n.model.Close)
	n.networks[model] = newNetwork(t, strings.TrimSuffix(n.model.URL, "/v1"))
	n.breakModel(nil)
	for name, drawn := range p.accounts {
		n.accounts[name] = newMastodon(t, n, name, drawn)
		n.networks[name] = newNetwork(t, n.accounts[name].URL)
	}
	for _, name := range feedNames {
		n.feeds[name] = feedtest.New(t)
		n.networks[name] = newNetwork(t, n.feeds[name].URL)
	}
	n.apply(t)
	kubeconfig := kubeconfigFile(t, openKubeconfig(n.networks[apiServer].URL))
	for _, name := range p.crew.replicas() {
		flags := []string{"--allow-http"}
		if p.crew == sharers {
			flags = append(flags, "--shards=4")
		}
		if p.crew == elected || p.crew == sharers {
			flags = append(flags, "--leader-elect", "--leader-election-namespace="+n.namespace)
		}
		n.replicas[name] = keepReplica(t, n, name, kubeconfig, flags...)
	}
	return n
}

// apply creates what a person describes, but for the sources.
func (n *town) apply(t *testing.T) {
	t.Helper()
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: n.namespace, Name: name} }
	writer := &v1alpha1.AIProvider{ObjectMeta: meta(model)}
	writer.Spec.OpenAI = &v1alpha1.OpenAIProvider{Model: "model-1", Endpoint: n.networks[model].URL + "/v1"}
	writer.Spec.Timeout = &metav1.Duration{Duration: postTimeout}
	objects := []client.Object{writer}
	for _, name := range accountNames {
		secret := &corev1.Secret{ObjectMeta: meta(name)}
		secret.StringData = map[string]string{"accessToken": "token-of-" + name}
		destination := &v1alpha1.FeedDestination{ObjectMeta: meta(name)}
		destination.Spec.Mastodon = &v1alpha1.MastodonDestination{Server: n.networks[name].URL, SecretRef: v1alpha1.SecretReference{Name: name}}
		if name == desk {
			destination.Spec.Mastodon.Visibility = v1alpha1.VisibilityDirect
		}
		destination.Spec.Timeout = &metav1.Duration{Duration: postTimeout}
		destination.Spec.MaxConcurrent = new(int32(2))
		destination.Spec.Retry = &v1alpha1.DeliveryRetryPolicy{
			MaxRetries: new(int32(100)), InitialDelay: &metav1.Duration{Duration: time.Second},
			MaxDelay: &metav1.Duration{Duration: 3 * time.Second}, Multiplier: new(int32(1)),
		}
		objects = append(objects, secret, destination)
	}
	for _, object := range objects {
		if err := server.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

// source is a feed's FeedSource, as a person describes it.
func (n *town) source(name string) *v1alpha1.FeedSource {
	source := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: n.namespace, Name: name}}
	source.Spec.URL = n.networks[name].URL + "/feed.xml"
	source.Spec.Timeout = &metav1.Duration{Duration: postTimeout}
	source.Spec.InitialItems = new(int32(mostStories))
	for _, destination := range destinationsOf(name) {
		source.Spec.Destinations = append(source.Spec.Destinations, v1alpha1.DestinationReference{Name: destination})
	}
	source.Spec.Notifications = []v1alpha1.DestinationReference{{Name: desk}}
	if name == written {
		source.Spec.Providers = []v1alpha1.ProviderReference{{Name: model}}
	}
	if name == plain { // what is posted is removed soon, and is listed again all the same
		source.Spec.Retention = &v1alpha1.RetentionPolicy{Processed: &metav1.Duration{Duration: time.Minute}, KeepLast: new(int32(3))}
	}
	source.Spec.Retry = &v1alpha1.RetryPolicy{
		MaxRetries: new(int32(100)), InitialDelay: &metav1.Duration{Duration: time.Second},
		MaxDelay: &metav1.Duration{Duration: 3 * time.Second}, Multiplier: new(int32(1)),
	}
	return source
}

// destinationsOf names where the summaries of a feed go.
func destinationsOf(feed string) []string {
	if feed == written {
		return []string{press, mirror}
	}
	return []string{press}
}

// now is the time by the clock of the API server.
func (n *town) now() time.Time { return time.Now().Add(time.Duration(n.ahead.Load())) }

// setClocks sets how far the clocks of all others are ahead of the operator's.
func (n *town) setClocks(ahead time.Duration) {
	n.ahead.Store(int64(ahead))
	n.apiServer.ahead.Store(int64(ahead))
}

// list has a feed list these entries, and a person has it polled.
func (n *town) list(name string, document []listing) {
	published := time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)
	entries := make([]feedtest.Entry, 0, len(document))
	for i, entry := range document {
		entries = append(entries, feedtest.Entry{
			GUID: entry.guid, Link: n.networks[name].URL + entry.path, Title: entry.title, Content: entry.content,
			Published: published.Add(-time.Duration(i) * time.Hour),
		})
	}
	n.feeds[name].List(entries...)
	n.poll(name)
}

// poll has a person ask for a poll, and returns the token of that.
func (n *town) poll(name string) string {
	return n.annotate(&v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: n.namespace, Name: name}}, v1alpha1.AnnotationPoll)
}

// retry has a person retry what has failed of a source or at a service.
func (n *town) retry(name string) {
	meta := metav1.ObjectMeta{Namespace: n.namespace, Name: name}
	switch name {
	case plain, written:
		n.annotate(&v1alpha1.FeedSource{ObjectMeta: meta}, v1alpha1.AnnotationRetry)
	case model:
		n.annotate(&v1alpha1.AIProvider{ObjectMeta: meta}, v1alpha1.AnnotationRetry)
	default:
		n.annotate(&v1alpha1.FeedDestination{ObjectMeta: meta}, v1alpha1.AnnotationRetry)
	}
}

// annotate puts a new token on an object.
func (n *town) annotate(object client.Object, annotation string) (token string) {
	token = fmt.Sprintf("token-%d", n.tokens.Add(1))
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, annotation, token))
	if err := client.IgnoreNotFound(server.Client.Patch(n.ctx, object, patch)); err != nil {
		n.fail("annotate %s: %v", object.GetName(), err)
	}
	return token
}

// retryItem has a person retry the item of a story.
func (n *town) retryItem(story string) string {
	item := n.chronicle.newest(story)
	if item == nil {
		return "there is none"
	}
	n.annotate(item.DeepCopy(), v1alpha1.AnnotationRetry)
	return fmt.Sprintf("%s, which is %s", item.Name, item.Status.Phase)
}

// deleteItem has a person delete the item of a story. One that is not in the memory of its source yet is left alone: the poll that made it
// was cut off, and the next one makes it again.
func (n *town) deleteItem(story string) string {
	item := n.chronicle.newest(story)
	if item == nil {
		return "there is none"
	}
	if !n.remembered(item) {
		return item.Name + " is not remembered yet, and is left alone"
	}
	n.chronicle.deletedByPerson(item.UID)
	if err := client.IgnoreNotFound(server.Client.Delete(n.ctx, item.DeepCopy())); err != nil {
		n.fail("delete %s: %v", item.Name, err)
	}
	return fmt.Sprintf("%s, which is %s", item.Name, item.Status.Phase)
}

// remembered reports whether the memory of an item's source knows of its story.
func (n *town) remembered(item *v1alpha1.FeedItem) bool {
	var memories v1alpha1.FeedMemoryList
	if err := server.Client.List(n.ctx, &memories, client.InNamespace(n.namespace)); err != nil {
		n.fail("list the memories: %v", err)
		return false
	}
	for i := range memories.Items {
		memory := &memories.Items[i]
		if owner := metav1.GetControllerOf(memory); owner == nil || owner.UID != item.Spec.SourceRef.UID {
			continue
		}
		book, err := seen.Load(memory.Data)
		if err != nil {
			n.fail("load %s: %v", memory.Name, err)
			return false
		}
		if seen.NamesOf(book, item.Spec.SourceRef.Name, string(item.Spec.SourceRef.UID)).Remembered(item.Name) {
			return true
		}
	}
	return false
}

// reapply has a person delete a FeedSource, and apply it again at once.
func (n *town) reapply(name string) string {
	source := n.source(name)
	if err := server.Client.Delete(n.ctx, source); err != nil {
		n.fail("delete FeedSource %s: %v", name, err)
	}
	if err := server.Client.Create(n.ctx, source); err != nil {
		n.fail("apply FeedSource %s again: %v", name, err)
	}
	n.collect()
	return ""
}

// collect removes the items of sources that are gone, as the garbage collector of a cluster does.
func (n *town) collect() {
	var sources v1alpha1.FeedSourceList
	if err := server.Client.List(n.ctx, &sources, client.InNamespace(n.namespace)); err != nil {
		n.fail("list the sources: %v", err)
		return
	}
	there := map[types.UID]bool{}
	for i := range sources.Items {
		there[sources.Items[i].UID] = true
	}
	for _, item := range n.chronicle.all() {
		if item.deleted || there[item.last.Spec.SourceRef.UID] {
			continue
		}
		n.chronicle.deletedByPerson(item.last.UID)
		if err := client.IgnoreNotFound(server.Client.Delete(n.ctx, item.last.DeepCopy())); err != nil {
			n.fail("delete %s: %v", item.last.Name, err)
		}
	}
}

// breakNetwork makes the network before a server do what a fault says.
func (n *town) breakNetwork(whom string, how fault) string {
	switch whom {
	case model:
		n.chronicle.hiccup()
	case apiServer:
		n.apiDisturbed.Store(how != healthy)
	}
	if err := n.networks[whom].set(how); err != nil {
		n.fail("mend the network before %s: %v", whom, err)
	}
	return ""
}

// modelFailures are what the model may answer that is no summary.
var modelFailures = []struct {
	says   string
	answer func() openaitest.Answer
}{
	{"fails", openaitest.Internal},
	{"is overloaded", openaitest.Overloaded},
	{"answers 429, come back in two seconds", func() openaitest.Answer { return openaitest.Throttled(2 * time.Second) }},
	{"answers half of a document", openaitest.BrokenJSON},
	{"answers nothing", openaitest.Empty},
}

// breakModel has the model answer all calls alike; nil: as usual, when it refuses what is spoiled only.
func (n *town) breakModel(answer func() openaitest.Answer) {
	n.model.OnCall(func(call openaitest.Call) (openaitest.Answer, bool) {
		switch {
		case answer != nil:
			return answer(), true
		case strings.Contains(call.User, "Spoiled"):
			return openaitest.Stopped("content_filter"), true
		}
		n.chronicle.answered(writtenAbout.FindString(call.User))
		return openaitest.Answer{}, false
	})
}

// storyIn finds the story that an address or a text is about.
var storyIn = regexp.MustCompile(`/articles/((?:` + plain + `|` + written + `)-\d+)\b`)

// writtenAbout finds the story that the model is asked about.
var writtenAbout = regexp.MustCompile(`\b` + written + `-\d+\b`)

func storyOf(text string) string {
	if found := storyIn.FindStringSubmatch(text); found != nil {
		return found[1]
	}
	return ""
}

// frontDoor is what managers see of the API server: it may be refused to them, and another time may be shown.
type frontDoor struct {
	*apiProxy
	URL string

	town    *town
	mu      sync.Mutex
	refusal refusal
}

// refusal is what the API server answers in place of doing what a request asks for; nil where it does that.
type refusal func(*http.Request) *metav1.Status

func newFrontDoor(t *testing.T, n *town) *frontDoor {
	t.Helper()
	d := &frontDoor{apiProxy: newAPIProxy(t), town: n}
	front := httptest.NewServer(d)
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	d.URL = front.URL
	return d
}

func (d *frontDoor) refuse(refusal refusal) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refusal = refusal
	d.town.apiDisturbed.Store(refusal != nil)
}

func (d *frontDoor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	refusal := d.refusal
	d.mu.Unlock()
	if refusal != nil {
		if status := refusal(r); status != nil {
			status.Kind, status.APIVersion, status.Status = "Status", "v1", metav1.StatusFailure
			w.Header().Set("Date", d.town.now().UTC().Format(http.TimeFormat))
			w.Header().Set("Content-Type", "application/json")
			if status.Code == http.StatusTooManyRequests {
				w.Header().Set("Retry-After", "1")
			}
			w.WriteHeader(int(status.Code))
			_ = json.NewEncoder(w).Encode(status)
			return
		}
	}
	d.apiProxy.ServeHTTP(w, r)
}

// The refusals of an API server.
func unavailable(*http.Request) *metav1.Status {
	return &metav1.Status{Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable, Message: "the server is currently unable to handle the request"}
}

func throttled(*http.Request) *metav1.Status {
	return &metav1.Status{Code: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests, Message: "too many requests"}
}

func forbidden(r *http.Request) *metav1.Status {
	if r.Method == http.MethodGet {
		return nil
	}
	return &metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "the namespace is read-only"}
}

func full(r *http.Request) *metav1.Status {
	if r.Method == http.MethodGet || r.Method == http.MethodDelete {
		return nil
	}
	return &metav1.Status{Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError, Message: "etcdserver: mvcc: database space exceeded"}
}
