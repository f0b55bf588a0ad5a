// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	wire "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
)

// converseRaw answers with what talk writes to the connection; it returns when the client is gone.
func converseRaw(talk func(net.Conn)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		connection, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		defer func() { _ = connection.Close() }()
		talk(connection)
	}
}

// trickle writes a text byte by byte, much slower than the client waits, and then the rest: a client that
// waits for it as long as anything comes gets a whole answer.
func trickle(before, slow, after string) http.HandlerFunc {
	return converseRaw(func(connection net.Conn) {
		ticker := time.NewTicker(20 * time.Millisecond)
		defer ticker.Stop()
		_, _ = io.WriteString(connection, before)
		for i := range len(slow) {
			<-ticker.C
			if _, err := connection.Write([]byte{slow[i]}); err != nil {
				return
			}
		}
		_, _ = io.WriteString(connection, after)
	})
}

// R1.6: a server that gives a byte now and then does not hold the operator up longer than the time that
// the whole exchange has.
func TestServersThatTrickle(t *testing.T) {
	t.Parallel()
	const long = 1000
	for name, handler := range map[string]http.HandlerFunc{
		"its status":                trickle("HTTP/1.1 ", "200 "+strings.Repeat("O", long), "\r\nContent-Length: 0\r\n\r\n"),
		"its headers":               trickle("HTTP/1.1 200 OK\r\nX-Slow: ", strings.Repeat("x", long), "\r\nContent-Length: 0\r\n\r\n"),
		"its body":                  trickle(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", long), strings.Repeat("x", long), ""),
		"its chunks":                trickle("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", strings.Repeat("1\r\nx\r\n", long/6), "0\r\n\r\n"),
		"its trailer":               trickle("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Slow: ", strings.Repeat("x", long), "\r\n\r\n"),
		"the headers of a redirect": trickle("HTTP/1.1 301 Moved\r\nLocation: /", strings.Repeat("x", long), "\r\nContent-Length: 0\r\n\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, handler)
			response, err := localClient(t).Get(t.Context(), Request{URL: server.URL, Timeout: time.Second})
			wantOutcome(t, failed(t, response, err), outcome{v1alpha1.CategoryNetwork, failure.TypeTimeout, 0})
		})
	}
}

// R1.6: the reasons of a refusal are not worth more time than the exchange has, and its status is known.
func TestARefusalWhosePageTrickles(t *testing.T) {
	t.Parallel()
	server := serve(t, trickle("HTTP/1.1 403 Forbidden\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n",
		strings.Repeat("x", 980), "/cdn-cgi/challenge-platform/"))
	response, err := localClient(t).Get(t.Context(), Request{URL: server.URL, Timeout: time.Second})
	wantOutcome(t, failed(t, response, err), outcome{v1alpha1.CategoryAuth, failure.TypeHTTPStatus, 403})
}

// repeat writes a text for as long as somebody reads it, but not for ever.
func repeat(before, again string) http.HandlerFunc {
	return converseRaw(func(connection net.Conn) {
		_, _ = io.WriteString(connection, before)
		again := strings.Repeat(again, 1+(64<<10)/len(again))
		for range 1000 {
			if _, err := io.WriteString(connection, again); err != nil {
				return
			}
		}
	})
}

