// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/feed-operator/feed-operator/hack/dev/samplefeeds"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
	"github.com/feed-operator/feed-operator/internal/webhooktest"
)

// newWorld is one in which nothing runs. The feeds and the stand-in are at other ports than usual.
func newWorld(t *testing.T, allowed access, sources ...string) *world {
	t.Helper()
	root, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	feeds, err := samplefeeds.New("http://127.0.0.1:40404", noon)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		options: options{root: root, run: runOptions{sources: sources}}, access: allowed,
		feeds: &samplefeeds.Server{Feeds: feeds, Base: "http://127.0.0.1:40404"},
		chat:  &chat{Server: &webhooktest.Server{URL: "http://127.0.0.1:40407"}},
	}
	for name, service := range map[string]*serviceAccess{claudeSample: allowed.anthropic, gptSample: allowed.openAI} {
		if service == nil {
			local := serviceAccess{key: "key-of-" + name, endpoint: "http://127.0.0.1:40406/" + name}
			w.models = append(w.models, &modelStandIn{name: name, serviceAccess: local})
		}
	}
	if allowed.mastodon == nil {
		w.standIn = &standIn{token: "token-of-the-stand-in", Server: &mastodontest.Server{URL: "http://127.0.0.1:40405"}}
	}
	return w
}

func read(t *testing.T, w *world) map[string]*unstructured.Unstructured {
	t.Helper()
	objects, err := w.readObjects()
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]*unstructured.Unstructured{}
	for _, object := range objects {
		named[object.GetKind()+"/"+object.GetName()] = object
	}
	return named
}

func field(object *unstructured.Unstructured, path ...string) any {
	if object == nil {
		return nil
	}
	value, _, _ := unstructured.NestedFieldNoCopy(object.Object, path...)
	return value
}

