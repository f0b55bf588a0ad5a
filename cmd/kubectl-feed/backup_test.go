// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/backup"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

// kept is what a namespace holds that is saved: a source, an item of it that was posted, a destination, and what was seen and posted.
func kept(t *testing.T, namespace string) {
	t.Helper()
	news := source(namespace, "news")
	news.Spec.Destinations = []v1alpha1.DestinationReference{{Name: "press"}}
	create(t, news)
	press := &v1alpha1.FeedDestination{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "press"}}
	press.Spec.Mastodon = &v1alpha1.MastodonDestination{Server: "https://mastodon.example", SecretRef: v1alpha1.SecretReference{Name: "token"}}
	item := &v1alpha1.FeedItem{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "news-1"}}
	item.Spec.SourceRef, item.Spec.Title = v1alpha1.SourceReference{Name: "news", UID: news.UID}, "It rains"
	item.Status.Phase, item.Status.Summary = v1alpha1.PhaseProcessed, &v1alpha1.Summary{Text: "It rains.", Provider: "me"}
	item.Status.Deliveries = []v1alpha1.Delivery{{Destination: "press", State: v1alpha1.DeliveryDone, Key: "key", ID: "1", URL: "https://mastodon.example/1"}}
	create(t, item)
	memory := &v1alpha1.FeedMemory{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "news-memory", OwnerReferences: []metav1.OwnerReference{{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "FeedSource", Name: "news", UID: news.UID, Controller: new(true),
	}}}, Data: v1alpha1.FeedMemoryData{URLHash: "hash", GUIDs: "AAAAAAAAAAE="}}
	for _, object := range []client.Object{press, memory, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "token"}, StringData: map[string]string{"accessToken": "RECOGNISABLE"},
	}} {
		if err := server.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

// R6.2: a namespace is saved in a file that nobody else can read, without a Secret, and restored in another one; a second time nothing is written.
func TestANamespaceIsSavedAndRestored(t *testing.T) {
	t.Parallel()
	from, to := server.Namespace(t), server.Namespace(t)
	kept(t, from)
	file := filepath.Join(t.TempDir(), "press.feeds")
	code, out, said := feed(t, from, "", "backup", file, "--stopped")
	if code != 0 || out != "" || !strings.Contains(said, "Saved 1 sources, 1 items, 1 destinations and 0 providers") ||
		!strings.Contains(said, "Secret token is not in it, and needed by destination/press") {
		t.Fatalf("ended with %d: %s%s", code, out, said)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	text, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(text), "RECOGNISABLE") {
		t.Errorf("a secret is in the file, or %v", err)
	}
	if code, _, said := feed(t, from, "", "backup", file); code != 1 || !strings.Contains(said, "exists already") {
		t.Errorf("a backup is written over: %d %s", code, said)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("files %v, %v", left, err)
	}

	if code, _, said := feed(t, from, "", "restore", file); code != 1 || !strings.Contains(said, "there is already: FeedDestination press, FeedSource news") {
		t.Errorf("onto itself: %d %s", code, said)
	}
	code, out, said = feed(t, to, string(text), "restore", "-")
	if code != 0 || !strings.Contains(out, "Restored 4 objects") || !strings.Contains(said, "Secret token is missing, and needed by destination/press") {
		t.Fatalf("ended with %d: %s%s", code, out, said)
	}
	item, news := &v1alpha1.FeedItem{}, &v1alpha1.FeedSource{}
	for _, object := range []client.Object{item, news} {
		name := map[bool]string{true: "news-1", false: "news"}[object == client.Object(item)]
		if err := server.Client.Get(t.Context(), client.ObjectKey{Namespace: to, Name: name}, object); err != nil {
			t.Fatal(err)
		}
	}
	if item.Spec.SourceRef.UID != news.UID || !metav1.IsControlledBy(item, news) || item.Status.Deliveries[0].State != v1alpha1.DeliveryDone || news.Spec.Suspend {
		t.Errorf("item %+v of source %+v", item, news)
	}
	if out := well(t, to, string(text), "restore", "-"); !strings.Contains(out, "Restored 0 objects") || !strings.Contains(out, "2 were there from before") {
		t.Errorf("a second time: %s", out)
	}
}

// R5.6, R6.2: who may view a namespace can save it. To restore takes more than to edit, which is said before anything is written.
func TestWhoMaySaveAndRestore(t *testing.T) {
	t.Parallel()
	from, to := server.Namespace(t), server.Namespace(t)
	kept(t, from)
	file := filepath.Join(t.TempDir(), "press.feeds")
	grant(t, from, "feeds_viewer_role.yaml", "viewer-"+from)
	await(t, func() error {
		if code, _, said := feed(t, from, "", "backup", file, "--stopped", "--as", "viewer-"+from); code != 0 {
			return errors.New(said)
		}
		return nil
	})
	editor := "editor-" + to
	grant(t, to, "feeds_editor_role.yaml", editor)
	code, _, said := feed(t, to, "", "restore", file, "--as", editor)
	if code != 1 || !strings.Contains(said, "update feeditems/status") || !strings.Contains(said, "--clusterrole feeds-restorer") {
		t.Errorf("ended with %d: %s", code, said)
	}
	var sources v1alpha1.FeedSourceList
	if err := server.Client.List(t.Context(), &sources, client.InNamespace(to)); err != nil || len(sources.Items) != 0 {
		t.Errorf("%d sources, %v", len(sources.Items), err)
	}
	grant(t, to, "feeds_restorer_role.yaml", editor)
	await(t, func() error {
		code, _, said := feed(t, to, "", "restore", file, "--as", editor)
		if code != 0 {
			return errors.New(said)
		}
		if !strings.Contains(said, "Secret token is needed by destination/press; whether it is there could not be found out") {
			t.Errorf("of a Secret that may not be read: %s", said)
		}
		return nil
	})
}

// R6.2: what owned an object, or held up its deletion, is not in the other cluster. The garbage collector deletes what is owned by a UID that no object has.
func TestWhatOwnedAnObjectDoesNotComeWithIt(t *testing.T) {
	t.Parallel()
	from, to := server.Namespace(t), server.Namespace(t)
	kept(t, from)
	news, press := &v1alpha1.FeedSource{}, &v1alpha1.FeedDestination{}
	for name, object := range map[string]client.Object{"news": news, "press": press} {
		if err := server.Client.Get(t.Context(), client.ObjectKey{Namespace: from, Name: name}, object); err != nil {
			t.Fatal(err)
		}
		object.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "apps.example/v1", Kind: "Newsroom", Name: "mine", UID: "gone"}})
		object.SetFinalizers([]string{"apps.example/newsroom"})
		object.SetLabels(map[string]string{"team": "press"})
		if err := server.Client.Update(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { // else its namespace stays
			object.SetFinalizers(nil)
			_ = server.Client.Update(context.WithoutCancel(t.Context()), object)
		})
	}
	text := well(t, from, "", "backup", "-", "--stopped")
	well(t, to, text, "restore", "-")
	for name, object := range map[string]client.Object{"news": news, "press": press} {
		if err := server.Client.Get(t.Context(), client.ObjectKey{Namespace: to, Name: name}, object); err != nil {
			t.Fatal(err)
		}
		if len(object.GetOwnerReferences())+len(object.GetFinalizers()) > 0 || object.GetLabels()["team"] != "press" {
			t.Errorf("%s is owned by %v, with the finalizers %v and the labels %v",
				name, object.GetOwnerReferences(), object.GetFinalizers(), object.GetLabels())
		}
	}
}

