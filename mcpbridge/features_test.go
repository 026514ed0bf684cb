package mcpbridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/internal/mcptest"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/client"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/tool"
)

// eachRevision runs a test with a server, by transports of an older and of the newest revision.
func eachRevision(t *testing.T, s *mcp.Server, test func(t *testing.T, server config.ServerConfig)) {
	address := mcptest.HTTP(t, s, nil)
	for revision, server := range map[string]config.ServerConfig{
		"2025-11-25": {Name: "one", URL: address + "/mcp", Protocol: "2025-11-25"},
		"2026-07-28": {Name: "one", URL: address + "/stateless"},
		"2024-11-05": {Name: "one", URL: address + "/sse", Transport: config.SSE},
	} {
		t.Run(revision, func(t *testing.T) { test(t, server) })
	}
}

// A server with resources has a tool that lists and reads them. A person is asked about it unless the server is trusted.
func TestModelReadsResources(t *testing.T) {
	eachRevision(t, mcptest.Whole(), func(t *testing.T, server config.ServerConfig) {
		s, _ := open(t, client.Options{}, server)
		tools := toolsOf(t, s)
		out, err := call(t, tools, "one__read_resource", `{"uri":"test://notes"}`)
		if err != nil || !strings.Contains(textOf(out), "content of test://notes") {
			t.Errorf("the model reads %q, %v", textOf(out), err)
		}
		out, err = call(t, tools, "one__read_resource", `{}`)
		if err != nil || !strings.Contains(textOf(out), "test://notes: notes") || !strings.Contains(textOf(out), "test://items/{id} (a template): items") {
			t.Errorf("the list is %q, %v", textOf(out), err)
		}
		if _, err := call(t, tools, "one__read_resource", `{"uri":"test://nothing/at/all"}`); err == nil || strings.Contains(err.Error(), "unknown outcome") {
			t.Errorf("a resource that is missing: %v", err)
		}
		for trust, want := range map[config.Trust]invoke.Verdict{config.TrustNone: invoke.Ask, config.TrustAnnotations: invoke.Allow} {
			server.Trust = trust
			s, _ := open(t, client.Options{}, server)
			one, _ := toolsOf(t, s).Lookup("one__read_resource")
			if one.Effects.Has(tool.Local) {
				t.Error("the tool promises to reach only this machine")
			}
			if d, _ := invoke.AllowOwn(t.Context(), one, llm.Call{}); (d.Verdict == invoke.Allow) != (want == invoke.Allow) {
				t.Errorf("with trust %s the verdict is %v", trust, d.Verdict)
			}
		}
		for _, filter := range []func(*config.ServerConfig){
			func(c *config.ServerConfig) { c.Tools = []string{"long"} },
			func(c *config.ServerConfig) { c.DisabledTools = []string{"read_resource"} },
		} {
			c := server
			filter(&c)
			s, _ := open(t, client.Options{}, c)
			if names := toolsOf(t, s).Names(); slices.Contains(names, "one__read_resource") || !slices.Contains(names, "one__long") {
				t.Errorf("the tools are %v", names)
			}
		}
	})
}

// A server without resources has no such tool, and a tool of the server of that name is the server's.
func TestNoToolForResources(t *testing.T) {
	s, _ := open(t, client.Options{}, stdio("one", "ordinary"))
	if names := toolsOf(t, s).Names(); slices.Contains(names, "one__read_resource") {
		t.Errorf("the tools are %v", names)
	}
	own := mcp.NewServer(&mcp.Implementation{Name: "own", Version: "1"}, nil)
	own.AddResource(&mcp.Resource{URI: "a://b", Name: "b"}, nil)
	own.AddTool(&mcp.Tool{Name: "read_resource", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "mine"}}}, nil
	})
	s, _ = open(t, client.Options{}, config.ServerConfig{Name: "one", URL: mcptest.HTTP(t, own, nil) + "/mcp"})
	if out, err := call(t, toolsOf(t, s), "one__read_resource", `{}`); err != nil || textOf(out) != "mine" {
		t.Errorf("%q, %v", textOf(out), err)
	}
}

// Prompts are listed and read; their text is a document, because a server wrote it.
func TestPromptsOfServers(t *testing.T) {
	eachRevision(t, mcptest.Whole(), func(t *testing.T, server config.ServerConfig) {
		s, _ := open(t, client.Options{}, server)
		all, err := s.Prompts(t.Context(), "one")
		if err != nil || len(all) != 1 || all[0].Name != "greet" || !all[0].Arguments[0].Required {
			t.Fatalf("%+v, %v", all, err)
		}
		messages, err := s.Prompt(t.Context(), "one", "greet", map[string]string{"who": "Ada"})
		if err != nil || len(messages) != 1 {
			t.Fatal(messages, err)
		}
		if text := messages[0].Parts[0].(llm.Text); text.Text != "Greet Ada" || text.Origin != llm.OriginDocument {
			t.Errorf("%+v", text)
		}
	})
	s, _ := open(t, client.Options{}, stdio("one", "ordinary"))
	if _, err := s.Prompts(t.Context(), "one"); !errors.Is(err, client.ErrNoFeature) {
		t.Errorf("a server without prompts: %v", err)
	}
}

