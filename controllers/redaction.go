// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"reflect"
	"slices"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/redact"
	"github.com/feed-operator/feed-operator/internal/seen"
	"github.com/feed-operator/feed-operator/internal/telemetry"
)

// redactingManager is a manager of which no recorder tells a secret.
type redactingManager struct{ ctrl.Manager }

// GetEventRecorder implements recorder.Provider.
func (m redactingManager) GetEventRecorder(name string) recorder.EventRecorder {
	return telemetry.Redacted(m.Manager.GetEventRecorder(name))
}

// identifiers are the fields of statuses that name something or are compared with something, and
// never hold what the world has said. They stay as they are, also where a secret is such a poor one
// that somebody has given its value to an object for a name.
var identifiers = []string{
	"Name", "Provider", "Destination", "Object", "Key", "ArticleHash", "TextHash",
	"LastHandledRetry", "LastHandledPoll", "CheckedFor", "RefusedCredentials", "Refused", "Item",
}

// hideSecrets masks the secrets that the operator knows of in all texts of an object's status. No text
// becomes longer by that, so that none outgrows its bound: what is said at length is masked where it
// is made.
func hideSecrets(object any) {
	if status := reflect.ValueOf(object).Elem().FieldByName("Status"); status.IsValid() {
		hideIn(status)
	}
}

func hideIn(value reflect.Value) {
	switch value.Kind() {
	case reflect.String:
		closedSet := value.Type() != reflect.TypeFor[string]()
		if text := value.String(); !closedSet && value.CanSet() {
			if masked := redact.Values(text); masked != text {
				value.SetString(firstRunes(masked, utf8.RuneCountInString(text)))
			}
		}
	case reflect.Pointer:
		if !value.IsNil() {
			hideIn(value.Elem())
		}
	case reflect.Slice:
		for i := range value.Len() {
			hideIn(value.Index(i))
		}
	case reflect.Struct:
		for i := range value.NumField() {
			field := value.Type().Field(i)
			machineRead := slices.Contains(identifiers, field.Name) ||
				value.Type() == reflect.TypeFor[metav1.Condition]() && field.Name != "Message"
			if field.IsExported() && !machineRead {
				hideIn(value.Field(i))
			}
		}
	default: // numbers and flags
	}
}

func firstRunes(text string, most int) string {
	for at := range text {
		if most--; most < 0 {
			return text[:at]
		}
	}
	return text
}

// hidesSecret says whether something was masked in what an item is identified by.
func hidesSecret(item *v1alpha1.FeedItem) bool {
	return redact.IsMasked(item.Spec.GUID) || redact.IsMasked(item.Spec.URL)
}

// rememberMasked remembers the entries of which there are items that cannot be told any more by what
// they hold, because a secret was masked in it: by their names.
func rememberMasked(book *seen.Memory, source *v1alpha1.FeedSource, items []v1alpha1.FeedItem, entries []feed.Entry) {
	masked := map[string]bool{}
	for i := range items {
		if hidesSecret(&items[i]) {
			masked[items[i].Name] = true
		}
	}
	if len(masked) == 0 {
		return
	}
	for _, entry := range entries {
		if masked[feed.ItemName(source.Name, string(source.UID), entry, book.Trust())] {
			book.Remember(feed.Identify(entry))
		}
	}
}
