// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/opml"
)

var server *apitest.Server

// TestMain has the test program be the plugin where it is called by the name of that: a build of its own takes seconds.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "kubectl-feed" {
		main()
	}
	os.Exit(apitest.Run(m, &server))
}

// feed runs the program, as `kubectl feed` does, on the API server.
func feed(t *testing.T, namespace, in string, args ...string) (code int, out, complaint string) {
	t.Helper()
	args = append(args, "--kubeconfig", kubeconfig(t), "-n", namespace)
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(in), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// well runs it, and fails the test where it does not end well.
func well(t *testing.T, namespace, in string, args ...string) string {
	t.Helper()
	code, out, complaint := feed(t, namespace, in, args...)
	if code != 0 {
		t.Fatalf("%v ended with %d: %s", args, code, complaint)
	}
	return out
}

func kubeconfig(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, server.Kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		status := object.DeepCopyObject()
		if err := server.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		switch object := object.(type) {
		case *v1alpha1.FeedItem:
			object.Status = status.(*v1alpha1.FeedItem).Status
		case *v1alpha1.FeedSource:
			object.Status = status.(*v1alpha1.FeedSource).Status
		case *v1alpha1.AIProvider:
			object.Status = status.(*v1alpha1.AIProvider).Status
		}
		if err := server.Client.Status().Update(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

func source(namespace, name string) *v1alpha1.FeedSource {
	return &v1alpha1.FeedSource{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.FeedSourceSpec{URL: "https://example.org/" + name},
	}
}

func item(of *v1alpha1.FeedSource, name string, phase v1alpha1.Phase, reason v1alpha1.Reason) *v1alpha1.FeedItem {
	return &v1alpha1.FeedItem{
		ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: name},
		Spec:       v1alpha1.FeedItemSpec{SourceRef: v1alpha1.SourceReference{Name: of.Name, UID: of.UID}, Title: "Title of " + name},
		Status:     v1alpha1.FeedItemStatus{Phase: phase, Reason: reason},
	}
}

// tokens are the values of an annotation on the items of a namespace, by name.
func tokens(t *testing.T, namespace string) map[string]string {
	t.Helper()
	var items v1alpha1.FeedItemList
	if err := server.Client.List(t.Context(), &items, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for i := range items.Items {
		if token := items.Items[i].Annotations[v1alpha1.AnnotationRetry]; token != "" {
			found[items.Items[i].Name] = token
		}
	}
	return found
}

const subscriptions = `<opml version="2.0"><head/><body><outline text="日本"><outline text="国土交通省" xmlUrl="https://www.mlit.example/press/index.rdf"/></outline>
<outline text="Süße &quot;News&quot;" xmlUrl="https://b.example/f?x=1&amp;y=2"/><outline text="A note"/></body></opml>`

// R6.4: an import is what the API server takes, and its export is the same list.
func TestSubscriptionsGoInAndComeOut(t *testing.T) {
	t.Parallel()
	namespace := server.Namespace(t)
	code, manifests, notes := feed(t, namespace, subscriptions, "import", "-", "--interval", "30m", "--destination", "bot", "--provider", "gemini")
	if code != 0 || !strings.Contains(notes, `Skipped "A note"`) {
		t.Fatalf("%d %s", code, notes)
	}
	kubectl(t, manifests, "apply", "--validate=strict", "-f", "-")
	var applied v1alpha1.FeedSource
	if err := server.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "mlit-example-press"}, &applied); err != nil {
		t.Fatal(err)
	}
	if applied.Interval() != 30*time.Minute || !applied.Delivers("bot") || applied.Spec.Providers[0].Name != "gemini" {
		t.Errorf("applied: %+v", applied.Spec)
	}
	exported := well(t, namespace, "", "export")
	list, err := opml.Parse([]byte(exported))
	if err != nil {
		t.Fatal(err)
	}
	titles := []string{}
	for _, entry := range list.Feeds {
		titles = append(titles, strings.Join(entry.Folder, "/")+":"+entry.Title)
	}
	if slices.Sort(titles); !slices.Equal(titles, []string{`:Süße "News"`, "日本:国土交通省"}) {
		t.Errorf("exported: %q", titles)
	}
	again := well(t, namespace, exported, "import", "-", "--interval", "30m", "--destination", "bot", "--provider", "gemini")
	said := kubectl(t, again, "apply", "-f", "-")
	if strings.Count(said, " unchanged") != 2 {
		t.Errorf("an import of the export changes something: %s", said)
	}
	file := filepath.Join(t.TempDir(), "sources.yaml")
	if err := os.WriteFile(file, []byte(manifests), 0o600); err != nil {
		t.Fatal(err)
	}
	if fromFile := well(t, namespace, "", "export", "-f", file); strings.Count(fromFile, "xmlUrl=") != 2 {
		t.Errorf("exported of a file: %s", fromFile)
	}
}

// R6.4: what must not be imported is told of without its password, and the rest is imported.
func TestPasswordsInSubscriptionsAreRefused(t *testing.T) {
	t.Parallel()
	list := strings.Replace(subscriptions, "https://b.example", "https://me:hunter2hunter2@b.example", 1)
	code, manifests, complaint := feed(t, "default", list, "import", "-")
	if code != 1 || strings.Contains(manifests+complaint, "hunter2") || !strings.Contains(complaint, "put them into a Secret") || !strings.Contains(manifests, "mlit") {
		t.Errorf("%d\n%s\n%s", code, manifests, complaint)
	}
}

// kubectl runs the real one.
func kubectl(t *testing.T, in string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(context.WithoutCancel(t.Context()), filepath.Join(server.Assets, "kubectl"), append(args, "--kubeconfig", kubeconfig(t), "--cache-dir", t.TempDir())...)
	command.Stdin = strings.NewReader(in)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %v: %v %s", args, err, out)
	}
	return string(out)
}

