package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// upstreamVar makes the program the upstream.
const upstreamVar = "LOAD_UPSTREAM"

// serveUpstream serves models in the chat format: the model "slow" sends a word now and then, all others call a tool.
func serveUpstream() {
	every, _ := time.ParseDuration(os.Getenv("LOAD_EVERY"))
	last, _ := time.ParseDuration(os.Getenv("LOAD_FOR"))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("http://%s\n", listener.Addr())
	call := callStream()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		if !strings.Contains(string(body), `"slow"`) {
			for _, event := range call {
				_, _ = io.WriteString(w, event)
				w.(http.Flusher).Flush()
			}
			return
		}
		for end := time.Now().Add(last); time.Now().Before(end); {
			_, _ = io.WriteString(w, chunk(`{"content":"word "}`, "null"))
			w.(http.Flusher).Flush()
			select {
			case <-time.After(every):
			case <-r.Context().Done():
				return
			}
		}
		_, _ = io.WriteString(w, chunk(`{}`, `"stop"`)+"data: [DONE]\n\n")
	})
	_ = http.Serve(listener, handler)
}

// callStream is an answer of 21 events with one call.
func callStream() []string {
	events := []string{chunk(`{"role":"assistant","tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"get_weather","arguments":""}}]}`, "null")}
	args := `{"city":"Rome","days":3,"unit":"celsius"}`
	const pieces = 18
	for i := range pieces {
		piece := args[i*len(args)/pieces : (i+1)*len(args)/pieces]
		events = append(events, chunk(fmt.Sprintf(`{"tool_calls":[{"index":0,"function":{"arguments":%q}}]}`, piece), "null"))
	}
	return append(events, chunk(`{}`, `"tool_calls"`), "data: [DONE]\n\n")
}

// chunk is an event of a stream.
func chunk(delta, finish string) string {
	return `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1790000000,"model":"m","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + "}]}\n\n"
}
