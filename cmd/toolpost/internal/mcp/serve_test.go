package mcp_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/program"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
)

// mcpSays returns the client's messages of a conversation: the handshake, and calls.
func mcpSays(lines ...string) string {
	all := append([]string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
	}, lines...)
	return strings.Join(all, "\n") + "\n"
}

func mcpCall(id, name, args string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + name + `","arguments":` + args + `}}`
}

func TestMCPServe(t *testing.T) {
	mcpHome(t, "mcp_servers:\n"+programtest.ServerYAML("one", "whole"))
	programtest.Place(t, "notes.txt", "remember the milk\n")
	read, write := mcpCall("2", "read_file", `{"path":"notes.txt"}`), mcpCall("3", "write_file", `{"path":"new.txt","content":"x"}`)

	r := programtest.Run(t, mcpSays(read, write), "mcp", "serve")
	programtest.Must(t, r, 0, "remember the milk", `unknown tool \"write_file\"`)

	r = programtest.Run(t, mcpSays(write), "mcp", "serve", "--allow", "write")
	programtest.Must(t, r, 0, `"isError":true`, "nobody can be asked")
	if _, err := os.Stat("new.txt"); err == nil {
		t.Error("it was written all the same")
	}
	programtest.Must(t, programtest.Run(t, mcpSays(write), "mcp", "serve", "--allow", "write", "--yes-to", "write_file"), 0)
	if _, err := os.Stat("new.txt"); err != nil {
		t.Error(err)
	}
	programtest.Must(t, programtest.Run(t, mcpSays(mcpCall("2", "one__echo", `{"text":"from afar"}`)), "mcp", "serve", "--mcp", "one", "--yes"), 0, "from afar")

	through := []string{`{"jsonrpc":"2.0","id":4,"method":"prompts/list"}`, mcpCall("5", "echo", `{"text":"as it is"}`), mcpCall("6", "echo", `{}`)}
	programtest.Must(t, programtest.Run(t, mcpSays(through...), "mcp", "serve", "--through", "one", "--yes"), 0, `"greet"`, "as it is", `"isError":true`)
	programtest.Must(t, programtest.Run(t, mcpSays(through...), "mcp", "serve", "--through", "one"), 0, "nobody can be asked")
	programtest.Must(t, programtest.Run(t, "", "receipts", "verify"), 0)
}

func TestMCPServeRefuses(t *testing.T) {
	mcpHome(t, "")
	programtest.Place(t, "open.txt", "0123456789abcdef\n")
	if err := os.Chmod("open.txt", 0o644); err != nil {
		t.Fatal(err)
	}
	programtest.Place(t, "short.txt", "secret\n")
	for _, c := range []struct {
		want string
		args []string
	}{
		{"there are no keys", []string{"--http", "0.0.0.0:0"}},
		{"there are no keys", []string{"--http", ":0"}},
		{"there are no keys", []string{"--http", "192.0.2.1:80"}},
		{"can be read by others", []string{"--http", "127.0.0.1:0", "--keys", "open.txt"}},
		{"at least 16 characters", []string{"--http", "127.0.0.1:0", "--keys", "short.txt"}},
		{"no such file", []string{"--http", "127.0.0.1:0", "--keys", "none.txt"}},
		{"is not an origin", []string{"--http", "127.0.0.1:0", "--origin", "app.example.org"}},
		{"are for --http", []string{"--host", "tools.example.org"}},
		{"no tool is called", []string{"--yes-to", "read_fil"}},
		{"has no meaning with --through", []string{"--through", "one", "--allow", "write"}},
		{"no server of the configuration is called", []string{"--through", "absent-server"}},
		{"missing port", []string{"--http", "127.0.0.1"}},
	} {
		r := programtest.Run(t, "", append([]string{"mcp", "serve"}, c.args...)...)
		if r.Code == 0 || !strings.Contains(r.ErrOut, c.want) || strings.Contains(r.ErrOut, "secret") || r.Out != "" {
			t.Errorf("%q: %d %s%s", c.args, r.Code, r.Out, r.ErrOut)
		}
	}
}

