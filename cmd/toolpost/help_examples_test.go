//go:build unix

package main

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/program"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/sim"
)

// elsewhere lists the examples that this test cannot run, with the reason and the test that covers them.
var elsewhere = map[string]string{
	"toolpost chat": "needs a terminal: TestChatSessions",
	"toolpost chat -m ollama/qwen3:8b --allow write":                                             "needs a terminal: TestChatSessions",
	`toolpost chat -f README.md "What is missing here?"`:                                         "needs a terminal: TestChatSessions",
	"toolpost chat --continue":                                                                   "needs a terminal: TestChatSessions",
	"toolpost sim":                                                                               "serves until it is stopped: TestSim",
	"toolpost sim --addr 127.0.0.1:8080":                                                         "serves until it is stopped: TestSim",
	"toolpost serve":                                                                             "serves until it is stopped: TestServe",
	"toolpost serve --addr 127.0.0.1:9000 --config gateway.yaml":                                 "serves until it is stopped: TestServe",
	"toolpost console":                                                                           "serves until it is stopped: TestConsole",
	"toolpost console --journal sqlite:runs.db --addr 127.0.0.1:9000":                            "serves until it is stopped: TestConsole",
	"toolpost console --gateway http://127.0.0.1:8240":                                           "serves until it is stopped: TestConsole",
	"toolpost mcp serve":                                                                         "serves until it is stopped: TestMCPServe",
	"toolpost mcp serve --root ~/project --allow write --yes-to write_file":                      "serves until it is stopped: TestMCPServe",
	"toolpost sim --script conversation.txtar":                                                   "serves until it is stopped: TestSim",
	"toolpost mcp serve --http 127.0.0.1:8232":                                                   "serves until it is stopped: TestMCPServe",
	"toolpost mcp serve --http 0.0.0.0:8232 --keys keys.txt --host tools.example.org":            "serves until it is stopped: TestMCPServe",
	"toolpost mcp doctor https://mcp.example.org/mcp":                                            "asks a server of the network: TestMCPDoctorInterrupted",
	"toolpost mcp serve --through files":                                                         "serves until it is stopped: TestMCPServe",
	"toolpost mcp serve --through https://mcp.example.org/mcp --yes":                             "serves until it is stopped: TestMCPServe",
	"toolpost sim --script conversation.txtar --unknown sim/native":                              "serves until it is stopped: TestSim",
	"toolpost usage --request req_3AFQ6MHWCA5XQ7B2 --keys sqlite:keys.db":                        "needs a request whose bodies are kept: TestServeLogBodies",
	"toolpost keys set tp-k3f9x2qabc --limit money/month=80 --expires 90d --keys sqlite:keys.db": "needs a key: TestKeysSet",
	"toolpost keys rotate tp-k3f9x2qabc --grace 24h --keys sqlite:keys.db":                       "needs a key: TestKeys",
	"toolpost keys revoke tp-k3f9x2qabc --keys sqlite:keys.db":                                   "needs a key: TestKeys",
	"toolpost keys erase research --user ada --yes --keys sqlite:keys.db":                        "needs a team: TestKeysErase",
	"toolpost runs approve RUN":                                                                  "needs a run that waits: TestRunsWait",
	`toolpost runs approve RUN call_2 --reason "as agreed"`:                                      "needs a run that waits: TestRunsWait",
	`toolpost runs deny RUN --all --reason "not today"`:                                          "needs a run that waits: TestRunsWait",
	"toolpost models update --from https://models.dev/api.json":                                  "needs the network",
	"toolpost mcp remove files":                                                                  "needs a server: TestMCPAddAndImport",
	"toolpost mcp tools files":                                                                   "needs a server: TestMCPCommands",
	"toolpost mcp tools files --approve":                                                         "needs a server: TestMCPCommands",
	"toolpost mcp tools https://mcp.example.org/mcp":                                             "needs a server: TestMCPCommands",
	"toolpost mcp login search":                                                                  "needs a server: TestMCPLogin",
	"toolpost mcp login search --paste":                                                          "needs a server: TestMCPLogin",
	"toolpost mcp login search --client-id 1234 --client-secret-env SEARCH_SECRET":               "needs a server: TestMCPLogin",
	"toolpost mcp logout search":                                                                 "needs a server: TestMCPLogin",
	"toolpost mcp status search --json":                                                          "needs a server: TestMCPLogin",
	"toolpost tools audit --mcp files":                                                           "needs a server: TestMCPAudit",
	"toolpost mcp doctor files --json":                                                           "needs a server: TestMCPCommands",
	`toolpost mcp call files read_text_file '{"path":"README.md"}' --yes`:                        "needs a server: TestMCPCommands",
	"toolpost demo":                                   "shows a refused call: TestDemo",
	"toolpost demo --json":                            "shows a refused call: TestDemo",
	"toolpost demo --no-pause":                        "shows a refused call: TestDemo",
	"toolpost mcp import ~/.codex/config.toml":        "reads a file of another program: TestImport of package config",
	"toolpost upgrade --check":                        "asks the network: package upgrade",
	"toolpost upgrade --check --json":                 "asks the network: package upgrade",
	"toolpost eval tune -m ollama/qwen3:8b --dry-run": "needs a model over HTTP: TestTuneWritesABetterSettingWithItsEvidence",
	"toolpost eval tune suite.yaml -m http://127.0.0.1:8080/v1#smollm2 --every": "needs a model over HTTP: TestTuneWritesABetterSettingWithItsEvidence",
	"toolpost eval diff 3f1c 88a0 --fail-on 'right<-2%'":                        "needs two runs: TestDiffOfTwoRunsShowsBothAnswers",
	"toolpost eval from --journal sqlite:gateway.db --json":                     "needs a gateway: TestFromCountsRecordedRuns",
	"toolpost launch claude-code":                                               "needs a program: TestLaunch",
	"toolpost launch codex --model ollama/qwen3:8b":                             "needs a program: TestLaunch",
	"toolpost launch claude-code -m openai/gpt-5 -- --continue":                 "needs a program: TestLaunch",
	`toolpost run -m agent/codex "What does this folder hold?"`:                 "needs a program: TestAgentPrograms",
}