// R3.7: what a person names is annotated with a new token each time, and nothing else.
func TestWhatIsNamedIsTriedAgain(t *testing.T) {
	t.Parallel()
	namespace := server.Namespace(t)
	press, other := source(namespace, "press"), source(namespace, "other")
	provider := &v1alpha1.AIProvider{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "built-in"}, Spec: v1alpha1.AIProviderSpec{Extractive: &v1alpha1.ExtractiveProvider{}}}
	create(t, press, other, provider)
	create(t, item(press, "failed", v1alpha1.PhaseFailed, v1alpha1.ReasonRetryLimitExceeded), item(press, "deferred", v1alpha1.PhaseDeferred, v1alpha1.ReasonDownloadFailed),
		item(press, "new", v1alpha1.PhaseUnprocessed, ""), item(press, "waits", v1alpha1.PhasePending, v1alpha1.ReasonWaiting),
		item(press, "skipped", v1alpha1.PhaseProcessed, v1alpha1.ReasonNotValuable), item(other, "other-failed", v1alpha1.PhaseFailed, v1alpha1.ReasonInvalidContent))

	if said := well(t, namespace, "", "retry", "failed"); !strings.Contains(said, "item/failed: it is retried, with all its retries") {
		t.Errorf("it says %s", said)
	}
	first := tokens(t, namespace)
	if len(first) != 1 || first["failed"] == "" {
		t.Fatalf("annotated: %v", first)
	}
	well(t, namespace, "", "retry", "--all", "--source", "press", "--failed")
	second := tokens(t, namespace)
	if len(second) != 1 || second["failed"] == first["failed"] {
		t.Errorf("annotated: %v, before %v", second, first)
	}
	well(t, namespace, "", "retry", "--all")
	if all := tokens(t, namespace); len(all) != 3 || all["deferred"] == "" || all["other-failed"] == "" || all["failed"] == second["failed"] {
		t.Errorf("annotated: %v", all)
	}
	well(t, namespace, "", "retry", "source/press", "provider/built-in")
	well(t, namespace, "", "poll", "press")
	key := client.ObjectKeyFromObject(press)
	if err := server.Client.Get(t.Context(), key, press); err != nil || press.Annotations[v1alpha1.AnnotationRetry] == "" || press.Annotations[v1alpha1.AnnotationPoll] == "" {
		t.Errorf("%v: %v", err, press.Annotations)
	}
	if err := server.Client.Get(t.Context(), client.ObjectKeyFromObject(provider), provider); err != nil || provider.Annotations[v1alpha1.AnnotationRetry] == "" {
		t.Errorf("%v: %v", err, provider.Annotations)
	}
	code, said, complaint := feed(t, namespace, "", "retry", "gone", "deferred")
	if code != 1 || !strings.Contains(complaint, `"gone" not found in the namespace `+namespace) || !strings.Contains(said, "item/deferred") {
		t.Errorf("%d %s %s", code, said, complaint)
	}
}