// R1.6
func TestAnswersThatAreNotHTTPAsItShouldBe(t *testing.T) {
	t.Parallel()
	malformed := outcome{v1alpha1.CategoryAPI, failure.TypeMalformed, 0}
	tooLarge := outcome{v1alpha1.CategoryValidation, failure.TypeTooLarge, 0}
	broken := outcome{v1alpha1.CategoryNetwork, failure.TypeConnection, 0}
	const notHTTP, headers = "it is not HTTP as it should be", "headers larger than 64 KiB"
	const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	for name, test := range map[string]struct {
		handler  http.HandlerFunc
		want     outcome
		wantText string
	}{
		"a header name with a control character":  {raw("HTTP/1.1 200 OK\r\nX-Ba\x00d: x\r\nContent-Length: 0\r\n\r\n"), malformed, notHTTP},
		"a header value with a control character": {raw("HTTP/1.1 200 OK\r\nX-Bad: a\x00b\r\nContent-Length: 0\r\n\r\n"), malformed, notHTTP},
		"a header without a name":                 {raw("HTTP/1.1 200 OK\r\n: x\r\nContent-Length: 0\r\n\r\n"), malformed, notHTTP},
		"a line that is no header":                {raw("HTTP/1.1 200 OK\r\nhello\r\n\r\n"), malformed, notHTTP},
		"a status that is no number":              {raw("HTTP/1.1 OK 200\r\n\r\n"), malformed, notHTTP},
		"two lengths":                             {raw("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"), malformed, notHTTP},
		"a negative length":                       {raw("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello"), malformed, notHTTP},
		"a length that no number holds":           {raw("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nhello"), malformed, notHTTP},
		"a length that no memory holds":           {raw("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nhello"), tooLarge, "limit of 10 MiB"},
		"a length that is not kept":               {raw("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nhello"), broken, "broke before the answer was complete"},
		"headers without end":                     {repeat("HTTP/1.1 200 OK\r\n", "X-More: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n"), malformed, headers},
		"one header without end":                  {repeat("HTTP/1.1 200 OK\r\nX-More: ", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"), malformed, headers},
		"a status without end":                    {repeat("HTTP/1.1 200 ", "OK"), malformed, headers},
		"early hints without end":                 {repeat("", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"), malformed, headers},
		"a request to continue, without end":      {repeat("", "HTTP/1.1 100 Continue\r\n\r\n"), malformed, headers},
		"a chunk whose length is no number":       {raw(chunked + "zz\r\nhello\r\n0\r\n\r\n"), malformed, notHTTP},
		"a chunk whose length no number holds":    {raw(chunked + "fffffffffffffffff\r\nhello"), malformed, notHTTP},
		"a negative chunk":                        {raw(chunked + "-1\r\nhello\r\n0\r\n\r\n"), malformed, notHTTP},
		"a chunk that is longer than it says":     {raw(chunked + "2\r\nhello\r\n0\r\n\r\n"), malformed, notHTTP},
		"chunks that stop":                        {raw(chunked + "5\r\nhello\r\n"), broken, "broke before the answer was complete"},
		"a chunk that stops":                      {raw(chunked + "5\r\nhel"), broken, "broke before the answer was complete"},
		"chunks without end":                      {repeat(chunked, "1000\r\n"+strings.Repeat("x", 0x1000)+"\r\n"), tooLarge, "limit of 10 MiB"},
		"chunks that are mostly frame":            {repeat(chunked, "1;"+strings.Repeat("x", 200)+"\r\nx\r\n"), malformed, notHTTP},
		"a chunk's frame without end":             {repeat(chunked+"1;", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxx"), malformed, notHTTP},
		"a trailer without end":                   {repeat(chunked+"0\r\n", "X-More: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n"), malformed, notHTTP},
		"a change of protocol":                    {raw("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"), outcome{v1alpha1.CategoryUnknown, failure.TypeHTTPStatus, 101}, "answered 101"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, test.handler)
			response, err := localClient(t).Get(t.Context(), Request{URL: server.URL, Timeout: 5 * time.Minute})
			got := failed(t, response, err)
			wantOutcome(t, got, test.want)
			if !strings.Contains(got.Error(), test.wantText) || !strings.Contains(got.Error(), "127.0.0.1") {
				t.Errorf("message %q, want %q and the host in it", got, test.wantText)
			}
		})
	}
}

// R1.6: what is odd and yet complete is read.
func TestAnswersThatAreOddAndYetComplete(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"some early hints":          strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", 20) + "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		"neither length nor chunks": "HTTP/1.0 200 OK\r\n\r\nhello",
		"more than its length":      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello, and more",
		"bytes that are no text":    "HTTP/1.1 200 OK\r\nETag: \"\xff\xfe\"\r\nContent-Length: 5\r\n\r\nhello",
		"a status without words":    "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello",
		"an extension of a chunk":   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, raw(answer))
			response, err := localClient(t).Get(t.Context(), Request{URL: server.URL})
			if err != nil || string(response.Body) != "hello" {
				t.Errorf("got %+v, %v", response, err)
			}
		})
	}
}

// R1.6
func TestAConnectionThatIsResetInTheMiddle(t *testing.T) {
	t.Parallel()
	for _, p := range protocols {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			server, client := speak(t, p, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Length", "1000000")
				_, _ = w.Write(make([]byte, 1000))
				_ = http.NewResponseController(w).Flush()
				reset(r)
			})
			response, err := client.Get(t.Context(), Request{URL: server.URL})
			got := failed(t, response, err)
			wantOutcome(t, got, outcome{v1alpha1.CategoryNetwork, failure.TypeConnection, 0})
		})
	}
}

