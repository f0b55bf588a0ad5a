// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/backup"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

// saved makes a backup of the world's namespace, and reads it as it was written.
func (w *world) saved(final bool) *backup.Backup {
	w.t.Helper()
	taken, err := backup.Take(w.t.Context(), w.client, w.namespace, w.clock.Now(), final)
	if err != nil {
		w.t.Fatal(err)
	}
	var file bytes.Buffer
	if err := taken.Write(&file); err != nil {
		w.t.Fatal(err)
	}
	if strings.Contains(file.String(), accessToken) {
		w.t.Error("a token is in the backup")
	}
	read, err := backup.Read(&file)
	if err != nil {
		w.t.Fatal(err)
	}
	return read
}

// restored brings a backup to the world's namespace.
func (w *world) restored(saved *backup.Backup, since backup.EntriesSince) backup.Report {
	w.t.Helper()
	restorer := backup.Restorer{Client: w.client, Namespace: w.namespace, Since: since, Now: w.clock.Now()}
	report, err := restorer.Restore(w.t.Context(), saved)
	if err != nil {
		w.t.Fatal(err)
	}
	return report
}

// newCluster is a world at an API server of its own, at the time of another one.
func newCluster(w *world) *world {
	return newWorld(w.t, at(server.Another(w.t)), func(other *world) { other.clock.FakeClock.SetTime(w.clock.Now()) })
}

// calls counts the requests to post at a server: one that is sent again with the same key publishes nothing, and counts all the same.
func calls(j *journal) int {
	made, _ := j.posted()
	return len(made)
}

// R1.1, R4.4, R6.2: all that a namespace holds is moved to another cluster, where an operator runs already. What was posted is not posted again, what was
// under way is looked for, what waited goes on, and what is new is found.
func TestANamespaceMovesToAnotherCluster(t *testing.T) {
	t.Parallel()
	old := newWorld(t)
	press, desk := old.mastodon(), old.mastodon()
	ofPress, ofDesk := old.watch(press, nil), old.watch(desk, nil)
	old.openDestination("press", press.URL)
	old.openDestination("desk", desk.URL)
	web := feedtest.New(t)
	entries := web.Entries("news", 5)
	web.List(entries[:3]...)
	old.source("news", web.FeedURL(), postsTo("press"), func(s *v1alpha1.FeedSource) { s.Spec.InitialItems = new(int32(2)) })
	old.awaitItems("news", allProcessed(2))
	old.untilCounted("news", hasCome(v1alpha1.ItemCounts{Processed: 2}, 2, 0))
	old.deleteItem("news", entries[0].Title)
	old.untilCounted("news", hasCome(v1alpha1.ItemCounts{Processed: 1}, 2, 0))

	// A post whose answer is lost, and an item that waits for a provider that is not there yet.
	desk.OnPost(func(p *mastodontest.Pending) bool {
		after(http.StatusGatewayTimeout, "text/html", "<html>504</html>")(p)
		return true
	})
	other := feedtest.New(t)
	other.List(other.Entries("lost", 1)...)
	old.source("lost", other.FeedURL(), postsTo("desk"))
	old.awaitItem("lost", hasFailed("desk", 1))
	third := feedtest.New(t)
	third.List(third.Entries("waits", 2)...)
	old.source("waits", third.FeedURL(), summarizedBy("gemini"), postsTo("press"))
	old.awaitItems("waits", eachOf(2, waitsFor(`"gemini"`)))
	old.stop()
	desk.OnPost(nil)
	saved := old.saved(true)

	b := newCluster(old)
	b.secret("press", "accessToken", accessToken)
	b.secret("desk", "accessToken", accessToken)
	web.List(entries...) // two more, and the one that was only remembered
	report := b.restored(saved, "")
	if report.Uncertain != 0 || report.Done != 0 || report.Restored != saved.Len() {
		t.Errorf("%+v, of %d objects", report, saved.Len())
	}
	b.poll("news")
	b.awaitItems("news", allProcessed(3))
	b.untilCounted("news", hasCome(v1alpha1.ItemCounts{Processed: 3}, 4, 0)) // R5.2
	b.minutesPass(10, "lost", allProcessed(1))
	b.gemini("gemini")
	b.minutesPass(10, "waits", allProcessed(2))
	if calls(ofPress) != 6 || len(press.Posts()) != 6 || calls(ofDesk) != 1 || len(desk.Posts()) != 1 {
		t.Errorf("press: %d calls, %d posts; desk: %d calls, %d posts", calls(ofPress), len(press.Posts()), calls(ofDesk), len(desk.Posts()))
	}
	if err := onePostEach(press, append(titlesOf(slices.Delete(slices.Clone(entries), 2, 3)), titlesOf(third.Entries("waits", 2))...)...); err != nil {
		t.Error(err)
	}

	// A second time nothing changes.
	if report := b.restored(saved, ""); report.Restored != 0 || report.Done != 5 {
		t.Errorf("the second time: %+v", report)
	}
	b.poll("news")
	if calls(ofPress) != 6 || calls(ofDesk) != 1 {
		t.Errorf("the second time: press %d calls, desk %d", calls(ofPress), calls(ofDesk))
	}
}

