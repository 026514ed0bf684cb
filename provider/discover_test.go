package provider_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// server answers metadata from a table and questions with a call's arguments.
// It records what it was asked.
type server struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string // method and path of every request
	keys  []string // headers that could carry a key
	last  string   // the body of the last question
	// answer is the text of every answer.
	answer string
}

func newServer(t *testing.T, pages map[string]string) *server {
	t.Helper()
	s := &server{answer: `{"city": "Rome"}`}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asked = append(s.asked, r.Method+" "+r.URL.Path)
		page, known := pages[r.URL.Path]
		switch {
		case known:
			s.keys = append(s.keys, r.Header.Get("Authorization")+r.Header.Get("X-Api-Key"))
			fmt.Fprint(w, page)
		case strings.HasSuffix(r.URL.Path, "/chat/completions"):
			s.last = string(body)
			fmt.Fprintf(w, `{"choices":[{"message":{"role":"assistant","content":%q},"finish_reason":"stop"}]}`, s.answer)
		case strings.HasSuffix(r.URL.Path, "/api/chat"):
			s.last = string(body)
			fmt.Fprintf(w, `{"message":{"role":"assistant","content":%q},"done":true,"done_reason":"stop"}`, s.answer)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

const smallProps = `{"model_path":"/models/SmolLM2-135M-Instruct.Q4_1.gguf","chat_template":"{{ messages }}","chat_template_caps":{"supports_tools":false},"default_generation_settings":{"n_ctx":4096}}`

const smallModels = `{"data":[{"id":"x.gguf","meta":{"n_params":134515008,"n_ctx":4096}}]}`

// A server is asked and used the same way whether it is given by its address or
// by a row of the user's own, whatever the row is called.
func TestDiscoveryUnderAnotherName(t *testing.T) {
	for _, c := range []struct {
		name, by, root string
		row            provider.Vendor
		pages          map[string]string
	}{
		{"llama.cpp", "", "/v1", provider.Vendor{}, map[string]string{"/props": smallProps, "/v1/models": smallModels}},
		{"llama.cpp, its format named", "", "/v1", provider.Vendor{Wires: []string{wire.Chat}}, map[string]string{"/props": smallProps, "/v1/models": smallModels}},
		{"in the place of a vendor", "openai", "/v1", provider.Vendor{}, map[string]string{"/props": smallProps, "/v1/models": smallModels}},
		{"Ollama", "", "/api", provider.Vendor{Wires: []string{wire.Ollama}}, map[string]string{"/api/show": `{"capabilities":["completion"],"model_info":{"general.parameter_count":134515008}}`}},
	} {
		s := newServer(t, c.pages)
		c.row.BaseURL = s.URL + c.root
		name, address := "mine", s.URL+c.root+"#any"
		if c.by != "" {
			name = c.by
		}
		if c.row.Wires != nil && c.row.Wires[0] == wire.Ollama {
			address = "ollama+" + address
		}
		var kinds []provider.RouteKind
		for _, id := range []string{address, name + "/any"} {
			client := &provider.Client{HTTP: s.Client(), Whole: true, Key: func(string) (string, error) { return "k", nil }, Vendors: map[string]provider.Vendor{name: c.row}}
			m := open(t, client, id).(*provider.Model)
			req := &llm.Request{Messages: []llm.Message{llm.User("What is the weather in Rome?")}, Tools: []llm.ToolDef{weather}}
			if _, err := llm.Generate(t.Context(), m, req); err != nil && llm.KindOf(err) != llm.BrokenPromise {
				t.Errorf("%s, %s: %v", c.name, id, err)
			}
			r, err := m.Explain(req)
			if err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, r.Kind)
		}
		if kinds[0] != kinds[1] || kinds[1] == provider.Native {
			t.Errorf("%s: by address %s, by name %s", c.name, kinds[0], kinds[1])
		}
	}
}

// The server says what it can do before a token is spent, once, without a key,
// and the route follows.
func TestDiscovery(t *testing.T) {
	for _, c := range []struct {
		name, id string
		pages    map[string]string
		kind     provider.RouteKind
		why      string
		field    string // of the question
	}{
		{"llama.cpp without tools", "llamacpp+%s/v1#any", map[string]string{"/props": smallProps, "/v1/models": smallModels}, provider.Constrained, "has no tools", `"grammar"`},
		{"llama.cpp at an address", "%s/v1#any", map[string]string{"/props": smallProps, "/v1/models": smallModels}, provider.Constrained, "135M parameters", `"grammar"`},
		{"llama.cpp with tools", "llamacpp+%s/v1#any", map[string]string{"/props": strings.Replace(smallProps, "false", "true", 1), "/v1/models": smallModels}, provider.Native, "has tools", `"tools"`},
		{"Ollama without tools", "ollama+%s/api#tiny", map[string]string{"/api/show": `{"capabilities":["completion"],"model_info":{"general.parameter_count":270000000,"gemma3.context_length":32768}}`}, provider.Constrained, "completion", `"format"`},
		{"Ollama with tools", "ollama+%s/api#qwen3:8b", map[string]string{"/api/show": `{"capabilities":["completion","tools","thinking"]}`}, provider.Native, "tools, thinking", `"tools"`},
		{"a server that says nothing", "%s/v1#any", nil, provider.Prompted, "native tools", `"messages"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(t, c.pages)
			client := &provider.Client{HTTP: s.Client(), Whole: true, Key: func(string) (string, error) { return "secret", nil }}
			m, err := client.Open(fmt.Sprintf(c.id, s.URL))
			if err != nil {
				t.Fatal(err)
			}
			req := &llm.Request{Messages: []llm.Message{llm.User("What is the weather in Rome?")}, Tools: []llm.ToolDef{weather}}
			for range 2 {
				if _, err := llm.Generate(t.Context(), m, req); err != nil && llm.KindOf(err) != llm.BrokenPromise {
					t.Fatal(err)
				}
			}
			route, err := m.(*provider.Model).Explain(req)
			if err != nil || route.Kind != c.kind || !strings.Contains(strings.Join(route.Why, "\n"), c.why) {
				t.Errorf("route %+v, %v", route, err)
			}
			if !strings.Contains(s.last, c.field) {
				t.Errorf("the question has no %s: %s", c.field, s.last)
			}
			if questions := len(s.asked) - 2; questions > 2 {
				t.Errorf("asked more than once for metadata: %v", s.asked)
			}
			for _, k := range s.keys {
				if strings.Contains(k, "secret") {
					t.Error("a key was sent with a question about metadata")
				}
			}
		})
	}
}

// What the user says of a model is stronger than what its server says.
func TestUsersWordIsStronger(t *testing.T) {
	s := newServer(t, map[string]string{"/props": smallProps, "/v1/models": smallModels})
	id := "llamacpp+" + s.URL + "/v1#any"
	mine := catalog.Default().With(catalog.Model{ID: catalog.ParseID(id), NativeTools: catalog.Answer{Support: catalog.Yes}})
	m, err := (&provider.Client{Catalog: mine, HTTP: s.Client(), Whole: true}).Open(id)
	if err != nil {
		t.Fatal(err)
	}
	req := &llm.Request{Messages: []llm.Message{llm.User("What is the weather in Rome?")}, Tools: []llm.ToolDef{weather}}
	if _, err := llm.Generate(t.Context(), m, req); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(s.last, `"tools"`) {
		t.Errorf("asked without tools: %s", s.last)
	}
}

// llama.cpp drops constraints from Anthropic's format: such a question goes
// over in OpenAI's, and a warning says so.
func TestConstraintMovesToAnotherFormat(t *testing.T) {
	s := newServer(t, map[string]string{"/props": smallProps, "/v1/models": smallModels})
	c := &provider.Client{HTTP: s.Client(), Whole: true, Vendors: map[string]provider.Vendor{"llamacpp": {Wires: []string{wire.Messages}}}}
	m, err := c.Open("llamacpp+" + s.URL + "/v1#any")
	if err != nil {
		t.Fatal(err)
	}
	r, err := llm.Generate(t.Context(), m, &llm.Request{Messages: []llm.Message{llm.User("What is the weather in Rome?")}, Tools: []llm.ToolDef{weather}})
	if err != nil || len(r.Message.Calls()) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	said := false
	for _, w := range r.Warnings {
		said = said || w.Feature == "wire"
	}
	if !said || s.asked[len(s.asked)-1] != "POST /v1/chat/completions" {
		t.Errorf("warnings %v, asked %v", r.Warnings, s.asked)
	}
}

// A tool that takes plain text is asked for with one parameter and called with
// the text.
func TestEmulatedFreeTool(t *testing.T) {
	s := newServer(t, map[string]string{"/props": smallProps, "/v1/models": smallModels})
	m, err := (&provider.Client{HTTP: s.Client(), Whole: true}).Open("llamacpp+" + s.URL + "/v1#any")
	if err != nil {
		t.Fatal(err)
	}
	s.answer = `{"input": "select one"}`
	free := llm.ToolDef{Kind: llm.FreeTool, Name: "run_query", Description: "Run a query."}
	r, err := llm.Generate(t.Context(), m, &llm.Request{Messages: []llm.Message{llm.User("Run the query select one")}, Tools: []llm.ToolDef{free}})
	if err != nil {
		t.Fatal(err)
	}
	if calls := r.Message.Calls(); len(calls) != 1 || calls[0].Kind != llm.FreeTool || string(calls[0].Args) != `"select one"` {
		t.Errorf("%+v", r)
	}
}
