package provider_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

// A server's model writes calls in a dialect of the program's own. They are read
// on every route: where the vendor leaves them in the text, where the dialect is
// taught in a prompt, and where another one was taught.
func TestOwnDialect(t *testing.T) {
	list, err := dialect.Builtin().With(spec.Dialect{
		Name: "acme", Form: spec.JSONCall,
		Call:    []spec.Pair{{Open: "<acme:run>", Close: "</acme:run>"}},
		NameKey: "function", ArgsKey: "args",
		Write:   spec.Writing{Call: `<acme:run>{"function": "$name", "args": $args}</acme:run>`},
		Results: spec.Results{Role: llm.RoleUser, Each: "<acme:result>$text</acme:result>"},
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}]}`,
			`Let me look. <acme:run>{"function": "f", "args": {}}</acme:run>`)
	}))
	defer server.Close()
	for _, c := range []struct {
		Route provider.RouteKind
		Style string
	}{{provider.Native, ""}, {provider.Prompted, "acme"}, {provider.Prompted, ""}} {
		for _, known := range []bool{true, false} {
			client := &provider.Client{Route: c.Route, Style: c.Style, Whole: true}
			if known {
				client.Dialects = list
			}
			m, err := client.Open("openai+" + server.URL + "/v1#zorgle")
			if err != nil {
				t.Fatal(err)
			}
			r, err := llm.Generate(t.Context(), m, &llm.Request{Messages: []llm.Message{llm.User("hi")}, Tools: []llm.ToolDef{{Name: "f"}}})
			if !known && c.Style != "" {
				if err == nil {
					t.Errorf("the style %s is taught although nobody knows it", c.Style)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			calls := r.Message.Calls()
			if known != (len(calls) == 1 && calls[0].Provenance.Dialect == "acme") {
				t.Errorf("%s %q, known %v: %+v", c.Route, c.Style, known, calls)
			}
		}
	}
}