func titlesOf(entries []feedtest.Entry) (titles []string) {
	for _, entry := range entries {
		titles = append(titles, entry.Title)
	}
	return titles
}

// R4.4: a post that was lost days ago, and that nobody has looked for since, is still found after a move: the time of creation of the new cluster
// does not count.
func TestAMovedPostIsLookedForWhereItWasMade(t *testing.T) {
	t.Parallel()
	old := newWorld(t)
	desk := old.mastodon()
	old.openDestination("desk", desk.URL)
	desk.OnPost(func(p *mastodontest.Pending) bool {
		after(http.StatusGatewayTimeout, "text/html", "<html>504</html>")(p)
		return true
	})
	old.oneItem("desk")
	old.awaitItem("news", hasFailed("desk", 1))
	old.stop()
	desk.OnPost(nil)
	saved := old.saved(true)
	for i := range saved.Items { // five days ago
		before := func(at time.Time) time.Time { return at.Add(-5 * 24 * time.Hour).UTC().Truncate(time.Second) }
		item := &saved.Items[i]
		item.Annotations[v1alpha1.AnnotationOriginalCreation] = before(old.clock.Now()).Format(time.RFC3339)
		row := &item.Status.Deliveries[0]
		row.FirstAttemptTime.Time, row.NotAfter.Time = before(row.FirstAttemptTime.Time), before(row.NotAfter.Time)
	}
	b := newCluster(old)
	b.secret("desk", "accessToken", accessToken)
	j := b.watch(desk, nil)
	if len(desk.Posts()) != 1 {
		t.Fatalf("%d posts", len(desk.Posts()))
	}
	b.restored(saved, "")
	b.minutesPass(10, "news", allProcessed(1))
	if n := calls(j); n != 0 {
		t.Errorf("%d posts more", n)
	}
}

// R4.4, R6.2: of a backup that an operator has worked after, nothing is restored before somebody says what becomes of the entries that came since; and what
// was posted since is found at the destination, not posted again.
func TestWhatWasPostedAfterABackupIsNotPostedAgain(t *testing.T) {
	t.Parallel()
	old := newWorld(t)
	press := old.mastodon()
	j := old.watch(press, nil)
	old.openDestination("press", press.URL)
	web := feedtest.New(t)
	entries := web.Entries("news", 6)
	web.List(entries[:2]...)
	source := old.source("news", web.FeedURL(), summarizedBy("gemini"), postsTo("press"))
	old.awaitItems("news", eachOf(2, waitsFor(`"gemini"`)))
	saved := old.saved(false)

	old.gemini("gemini")
	web.List(entries[:4]...)
	old.poll("news")
	old.minutesPass(10, "news", allProcessed(4))
	old.stop()
	if n := calls(j); n != 4 {
		t.Fatalf("%d posts", n)
	}
	b := newCluster(old)
	refusing := backup.Restorer{Client: b.client, Namespace: b.namespace, Now: b.clock.Now()}
	if _, err := refusing.Restore(t.Context(), saved); err == nil || !strings.Contains(err.Error(), "--entries-since-backup=skip") {
		t.Errorf("without a word: %v", err)
	}
	b.secret("press", "accessToken", accessToken)
	b.gemini("gemini")
	if report := b.restored(saved, backup.EntriesSkip); report.Uncertain != 2 {
		t.Errorf("%+v", report)
	}
	b.untilSource(source.Name, isReadySource)
	b.minutesPass(10, "news", allProcessed(2))
	b.untilSource(source.Name, func(s *v1alpha1.FeedSource) error {
		if !meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionMemoryRebuilt) {
			return fmt.Errorf("nothing says that entries were skipped: %v", s.Status.Conditions)
		}
		return nil
	})
	web.List(entries...)
	b.poll("news")
	b.minutesPass(10, "news", allProcessed(4))
	if n := calls(j); n != 6 || len(press.Posts()) != 6 {
		t.Errorf("%d calls, %d posts", n, len(press.Posts()))
	}
	if err := onePostEach(press, titlesOf(entries)...); err != nil {
		t.Error(err)
	}
}

