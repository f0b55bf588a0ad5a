// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package anthropictest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

const asked = `{"model":"claude-haiku-4-5","max_tokens":100,"system":"Summarize.","messages":[{"role":"user","content":[{"type":"text","text":
"[BEGIN text 0123456789abcdef0123456789abcdef]\nThe council met. It agreed.\n[END text 0123456789abcdef0123456789abcdef]"}]}],
"output_config":{"format":{"type":"json_schema","schema":{"properties":{"screening":{}}}}}}`

// answer is one that came in; without a status where none did.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// send makes a request as the API's documentation has it.
func send(t *testing.T, s *Server, method, path, body string, header map[string]string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer{}
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, text}
}

var right = map[string]string{"x-api-key": "right", "anthropic-version": "2023-06-01"}

func post(t *testing.T, s *Server) answer {
	t.Helper()
	return send(t, s, http.MethodPost, "/v1/messages", asked, right)
}

func TestServerSummarizesWhatItIsSent(t *testing.T) {
	t.Parallel()
	s := New("right")
	defer s.Close()
	came := post(t, s)
	var got struct {
		Type, Role, Model string
		StopReason        string `json:"stop_reason"`
		Content           []struct{ Type, Text string }
		Usage             struct {
			InputTokens  int `json:"input_tokens"`
			OutputTokens int `json:"output_tokens"`
		}
	}
	if err := json.Unmarshal(came.body, &got); err != nil || came.status != http.StatusOK || len(got.Content) != 1 {
		t.Fatalf("%d %s (%v)", came.status, came.body, err)
	}
	if got.Type != "message" || got.Role != "assistant" || got.Model != "claude-haiku-4-5" || got.StopReason != "end_turn" ||
		got.Content[0].Type != "text" || got.Usage.InputTokens == 0 || got.Usage.OutputTokens == 0 {
		t.Errorf("answer is %s", came.body)
	}
	if !strings.HasPrefix(came.header.Get("Request-Id"), "req_") {
		t.Errorf("headers are %v", came.header)
	}
	var written struct {
		Screening struct{ Valuable, Complete bool }
		Summary   string
	}
	if err := json.Unmarshal([]byte(got.Content[0].Text), &written); err != nil {
		t.Fatal(err)
	}
	if written.Summary != "The council met. It agreed." || !written.Screening.Valuable || !written.Screening.Complete {
		t.Errorf("the model wrote %+v", written)
	}
	call := s.Calls()[0]
	if call.Model != got.Model || call.System != "Summarize." || call.Room != 100 || !call.Screening || call.KeyElsewhere || call.KeyRefused {
		t.Errorf("call is %+v", call)
	}
}

func TestServerRefusesWhatTheAPIWould(t *testing.T) {
	t.Parallel()
	s := New("right")
	defer s.Close()
	for name, test := range map[string]struct {
		method, path, body string
		header             map[string]string
		want               int
		says               string
	}{
		"no key":            {http.MethodPost, "/v1/messages", asked, nil, 401, "authentication_error"},
		"a wrong key":       {http.MethodPost, "/v1/messages?x-api-key=right", asked, map[string]string{"x-api-key": "wrong"}, 401, "invalid x-api-key"},
		"no version":        {http.MethodPost, "/v1/messages", asked, map[string]string{"x-api-key": "right"}, 400, "anthropic-version"},
		"no room":           {http.MethodPost, "/v1/messages", `{"model":"m"}`, right, 400, "max_tokens"},
		"a list of models":  {http.MethodGet, "/v1/models", "", right, 404, "not_found_error"},
		"a model, no key":   {http.MethodGet, "/v1/models/m", "", nil, 401, "authentication_error"},
		"a model":           {http.MethodGet, "/v1/models/m", "", right, 200, `"id": "m"`},
		"a model by a path": {http.MethodGet, "/gateway/v1/models/maker%2Fm", "", right, 200, `"id": "maker/m"`},
	} {
		t.Run(name, func(t *testing.T) {
			got := send(t, s, test.method, test.path, test.body, test.header)
			if got.status != test.want || !strings.Contains(string(got.body), test.says) {
				t.Errorf("%d %s, want %d and %q", got.status, got.body, test.want, test.says)
			}
			if id := got.header.Get("Request-Id"); test.want != http.StatusOK && !strings.Contains(string(got.body), `"request_id": "`+id+`"`) {
				t.Errorf("%s does not name the request %s", got.body, id)
			}
		})
	}
	elsewhere, refused := 0, 0
	for _, call := range s.Calls() {
		if call.KeyElsewhere {
			elsewhere++
		}
		if call.KeyRefused {
			refused++
		}
	}
	if elsewhere != 1 || refused != 2 || s.Checks() != 3 {
		t.Errorf("%d keys elsewhere, %d refused, %d questions", elsewhere, refused, s.Checks())
	}
}

func TestServerTellsHowItsLimitStands(t *testing.T) {
	t.Parallel()
	s := New("right")
	defer s.Close()
	now := time.Date(2026, 4, 1, 9, 0, 0, 5e8, time.UTC)
	s.Limit(1, func() time.Time { return now })
	for i, want := range []answer{{status: http.StatusOK}, {status: http.StatusTooManyRequests}} {
		got := post(t, s)
		if got.status != want.status || got.header.Get("Anthropic-Ratelimit-Requests-Remaining") != "0" ||
			got.header.Get("Anthropic-Ratelimit-Requests-Reset") != "2026-04-01T09:01:01Z" || (got.header.Get("Retry-After") == "60") != (i == 1) {
			t.Errorf("%d: %d %v", i, got.status, got.header)
		}
	}
}
