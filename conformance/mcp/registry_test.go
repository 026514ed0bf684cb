package mcp

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// registryServers are servers of npm and PyPI, each with its line of the configuration and a call that only reads. WORK
// is the folder with what is installed, NODE that of npm packages, and URL a page.
var registryServers = []struct{ name, line, tool, args, want string }{
	{"everything", "{command: node, args: [NODE/@modelcontextprotocol/server-everything/dist/index.js, stdio]}", "echo", `{"message":"hello"}`, "Echo: hello"},
	{"filesystem", "{command: node, args: [NODE/@modelcontextprotocol/server-filesystem/dist/index.js, .]}", "read_text_file", `{"path":"a.txt"}`, "remember the milk"},
	{"memory", "{command: node, args: [NODE/@modelcontextprotocol/server-memory/dist/index.js], env: {MEMORY_FILE_PATH: DIR/m.jsonl}}", "read_graph", `{}`, "entities"},
	{"thinking", "{command: node, args: [NODE/@modelcontextprotocol/server-sequential-thinking/dist/index.js]}", "sequentialthinking", `{"thought":"one","nextThoughtNeeded":false,"thoughtNumber":1,"totalThoughts":1}`, "thoughtHistoryLength"},
	{"hello", "{command: node, args: [NODE/.bin/mcp-hello-world]}", "add", `{"a":2,"b":40}`, "42"},
	{"time", "{command: WORK/mcp-servers/bin/mcp-server-time, args: [--local-timezone, UTC]}", "convert_time", `{"source_timezone":"UTC","time":"12:00","target_timezone":"Asia/Tokyo"}`, "T21:00"},
	{"git", "{command: WORK/mcp-servers/bin/mcp-server-git, args: [--repository, DIR]}", "git_log", `{"repo_path":"DIR"}`, "the first commit"},
	{"fetch", "{command: WORK/mcp-servers/bin/mcp-server-fetch, args: [--ignore-robots-txt, --allow-private-ips]}", "fetch", `{"url":"URL","raw":true}`, "remember the milk"},
	{"calculator", "{command: WORK/mcp-servers-1/bin/mcp-server-calculator}", "calculate", `{"expression":"6*7"}`, "42"},
	{"sqlite", "{command: WORK/mcp-servers-1/bin/mcp-server-sqlite, args: [--db-path, DIR/x.db]}", "read_query", `{"query":"SELECT 6*7 AS answer"}`, "42"},
	{"editor", "{command: WORK/mcp-servers-1/bin/mcp-text-editor}", "get_text_file_contents", `{"files":[{"file_path":"DIR/a.txt","ranges":[{"start":1}]}]}`, "remember the milk"},
}

// Servers of npm and PyPI work with one line of the configuration each: their tools are listed, and one is called.
func TestRegistryServers(t *testing.T) {
	work := suitePrograms(t)
	node, err := filepath.Abs("node_modules")
	if err != nil {
		t.Fatal(err)
	}
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("remember the milk")) }))
	t.Cleanup(page.Close)
	slots := make(chan struct{}, 4)
	var all sync.WaitGroup
	for _, s := range registryServers {
		dir := t.TempDir()
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			fill := strings.NewReplacer("WORK", work, "NODE", node, "DIR", dir, "URL", page.URL).Replace
			if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("remember the milk\n"), 0o600); err != nil {
				t.Error(err)
				return
			}
			if err := os.WriteFile(filepath.Join(dir, "c.yaml"), []byte("mcp_servers:\n  "+s.name+": "+fill(s.line)+"\n"), 0o600); err != nil {
				t.Error(err)
				return
			}
			run := func(name string, args ...string) string {
				cmd := exec.Command(name, args...)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+dir, "GIT_CONFIG_GLOBAL=/dev/null")
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Errorf("%s: %v: %v\n%s", s.name, args, err, out)
				}
				return string(out)
			}
			if s.name == "git" {
				run("git", "init", "-q")
				run("git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "the first commit")
			}
			toolpost := filepath.Join(work, "toolpost")
			if got := run(toolpost, "mcp", "tools", s.name, "--config", "c.yaml"); !strings.Contains(got, s.tool) {
				t.Errorf("%s lists\n%s", s.name, got)
			}
			if got := run(toolpost, "mcp", "call", s.name, s.tool, fill(s.args), "--yes", "--config", "c.yaml"); !strings.Contains(got, s.want) {
				t.Errorf("%s: %s returned\n%s", s.name, s.tool, got)
			}
		})
	}
	all.Wait()
}
