// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/webhooktest"
)

// hookToken and hookPath are recognisable, so that they are found wherever they must not be.
const (
	hookToken = "whtok-0123456789-RECOGNISABLE-abcdefghijklmn"
	hookPath  = "/services/T0RECOGNISABLE/B0RECOGNISABLE/pathSecret0123456789"
	hookKey   = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
)

// webhook starts a receiver that lives by the clock of the world.
func (w *world) webhook(change ...func(*webhooktest.Options)) *webhooktest.Server {
	w.t.Helper()
	options := webhooktest.Options{Now: w.clock.Now}
	for _, c := range change {
		c(&options)
	}
	server := webhooktest.New(options)
	w.t.Cleanup(server.Close)
	return server
}

// webhookTo makes a FeedDestination that sends to a URL.
func (w *world) webhookTo(name, url string, change ...func(*v1alpha1.FeedDestination)) {
	w.t.Helper()
	made := &v1alpha1.FeedDestination{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	made.Spec.Webhook = &v1alpha1.WebhookDestination{URL: url}
	for _, c := range change {
		c(made)
	}
	if err := w.client.Create(w.t.Context(), made); err != nil {
		w.t.Fatal(err)
	}
	w.untilDestination(name, isOpen)
}

// secretOf makes or changes a Secret with several values.
func (w *world) secretOf(name string, values map[string]string) {
	w.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}, StringData: values}
	err := w.client.Create(w.t.Context(), secret)
	if client.IgnoreAlreadyExists(err) == nil && err != nil {
		err = w.client.Update(w.t.Context(), secret)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func withSecret(name string) func(*v1alpha1.FeedDestination) {
	return func(described *v1alpha1.FeedDestination) {
		described.Spec.Webhook.SecretRef = &v1alpha1.SecretReference{Name: name}
	}
}

func held(described *v1alpha1.FeedDestination) {
	described.Spec.Webhook.OnUncertain = v1alpha1.UncertainHold
}

// R4.2: each summary arrives once, with a bearer token, its key as a quoted string, a signature that Standard Webhooks checks, and
// what the Secret has for other headers.
func TestAWebhookGetsEachSummaryOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.webhook(func(o *webhooktest.Options) { o.Token = hookToken })
	w.secretOf("ops", map[string]string{"token": hookToken, "signingKey": hookKey, "tenant": "blue"})
	w.webhookTo("ops", server.URL+"/news", withSecret("ops"), func(described *v1alpha1.FeedDestination) {
		described.Spec.Webhook.Headers = []v1alpha1.WebhookHeader{{Name: "X-Tenant", SecretKey: "tenant"}}
	})
	web := feedtest.New(t)
	web.List(web.Entries("news", 3)...)
	w.source("news", web.FeedURL(), postsTo("ops"))
	items := w.untilEnded("news", 3)
	taken := server.Taken()
	if len(taken) != 3 || server.Requests() != 3 {
		t.Fatalf("%d taken of %d requests", len(taken), server.Requests())
	}
	verifier, err := standardwebhooks.NewWebhook(hookKey)
	if err != nil {
		t.Fatal(err)
	}
	for i := range items {
		row := items[i].Status.Deliveries[0]
		if err := inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)(&items[i]); err != nil || row.State != v1alpha1.DeliveryDone || row.Duplicate || row.Repeated != 0 {
			t.Errorf("%v: %+v", err, row)
		}
		at := slices.IndexFunc(taken, func(d webhooktest.Delivery) bool { return d.Key == row.Key })
		if at < 0 {
			t.Errorf("nothing came for %s", items[i].Name)
			continue
		}
		got := taken[at]
		if err := verifier.VerifyIgnoringTimestamp([]byte(got.Body), got.Header); err != nil {
			t.Errorf("the signature: %v", err)
		}
		if got.Header.Get("Content-Type") != "application/json" || got.Header.Get("Idempotency-Key") != `"`+row.Key+`"` || got.Header.Get("X-Tenant") != "blue" || got.Path != "/news" {
			t.Errorf("%s %v", got.Path, got.Header)
		}
		if !json.Valid([]byte(got.Body)) || !strings.Contains(got.Body, items[i].Spec.URL) {
			t.Errorf("body %s", got.Body)
		}
	}
	w.untilDestination("ops", func(described *v1alpha1.FeedDestination) error {
		if described.Status.Delivered != 3 || described.Status.Duplicates != 0 {
			w.clock.Step(30 * time.Second)
			return fmt.Errorf("%d delivered, %d duplicates", described.Status.Delivered, described.Status.Duplicates)
		}
		return nil
	})
}

