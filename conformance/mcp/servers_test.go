// Package mcp uses MCP servers that others made.
package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/client"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/tool"
)

// program returns an installed server as the script that node runs.
func program(t *testing.T, name string) string {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("node_modules", "@modelcontextprotocol", name, "dist", "index.js"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Skip("no servers: run conformance/run mcp, which installs them")
	}
	return file
}

// watcher keeps the progress of a call.
type watcher struct {
	mu  sync.Mutex
	got []tool.Progress
}

func (*watcher) Info() tool.Info                 { return tool.Info{} }
func (*watcher) Emit(context.Context, llm.Event) {}
func (*watcher) Ask(context.Context, tool.Prompt) (json.RawMessage, error) {
	return nil, tool.Errorf(tool.Permission, "nobody is there")
}
func (w *watcher) Report(p tool.Progress) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.got = append(w.got, p)
}

// a call of a tool and what its result, as the model sees it, must hold.
type call struct{ tool, args, want string }

// use lists a server, makes the calls and demands that each tool was called.
func use(t *testing.T, server config.ServerConfig, calls []call) {
	t.Helper()
	var told []string
	var mu sync.Mutex
	s, err := client.Open(client.Options{Wait: time.Minute, Lookup: os.LookupEnv, Notify: func(n config.Notice) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, n.String())
	}}, server)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	set, err := s.Tools(t.Context())
	if err != nil || set.Len() == 0 {
		t.Fatalf("it has %d tools, %v, %q", set.Len(), err, told)
	}
	t.Logf("%d tools, revision %s", set.Len(), s.Status()[0].Revision)
	called := make(map[string]bool)
	w := new(watcher)
	for _, c := range calls {
		name := tool.SafeName(server.Name + "__" + c.tool)
		one, ok := set.Lookup(name)
		if !ok {
			t.Errorf("there is no %s among %s", c.tool, set.Names())
			continue
		}
		called[name] = true
		if faults := set.Schema(name).Check(json.RawMessage(c.args)).Faults; len(faults) > 0 && !strings.HasPrefix(c.want, "!") {
			t.Errorf("%s: its own schema refuses the call: %v", c.tool, faults)
		}
		out, err := one.Run(tool.WithRuntime(context.Background(), w), json.RawMessage(c.args))
		got := show(out)
		if err != nil {
			got = "!" + tool.FromError(err).Message + got
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s %s returned %.400q, want %q", c.tool, c.args, got, c.want)
		}
		if promised := set.OutputSchema(name); err == nil && promised != nil && !promised.Check(out.Structured).Valid() {
			t.Errorf("%s promises another output than %s", c.tool, out.Structured)
		}
	}
	for _, name := range set.Names() {
		if !called[name] {
			t.Errorf("%s was not called", name)
		}
	}
	if slices.ContainsFunc(calls, func(c call) bool { return c.tool == "trigger-long-running-operation" }) && len(w.got) == 0 {
		t.Error("there was no progress")
	}
}

func show(out tool.Output) string {
	var b strings.Builder
	for _, p := range out.Parts {
		switch p := p.(type) {
		case llm.Text:
			b.WriteString(p.Text + "\n")
		case llm.Media:
			fmt.Fprintf(&b, "<%s %s>\n", p.Kind, p.MIME)
		}
	}
	return b.String() + string(out.Structured)
}

// everything are calls of each tool of server-everything.
var everything = []call{
	{"echo", `{"message":"hello"}`, "Echo: hello"},
	{"get-sum", `{"a":2,"b":40}`, "42"},
	{"get-sum", `{"a":"two"}`, "!"},
	{"get-annotated-message", `{"messageType":"error","includeImage":true}`, "<image image/png>"},
	{"get-env", `{}`, "PATH"},
	{"get-resource-links", `{"count":2}`, "[resource "},
	{"get-resource-reference", `{"resourceType":"Text","resourceId":1}`, "[resource "},
	{"get-structured-content", `{"location":"Chicago"}`, `"temperature"`},
	{"get-tiny-image", `{}`, "<image image/png>"},
	{"gzip-file-as-resource", `{"name":"x.gz","data":"data:text/plain;base64,aGVsbG8=","outputType":"resource"}`, "<document application/gzip>"},
	{"trigger-long-running-operation", `{"duration":1,"steps":3}`, "completed"},
	{"simulate-research-query", `{"topic":"tool calls"}`, "tool calls"}, // it runs as a task
	{"toggle-simulated-logging", `{}`, "log"},
	{"toggle-subscriber-updates", `{}`, "update"},
	{"trigger-elicitation-request", `{}`, "declined"},
	{"trigger-url-elicitation", `{"url":"https://example.org/login"}`, "decline"},
	{"read_resource", `{}`, "demo://resource/static/document/features.md"},
	{"read_resource", `{"uri":"demo://resource/dynamic/text/1"}`, "This is a plaintext resource"},
}

