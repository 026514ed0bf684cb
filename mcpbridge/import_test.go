package mcpbridge_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/corpus"
	"github.com/toolpost/toolpost/mcpbridge/config"
)

// TestReadServers reads the files of other programs as they are.
func TestReadServers(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"Claude Desktop", `{"mcpServers":{"filesystem":{"command":"npx","args":["-y","@modelcontextprotocol/server-filesystem","/tmp"],"env":{"A":"b"}}}}`,
			`filesystem {"command":"npx","args":["-y","@modelcontextprotocol/server-filesystem","/tmp"],"env":{"A":"b"}}`},
		{"Cursor", "{\n\t\"mcpServers\": {\n\t\t\"api\": {\"url\": \"https://h.example/mcp\", \"headers\": {\"Authorization\": \"Bearer ${env:KEY}\"}},\n\t}\n}",
			`api {"url":"https://h.example/mcp","headers":{"Authorization":"Bearer ${KEY}"}}`},
		{"VS Code", `{
  // keys are asked for
  "inputs": [{"type": "promptString", "id": "git-key", "password": true}],
  "servers": {
    "Git Hub": {"type": "http", "url": "https://h.example/mcp", "headers": {"X": "${input:git-key}"}, "gallery": true},
    /* a program */
    "play": {"command": "npx", "args": ["-y", "p@latest"], "cwd": "${workspaceFolder}/x", "envFile": "${workspaceFolder}/.env", "dev": {"watch": "*"}}
  }
}`, `Git_Hub {"type":"http","url":"https://h.example/mcp","headers":{"X":"${GIT_KEY}"}}
  "Git Hub" is called Git_Hub here
  left out, without an effect on the server: gallery
  set the variable GIT_KEY: the file asks for it as input git-key
play {"command":"npx","args":["-y","p@latest"],"envFile":"./.env","cwd":"./x"}
  left out, without an effect on the server: dev`},
		{"Conductor", "workflow:\n  runtime:\n    mcp_servers:\n      s:\n        command: npx\n        timeout: 90000\n        tools: [\"*\"]\n      none:\n        command: x\n        tools: []\n",
			`s {"command":"npx","call_timeout":90000000000,"tools":["*"]}` + "\n" + `none {"command":"x","tools":[]}`},
		{"a byte order mark", "\ufeff" + `{"mcpServers":{"a":{"command":"x"}}}`, `a {"command":"x"}`},
		{"ours", "mcp_servers:\n  a:\n    command: ${BIN:-x}\n    trust: annotations\n    enabled: false\n",
			`a {"command":"${BIN:-x}","trust":"annotations","enabled":false}` + "\n  its annotations are trusted, as the file says"},
	} {
		t.Run(c.name, func(t *testing.T) {
			servers, err := config.ReadServers([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			for _, s := range servers {
				entry, err := json.Marshal(s.Entry)
				if err != nil {
					t.Fatal(err)
				}
				lines = append(lines, s.Name+" "+string(entry))
				for _, n := range s.Notes {
					lines = append(lines, "  "+n)
				}
			}
			if got := strings.Join(lines, "\n"); got != c.want {
				t.Errorf("it is\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "has no mcpServers"},
		{"{}", "has no mcpServers"},
		{`{"mcpServers":{}}`, "has no mcpServers"},
		{"{\"mcpServers\":\n{\"a\":\n{\"command\":7, \"args\":{}}}}", "line 3: a: args"},
		{"mcp_servers:\n  a:\n    type: pigeon\n", "line 3: a: type is stdio, http or sse"},
		{"mcp_servers:\n  a: x\n", "line 2: a: a server is a mapping"},
		{"mcp_servers:\n  a:\n    command: x\n    timeout: soon\n", "line 4: a: timeout is a number of milliseconds"},
		{"mcp_servers:\n  a:\n    command: ${config:x}\n", "${config:x} is not known here"},
		{"mcp_servers:\n  a:\n    url: ftp://h\n", "http or https"},
		{"a: [", "line 1"},
		{`{"mcpServers":{"a":{"command":"x","args":["b",null]}}}`, "line 1: a: args holds null"},
		{`{"mcpServers":{"a":{"command":null}}}`, "line 1: a: command holds null"},
		{`{"mcpServers":{"a":{"command":"x","env":{"B":null}}}}`, "line 1: a: env holds null"},
		{"{\"mcpServers\":{\"a b\":{\"command\":\"x\"},\n\"a_b\":{\"command\":\"y\"}}}", "line 2: a_b: another server is called a_b here, too"},
	} {
		if _, err := config.ReadServers([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}

// TestOneBadServer does not keep the others from being read.
func TestOneBadServer(t *testing.T) {
	servers, err := config.ReadServers([]byte("{\"mcpServers\":{\n\"a\":{},\n\"b\":{\"command\":\"x\"},\n\"c\":{\"url\":7}}}"))
	var bad config.BadServers
	if !errors.As(err, &bad) || len(bad) != 2 || bad[0].Line != 2 || bad[1].Line != 4 {
		t.Errorf("%v", err)
	}
	if len(servers) != 1 || servers[0].Name != "b" {
		t.Errorf("%v", servers)
	}
}

// FuzzReadServers: whatever a file holds, each server that is read out of it is one that
// can be configured, under a name of its own.
func FuzzReadServers(f *testing.F) {
	for _, text := range []string{
		`{"mcpServers":{"a":{"command":"npx","args":["-y"],"env":{"A":"${env:B}"}}}}`,
		"{// c\n\"servers\": {\"Git Hub\": {\"type\": \"http\", \"url\": \"https://h.example/mcp\", \"headers\": {\"X\": \"${input:git-key}\"}},},}",
		"workflow:\n  runtime:\n    mcp_servers:\n      s:\n        command: npx\n        timeout: 90000\n        tools: [\"*\"]\n",
		"mcp_servers:\n  a: &x\n    command: ${BIN:-x}\n    trust: annotations\n    enabled: false\n  b: *x\n",
		"[mcp_servers.a]\ncommand = \"x\"\nargs = ['b', \"\"\"\\\nc\"\"\"]\nenv_vars = [{name = \"A\"}]\n",
		"\ufeff{}", "a: [", `{"mcpServers":{"a":{"args":[null]}}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		servers, err := config.ReadServers(text)
		var bad config.BadServers
		if err != nil && len(servers) > 0 && !errors.As(err, &bad) {
			t.Errorf("there are servers and the error %v", err)
		}
		names := make(map[string]bool)
		for _, s := range servers {
			if err := s.Entry.Config(s.Name).Check(); err != nil || names[s.Name] {
				t.Errorf("%q: %v", s.Name, err)
			}
			names[s.Name] = true
		}
	})
}

// TestWorkflows reads the servers of every workflow of the corpus that has some, or
// says in which line it cannot.
func TestWorkflows(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(corpus.Path(t, "conductor_examples"), "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		servers, err := config.ReadServers(text)
		var at *config.LineError
		declares := strings.Contains(string(text), "\n    mcp_servers:\n")
		switch {
		case err == nil:
			read++
			for _, s := range servers {
				if err := s.Entry.Config(s.Name).Check(); err != nil {
					t.Errorf("%s: %v", file, err)
				}
			}
		case declares && !errors.As(err, &at):
			t.Errorf("%s has servers and is refused without a line: %v", file, err)
		case declares:
			t.Logf("%s is refused: %v", filepath.Base(file), err)
		}
	}
	if read < 8 {
		t.Errorf("%d of %d workflows have servers that can be read", read, len(files))
	}
}
