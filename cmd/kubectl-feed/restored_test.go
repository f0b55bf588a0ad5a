// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/backup"
	"github.com/feed-operator/feed-operator/internal/feedmemory"
	"github.com/feed-operator/feed-operator/internal/posted"
)

// put creates an object as it is, status and all.
func put(t *testing.T, object client.Object) {
	t.Helper()
	asked, _ := object.DeepCopyObject().(client.Object)
	if err := server.Client.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	if destination, is := object.(*v1alpha1.FeedDestination); is {
		destination.Status = asked.(*v1alpha1.FeedDestination).Status
		if err := server.Client.Status().Update(t.Context(), destination); err != nil {
			t.Fatal(err)
		}
	}
}

func get(t *testing.T, namespace, name string, into client.Object) {
	t.Helper()
	if err := server.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, into); err != nil {
		t.Fatal(err)
	}
}

// batchMemory is the name of what is sent of the batch that keptBatch makes.
const batchMemory = "ops-batch-0123456789abcdef0123"

// keptBatch has a namespace of kept hold a batch of its item as well, which was not finished.
func keptBatch(t *testing.T, namespace string) {
	t.Helper()
	kept(t, namespace)
	item, news := &v1alpha1.FeedItem{}, &v1alpha1.FeedSource{}
	get(t, namespace, "news-1", item)
	get(t, namespace, "news", news)
	ops := &v1alpha1.FeedDestination{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "ops"}}
	ops.Spec.Webhook = &v1alpha1.WebhookDestination{URL: "https://ops.example/hook", Batch: &v1alpha1.WebhookBatch{}}
	ops.Status.Batches = []v1alpha1.Batch{{
		Key: "0123456789abcdef0123456789abcdef", Members: []v1alpha1.BatchMember{{Item: item.Name, UID: item.UID, Key: "1"}, {Item: "gone", UID: "gone", Key: "2"}},
		Parts: []v1alpha1.BatchPart{{From: 0, To: 2}},
	}}
	put(t, ops)
	put(t, memoryOf(ops, "FeedDestination", batchMemory, func(m *v1alpha1.FeedMemory) {
		m.Batch = &v1alpha1.BatchRecords{Destination: "ops", Data: "what is sent"}
	}))
}

// memoryOf is a FeedMemory that belongs to an object.
func memoryOf(owner client.Object, kind, name string, change func(*v1alpha1.FeedMemory)) *v1alpha1.FeedMemory {
	memory := &v1alpha1.FeedMemory{ObjectMeta: metav1.ObjectMeta{Namespace: owner.GetNamespace(), Name: name, OwnerReferences: []metav1.OwnerReference{{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: kind, Name: owner.GetName(), UID: owner.GetUID(), Controller: new(true),
	}}}}
	change(memory)
	return memory
}

// dying deletes an object, which a finalizer keeps until the returned function is called.
func dying(t *testing.T, object client.Object) (gone func()) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	object.SetFinalizers([]string{"apps.example/newsroom"})
	if err := server.Client.Update(ctx, object); err != nil {
		t.Fatal(err)
	}
	if err := server.Client.Delete(ctx, object); err != nil {
		t.Fatal(err)
	}
	gone = func() {
		err := server.Client.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
		if client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	}
	t.Cleanup(gone) // else its namespace stays
	return gone
}