func TestEverythingOverStdio(t *testing.T) {
	use(t, config.ServerConfig{Name: "everything", Command: "node", Args: []string{program(t, "server-everything"), "stdio"}}, everything)
}

func TestEverythingOverHTTP(t *testing.T) {
	file := program(t, "server-everything")
	// The server binds every interface; this keeps it on this machine.
	local := filepath.Join(t.TempDir(), "local.cjs")
	if err := os.WriteFile(local, []byte(`const net = require("net"); const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port, ...rest) { return typeof port === "object" ? listen.call(this, port, ...rest) : listen.call(this, port, "127.0.0.1", ...rest.filter((r) => typeof r === "function")); };`), 0o600); err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	cmd := exec.CommandContext(t.Context(), "node", "-r", local, file, "streamableHttp")
	cmd.Env = append(os.Environ(), fmt.Sprint("PORT=", port))
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(stderr)
	for lines.Scan() && !strings.Contains(lines.Text(), "listening") {
	}
	go func() {
		for lines.Scan() {
		}
	}()
	use(t, config.ServerConfig{Name: "everything", URL: fmt.Sprintf("http://127.0.0.1:%d/mcp", port)}, everything)
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func TestFilesystem(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("first line\nsecond line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "p.png"), []byte("\x89PNG\r\n\x1a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	use(t, config.ServerConfig{Name: "files", Command: "node", Args: []string{program(t, "server-filesystem"), dir}}, []call{
		{"list_allowed_directories", `{}`, dir},
		{"read_file", fmt.Sprintf(`{"path":%q}`, at("a.txt")), "second line"},
		{"read_text_file", fmt.Sprintf(`{"path":%q,"head":1}`, at("a.txt")), "first line"},
		{"read_text_file", `{"path":"/etc/passwd"}`, "!"},
		{"read_media_file", fmt.Sprintf(`{"path":%q}`, at("p.png")), "<image image/png>"},
		{"read_multiple_files", fmt.Sprintf(`{"paths":[%q]}`, at("a.txt")), "first line"},
		{"write_file", fmt.Sprintf(`{"path":%q,"content":"new"}`, at("b.txt")), "wrote"},
		{"edit_file", fmt.Sprintf(`{"path":%q,"edits":[{"oldText":"new","newText":"newer"}]}`, at("b.txt")), "newer"},
		{"create_directory", fmt.Sprintf(`{"path":%q}`, at("sub")), "created"},
		{"list_directory", fmt.Sprintf(`{"path":%q}`, dir), "a.txt"},
		{"list_directory_with_sizes", fmt.Sprintf(`{"path":%q}`, dir), "a.txt"},
		{"directory_tree", fmt.Sprintf(`{"path":%q}`, dir), "a.txt"},
		{"move_file", fmt.Sprintf(`{"source":%q,"destination":%q}`, at("b.txt"), at("sub/b.txt")), "moved"},
		{"search_files", fmt.Sprintf(`{"path":%q,"pattern":"**/*.txt"}`, dir), "b.txt"},
		{"get_file_info", fmt.Sprintf(`{"path":%q}`, at("a.txt")), "size"},
	})
}

func TestMemory(t *testing.T) {
	server := config.ServerConfig{Name: "memory", Command: "node", Args: []string{program(t, "server-memory")},
		Env: map[string]string{"MEMORY_FILE_PATH": filepath.Join(t.TempDir(), "memory.jsonl")}}
	use(t, server, []call{
		{"create_entities", `{"entities":[{"name":"Ada","entityType":"person","observations":["likes lathes"]},{"name":"Bob","entityType":"person","observations":[]}]}`, "Ada"},
		{"create_relations", `{"relations":[{"from":"Ada","to":"Bob","relationType":"knows"}]}`, "knows"},
		{"add_observations", `{"observations":[{"entityName":"Ada","contents":["speaks Go"]}]}`, "speaks Go"},
		{"read_graph", `{}`, "likes lathes"},
		{"search_nodes", `{"query":"lathes"}`, "Ada"},
		{"open_nodes", `{"names":["Bob"]}`, "Bob"},
		{"read_resource", `{}`, "memory://knowledge-graph"},
		{"delete_observations", `{"deletions":[{"entityName":"Ada","observations":["speaks Go"]}]}`, ""},
		{"delete_relations", `{"relations":[{"from":"Ada","to":"Bob","relationType":"knows"}]}`, ""},
		{"delete_entities", `{"entityNames":["Bob"]}`, ""},
		{"add_observations", `{"observations":[{"entityName":"Nobody","contents":["x"]}]}`, "!"},
	})
}
