package mcp

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/toolpost/toolpost/mcpbridge/config"
)

// python returns the interpreter that has the official Python SDK.
func python(t *testing.T) string {
	t.Helper()
	interpreter := os.Getenv("TOOLPOST_MCP_PYTHON")
	if interpreter == "" {
		t.Skip("no servers: run conformance/run mcp, which installs them")
	}
	return interpreter
}

// pythonCalls are calls of each tool of server.py.
var pythonCalls = []call{
	{"echo", `{"text":"hello","times":2}`, "hello hello"},
	{"echo", `{"times":2}`, "!"},
	{"add", `{"a":2,"b":40}`, `"total": 42`},
	{"fail", `{"why":"no such thing"}`, "!"},
	{"fail", `{}`, "!Error executing tool fail"},
	{"picture", `{}`, "<image image/png>"},
	{"slow", `{"steps":3}`, "done"},
	{"read_resource", `{}`, "The server lists no resources"},
}

// TestPythonOverStdio uses a server made with the official Python SDK.
func TestPythonOverStdio(t *testing.T) {
	use(t, config.ServerConfig{Name: "python", Command: python(t), Args: []string{"server.py"}}, pythonCalls)
}

// TestPythonOverHTTP does so by streamable HTTP.
func TestPythonOverHTTP(t *testing.T) {
	interpreter, port := python(t), freePort(t)
	cmd := exec.CommandContext(t.Context(), interpreter, "server.py", fmt.Sprint(port))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	address := fmt.Sprintf("127.0.0.1:%d", port)
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	use(t, config.ServerConfig{Name: "python", URL: "http://" + address + "/mcp"}, pythonCalls)
}