func secret(t *testing.T, object *unstructured.Unstructured, key string) string {
	t.Helper()
	encoded, _ := field(object, "data", key).(string)
	text, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// R6.1: without a key and an account, the samples work with what is on this machine.
func TestSamplesFitWhatIsOnThisMachine(t *testing.T) {
	t.Parallel()
	objects := read(t, newWorld(t, access{}))
	for name, want := range map[string]bool{
		"AIProvider/gemini": false, "Secret/gemini": false, "AIProvider/built-in": true, "Secret/mastodon": true,
		"AIProvider/claude": true, "Secret/claude": true, "AIProvider/gpt": true, "Secret/gpt": true,
		"FeedDestination/chat": true, "Secret/chat": true, "FeedDestination/ops": true,
		"FeedDestination/mastodon": true, "FeedSource/ministry-bot": true, "FeedSource/advisories": true, "FeedSource/status": true,
	} {
		if (objects[name] != nil) != want {
			t.Errorf("%s: %v", name, objects[name] != nil)
		}
	}
	if got := secret(t, objects["Secret/mastodon"], "accessToken"); got != "token-of-the-stand-in" {
		t.Errorf("the token is %q", got)
	}
	if got := field(objects["FeedDestination/mastodon"], "spec", "mastodon", "server"); got != "http://127.0.0.1:40405" {
		t.Errorf("posts go to %v", got)
	}
	if got := secret(t, objects["Secret/chat"], "url"); got != "http://127.0.0.1:40407/chat" {
		t.Errorf("the URL of the chat is %q", got)
	}
	if got := field(objects["FeedDestination/ops"], "spec", "webhook", "url"); got != "http://127.0.0.1:40407/ops" {
		t.Errorf("batches go to %v", got)
	}
	for name, section := range map[string]string{"claude": "anthropic", "gpt": "openAI"} {
		if got := secret(t, objects["Secret/"+name], "apiKey"); got != "key-of-"+name {
			t.Errorf("the key of %s is %q", name, got)
		}
		if got := field(objects["AIProvider/"+name], "spec", section, "endpoint"); got != "http://127.0.0.1:40406/"+name {
			t.Errorf("%s is called at %v", name, got)
		}
	}
	chain := []any{map[string]any{"name": "claude"}, map[string]any{"name": "gpt"}, map[string]any{"name": "built-in"}}
	if diff := cmp.Diff(any(chain), field(objects["FeedSource/advisories"], "spec", "providers")); diff != "" {
		t.Error(diff)
	}
	bot := objects["FeedSource/ministry-bot"]
	if got := field(bot, "spec", "screening"); got != nil {
		t.Errorf("screened by %v", got)
	}
	if diff := cmp.Diff(any([]any{map[string]any{"name": "built-in"}}), field(bot, "spec", "providers")); diff != "" {
		t.Error(diff)
	}
	for name, object := range objects {
		if object.GetKind() != "FeedSource" {
			continue
		}
		if address, _ := field(object, "spec", "url").(string); !strings.HasPrefix(address, "http://127.0.0.1:40404/") {
			t.Errorf("%s reads %s", name, address)
		}
		want := []any{map[string]any{"name": "mastodon"}}
		if beside := map[string]string{"advisories": chatSample, "status": opsSample}[object.GetName()]; beside != "" {
			want = append(want, map[string]any{"name": beside})
		}
		if diff := cmp.Diff(any(want), field(object, "spec", "destinations")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestSamplesUseAKeyAndAnAccount(t *testing.T) {
	t.Parallel()
	w := newWorld(t, access{
		gemini:    &serviceAccess{key: "key-1", model: "gemini-2.5-pro"},
		anthropic: &serviceAccess{key: "key-2"},
		openAI:    &serviceAccess{key: "key-3", model: "llama3.2", endpoint: "http://localhost:11434/v1"},
		mastodon:  &mastodonAccess{server: "https://mastodon.example.org", token: "token-1"},
	})
	objects := read(t, w)
	if secret(t, objects["Secret/gemini"], "apiKey") != "key-1" || secret(t, objects["Secret/mastodon"], "accessToken") != "token-1" {
		t.Error("the Secrets do not hold the key and the token")
	}
	if got := field(objects["AIProvider/gemini"], "spec", "gemini", "model"); got != "gemini-2.5-pro" {
		t.Errorf("the model is %v", got)
	}
	if secret(t, objects["Secret/claude"], "apiKey") != "key-2" || secret(t, objects["Secret/gpt"], "apiKey") != "key-3" {
		t.Error("the Secrets do not hold the keys")
	}
	if got := field(objects["AIProvider/claude"], "spec", "anthropic", "endpoint"); got != nil {
		t.Errorf("Claude is called at %v", got)
	}
	if got := field(objects["AIProvider/gpt"], "spec", "openAI", "endpoint"); got != "http://localhost:11434/v1" {
		t.Errorf("the server of one's own is called at %v", got)
	}
	if got := field(objects["AIProvider/gpt"], "spec", "openAI", "model"); got != "llama3.2" {
		t.Errorf("its model is %v", got)
	}
	if got := field(objects["FeedDestination/mastodon"], "spec", "mastodon", "server"); got != "https://mastodon.example.org" {
		t.Errorf("posts go to %v", got)
	}
	if field(objects["FeedSource/ministry-bot"], "spec", "screening", "criteria") == nil {
		t.Error("the bot is not screened")
	}
	all, err := w.readObjects()
	if err != nil {
		t.Fatal(err)
	}
	warning := w.warning(all)
	for _, part := range []string{
		"https://mastodon.example.org: what is new in advisories, ministry-bot, status is posted to your account there, with the visibility unlisted.",
		"15 invented entries now", "posted again",
	} {
		if !strings.Contains(warning, part) {
			t.Errorf("the warning lacks %q:\n%s", part, warning)
		}
	}
	if strings.Contains(warning, "token-1") { // R5.6
		t.Error("the warning holds the token")
	}
}

func TestSecretsComeBeforeWhatNeedsThem(t *testing.T) {
	t.Parallel()
	objects, err := newWorld(t, access{}).readObjects()
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, object := range objects {
		kinds = append(kinds, object.GetKind())
	}
	want := []string{
		"Secret", "Secret", "Secret", "Secret", "AIProvider", "AIProvider", "AIProvider",
		"FeedDestination", "FeedDestination", "FeedDestination", "FeedSource", "FeedSource", "FeedSource",
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Error(diff)
	}
}

func TestOwnManifestsReplaceSamples(t *testing.T) {
	t.Parallel()
	const source = `
apiVersion: feeds.feed-operator.io/v1alpha1
kind: FeedSource
metadata: {name: mine}
spec: {url: "https://example.org/feed", destinations: [{name: mastodon}]}
`
	const destination = `
---
apiVersion: feeds.feed-operator.io/v1alpha1
kind: FeedDestination
metadata: {name: mastodon}
spec: {mastodon: {server: "https://mastodon.example", secretRef: {name: mine}}}
`
	const chat = `
---
apiVersion: v1
kind: Secret
metadata: {name: theirs}
stringData: {url: "https://chat.example/hooks/secret-1"}
---
apiVersion: feeds.feed-operator.io/v1alpha1
kind: FeedDestination
metadata: {name: chat}
spec: {webhook: {urlFrom: {}, secretRef: {name: theirs}, format: Slack}}
`
	for name, test := range map[string]struct {
		manifest    string
		want        []string
		wantWarning bool
	}{
		"a source posts to the stand-in": {
			manifest: source,
			want:     []string{"FeedDestination/mastodon", "FeedSource/mine", "Secret/mastodon", "FeedDestination/chat", "Secret/chat"},
		},
		"a destination of theirs goes without the Secret of the sample, and is announced": {
			manifest: source + destination, wantWarning: true,
			want: []string{"FeedDestination/mastodon", "FeedSource/mine", "FeedDestination/chat", "Secret/chat"},
		},
		"a source sends to the stand-in for a chat": {
			manifest: strings.Replace(source, "name: mastodon}", "name: chat}, {name: ops}", 1),
			want:     []string{"FeedDestination/mastodon", "FeedSource/mine", "Secret/mastodon", "FeedDestination/chat", "Secret/chat"},
		},
		"a chat of theirs goes without the Secret of the sample, and is announced without its URL": {
			manifest: strings.Replace(source, "name: mastodon", "name: chat", 1) + chat, wantWarning: true,
			want: []string{"FeedDestination/mastodon", "Secret/mastodon", "FeedSource/mine", "FeedDestination/chat", "Secret/theirs"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "mine.yaml")
			if err := os.WriteFile(file, []byte(test.manifest), 0o600); err != nil {
				t.Fatal(err)
			}
			w := newWorld(t, access{}, file)
			objects, err := w.readObjects()
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]bool{}
			for _, object := range objects {
				got[object.GetKind()+"/"+object.GetName()] = true
			}
			want := map[string]bool{
				"AIProvider/built-in": true, "AIProvider/claude": true, "Secret/claude": true, "AIProvider/gpt": true, "Secret/gpt": true,
				"FeedDestination/ops": true,
			}
			for _, object := range test.want {
				want[object] = true
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			warning := w.warning(objects)
			if (warning != "") != test.wantWarning || strings.Contains(warning, "secret-1") { // R5.6
				t.Errorf("the warning is %q", warning)
			}
			if strings.Contains(test.manifest, "theirs") && !strings.Contains(warning, "https://chat.example: what is new in mine is sent there, by the FeedDestination chat.") {
				t.Errorf("the warning is %q", warning)
			}
		})
	}
}
