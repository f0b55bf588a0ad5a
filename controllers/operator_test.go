// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/apibare"
	"github.com/feed-operator/feed-operator/internal/apiclock"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/backoff"
	"github.com/feed-operator/feed-operator/internal/connect"
	"github.com/feed-operator/feed-operator/internal/crdcheck"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/destination/mastodon"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/metrics"
	"github.com/feed-operator/feed-operator/internal/outbound"
	"github.com/feed-operator/feed-operator/internal/pdftext"
	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/provider/anthropic"
	"github.com/feed-operator/feed-operator/internal/provider/extractive"
	"github.com/feed-operator/feed-operator/internal/provider/gemini"
	"github.com/feed-operator/feed-operator/internal/provider/modelapi"
	"github.com/feed-operator/feed-operator/internal/provider/openai"
	"github.com/feed-operator/feed-operator/internal/secrets"
	"github.com/feed-operator/feed-operator/internal/tracing"
	"github.com/feed-operator/feed-operator/internal/watches"
)

var server *apitest.Server

func TestMain(m *testing.M) {
	pdftext.Main() // the program of the tests is also the process that reads PDF documents
	os.Exit(apitest.RunInMemory(m, &server))
}

// world is a namespace with an operator of its own, whose clock the test sets.
type world struct {
	t         *testing.T
	api       *apitest.Server
	client    client.WithWatch
	namespace string
	clock     *jumpingClock
	ahead     atomic.Int64 // how far the API server's clock is ahead of that, in nanoseconds
	builtin   provider.Provider
	manager   ctrl.Manager
	faults    faults
	lookAt    func(kind string, name types.NamespacedName)
	stop      func()
	runs      atomic.Bool // the operator
	out       *outbound.Client
	impatient atomic.Bool  // calls of destinations end after a second, and not after the time their spec gives them
	calls     atomic.Int32 // of destinations, under way
	// endlessPort is that of services whose calls go on after their time.
	endlessPort atomic.Pointer[string]
	onCall      func(*http.Request) // sees each call of a destination before it is made
	others      []string            // the namespaces that the operator works in beside its own
	// scripted are the clients of AIProviders, by name, that the test itself plays.
	scripted map[string]provider.Provider
	// inPlace is how failed calls are repeated: not at all, unless a test is about that.
	inPlace backoff.InPlace
	// workers is how many items are worked on at once; 0 is for 64.
	workers int
	// byClockOnly has what waits in a queue wait for the test's clock, though the machine is slow.
	byClockOnly bool
	// perHost is how many requests to one host are made at once; 0 is for 8.
	perHost int
	// self is the operator's pod; none, unless a test is about its Events.
	self *corev1.ObjectReference
	// metrics are those of the operator, nil for none.
	metrics prometheus.Registerer
	// tracer makes spans, nil for nobody.
	tracer *tracing.Tracer
	// postsInMemory is how many posts are; 0 is for the default.
	postsInMemory int64
	// eventBytes is how much memory events may take that wait for one destination; 0 is for the default.
	eventBytes int
	marks      *feedtest.Server // of the source that shows what has happened before it was polled
	log        logr.Logger      // of the manager; where none is set, the one of all
	givenUp    *givenUp         // unless a log is set
	// reaches changes how the operator reaches the API server, where it is not an administrator.
	reaches func(*rest.Config)
	watches *watches.Watches
}

// providerOf makes the client of an AIProvider: the real one of an AI, the test's for the rest.
func (w *world) providerOf(described *v1alpha1.AIProvider, credentials secrets.Values) (provider.Provider, error) {
	if scripted := w.scripted[described.Name]; scripted != nil {
		return scripted, nil
	}
	asking := func(model, endpoint string) modelapi.Config {
		return modelapi.Config{
			Model: model, Endpoint: endpoint, APIKey: credentials[secrets.KeyAPIKey], Now: w.clock.Now,
			Transport: endless{w, w.out.Transport(outbound.TransportOptions{})},
		}
	}
	switch spec := described.Spec; {
	case spec.OpenAI != nil:
		return openai.New(asking(spec.OpenAI.Model, spec.OpenAI.Endpoint))
	case spec.Anthropic != nil:
		return anthropic.New(asking(spec.Anthropic.Model, spec.Anthropic.Endpoint))
	case spec.Gemini != nil:
		return gemini.New(asking(spec.Gemini.Model, spec.Gemini.Endpoint))
	}
	return w.builtin, nil
}

