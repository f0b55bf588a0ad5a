// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/internal/failure"
)

// R1.4: who is taken for a robot is told so, and by whom; the status alone would not say it.
func TestAPageThatChecksForABrowserIsNamed(t *testing.T) {
	t.Parallel()
	const justAMoment = `<!DOCTYPE html><html lang="en-US"><head><title>Just a moment...</title></head><body>
<script>(function(){window._cf_chl_opt={cvId:'3'};var a=document.createElement('script');a.src='/cdn-cgi/challenge-platform/h/b/x';}());</script></body></html>`
	tests := map[string]struct {
		status     int
		header     map[string]string
		body       string
		compressor string
		want       string // in parentheses; "-" for a page that is none
	}{
		"Cloudflare's, by its header":                {status: 403, header: map[string]string{"cf-mitigated": "challenge"}, want: " (Cloudflare)"},
		"Cloudflare's, by its page":                  {status: 503, body: justAMoment, want: " (Cloudflare)"},
		"Cloudflare's, compressed":                   {status: 403, body: justAMoment, compressor: "gzip", want: " (Cloudflare)"},
		"Cloudflare's, compressed with brotli":       {status: 429, body: justAMoment, compressor: "br", want: " (Cloudflare)"},
		"Cloudflare's, when it blocks":               {status: 403, body: "<html><head><title>Attention Required! | Cloudflare</title>", want: " (Cloudflare)"},
		"Akamai's":                                   {status: 403, body: "<HTML><HEAD><TITLE>Access Denied</TITLE></HEAD><BODY>Reference #18.2 https://errors.edgesuite.net/18.2</BODY></HTML>", want: " (Akamai)"},
		"DataDome's":                                 {status: 403, body: `<html><script src="https://ct.captcha-delivery.com/c.js"></script>`, want: " (DataDome)"},
		"AWS', with a status of success":             {status: 202, header: map[string]string{"x-amzn-waf-action": "challenge"}, want: " (AWS WAF)"},
		"AWS', with a puzzle":                        {status: 405, header: map[string]string{"x-amzn-waf-action": "captcha"}, want: " (AWS WAF)"},
		"that of nobody known":                       {status: 403, body: "<h1>Are you human?</h1>", want: ""},
		"that comes after much else":                 {status: 403, body: "<html>" + strings.Repeat(" ", 50<<10) + "Checking your browser before accessing", want: ""},
		"that comes in a page without end":           {status: 403, body: justAMoment + strings.Repeat("x", 10<<20), want: " (Cloudflare)"},
		"a plain refusal":                            {status: 403, body: "<h1>403 Forbidden</h1><hr>nginx", want: "-"},
		"a page that is not there speaks of robots":  {status: 404, body: "<p>Are you human?", want: "-"},
		"a text that speaks of it":                   {status: 403, header: map[string]string{"Content-Type": "application/json"}, body: `{"error":"are you human"}`, want: "-"},
		"a page that cannot be decompressed":         {status: 403, header: map[string]string{"Content-Encoding": "zstd"}, body: justAMoment, want: "-"},
		"a page that is said to be compressed":       {status: 403, header: map[string]string{"Content-Encoding": "gzip"}, body: justAMoment, want: "-"},
		"a header that says that all was well":       {status: 403, header: map[string]string{"cf-mitigated": "none"}, want: "-"},
		"a log-in, which is about credentials first": {status: 401, body: "<p>Are you human?", want: "-"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html; charset=UTF-8")
				w.Header().Set("Retry-After", "60")
				for key, value := range test.header {
					w.Header().Set(key, value)
				}
				body := []byte(test.body)
				if test.compressor != "" {
					w.Header().Set("Content-Encoding", test.compressor)
					body = compressed(t, test.compressor, strings.NewReader(test.body))
				}
				w.WriteHeader(test.status)
				_, _ = w.Write(body)
			})
			response, err := localClient(t).Get(t.Context(), Request{URL: server.URL})
			got := failed(t, response, err)
			status := fmt.Sprintf("%d %s", test.status, http.StatusText(test.status))
			want, kind := fmt.Sprintf("The server %s answered %s, with a page that checks for a browser%s. Ask the owner of the site "+
				"to let feed readers through, or use another URL.", strings.TrimPrefix(server.URL, "http://"), status, test.want), typeChallenge
			if test.want == "-" {
				want, kind = fmt.Sprintf("The server %s answered %s.", strings.TrimPrefix(server.URL, "http://"), status), failure.TypeHTTPStatus
			}
			category := failure.FromStatus(test.status)
			wantOutcome(t, got, outcome{category, kind, test.status})
			if got.Error() != want || got.RetryAfter != time.Minute {
				t.Errorf("message %q, want %q; wait %s", got, want, got.RetryAfter)
			}
		})
	}
}
