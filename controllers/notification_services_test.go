// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/geminitest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// refusal is a source "news" of which three items have failed for the refused key of "gemini", while "admin", who is to
// be told of that, takes no posts.
type refusal struct {
	*world
	admin  *mastodontest.Server
	closed *v1alpha1.FeedDestination
	gemini *geminitest.Server
	source *v1alpha1.FeedSource
	web    *feedtest.Server
}

func newRefusal(t *testing.T, options ...func(*mastodontest.Options)) *refusal {
	t.Helper()
	w := newWorld(t)
	r := &refusal{world: w, admin: w.mastodon(options...), web: feedtest.New(t)}
	r.closed = w.openDestination("admin", r.admin.URL, seenBy(v1alpha1.VisibilityDirect))
	r.gemini = w.gemini("gemini")
	w.untilProvider("gemini", isReady)
	w.suspend(r.closed, true)
	w.untilDestination("admin", isClosed(v1alpha1.ReasonSuspended))
	r.gemini.OnCall(func(geminitest.Call) (geminitest.Answer, bool) { return geminitest.KeyInvalid(), true })
	r.web.List(r.web.Entries("news", 3)...)
	r.source = w.source("news", r.web.FeedURL(), summarizedBy("gemini"), tells("admin"))
	w.untilItems("news", eachOf(3, refusedItem))
	w.untilProvider("gemini", isNotReady(v1alpha1.ReasonCredentialsRefused))
	return r
}

// open lets "admin" take posts again.
func (r *refusal) open() {
	r.t.Helper()
	r.suspend(r.closed, false)
	r.untilDestination("admin", isOpen)
}

// R3.8: whatever becomes of the items that have failed for refused credentials, and of the operator, before anybody was
// told of that: it is told, once.
func TestARefusalIsToldWhateverBecomesOfItsItems(t *testing.T) {
	t.Parallel()
	for name, happens := range map[string]func(*refusal){
		"the items are deleted": func(r *refusal) { r.deleteItems("news") },
		"the source is suspended": func(r *refusal) {
			r.suspend(r.source, true)
			r.untilSource("news", func(source *v1alpha1.FeedSource) error {
				return hasReady(source.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonSuspended)
			})
		},
		"the operator is killed": (*refusal).crash,
		"the operator is killed, and the items are deleted meanwhile": func(r *refusal) {
			r.stop()
			r.deleteItems("news")
			r.start()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRefusal(t)
			happens(r)
			r.open()
			text := posts(t, r.admin, 1)[0].Text
			for _, fact := range []string{
				"Credentials refused: AIProvider " + r.namespace + "/gemini", "API key not valid", "correct the Secret gemini",
			} {
				if !strings.Contains(text, fact) {
					t.Errorf("%q is not told:\n%s", fact, text)
				}
			}
			r.restart()
			r.untilDestination("admin", isOpen)
			posts(t, r.admin, 1)
		})
	}
}

// refusesPatches has the API server refuse what is written on providers, from the moment at which the notice is sent: nothing is sent
// while it is known that nothing can be written down.
func (r *refusal) refusesPatches(with func() *metav1.Status) {
	r.admin.OnPost(func(*mastodontest.Pending) bool {
		r.faults.on(func(request *http.Request) *metav1.Status {
			if request.Method != http.MethodPatch || !strings.Contains(request.URL.Path, "/aiproviders/") {
				return nil
			}
			return with()
		})
		return false
	})
}

// takesPatches has it take them again.
func (r *refusal) takesPatches() {
	r.admin.OnPost(nil)
	r.faults.on(nil)
}

// R3.8, R4.4: the operator is killed after the notice was posted and before that is written down: the next one asks the
// server once more with the same key, and there is one post.
func TestANoticeIsNotPostedAgainAfterACrash(t *testing.T) {
	t.Parallel()
	r := newRefusal(t)
	r.refusesPatches(func() *metav1.Status {
		return &metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden}
	})
	r.open()
	posts(t, r.admin, 1)
	r.stop()
	r.takesPatches()
	r.start()
	r.untilProvider("gemini", notices(v1alpha1.NotificationDone))
	if got := r.admin.Count("POST /api/v1/statuses"); got < 2 {
		t.Errorf("%d requests to post: nothing was repeated", got)
	}
	posts(t, r.admin, 1)
}

// R3.14, R3.8: what was sent is not sent again for the API server's not taking for minutes that it was.
func TestANoticeIsNotPostedAgainBeforeItIsWrittenDown(t *testing.T) {
	t.Parallel()
	r := newRefusal(t, ignoresKeys)
	var refused atomic.Int64
	r.refusesPatches(func() *metav1.Status {
		refused.Add(1)
		return overQuota.DeepCopy()
	})
	r.open()
	posts(t, r.admin, 1)
	await(t, func() error {
		if r.clock.Step(time.Second); refused.Load() < 5 {
			return errNotYet
		}
		return nil
	})
	r.takesPatches()
	r.clock.Step(time.Minute)
	r.untilProvider("gemini", notices(v1alpha1.NotificationDone))
	posts(t, r.admin, 1)
}

