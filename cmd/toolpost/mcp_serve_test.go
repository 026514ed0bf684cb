package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
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
	mcpHome(t, "mcp_servers:\n"+serverYAML("one", "whole"))
	place(t, "notes.txt", "remember the milk\n")
	read, write := mcpCall("2", "read_file", `{"path":"notes.txt"}`), mcpCall("3", "write_file", `{"path":"new.txt","content":"x"}`)

	r := toolpost(t, mcpSays(read, write), "mcp", "serve")
	must(t, r, 0, "remember the milk", `unknown tool \"write_file\"`)

	r = toolpost(t, mcpSays(write), "mcp", "serve", "--allow", "write")
	must(t, r, 0, `"isError":true`, "nobody can be asked")
	if _, err := os.Stat("new.txt"); err == nil {
		t.Error("it was written all the same")
	}
	must(t, toolpost(t, mcpSays(write), "mcp", "serve", "--allow", "write", "--yes-to", "write_file"), 0)
	if _, err := os.Stat("new.txt"); err != nil {
		t.Error(err)
	}
	must(t, toolpost(t, mcpSays(mcpCall("2", "one__echo", `{"text":"from afar"}`)), "mcp", "serve", "--mcp", "one", "--yes"), 0, "from afar")

	through := []string{`{"jsonrpc":"2.0","id":4,"method":"prompts/list"}`, mcpCall("5", "echo", `{"text":"as it is"}`), mcpCall("6", "echo", `{}`)}
	must(t, toolpost(t, mcpSays(through...), "mcp", "serve", "--through", "one", "--yes"), 0, `"greet"`, "as it is", `"isError":true`)
	must(t, toolpost(t, mcpSays(through...), "mcp", "serve", "--through", "one"), 0, "nobody can be asked")
	must(t, toolpost(t, "", "receipts", "verify"), 0)
}

func TestMCPServeRefuses(t *testing.T) {
	mcpHome(t, "")
	place(t, "open.txt", "0123456789abcdef\n")
	if err := os.Chmod("open.txt", 0o644); err != nil {
		t.Fatal(err)
	}
	place(t, "short.txt", "secret\n")
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
		r := toolpost(t, "", append([]string{"mcp", "serve"}, c.args...)...)
		if r.code == 0 || !strings.Contains(r.errOut, c.want) || strings.Contains(r.errOut, "secret") || r.out != "" {
			t.Errorf("%q: %d %s%s", c.args, r.code, r.out, r.errOut)
		}
	}
}

// TestMCPServeToolListChanges: when the tools of a server change, clients are notified and see the new tools.
func TestMCPServeToolListChanges(t *testing.T) {
	mcpHome(t, "mcp_servers:\n"+serverYAML("one", "ordinary"))
	in, client := io.Pipe()
	answers, out := io.Pipe()
	var errOut bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		code := runCommand(t.Context(), []string{"mcp", "serve", "--mcp", "one", "--yes"}, in, out, &errOut)
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
