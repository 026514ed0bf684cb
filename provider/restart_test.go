package provider_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

// A server that could not be reached is asked again what it can do: it may have been started with another model.
func TestARestartedServerIsAskedAgain(t *testing.T) {
	var tools atomic.Bool
	tools.Store(true)
	var asked atomic.Value
	serve := func(address string) (string, func()) {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			switch {
			case r.URL.Path == "/props" && tools.Load():
				io.WriteString(w, `{"model_path":"/m/qwen3-8b.gguf","chat_template_caps":{"supports_tools":true}}`)
			case r.URL.Path == "/props":
				io.WriteString(w, `{"model_path":"/m/qwen3-8b.gguf","chat_template_caps":{"supports_tools":false}}`)
			case strings.HasSuffix(r.URL.Path, "/chat/completions"):
				asked.Store(string(body))
				io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"."},"finish_reason":"stop"}]}`)
			default:
				http.NotFound(w, r)
			}
		})}
		go s.Serve(l)
		return l.Addr().String(), func() { s.Close() }
	}
	address, stop := serve("127.0.0.1:0")
	client := &provider.Client{Whole: true, Retry: provider.RetryPolicy{Attempts: 1, Initial: time.Millisecond}}
	m := open(t, client, "http://"+address+"/v1#m")
	native := func() (bool, error) {
		_, err := llm.Generate(t.Context(), m, &llm.Request{Messages: []llm.Message{llm.User("Weather in Rome?")}, Tools: []llm.ToolDef{weather}})
		body, _ := asked.Load().(string)
		return strings.Contains(body, `"tools":[`), err
	}
	if is, err := native(); !is || err != nil {
		t.Fatalf("tools are not offered to a server that has them: %v", err)
	}
	stop()
	if _, err := native(); llm.KindOf(err) != llm.Network {
		t.Fatalf("nobody is there: %v", err)
	}
	tools.Store(false)
	_, stop = serve(address)
	defer stop()
	if is, err := native(); is || err != nil {
		t.Errorf("tools are offered to a server that was started again without them: %v", err)
	}
}
