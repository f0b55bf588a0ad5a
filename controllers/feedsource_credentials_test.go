// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feedtest"
)

// saysOf checks the Ready condition of a source.
func saysOf(reason string, words ...string) func(*v1alpha1.FeedSource) error {
	return func(source *v1alpha1.FeedSource) error {
		ready := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.Reason != reason {
			return fmt.Errorf("condition %+v, want %s", ready, reason)
		}
		for _, word := range words {
			if !strings.Contains(ready.Message, word) {
				return fmt.Errorf("message %q, want %q in it", ready.Message, word)
			}
		}
		return nil
	}
}

// R1.9, R5.6: what HTTP cannot carry is named, and not sent; with the Secret mended, the feed is read
// within a minute, whatever its interval.
func TestCredentialsThatHTTPCannotCarryAreNamed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		data, mended map[string]string
		headers      []v1alpha1.FeedHeader
		want         string
	}{
		"header": {
			data:   map[string]string{"key": "geheim\r\nHost: evil.example"},
			mended: map[string]string{"key": "geheim"}, headers: []v1alpha1.FeedHeader{{Name: "X-Api-Key", SecretKey: "key"}},
			want: `has a line break, or another character that HTTP does not allow, in the key "key", which the header X-Api-Key needs`,
		},
		"token": {
			data:   map[string]string{"token": "geheim\r\nX-Admin: geheim"},
			mended: map[string]string{"token": "geheim\n"}, // a line break at the end is left out
			want:   "has a line break, or another character that HTTP does not allow, in the key token",
		},
		"user": {
			data:   map[string]string{"username": "reader:geheim", "password": "geheim"},
			mended: map[string]string{"username": "reader", "password": "geheim\r\nX-Admin: geheim"}, // it is sent in base64
			want:   "has a colon in the key username",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			web := feedtest.New(t)
			web.List(web.Entries("one", 1)...)
			web.OnRequest(func(_ http.ResponseWriter, r *http.Request) bool {
				if r.Header.Get("X-Admin") != "" || r.Host == "evil.example" {
					t.Errorf("a line was smuggled in: %v", r.Header)
				}
				return false
			})
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}, StringData: test.data}
			if err := w.client.Create(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
			w.source(name, web.FeedURL(), func(source *v1alpha1.FeedSource) {
				source.Spec.Interval = &metav1.Duration{Duration: 168 * time.Hour}
				source.Spec.SecretRef, source.Spec.AllowInsecure = &v1alpha1.SecretReference{Name: name}, true
				source.Spec.Headers = test.headers
			})
			source := w.untilSource(name, saysOf(string(v1alpha1.ReasonWaiting), fmt.Sprintf("Secret %q %s", name, test.want)))
			if text := fmt.Sprintf("%+v", source.Status); strings.Contains(text, "geheim") {
				t.Errorf("a value is shown: %s", text)
			}
			if web.Hits("/feed.xml") != 0 {
				t.Error("the feed was asked for")
			}
			mended := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}, StringData: test.mended}
			if err := w.client.Update(t.Context(), mended); err != nil {
				t.Fatal(err)
			}
			w.clock.Step(time.Minute)
			w.untilSource(name, saysOf(v1alpha1.ReasonSucceeded))
		})
	}
}