// R4.4, R6.2: a final backup is made of what an operator works on: everything is suspended, which the operator confirms, and a call that is under way at that moment is
// waited for, so that what it comes to is in the backup.
func TestABackupWaitsForWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	old := newWorld(t)
	press := old.mastodon()
	goOn, asked := make(chan struct{}), make(chan struct{}, 1)
	press.OnPost(func(*mastodontest.Pending) bool {
		asked <- struct{}{}
		<-goOn
		return false
	})
	j := old.watch(press, nil)
	old.openDestination("press", press.URL)
	old.oneItem("press")
	<-asked
	ended := make(chan error, 1)
	suspender := backup.Suspender{Client: old.client, Namespace: old.namespace, Clock: old.clock}
	go func() { ended <- suspender.Suspend(t.Context()) }()
	old.untilDestination("press", isClosed(v1alpha1.ReasonSuspended))
	select {
	case err := <-ended:
		t.Errorf("it has not waited: %v", err)
	default:
	}
	close(goOn)
	old.awaitItem("news", inPhase(v1alpha1.PhaseProcessed, v1alpha1.ReasonNone))
	old.timePassesBy(time.Second, func() error {
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
			return nil
		default:
			return errNotYet
		}
	})
	saved := old.saved(true)
	if saved.Sources[0].Spec.Suspend || saved.Destinations[0].Spec.Suspend {
		t.Error("what a backup has suspended is saved as suspended")
	}
	old.stop()
	b := newCluster(old)
	b.secret("press", "accessToken", accessToken)
	b.restored(saved, "")
	b.untilDestination("press", isOpen)
	b.poll("news")
	b.awaitItems("news", allProcessed(1))
	if n := calls(j); n != 1 {
		t.Errorf("%d posts", n)
	}
	resumed, err := suspender.Resume(t.Context())
	if err != nil || resumed != 2 {
		t.Errorf("%d resumed, %v", resumed, err)
	}
}

// R4.3, R4.4, R6.2: a batch that was not finished goes on in another cluster, with the same records and the same keys.
func TestABatchThatIsNotFinishedMoves(t *testing.T) {
	t.Parallel()
	old := newWorld(t)
	server := old.webhook()
	up := answering(server, http.StatusServiceUnavailable)
	old.batches(3, server, inBatches(3, time.Hour))
	failed := old.untilBatchFailed(1)
	old.stop()
	up()
	saved := old.saved(true)
	b := newCluster(old)
	b.restored(saved, "")
	b.untilSent(3, v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)
	wantOneBatch(t, server, 3)
	if taken := server.Taken(); taken[0].Key != failed.Key {
		t.Errorf("it was sent as %s, and tried as %s", taken[0].Key, failed.Key)
	}
	b.untilNoBatch()
}

// R4.3, R4.4, R6.2: a restore that is interrupted at its end, when the destination goes on and the source does not yet, is run again: what was sent meanwhile
// of a batch stays as it is on the items.
func TestWhatGoesOnAlreadyIsNotRestoredAgain(t *testing.T) {
	t.Parallel()
	old := newWorld(t)
	server := old.webhook()
	up := answering(server, http.StatusServiceUnavailable)
	old.batches(3, server, inBatches(3, time.Hour))
	old.untilBatchFailed(1)
	old.stop()
	up()
	saved := old.saved(true)
	b := newCluster(old)
	restorer := backup.Restorer{Client: withoutSources{b.client}, Namespace: b.namespace, Now: b.clock.Now()}
	if _, err := restorer.Restore(t.Context(), saved); !errors.Is(err, errCut) {
		t.Fatalf("it was not interrupted: %v", err)
	}
	before := b.untilSent(3, v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)
	b.untilNoBatch()
	if report := b.restored(saved, ""); report.Restored != 0 || report.Done != 1 {
		t.Errorf("%+v", report)
	}
	after, err := b.items(t.Context(), "news")
	if err != nil {
		t.Fatal(err)
	}
	for i := range after {
		if after[i].Status.Phase != v1alpha1.PhaseProcessed || after[i].ResourceVersion != before[i].ResourceVersion {
			t.Errorf("%s was %+v and is %+v", after[i].Name, before[i].Status, after[i].Status)
		}
	}
	b.untilSource("news", isReadySource)
	b.poll("news")
	b.untilSent(3, v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)
	wantOneBatch(t, server, 3)
}

