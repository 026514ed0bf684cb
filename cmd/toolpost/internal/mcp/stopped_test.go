//go:build unix

package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/internal/mcptest"
	"github.com/toolpost/toolpost/sim"
)

// slowShop is a server that counts its effects. Its tool has taken effect when it reports that it was begun, and does not
// return.
func slowShop(t *testing.T, revision string) (url string, orders *atomic.Int32, begun chan struct{}) {
	s := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	orders, begun = new(atomic.Int32), make(chan struct{}, 10)
	over, end := context.WithCancel(context.Background())
	s.AddTool(&mcp.Tool{Name: "order", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		orders.Add(1)
		begun <- struct{}{}
		select {
		case <-ctx.Done():
		case <-over.Done():
		}
		return nil, ctx.Err()
	})
	url = mcptest.HTTP(t, s, nil) + map[bool]string{true: "/mcp", false: "/stateless"}[revision < "2026"]
	t.Cleanup(end) // before the server is closed
	return url, orders, begun
}

func wait(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(programtest.LongWait):
		t.Fatalf("there is still not %s", what)
	}
}

// callOf returns the messages of a client that calls a tool, with the id 2, and can be asked.
func callOf(revision, name, more string) string {
	if revision < "2026" {
		return strings.Replace(mcpSays(mcpCall("2", name, "{}")), `"capabilities":{}`, `"capabilities":{"elicitation":{}}`, 1)
	}
	return `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"` + name + `","arguments":{}` + more + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"` + revision +
		`","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}}}` + "\n"
}

// stopped is a path by which a tool of an MCP server is called.
type stopped struct {
	args []string
	tool string // that a client calls over standard input; "" if none does
	http bool   // the client calls by HTTP
}

// Each path is killed, cancelled or out of time while a tool of an MCP server runs. The tool is called once. The record
// has its intent, and nothing reports that it was not run.
func TestStoppedWhileAServersToolRuns(t *testing.T) {
	for way, path := range map[string]stopped{
		"run":     {args: []string{"run", "-m", "sim/script:s.txtar", "--yes", "--config", "c.yaml", "Order."}},
		"call":    {args: []string{"mcp", "call", "one", "order", "--yes", "--config", "c.yaml"}},
		"serve":   {args: []string{"mcp", "serve", "--mcp", "one", "--yes", "--config", "c.yaml"}, tool: "one__order"},
		"relay":   {args: []string{"mcp", "serve", "--through", "one", "--yes", "--config", "c.yaml"}, tool: "order"},
		"gateway": {args: []string{"serve", "--config", "c.yaml"}, http: true},
	} {
		for _, stop := range []string{"kill", "cancel", "timeout"} {
			for _, revision := range []string{"2025-11-25", "2026-07-28"} {
				t.Run(way+" "+stop+" "+revision, func(t *testing.T) {
					t.Parallel() // a process mostly waits
					path.test(t, stop, revision)
				})
			}
		}
	}
}

func (path stopped) test(t *testing.T, stop, revision string) {
	m, orders, begun := slowShopMachine(t, stop, revision)
	runs := filepath.Join(m.Dir, "runs")
	cmd := m.Program(path.args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	errOut := programtest.Start(t, cmd)
	t.Cleanup(func() { cmd.Process.Kill() })
	lines := linesOf(out)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	answered := make(chan struct{})
	switch {
	case path.http:
		address := strings.TrimPrefix(said(t, lines, "listening on "), "listening on ")
		go func() {
			defer close(answered)
			req, _ := http.NewRequestWithContext(ctx, http.MethodPost, address+"/v1/chat/completions", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"Hi"}]}`))
			if resp, err := http.DefaultClient.Do(req); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		}()
	case path.tool != "":
		if _, err := in.Write([]byte(callOf(revision, path.tool, ""))); err != nil {
			t.Fatal(err)
		}
	default:
		in.Close()
	}
	wait(t, "a call", begun)
	served := path.http || path.tool != ""
	switch {
	case stop == "kill":
		cmd.Process.Kill()
	case stop == "cancel" && !served:
		_ = cmd.Process.Signal(syscall.SIGINT)
	case stop == "cancel" && path.http:
		cancel()
	case stop == "cancel":
		_, _ = in.Write([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}` + "\n"))
	case path.http:
		wait(t, "an answer", answered)
	case served:
		said(t, lines, `"id":2`)
	}
	if served && stop != "kill" {
		waitForRecord(t, runs, `"kind":"receipt"`)
		in.Close()
		_ = cmd.Process.Signal(syscall.SIGTERM)
	}
	var printed strings.Builder
	for line := range lines {
		printed.WriteString(line + "\n")
	}
	e := programtest.Await(t, cmd, errOut)
	record := recordsIn(runs)
	if path.args[1] == "call" { // it writes no record
		record = `"kind":"intent"`
		if stop == "timeout" && !strings.Contains(printed.String()+e.ErrOut, "unknown") {
			t.Errorf("%+v, %s", e, printed.String())
		}
	} else if over := strings.Contains(record, `"status":"unknown"`) || strings.Contains(record, "was run and failed"); over == (stop == "kill") {
		t.Errorf("it ended with %+v; the record is\n%s", e, record)
	}
	if path.args[0] == "run" {
		ids, _ := filepath.Glob(filepath.Join(runs, "*.jsonl"))
		again := m.Program("run", "-m", "sim/script:s.txtar", "--yes", "--config", "c.yaml", "--resume", strings.TrimSuffix(filepath.Base(ids[0]), ".jsonl"))
		programtest.Await(t, again, programtest.Start(t, again))
		if record = recordsIn(runs); !strings.Contains(record, `"status":"unknown"`) {
			t.Errorf("after it was resumed, the record is\n%s", record)
		}
	}
	all := record + printed.String() + errOut.String()
	if !strings.Contains(record, `"kind":"intent"`) || strings.Contains(all, "changed nothing") || strings.Contains(all, "It was not run") {
		t.Errorf("the record and the output are\n%s", all)
	}
	if n := orders.Load(); n != 1 {
		t.Errorf("there are %d orders", n)
	}
}