// R3.8: nobody is told of what is cured, nor who is not to be told any more.
func TestWhatIsCuredOrUnwantedIsNotTold(t *testing.T) {
	t.Parallel()
	for name, happens := range map[string]func(*refusal){
		"cured": func(r *refusal) {
			r.gemini.OnCall(nil)
			r.secret("gemini", "apiKey", otherKey)
			r.gemini.SetKey(otherKey)
			r.untilProvider("gemini", isReady)
			r.untilItems("news", allProcessed(3))
		},
		"named by no source any more": func(r *refusal) {
			r.change(r.source, `{"spec":{"notifications":null}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRefusal(t)
			happens(r)
			r.untilProvider("gemini", notices())
			r.open()
			r.oneMore("others")
			posts(t, r.admin, 1) // none but the summary
			if text := r.admin.Posts()[0].Text; strings.Contains(text, "refused") {
				t.Errorf("told:\n%s", text)
			}
		})
	}
}

// oneMore has one more entry posted to "admin", after whatever waits there.
func (r *refusal) oneMore(name string) {
	r.t.Helper()
	web := feedtest.New(r.t)
	web.List(web.Entries(name, 1)...)
	r.world.source(name, web.FeedURL(), postsTo("admin"))
	r.untilItems(name, allProcessed(1))
}

// R3.8: what an operator of the version before has noted, of which an item does the telling, makes no second notice.
func TestAnUpgradeTellsOfNoRefusalTwice(t *testing.T) {
	t.Parallel()
	r := newRefusal(t)
	provider := r.untilProvider("gemini", notices(v1alpha1.NotificationQueued))
	r.stop()
	items, err := r.items(t.Context(), "news")
	if err != nil {
		t.Fatal(err)
	}
	// As that version writes: on the service who tells, and on that item the notification.
	r.patchStatus(&items[0], "FeedItem", `{"notifications":[{"destination":"admin","state":"Queued","key":"of-the-item"}]}`)
	r.patchStatus(provider, "AIProvider", fmt.Sprintf(`{"credentialsNotices":[{"destination":"admin","item":%q,"refused":%q}]}`,
		items[0].UID, provider.Status.CredentialsNotices[0].Refused))
	r.start()
	r.open()
	if told := posts(t, r.admin, 1)[0]; told.Key != "of-the-item" {
		t.Errorf("told: %+v", told)
	}
	r.web.List(r.web.Entries("news", 4)...)
	r.poll("news")
	r.untilItems("news", eachOf(4, refusedItem))
	r.untilProvider("gemini", notices(v1alpha1.NotificationDone))
	posts(t, r.admin, 1)
}

// patchStatus writes the status of an object as somebody does who knows another version of its kind.
func (w *world) patchStatus(object client.Object, kind, status string) {
	w.t.Helper()
	raw := &unstructured.Unstructured{}
	raw.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	raw.SetNamespace(object.GetNamespace())
	raw.SetName(object.GetName())
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":`+status+`}`))
	if err := w.client.Status().Patch(w.t.Context(), raw, patch); err != nil {
		w.t.Fatal(err)
	}
}

// R3.10: a notice that fails is tried five times, on its own, and stays on what refuses the credentials.
func TestAFailingNoticeIsBounded(t *testing.T) {
	t.Parallel()
	r := newRefusal(t)
	r.admin.OnPost(func(p *mastodontest.Pending) bool {
		p.Answer(http.StatusServiceUnavailable, "application/json", `{"error":"down"}`)
		return true
	})
	r.deleteItems("news")
	r.open()
	for attempt := int32(1); attempt <= 5; attempt++ {
		provider := r.untilProvider("gemini", func(p *v1alpha1.AIProvider) error {
			if len(p.Status.CredentialsNotices) != 1 || p.Status.CredentialsNotices[0].FailedAttempts != attempt {
				return fmt.Errorf("notices %+v, want %d failed attempts", p.Status.CredentialsNotices, attempt)
			}
			return nil
		})
		row := provider.Status.CredentialsNotices[0]
		if attempt == 5 {
			if row.State != v1alpha1.NotificationFailed || row.Failure == nil || row.Failure.HTTPStatus != 503 || row.Failure.Stage != v1alpha1.StageNotify {
				t.Errorf("given up: %+v", row)
			}
			break
		}
		r.clock.SetTime(row.NextRetryTime.Time)
	}
	if got := r.admin.Count("POST /api/v1/statuses"); got != 5 {
		t.Errorf("%d requests", got)
	}
}