// hookFault is what goes wrong with the first request to a webhook.
type hookFault struct {
	toxic  string
	answer func(*webhooktest.Pending)
	// sure is set if the answer says that nothing was done.
	sure bool
	// taken is set if it was taken.
	taken bool
}

func hookAnswers(status int) func(*webhooktest.Pending) {
	return func(p *webhooktest.Pending) { p.Answer(status, "application/json", `{"error":"Oops"}`) }
}

func hookTakesAnd(then func(*webhooktest.Pending)) func(*webhooktest.Pending) {
	return func(p *webhooktest.Pending) { p.Commit(); then(p) }
}

var hookFaults = map[string]hookFault{
	"the answer never arrives":              {toxic: answerLost, taken: true},
	"the connection is reset after sending": {toxic: resetAfterSending, taken: true},
	"it takes it and breaks off":            {answer: hookTakesAnd((*webhooktest.Pending).Reset), taken: true},
	"it takes it and answers 500":           {answer: hookTakesAnd(hookAnswers(http.StatusInternalServerError)), taken: true},
	"a gateway gives up on it":              {answer: hookTakesAnd(hookAnswers(http.StatusGatewayTimeout)), taken: true},
	"it takes it and answers 408":           {answer: hookTakesAnd(hookAnswers(http.StatusRequestTimeout)), taken: true},
	"the request never arrives":             {toxic: requestLost},
	"it breaks off before it takes it":      {answer: (*webhooktest.Pending).Reset},
	"it answers 500 and takes nothing":      {answer: hookAnswers(http.StatusInternalServerError)},
	"it answers 503 and takes nothing":      {answer: hookAnswers(http.StatusServiceUnavailable), sure: true},
	"it answers 429":                        {answer: hookAnswers(http.StatusTooManyRequests), sure: true},
}

// hookReceiver is a kind of receiver, with what its owner wants where nobody knows.
type hookReceiver struct {
	keys   webhooktest.Keys
	change func(*v1alpha1.FeedDestination)
	// twice is set if what was taken and sent again is taken twice, and holds if it is not sent again.
	twice, holds, duplicate bool
}

var hookReceivers = map[string]hookReceiver{
	"at one that answers 409 to a key that it knows": {keys: webhooktest.Answers409, duplicate: true},
	"at one that answers 200 to a key that it knows": {keys: webhooktest.Answers200},
	"at one that knows no keys":                      {keys: webhooktest.IgnoresKeys, twice: true},
	"at one that knows no keys, and is to hold":      {keys: webhooktest.IgnoresKeys, change: held, holds: true},
}

// R4.4, R4.2: whatever the network and the receiver do to a delivery, it arrives: once, where keys are known; at least once and
// said to be repeated, where they are not; and at most once, where its owner wants that.
func TestADeliveryToAWebhookWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	for what, f := range hookFaults {
		for where, r := range portion.Across(what, hookFaults, hookReceivers) {
			t.Run(what+" "+where, func(t *testing.T) {
				t.Parallel()
				f.against(t, r)
			})
		}
	}
}

// strike has the fault happen to requests to a server behind a network, until it is mended.
func (f hookFault) strike(w *world, net *network, server *webhooktest.Server) (mend func()) {
	if f.toxic != "" {
		w.impatient.Store(true) // not where it answers: what a busy machine cuts off says nothing
		net.breakWith(f.toxic)
	} else {
		server.OnRequest(func(p *webhooktest.Pending) bool {
			f.answer(p)
			return true
		})
	}
	return func() {
		net.heal()
		server.OnRequest(nil)
		w.impatient.Store(false)
	}
}