// Log messages reach a program that wants them, cleaned. Without one, servers are not asked.
func TestLogsOfServers(t *testing.T) {
	eachRevision(t, mcptest.Whole(), func(t *testing.T, server config.ServerConfig) {
		var mu sync.Mutex
		var lines []string
		s, _ := open(t, client.Options{Log: func(server, level, text string) {
			mu.Lock()
			defer mu.Unlock()
			lines = append(lines, server+" "+level+" "+text)
		}}, server)
		if _, err := call(t, toolsOf(t, s), "one__log", `{}`); err != nil {
			t.Fatal(err)
		}
		until(t, "a log message", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return slices.Contains(lines, "one error something happened")
		})
	})
}

// An address that a server wants opened is shown, with its host, and a person is asked. It is not opened from here.
func TestURLElicitation(t *testing.T) {
	asker := mcp.NewServer(&mcp.Implementation{Name: "asker", Version: "1"}, nil)
	asker.AddTool(&mcp.Tool{Name: "visit", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var args struct{ URL string }
		_ = json.Unmarshal(req.Params.Arguments, &args)
		ask := &mcp.ElicitParams{Mode: "url", Message: "Log in", URL: args.URL, ElicitationID: "e1"}
		res, _ := req.Params.InputResponses["visit"].(*mcp.ElicitResult)
		if p := req.Session.InitializeParams(); p != nil && p.ProtocolVersion < "2026" {
			var err error
			if res, err = req.Session.Elicit(ctx, ask); err != nil {
				return nil, err
			}
		} else if res == nil {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"visit": ask}, RequestState: "s"}, nil
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: res.Action}}}, nil
	})
	eachRevision(t, asker, func(t *testing.T, server config.ServerConfig) {
		if server.Transport == config.SSE {
			return // the first revision has no elicitation
		}
		s, _ := open(t, client.Options{}, server)
		tools := toolsOf(t, s)
		for _, c := range []struct{ url, value, asked, want string }{
			{"https://login.example.org/a?b=c", "true", "open https://login.example.org/a?b=c (host login.example.org): Log in", "accept"},
			{"https://login.example.org/a", "false", "login.example.org", "decline"},
			{"javascript:alert(1)", "true", "", "decline"},
			{"https://bank.example.org@evil.example.net/", "true", "", "decline"},
			{"file:///etc/passwd", "true", "", "decline"},
		} {
			asked := ""
			runner := &invoke.Runner{Tools: tools, Policy: invoke.AllowAll, Approve: func(_ context.Context, q invoke.Question) (journal.Approval, error) {
				asked = q.Message
				a := q.Answer(true, "a person", "")
				a.Value = json.RawMessage(c.value)
				return a, nil
			}}
			session, err := runner.Session(nil)
			if err != nil {
				t.Fatal(err)
			}
			args, _ := json.Marshal(map[string]string{"URL": c.url})
			results, err := session.Results(t.Context(), []llm.Call{{ID: "c", Name: "one__visit", Args: args}})
			if err != nil || joined(results[0].Parts) != c.want || !strings.Contains(asked, c.asked) || c.asked == "" && asked != "" {
				t.Errorf("%s: the person is asked %q, and the server hears %q, %v", c.url, asked, joined(results[0].Parts), err)
			}
		}
	})
}

// A call that needs a visit first was not run; the error has the address.
func TestURLElicitationRequired(t *testing.T) {
	asker := mcp.NewServer(&mcp.Implementation{Name: "asker", Version: "1"}, nil)
	asker.AddTool(&mcp.Tool{Name: "visit", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, &jsonrpc.Error{Code: mcp.CodeURLElicitationRequired, Message: "log in first", Data: json.RawMessage(`{"elicitations":[{"mode":"url","url":"https://login.example.org/x","elicitationId":"1","message":"m"}]}`)}
	})
	s, _ := open(t, client.Options{}, config.ServerConfig{Name: "one", URL: mcptest.HTTP(t, asker, nil) + "/mcp"})
	_, err := call(t, toolsOf(t, s), "one__visit", `{}`)
	e := tool.FromError(err)
	if !strings.Contains(e.Message, "log in first") || !strings.Contains(e.Fix, "https://login.example.org/x") || e.Code != tool.Execution {
		t.Errorf("%+v", e)
	}
}