// withoutSources is a client whose connection is gone when a source is to go on.
type withoutSources struct{ client.Client }

func (c withoutSources) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	if source, is := object.(*v1alpha1.FeedSource); is && !source.Spec.Suspend {
		return errCut
	}
	return c.Client.Patch(ctx, object, patch, options...)
}

// R6.2: a restore that is interrupted, wherever that is, leaves all suspended, so that the operator does nothing with a part; run again, it goes on.
func TestAnInterruptedRestoreGoesOn(t *testing.T) {
	t.Parallel()
	old := newWorld(t)
	press := old.mastodon()
	j := old.watch(press, nil)
	old.openDestination("press", press.URL)
	web := feedtest.New(t)
	entries := web.Entries("news", 4)
	web.List(entries[2:]...)
	source := old.source("news", web.FeedURL(), postsTo("press"))
	old.awaitItems("news", allProcessed(2))
	old.suspend(old.untilDestination("press", isOpen), true)
	old.untilDestination("press", isClosed(v1alpha1.ReasonSuspended))
	web.List(entries...)
	old.poll("news")
	old.awaitItems("news", hasItems(4))
	old.stop()
	saved := old.saved(true)
	saved.Destinations[0].Spec.Suspend = false
	web.List(web.Entries("news", 6)...)

	b := newCluster(old)
	b.secret("press", "accessToken", accessToken)
	tries := 0
	for allowed := 1; ; allowed++ { // one write more each time
		tries++
		cut := &cutting{Client: b.client, left: allowed}
		restorer := backup.Restorer{Client: cut, Namespace: b.namespace, Now: b.clock.Now()}
		_, err := restorer.Restore(t.Context(), saved)
		if err == nil {
			break
		}
		if !errors.Is(err, errCut) || tries > 60 {
			t.Fatalf("try %d: %v", tries, err)
		}
		if n := calls(j); n != 2 {
			t.Fatalf("%d posts after %d writes", n, allowed)
		}
	}
	if tries < 10 {
		t.Errorf("it was interrupted %d times", tries-1)
	}
	b.untilSource(source.Name, isReadySource)
	b.poll("news")
	b.minutesPass(10, "news", allProcessed(6))
	if n := calls(j); n != 6 || len(press.Posts()) != 6 {
		t.Errorf("%d calls, %d posts", n, len(press.Posts()))
	}
}

var errCut = errors.New("the connection is gone")

// cutting is a client that makes so many writes and no more.
type cutting struct {
	client.Client

	mu   sync.Mutex
	left int
}

func (c *cutting) take() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left--; c.left < 0 {
		return errCut
	}
	return nil
}

func (c *cutting) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	if _, asks := object.(*authorizationv1.SelfSubjectAccessReview); asks {
		return c.Client.Create(ctx, object, options...)
	}
	if err := c.take(); err != nil {
		return err
	}
	return c.Client.Create(ctx, object, options...)
}

func (c *cutting) Update(ctx context.Context, object client.Object, options ...client.UpdateOption) error {
	if err := c.take(); err != nil {
		return err
	}
	return c.Client.Update(ctx, object, options...)
}

func (c *cutting) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	if err := c.take(); err != nil {
		return err
	}
	return c.Client.Patch(ctx, object, patch, options...)
}

func (c *cutting) Status() client.SubResourceWriter { return cuttingStatus{c.Client.Status(), c} }

type cuttingStatus struct {
	client.SubResourceWriter

	of *cutting
}

func (c cuttingStatus) Update(ctx context.Context, object client.Object, options ...client.SubResourceUpdateOption) error {
	if err := c.of.take(); err != nil {
		return err
	}
	return c.SubResourceWriter.Update(ctx, object, options...)
}

