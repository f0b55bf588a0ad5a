// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/feedmemory"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/geminitest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// firstRelease has the CustomResourceDefinitions of the first version of the operator that posts, and objects that it has written.
const firstRelease = "testdata/firstrelease"

// meaningless are the fields of that version that mean nothing any more: credentialsNotices had the item that sent the notice, which the service itself does now.
var meaningless = []string{"item"}

// olden is a world whose API server holds what the first release has written, under its CustomResourceDefinitions, and the servers that this is about.
type olden struct {
	*world
	press, desk, admin *mastodontest.Server
	refused, screens   *geminitest.Server
	webs               map[string]*feedtest.Server
	written            []*unstructured.Unstructured
}

// newOlden makes the objects. The operator of the world stands still until they are there and upgrade is called.
func newOlden(t *testing.T) *olden {
	t.Helper()
	portion.Leave(t, left) // before an API server of its own is started
	w := newWorld(t, at(apitest.StartFrom(t, firstRelease+"/crds")))
	w.stop()
	o := &olden{
		world: w, press: w.mastodon(), desk: w.mastodon(), admin: w.mastodon(), webs: map[string]*feedtest.Server{},
		refused: geminitest.New(apiKey), screens: geminitest.New(apiKey),
	}
	t.Cleanup(o.refused.Close)
	t.Cleanup(o.screens.Close)
	names := []string{
		"http://press.test", o.press.URL, "http://desk.test", o.desk.URL, "http://admin.test", o.admin.URL,
		"http://gemini.test", o.refused.URL, "http://screens.test", o.screens.URL,
	}
	for name, n := range map[string]int{"news": 3, "lost": 1, "queued": 1, "slow": 1, "broken": 1, "waits": 2, "refused": 1, "screened": 1} {
		web := feedtest.New(t)
		web.List(web.Entries(name, n)...)
		o.webs[name] = web
		names = append(names, "http://"+name+".test", web.URL)
	}
	for name, values := range map[string][2]string{
		"press": {"accessToken", accessToken}, "desk": {"accessToken", accessToken}, "admin": {"accessToken", accessToken},
		"refused": {"apiKey", apiKey}, "screens": {"apiKey", apiKey},
	} {
		w.secret(name, values[0], values[1])
	}
	o.create(strings.NewReplacer(names...))
	return o
}

// create makes what the first release has written, as if it had done so a moment ago, under the UIDs of this API server.
func (o *olden) create(urls *strings.Replacer) {
	o.t.Helper()
	text, err := os.ReadFile(firstRelease + "/objects.yaml")
	if err != nil {
		o.t.Fatal(err)
	}
	later := o.clock.Now().Add(-10 * time.Minute).UTC().Sub(time.Date(2026, 11, 25, 17, 43, 49, 0, time.UTC))
	whole := regexp.MustCompile(`"?'?2026-11-25(T[0-9:.]+Z)?'?"?`).ReplaceAllStringFunc(urls.Replace(string(text)), func(found string) string {
		at, err := time.Parse(time.RFC3339, strings.Trim(found, `'"`))
		if err != nil {
			return `"` + o.clock.Now().UTC().Format(time.DateOnly) + `"`
		}
		return `"` + at.Add(later).Format("2006-01-02T15:04:05.000000Z") + `"`
	})
	whole = regexp.MustCompile(`(:\d\d)\.000000Z`).ReplaceAllString(whole, "${1}Z")
	whole = strings.ReplaceAll(whole, "namespace: press", "namespace: "+o.namespace)
	sources := map[string]*v1alpha1.FeedSource{}
	for document := range strings.SplitSeq(whole, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			o.t.Fatal(err)
		}
		old := object.GetUID()
		o.rename(object, sources)
		status, has := object.Object["status"]
		if err := o.client.Create(o.t.Context(), object); err != nil {
			o.t.Fatal(err)
		}
		if has {
			object.Object["status"] = status
			if err := o.client.Status().Update(o.t.Context(), object, client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
				o.t.Fatal(err)
			}
		}
		if object.GetKind() == "FeedSource" {
			sources[object.GetName()] = &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Name: object.GetName(), UID: old, Namespace: string(object.GetUID())}}
		}
		o.written = append(o.written, object)
	}
}