// TestMCPServeToolListChanges: when the tools of a server change, clients are notified and see the new tools.
func TestMCPServeToolListChanges(t *testing.T) {
	mcpHome(t, "mcp_servers:\n"+programtest.ServerYAML("one", "ordinary"))
	in, client := io.Pipe()
	answers, out := io.Pipe()
	var errOut bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		code := program.Run(t.Context(), []string{"mcp", "serve", "--mcp", "one", "--yes"}, in, out, &errOut)
		out.Close()
		ended <- code
	}()
	fmt.Fprint(client, mcpSays(mcpCall("2", "one__change", "{}")))
	news, lists := false, 0
	for lines := bufio.NewScanner(answers); lines.Scan(); {
		line := lines.Text()
		switch {
		case strings.Contains(line, "notifications/tools/list_changed"):
			news = true
			lists++
			go fmt.Fprintf(client, `{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`+"\n", 10+lists)
		case strings.Contains(line, `"one__new1"`):
			go client.Close()
		}
	}
	if code := <-ended; code != 0 || !news {
		t.Errorf("it ended with %d and told of other tools: %v\n%s", code, news, errOut.String())
	}
}

// 'mcp serve' serves recorded runs as resources and the tasks of the configuration as prompts, if it is told to.
func TestMCPServeResourcesAndPrompts(t *testing.T) {
	mcpHome(t, "tasks:\n  compare: {task: 'Compare {1} with {2}.'}\n  tidy: {task: Tidy up}\n")
	programtest.Place(t, "notes.txt", "remember the milk\n")
	programtest.Must(t, programtest.Run(t, mcpSays(mcpCall("2", "read_file", `{"path":"notes.txt"}`)), "mcp", "serve"), 0)
	ask := func(id, method, params string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`
	}
	serve := func(messages []string, flags ...string) map[string]string {
		t.Helper()
		r := programtest.Run(t, mcpSays(messages...), append([]string{"mcp", "serve"}, flags...)...)
		programtest.Must(t, r, 0)
		answers := make(map[string]string)
		for line := range strings.Lines(r.Out) {
			var m struct{ ID json.RawMessage }
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatal(err)
			}
			answers[string(m.ID)] = line
		}
		return answers
	}
	latest := programtest.Run(t, "", "receipts", "list", "--json")
	var runs []struct{ Run string }
	if err := json.Unmarshal([]byte(latest.Out), &runs); err != nil || len(runs) != 1 {
		t.Fatalf("%s, %v", latest.Out, err)
	}
	messages := []string{
		ask("2", "resources/list", `{}`), ask("3", "resources/templates/list", `{}`), ask("4", "resources/read", `{"uri":"toolpost://runs"}`),
		ask("5", "resources/read", `{"uri":"toolpost://runs/`+runs[0].Run+`"}`), ask("6", "resources/read", `{"uri":"toolpost://runs/..%2F..%2Fconfig"}`),
		ask("7", "resources/read", `{"uri":"toolpost://runs/absent"}`), ask("8", "resources/subscribe", `{"uri":"toolpost://runs"}`),
		ask("9", "prompts/list", `{}`), ask("10", "prompts/get", `{"name":"compare","arguments":{"1":"a","2":"{1}"}}`),
		ask("11", "prompts/get", `{"name":"compare","arguments":{"1":"a"}}`), ask("12", "prompts/get", `{"name":"tidy","arguments":{"args":"my desk"}}`),
	}
	answers := serve(messages, "--resources", "--prompts")
	for id, want := range map[string]string{
		"1": `"prompts":{}`, "2": `"uri":"toolpost://runs"`, "3": `"uriTemplate":"toolpost://runs/{run}"`, "4": runs[0].Run, "5": "remember the milk", "6": "not found",
		"7": "not found", "8": `"error"`, "9": `"name":"compare"`, "10": "Compare a with {1}.", "11": "the prompt needs the argument 2", "12": "Tidy up my desk",
	} {
		if !strings.Contains(answers[id], want) {
			t.Errorf("%s is answered with %s, not %s", id, answers[id], want)
		}
	}
	for id, answer := range serve(messages) {
		if id != "1" && !strings.Contains(answer, "-32601") {
			t.Errorf("without the flags: %s", answer)
		}
	}
	r := programtest.Run(t, "", "mcp", "serve", "--through", "x", "--resources")
	programtest.Must(t, r, 2, "--resources has no meaning with --through")
}
