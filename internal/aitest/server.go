// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package aitest is what stand-ins for the APIs of language models have in common: a server that
// answers as it is told to, or not at all, holds to a limit, and records who asked for what. It
// knows no wire format: that is what geminitest, openaitest and anthropictest add.
package aitest

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Topic is what a request is about.
type Topic int

// Topics.
const (
	Nothing Topic = iota // a path that the API has not
	Text                 // a text that the model is to write
	Model                // what there is to know about a model
	Models               // the list of all
)

// API is how an API is spoken.
type API struct {
	// Read makes a call of a request.
	Read func(r *http.Request, body []byte) (Call, Topic)
	// Key returns the key that a request was made with.
	Key func(header http.Header) string
	// Refuse is what the API answers to a request that it does not take, for its key or otherwise.
	Refuse func(call Call, topic Topic) (Answer, bool)
	// Throttled is what it answers to a request above its limit.
	Throttled func(wait time.Duration) Answer
	// Left is how it tells the state of a limit in headers, or nil.
	Left func(limit, left int, full time.Time) http.Header
	// Usual are the answers that nobody has put into a queue.
	Usual map[Topic]Answer
	// RequestID is the name of the header that holds the request's id; empty for none.
	RequestID string
}

// Hook answers a call in place of the server. It returns false to let the server answer.
type Hook func(call Call) (Answer, bool)

// Server is an API with all models there are. It is safe for concurrent use.
type Server struct {
	// URL of the API, without a slash at the end.
	URL string

	api    API
	server *httptest.Server
	closed chan struct{}
	close  sync.Once

	mu     sync.Mutex
	key    string
	hook   Hook
	limit  *limit
	now    func() time.Time
	queues map[Topic][]Answer
	calls  []Call
	checks int
	asked  int
}

// New starts a server at a loopback address that takes this key, or all who ask if it is empty.
// Close it.
func New(api API, key string) *Server {
	s := &Server{api: api, key: key, closed: make(chan struct{}), queues: map[Topic][]Answer{}}
	s.server = httptest.NewServer(s)
	s.URL = s.server.URL
	return s
}

// Close ends the calls that hang, and stops the server.
func (s *Server) Close() {
	s.close.Do(func() { close(s.closed) })
	s.server.CloseClientConnections()
	s.server.Close()
}

// SetKey makes the server take this key, and no other.
func (s *Server) SetKey(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key = key
}

// KeepTime has the Date of answers be by a clock, in place of the machine's.
func (s *Server) KeepTime(now func() time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = now
}

// Limit makes the server refuse calls above so many in any minute of the clock, and say how long to
// wait. 0 takes the limit away.
func (s *Server) Limit(perMinute int, now func() time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = nil
	if perMinute > 0 {
		s.limit = &limit{requests: perMinute, now: now}
	}
}

// Next puts answers into the queue, one for each call. When the queue is empty, the server answers with
// the beginning of the article, and finds it valuable and complete.
func (s *Server) Next(answers ...Answer) { s.enqueue(Text, answers) }

// NextModel puts answers into the queue for questions about a model, or for the list of all.
func (s *Server) NextModel(answers ...Answer) { s.enqueue(Model, answers) }

func (s *Server) enqueue(topic Topic, answers []Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queues[topic] = append(s.queues[topic], answers...)
}

// OnCall puts a hook before the queue; nil takes it away.
func (s *Server) OnCall(hook Hook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = hook
}

// Calls returns the calls for a text so far, in their order.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Checks returns how often a model, or the list of all, was asked about.
func (s *Server) Checks() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.checks
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	call, topic := s.api.Read(r, body)
	call.Header, call.Body = r.Header.Clone(), body
	hook := s.record(&call, topic)
	answer := s.answer(call, topic, hook)
	if answer.hang {
		select {
		case <-r.Context().Done():
		case <-s.closed:
		}
		return
	}
	header, text := answer.render(call)
	if s.api.RequestID != "" {
		w.Header().Set(s.api.RequestID, call.ID)
	}
	s.mu.Lock()
	now := s.now
	s.mu.Unlock()
	if now != nil {
		w.Header().Set("Date", now().UTC().Format(http.TimeFormat))
	}
	maps.Copy(w.Header(), header)
	w.WriteHeader(answer.status)
	_, _ = w.Write(text)
}

// record notes a call, and returns the hook for it.
func (s *Server) record(call *Call, topic Topic) Hook {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	call.ID = "req_011C" + strconv.Itoa(1_000_000+s.asked)
	call.KeyRefused = s.key != "" && s.api.Key(call.Header) != s.key
	switch topic {
	case Text:
		s.calls = append(s.calls, *call)
		return s.hook
	case Model, Models:
		s.checks++
	case Nothing:
	}
	return nil
}

// answer decides on the answer to a call.
func (s *Server) answer(call Call, topic Topic, hook Hook) Answer {
	if topic != Nothing {
		if refused, ok := s.api.Refuse(call, topic); ok {
			return refused
		}
	}
	if hook != nil {
		if answer, ok := hook(call); ok {
			return answer
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var header http.Header
	if topic == Text && s.limit != nil {
		wait, left, full := s.limit.allow()
		if s.api.Left != nil {
			header = s.api.Left(s.limit.requests, left, full)
		}
		if wait > 0 {
			return s.api.Throttled(wait).withHeaders(header)
		}
	}
	queue := topic
	if topic == Models {
		queue = Model
	}
	if waiting := s.queues[queue]; len(waiting) > 0 {
		s.queues[queue] = waiting[1:]
		return waiting[0].withHeaders(header)
	}
	return s.api.Usual[topic].withHeaders(header)
}

// limit is a number of requests that are taken in any minute.
type limit struct {
	requests int
	now      func() time.Time
	taken    []time.Time // in the last minute, the oldest first
}

// allow counts a request, or says how long to wait with it; and how many are left, and until when all
// will be there again.
func (l *limit) allow() (wait time.Duration, left int, full time.Time) {
	now := l.now()
	for len(l.taken) > 0 && !l.taken[0].Add(time.Minute).After(now) {
		l.taken = l.taken[1:]
	}
	if len(l.taken) >= l.requests {
		wait = l.taken[0].Add(time.Minute).Sub(now)
	} else {
		l.taken = append(l.taken, now)
	}
	return wait, l.requests - len(l.taken), l.taken[len(l.taken)-1].Add(time.Minute)
}
