// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package geminitest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"
)

const asked = `{"systemInstruction":{"parts":[{"text":"Summarize."}]},"contents":[{"role":"user","parts":[{"text":
"[BEGIN text 0123456789abcdef0123456789abcdef]\nThe council met. It agreed.\n[END text 0123456789abcdef0123456789abcdef]"}]}],
"generationConfig":{"maxOutputTokens":100,"responseSchema":{"properties":{"screening":{}}}}}`

// post sends a request as the API's documentation has it, and returns status and body.
func post(t *testing.T, s *Server, key, query string) (int, []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		s.URL+"/v1beta/models/gemini-2.5-flash:generateContent"+query, bytes.NewBufferString(asked))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Goog-Api-Key", key)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, body
}

func TestServerSummarizesWhatItIsSent(t *testing.T) {
	t.Parallel()
	s := New("right")
	defer s.Close()
	status, body := post(t, s, "right", "")
	var got struct {
		Candidates []struct {
			Content      content
			FinishReason string
		}
		UsageMetadata struct{ TotalTokenCount int }
	}
	if err := json.Unmarshal(body, &got); err != nil || status != http.StatusOK || len(got.Candidates) != 1 {
		t.Fatalf("%d %s (%v)", status, body, err)
	}
	var answer struct {
		Screening struct{ Valuable, Complete bool }
		Summary   string
	}
	if err := json.Unmarshal([]byte(got.Candidates[0].Content.text()), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Summary != "The council met. It agreed." || !answer.Screening.Valuable || !answer.Screening.Complete || got.UsageMetadata.TotalTokenCount == 0 {
		t.Errorf("answer is %+v, %+v", answer, got)
	}
	call := s.Calls()[0]
	if call.System != "Summarize." || call.Room != 100 || !call.Screening || call.KeyElsewhere || call.KeyRefused {
		t.Errorf("call is %+v", call)
	}
}

func TestServerRefusesAWrongKey(t *testing.T) {
	t.Parallel()
	s := New("right")
	defer s.Close()
	if status, body := post(t, s, "wrong", "?key=right"); status != http.StatusBadRequest || !bytes.Contains(body, []byte("API_KEY_INVALID")) {
		t.Errorf("a wrong key: %d %s", status, body)
	}
	if call := s.Calls()[0]; !call.KeyElsewhere || !call.KeyRefused {
		t.Errorf("call is %+v", call)
	}
}