// R4.3, R4.4, R6.2: what is sent of a batch is kept under a name that does not follow from a UID. One that belongs to an earlier destination is about to be
// removed, so it is not taken for what is restored; once it is gone the same restore goes on.
func TestWhatIsKeptOfABatchIsNotLostWithAnEarlierDestination(t *testing.T) {
	t.Parallel()
	from := server.Namespace(t)
	keptBatch(t, from)
	text := well(t, from, "", "backup", "-", "--stopped")
	taken, err := backup.Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		// what is there: whether it belongs to the new destination, is of this backup, and is being deleted.
		own, restored, dies bool
		says                string
	}{
		"of a destination that was restored, and is gone": {false, true, false, "there is another one of that name: delete it, or wait until it is removed with the"},
		"of the new destination, and being deleted":       {true, true, true, "there is one of that name, which is being deleted: wait until it is removed"},
		"of the new destination, and not of this backup":  {true, false, false, "there is another one of that name"},
	} {
		to := server.Namespace(t)
		// A first try makes the destination, and no more: something else is in its way.
		other := memoryOf(&v1alpha1.FeedItem{ObjectMeta: metav1.ObjectMeta{Namespace: to, Name: "x", UID: "x"}}, "FeedItem", batchMemory, func(*v1alpha1.FeedMemory) {})
		put(t, other)
		if code, _, said := restoreOf(t, to, text); code != 1 || !strings.Contains(said, "FeedMemory "+batchMemory) {
			t.Fatalf("%s: the first try: ended with %d: %s", name, code, said)
		}
		if err := server.Client.Delete(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		ops, memory := &v1alpha1.FeedDestination{}, &v1alpha1.FeedMemory{}
		get(t, to, "ops", ops)
		owner := ops.DeepCopy()
		if !test.own {
			owner.UID = "6a5ad1b5-ab1c-4fdf-a9a5-a5c7a4a3a000"
		}
		before := memoryOf(owner, "FeedDestination", batchMemory, func(m *v1alpha1.FeedMemory) {
			m.Batch = &v1alpha1.BatchRecords{Destination: "ops", Data: "of before"}
			if test.restored {
				m.Annotations = map[string]string{v1alpha1.AnnotationRestoredFrom: taken.ID}
			}
		})
		put(t, before)
		gone := func() {
			if err := server.Client.Delete(t.Context(), before); err != nil {
				t.Error(err)
			}
		}
		if test.dies {
			gone = dying(t, before)
		}
		code, _, said := restoreOf(t, to, text)
		if code != 1 || !strings.Contains(said, "FeedMemory "+batchMemory+": "+test.says) || !strings.Contains(said, "run the same restore again") {
			t.Errorf("%s: ended with %d: %s", name, code, said)
		}
		get(t, to, "ops", ops)
		if !ops.Spec.Suspend {
			t.Errorf("%s: the destination goes on without it", name)
		}
		gone()
		well(t, to, text, "restore", "-")
		get(t, to, "ops", ops)
		get(t, to, batchMemory, memory)
		if !metav1.IsControlledBy(memory, ops) || memory.Batch == nil || memory.Batch.Data != "what is sent" || ops.Spec.Suspend {
			t.Errorf("%s: %+v", name, memory)
		}
		well(t, to, text, "restore", "-")
	}
}

// restoreOf restores a backup.
func restoreOf(t *testing.T, namespace, text string) (code int, out, said string) {
	t.Helper()
	return feed(t, namespace, text, "restore", "-")
}

// R1.2, R4.3, R6.2: what was seen is where the operator looks for it: under the names that follow from the new UID of its source, also where it has grown an
// archive. A batch has the items that were restored as its members; one whose item is gone stays as it is.
func TestWhatFollowsFromUIDsIsRestoredUnderTheNewOnes(t *testing.T) {
	t.Parallel()
	from, to := server.Namespace(t), server.Namespace(t)
	keptBatch(t, from)
	old := source(from, "grown")
	create(t, old)
	put(t, memoryOf(old, "FeedSource", feedmemory.NameOf(old), func(m *v1alpha1.FeedMemory) {
		m.Data = v1alpha1.FeedMemoryData{URLHash: "latest", Archive: feedmemory.ArchiveNameOf(old)}
	}))
	put(t, memoryOf(old, "FeedSource", feedmemory.ArchiveNameOf(old), func(m *v1alpha1.FeedMemory) { m.Data.GUIDs = "AAAAAAAAAAI=" }))
	well(t, to, well(t, from, "", "backup", "-", "--stopped"), "restore", "-")

	news, grown, item, ops := &v1alpha1.FeedSource{}, &v1alpha1.FeedSource{}, &v1alpha1.FeedItem{}, &v1alpha1.FeedDestination{}
	get(t, to, "news", news)
	get(t, to, "grown", grown)
	get(t, to, "news-1", item)
	get(t, to, "ops", ops)
	memory := &v1alpha1.FeedMemory{}
	get(t, to, feedmemory.NameOf(news), memory)
	if memory.Data.URLHash != "hash" || memory.Data.GUIDs != "AAAAAAAAAAE=" || !metav1.IsControlledBy(memory, news) {
		t.Errorf("of news: %+v", memory)
	}
	latest, archive := &v1alpha1.FeedMemory{}, &v1alpha1.FeedMemory{}
	get(t, to, feedmemory.NameOf(grown), latest)
	get(t, to, feedmemory.ArchiveNameOf(grown), archive)
	if latest.Data.URLHash != "latest" || latest.Data.Archive != archive.Name || archive.Data.GUIDs != "AAAAAAAAAAI=" || !metav1.IsControlledBy(archive, grown) {
		t.Errorf("of grown: %+v with the archive %+v", latest, archive)
	}
	members := ops.Status.Batches[0].Members
	if len(members) != 2 || members[0].UID != item.UID || members[1].UID != "gone" {
		t.Errorf("the batch has the members %+v, the item is %s", members, item.UID)
	}
}