// R1.2, R6.2: items that a restore has made, and whose source was deleted since, are about to be removed. Another restore of the same backup writes nothing
// to them, which would be lost, and overwrites none of another source.
func TestItemsOfASourceThatIsGoneAreNotRestoredInto(t *testing.T) {
	t.Parallel()
	from, to := server.Namespace(t), server.Namespace(t)
	kept(t, from)
	text := well(t, from, "", "backup", "-", "--stopped")
	well(t, to, text, "restore", "-")
	news, item := &v1alpha1.FeedSource{}, &v1alpha1.FeedItem{}
	news.Namespace, news.Name, item.Namespace, item.Name = to, "news", to, "news-1"
	if err := server.Client.Delete(t.Context(), news, client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
		t.Fatal(err)
	}
	code, _, said := feed(t, to, text, "restore", "-")
	if code != 1 || !strings.Contains(said, "there is already: FeedSource news, which is being deleted.") {
		t.Errorf("into a source that is being deleted: ended with %d: %s", code, said)
	}
	if err := server.Client.Patch(t.Context(), news, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Fatal(err)
	}
	code, _, said = feed(t, to, text, "restore", "-")
	if code != 1 || !strings.Contains(said, "FeedItem news-1: there is another one of that name") || !strings.Contains(said, "run the same restore again") {
		t.Errorf("ended with %d: %s", code, said)
	}
	if err := server.Client.Delete(t.Context(), item); err != nil {
		t.Fatal(err)
	}
	well(t, to, text, "restore", "-")
	for _, object := range []client.Object{news, item} {
		if err := server.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			t.Fatal(err)
		}
	}
	if !metav1.IsControlledBy(item, news) || item.Status.Phase != v1alpha1.PhaseProcessed || news.Spec.Suspend {
		t.Errorf("owned by %v, %s", item.OwnerReferences, item.Status.Phase)
	}
}

