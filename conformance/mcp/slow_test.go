package mcp

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolpost/toolpost/mcpbridge/client"
	"github.com/toolpost/toolpost/mcpbridge/config"
)

// slowServer is a server made with an SDK.
type slowServer struct {
	sdk       string // with its version
	revisions []string
	program   []string
	tool      string
	args      string
}

// slowServers are the servers whose SDKs are installed.
func slowServers(t *testing.T, work string) (all []slowServer) {
	older, newest := []string{"2025-11-25"}, []string{"2025-11-25", "2026-07-28"}
	for _, p := range []struct {
		venv, dist string
		args       []string
		revisions  []string
	}{{"mcp-servers-1", "mcp", nil, older}, {"mcp", "mcp", nil, newest}, {"mcp-fastmcp", "fastmcp", []string{"fastmcp"}, newest}} {
		python := filepath.Join(work, p.venv, "bin", "python")
		version, err := exec.Command(python, "-c", "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))", p.dist).Output()
		if err != nil {
			t.Errorf("%s is not installed: %v", p.venv, err)
			continue
		}
		all = append(all, slowServer{"Python " + p.dist + " " + strings.TrimSpace(string(version)), p.revisions, append([]string{python, "slow.py"}, p.args...), "echo", `{"text":"hello"}`})
	}
	for _, name := range []string{"@modelcontextprotocol/sdk", "@modelcontextprotocol/server"} {
		var p struct{ Version string }
		text, err := os.ReadFile(filepath.Join("node_modules", name, "package.json"))
		if err != nil || json.Unmarshal(text, &p) != nil {
			t.Errorf("%s is not installed: %v", name, err)
			continue
		}
		all = append(all, slowServer{"TypeScript " + name + " " + p.Version, older, []string{"node", "slow.mjs", name}, "echo", `{"text":"hello"}`})
	}
	hello := filepath.Join(work, "hello")
	info, err := buildinfo.ReadFile(hello)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range info.Deps {
		if m.Path == "github.com/modelcontextprotocol/go-sdk" {
			all = append(all, slowServer{"Go " + m.Version, newest, []string{hello}, "greet", `{"name":"hello"}`})
		}
	}
	if info.Main.Path == "github.com/modelcontextprotocol/go-sdk" {
		all = append(all, slowServer{"Go " + info.Main.Version, newest, []string{hello}, "greet", `{"name":"hello"}`})
	}
	return all
}

// A server that starts at once, after 5 s, or after half of the time it has, is connected in each revision, and its tool
// is called.
func TestSlowStarts(t *testing.T) {
	t.Parallel() // it mostly waits
	servers := slowServers(t, suitePrograms(t))
	delays := []int{0, 5, 20}
	var mu sync.Mutex
	var lines []string
	var all sync.WaitGroup
	for _, s := range servers {
		for _, revision := range s.revisions {
			all.Go(func() {
				line := fmt.Sprintf("%s, %s:", s.sdk, revision)
				took := make([]time.Duration, len(delays))
				var each sync.WaitGroup
				for i, delay := range delays {
					each.Go(func() { took[i] = s.start(t, delay, revision) })
				}
				each.Wait()
				for i, delay := range delays {
					line += fmt.Sprintf(" %d s %.1f s,", delay, took[i].Seconds())
				}
				mu.Lock()
				defer mu.Unlock()
				lines = append(lines, strings.TrimSuffix(line, ","))
			})
		}
	}
	all.Wait()
	slices.Sort(lines)
	t.Logf("delays, and the time until the tool had answered:\n%s", strings.Join(lines, "\n"))
}

// start starts the server late and calls its tool. It returns the time until the answer.
func (s slowServer) start(t *testing.T, delay int, revision string) time.Duration {
	began := time.Now()
	server := config.ServerConfig{Name: "slow", Command: "sh", Args: append([]string{"-c", `sleep "$0"; exec "$@"`, fmt.Sprint(delay)}, s.program...), Connect: 40 * time.Second}
	if revision != "2026-07-28" {
		server.Protocol = revision
	}
	what := fmt.Sprintf("%s, %s, after %d s", s.sdk, revision, delay)
	servers, err := client.Open(client.Options{Wait: time.Minute, Lookup: os.LookupEnv, Notify: func(n config.Notice) { t.Logf("%s: %s", what, n) }}, server)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return 0
	}
	defer servers.Close()
	set, err := servers.Tools(t.Context())
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return 0
	}
	one, ok := set.Lookup("slow__" + s.tool)
	if !ok {
		t.Errorf("%s: its tools are %s", what, set.Names())
		return 0
	}
	out, err := one.Run(t.Context(), json.RawMessage(s.args))
	if got := servers.Status()[0].Revision; err != nil || !strings.Contains(show(out), "hello") || got != revision {
		t.Errorf("%s: revision %s returned %q, %v", what, got, show(out), err)
	}
	return time.Since(began)
}

// A server that npx downloads for more than half a minute is used by the first run that names it.
func TestFirstStartWithNpx(t *testing.T) {
	t.Parallel() // it mostly waits
	toolpost := filepath.Join(suitePrograms(t), "toolpost")
	npx, err := exec.LookPath("npx")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"npx":     "#!/bin/sh\nsleep 31\nexec " + npx + ` "$@"`,
		"c.yaml":  "mcp_servers:\n  memory: {command: " + filepath.Join(dir, "npx") + `, args: [-y, "@modelcontextprotocol/server-memory"], env: {npm_config_cache: ` + filepath.Join(dir, "cache") + ", MEMORY_FILE_PATH: " + filepath.Join(dir, "m.jsonl") + "}}\n",
		"w.txtar": "Reads.\n-- 1 --\ncall memory__read_graph\n-- 2 --\ntext Done.\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(toolpost, "run", "-m", "sim/script:w.txtar", "--config", "c.yaml", "--mcp", "memory", "--yes", "What do you know?")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+dir)
	out, err := cmd.CombinedOutput()
	for _, want := range []string{"waiting for the servers of --mcp", "✓ memory__read_graph", "Done."} {
		if !strings.Contains(string(out), want) {
			t.Errorf("it ended with %v and without %q:\n%s", err, want, out)
		}
	}
}
