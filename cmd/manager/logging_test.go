// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/redact"
)

// R5.6: wherever a secret is put into a line of the log, it is not in what is written, and the line
// stays JSON that says the rest.
func TestNoLineOfTheLogTellsASecret(t *testing.T) {
	t.Parallel()
	const secret, shape = `SECRET-of-the-log-0123/"<\é`, "sk-ant-api03-SECRET0123456789abcdef"
	redact.Remember("a", secret)
	var out bytes.Buffer
	log := newLogger(zap.Options{Development: true, Level: zapcore.Level(-5), Encoder: zapcore.NewJSONEncoder(zapcore.EncoderConfig{
		MessageKey: "msg", StacktraceKey: "stack", NameKey: "logger",
	})}, &out)
	address := &url.URL{Scheme: "https", User: url.UserPassword("u", "SECRET"), Host: "example.org", RawQuery: "token=SECRET"}
	item := &v1alpha1.FeedItem{}
	item.Name, item.Spec.Title = "item", secret
	type inner struct{ Text []string }

	log.Info("Hello " + secret + " and " + shape)
	log.V(4).Info("deep", "text", secret)
	log.Error(fmt.Errorf("get %q: %w", address, errors.New(secret)), "failed "+secret, "shape", shape)
	log.Info("values", "bytes", []byte(secret), "list", []string{secret, "x"}, "struct", inner{[]string{secret}}, "pointer", &inner{[]string{secret}},
		"header", http.Header{"X-Key": {secret}}, "url", address, "map", map[string]any{secret: secret}, "any", any(errors.New(secret)),
		"object", item, "key", types.NamespacedName{Namespace: "a", Name: "b"}, "nil", (*url.URL)(nil), "number", 7)
	log.WithValues("with", secret).WithValues("url", address).WithName("name-" + secret).Info("with")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 5 {
		t.Errorf("%d lines:\n%s", len(lines), out.String())
	}
	for _, line := range lines {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Errorf("%s is no JSON: %v", line, err)
		}
		if strings.Contains(line, "SECRET") || strings.Contains(line, "U0VDUkVU") || !strings.Contains(line, redact.Masked) {
			t.Errorf("the log has the line %s", line)
		}
	}
	if !strings.Contains(out.String(), `"key":{"name":"b","namespace":"a"}`) || !strings.Contains(out.String(), `"number":7`) ||
		!strings.Contains(out.String(), `"url":"https://example.org"`) {
		t.Errorf("what is no secret is not told as it was:\n%s", out.String())
	}
}

// Nothing goes round the logger that masks: no other is made, and nobody writes to the error output.
func TestThereIsOneLogger(t *testing.T) {
	t.Parallel()
	another := regexp.MustCompile(`\bzap\.New\(|\bzap\.NewProduction\(|\bSetLogger\(|\bstdlog\.|"log"\n|"log/slog"|os\.Stderr|GetEventRecorderFor\(`)
	// A line in which it matches has one of these, which are found sooner.
	signs := []string{"zap.New", "SetLogger(", "stdlog.", `"log"`, `"log/slog"`, "os.Stderr", "GetEventRecorderFor("}
	looked := 0
	for _, root := range []string{"../../api", "../../cmd/manager", "../../controllers", "../../internal"} {
		err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
			forTests := strings.HasSuffix(path, "_test.go") || strings.HasSuffix(filepath.Base(filepath.Dir(path)), "test")
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || forTests {
				return err
			}
			looked++
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for n, line := range strings.Split(string(text), "\n") {
				if !slices.ContainsFunc(signs, func(sign string) bool { return strings.Contains(line, sign) }) {
					continue
				}
				allowed := strings.HasSuffix(path, "cmd/manager/logging.go") || strings.Contains(line, "setUpLogs(") || strings.Contains(line, "redact.Log(") ||
					strings.Contains(line, "otel.SetLogger(log)") // gives a library the one that there is
				if another.MatchString(line+"\n") && !allowed {
					t.Errorf("%s:%d goes round the logger that masks secrets (cmd/manager/logging.go): %s", path, n+1, strings.TrimSpace(line))
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if looked < 100 {
		t.Errorf("only %d files were looked at", looked)
	}
}
