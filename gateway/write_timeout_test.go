package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/internal/passthrough"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// overHTTP2 serves a gateway over HTTP/1 and HTTP/2, without TLS.
func overHTTP2(t *testing.T, c gateway.Setup) (host string) {
	t.Helper()
	g, err := gateway.New(c)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(g)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// unreadOverHTTP2 sends a request over HTTP/2, does not read the answer, and returns the frame that ends the stream.
func unreadOverHTTP2(t *testing.T, host, path, body string) (*http2.RSTStreamFrame, error) {
	t.Helper()
	return unreadOverHTTP2With(t, host, "POST", path, body, "content-type", "application/json")
}

// unreadOverHTTP2With is unreadOverHTTP2 with another method and header.
func unreadOverHTTP2With(t *testing.T, host, method, path, body, header, value string) (*http2.RSTStreamFrame, error) {
	t.Helper()
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(2 * time.Minute))
	_, err = io.WriteString(conn, http2.ClientPreface)
	var head bytes.Buffer
	enc, f := hpack.NewEncoder(&head), http2.NewFramer(conn, conn)
	for _, field := range [][2]string{{":method", method}, {":scheme", "http"}, {":path", path}, {":authority", host}, {header, value}} {
		err = errors.Join(err, enc.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}))
	}
	err = errors.Join(err, f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}),
		f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: head.Bytes(), EndHeaders: true}), f.WriteData(1, true, []byte(body)))
	for err == nil {
		var frame http2.Frame
		if frame, err = f.ReadFrame(); err == nil {
			if reset, is := frame.(*http2.RSTStreamFrame); is {
				return reset, nil
			}
		}
	}
	return nil, err
}

// TestUnreadAnswerOverHTTP2 checks that an HTTP/2 client that does not read its answer is disconnected after the time limit,
// on every path of an answer, and that other requests are still answered.
func TestUnreadAnswerOverHTTP2(t *testing.T) {
	long := strings.Repeat("word ", 20_000)
	words := func(text string, often int) llm.Model {
		return llm.ModelFunc(func(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Event, error] {
			return func(yield func(llm.Event, error) bool) {
				for i := 0; i < often && ctx.Err() == nil; i++ {
					if !yield(llm.TextDelta{Text: text}, nil) {
						return
					}
				}
				yield(llm.Finish{Reason: llm.Stop}, ctx.Err())
			}
		})
	}
	embeds := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"object":"list","data":[],"text":%q}`, long)
	})
	const endless = 1 << 30
	for name, test := range map[string]struct {
		model      llm.Model // nil forwards the request
		relay      bool
		path, body string
	}{
		"a stream":                 {words("word ", endless), false, "/v1/chat/completions", `"stream":true,"messages":[{"role":"user","content":"hi"}]`},
		"a short stream":           {words("word ", 1), false, "/v1/chat/completions", `"stream":true,"messages":[{"role":"user","content":"hi"}]`},
		"one piece":                {words(long, 1), false, "/v1/chat/completions", `"messages":[{"role":"user","content":"hi"}]`},
		"a short piece":            {words("word", 1), false, "/v1/chat/completions", `"messages":[{"role":"user","content":"hi"}]`},
		"a stream that is relayed": {words("word ", endless), true, "/v1/chat/completions", `"stream":true,"messages":[{"role":"user","content":"hi"}]`},
		"a piece that is relayed":  {words(long, 1), true, "/v1/chat/completions", `"messages":[{"role":"user","content":"hi"}]`},
		"another endpoint":         {nil, false, "/v1/embeddings", `"input":"hi"`},
		"an error":                 {words("word", 1), false, "/v1/chat/completions", `"messages":7`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := gateway.Setup{WriteTime: 200 * time.Millisecond, MaxRequests: 1, Routes: []gateway.ModelRoute{to("m", "up/m")}}
			if c.Open = func(string, gateway.Way) (llm.Model, error) { return test.model, nil }; test.relay || test.model == nil {
				handler := http.Handler(embeds)
				if test.relay {
					handler = speaker{test.model}
				}
				up := httptest.NewServer(handler)
				t.Cleanup(up.Close)
				client := &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL + "/v1", Wires: []string{wire.Chat}}}, Route: provider.Native}
				c.Open, c.Forward, c.Routes[0].Pass = opening(client), client.Forwarder, passthrough.Kinds()
			}
			host := overHTTP2(t, c)
			if reset, err := unreadOverHTTP2(t, host, test.path, `{"model":"m",`+test.body+`}`); err != nil || reset.StreamID != 1 {
				t.Fatalf("the stream is not ended: %v, %v", reset, err)
			}
			for end := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
				resp, _ := send(t, "GET", "http://"+host+"/v1/models", "", "")
				if resp.StatusCode == http.StatusOK {
					return
				}
				if time.Now().After(end) {
					t.Fatalf("others get %s", resp.Status)
				}
			}
		})
	}
}

// TestSilentUpstreamIsNoSlowReader checks that an answer that is silent for longer than the read limit continues, in both
// protocols, and that the connection then serves another request.
func TestSilentUpstreamIsNoSlowReader(t *testing.T) {
	const limit = 150 * time.Millisecond
	open := func(string, gateway.Way) (llm.Model, error) {
		return llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
			return func(yield func(llm.Event, error) bool) {
				for _, word := range []string{"One ", "two."} {
					if !yield(llm.TextDelta{Text: word}, nil) {
						return
					}
					time.Sleep(2 * limit)
				}
				yield(llm.Finish{Reason: llm.Stop}, nil)
			}
		}), nil
	}
	host := overHTTP2(t, gateway.Setup{Open: open, WriteTime: limit, KeepAlive: -1, Routes: []gateway.ModelRoute{to("m", "m")}})
	for _, major := range []int{1, 2} {
		t.Run(fmt.Sprintf("HTTP/%d", major), func(t *testing.T) {
			t.Parallel()
			transport := &http.Transport{Protocols: new(http.Protocols), MaxConnsPerHost: 1}
			transport.Protocols.SetHTTP1(major == 1)
			transport.Protocols.SetUnencryptedHTTP2(major == 2)
			defer transport.CloseIdleConnections()
			for _, stream := range []string{"true", "false", "true"} {
				resp, err := (&http.Client{Transport: transport}).Post("http://"+host+"/v1/chat/completions", "application/json",
					strings.NewReader(`{"model":"m","stream":`+stream+`,"messages":[{"role":"user","content":"hi"}]}`))
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || resp.ProtoMajor != major || !strings.Contains(string(text), "two.") || stream == "true" && !strings.Contains(string(text), "[DONE]") {
					t.Errorf("%s, stream %s: %s %v", resp.Proto, stream, text, err)
				}
				time.Sleep(2 * limit)
			}
		})
	}
}
