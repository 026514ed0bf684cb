// Command client is what the official conformance suite of MCP runs to test a client.
// It uses package mcpbridge as the command does: a login first if the server wants
// one, then the server's tools as tools of ours.
//
// The suite appends the address of its server to the arguments and names the scenario
// in MCP_CONFORMANCE_SCENARIO; MCP_CONFORMANCE_CONTEXT holds what else it needs.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/client"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/tool"
)

// server is the name of the suite's server.
const server = "suite"

// a call of a tool by the server's own name for it.
type call struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// more is what the suite tells besides the scenario.
type more struct {
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	ToolCalls    []call `json:"toolCalls"`
}

// scenario is what a client has to do. It always connects and lists the tools.
type scenario struct {
	// calls returns the calls to make.
	calls func(s *client.Servers, m more) ([]call, error)
	// answer is what the person says to every question; empty is nobody.
	answer string
	// refused says that calls may fail: the suite looks at what is sent.
	refused bool
}

// scenarios are those that have no login; see also scenarioNamed.
var scenarios = map[string]scenario{
	"initialize":                          {},
	"request-metadata":                    {},
	"json-schema-ref-no-deref":            {},
	"tools_call":                          {calls: these(call{"add_numbers", json.RawMessage(`{"a":5,"b":3}`)})},
	"sse-retry":                           {calls: these(call{Name: "test_reconnection"})},
	"elicitation-sep1034-client-defaults": {calls: these(call{Name: "test_client_elicitation_defaults"}), answer: `{}`},
	"sep-2322-client-request-state": {calls: these(call{Name: "test_mrtr_echo_state"}, call{Name: "test_mrtr_no_state"},
		call{Name: "test_mrtr_unrelated"}, call{Name: "test_mrtr_no_result_type"}), answer: `{"confirmed":true}`, refused: true},
	"http-standard-headers":            {calls: every(`{}`), refused: true},
	"http-invalid-tool-headers":        {calls: every(`{"region":"us-west1"}`), refused: true},
	"http-custom-headers":              {calls: func(_ *client.Servers, m more) ([]call, error) { return m.ToolCalls, nil }, refused: true},
	"json-schema-2020-12-preservation": {calls: echoSchema},
}

// scenarioNamed returns a scenario and whether it begins with a login.
func scenarioNamed(name string) (s scenario, login, ok bool) {
	if strings.HasPrefix(name, "auth/") {
		return scenario{calls: these(call{Name: "test-tool"})}, true, true
	}
	s, ok = scenarios[name]
	return s, false, ok
}

func these(calls ...call) func(*client.Servers, more) ([]call, error) {
	return func(*client.Servers, more) ([]call, error) { return calls, nil }
}

// every calls all tools that are used.
func every(args string) func(*client.Servers, more) ([]call, error) {
	return func(s *client.Servers, _ more) (calls []call, err error) {
		defs, used := s.Definitions(server)
		for _, d := range defs {
			if used(d.Name) {
				calls = append(calls, call{d.Name, json.RawMessage(args)})
			}
		}
		return calls, nil
	}
}

// echoSchema sends the schema of a tool back as it was understood.
func echoSchema(s *client.Servers, _ more) ([]call, error) {
	defs, _ := s.Definitions(server)
	for _, d := range defs {
		if d.Name == "json_schema_2020_12_tool" {
			args, err := json.Marshal(map[string]json.RawMessage{"schema": d.Input})
			return []call{{"json_schema_echo", args}}, err
		}
	}
	return nil, errors.New("the tool with the schema is missing")
}

// person answers every question alike.
type person struct{ answer string }

func (person) Info() tool.Info                 { return tool.Info{} }
func (person) Emit(context.Context, llm.Event) {}
func (person) Report(tool.Progress)            {}
func (p person) Ask(context.Context, tool.Prompt) (json.RawMessage, error) {
	if p.answer == "" {
		return nil, tool.Errorf(tool.Permission, "nobody is there")
	}
	return json.RawMessage(p.answer), nil
}

// logIn agrees to the login at once, as the suite's authorization server does: its
// page only leads back.
func logIn(ctx context.Context, c config.ServerConfig, dir string, m more) error {
	var page string
	o := client.LoginOptions{Dir: dir, ClientID: m.ClientID, ClientSecret: m.ClientSecret, Show: func(address string) { page = address }}
	if m.ClientID == "" {
		o.ClientMetadata = "https://conformance-test.local/client-metadata.json"
	}
	o.Paste = func(ctx context.Context) (string, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
		if err != nil {
			return "", err
		}
		browser := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		resp, err := browser.Do(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		return resp.Header.Get("Location"), nil
	}
	if err := client.Login(ctx, c, o); !errors.Is(err, client.ErrNoLogin) {
		return err
	}
	return nil
}

func run(ctx context.Context, name, url string, m more) error {
	s, login, ok := scenarioNamed(name)
	if !ok {
		return fmt.Errorf("no scenario is called %q", name)
	}
	dir, err := os.MkdirTemp("", "mcp-client")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c := config.ServerConfig{Name: server, URL: url}
	for logins := 0; ; logins++ {
		if login {
			if err := logIn(ctx, c, dir, m); err != nil {
				return err
			}
		}
		err := s.use(ctx, c, dir, m)
		if err == nil || !login || logins == maxLogins || !strings.Contains(err.Error(), "'toolpost mcp login "+server+"'") {
			return err
		}
	}
}

// maxLogins is how often a person does what an error says and logs in again.
const maxLogins = 2

// use connects to the server and makes the calls.
func (s scenario) use(ctx context.Context, c config.ServerConfig, dir string, m more) error {
	servers, err := client.Open(client.Options{Dir: dir, Version: "1.0.0", Notify: func(n config.Notice) { fmt.Fprintln(os.Stderr, n) }}, c)
	if err != nil {
		return err
	}
	defer servers.Close()
	if err := servers.Connect(ctx, server); err != nil {
		return err
	}
	return s.play(ctx, servers, m)
}

// play makes the calls of the scenario.
func (s scenario) play(ctx context.Context, servers *client.Servers, m more) error {
	if s.calls == nil {
		return nil
	}
	set, err := servers.Tools(ctx)
	if err != nil {
		return err
	}
	calls, err := s.calls(servers, m)
	if err != nil {
		return err
	}
	for _, c := range calls {
		one, ok := set.Lookup(tool.SafeName(server + "__" + c.Name))
		if !ok {
			err = fmt.Errorf("there is no tool %s", c.Name)
		} else {
			_, err = one.Run(tool.WithRuntime(ctx, person{s.answer}), c.Arguments)
		}
		if err != nil && !s.refused {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", c.Name, err)
		}
	}
	return nil
}

func main() {
	var m more
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx, os.Getenv("MCP_CONFORMANCE_SCENARIO"), os.Args[len(os.Args)-1], m); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
