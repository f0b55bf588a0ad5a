// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/openaitest"
	"github.com/feed-operator/feed-operator/internal/provider/modelapi"
	"github.com/feed-operator/feed-operator/internal/providertest"
)

// asked is what a server was asked with.
type asked struct {
	MaxTokens, MaxCompletionTokens int
	Format                         string
	Temperature                    bool
	FormInWords                    bool
}

func askedIn(call openaitest.Call) asked {
	read := openaitest.ParametersOf(call)
	return asked{read.MaxTokens, read.MaxCompletionTokens, read.ResponseFormat.Type, read.Temperature != nil, strings.Contains(call.System, "JSON Schema")}
}

// asOpenAI sends what is for OpenAI to a server of the test.
type asOpenAI struct {
	to   string
	next http.RoundTripper
}

func (a asOpenAI) RoundTrip(request *http.Request) (*http.Response, error) {
	to, err := url.Parse(a.to)
	if err != nil {
		return nil, err
	}
	out := request.Clone(request.Context())
	out.URL.Scheme, out.URL.Host, out.Host = to.Scheme, to.Host, to.Host
	return a.next.RoundTrip(out)
}

// fromOpenAI lets a provider take the server that it is to ask for OpenAI's own.
func fromOpenAI(cfg Config) Config {
	cfg.Transport, cfg.Endpoint = asOpenAI{cfg.Endpoint, cfg.Transport}, ""
	return cfg
}

