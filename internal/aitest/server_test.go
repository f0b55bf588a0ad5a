// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitest_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/feed-operator/feed-operator/internal/aitest"
)

func say(status int) aitest.Answer { return aitest.Body(status, "text/plain", strconv.Itoa(status)) }

// plain is the least that is an API: what is posted is an article, and its summary the answer.
func plain() aitest.API {
	return aitest.API{
		Read: func(r *http.Request, body []byte) (aitest.Call, aitest.Topic) {
			if r.Method == http.MethodGet {
				return aitest.Call{}, aitest.Model
			}
			return aitest.Call{User: string(body), Screening: strings.HasSuffix(r.URL.Path, "/screened")}, aitest.Text
		},
		Key:    func(header http.Header) string { return header.Get("X-Key") },
		Refuse: func(call aitest.Call, _ aitest.Topic) (aitest.Answer, bool) { return say(401), call.KeyRefused },
		Throttled: func(wait time.Duration) aitest.Answer {
			return say(429).WithHeader("X-Wait", wait.String())
		},
		Left: func(limit, left int, full time.Time) http.Header {
			return http.Header{"X-Left": {strconv.Itoa(left) + " of " + strconv.Itoa(limit) + " until " + full.UTC().Format(time.TimeOnly)}}
		},
		Usual: map[aitest.Topic]aitest.Answer{
			aitest.Text:  aitest.Document(http.StatusOK, func(call aitest.Call) any { return aitest.Opening(call) }),
			aitest.Model: say(200),
		},
		RequestID: "X-Id",
	}
}

func serve(t *testing.T) *aitest.Server {
	t.Helper()
	s := aitest.New(plain(), "right")
	t.Cleanup(s.Close)
	return s
}

// send makes a request, and returns a status of 0 where there was no answer.
func send(t *testing.T, s *aitest.Server, method, path, key, body string) (int, http.Header, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Key", key)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, ""
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header, string(text)
}

func TestServerSummarizesWhatItIsSent(t *testing.T) {
	t.Parallel()
	s := serve(t)
	const mark = "text 0123456789abcdef0123456789abcdef]\n"
	for path, want := range map[string]string{
		"/":         `"{\"summary\":\"The council met. It agreed.\"}"`,
		"/screened": `\"valuable\":true},\"summary\":\"The council met. It agreed.\"}"`,
	} {
		status, header, text := send(t, s, http.MethodPost, path, "right", "[BEGIN "+mark+"The council met. It agreed.\n[END "+mark)
		if status != http.StatusOK || !strings.HasSuffix(text, want) || header.Get("X-Id") == "" {
			t.Errorf("%d %s %v", status, text, header)
		}
	}
}

func TestServerAnswersInItsOrder(t *testing.T) {
	t.Parallel()
	s := serve(t)
	if status, _, _ := send(t, s, http.MethodPost, "/", "wrong", ""); status != 401 || !s.Calls()[0].KeyRefused {
		t.Errorf("a wrong key: %d", status)
	}
	s.Next(say(503), say(402))
	s.NextModel(say(404))
	s.OnCall(func(aitest.Call) (aitest.Answer, bool) { return say(500), len(s.Calls()) == 3 })
	for i, want := range []int{503, 500, 402, 200} {
		if status, _, _ := send(t, s, http.MethodPost, "/", "right", ""); status != want {
			t.Errorf("answer %d is %d, want %d", i, status, want)
		}
	}
	for i, want := range []int{404, 200} {
		if status, _, _ := send(t, s, http.MethodGet, "/", "right", ""); status != want {
			t.Errorf("answer %d about a model is %d, want %d", i, status, want)
		}
	}
	if len(s.Calls()) != 5 || s.Checks() != 2 {
		t.Errorf("%d calls, %d questions", len(s.Calls()), s.Checks())
	}
}

func TestServerHoldsToItsLimit(t *testing.T) {
	t.Parallel()
	s := serve(t)
	now := time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)
	s.Limit(2, func() time.Time { return now })
	for _, step := range []struct {
		after      time.Duration
		want       int
		left, wait string
	}{
		{0, 200, "1 of 2 until 09:01:00", ""},
		{20 * time.Second, 200, "0 of 2 until 09:01:20", ""},
		{20*time.Second + 1, 429, "0 of 2 until 09:01:20", "19.999999999s"},
		{20*time.Second - 1, 200, "0 of 2 until 09:02:00", ""}, // the first is a minute ago
		{0, 429, "0 of 2 until 09:02:00", "20s"},
		{time.Hour, 200, "1 of 2 until 10:02:00", ""},
	} {
		now = now.Add(step.after)
		status, header, _ := send(t, s, http.MethodPost, "/", "right", "")
		if status != step.want || header.Get("X-Left") != step.left || header.Get("X-Wait") != step.wait {
			t.Errorf("at %s: %d %v, want %+v", now, status, header, step)
		}
	}
	s.Limit(0, nil)
	for range 3 {
		if status, _, _ := send(t, s, http.MethodPost, "/", "right", ""); status != http.StatusOK {
			t.Errorf("without a limit: %d", status)
		}
	}
}

func TestServerEndsWhatHangs(t *testing.T) {
	t.Parallel()
	s := serve(t)
	came := make(chan struct{})
	s.OnCall(func(aitest.Call) (aitest.Answer, bool) { came <- struct{}{}; return aitest.Hang(), true })
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			if status, _, text := send(t, s, http.MethodPost, "/", "right", ""); text != "" {
				t.Errorf("%d %s", status, text)
			}
		})
	}
	for range 3 {
		<-came
	}
	s.Close()
	group.Wait()
}
