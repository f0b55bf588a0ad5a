// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io"
	stdlog "log"
	"slices"

	"github.com/go-logr/logr"
	uberzap "go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/feed-operator/feed-operator/internal/redact"
)

// setUpLogs sends all that this process logs through one logger, which tells no secrets: that of
// controller-runtime and of the operator, klog's, which client-go uses, and the standard library's.
func setUpLogs(options zap.Options, to io.Writer) {
	log := newLogger(options, to)
	ctrl.SetLogger(log)
	klog.SetLogger(log.WithName("client"))
	stdlog.SetFlags(0)
	stdlog.SetOutput(lines{log.WithName("go")})
}

// newLogger makes the logger. What stands in messages, errors and texts is masked by its shape and its
// value before it is encoded. Whatever else is in a line, such as a stack or the inside of a struct,
// is masked by its value when the line is written: no known secret gets past that.
func newLogger(options zap.Options, to io.Writer) logr.Logger {
	options = unsampled(options)
	options.DestWriter = redactingWriter{to}
	options.ZapOpts = append(slices.Clone(options.ZapOpts), uberzap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return redactingCore{Core: core}
	}))
	return zap.New(zap.UseFlagOptions(&options))
}

// redactingWriter masks known secrets in lines that are written as a whole. A mask needs no escaping,
// so what was JSON stays JSON.
type redactingWriter struct{ to io.Writer }

func (w redactingWriter) Write(line []byte) (int, error) {
	if _, err := io.WriteString(w.to, redact.Known(string(line))); err != nil {
		return 0, err
	}
	return len(line), nil
}

// redactingCore masks what may be a secret in the texts of an entry.
type redactingCore struct {
	zapcore.Core
	// with are the fields that all entries have in common, not masked yet. They are masked and encoded with
	// the entry: each reconcile makes a logger, and most of them, such as a poll without news, log nothing.
	with []zapcore.Field
}

// With implements zapcore.Core.
func (c redactingCore) With(fields []zapcore.Field) zapcore.Core {
	return redactingCore{c.Core, slices.Concat(c.with, fields)}
}

// Check implements zapcore.Core: that of the core within would add itself, without the mask.
func (c redactingCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(entry.Level) {
		return checked.AddCore(entry, c)
	}
	return checked
}

// Write implements zapcore.Core.
func (c redactingCore) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	entry.Message = redact.Log(entry.Message)
	return c.Core.Write(entry, redactedFields(slices.Concat(c.with, fields)))
}

// redactedFields masks in place.
func redactedFields(fields []zapcore.Field) []zapcore.Field {
	for i := range fields {
		fields[i] = redactedField(fields[i])
	}
	return fields
}

func redactedField(field zapcore.Field) zapcore.Field {
	switch field.Type { //nolint:exhaustive // the others hold no text of their own
	case zapcore.StringType:
		field.String = redact.Log(field.String)
		return field
	case zapcore.ByteStringType, zapcore.ErrorType, zapcore.StringerType:
		switch field.Interface.(type) {
		case runtime.Object, types.NamespacedName, *types.NamespacedName: // told by their names only
			return field
		}
		encoded := zapcore.NewMapObjectEncoder() // knows what to do with nil, and with those that panic
		field.AddTo(encoded)
		if text, ok := encoded.Fields[field.Key].(string); ok {
			return uberzap.String(field.Key, redact.Log(text))
		}
	}
	return field
}

// lines logs each line that the standard library's logger writes, as when a server of its meets a client
// that speaks no HTTP.
type lines struct{ log logr.Logger }

func (l lines) Write(line []byte) (int, error) {
	l.log.Info(string(bytes.TrimRight(line, "\n")))
	return len(line), nil
}