// R1.2, R6.2: an archive that a crash has left without a memory which names it is not taken for the memory, whichever comes first in the file.
func TestAnArchiveThatNothingNamesIsNotTakenForTheMemory(t *testing.T) {
	t.Parallel()
	from := server.Namespace(t)
	old := source(from, "grown")
	create(t, old)
	put(t, memoryOf(old, "FeedSource", feedmemory.NameOf(old), func(m *v1alpha1.FeedMemory) { m.Data.URLHash = "latest" }))
	put(t, memoryOf(old, "FeedSource", feedmemory.ArchiveNameOf(old), func(m *v1alpha1.FeedMemory) { m.Data.GUIDs = "AAAAAAAAAAI=" }))
	for first := range 2 {
		to := server.Namespace(t)
		taken, err := backup.Read(strings.NewReader(well(t, from, "", "backup", "-", "--stopped")))
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(taken.Memories, func(a, b v1alpha1.FeedMemory) int { return strings.Compare(a.Data.URLHash, b.Data.URLHash) })
		if first == 1 {
			slices.Reverse(taken.Memories)
		}
		var file strings.Builder
		if err := taken.Write(&file); err != nil {
			t.Fatal(err)
		}
		well(t, to, file.String(), "restore", "-")
		grown, latest := &v1alpha1.FeedSource{}, &v1alpha1.FeedMemory{}
		get(t, to, "grown", grown)
		get(t, to, feedmemory.NameOf(grown), latest)
		if latest.Data.URLHash != "latest" {
			t.Errorf("the memory is %+v", latest.Data)
		}
	}
}

// R4.4, R6.2: what is remembered of posts at a destination of that name, which is gone, and what the backup remembers of them, are known together for as long
// as the latest of them is to be. Nothing is added to what is being deleted.
func TestWhatIsRememberedOfPostsIsKeptTogether(t *testing.T) {
	t.Parallel()
	from, to := server.Namespace(t), server.Namespace(t)
	now := time.Now().UTC().Truncate(time.Second)
	identity := func(title string) posted.Identity {
		item := &v1alpha1.FeedItem{Spec: v1alpha1.FeedItemSpec{Title: title}}
		return posted.OfItem(item, "https://example.org/news")
	}
	memory := func(namespace, title string, at time.Time) *v1alpha1.FeedMemory {
		book := posted.New()
		book.Remember(identity(title), posted.Post{URL: "https://mastodon.example/" + title, Time: at}, now)
		chunk := book.Unwritten()[0]
		return &v1alpha1.FeedMemory{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: "press-posted-0123456789-1", Labels: map[string]string{v1alpha1.LabelDestination: "press"},
				Annotations: map[string]string{v1alpha1.AnnotationForgetAfter: at.Add(posted.KeptFor).Format(time.RFC3339)},
			},
			Posted: &v1alpha1.PostedMemory{Destination: "press", Server: "https://mastodon.example", Number: chunk.Number, Posts: 1, Data: chunk.Data},
		}
	}
	kept(t, from)
	put(t, memory(from, "new", now.Add(-time.Hour)))
	there := memory(to, "old", now.Add(-80*24*time.Hour))
	put(t, there)
	text := well(t, from, "", "backup", "-", "--stopped")

	gone := dying(t, there)
	code, _, said := restoreOf(t, to, text)
	if code != 1 || !strings.Contains(said, "is being deleted: wait until it is removed") || !strings.Contains(said, "run the same restore again") {
		t.Errorf("ended with %d: %s", code, said)
	}
	gone()
	put(t, memory(to, "old", now.Add(-80*24*time.Hour)))
	for range 2 {
		well(t, to, text, "restore", "-")
		found := &v1alpha1.FeedMemory{}
		get(t, to, there.Name, found)
		book := posted.New()
		if err := book.Load(found.Posted.Number, found.Posted.Data); err != nil {
			t.Fatal(err)
		}
		for _, title := range []string{"new", "old"} {
			if _, known := book.Find(identity(title), now); !known {
				t.Errorf("the post of %s is not known", title)
			}
		}
		if after := found.Annotations[v1alpha1.AnnotationForgetAfter]; after != now.Add(posted.KeptFor-time.Hour).Format(time.RFC3339) {
			t.Errorf("forgotten after %s, and it is %s", after, now)
		}
	}
}