// exampleFiles are the files that examples use.
var exampleFiles = map[string]string{
	"README.md":           "# Fruit\n\nA checkpoint for aples.\n",
	"docs/a.md":           "Ollama runs models.\n",
	"answer.txt":          "<tool_call>{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Rome\"}}</tool_call>",
	"answers.jsonl":       "{\"id\":1,\"text\":\"hello\"}\n",
	"tools.json":          `[{"name":"get_weather","description":"Returns the forecast for a city. Example: {\"city\": \"Rome\"}. If the city is unknown, it fails with the nearest names. Do not use it for the past; use get_climate instead.","parameters":{"type":"object","properties":{"city":{"type":"string","description":"Name of a city, such as Rome"}},"required":["city"]}}]`,
	"tools.yaml":          "- name: get_weather\n  description: Get the current weather in a city.\n  parameters: {type: object, properties: {city: {type: string, description: The city.}}}\n  effects: [read_only]\n  command: [echo, sunny]\n",
	"answer.json":         `{"type":"object","properties":{"city":{"type":"string"}}}`,
	"order.schema.json":   `{"type":"object"}`,
	"order.json":          `{}`,
	"weather.schema.json": `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`,
	"api.json":            `{"openai":{"id":"openai","models":{"gpt-9":{"id":"gpt-9","name":"GPT-9","tool_call":true,"limit":{"context":1000,"output":100}}}}}`,
	"gateway.yaml":        "gateway:\n  routes:\n    - {model: fast, to: [{model: sim/offline}]}\n",
	"litellm/config.yaml": "model_list: [{model_name: fast, litellm_params: {model: ollama/qwen3:8b}}]\n",
	"cursor.json":         `{"mcpServers":{"things":{"command":"npx"}}}`,
	".mcp.json":           `{"mcpServers":{"other":{"command":"npx"}}}`,
	"workflow.yaml":       "workflow: {runtime: {mcp_servers: {search: {command: npx}}}}\n",
	"suite.yaml":          "tools: tools.json\ncases:\n  - {id: rome, task: What is the weather in Rome?, expect: {calls: [get_weather: {city: Rome}]}}\n",
	"labelled.jsonl":      `{"id":"a","task":"Greet Ann.","answer":"Hello Ann!","rubric":"The answer names Ann.","right":true}` + "\n",
	"toolpost.yaml":       "max_turns: 3\n",
	"openapi.yaml":        "openapi: 3.0.0\ninfo: {title: t, version: '1'}\nservers: [{url: 'https://api.example.org'}]\npaths: {/a: {get: {operationId: a, responses: {}}}}\n",
}

// helpExamples runs the examples of every help text, in printed order. The simulator replaces missing models and
// servers, and ids of existing runs replace those of the examples.
func helpExamples(t *testing.T) {
	clitest.Bare(t, exampleFiles)
	server := httptest.NewServer(new(sim.Server))
	t.Cleanup(server.Close)
	finished := programtest.RunID(t, programtest.Run(t, "", "run", "list the files").ErrOut)
	programtest.Run(t, "", "receipts", "export", finished, "--out", "export")
	programtest.Run(t, "", "receipts", "keygen", "audit.key")
	standIns := strings.NewReplacer(
		"run --resume 20261115-171147-nuyh2e4z", "run -m sim/native --resume "+programtest.StoppedRun(t, "-m", "sim/native+stall=10m", "list the files"), "20261115-171147-nuyh2e4z", finished, " RUN", " "+finished,
		"ollama/qwen3:8b", "sim/native",
		"http://127.0.0.1:8080/v1 smollm2", server.URL+"/v1 sim/native", "http://127.0.0.1:11434/api qwen3:8b", server.URL+"/api sim/native",
		"keygen audit.key", "keygen another.key", "verify --anchor", "verify --allow-open --anchor", "groq/llama-3.3-70b-versatile", server.URL+"/v1#sim/native",
	)
	bin := programtest.Path(t)
	// The MCP servers that examples add must not start: npx would ask the network for them, for many seconds.
	if err := os.WriteFile(filepath.Join(bin, "npx"), []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	visitCommands(program.New(), func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Example) {
			line = strings.TrimSpace(line)
			if line == "" || elsewhere[line] != "" {
				continue
			}
			t.Run(line, func(t *testing.T) {
				if file, _ := settings.File(cmd); filepath.Base(file) == "config.yaml" { // the settings of another example
					os.Remove(file)
				}
				command := strings.ReplaceAll(standIns.Replace(line), "--out DIR", "--out "+filepath.Join(t.TempDir(), "out"))
				out, err := exec.CommandContext(t.Context(), "sh", "-c", command).CombinedOutput()
				if err != nil || strings.Contains(string(out), "✗") {
					t.Errorf("$ %s\n%v\n%s", command, err, out)
				}
			})
		}
	})
}
