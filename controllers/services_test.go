// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/conditions"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/geminitest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// R4.4: what one server has said of itself is not believed of another. A destination moves to a
// server that cannot be asked yet: nothing is posted until it has said what it can do.
func TestWhatIsKnownOfOneServerIsNotBelievedOfAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.mastodon()
	second := w.mastodon(both(ignoresKeys, writeOnly))
	var away atomic.Bool
	away.Store(true)
	second.OnRequest(func(rw http.ResponseWriter, r *http.Request) bool {
		if !away.Load() || r.Method != http.MethodGet {
			return false
		}
		rw.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	second.OnPost(func(p *mastodontest.Pending) bool { p.Commit(); p.Reset(); return true })
	w.openDestination("press", first.URL)
	w.changeDestination("press", fmt.Sprintf(`{"spec":{"mastodon":{"server":%q}}}`, second.URL))
	w.untilDestination("press", isClosed(v1alpha1.ReasonCheckFailed))
	w.oneItem("press")
	w.awaitItem("news", waitsFor(`"press"`))
	if got := second.Count("POST /api/v1/statuses") + first.Count("POST /api/v1/statuses"); got != 0 {
		t.Errorf("%d requests to post to a server that is not known", got)
	}
	away.Store(false)
	w.untilDestination("press", isOpen)
	w.awaitItem("news", hasFailed("press", 1))
	item := w.untilEnded("news", 1)[0]
	// It honours no keys, and does not show its posts: nobody can know whether the one was made.
	if err := inPhase(v1alpha1.PhaseFailed, v1alpha1.ReasonDeliveryUncertain)(&item); err != nil {
		t.Error(err)
	}
	if posts := len(second.Posts()); posts != 1 {
		t.Errorf("%d posts of one item", posts)
	}
}

// R3.9, R5.1: a provider whose circuit is open is not ready, and says why, until a call succeeds.
func TestAProviderIsNotReadyWhileItsCircuitIsOpen(t *testing.T) {
	t.Parallel()
	const n = 12
	w := newWorld(t)
	server := w.gemini("gemini")
	server.OnCall(func(geminitest.Call) (geminitest.Answer, bool) { return geminitest.Internal(), true })
	web := feedtest.New(t)
	web.List(web.Entries("news", n)...)
	w.source("news", web.FeedURL(), summarizedBy("gemini"))
	open := func(p *v1alpha1.AIProvider) error {
		if p.Status.Availability == nil || p.Status.Availability.State != "CircuitOpen" {
			return fmt.Errorf("availability %+v", p.Status.Availability)
		}
		return nil
	}
	provider := w.untilProvider("gemini", func(p *v1alpha1.AIProvider) error {
		return errors.Join(open(p), isNotReady(v1alpha1.ReasonCircuitOpen)(p))
	})
	// Looked at again, while less of the pause is left than would close it for long, it is the same.
	w.clock.Step(time.Second)
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"maxConcurrent":3}}`))
	if err := w.client.Patch(t.Context(), provider.DeepCopy(), patch); err != nil {
		t.Fatal(err)
	}
	provider = w.untilProvider("gemini", func(p *v1alpha1.AIProvider) error {
		if p.Generation == provider.Generation || p.Status.ObservedGeneration != p.Generation {
			return errNotYet
		}
		return open(p)
	})
	if err := isNotReady(v1alpha1.ReasonCircuitOpen)(provider); err != nil {
		t.Error(err)
	}
	server.OnCall(nil)
	w.clock.SetTime(provider.Status.Availability.Until.Time)
	w.untilProvider("gemini", isReady)
}

// R3.9: a spent quota is not forgotten while its provider is suspended, nor by a restart meanwhile.
func TestASpentQuotaOutlivesASuspension(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.gemini("gemini")
	server.Next(geminitest.QuotaPerDay())
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("gemini"))
	before := w.untilProvider("gemini", isNotReady(v1alpha1.ReasonQuotaSpent))
	w.suspend(before.DeepCopy(), true)
	w.untilProvider("gemini", isNotReady(v1alpha1.ReasonSuspended))
	w.restart()
	w.untilProvider("gemini", isNotReady(v1alpha1.ReasonSuspended))
	w.suspend(before.DeepCopy(), false)
	after := w.untilProvider("gemini", func(p *v1alpha1.AIProvider) error {
		if p.Status.ObservedGeneration != p.Generation || p.Generation == before.Generation {
			return errors.New("not looked at yet")
		}
		return nil
	})
	if err := isNotReady(v1alpha1.ReasonQuotaSpent)(after); err != nil {
		t.Error(err)
	}
	if stands := after.Status.Availability; stands.State != "QuotaSpent" || !stands.Until.Equal(before.Status.Availability.Until) {
		t.Errorf("availability %+v, before %+v", stands, before.Status.Availability)
	}
}

// R3.6, R3.8: the key of the first provider is replaced during a call with the old one, and the second
// provider refuses the article for good. The first is asked again, with the new key, before
// anything is settled.
func TestAnArticleIsNotGivenUpBeforeTheReplacedKeyIsTried(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second := w.gemini("first"), w.gemini("second")
	before := w.untilProvider("first", isReady)
	w.untilProvider("second", isReady)
	second.OnCall(func(geminitest.Call) (geminitest.Answer, bool) { return geminitest.Blocked("PROHIBITED_CONTENT"), true })
	goOn := make(chan struct{})
	release := sync.OnceFunc(func() { close(goOn) })
	t.Cleanup(release)
	var calls atomic.Int32
	first.OnCall(func(geminitest.Call) (geminitest.Answer, bool) {
		if calls.Add(1) > 1 {
			return geminitest.Answer{}, false
		}
		<-goOn
		return geminitest.KeyInvalid(), true
	})
	var givenUp atomic.Int32
	w.onItemWrites(func(_ *http.Request, body string) *metav1.Status {
		if strings.Contains(body, `"`+string(v1alpha1.PhaseFailed)+`"`) {
			givenUp.Add(1)
		}
		return nil
	})
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), summarizedBy("first", "second"))
	await(t, func() error {
		if calls.Load() == 0 {
			return errNotYet
		}
		return nil
	})
	w.secret("first", "apiKey", otherKey)
	first.SetKey(otherKey)
	w.clock.Step(5 * time.Minute) // the Secret of an open provider is read no more often
	w.untilProvider("first", func(p *v1alpha1.AIProvider) error {
		if p.Status.CheckedFor == before.Status.CheckedFor {
			return errNotYet
		}
		return isReady(p)
	})
	release()
	item := w.awaitItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	if by := item.Status.Summary.Provider; by != "first" || calls.Load() != 2 || givenUp.Load() != 0 {
		t.Errorf("summarized by %s after %d calls of the first, given up %d times", by, calls.Load(), givenUp.Load())
	}
	w.untilProvider("first", isReady)
}

// R3.8, R3.12, R5.1: the operator may not read Secrets any more. What needs one says so, from the start on, and so does what waits for it; once it may, all
// goes on.
func TestWhatASecretIsNeededForSaysThatItMayNotBeRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	press := w.mastodon()
	w.openDestination("press", press.URL)
	w.stop()
	w.faults.on(func(r *http.Request) *metav1.Status {
		if !strings.Contains(r.URL.Path, "/secrets/") {
			return nil
		}
		return &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "secrets is forbidden"}
	})
	w.start()
	w.untilDestination("press", func(described *v1alpha1.FeedDestination) error {
		if err := isClosed(v1alpha1.ReasonCredentialsMissing)(described); err != nil {
			return err
		}
		if said := conditions.Ready(described.Status.Conditions).Message; !strings.Contains(said, "may not be read by the operator") {
			return errors.New(said)
		}
		return nil
	})
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	w.source("news", web.FeedURL(), postsTo("press"))
	w.awaitItem("news", waitsFor("may not be read by the operator"))
	w.faults.on(nil)
	w.clock.Step(30 * time.Second)
	w.awaitItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	posts(t, press, 1)
}

// R3.8: the operator may not read Secrets for a while. What had refused the credentials, or was gone, is not asked again for that.
func TestWhatHasRefusedIsNotAskedAgainWhenItsSecretMayBeReadAgain(t *testing.T) {
	t.Parallel()
	for code, reason := range map[int]string{http.StatusUnauthorized: v1alpha1.ReasonCredentialsRefused, http.StatusGone: v1alpha1.ReasonEndpointGone} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var reads atomic.Int32
			var forbidden atomic.Bool
			w.faults.on(func(r *http.Request) *metav1.Status {
				if !strings.Contains(r.URL.Path, "/secrets/") {
					return nil
				}
				if reads.Add(1); !forbidden.Load() {
					return nil
				}
				return &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "secrets is forbidden"}
			})
			server := w.webhook()
			answering(server, code)
			w.secretOf("ops", map[string]string{"token": hookToken})
			w.webhookTo("ops", server.URL, withSecret("ops"))
			web := feedtest.New(t)
			web.List(web.Entries("news", 1)...)
			w.source("news", web.FeedURL(), postsTo("ops"))
			w.untilDestination("ops", isClosed(reason))
			before := server.Requests()
			for _, may := range []bool{false, true, false, true} {
				forbidden.Store(!may)
				since := reads.Load()
				await(t, func() error {
					if reads.Load() < since+3 {
						w.clock.Step(30 * time.Second)
						return errNotYet
					}
					return nil
				})
				w.untilDestination("ops", isClosed(reason))
			}
			if got := server.Requests() - before; got != 0 {
				t.Errorf("%d requests more", got)
			}
		})
	}
}