// R5.1: a person reads how all is going, and what to do.
func TestStatusSaysHowAllIsGoing(t *testing.T) {
	t.Parallel()
	namespace := server.Namespace(t)
	now := time.Now()
	press := source(namespace, "press")
	press.Status.ObservedGeneration = 1
	press.Status.ConsecutiveFailures = 2
	press.Status.LastPollTime = &metav1.Time{Time: now.Add(-10 * time.Minute)}
	press.Status.EffectiveInterval = &metav1.Duration{Duration: time.Hour}
	press.Status.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonPollFailed, Message: "The server answered 503", LastTransitionTime: metav1.Now(),
	}}
	provider := &v1alpha1.AIProvider{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "gemini"}, Spec: v1alpha1.AIProviderSpec{Extractive: &v1alpha1.ExtractiveProvider{}}}
	provider.Status.Availability = &v1alpha1.Availability{State: "QuotaSpent", Until: &metav1.Time{Time: now.Add(3*time.Hour + time.Minute)}}
	provider.Status.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonQuotaSpent, Message: "The quota is spent", LastTransitionTime: metav1.Now(),
	}}
	create(t, press, source(namespace, "fresh"), provider)
	dead := item(press, "dead", v1alpha1.PhaseFailed, v1alpha1.ReasonRetryLimitExceeded)
	dead.Spec.Title = "在来作物の種子"
	dead.Status.Failure = &v1alpha1.Failure{Category: v1alpha1.CategoryNetwork, Stage: v1alpha1.StageArticle, Message: "There was no answer within 30s.", Time: metav1.Now()}
	create(t, dead, item(press, "open", v1alpha1.PhasePending, v1alpha1.ReasonWaiting))
	said := well(t, namespace, "", "status")
	for _, part := range []string{
		"SOURCE   LAST POLL", "press    10m ago     in 49m", "PollFailed: The server answered 503", "fresh    never       now", "not seen by the operator yet",
		"0 unprocessed, 1 pending, 0 deferred, 0 processed, 1 failed", "Oldest unfinished item, for ", ": open, pending (Waiting)", "Waiting for: 1 Waiting",
		"在来作物の種子   There was no answer within 30s.", "kubectl feed retry NAME", "Providers: 0 of 1 available", "gemini          in 3h", "QuotaSpent: The quota is spent",
	} {
		if !strings.Contains(said, part) {
			t.Errorf("%q is not said in:\n%s", part, said)
		}
	}
	if one := well(t, namespace, "", "status", "fresh"); strings.Contains(one, "press") || strings.Contains(one, "dead") {
		t.Errorf("of one source:\n%s", one)
	}
	if all := well(t, namespace, "", "status", "-A"); !strings.Contains(all, namespace+"/press") {
		t.Errorf("of all namespaces:\n%s", all)
	}
	if code, _, complaint := feed(t, namespace, "", "status", "gone"); code != 1 || !strings.Contains(complaint, "not found in the namespace") {
		t.Errorf("%d %s", code, complaint)
	}
}

// R6.5: what is in no file is read from the cluster, only if that is asked for.
func TestASourceOfTheClusterIsPreviewed(t *testing.T) {
	t.Parallel()
	namespace, web := server.Namespace(t), feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	press := source(namespace, "press")
	press.Spec.URL = web.FeedURL()
	create(t, press)
	said := well(t, namespace, "", "preview", "--from-cluster", "press", "--allow-cidr", "127.0.0.1/32")
	if !strings.Contains(said, "1/1 · News about news-1") || strings.Contains(said, "it will be another one") {
		t.Errorf("it says:\n%s", said)
	}
	if code, _, complaint := feed(t, namespace, "", "preview", "press"); code != 2 || !strings.Contains(complaint, "--from-cluster") {
		t.Errorf("%d %s", code, complaint)
	}
	var items v1alpha1.FeedItemList
	if err := server.Client.List(t.Context(), &items, client.InNamespace(namespace)); err != nil || len(items.Items) > 0 {
		t.Errorf("%v, %d items", err, len(items.Items))
	}
}