func (f hookFault) against(t *testing.T, r hookReceiver) {
	t.Helper()
	w := newWorld(t)
	server := w.webhook(func(o *webhooktest.Options) { o.Keys = r.keys })
	net := newNetworkAt(t, "127.0.0.1", server.URL)
	w.webhookTo("ops", net.URL, func(described *v1alpha1.FeedDestination) {
		if r.change != nil {
			r.change(described)
		}
	})
	mend := f.strike(w, net, server)
	w.oneItem("ops")
	item := w.untilItem("news", hasFailed("ops", 1))
	failedAt := w.clock.Now()
	mend()

	row := item.Status.Deliveries[0]
	if wait := row.NextRetryTime.Sub(row.NotAfter.Time); !f.sure && (row.State != v1alpha1.DeliveryIntent || wait != lifecycle.SettleTime) {
		t.Errorf("delivery %+v, want an intent that rests for %s after %s", row, lifecycle.SettleTime, row.NotAfter)
	}
	w.clock.SetTime(row.NextRetryTime.Add(-time.Second))
	w.lookAtItems("news")
	before := len(server.Taken())

	ended := w.untilEnded("news", 1)[0]
	row, taken := ended.Status.Deliveries[0], server.Taken()
	if r.holds && !f.sure {
		if err := inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonDeliveryUncertain)(&ended); err != nil || len(taken) != before {
			t.Errorf("%v: %d taken: %+v", err, len(taken), row)
		}
		return
	}
	if err := inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)(&ended); err != nil {
		t.Error(err)
	}
	want, repeated := 1, int32(0)
	if f.taken && r.twice {
		want = 2
	}
	if !f.sure {
		repeated = 1
	}
	if len(taken) != want || row.Repeated != repeated || row.Duplicate != (r.duplicate && f.taken) {
		t.Errorf("%d taken, want %d: %+v", len(taken), want, row)
	}
	for _, delivery := range taken {
		if delivery.Key != row.Key || delivery.Body != taken[0].Body {
			t.Errorf("a repetition had another key or body: %+v", delivery)
		}
	}
	if last := taken[len(taken)-1].Time; len(taken) > before && !f.taken { // R3.4
		if waited := last.Sub(failedAt); waited < 5*time.Minute || waited > 6*time.Minute+time.Second {
			t.Errorf("sent again after %s", waited)
		}
	}
}

// R3.3: what may pass in seconds is tried again at once, with the same key, also where the answer says nothing, unless its owner wants
// that left to a person.
func TestAWebhookIsCalledAgainInPlace(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status   int
		change   func(*v1alpha1.FeedDestination)
		requests int
		repeated int32
		failed   int32
	}{
		"500, and it may be repeated": {status: http.StatusInternalServerError, requests: 3, repeated: 2},
		"500, and it is to be held":   {status: http.StatusInternalServerError, change: held, requests: 1, failed: 1},
		"503":                         {status: http.StatusServiceUnavailable, change: held, requests: 3},
		"429":                         {status: http.StatusTooManyRequests, requests: 1, failed: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, repeating)
			server := w.webhook()
			refused := 0
			server.OnRequest(func(p *webhooktest.Pending) bool {
				if refused++; refused > 2 {
					return false
				}
				p.Answer(test.status, "text/plain", "busy")
				return true
			})
			w.webhookTo("ops", server.URL, func(described *v1alpha1.FeedDestination) {
				if test.change != nil {
					test.change(described)
				}
			})
			w.oneItem("ops")
			w.untilItem("news", func(item *v1alpha1.FeedItem) error {
				row, err := rowTo(item, "ops")
				if err != nil {
					return err
				}
				if server.Requests() < test.requests || row.FailedAttempts != test.failed || row.State != v1alpha1.DeliveryDone && test.failed == 0 {
					w.clock.Step(500 * time.Millisecond)
					return fmt.Errorf("%d requests: %+v", server.Requests(), row)
				}
				if row.Repeated != test.repeated {
					return fmt.Errorf("repeated %d times", row.Repeated)
				}
				return nil
			})
			if server.Requests() != test.requests {
				t.Errorf("%d requests", server.Requests())
			}
		})
	}
}