// R4.4, R6.2: what a backup remembers of posts is known as soon as it is restored, also where the operator runs there and has what was posted to an earlier
// destination of that name in its memory: a source that is applied again then posts nothing again.
func TestRestoredPostsAreKnownToAnOperatorThatRuns(t *testing.T) {
	t.Parallel()
	old := newWorld(t)
	press := old.mastodon()
	j := old.watch(press, nil)
	old.openDestination("press", press.URL)
	web := feedtest.New(t)
	web.List(web.Entries("news", 3)...)
	old.source("news", web.FeedURL(), postsTo("press"))
	old.awaitItems("news", allProcessed(3))
	old.untilPostsRemembered("press", 3)
	old.remove("news")
	old.stop()
	saved := old.saved(true)

	b := newCluster(old)
	made := b.openDestination("press", press.URL)
	other := feedtest.New(t)
	other.List(other.Entries("other", 1)...)
	b.source("other", other.FeedURL(), postsTo("press"))
	b.awaitItems("other", allProcessed(1))
	b.untilPostsRemembered("press", 1)
	b.remove("other")
	if err := b.client.Delete(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	if n := calls(j); n != 4 {
		t.Fatalf("%d posts", n)
	}
	b.restored(saved, "")
	b.untilDestination("press", isOpen)
	b.source("other", other.FeedURL(), postsTo("press"))
	b.source("news", web.FeedURL(), postsTo("press"))
	b.awaitItems("news", allSkipped(3, "press"))
	b.awaitItems("other", allSkipped(1, "press"))
	if n := calls(j); n != 4 {
		t.Errorf("%d posts", n)
	}
}

// R4.4, R6.2: a snapshot of etcd brings back a namespace as it was, with all UIDs, and without what was posted since. By the way of docs/backup.md nothing of
// that is posted again: a backup as of the time of the snapshot, all deleted, and restored in the same namespace.
func TestANamespaceOfARestoredEtcdPostsNothingAgain(t *testing.T) {
	t.Parallel()
	old := newWorld(t)
	press := old.mastodon()
	j := old.watch(press, nil)
	old.openDestination("press", press.URL)
	web := feedtest.New(t)
	entries := web.Entries("news", 6)
	web.List(entries[:1]...)
	old.source("news", web.FeedURL(), postsTo("press"))
	old.awaitItems("news", allProcessed(1))
	old.suspend(old.untilDestination("press", isOpen), true)
	old.untilDestination("press", isClosed(v1alpha1.ReasonSuspended))
	web.List(entries[:3]...)
	old.poll("news")
	old.awaitItems("news", hasItems(3))
	old.stop()
	snapshot := old.clock.Now()

	// What came after the snapshot: the same objects, in a cluster that is lost then.
	lost := newCluster(old)
	lost.secret("press", "accessToken", accessToken)
	after := old.saved(true)
	after.Destinations[0].Spec.Suspend = false
	lost.restored(after, "")
	web.List(entries[:4]...)
	lost.poll("news")
	lost.minutesPass(10, "news", allProcessed(4))
	lost.stop()
	if n := calls(j); n != 4 {
		t.Fatalf("%d posts", n)
	}

	old.clock.FakeClock.SetTime(lost.clock.Now())
	saved, err := backup.Take(t.Context(), old.client, old.namespace, snapshot, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []client.Object{&v1alpha1.FeedSource{}, &v1alpha1.FeedItem{}, &v1alpha1.FeedDestination{}, &v1alpha1.AIProvider{}} {
		if err := old.client.DeleteAllOf(t.Context(), kind, client.InNamespace(old.namespace)); err != nil {
			t.Fatal(err)
		}
	}
	saved.Destinations[0].Spec.Suspend = false
	if report := old.restored(saved, backup.EntriesSkip); report.Uncertain != 2 {
		t.Errorf("%+v", report)
	}
	old.start()
	old.poll("news")
	old.minutesPass(10, "news", allProcessed(3))
	web.List(entries...)
	old.poll("news")
	old.minutesPass(10, "news", allProcessed(5))
	if n := calls(j); n != 6 || len(press.Posts()) != 6 {
		t.Errorf("%d calls, %d posts", n, len(press.Posts()))
	}
	if err := onePostEach(press, titlesOf(entries)...); err != nil {
		t.Error(err)
	}
}