// R6.5, R5.6: the program ends as it says, and a key from the environment is nowhere in what it says.
func TestItEndsAsItSays(t *testing.T) {
	const key = "KEY-of-kubectl-feed-0123456789"
	t.Setenv("FEED_TEST_KEY", key)
	web := feedtest.New(t)
	for _, test := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--help"}, 0, ""},
		{[]string{"preview", "--help"}, 0, ""},
		{[]string{"prewiev"}, 2, "prewiev"},
		{[]string{"preview"}, 2, "name the URL"},
		{[]string{"preview", "--entrees", "3"}, 2, "unknown flag"},
		{[]string{"preview", "https://example.org/", "--entries", "101"}, 2, "from 0 to 100"},
		{[]string{"preview", "https://example.org/", "-o", "xml"}, 2, "yaml or json"},
		{[]string{"preview", "https://example.org/", "--allow-cidr", "x"}, 2, "address range"},
		{[]string{"preview", "https://example.org/", "--secret-from-env", "a/apiKey=" + key}, 2, "is not set"},
		{[]string{"preview", "https://example.org/", "--secret-from-env", key}, 2, "after an equals sign"},
		{[]string{"preview", web.URL + "/" + key, "--secret-from-env", "a/apiKey=FEED_TEST_KEY", "--allow-cidr", "127.0.0.0/8"}, 1, "PollFailed: The server"},
		{[]string{"preview", web.URL}, 1, "127.0.0.1 has the address 127.0.0.1, which is refused: it is private or reserved. To reach it, use --allow-cidr=127.0.0.1/32."},
		{[]string{"preview", "-f", "/nowhere"}, 1, "/nowhere"},
		{[]string{"import"}, 2, "accepts 1 arg"},
		{[]string{"import", "/nowhere"}, 1, "/nowhere"},
		{[]string{"import", "x", "--interval", "1s"}, 2, "from 1m"},
		{[]string{"retry"}, 2, "--all"},
		{[]string{"retry", "x", "--all"}, 2, "not both"},
		{[]string{"retry", "--failed"}, 2, "go with --all"},
		{[]string{"retry", "pod/x"}, 2, "cannot be retried"},
		{[]string{"poll"}, 2, "--all"},
	} {
		code, out, complaint := feed(t, "default", "", test.args...)
		if code != test.code || !strings.Contains(complaint, test.says) || strings.Contains(out+complaint, key) {
			t.Errorf("%v: %d %s\n%s", test.args, code, complaint, out)
		}
	}
}

// R6.5: kubectl finds the program by its name on the PATH.
func TestKubectlFindsThePlugin(t *testing.T) {
	t.Parallel()
	folder, namespace := t.TempDir(), server.Namespace(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(folder, "kubectl-feed")); err != nil {
		t.Fatal(err)
	}
	// kubectl looks for plugins before it looks at flags, so these come after the command.
	command := exec.CommandContext(context.WithoutCancel(t.Context()), filepath.Join(server.Assets, "kubectl"), "feed", "status", "-n", namespace)
	command.Env = append(os.Environ(), "PATH="+folder+string(os.PathListSeparator)+os.Getenv("PATH"), "KUBECONFIG="+kubeconfig(t), "HOME="+t.TempDir())
	out, err := command.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "There is no FeedSource here.") {
		t.Errorf("%v %s", err, out)
	}
}

// R5.6: what URLs hold of credentials is in nothing that the program writes, however short it is.
func TestCredentialsInURLsAreNotWritten(t *testing.T) {
	t.Parallel()
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	secret := strings.Replace(web.FeedURL(), "://", "://mallory:s3cret@", 1) + "?format=rss&token=t0k3n"
	list := `<opml version="2.0"><head/><body><outline text="` + strings.ReplaceAll(secret, "&", "&amp;") + `" xmlUrl="` + strings.ReplaceAll(secret, "&", "&amp;") + `"/></body></opml>`
	manifest := "apiVersion: feeds.feed-operator.io/v1alpha1\nkind: FeedSource\nmetadata: {name: press}\nspec: {allowInsecure: true, url: '" + secret + "'}\n"
	broken := strings.Replace(manifest, "/feed.xml", "/gone.xml", 1)
	for _, test := range []struct {
		in   string
		args []string
		code int
		says string
	}{
		{"", []string{"preview", secret, "--allow-cidr", "127.0.0.0/8"}, 0, web.FeedURL()},
		{"", []string{"preview", secret, "--allow-cidr", "127.0.0.0/8", "-o", "yaml"}, 0, "tag:news-1"},
		{"", []string{"preview", secret}, 1, "PollFailed"},
		{"", []string{secret}, 2, "there is no command"},
		{manifest, []string{"preview", "-f", "-", "--allow-cidr", "127.0.0.0/8"}, 0, web.FeedURL()},
		{broken, []string{"preview", "-f", "-", "--allow-cidr", "127.0.0.0/8"}, 1, "404"},
		{strings.Replace(manifest, "allowInsecure: true, ", "", 1), []string{"preview", "-f", "-", "--allow-cidr", "127.0.0.0/8"}, 1, "InsecureCredentials"},
		{manifest, []string{"export", "-f", "-"}, 0, `xmlUrl="` + web.FeedURL() + `?format=rss"`},
		{manifest, []string{"export", "-f", "-"}, 0, "source/press: the credentials in its URL are left out"},
		{list, []string{"import", "-"}, 1, "put them into a Secret"},
	} {
		code, out, complaint := feed(t, "default", test.in, test.args...)
		if code != test.code || !strings.Contains(out+complaint, test.says) {
			t.Errorf("%v: %d %s\n%s", test.args, code, complaint, out)
		}
		for _, part := range []string{"s3cret", "t0k3n", "mallory:"} {
			if strings.Contains(out+complaint, part) {
				t.Errorf("%v: %q is written:\n%s\n%s", test.args, part, out, complaint)
			}
		}
	}
}
