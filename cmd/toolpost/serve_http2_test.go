package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// TestUnreadHTTP2Connections: an HTTP/2 client with an unlimited window that does not read its connection is
// disconnected after write_timeout, and its upstream request is cancelled.
func TestUnreadHTTP2Connections(t *testing.T) {
	left := make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		defer close(left)
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for err := error(nil); err == nil && r.Context().Err() == nil; {
			_, err = fmt.Fprintf(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":%q},"finish_reason":null}]}`+"\n\n", strings.Repeat("x", 16<<10))
		}
	}))
	t.Cleanup(upstream.Close)
	url, _, _ := servedAt(t, "providers:\n  up: {base_url: '"+upstream.URL+"/v1', wire: chat}\ngateway:\n  addr: 127.0.0.1:0\n  write_timeout: 1s\n  drain: 1s\n  routes:\n    - {model: m, to: [{model: up/m, tools: native}]}\n")
	host := strings.TrimPrefix(url, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const most = 1<<31 - 1
	_, err = io.WriteString(conn, http2.ClientPreface)
	var head bytes.Buffer
	enc, f := hpack.NewEncoder(&head), http2.NewFramer(conn, conn)
	for _, field := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", "/v1/chat/completions"}, {":authority", host}, {"content-type", "application/json"}} {
		err = errors.Join(err, enc.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}))
	}
	if err = errors.Join(err, f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: most}), f.WriteWindowUpdate(0, most-1<<16),
		f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: head.Bytes(), EndHeaders: true}),
		f.WriteData(1, true, []byte(`{"model":"m","stream":true,"messages":[{"role":"user","content":"Talk."}]}`))); err != nil {
		t.Fatal(err)
	}
	select {
	case <-left:
	case <-time.After(20 * time.Second):
		t.Error("the upstream still answers")
	}
}