// rename gives an object the names that follow from the new UID of its source. That the old one follows from the old UID shows that both versions name alike.
func (o *olden) rename(object *unstructured.Unstructured, sources map[string]*v1alpha1.FeedSource) {
	o.t.Helper()
	owners := object.GetOwnerReferences()
	object.SetUID("")
	if len(owners) == 0 {
		return
	}
	source := sources[owners[0].Name]
	of := func(uid types.UID) string {
		if object.GetKind() == "FeedMemory" {
			return feedmemory.NameOf(&v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Name: source.Name, UID: uid}})
		}
		guid, _, _ := unstructured.NestedString(object.Object, "spec", "guid")
		return feed.ItemNameOf(source.Name, string(uid), feed.IdentifyItem(guid, "", "").GUID)
	}
	if object.GetName() != of(source.UID) {
		o.t.Errorf("%s %s is called %s by this version", object.GetKind(), object.GetName(), of(source.UID))
	}
	uid := types.UID(source.Namespace)
	object.SetName(of(uid))
	owners[0].UID = uid
	object.SetOwnerReferences(owners)
	if object.GetKind() == "FeedMemory" {
		_ = unstructured.SetNestedField(object.Object, feedmemory.URLHash(o.webs[source.Name].FeedURL()), "data", "urlHash")
		return
	}
	_ = unstructured.SetNestedField(object.Object, string(uid), "spec", "sourceRef", "uid")
}

// lacks returns what of a value another one does not have as well, but for what means nothing any more.
func lacks(before, after any, path string) (missing []string) {
	switch before := before.(type) {
	case map[string]any:
		other, _ := after.(map[string]any)
		for name, value := range before {
			if path == ".metadata" || slices.Contains(meaningless, name) {
				continue
			}
			missing = append(missing, lacks(value, other[name], path+"."+name)...)
		}
	case []any:
		other, _ := after.([]any)
		for i, value := range before {
			var there any
			if i < len(other) {
				there = other[i]
			}
			missing = append(missing, lacks(value, there, fmt.Sprintf("%s[%d]", path, i))...)
		}
	default:
		if !reflect.DeepEqual(before, after) {
			missing = append(missing, fmt.Sprintf("%s: %v, now %v", path, before, after))
		}
	}
	return missing
}

// R3.5, R6.2: the CustomResourceDefinitions of this version keep all that the first release has written and that means something.
// This version goes on with it: what was posted is not posted again, what was under way is looked for, and all that is unfinished is finished.
func TestTheFirstReleaseIsUpgraded(t *testing.T) {
	t.Parallel()
	o := newOlden(t)
	o.api.Install(t, nil)
	for _, before := range o.written {
		after := before.DeepCopy()
		after.Object = map[string]any{"apiVersion": before.GetAPIVersion(), "kind": before.GetKind()}
		if err := o.client.Get(t.Context(), client.ObjectKeyFromObject(before), after); err != nil {
			t.Fatal(err)
		}
		for _, what := range lacks(before.Object, after.Object, "") {
			t.Errorf("%s %s has lost %s", before.GetKind(), before.GetName(), what)
		}
	}
	o.desk.Publish(mastodontest.Post{Text: o.lostPost(), CreatedAt: o.clock.Now().Add(-15 * time.Minute)})
	ofPress, ofDesk := o.watch(o.press, nil), o.watch(o.desk, nil)
	o.start()
	for _, name := range []string{"press", "desk", "admin"} {
		o.untilDestination(name, isOpen)
	}
	o.gemini("later")
	o.retryAll(&v1alpha1.FeedSource{}, "broken", "tuesday")
	o.clock.Step(3 * time.Hour) // desk has asked for that
	for name, n := range map[string]int{"news": 3, "lost": 1, "queued": 1, "slow": 1, "broken": 1, "waits": 2, "refused": 1, "screened": 1} {
		o.minutesPass(40, name, allProcessed(n))
		o.poll(name)
		o.minutesPass(10, name, allProcessed(n))
	}
	// Of press: slow, broken, two of waits, and refused. News, screened and a half of queued were posted before.
	if calls(ofPress) != 5 || calls(ofDesk) != 1 || len(o.desk.Posts()) != 2 || len(o.admin.Posts()) != 0 {
		t.Errorf("%d posts to press, %d to desk, which has %d; %d notifications", calls(ofPress), calls(ofDesk), len(o.desk.Posts()), len(o.admin.Posts()))
	}
	o.untilDestination("desk", func(d *v1alpha1.FeedDestination) error {
		if d.Status.Delivered < 1 {
			return errors.New("nothing is counted")
		}
		return nil
	})
}