// destinationOf makes the client of a FeedDestination.
func (w *world) destinationOf(described *v1alpha1.FeedDestination, credentials secrets.Values) (destination.Destination, error) {
	if described.Spec.Webhook != nil {
		return connect.Webhook(described, credentials, w.clock.Now, impatience{w, endless{w, w.out.Transport(connect.WayTo(described))}})
	}
	return mastodon.New(mastodon.Config{
		Server: described.Spec.Mastodon.Server, AccessToken: credentials[secrets.KeyAccess],
		Transport: impatience{w, endless{w, w.out.Transport(connect.WayTo(described))}}, Now: w.clock.Now,
	})
}

// impatience ends calls early while its world is impatient. A test that has an answer get lost need not
// wait for long then, and yet a busy machine does not make it lose others.
type impatience struct {
	world *world
	next  http.RoundTripper
}

func (i impatience) RoundTrip(r *http.Request) (*http.Response, error) {
	i.world.calls.Add(1)
	defer i.world.calls.Add(-1)
	if i.world.onCall != nil {
		i.world.onCall(r)
	}
	if !i.world.impatient.Load() {
		return i.next.RoundTrip(r)
	}
	ctx, cancel := context.WithTimeout(r.Context(), time.Second)
	context.AfterFunc(ctx, cancel) // not when this returns: the body is read after that
	return i.next.RoundTrip(r.WithContext(ctx))
}

// endless has calls to a port go on after their time. What hangs there for good shows who waits for it, on however busy a machine: where calls
// end by the machine's clock, they end too while somebody works who is slow.
type endless struct {
	world *world
	next  http.RoundTripper
}

func (e endless) RoundTrip(r *http.Request) (*http.Response, error) {
	if port := e.world.endlessPort.Load(); port != nil && r.URL.Port() == *port {
		r = r.WithContext(context.WithoutCancel(r.Context()))
	}
	return e.next.RoundTrip(r)
}

// newWorld starts an operator in a namespace of its own.
func newWorld(t *testing.T, change ...func(*world)) *world {
	t.Helper()
	portion.Leave(t, left)
	w := &world{
		t: t, api: server, client: server.Client, namespace: server.Namespace(t),
		builtin: extractive.New(), givenUp: &givenUp{},
	}
	w.clock = &jumpingClock{FakeClock: clocktesting.NewFakeClock(time.Now().Truncate(time.Second)), world: w}
	w.out = outbound.New(outbound.Config{
		UserAgent: "feed-operator/test", AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, AllowHTTP: true, Now: w.clock.Now,
	})
	for _, c := range change {
		c(w)
	}
	if w.log.GetSink() == nil {
		w.log = w.givenUp.logger()
	}
	apitest.OnStall(t, func() { w.clock.Step(time.Minute) })
	w.start()
	return w
}

// onRealServer has a world be at a real API server also where the others are at one in memory: it is about what only that has.
func onRealServer(w *world) { at(server.Real(w.t))(w) }

// mapper knows the kinds that the operator reads and writes.
var mapper = sync.OnceValue(func() meta.RESTMapper {
	known := meta.NewDefaultRESTMapper(nil)
	for kind := range apitest.Scheme().AllKnownTypes() {
		if kind.Group == v1alpha1.GroupVersion.Group || kind == corev1.SchemeGroupVersion.WithKind("Secret") {
			known.Add(kind, meta.RESTScopeNamespace)
		}
	}
	return known
})

