package mcp

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
)

// servedScenarios are the scenarios of the suite that need a server of tools. The others need what is not served:
// resources, prompts, completion, log messages, the client's model, roots and tasks.
var servedScenarios = map[string][]string{
	"2025-11-25": {
		"server-initialize", "server-session-lifecycle", "ping", "tools-list", "tools-call-simple-text", "tools-call-image", "tools-call-audio", "tools-call-embedded-resource",
		"tools-call-mixed-content", "tools-call-error", "tools-call-with-progress", "tools-call-elicitation", "elicitation-sep1034-defaults", "elicitation-sep1330-enums",
		"server-sse-multiple-streams", "dns-rebinding-protection", "json-schema-2020-12",
	},
	"2026-07-28": {
		"tools-list", "tools-call-simple-text", "tools-call-image", "tools-call-audio", "tools-call-embedded-resource", "tools-call-mixed-content", "tools-call-error",
		"tools-call-with-progress", "server-sse-multiple-streams", "dns-rebinding-protection", "json-schema-2020-12", "http-header-validation",
		"input-required-result-unsupported-methods", "input-required-result-validate-input",
	},
}

// TestSuiteOfServe runs the official suite against our own server, with the tools that the suite asks for.
func TestSuiteOfServe(t *testing.T) {
	bin := suitePrograms(t)
	address := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	awaitLine(t, background(t, filepath.Join(bin, "mcp-server"), address), "listening")
	for revision, want := range servedScenarios {
		lines, all, _ := runSuite(t, "server", "--url", "http://"+address+"/mcp", "--requirements", revision)
		got := passes(lines)
		for _, name := range want {
			if got[name] == "" || got[name] == "0" {
				t.Errorf("%s: %s fails, or checks nothing", revision, name)
			}
		}
		if len(lines) == 0 || t.Failed() {
			t.Fatalf("%s", all)
		}
		var more []string
		for name, checks := range got {
			if !slices.Contains(want, name) && checks != "0" {
				more = append(more, name)
			}
		}
		t.Logf("%s: %d scenarios of tools pass, and %v", revision, len(want), more)
	}
}
