// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// R5.6. Looks through the whole chain of errors, not only at the masked message.
func TestSecretsAreNotInErrors(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	header := http.Header{"Authorization": {"Bearer " + secret}, "X-Api-Key": {secret}}
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/status":
			w.WriteHeader(http.StatusForbidden)
		case "/loop":
			w.Header().Set("Location", r.URL.String())
			w.WriteHeader(http.StatusFound)
		case "/away":
			w.Header().Set("Location", "http://u:"+secret+"@10.0.0.1/?token="+secret)
			w.WriteHeader(http.StatusFound)
		case "/bad":
			w.Header().Set("Location", "http://u:"+secret+"@:x/?token="+secret)
			w.WriteHeader(http.StatusFound)
		case "/hang":
			<-r.Context().Done()
		case "/close":
			raw("")(w, r)
		case "/not-http":
			raw("garbage\r\n\r\n")(w, r)
		}
	})
	base := strings.Replace(server.URL, "http://", "http://user:"+secret+"@", 1)
	query := "?token=" + secret
	nobody := strings.Replace(base, server.URL[strings.LastIndex(server.URL, ":"):], ":1", 1)
	tests := map[string]Request{
		"a status":                     {URL: base + "/status" + query, Header: header},
		"a loop":                       {URL: base + "/loop" + query, Header: header},
		"a redirect that is refused":   {URL: base + "/away" + query, Header: header},
		"a redirect that is no URL":    {URL: base + "/bad" + query, Header: header},
		"a timeout":                    {URL: base + "/hang" + query, Header: header, Timeout: 50 * time.Millisecond},
		"a connection that is closed":  {URL: base + "/close" + query, Header: header},
		"what is not HTTP":             {URL: base + "/not-http" + query, Header: header},
		"nobody there":                 {URL: nobody + "/" + query, Header: header},
		"no such name":                 {URL: "http://user:" + secret + "@nowhere.invalid/" + query, Header: header},
		"a scheme that is unknown":     {URL: "ftp://user:" + secret + "@example.org/" + query},
		"a URL that is malformed":      {URL: "http://user:" + secret + "@exa mple/" + query},
		"a port that cannot be":        {URL: "http://user:" + secret + "@example.org:99999/" + query},
		"a value with a line break":    {URL: base + "/status", Header: http.Header{"X-Api-Key": {secret + "\n"}}},
		"plain http where TLS must be": {URL: base + "/status" + query, RequireTLS: true},
		"a name that HTTP cannot have": {URL: base + "/status", Header: http.Header{"bad name": {secret}}},
		"TLS where there is none":      {URL: strings.Replace(base, "http://", "https://", 1) + "/" + query, Header: header},
	}
	client := newTestClient(t, Config{AllowCIDRs: []netip.Prefix{loopback}})
	for name, request := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			response, err := client.Get(t.Context(), request)
			got := failed(t, response, err)
			if strings.Contains(got.Message, secret) {
				t.Errorf("the message holds a secret before it is masked: %s", got.Message)
			}
			for cause := error(got); cause != nil; cause = errors.Unwrap(cause) {
				if text := fmt.Sprintf("%v %+v", cause, cause); strings.Contains(text, secret) {
					t.Errorf("the chain holds a secret: %s", text)
				}
			}
		})
	}
}
