package agentcli

import "testing"

// A file of settings brings no servers, however it writes their name.
func TestSettingsWithServers(t *testing.T) {
	for text, bad := range map[string]bool{
		`model = "x"`:                            false,
		"[mcp_servers.x]\ncommand = \"y\"":       true,
		`"mcp\u005fservers".x.command = "y"`:     true,
		`"mcp_\U00000073ervers" = {command="y"}`: true,
		`note = "a \\u005f \u00zz \u"`:           false,
	} {
		if got := hasServers([]byte(text)); got != bad {
			t.Errorf("%s: %v", text, got)
		}
	}
}
