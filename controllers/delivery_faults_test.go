// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// fault is what goes wrong with the first request to post.
type fault struct {
	// toxic of the network, or unreachable.
	toxic       string
	unreachable bool
	// answer is what the server does instead of posting and saying so.
	answer func(*mastodontest.Pending)
	// late is set if the server publishes two seconds after the connection has died.
	late bool
	// arrives is set if the request gets to the server.
	arrives bool
}

// after makes an answer that is given after the post was published.
func after(status int, contentType, body string) func(*mastodontest.Pending) {
	return func(p *mastodontest.Pending) {
		p.Commit()
		p.Answer(status, contentType, body)
	}
}

// The faults in which the post is published.
var accepted = map[string]fault{
	"the answer never arrives":                         {toxic: answerLost, arrives: true},
	"the connection is reset after sending":            {toxic: resetAfterSending, arrives: true},
	"the answer is cut off":                            {toxic: answerCut, arrives: true},
	"the server publishes after the connection died":   {answer: (*mastodontest.Pending).Reset, late: true, arrives: true},
	"the server answers 500 after publishing":          {answer: after(http.StatusInternalServerError, "application/json", `{"error":"Oops"}`), arrives: true},
	"the server answers with a page after publishing":  {answer: after(http.StatusOK, "text/html", "<html>Starting</html>"), arrives: true},
	"the server answers with nothing after publishing": {answer: after(http.StatusOK, "application/json", `{}`), arrives: true},
}

// More answers that say nothing about the post that was published.
var oddAnswers = map[string]fault{
	"the server cuts the connection after publishing":   {answer: func(p *mastodontest.Pending) { p.Commit(); p.Reset() }, arrives: true},
	"a gateway gives up on the server that publishes":   {answer: after(http.StatusGatewayTimeout, "text/html", "<html>504</html>"), arrives: true},
	"the server answers 201 without an id":              {answer: after(http.StatusCreated, "application/json", `{}`), arrives: true},
	"the server answers a status that has an empty id":  {answer: after(http.StatusOK, "application/json", `{"id":""}`), arrives: true},
	"the server times out (408) after it has published": {answer: after(http.StatusRequestTimeout, "text/plain", "slow"), arrives: true},
}

// The faults in which it is not.
var notAccepted = map[string]fault{
	"the request never arrives":                      {toxic: requestLost},
	"the connection is reset before publishing":      {answer: (*mastodontest.Pending).Reset, arrives: true},
	"the server answers 503 without publishing":      {answer: func(p *mastodontest.Pending) { p.Answer(http.StatusServiceUnavailable, "text/html", "busy") }, arrives: true},
	"the server answers with a page, and that is it": {answer: func(p *mastodontest.Pending) { p.Answer(http.StatusOK, "text/html", "starting") }, arrives: true},
}

// ending is what an item has come to.
type ending struct {
	phase  v1alpha1.Phase
	reason v1alpha1.Reason
	posts  int
	// repeats is how often the post is sent after the fault.
	repeats int
}

// receiver is a kind of server with a kind of token.
type receiver struct {
	options func(*mastodontest.Options)
	// published and unpublished are where faults lead to, by whether the post was published.
	published, unpublished ending
}

func writeOnly(o *mastodontest.Options) { o.TokenMayRead = false }

func ignoresKeys(o *mastodontest.Options) {
	o.Version, o.Keys, o.MaxCharacters = mastodontest.GoToSocial, mastodontest.IgnoresKeys, 5000
}

func failsReplay(o *mastodontest.Options) { o.Keys = mastodontest.FailsReplay }

func both(changes ...func(*mastodontest.Options)) func(*mastodontest.Options) {
	return func(o *mastodontest.Options) {
		for _, change := range changes {
			change(o)
		}
	}
}

var (
	foundAgain   = ending{v1alpha1.PhaseProcessed, v1alpha1.ReasonNone, 1, 0}
	postedAgain  = ending{v1alpha1.PhaseProcessed, v1alpha1.ReasonNone, 1, 1}
	neverPosted  = ending{v1alpha1.PhaseFailed, v1alpha1.ReasonDeliveryUncertain, 0, 0}
	oneUncertain = ending{v1alpha1.PhaseFailed, v1alpha1.ReasonDeliveryUncertain, 1, 0}
)

// anyNumber of repeats, by which the key is tried while it is remembered.
const anyNumber = -1

var receivers = map[string]receiver{
	"at a server that honours keys":   {func(*mastodontest.Options) {}, foundAgain, postedAgain},
	"at one that ignores keys":        {ignoresKeys, foundAgain, postedAgain},
	"at one that fails a replay":      {failsReplay, foundAgain, postedAgain},
	"at one that cannot be asked":     {writeOnly, postedAgain, postedAgain},
	"at one that nothing is known of": {both(ignoresKeys, writeOnly), oneUncertain, neverPosted},
	"at one that fails a replay, and cannot be asked": {
		both(failsReplay, writeOnly), ending{v1alpha1.PhaseFailed, v1alpha1.ReasonDeliveryUncertain, 1, anyNumber}, postedAgain,
	},
}

