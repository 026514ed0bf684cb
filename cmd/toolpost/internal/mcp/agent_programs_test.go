package mcp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
)

// agentScript is an agent program with the output of Codex and without tools.
const agentScript = `cat >/dev/null
echo '{"type":"thread.started","thread_id":"0123456789abcdef"}'
echo '{"type":"item.completed","item":{"id":"item_0","type":"reasoning","text":"Hm."}}'
echo '{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"Hello from the program. '"$SAY"'"}}'
echo '{"type":"turn.completed","usage":{"input_tokens":7,"output_tokens":3}}'
`

// TestAgentPrograms runs the agent programs of a configuration.
func TestAgentPrograms(t *testing.T) {
	const key = "sk-agent-programs-0123456789"
	t.Setenv("AGENT_TEST_KEY", key)
	dir := t.TempDir()
	script := filepath.Join(dir, "agent.sh")
	programtest.Place(t, script, agentScript)
	shell := "agent_programs:\n  mine:\n    format: codex\n    command: sh\n    args: [" + script + "]\n    env: {PATH: \"${PATH}\", SAY: \"${AGENT_TEST_KEY}\"}\n"
	mcpHome(t, shell)
	r := programtest.Run(t, "", "run", "-m", "agent/mine", "Say hello")
	programtest.Must(t, r, 0, "Hello from the program.", "agent/mine")
	if strings.Contains(r.Out+r.ErrOut, key) {
		t.Errorf("a secret is shown:\n%s%s", r.Out, r.ErrOut)
	}
	err := filepath.WalkDir(os.Getenv("XDG_STATE_HOME"), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if text, _ := os.ReadFile(path); strings.Contains(string(text), key) {
			t.Errorf("a secret is in %s", path)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	programtest.Must(t, programtest.Run(t, "", "config", "check"), 0, "agent_programs", "mine")
	programtest.Place(t, "config.yaml", shell+"  absent:\n    format: codex\n    command: no-such-agent-program\n  unset:\n    format: claude\n    command: ${NOT_SET_AT_ALL}/claude\n")
	programtest.Must(t, programtest.Run(t, "", "doctor"), 0, "✓ agent/mine", "– agent/absent", "no-such-agent-program", "– agent/unset", "NOT_SET_AT_ALL", "under agent_programs")
	r = programtest.Run(t, "", "models", "list")
	if programtest.Must(t, r, 0, "agent/mine", "an agent program of the configuration"); strings.Contains(r.Out, "agent/absent") || strings.Contains(r.Out, "agent/unset") {
		t.Errorf("programs that are not there are listed:\n%s", r.Out)
	}
	programtest.Must(t, programtest.Run(t, "", "run", "-m", "agent/other", "Say hello"), 1, "no agent program of the configuration is called other")
	for text, want := range map[string]string{
		"agent_programs:\n  a:\n    comand: x\n":                                                 `the key "comand" is not known`,
		"agent_programs:\n  a:\n    command: x\n":                                                "there are claude and codex",
		"agent_programs:\n  a:\n    format: claude\n    command: x\n    args: [--tools, Bash]\n": "args has --tools",
	} {
		mcpHome(t, text)
		programtest.Must(t, programtest.Run(t, "", "config", "check"), 1, want)
	}
}
