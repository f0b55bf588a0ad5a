// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/feed-operator/feed-operator/internal/redact"
	"github.com/feed-operator/feed-operator/internal/telemetry"
)

// notes keeps what a recorder is told.
type notes []string

func (n *notes) Eventf(_, _ runtime.Object, eventtype, reason, action, note string, args ...any) {
	*n = append(*n, eventtype, reason, action, fmt.Sprintf(note, args...))
}

func (n *notes) AnnotatedEventf(_, _ runtime.Object, annotations map[string]string, eventtype, reason, action, note string, args ...any) {
	*n = append(*n, fmt.Sprint(annotations), eventtype, reason, action, fmt.Sprintf(note, args...))
}

// R5.6
func TestNoEventTellsASecret(t *testing.T) {
	t.Parallel()
	const secret = "sk-ant-api03-SECRET-of-an-event-0123"
	var told notes
	recorder := telemetry.Redacted(&told)
	recorder.Eventf(nil, nil, "Normal", "Succeeded", "Poll", "%s and %d", secret, 7)
	recorder.Eventf(nil, nil, "Normal", "Succeeded", "Poll", "Asked with Bearer SECRET0123")
	recorder.Eventf(nil, nil, "Normal", "Succeeded", "Poll", "%s", strings.Repeat(secret+" é ", 90))
	recorder.AnnotatedEventf(nil, nil, map[string]string{"a": secret}, "Normal", "Succeeded", "Poll", "%s", secret)
	for _, text := range told {
		if strings.Contains(text, "SECRET") || len(text) > 1024 {
			t.Errorf("told %q", text)
		}
	}
	if len(told) != 17 || told[3] != redact.Masked+" and 7" || told[0]+told[1]+told[2] != "NormalSucceededPoll" {
		t.Errorf("told %q", told)
	}
}