// start starts an operator, as after a restart: nothing is left but what the API server holds.
func (w *world) start() {
	w.t.Helper()
	namespaces := append([]string{w.namespace}, w.others...)
	reaching, counted := rest.CopyConfig(w.api.Config), metrics.New()
	if w.reaches != nil {
		w.reaches(reaching)
	}
	reaching.Wrap(w.faults.wrap)
	reaching.Wrap(crdcheck.WrapTransport)
	reaching.Wrap(apibare.WrapTransport)
	reaching.Wrap(counted.WrapTransport)
	w.watches = watches.New(func() time.Duration { return apiclock.PassedBy(w.clock) })
	reaching.Wrap(w.watches.WrapTransport)
	manager, err := ctrl.NewManager(reaching, ctrl.Options{
		Scheme: apitest.Scheme(),
		// What all have in common need not be asked for by each.
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper(), nil },
		Cache:          controllers.CacheOptions(namespaces...),
		Client:         controllers.ClientOptions(),
		Metrics:        metricsserver.Options{BindAddress: "0"},
		Logger:         w.log,
		Controller:     config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.lookAt, err = controllers.SetupForTest(w.t.Context(), manager, controllers.Options{
		Clock:           apiTime{w.clock, &w.ahead},
		Outbound:        w.out,
		Providers:       w.providerOf,
		Destinations:    w.destinationOf,
		Builtin:         w.builtin,
		Namespaces:      namespaces,
		InPlace:         w.inPlace,
		ItemWorkers:     cmp.Or(w.workers, 64),
		PollWorkers:     8,
		RequestsPerHost: cmp.Or(w.perHost, 8),
		Self:            w.self,
		Registry:        w.metrics,
		Metrics:         counted,
		Tracer:          w.tracer,
		PostsInMemory:   w.postsInMemory,
		EventBytes:      w.eventBytes,
	}, controllers.ForTest{HasKinds: w.api.HasKinds, ByClockOnly: w.byClockOnly})
	if err != nil {
		w.t.Fatal(err)
	}
	w.manager = manager
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	ended := make(chan error, 1)
	go pprof.Do(ctx, pprof.Labels("operator", w.namespace), func(ctx context.Context) { ended <- manager.Start(ctx) })
	w.runs.Store(true)
	w.stop = sync.OnceFunc(func() {
		w.runs.Store(false)
		cancel()
		if err := <-ended; err != nil {
			w.t.Errorf("operator: %v; at work are\n%s", err, atWork(w.namespace))
		}
	})
	w.t.Cleanup(w.stop)
}

// atWork is what the operator of a namespace does, but for what only libraries do: where it does not end in time, that is what it waits for.
func atWork(namespace string) string {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return err.Error()
	}
	var ours []string
	for stack := range strings.SplitSeq(profile.String(), "\n\n") {
		if strings.Contains(stack, strconv.Quote(namespace)) && strings.Contains(stack, "/feed-operator/internal/") {
			ours = append(ours, stack)
		}
	}
	return strings.Join(ours, "\n\n")
}

// restart stops the operator and starts another one.
func (w *world) restart() {
	w.t.Helper()
	w.stop()
	w.start()
}

// source makes a FeedSource that reads a URL.
func (w *world) source(name, url string, change ...func(*v1alpha1.FeedSource)) *v1alpha1.FeedSource {
	w.t.Helper()
	source := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	source.Spec.URL = url
	source.Spec.InitialItems, source.Spec.MaxItemsPerDay = new(int32(1000)), new(int32(10_000))
	for _, c := range change {
		c(source)
	}
	if err := w.client.Create(w.t.Context(), source); err != nil {
		w.t.Fatal(err)
	}
	return source
}

// poll has a source polled now, and waits until it was.
func (w *world) poll(name string) *v1alpha1.FeedSource {
	w.t.Helper()
	token := fmt.Sprint(time.Now().UnixNano())
	w.annotate(&v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}, v1alpha1.AnnotationPoll, token)
	return w.untilSource(name, func(source *v1alpha1.FeedSource) error {
		if source.Status.LastHandledPoll != token {
			return fmt.Errorf("not polled yet: %+v", source.Status)
		}
		return nil
	})
}

func (w *world) annotate(object client.Object, name, value string) {
	w.t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, name, value)
	if err := w.client.Patch(w.t.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		w.t.Fatal(err)
	}
}

// retry annotates an item for a forced retry.
func (w *world) retry(name, token string) {
	w.t.Helper()
	w.annotate(&v1alpha1.FeedItem{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}, v1alpha1.AnnotationRetry, token)
}

// untilSource waits until a source passes a check, and returns it.
func (w *world) untilSource(name string, check func(*v1alpha1.FeedSource) error) *v1alpha1.FeedSource {
	w.t.Helper()
	var source v1alpha1.FeedSource
	apitest.Eventually(w.t, func(ctx context.Context) error {
		source = v1alpha1.FeedSource{}
		key := types.NamespacedName{Namespace: w.namespace, Name: name}
		if err := w.client.Get(ctx, key, &source); err != nil {
			return err
		}
		return check(&source)
	})
	checkRules(w.t, source.Generation, source.Status.ObservedGeneration, source.Status.Conditions)
	return &source
}