// lostPost is what the first release has posted, and got no answer for.
func (o *olden) lostPost() string {
	o.t.Helper()
	item := o.awaitItem("lost", func(*v1alpha1.FeedItem) error { return nil })
	return item.Spec.Title + "\n\n" + item.Status.Summary.Text + "\n\n" + item.Spec.URL
}

// R3.7: a retry that was requested of the first release, and is still to be served, is served by this version: the time has another name since.
func TestARetryThatWasRequestedOfTheFirstReleaseIsServed(t *testing.T) {
	t.Parallel()
	o := newOlden(t)
	o.api.Install(t, nil)
	now := metav1.NewMicroTime(o.clock.Now().Add(-time.Minute)).UTC().Format("2006-01-02T15:04:05.000000Z")
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"1"}},"status":{"lastHandledRetry":"1","releasedTime":%q}}`, v1alpha1.AnnotationRetry, now)
	source := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace, Name: "broken"}}
	merge := client.RawPatch(types.MergePatchType, []byte(patch))
	if err := errors.Join(o.client.Patch(t.Context(), source, merge), o.client.Status().Patch(t.Context(), source, merge)); err != nil {
		t.Fatal(err)
	}
	o.start()
	o.minutesPass(10, "broken", allProcessed(1))
}

// R4.4, R6.2: after a return to the first release, which drops what it does not know from all that it writes, and another upgrade, nothing is posted
// again, and a post that was under way is looked for.
func TestAReturnToTheFirstReleasePostsNothingAgain(t *testing.T) {
	t.Parallel()
	o := newOlden(t)
	o.api.Install(t, nil)
	ofPress, ofDesk := o.watch(o.press, nil), o.watch(o.desk, nil)
	for _, name := range []string{"lost", "queued"} { // this is about others
		if err := o.client.Delete(t.Context(), &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace, Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	o.start()
	o.untilDestination("desk", isOpen)
	o.minutesPass(40, "slow", allProcessed(1))
	o.desk.OnPost(func(p *mastodontest.Pending) bool {
		after(http.StatusGatewayTimeout, "text/html", "<html>504</html>")(p)
		return true
	})
	web := feedtest.New(t)
	web.List(web.Entries("new", 2)...)
	o.source("new", web.FeedURL(), postsTo("press", "desk"))
	o.awaitItems("new", eachOf(2, func(item *v1alpha1.FeedItem) error {
		return errors.Join(inState("press", v1alpha1.DeliveryDone)(item), hasFailed("desk", 1)(item))
	}))
	o.stop()
	o.desk.OnPost(nil)
	before, under := calls(ofPress), calls(ofDesk)

	o.api.InstallFrom(t, firstRelease+"/crds")
	for kind, change := range map[string]string{
		"FeedItem": `{"status":{"firstFailureTime":"2026-01-01T00:00:00Z"}}`, "FeedSource": `{"status":{"title":"Old"}}`,
		"FeedDestination": `{"status":{"delivered":1}}`, "FeedMemory": `{"metadata":{"annotations":{"touched":"1"}}}`,
	} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind + "List"))
		if err := o.client.List(t.Context(), list, client.InNamespace(o.namespace)); err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			write, patch := o.client.Status().Patch, client.RawPatch(types.MergePatchType, []byte(change))
			if kind == "FeedMemory" {
				if err := o.client.Patch(t.Context(), &list.Items[i], patch); err != nil {
					t.Error(err)
				}
			} else if err := write(t.Context(), &list.Items[i], patch); err != nil {
				t.Error(err)
			}
		}
	}
	o.api.Install(t, nil)
	items, err := o.items(t.Context(), "new")
	if err != nil || len(items) != 2 || items[0].Spec.Identity != "" {
		t.Fatalf("the first release has kept what it does not know: %d items, %v", len(items), err)
	}
	o.start()
	o.untilDestination("desk", isOpen)
	for name, n := range map[string]int{"new": 2, "news": 3, "slow": 1} {
		o.minutesPass(40, name, allProcessed(n))
		o.poll(name)
		o.minutesPass(10, name, allProcessed(n))
	}
	if calls(ofPress) != before || calls(ofDesk) != under {
		t.Errorf("%d posts more to press, %d to desk", calls(ofPress)-before, calls(ofDesk)-under)
	}
}
