// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/derive"
	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/redact"
	"github.com/feed-operator/feed-operator/internal/seen"
)

const redactedSecret = "SECRET-of-the-status-0123"

// R5.6: no text of a status holds a secret, and what names something stays as it is.
func TestNoStatusHoldsASecret(t *testing.T) {
	t.Parallel()
	redact.Remember(redactedSecret)
	const said = "it said " + redactedSecret + "."
	failed := &v1alpha1.Failure{Type: redactedSecret, Message: said, Chain: []string{said, said}, Stack: said, Time: metav1.NewTime(time.Unix(7, 0))}
	conditions := []metav1.Condition{{Type: "Ready", Reason: "Succeeded", Message: said}}
	item := &v1alpha1.FeedItem{}
	item.Name = redactedSecret
	item.Status = v1alpha1.FeedItemStatus{
		Failure: failed, Conditions: conditions, LastHandledRetry: redactedSecret,
		Summary:    &v1alpha1.Summary{Text: said, Model: redactedSecret, Provider: "p-" + redactedSecret},
		Screening:  &v1alpha1.Screening{Explanation: said, Provider: "p"},
		Deliveries: []v1alpha1.Delivery{{Destination: "d-" + redactedSecret, URL: "https://example.org/?t=" + redactedSecret, ID: redactedSecret, Failure: failed.DeepCopy()}},
	}
	hideSecrets(item)
	shown := fmt.Sprintf("%+v", mustJSON(t, item))
	for _, named := range []string{"name:" + redactedSecret, "provider:p-" + redactedSecret, "destination:d-" + redactedSecret, "lastHandledRetry:" + redactedSecret} {
		if !strings.Contains(shown, named) {
			t.Errorf("%s is not in %s", named, shown)
		}
		shown = strings.ReplaceAll(shown, named, "")
	}
	if strings.Contains(shown, "SECRET") {
		t.Errorf("a secret is in %s", shown)
	}
	if got := item.Status.Failure.Message; got != "it said "+redact.Masked+"." || !item.Status.Failure.Time.Equal(&metav1.Time{Time: time.Unix(7, 0)}) {
		t.Errorf("the failure became %+v", item.Status.Failure)
	}
	for _, object := range []any{
		&v1alpha1.FeedSource{Status: v1alpha1.FeedSourceStatus{Title: said, Failure: failed, Conditions: conditions}},
		&v1alpha1.FeedMemory{},
	} {
		hideSecrets(object)
		if text := fmt.Sprintf("%+v", object); strings.Contains(text, "SECRET") {
			t.Errorf("a secret is in %s", text)
		}
	}
}

func mustJSON(t *testing.T, object any) map[string]any {
	t.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	return fields
}

// R1.2, R5.6: an item does not hold a secret that its feed repeats, and is known by what its entry was.
func TestAnEntryIsKnownThoughASecretWasMasked(t *testing.T) {
	t.Parallel()
	redact.Remember(redactedSecret)
	source := &v1alpha1.FeedSource{}
	source.Name, source.UID = "source", "7f0c"
	for what, entry := range map[string]feed.Entry{
		"in its GUID": {GUID: "tag:" + redactedSecret + "/1", URL: "https://example.org/1"},
		"in its link": {URL: "https://example.org/1?token=" + redactedSecret},
		"everywhere": {
			GUID: redactedSecret, URL: "https://example.org/" + redactedSecret, Title: redactedSecret, Author: redactedSecret,
			Categories: []string{"a", redactedSecret}, Content: strings.Repeat("<p>"+redactedSecret+"</p>", 2000),
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			book, err := seen.Load(v1alpha1.FeedMemoryData{})
			if err != nil {
				t.Fatal(err)
			}
			before := fmt.Sprint(entry)
			item := derive.Item(source, entry, book.Trust())
			content, err := feed.Unpack(item.Spec.Content, item.Spec.CompressedContent)
			if err != nil {
				t.Fatal(err)
			}
			if text := fmt.Sprintf("%+v", item.Spec) + content; strings.Contains(text, "SECRET") || !strings.Contains(text, redact.Masked) {
				t.Errorf("the item is %.500s", text)
			}
			if fmt.Sprint(entry) != before {
				t.Error("the entry itself was changed")
			}
			if item.Name != feed.ItemName(source.Name, string(source.UID), entry, book.Trust()) {
				t.Errorf("the item is named %s", item.Name)
			}
			rememberMasked(book, source, []v1alpha1.FeedItem{*item}, []feed.Entry{{GUID: "another"}, entry})
			if hidesSecret(item) != book.Known(feed.Identify(entry)) {
				t.Error("the entry is not known")
			}
			if book.Known(feed.Identify(feed.Entry{GUID: "another"})) {
				t.Error("an entry is known that never became an item")
			}
		})
	}
}

// Each way out has one place, where secrets are masked: statuses are written in status.go, items made
// in internal/derive, Secrets read in internal/secrets.
func TestNothingGoesRoundTheRedactor(t *testing.T) {
	t.Parallel()
	places := map[*regexp.Regexp]string{
		regexp.MustCompile(`\.Status\(\)\.(Patch|Update|Apply|Create)\(`): "status.go",
		regexp.MustCompile(`&v1alpha1\.FeedItem\{$`):                      "internal/derive",
		regexp.MustCompile(`corev1\.Secret$|corev1\.Secret\{`):            "internal/secrets cache.go",
		regexp.MustCompile(`Generate\(context|\.Generate\(ctx`):           "feeditem_generate.go",
	}
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 20 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range strings.Split(string(text), "\n") {
			for pattern, allowed := range places {
				if pattern.MatchString(line) && !strings.Contains(allowed, file) {
					t.Errorf("%s:%d goes round the place where secrets are masked (%s): %s", file, n+1, allowed, strings.TrimSpace(line))
				}
			}
		}
	}
}