// linesOf returns the lines of an output.
func linesOf(out io.Reader) <-chan string {
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
	}()
	return lines
}

// slowShopMachine is a machine whose model calls the tool of slowShop, in run and in the gateway. Its records are in the
// folder runs.
func slowShopMachine(t *testing.T, stop, revision string) (m programtest.Machine, orders *atomic.Int32, begun chan struct{}) {
	const script = "Orders.\n-- 1 --\ncall one__order\n-- 2 --\ntext Done.\n"
	url, orders, begun := slowShop(t, revision)
	setting := ""
	if revision < "2026" {
		setting = ", protocol: " + revision
	}
	if stop == "timeout" {
		setting += ", call_timeout: " + callTimeout.String()
	}
	model, err := sim.ParseScript([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	upstream := httptest.NewServer(&sim.Server{Model: model})
	t.Cleanup(upstream.Close)
	m = programtest.NewMachine(t, map[string]string{"s.txtar": script, "c.yaml": "mcp_servers:\n  one: {url: " + url + setting + "}\n" +
		"gateway:\n  addr: 127.0.0.1:0\n  routes:\n    - {model: m, to: [{model: \"openai+" + upstream.URL + "/v1#sim/native\", tools: native}], mcp: [one], yes_to: [one__*]}\n"})
	m.Env = append(m.Env, "TOOLPOST_STORE="+filepath.Join(m.Dir, "runs"))
	return m, orders, begun
}

// said returns the first line that contains a word.
func said(t *testing.T, lines <-chan string, word string) string {
	t.Helper()
	for limit := time.After(programtest.LongWait); ; {
		select {
		case line, ok := <-lines:
			if !ok {
				t.Fatalf("the program ended and did not print %q", word)
			}
			if strings.Contains(line, word) {
				return line
			}
		case <-limit:
			t.Fatalf("the program does not print %q", word)
		}
	}
}

// recordsIn returns the text of all records of a folder.
func recordsIn(folder string) string {
	var all strings.Builder
	files, _ := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	for _, file := range files {
		b, _ := os.ReadFile(file)
		all.Write(b)
	}
	return all.String()
}

// waitForRecord waits until a record in the folder contains a word.
func waitForRecord(t *testing.T, folder, word string) {
	t.Helper()
	for end := time.Now().Add(programtest.LongWait); !strings.Contains(recordsIn(folder), word); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no record contains %q", word)
		}
	}
}

// mcp serve ends with 143 after SIGTERM and with 130 after SIGINT, also while a call runs; the record is sealed.
func TestMCPServeExitStatusAfterSignals(t *testing.T) {
	for signal, want := range map[syscall.Signal]int{syscall.SIGTERM: cli.ExitTerminated, syscall.SIGINT: cli.ExitInterrupted} {
		for _, busy := range []bool{false, true} {
			clitest.Bare(t, nil)
			url, _, begun := slowShop(t, "2025-11-25")
			cmd := programtest.Program(t, "mcp", "serve", "--mcp", url, "--yes")
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			errOut := programtest.Start(t, cmd)
			lines := bufio.NewReader(out)
			if _, err := in.Write([]byte(mcpSays())); err != nil {
				t.Fatal(err)
			}
			if _, err := lines.ReadString('\n'); err != nil {
				t.Fatal(err, errOut)
			}
			if busy {
				if _, err := in.Write([]byte(mcpCall("2", "127-0-0-1__order", "{}") + "\n")); err != nil {
					t.Fatal(err)
				}
				wait(t, "a call", begun)
			}
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if e := programtest.Await(t, cmd, errOut); e.Code != want || e.Signal != nil {
				t.Errorf("after %v (busy %t) it ended with %+v", signal, busy, e)
			}
			if busy {
				id, _ := onlyRecord(t)
				programtest.Must(t, programtest.Run(t, "", "receipts", "verify", id), cli.ExitOK, "sealed")
			}
		}
	}
}

// mcp serve over HTTP ends with the same statuses.
func TestMCPServeHTTPExitStatusAfterSignals(t *testing.T) {
	for signal, want := range map[syscall.Signal]int{syscall.SIGTERM: cli.ExitTerminated, syscall.SIGINT: cli.ExitInterrupted} {
		clitest.Bare(t, nil)
		cmd := programtest.Program(t, "mcp", "serve", "--http", "127.0.0.1:0")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		errOut := programtest.Start(t, cmd)
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.HasPrefix(line, "listening on ") {
			t.Fatal(line, err, errOut)
		}
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if e := programtest.Await(t, cmd, errOut); e.Code != want || e.Signal != nil {
			t.Errorf("after %v it ended with %+v", signal, e)
		}
	}
}
