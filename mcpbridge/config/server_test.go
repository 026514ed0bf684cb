package config

import (
	"strings"
	"testing"
	"time"
)

// A server that may be downloaded before it starts has more time for that, unless the configuration names one.
func TestTimeToInstallAServer(t *testing.T) {
	for command, want := range map[string]time.Duration{
		"npx -y @modelcontextprotocol/server-memory": 2 * time.Minute,
		"/usr/local/bin/npx -y x":                    2 * time.Minute,
		`C:\nodejs\NPX.CMD -y x`:                     2 * time.Minute,
		"cmd /c npx -y x":                            2 * time.Minute,
		"cmd /C":                                     30 * time.Second,
		"uvx mcp-server-time":                        2 * time.Minute,
		"uv tool run mcp-server-time":                2 * time.Minute,
		"uv --version":                               30 * time.Second,
		"docker run -i --rm mcp/time":                2 * time.Minute,
		"docker":                                     30 * time.Second,
		"pipx run x":                                 2 * time.Minute,
		"node server.js":                             30 * time.Second,
		"npm start":                                  30 * time.Second,
		"./npx-server":                               30 * time.Second,
	} {
		words := strings.Fields(command)
		server := ServerConfig{Name: "x", Command: words[0], Args: words[1:]}
		if got := server.ConnectTimeout(); got != want {
			t.Errorf("%s has %s, want %s", command, got, want)
		}
		server.Connect = 7 * time.Second
		if got := server.ConnectTimeout(); got != server.Connect {
			t.Errorf("%s has %s, and its setting is %s", command, got, server.Connect)
		}
	}
	if got := (ServerConfig{Name: "x", URL: "https://example.org/npx"}).ConnectTimeout(); got != 30*time.Second {
		t.Errorf("an address has %s", got)
	}
}