func newOpenAI(t *testing.T, server *openaitest.Server) *Provider {
	t.Helper()
	p, err := New(fromOpenAI(subject.Config(server.URL)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestServersAreAskedInTheirDialect(t *testing.T) {
	t.Parallel()
	openAI, own := subject.Serve(t), subject.Serve(t)
	for _, p := range []*Provider{newOpenAI(t, openAI), subject.Client(t, own.URL)} {
		if _, err := p.Generate(t.Context(), providertest.Screened()); err != nil {
			t.Fatalf("Generate: %v", err)
		}
		if err := p.Check(t.Context()); err != nil {
			t.Fatalf("Check: %v", err)
		}
	}
	if diff := cmp.Diff(asked{MaxCompletionTokens: modelapi.OutputTokens, Format: "json_schema"}, askedIn(openAI.Calls()[0])); diff != "" {
		t.Errorf("OpenAI was asked with (-want +got):\n%s", diff)
	}
	want := asked{MaxTokens: modelapi.OutputTokens, Format: "json_schema", Temperature: true, FormInWords: true}
	if diff := cmp.Diff(want, askedIn(own.Calls()[0])); diff != "" {
		t.Errorf("a server of one's own was asked with (-want +got):\n%s", diff)
	}
}

func TestDialectOf(t *testing.T) {
	t.Parallel()
	for endpoint, want := range map[string]string{
		DefaultEndpoint: paramMaxCompletionTokens, "https://eu.api.openai.com/v1": paramMaxCompletionTokens, "https://API.OpenAI.com:443/v1": paramMaxCompletionTokens,
		"https://press.openai.azure.com/openai/v1": paramMaxCompletionTokens,
		"http://localhost:11434/v1":                paramMaxTokens, "https://api.openai.com.example.org/v1": paramMaxTokens, "https://notapi.openai.com.evil/v1": paramMaxTokens,
	} {
		parsed, err := url.Parse(endpoint)
		if err != nil {
			t.Fatal(err)
		}
		if got := dialectOf(parsed).limits[0]; got != want {
			t.Errorf("%s is asked with %s", endpoint, got)
		}
	}
}

// The schema is in the subset that OpenAI takes as strict: all is required, and there is nothing else.
func TestTheSchemaIsStrict(t *testing.T) {
	t.Parallel()
	server := subject.Serve(t)
	if _, err := subject.Client(t, server.URL).Generate(t.Context(), providertest.Screened()); err != nil {
		t.Fatalf("Generate: %v", err)
	}
	var body struct {
		ResponseFormat json.RawMessage `json:"response_format"`
		Stream         any             `json:"stream"`
	}
	if err := json.Unmarshal(server.Calls()[0].Body, &body); err != nil {
		t.Fatal(err)
	}
	const want = `{"json_schema":{"name":"summary","schema":{"additionalProperties":false,"properties":{` +
		`"screening":{"additionalProperties":false,"description":"The judgement of the article.","properties":{` +
		`"complete":{"description":"Whether the article itself is there.","type":"boolean"},` +
		`"explanation":{"description":"Why, in one sentence.","type":"string"},` +
		`"valuable":{"description":"Whether the article meets the criteria.","type":"boolean"}},` +
		`"required":["complete","explanation","valuable"],"type":"object"},` +
		`"summary":{"description":"The summary. Empty if the article is not complete or not valuable.","type":"string"}},` +
		`"required":["screening","summary"],"type":"object"},"strict":true},"type":"json_schema"}`
	var got, wanted any
	if err := json.Unmarshal(body.ResponseFormat, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wanted, got); diff != "" || body.Stream != nil {
		t.Errorf("response_format (-want +got):\n%s", diff)
	}
}

func TestWhatAServerRefusesIsLeftOut(t *testing.T) {
	t.Parallel()
	extra := func(name string) openaitest.Answer { // vLLM before 0.6
		return jsonBody(400, `{"object":"error","message":"[{'type': 'extra_forbidden', 'loc': ('body', '`+name+
			`'), 'msg': 'Extra inputs are not permitted', 'input': 1}]","type":"BadRequestError","param":null,"code":400}`)
	}
	detail := func(name string) openaitest.Answer { // FastAPI
		return jsonBody(422, `{"detail":[{"type":"extra_forbidden","loc":["body","`+name+`"],"msg":"Extra inputs are not permitted"}]}`)
	}
	complains := func(message string) openaitest.Answer {
		return openaitest.Error(400, invalid, "", message)
	}
	all := asked{MaxTokens: modelapi.OutputTokens, Format: "json_schema", Temperature: true, FormInWords: true}
	with := func(change func(*asked)) asked { a := all; change(&a); return a }
	for name, test := range map[string]struct {
		answers []openaitest.Answer
		want    asked
	}{
		"a gateway to OpenAI wants the newer limit": {
			[]openaitest.Answer{openaitest.Unsupported("max_tokens", "Use 'max_completion_tokens' instead.")},
			with(func(a *asked) { a.MaxTokens, a.MaxCompletionTokens = 0, modelapi.OutputTokens }),
		},
		"a server without any limit": {
			[]openaitest.Answer{detail("max_tokens"), extra("max_completion_tokens")},
			with(func(a *asked) { a.MaxTokens = 0 }),
		},
		"a model with less room": {
			[]openaitest.Answer{jsonBody(400, `{"error":{"message":"max_tokens is too large: 8192. This model supports at most 4096 completion tokens.","param":"max_tokens","code":"invalid_value"}}`)},
			with(func(a *asked) { a.MaxTokens = 0 }),
		},
		"a context that is used up by the room": {
			[]openaitest.Answer{complains("This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (808 in the messages, 8192 in the completion).")},
			with(func(a *asked) { a.MaxTokens = 0 }),
		},
		"a temperature of its own": {
			[]openaitest.Answer{jsonBody(400, `{"error":{"message":"Unsupported value: 'temperature' does not support 0.2 with this model.","param":"temperature","code":"unsupported_value"}}`)},
			with(func(a *asked) { a.Temperature = false }),
		},
		"JSON, but no schema": {
			[]openaitest.Answer{complains("This response_format type is unavailable now")},
			with(func(a *asked) { a.Format = "json_object" }),
		},
		"no format at all": {
			[]openaitest.Answer{extra("response_format"), detail("response_format")},
			with(func(a *asked) { a.Format = "" }),
		},
		"a part of the format": {
			[]openaitest.Answer{jsonBody(400, `{"error":{"message":"Unknown.","param":"response_format.json_schema.strict"}}`)},
			with(func(a *asked) { a.Format = "json_object" }),
		},
		"a grammar that cannot be made": {
			[]openaitest.Answer{complains("failed to parse grammar")},
			with(func(a *asked) { a.Format = "json_object" }),
		},
		"one thing after the other": {
			[]openaitest.Answer{extra("temperature"), extra("response_format"), extra("response_format"), extra("max_tokens"), extra("max_completion_tokens")},
			asked{FormInWords: true},
		},
		"all at once": {
			[]openaitest.Answer{complains("Unknown: temperature, response_format, max_tokens.")},
			asked{MaxCompletionTokens: modelapi.OutputTokens, Format: "json_object", FormInWords: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := subject.Serve(t)
			server.Next(test.answers...)
			p := subject.Client(t, server.URL)
			for round := range 2 { // what was refused is remembered
				response, err := p.Generate(t.Context(), providertest.Screened())
				if err != nil || response.Summary == "" || response.Verdict == nil {
					t.Fatalf("Generate: %+v, %v", response, err)
				}
				calls := server.Calls()
				if len(calls) != len(test.answers)+1+round {
					t.Errorf("%d calls for %d refusals in round %d", len(calls), len(test.answers), round)
				}
				if diff := cmp.Diff(test.want, askedIn(calls[len(calls)-1])); diff != "" {
					t.Errorf("asked with (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// OpenAI shows a model the schema; where that is refused, the form has to stand in the prompt.
func TestTheFormIsInWordsWhereTheSchemaIsRefused(t *testing.T) {
	t.Parallel()
	server := subject.Serve(t)
	server.Next(openaitest.Error(400, invalid, "", "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."))
	if _, err := newOpenAI(t, server).Generate(t.Context(), providertest.Screened()); err != nil {
		t.Fatalf("Generate: %v", err)
	}
	want := asked{MaxCompletionTokens: modelapi.OutputTokens, Format: "json_object", FormInWords: true}
	if diff := cmp.Diff(want, askedIn(server.Calls()[1])); diff != "" {
		t.Errorf("asked with (-want +got):\n%s", diff)
	}
}

func TestAServerThatRefusesForEverIsLeftAlone(t *testing.T) {
	t.Parallel()
	server := subject.Serve(t)
	server.OnCall(func(openaitest.Call) (openaitest.Answer, bool) {
		return openaitest.Error(400, invalid, "", "I take no temperature, no response_format, no max_tokens."), true
	})
	_, err := subject.Client(t, server.URL).Generate(t.Context(), providertest.Article())
	if got := providertest.Failed(t, err); got.Type != "InvalidRequest" || len(server.Calls()) != 3 {
		t.Errorf("%d calls, then %s: %v", len(server.Calls()), got.Type, got)
	}
}

func TestCallsAtOnceLearnTogether(t *testing.T) {
	t.Parallel()
	server := subject.Serve(t)
	server.OnCall(func(call openaitest.Call) (openaitest.Answer, bool) {
		switch read := openaitest.ParametersOf(call); {
		case read.Temperature != nil:
			return openaitest.Unsupported("temperature", ""), true
		case read.MaxTokens > 0:
			return openaitest.Unsupported("max_tokens", ""), true
		}
		return openaitest.Answer{}, false
	})
	p := subject.Client(t, server.URL)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if _, err := p.Generate(t.Context(), providertest.Article()); err != nil {
				t.Errorf("Generate: %v", err)
			}
		})
	}
	group.Wait()
	before := len(server.Calls())
	if _, err := p.Generate(t.Context(), providertest.Article()); err != nil || len(server.Calls()) != before+1 {
		t.Errorf("%d calls more: %v", len(server.Calls())-before, err)
	}
}

// Ollama's own answers, as its Chat Completions API has them.
func TestOllama(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Header.Get("Authorization") != "" || strings.Contains(string(body), "max_completion_tokens"):
			w.WriteHeader(http.StatusTeapot)
		case strings.Contains(string(body), `"missing"`) || strings.HasSuffix(r.URL.Path, "/missing"):
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"error":{"message":"model 'missing' not found","type":"api_error","param":null,"code":null}}`)
		case r.Method == http.MethodGet:
			_, _ = io.WriteString(w, `{"id":"llama3.2:3b","object":"model","created":1754000000,"owned_by":"library"}`)
		default:
			_, _ = io.WriteString(w, `{"id":"chatcmpl-801","object":"chat.completion","created":1754000000,"model":"llama3.2:3b","system_fingerprint":"fp_ollama",`+
				`"choices":[{"index":0,"message":{"role":"assistant","content":"{ \"summary\": \"The council met.\" }"},"finish_reason":"stop"}],`+
				`"usage":{"prompt_tokens":400,"completion_tokens":11,"total_tokens":411}}`)
		}
	}))
	t.Cleanup(server.Close)
	for _, name := range []string{"llama3.2:3b", "missing"} {
		p, err := New(Config{Model: name, Endpoint: server.URL + "/v1", Transport: providertest.WayOut()})
		if err != nil {
			t.Fatal(err)
		}
		response, err := p.Generate(t.Context(), providertest.Article())
		checked := p.Check(t.Context())
		if name == "missing" {
			if got, asked := providertest.Failed(t, err), providertest.Failed(t, checked); got.Type != failure.TypeModelNotFound || asked.Type != failure.TypeModelNotFound {
				t.Errorf("failures are %v and %v", got, asked)
			}
			continue
		}
		if err != nil || checked != nil || response.Summary != "The council met." || response.Tokens != 411 || response.Model != name {
			t.Errorf("response %+v, %v; check: %v", response, err, checked)
		}
	}
}
