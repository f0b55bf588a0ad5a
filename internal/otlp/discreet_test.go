// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// exporter fails with an error, if it has one.
type exporter struct{ fails error }

func (e *exporter) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return e.fails }

func (e *exporter) Shutdown(context.Context) error { return nil }

// R5.5: what is lost in a second failure soon after the first is told too, when it is time for another line.
func TestWhatIsLostIsToldLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said []string
		to := &exporter{}
		d := &discreet{
			next: to, log: funcr.New(func(_, args string) { said = append(said, args) }, funcr.Options{}),
			left: func([]sdktrace.ReadOnlySpan) int { return 0 },
		}
		send := func(fails error) {
			to.fails = fails
			_ = d.ExportSpans(t.Context(), make([]sdktrace.ReadOnlySpan, 7))
		}
		send(errors.New("no"))
		send(nil)
		send(errors.New("no"))
		send(nil)
		if len(said) != 2 || !strings.Contains(said[1], `"lost"=7`) {
			t.Errorf("at first: %q", said)
		}
		time.Sleep(tellInterval)
		send(nil)
		send(nil)
		if len(said) != 3 || !strings.Contains(said[2], "Traces sent again") || !strings.Contains(said[2], `"lost"=7`) {
			t.Errorf("later: %q", said)
		}
	})
}