// R6.2: a file is anybody's text. What it says is shown without what a terminal would obey, and no object of it comes to be elsewhere than it is restored to.
func TestAFileIsAnybodysText(t *testing.T) {
	t.Parallel()
	from := server.Namespace(t)
	kept(t, from)
	for _, name := range []string{"\x1b[2J\x1b]0;all is well\a", "a\u202etxt.exe", "../../kube-system/secrets/x"} {
		to := server.Namespace(t)
		taken, err := backup.Read(strings.NewReader(well(t, from, "", "backup", "-", "--stopped")))
		if err != nil {
			t.Fatal(err)
		}
		taken.Destinations[0].Spec.Mastodon.SecretRef.Name = name
		taken.Destinations[0].Namespace, taken.Sources[0].Namespace = from, "kube-system"
		var file strings.Builder
		if err := taken.Write(&file); err != nil {
			t.Fatal(err)
		}
		code, out, said := feed(t, to, file.String(), "restore", "-")
		if code != 0 || !strings.Contains(said, "needed by destination/press") || strings.ContainsAny(out+said, "\x1b\a\u202e") {
			t.Errorf("%q: ended with %d: %q", name, code, out+said)
		}
		_, _, said = feed(t, to, "", "backup", "-", "--stopped")
		if !strings.Contains(said, "needed by destination/press") || strings.ContainsAny(said, "\x1b\a\u202e") {
			t.Errorf("%q: saved again: %q", name, said)
		}
	}
	var sources v1alpha1.FeedSourceList
	if err := server.Client.List(t.Context(), &sources, client.InNamespace("kube-system")); err != nil || len(sources.Items) != 0 {
		t.Errorf("%d sources elsewhere, %v", len(sources.Items), err)
	}
}

// R4.4, R4.6, R6.2: however often a namespace moves, its posts keep the keys, and the published feeds and their entries the IDs, that they had where they were
// made: both follow from the first UID. A reader of a feed sees no entry again.
func TestKeysAndIDsStayThroughMoves(t *testing.T) {
	t.Parallel()
	first := server.Namespace(t)
	kept(t, first)
	in := func(namespace string) (*v1alpha1.FeedSource, *v1alpha1.FeedItem) {
		news, item := &v1alpha1.FeedSource{}, &v1alpha1.FeedItem{}
		for name, object := range map[string]client.Object{"news": news, "news-1": item} {
			if err := server.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, object); err != nil {
				t.Fatal(err)
			}
		}
		return news, item
	}
	news, item := in(first)
	from := first
	for range 2 {
		to := server.Namespace(t)
		well(t, to, well(t, from, "", "backup", "-", "--stopped"), "restore", "-")
		source, moved := in(to)
		if v1alpha1.OriginalUID(source) != news.UID || v1alpha1.OriginalUID(moved) != item.UID || source.UID == news.UID ||
			lifecycle.DeliveryKey(moved, "desk") != lifecycle.DeliveryKey(item, "desk") || !v1alpha1.Created(moved).Time.Equal(item.CreationTimestamp.Time) {
			t.Errorf("source %s and item %s are %s and %s", news.UID, item.UID, v1alpha1.OriginalUID(source), v1alpha1.OriginalUID(moved))
		}
		from = to
	}
}

// grant gives a user a role of config/rbac in a namespace.
func grant(t *testing.T, namespace, file, user string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(apitest.ModuleRoot(t), "config", "rbac", file))
	if err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict(text, role); err != nil {
		t.Fatal(err)
	}
	role.Name, role.Labels = role.Name+"-"+namespace, nil
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	for _, object := range []client.Object{role, binding} {
		if err := server.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

// await waits until the API server has learned of a role.
func await(t *testing.T, check func() error) {
	t.Helper()
	apitest.Eventually(t, func(context.Context) error { return check() })
}