// R1.6: whatever frames of HTTP/2 a server sends, the request ends, with a failure that is not blamed on
// the person.
func TestServersThatSpeakHTTP2Oddly(t *testing.T) {
	t.Parallel()
	fields := func(pairs ...string) []byte {
		var block strings.Builder
		encoder := hpack.NewEncoder(&block)
		for i := 0; i+1 < len(pairs); i += 2 {
			_ = encoder.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
		}
		return []byte(block.String())
	}
	network, api := v1alpha1.CategoryNetwork, v1alpha1.CategoryAPI
	for name, test := range map[string]struct {
		// answer answers the stream of the request.
		answer func(framer *wire.Framer, stream uint32) error
		want   []v1alpha1.Category
	}{
		"headers without end": {func(framer *wire.Framer, stream uint32) error {
			if err := framer.WriteHeaders(wire.HeadersFrameParam{StreamID: stream, BlockFragment: fields(":status", "200")}); err != nil {
				return err
			}
			for range 10_000 {
				if err := framer.WriteContinuation(stream, false, fields("x-more", strings.Repeat("x", 1000))); err != nil {
					return err
				}
			}
			return nil
		}, []v1alpha1.Category{api, network}},
		"headers that are larger than their frames": {func(framer *wire.Framer, stream uint32) error {
			pairs := []string{":status", "200"}
			for i := range 1000 {
				pairs = append(pairs, fmt.Sprintf("x-%d", i), strings.Repeat("x", 14))
			}
			return framer.WriteHeaders(wire.HeadersFrameParam{StreamID: stream, BlockFragment: fields(pairs...)[:16000], EndHeaders: true})
		}, []v1alpha1.Category{api, network}},
		"early hints without end": {func(framer *wire.Framer, stream uint32) error {
			for range 10_000 {
				err := framer.WriteHeaders(wire.HeadersFrameParam{StreamID: stream, BlockFragment: fields(":status", "103", "link", strings.Repeat("x", 100)), EndHeaders: true})
				if err != nil {
					return err
				}
			}
			return nil
		}, []v1alpha1.Category{api, network}},
		"headers without a status": {func(framer *wire.Framer, stream uint32) error {
			return framer.WriteHeaders(wire.HeadersFrameParam{StreamID: stream, BlockFragment: fields("x-a", "b"), EndHeaders: true, EndStream: true})
		}, []v1alpha1.Category{api, network}},
		"headers in capitals": {func(framer *wire.Framer, stream uint32) error {
			return framer.WriteHeaders(wire.HeadersFrameParam{StreamID: stream, BlockFragment: fields(":status", "200", "X-A", "b"), EndHeaders: true, EndStream: true})
		}, []v1alpha1.Category{api, network}},
		"a body before its headers": {func(framer *wire.Framer, stream uint32) error {
			return framer.WriteData(stream, true, []byte("hello"))
		}, []v1alpha1.Category{api, network}},
		"a body on a stream that nobody opened": {func(framer *wire.Framer, stream uint32) error {
			return framer.WriteData(stream+2, true, []byte("hello"))
		}, []v1alpha1.Category{api, network}},
		"a promise that nobody wanted": {func(framer *wire.Framer, stream uint32) error {
			return framer.WritePushPromise(wire.PushPromiseParam{StreamID: stream, PromiseID: 2, BlockFragment: fields(":method", "GET"), EndHeaders: true})
		}, []v1alpha1.Category{api, network}},
		"a body that is larger than its window": {func(framer *wire.Framer, stream uint32) error {
			if err := framer.WriteHeaders(wire.HeadersFrameParam{StreamID: stream, BlockFragment: fields(":status", "200"), EndHeaders: true}); err != nil {
				return err
			}
			for range 10_000 {
				if err := framer.WriteData(stream, false, make([]byte, 16<<10)); err != nil {
					return err
				}
			}
			return nil
		}, []v1alpha1.Category{api, network, v1alpha1.CategoryValidation}},
		"a body that is shorter than its length": {func(framer *wire.Framer, stream uint32) error {
			if err := framer.WriteHeaders(wire.HeadersFrameParam{StreamID: stream, BlockFragment: fields(":status", "200", "content-length", "100"), EndHeaders: true}); err != nil {
				return err
			}
			return framer.WriteData(stream, true, []byte("hello"))
		}, []v1alpha1.Category{network}},
		"a stream that is cancelled in the middle": {func(framer *wire.Framer, stream uint32) error {
			if err := framer.WriteHeaders(wire.HeadersFrameParam{StreamID: stream, BlockFragment: fields(":status", "200"), EndHeaders: true}); err != nil {
				return err
			}
			return framer.WriteRSTStream(stream, wire.ErrCodeInternal)
		}, []v1alpha1.Category{network}},
		"a farewell": {func(framer *wire.Framer, stream uint32) error {
			return framer.WriteGoAway(stream, wire.ErrCodeEnhanceYourCalm, []byte("calm down"))
		}, []v1alpha1.Category{network}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, client := speakFrames(t, func(framer *wire.Framer, frame wire.Frame) bool {
				headers, ok := frame.(*wire.HeadersFrame)
				if !ok {
					return true
				}
				framer.AllowIllegalWrites = true
				_ = test.answer(framer, headers.StreamID)
				return false // hangs up
			})
			response, err := client.Get(t.Context(), Request{URL: url})
			got := failed(t, response, err)
			if !slices.Contains(test.want, got.Category) {
				t.Errorf("%s %s: %v", got.Category, got.Type, got)
			}
		})
	}
}