// R4.4: whatever the network and the server do to a post that is published, it is published once;
// where nothing can be known, a person is asked.
func TestAPostWhoseAnswerIsLostIsMadeOnce(t *testing.T) {
	t.Parallel()
	for what, f := range accepted {
		for where, r := range portion.Across(what, accepted, receivers) {
			t.Run(what+" "+where, func(t *testing.T) {
				t.Parallel()
				f.against(t, r.options, r.published)
			})
		}
	}
}

// R4.4: what says nothing is not taken for a refusal, at a server where sending again makes two posts.
func TestAPostWhoseAnswerSaysNothingIsMadeOnce(t *testing.T) {
	t.Parallel()
	for what, f := range portion.Some(oddAnswers, 2) {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			f.against(t, ignoresKeys, foundAgain)
		})
	}
}

// R4.4: a post that was not published is published in the end, once.
func TestAPostThatGotLostIsMadeAgainOnce(t *testing.T) {
	t.Parallel()
	for what, f := range notAccepted {
		for where, r := range portion.Across(what, notAccepted, receivers) {
			t.Run(what+" "+where, func(t *testing.T) {
				t.Parallel()
				f.against(t, r.options, r.unpublished)
			})
		}
	}
	for where, r := range portion.Some(receivers, 1) {
		t.Run("the server cannot be reached "+where, func(t *testing.T) {
			t.Parallel()
			fault{unreachable: true}.against(t, r.options, postedAgain) // nothing is uncertain then
		})
	}
}

// against lets one item meet the fault, and checks what comes of it.
func (f fault) against(t *testing.T, options func(*mastodontest.Options), want ending) {
	t.Helper()
	w := newWorld(t)
	server := w.mastodon(options)
	net := newNetwork(t, server)
	w.openDestination("press", net.URL)
	asked := w.watch(server, nil)
	_, looks := asked.posted()
	w.impatient.Store(!f.unreachable) // nothing is uncertain then, also where a busy machine is slow
	late := make(chan *mastodontest.Pending, 1)
	switch {
	case f.unreachable:
		net.cut()
	case f.toxic != "":
		net.breakWith(f.toxic)
	default:
		server.OnPost(func(p *mastodontest.Pending) bool {
			f.answer(p)
			late <- p
			return true
		})
	}
	w.oneItem("press")
	item := w.untilItem("news", hasFailed("press", 1))
	failedAt := w.clock.Now()
	net.heal()
	server.OnPost(nil)
	w.impatient.Store(false)

	// Nobody looks, or posts again, before it is time.
	row := item.Status.Deliveries[0]
	if !f.unreachable {
		if wait := row.NextRetryTime.Sub(row.NotAfter.Time); row.State != v1alpha1.DeliveryIntent || wait != lifecycle.SettleTime {
			t.Errorf("delivery %+v, want an intent that is looked at %s after %s", row, lifecycle.SettleTime, row.NotAfter)
		}
	}
	if f.late {
		w.clock.Step(2 * time.Second)
		(<-late).Commit()
	}
	w.clock.SetTime(row.NextRetryTime.Add(-time.Second))
	w.lookAtItems("news")
	arrived := 0
	if f.arrives {
		arrived = 1
	}
	if posts, now := asked.posted(); len(posts) != arrived || now != looks {
		t.Fatalf("%d requests to post, %d lookups before it was time, want %d, 0", len(posts), now-looks, arrived)
	}

	ended := w.untilEnded("news", 1)[0]
	if err := inPhase(want.phase, want.reason)(&ended); err != nil {
		t.Error(err)
	}
	w.checkPosts(server, &ended, want)
	posts, _ := asked.posted()
	repeated := posts[arrived:]
	if want.repeats != anyNumber && len(repeated) != want.repeats {
		t.Errorf("sent %d times again, want %d", len(repeated), want.repeats)
	}
	for _, at := range repeated[:min(1, len(repeated))] { // R3.4: after five minutes, and not much later
		if waited := at.Sub(failedAt); waited < 5*time.Minute || waited > 6*time.Minute+time.Second {
			t.Errorf("sent again after %s: %+v", waited, ended.Status.History)
		}
	}
}

// checkPosts compares what the server has with what an item says.
func (w *world) checkPosts(server *mastodontest.Server, item *v1alpha1.FeedItem, want ending) {
	w.t.Helper()
	posts := server.Posts()
	if len(posts) != want.posts {
		w.t.Fatalf("%d posts, want %d: %+v", len(posts), want.posts, posts)
	}
	row := item.Status.Deliveries[0]
	if want.phase != v1alpha1.PhaseProcessed {
		if row.State != v1alpha1.DeliveryDead || item.Status.Failure == nil || item.Status.Failure.Type != lifecycle.TypeUncertain {
			w.t.Errorf("delivery %+v, failure %+v", row, item.Status.Failure)
		}
		return
	}
	if row.State != v1alpha1.DeliveryDone || row.ID != posts[0].ID || row.URL == "" || row.Failure != nil || posts[0].Key != row.Key {
		w.t.Errorf("delivery %+v of the post %+v", row, posts[0])
	}
}