// R4.4, R6.2: what is in a namespace by now wins over a backup. A backup that was restored writes nothing to it again, another one of the same namespace is
// refused before anything is written, also where the first was cut off, and one of other feeds is restored beside it and leaves it alone.
func TestABackupWritesOverNothingThatIsThere(t *testing.T) {
	t.Parallel()
	from, to := server.Namespace(t), server.Namespace(t)
	kept(t, from)
	first, second := well(t, from, "", "backup", "-", "--stopped"), well(t, from, "", "backup", "-", "--stopped")
	well(t, to, first, "restore", "-")

	item, news, memory := &v1alpha1.FeedItem{}, &v1alpha1.FeedSource{}, &v1alpha1.FeedMemory{}
	read := func() {
		t.Helper()
		get(t, to, "news-1", item)
		get(t, to, "news", news)
		get(t, to, feedmemory.NameOf(news), memory)
	}
	read()
	item.Status.Deliveries[0].URL = "https://mastodon.example/newer"
	news.Status.Items.Processed = 7
	for _, object := range []client.Object{item, news} {
		if err := server.Client.Status().Update(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	news.Spec.URL = "https://example.org/newer"
	memory.Data.GUIDs = "AAAAAAAAAAEAAAAAAAAAAg=="
	for _, object := range []client.Object{news, memory} {
		if err := server.Client.Update(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	versions := func() (versions []string) {
		t.Helper()
		read()
		for _, object := range []client.Object{item, news, memory} {
			versions = append(versions, object.GetName()+" "+object.GetResourceVersion())
		}
		return versions
	}
	newer := versions()
	same := func(after string) {
		t.Helper()
		if now := versions(); !slices.Equal(now, newer) {
			t.Errorf("after %s: %v, and before %v", after, now, newer)
		}
	}
	well(t, to, first, "restore", "-")
	same("the same backup")
	inTheWay := "there is already: FeedDestination press, FeedSource news. Nothing was written"
	if code, _, said := restoreOf(t, to, second); code != 1 || !strings.Contains(said, inTheWay) {
		t.Errorf("another backup of the same: ended with %d: %s", code, said)
	}
	same("another backup")

	// Of other feeds: an item, which is in the way only by its name, is not written over.
	other := server.Namespace(t)
	papers := source(other, "papers")
	create(t, papers)
	create(t, itemOf(papers, "papers-1"), itemOf(papers, "news-1"))
	text := well(t, other, "", "backup", "-", "--stopped")
	code, _, said := restoreOf(t, to, text)
	if code != 1 || !strings.Contains(said, "FeedItem news-1: there is another one of that name") || !strings.Contains(said, "is suspended: run the same restore again") {
		t.Errorf("items of the same name: ended with %d: %s", code, said)
	}
	same("a backup of other feeds")

	// What was cut off there is in the way of another backup, and goes on with its own.
	if code, _, said := restoreOf(t, to, well(t, other, "", "backup", "-", "--stopped")); code != 1 || !strings.Contains(said, "there is already: FeedSource papers") {
		t.Errorf("another one after one that was cut off: ended with %d: %s", code, said)
	}
	if err := server.Client.Delete(t.Context(), item); err != nil {
		t.Fatal(err)
	}
	well(t, to, text, "restore", "-")
	get(t, to, "papers", papers)
	if papers.Spec.Suspend {
		t.Error("it is still suspended")
	}
}

func itemOf(source *v1alpha1.FeedSource, name string) *v1alpha1.FeedItem {
	return item(source, name, v1alpha1.PhaseProcessed, v1alpha1.ReasonNone)
}

// R6.2: what becomes of the entries that came since a backup is said once: a restore that was cut off does not go on with another word, half by this one and half
// by that one.
func TestARestoreGoesOnWithTheSameWord(t *testing.T) {
	t.Parallel()
	from, to := server.Namespace(t), server.Namespace(t)
	kept(t, from)
	news := &v1alpha1.FeedSource{}
	get(t, from, "news", news)
	news.Status.LastSuccessTime = new(metav1.Now())
	if err := server.Client.Status().Update(t.Context(), news); err != nil {
		t.Fatal(err)
	}
	text := well(t, from, "", "backup", "-")
	other := itemOf(source(to, "other"), "news-1")
	other.Spec.SourceRef.UID = "other"
	create(t, other)
	code, _, said := feed(t, to, text, "restore", "-", "--entries-since-backup=skip")
	if code != 1 || !strings.Contains(said, "FeedItem news-1: there is another one of that name") {
		t.Fatalf("ended with %d: %s", code, said)
	}
	if err := server.Client.Delete(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	code, _, said = feed(t, to, text, "restore", "-", "--entries-since-backup=create")
	if code != 1 || !strings.Contains(said, "with another --entries-since-backup") {
		t.Errorf("with another word: ended with %d: %s", code, said)
	}
	get(t, to, "news", news)
	if !news.Spec.Suspend {
		t.Error("the source goes on")
	}
	well(t, to, text, "restore", "-", "--entries-since-backup=skip")
	memory := &v1alpha1.FeedMemory{}
	get(t, to, "news", news)
	get(t, to, feedmemory.NameOf(news), memory)
	if news.Spec.Suspend || memory.Data.URLHash != "" || memory.Data.GUIDs == "" {
		t.Errorf("suspended %t, memory %+v", news.Spec.Suspend, memory.Data)
	}
}
