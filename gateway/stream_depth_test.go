package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// stackWriter is a client connection that notes the stack of the write with a given word.
type stackWriter struct {
	http.ResponseWriter
	word  string
	stack []string // functions of this module, the caller first
}

func (w *stackWriter) Write(b []byte) (int, error) {
	if w.stack == nil && strings.Contains(string(b), w.word) {
		pcs := make([]uintptr, 512)
		frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
		for more := true; more; {
			var f runtime.Frame
			if f, more = frames.Next(); strings.HasPrefix(f.Function, "github.com/toolpost/toolpost/") {
				w.stack = append(w.stack, strings.TrimPrefix(f.Function, "github.com/toolpost/toolpost/"))
			}
		}
		slices.Reverse(w.stack)
	}
	return w.ResponseWriter.Write(b)
}

func (w *stackWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// areaOf returns the area of a function: gateway, wire, provider or emulate, with the packages below it.
func areaOf(function string) string {
	area, _, _ := strings.Cut(strings.TrimPrefix(function, "internal/"), "/")
	area, _, _ = strings.Cut(area, ".")
	return strings.TrimSuffix(area, "_test")
}

// TestAreasOfATranslatedCall counts how often a translated call changes from one area of the program to another, between
// the client's request and the bytes for the client. All of this is on the stack while the stream is open.
func TestAreasOfATranslatedCall(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		add := func(delta, finish string) {
			fmt.Fprintf(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`+"\n\n", delta, finish)
		}
		add(`{"role":"assistant","tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"get_weather","arguments":""}}]}`, "null")
		add(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":\"Rome\"}"}}]}`, "null")
		add(`{}`, `"tool_calls"`)
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}))
	defer upstream.Close()
	c := &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: upstream.URL + "/v1", Wires: []string{wire.Chat}}}, Route: provider.Native}
	g, err := gateway.New(gateway.Setup{Open: opening(c), Routes: []gateway.ModelRoute{to("*", "up/*")}})
	if err != nil {
		t.Fatal(err)
	}
	w := &stackWriter{ResponseWriter: httptest.NewRecorder(), word: "get_weather"}
	g.ServeHTTP(w, httptest.NewRequest("POST", "/v1/messages", strings.NewReader(`{"model":"m","stream":true,"max_tokens":99,
		"messages":[{"role":"user","content":"Weather in Rome?"}],
		"tools":[{"name":"get_weather","input_schema":{"type":"object","properties":{"city":{"type":"string"}}}}]}`)))
	var path []string
	for _, f := range w.stack {
		if area := areaOf(f); len(path) == 0 || path[len(path)-1] != area {
			path = append(path, area)
		}
	}
	t.Logf("%d functions: %s", len(w.stack), strings.Join(path, " > "))
	if want := "gateway provider wire provider emulate gateway wire gateway"; strings.Join(path, " ") != want || len(w.stack) > 50 {
		t.Errorf("a call passes %d functions of %v, and should pass at most 50 of %s:\n%s", len(w.stack), path, want, strings.Join(w.stack, "\n"))
	}
}