// R3.8: a wrong token burns no queue, and with the right one all items arrive, once.
func TestItemsOfAWebhookReviveWithTheRightToken(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ wrong, right map[string]string }{
		"a token":         {map[string]string{"token": "wrong-token-0123", "url": hookPath}, map[string]string{"token": hookToken, "url": hookPath}},
		"a URL of a chat": {map[string]string{"token": hookToken, "url": "/services/deleted"}, map[string]string{"token": hookToken, "url": hookPath}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := w.webhook(func(o *webhooktest.Options) { o.Token, o.Path = hookToken, hookPath })
			at := func(values map[string]string) map[string]string {
				return map[string]string{"token": values["token"], "url": server.URL + values["url"]}
			}
			w.secretOf("chat", at(test.wrong))
			w.webhookTo("chat", "", withSecret("chat"), func(described *v1alpha1.FeedDestination) {
				described.Spec.Webhook.URLFrom = &v1alpha1.WebhookURLFrom{}
			})
			web := feedtest.New(t)
			web.List(web.Entries("news", 5)...)
			w.source("news", web.FeedURL(), postsTo("chat"))
			w.untilItems("news", func(items []v1alpha1.FeedItem) error {
				return all(items, 5, inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonAuthenticationFailed))
			})
			if server.Requests() != 1 {
				t.Errorf("asked %d times with what is refused", server.Requests())
			}
			w.untilDestination("chat", func(described *v1alpha1.FeedDestination) error {
				return hasReady(described.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonCredentialsRefused)
			})
			w.secretOf("chat", at(test.right))
			w.clock.Step(31 * time.Second)
			w.untilItems("news", func(items []v1alpha1.FeedItem) error {
				return all(items, 5, inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
			})
			if len(server.Taken()) != 5 {
				t.Errorf("%d arrived", len(server.Taken()))
			}
		})
	}
}

func all(items []v1alpha1.FeedItem, want int, check func(*v1alpha1.FeedItem) error) error {
	if len(items) != want {
		return fmt.Errorf("%d items, want %d", len(items), want)
	}
	var wrong []error
	for i := range items {
		wrong = append(wrong, check(&items[i]))
	}
	return errors.Join(wrong...)
}

// R4.2: a receiver that has gone for good is not called again, not even after a restart, and its items wait; until it is given another URL.
func TestAWebhookThatIsGoneIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.webhook()
	server.OnRequest(func(p *webhooktest.Pending) bool {
		if p.Delivery.Path != "/old" {
			return false
		}
		p.Answer(http.StatusGone, "text/plain", "gone")
		return true
	})
	w.webhookTo("ops", server.URL+"/old")
	web := feedtest.New(t)
	web.List(web.Entries("news", 3)...)
	w.source("news", web.FeedURL(), postsTo("ops"))
	gone := func(described *v1alpha1.FeedDestination) error {
		return hasReady(described.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonEndpointGone)
	}
	w.untilDestination("ops", gone)
	waiting := func(items []v1alpha1.FeedItem) error {
		return all(items, 3, func(item *v1alpha1.FeedItem) error {
			if item.Status.Reason != v1alpha1.ReasonWaiting || item.Status.Deliveries[0].FailedAttempts != 0 {
				return fmt.Errorf("%s/%s: %+v", item.Status.Phase, item.Status.Reason, item.Status.Deliveries)
			}
			return nil
		})
	}
	w.untilItems("news", waiting)
	w.restart()
	w.clock.Step(24 * time.Hour)
	w.lookAtItems("news")
	w.untilDestination("ops", gone)
	w.untilItems("news", waiting)
	if server.Requests() != 1 {
		t.Errorf("called %d times", server.Requests())
	}
	w.changeDestination("ops", fmt.Sprintf(`{"spec":{"webhook":{"url":%q}}}`, server.URL+"/new"))
	w.untilItems("news", func(items []v1alpha1.FeedItem) error {
		return all(items, 3, inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	})
	if len(server.Taken()) != 3 {
		t.Errorf("%d arrived", len(server.Taken()))
	}
}