// R1.7, R1.9: credentials are not sent by plain http, be they in a Secret or in the URL, however often a source is looked
// at, until a person allows it; nothing else is sent either. A word in the URL that is called like a credential is none.
func TestCredentialsAreNotSentByPlainHTTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.secret("reader", "token", "geheim")
	refused := func(source *v1alpha1.FeedSource) error {
		if !meta.IsStatusConditionTrue(source.Status.Conditions, v1alpha1.ConditionStalled) || source.Status.ObservedGeneration != source.Generation ||
			source.Status.ConsecutiveFailures != 0 || source.Status.Failure != nil {
			return fmt.Errorf("status %+v", source.Status)
		}
		return saysOf(v1alpha1.ReasonInsecureCredentials, "https://", "spec.allowInsecure")(source)
	}
	webs, sources, versions := map[string]*feedtest.Server{}, map[string]*v1alpha1.FeedSource{}, map[string]string{}
	for name, query := range map[string]string{"secret": "", "query": "?token=abc123def456"} {
		webs[name] = feedtest.New(t)
		webs[name].List(webs[name].Entries("one", 1)...)
		sources[name] = w.source(name, webs[name].FeedURL()+query, func(source *v1alpha1.FeedSource) {
			if query == "" {
				source.Spec.SecretRef = &v1alpha1.SecretReference{Name: "reader"}
			}
		})
		versions[name] = w.untilSource(name, refused).ResourceVersion
	}
	for range 3 {
		w.clock.Step(24 * time.Hour)
		w.lookAtSource("secret")
		w.lookAtSource("query")
	}
	w.restart()
	for name, web := range webs {
		w.lookAtSource(name)
		if again := w.untilSource(name, refused); again.ResourceVersion != versions[name] {
			t.Errorf("%s: its status is written again and again: %+v", name, again.Status)
		}
		if web.Hits("/feed.xml") != 0 {
			t.Errorf("%s: the feed was asked for", name)
		}
		w.change(sources[name], `{"spec":{"allowInsecure":true}}`)
		w.untilSource(name, saysOf(v1alpha1.ReasonSucceeded))
		if web.Hits("/feed.xml") == 0 {
			t.Errorf("%s: the feed was not asked for", name)
		}
	}
	word := feedtest.New(t)
	word.List(word.Entries("one", 1)...)
	w.source("word", word.FeedURL()+"?key=politics")
	w.untilSource("word", saysOf(v1alpha1.ReasonSucceeded))
}

// R1.4: a refusal says what a person can do about it.
func TestARefusedPollSaysWhatToDo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "reader"}, StringData: map[string]string{"token": "geheim"}}
	if err := w.client.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		status int
		header []string
		secret bool
		want   string
	}{
		"nothing":   {status: http.StatusNotFound, want: "answered 404 Not Found. Check spec.url. Failure 1 in a row"},
		"no-secret": {status: http.StatusUnauthorized, want: "answered 401 Unauthorized. If the feed needs credentials, name a Secret with them in spec.secretRef. Failure"},
		"secret":    {status: http.StatusForbidden, secret: true, want: `answered 403 Forbidden. Check the credentials in the Secret "reader". Failure`},
		"challenge": {
			status: http.StatusForbidden, secret: true, header: []string{"cf-mitigated", "challenge", "Content-Type", "text/html"},
			want: "answered 403 Forbidden, with a page that checks for a browser (Cloudflare). Ask the owner of the site to let feed readers through, or use another URL. Failure",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			web := feedtest.New(t)
			web.OnRequest(refuse(test.status, test.header...))
			w.source(name, web.FeedURL(), func(source *v1alpha1.FeedSource) {
				if test.secret {
					source.Spec.SecretRef, source.Spec.AllowInsecure = &v1alpha1.SecretReference{Name: "reader"}, true
				}
			})
			w.untilSource(name, saysOf(v1alpha1.ReasonPollFailed, test.want))
		})
	}
}

// R5.7: a server to which a redirect has led was not sent the token, so it does not learn by a mask that it has guessed it. What
// stood in the address there was sent to it.
func TestAServerBehindARedirectDoesNotLearnTheToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	home, elsewhere := feedtest.New(t), feedtest.New(t)
	const token, passedOn = "Token-of-the-feed-0123456789", "Passed-on-0123456789"
	home.OnRequest(func(rw http.ResponseWriter, r *http.Request) bool {
		http.Redirect(rw, r, elsewhere.FeedURL()+"?ticket="+passedOn, http.StatusFound)
		return true
	})
	entry := elsewhere.Entries("guess", 1)[0]
	entry.Title = "Is it " + token + " or " + passedOn + "?"
	elsewhere.List(entry)
	w.secret("feed", "token", token)
	both := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "both"}, StringData: map[string]string{"token": token, "ticket": passedOn}}
	if err := w.client.Create(t.Context(), both); err != nil {
		t.Fatal(err)
	}
	for secret, want := range map[string]string{
		"feed": entry.Title,
		"both": "Is it " + token + " or ***MASKED***?", // it is one of the values that were sent, and stands in the address
	} {
		w.source(secret, home.FeedURL(), func(source *v1alpha1.FeedSource) {
			source.Spec.SecretRef, source.Spec.AllowInsecure = &v1alpha1.SecretReference{Name: secret}, true
			if secret == "both" {
				source.Spec.Headers = []v1alpha1.FeedHeader{{Name: "X-Ticket", SecretKey: "ticket"}}
			}
		})
		if got := w.awaitItems(secret, hasItems(1))[0].Spec.Title; got != want {
			t.Errorf("with %s, the title is %q, want %q", secret, got, want)
		}
	}
}
