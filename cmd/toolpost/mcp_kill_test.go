//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
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
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/internal/mcptest"
)

// slowShop is a server that counts its effects. Its tool has taken effect when it reports that it was begun, and does not
// return.
func slowShop(t *testing.T) (url string, orders *atomic.Int32, begun chan struct{}) {
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
	url = mcptest.HTTP(t, s, nil) + "/mcp"
	t.Cleanup(end) // before the server is closed
	return url, orders, begun
}

func wait(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(longWait):
		t.Fatalf("there is still not %s", what)
	}
}

// onlyRecord returns the record of the only run.
func onlyRecord(t *testing.T) (id, text string) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(settings.StateDir(), "runs", "*.jsonl"))
	if len(files) != 1 {
		t.Fatalf("the records are %v", files)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(filepath.Base(files[0]), ".jsonl"), string(b)
}

// Each path is killed while a tool of an MCP server runs. The record says that the tool had begun, and nothing calls it
// again by itself.
func TestKilledWhileAServersToolRuns(t *testing.T) {
	handshake := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	for name, c := range map[string]struct {
		args []string
		tool string // that a client calls; "" if the model does
	}{
		"run":   {[]string{"run", "-m", "sim/script:s.txtar", "--yes", "--mcp", "URL", "Order."}, ""},
		"serve": {[]string{"mcp", "serve", "--mcp", "URL", "--yes"}, "127-0-0-1__order"},
		"relay": {[]string{"mcp", "serve", "--through", "URL", "--yes"}, "order"},
	} {
		t.Run(name, func(t *testing.T) {
			clitest.Bare(t, map[string]string{"s.txtar": "Orders.\n-- 1 --\ncall 127-0-0-1__order\n-- 2 --\ntext Done.\n"})
			url, orders, begun := slowShop(t)
			args := strings.Split(strings.ReplaceAll(strings.Join(c.args, "\x00"), "URL", url), "\x00")
			cmd := program(t, args...)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			errOut := start(t, cmd)
			if c.tool != "" {
				if _, err := in.Write([]byte(handshake + `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"` + c.tool + `","arguments":{}}}` + "\n")); err != nil {
					t.Fatal(err)
				}
			} else {
				in.Close()
			}
			select {
			case <-begun:
			case <-time.After(longWait):
				t.Fatalf("the tool was not called: %s", errOut)
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			await(t, cmd, errOut)
			id, record := onlyRecord(t)
			if !strings.Contains(record, `"kind":"intent"`) || strings.Contains(record, `"kind":"receipt"`) {
				t.Errorf("the record is\n%s", record)
			}
			if c.tool == "" {
				again := program(t, "run", "-m", "sim/script:s.txtar", "--yes", "--mcp", url, "--resume", id)
				e := await(t, again, start(t, again))
				if _, record := onlyRecord(t); !strings.Contains(record, `"status":"unknown"`) || strings.Contains(record, "changed nothing") {
					t.Errorf("after %+v the record is\n%s", e, record)
				}
			}
			if n := orders.Load(); n != 1 {
				t.Errorf("there are %d orders", n)
			}
		})
	}
}

// mcp serve ends with 143 after SIGTERM and with 130 after SIGINT, also while a call runs; the record is sealed.
func TestMCPServeExitStatusAfterSignals(t *testing.T) {
	for signal, want := range map[syscall.Signal]int{syscall.SIGTERM: cli.ExitTerminated, syscall.SIGINT: cli.ExitInterrupted} {
		for _, busy := range []bool{false, true} {
			clitest.Bare(t, nil)
			url, _, begun := slowShop(t)
			cmd := program(t, "mcp", "serve", "--mcp", url, "--yes")
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			errOut := start(t, cmd)
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
			if e := await(t, cmd, errOut); e.code != want || e.signal != nil {
				t.Errorf("after %v (busy %t) it ended with %+v", signal, busy, e)
			}
			if busy {
				id, _ := onlyRecord(t)
				must(t, toolpost(t, "", "receipts", "verify", id), cli.ExitOK, "sealed")
			}
		}
	}
}

// mcp serve over HTTP ends with the same statuses.
func TestMCPServeHTTPExitStatusAfterSignals(t *testing.T) {
	for signal, want := range map[syscall.Signal]int{syscall.SIGTERM: cli.ExitTerminated, syscall.SIGINT: cli.ExitInterrupted} {
		clitest.Bare(t, nil)
		cmd := program(t, "mcp", "serve", "--http", "127.0.0.1:0")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		errOut := start(t, cmd)
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.HasPrefix(line, "listening on ") {
			t.Fatal(line, err, errOut)
		}
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if e := await(t, cmd, errOut); e.code != want || e.signal != nil {
			t.Errorf("after %v it ended with %+v", signal, e)
		}
	}
}
