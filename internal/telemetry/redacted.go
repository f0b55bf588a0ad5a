// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/feed-operator/feed-operator/internal/redact"
)

// Redacted returns a recorder that masks what may be a secret in the notes of Events. Their reasons
// and actions are constants.
func Redacted(to recorder.EventRecorder) recorder.EventRecorder { return redacted{to} }

type redacted struct{ to recorder.EventRecorder }

// Eventf implements events.EventRecorder.
func (r redacted) Eventf(regarding, related runtime.Object, eventtype, reason, action, text string, args ...any) {
	r.to.Eventf(regarding, related, eventtype, reason, action, "%s", redactedNote(text, args))
}

// AnnotatedEventf implements events.AnnotatedEventRecorder.
func (r redacted) AnnotatedEventf(regarding, related runtime.Object, annotations map[string]string,
	eventtype, reason, action, text string, args ...any,
) {
	hidden := make(map[string]string, len(annotations))
	for name, value := range annotations {
		hidden[name] = redact.Text(value)
	}
	r.to.AnnotatedEventf(regarding, related, hidden, eventtype, reason, action, "%s", redactedNote(text, args))
}

func redactedNote(text string, args []any) string {
	return note("%s", redact.Text(fmt.Sprintf(text, args...)))
}