// untilCounted is untilSource for what is counted on a source. That is written once a minute at most, and what
// the operator has read then may be behind: so another minute passes while nothing happens.
func (w *world) untilCounted(name string, check func(*v1alpha1.FeedSource) error) *v1alpha1.FeedSource {
	w.t.Helper()
	return w.untilSourceIn(time.Minute, name, check)
}

// untilSourceIn is untilSource for what takes time: while nothing happens, such a step of it passes, again and again.
func (w *world) untilSourceIn(step time.Duration, name string, check func(*v1alpha1.FeedSource) error) *v1alpha1.FeedSource {
	w.t.Helper()
	checks := 0
	return w.untilSource(name, func(source *v1alpha1.FeedSource) error {
		err := check(source)
		if checks++; err != nil && checks%20 == 0 {
			w.clock.Step(step)
		}
		return err
	})
}

// items lists the items of a source, as `kubectl get --field-selector` does.
func (w *world) items(ctx context.Context, source string) ([]v1alpha1.FeedItem, error) {
	var list v1alpha1.FeedItemList
	err := w.client.List(ctx, &list, client.InNamespace(w.namespace), client.MatchingFields{"spec.sourceRef.name": source})
	return list.Items, err
}

// untilItems waits until the items of a source pass a check, and returns them.
func (w *world) untilItems(source string, check func([]v1alpha1.FeedItem) error) []v1alpha1.FeedItem {
	w.t.Helper()
	var items []v1alpha1.FeedItem
	apitest.Eventually(w.t, func(ctx context.Context) error {
		var err error
		if items, err = w.items(ctx, source); err != nil {
			return err
		}
		return check(items)
	})
	return items
}

// untilItem waits until the only item of a source passes a check, and returns it.
func (w *world) untilItem(source string, check func(*v1alpha1.FeedItem) error) *v1alpha1.FeedItem {
	w.t.Helper()
	items := w.untilItems(source, func(items []v1alpha1.FeedItem) error {
		if len(items) != 1 {
			return fmt.Errorf("%d items, want one", len(items))
		}
		return check(&items[0])
	})
	return &items[0]
}

// inPhase checks for a phase and a reason.
func inPhase(phase v1alpha1.Phase, reason v1alpha1.Reason) func(*v1alpha1.FeedItem) error {
	return func(item *v1alpha1.FeedItem) error {
		if item.Status.Phase != phase || item.Status.Reason != reason {
			return fmt.Errorf("item %s (%s) is %s/%q, want %s/%q: %+v, next %v of %d retries", item.Name, item.Spec.Title,
				item.Status.Phase, item.Status.Reason, phase, reason, item.Status.Failure, item.Status.NextRetryTime, item.Status.RetryCount)
		}
		return nil
	}
}

// allProcessed checks that there are n items, each with a summary.
func allProcessed(n int) func([]v1alpha1.FeedItem) error {
	return eachOf(n, func(item *v1alpha1.FeedItem) error {
		if err := inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)(item); err != nil {
			return err
		}
		if item.Status.Summary == nil {
			return errors.New("processed without a summary")
		}
		return nil
	})
}

// checkRules holds the rules of kstatus against conditions: Ready is there; Reconciling and
// Stalled are there only while they are true, and never both.
func checkRules(t *testing.T, generation, observed int64, conditions []metav1.Condition) {
	t.Helper()
	there := map[string]metav1.ConditionStatus{}
	for _, condition := range conditions {
		there[condition.Type] = condition.Status
		if condition.Message == "" && condition.Type == v1alpha1.ConditionReady {
			t.Errorf("condition %s says nothing", condition.Type)
		}
	}
	if _, ready := there[v1alpha1.ConditionReady]; !ready {
		t.Error("there is no Ready condition")
	}
	reconciling, isReconciling := there[v1alpha1.ConditionReconciling]
	stalled, isStalled := there[v1alpha1.ConditionStalled]
	if isReconciling && isStalled || isReconciling && reconciling != metav1.ConditionTrue || isStalled && stalled != metav1.ConditionTrue {
		t.Errorf("Reconciling and Stalled break the rules: %+v", conditions)
	}
	if observed != generation {
		t.Errorf("observed generation %d of %d", observed, generation)
	}
}
