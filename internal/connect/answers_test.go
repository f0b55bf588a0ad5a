// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package connect_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/connect"
	"github.com/feed-operator/feed-operator/internal/destination"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/outbound"
	"github.com/feed-operator/feed-operator/internal/secrets"
)

// R4.2, R4.4: what a webhook has done is said by the status of its answer. A body behind it that breaks off, never ends, cannot be unpacked, or is
// larger than anything, makes nobody send again what has arrived.
func TestTheStatusOfAWebhookIsEnough(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer // once: it takes a while
	large := gzip.NewWriter(&packed)
	_, _ = large.Write(bytes.Repeat([]byte(" "), 16<<20))
	_ = large.Close()
	ended := make(chan struct{})
	t.Cleanup(func() { close(ended) })
	for body, write := range map[string]func(http.ResponseWriter){
		"breaks off": func(w http.ResponseWriter) {
			_, _ = w.Write([]byte(`{"error":`))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
		"never ends": func(w http.ResponseWriter) {
			_, _ = w.Write([]byte(`{"error":`))
			_ = http.NewResponseController(w).Flush()
			<-ended
		},
		"is not what it is said to be": func(w http.ResponseWriter) { _, _ = w.Write([]byte("no gzip")) },
		"is larger than anything":      func(w http.ResponseWriter) { _, _ = w.Write(packed.Bytes()) },
	} {
		for status, check := range map[int]func(destination.Receipt, *failure.Error) bool{
			http.StatusAccepted: func(got destination.Receipt, err *failure.Error) bool { return err == nil && !got.Duplicate },
			http.StatusConflict: func(got destination.Receipt, err *failure.Error) bool { return err == nil && got.Duplicate },
			http.StatusGone: func(_ destination.Receipt, err *failure.Error) bool {
				return err != nil && err.Type == failure.TypeGone
			},
			http.StatusUnauthorized: func(_ destination.Receipt, err *failure.Error) bool {
				return err != nil && err.Type == failure.TypeCredentials
			},
			http.StatusServiceUnavailable: func(_ destination.Receipt, err *failure.Error) bool {
				return err != nil && err.Status == http.StatusServiceUnavailable && destination.Certain(err)
			},
		} {
			t.Run(http.StatusText(status)+", and the body "+body, func(t *testing.T) {
				t.Parallel()
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					if body != "breaks off" && body != "never ends" {
						w.Header().Set("Content-Encoding", "gzip")
					}
					w.WriteHeader(status)
					write(w)
				}))
				t.Cleanup(server.CloseClientConnections)
				described := &v1alpha1.FeedDestination{ObjectMeta: metav1.ObjectMeta{Namespace: "news", Name: "ops"}}
				described.Spec.Webhook = &v1alpha1.WebhookDestination{URL: server.URL}
				out := outbound.New(outbound.Config{AllowHTTP: true, AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}})
				caller, err := connect.Destinations(out)(described, secrets.Values{})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if body == "never ends" {
					ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotFirstResponseByte: func() { time.AfterFunc(time.Second, cancel) }})
				}
				receipt, err := caller.Deliver(ctx, "key", destination.Post{Text: "{}"})
				var failed *failure.Error
				if err != nil && !errors.As(err, &failed) || !check(receipt, failed) {
					t.Errorf("%+v, %+v", receipt, failed)
				}
			})
		}
	}
}

// R5.6: of a URL that is a secret, no part is shown: neither the name of the host, which is the secret of some services, nor a parameter, whatever it is
// called, even if the receiver repeats it by itself.
func TestNoPartOfASecretURLIsShown(t *testing.T) {
	t.Parallel()
	parts := []string{"path0123456789", "code/0123456789==", "word0123456789"}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": "no " + r.URL.Query().Get("code") + ", " + r.URL.Query().Get("any") + " at " + r.Host})
	}))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	described := &v1alpha1.FeedDestination{ObjectMeta: metav1.ObjectMeta{Namespace: "news", Name: "chat"}}
	described.Spec.Webhook = &v1alpha1.WebhookDestination{URLFrom: &v1alpha1.WebhookURLFrom{}, SecretRef: &v1alpha1.SecretReference{Name: "chat"}}
	values := secrets.Values{"url": server.URL + "/" + parts[0] + "?code=" + url.QueryEscape(parts[1]) + "&any=" + parts[2]}
	allowed := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	for name, config := range map[string]outbound.Config{
		"it answers":              {AllowHTTP: true, AllowCIDRs: allowed},
		"its address is refused":  {AllowHTTP: true},
		"it is called by no http": {AllowCIDRs: allowed},
	} {
		caller, err := connect.Destinations(outbound.New(config))(described, values)
		if err == nil {
			_, err = caller.Deliver(t.Context(), "key", destination.Post{Text: "{}"})
		}
		if err == nil {
			t.Errorf("%s: no failure", name)
			continue
		}
		shown := failure.Record(err, v1alpha1.StageDeliver, "chat", time.Time{})
		said := shown.Message + " " + strings.Join(shown.Chain, " ")
		for _, part := range append(parts, host, "127.0.0.1") {
			if strings.Contains(said, part) {
				t.Errorf("%s: %s is shown: %s", name, part, said)
			}
		}
	}
}
