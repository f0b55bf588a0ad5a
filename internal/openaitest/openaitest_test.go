// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package openaitest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"
)

const asked = `{"model":"gpt-5-mini","messages":[{"role":"system","content":"Summarize."},{"role":"user","content":
"[BEGIN text 0123456789abcdef0123456789abcdef]\nThe council met. It agreed.\n[END text 0123456789abcdef0123456789abcdef]"}],
"max_completion_tokens":100,"temperature":0.2,"response_format":{"type":"json_schema","json_schema":{"strict":true,"schema":{"properties":{"screening":{}}}}}}`

// send makes a request as the API's documentation has it, and returns status, headers and body.
func send(t *testing.T, method, url, key, body string) (int, http.Header, []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, nil
	}
	defer func() { _ = answer.Body.Close() }()
	read, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header, read
}

func post(t *testing.T, s *Server, key string) (int, http.Header, []byte) {
	t.Helper()
	return send(t, http.MethodPost, s.URL+"/chat/completions", key, asked)
}

func TestServerSummarizesWhatItIsSent(t *testing.T) {
	t.Parallel()
	s := New("right")
	defer s.Close()
	status, _, body := post(t, s, "right")
	var got struct {
		Object  string
		Choices []struct {
			Message      struct{ Role, Content string }
			FinishReason string `json:"finish_reason"`
		}
		Usage struct {
			TotalTokens int `json:"total_tokens"`
		}
	}
	if err := json.Unmarshal(body, &got); err != nil || status != http.StatusOK || len(got.Choices) != 1 || got.Object != "chat.completion" {
		t.Fatalf("%d %s (%v)", status, body, err)
	}
	var answer struct {
		Screening struct{ Valuable, Complete bool }
		Summary   string
	}
	if err := json.Unmarshal([]byte(got.Choices[0].Message.Content), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Summary != "The council met. It agreed." || !answer.Screening.Valuable || !answer.Screening.Complete || got.Usage.TotalTokens == 0 ||
		got.Choices[0].FinishReason != "stop" {
		t.Errorf("answer is %+v, %+v", answer, got)
	}
	call := s.Calls()[0]
	asked := ParametersOf(call)
	if call.System != "Summarize." || call.Room != 100 || asked.MaxCompletionTokens != 100 || asked.MaxTokens != 0 || !call.Screening ||
		!asked.ResponseFormat.JSONSchema.Strict || asked.ResponseFormat.Type != "json_schema" || asked.Temperature == nil ||
		call.KeyRefused || call.Model != "gpt-5-mini" {
		t.Errorf("call is %+v, %+v", call, asked)
	}
}

func TestServerRefusesAWrongKey(t *testing.T) {
	t.Parallel()
	s := New("right")
	defer s.Close()
	if status, _, body := post(t, s, "wrong"); status != http.StatusUnauthorized || !bytes.Contains(body, []byte("invalid_api_key")) {
		t.Errorf("a wrong key: %d %s", status, body)
	}
	if !s.Calls()[0].KeyRefused {
		t.Errorf("call is %+v", s.Calls()[0])
	}
	if key := bearer(http.Header{"Authorization": {"right"}}); key != "" {
		t.Errorf("a key that is no bearer token is taken for %q", key)
	}
}

func TestServerKnowsItsModels(t *testing.T) {
	t.Parallel()
	s := New("")
	defer s.Close()
	for path, want := range map[string]string{
		"/models/Qwen%2FQwen3-8B": `"id": "Qwen/Qwen3-8B"`, "/models/llama3.2:3b": `"id": "llama3.2:3b"`, "/models": `"object": "list"`,
		"/models/Qwen/Qwen3-8B": "Invalid URL", "/engines": "Invalid URL",
	} {
		if _, _, body := send(t, http.MethodGet, s.URL+path, "", ""); !bytes.Contains(body, []byte(want)) {
			t.Errorf("%s: %s", path, body)
		}
	}
	s.SetKey("right")
	if status, _, _ := send(t, http.MethodGet, s.URL+"/models/x", "wrong", ""); status != http.StatusUnauthorized || s.Checks() != 4 {
		t.Errorf("a wrong key: %d after %d questions", status, s.Checks())
	}
}
