package serve_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/codingagents"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/internal/testkit"
)

// TestServeForNamesEverySize: Claude Code is told a name for opus, sonnet and haiku, and the window of its model.
func TestServeForNamesEverySize(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gateway.yaml")
	for routes, want := range map[string]map[string]string{
		"{model: fast, to: [{model: sim/offline}]}":                                                                                   {"MODEL": "fast", "DEFAULT_OPUS_MODEL": "fast", "DEFAULT_HAIKU_MODEL": "fast"},
		"{model: claude-*, to: [{model: anthropic/claude-*}]}":                                                                        {"MODEL": "claude-sonnet-", "DEFAULT_OPUS_MODEL": "claude-opus-", "DEFAULT_HAIKU_MODEL": "claude-haiku-"},
		"{model: claude-*, to: [{model: openai/gpt-5}]}":                                                                              {"MODEL": "claude-sonnet-", "DEFAULT_HAIKU_MODEL": "claude-haiku-", "AUTO_COMPACT_WINDOW": "400000"},
		"{model: my-haiku, to: [{model: sim/offline}]}\n    - {model: big, to: [{model: openai/gpt-5}]}":                              {"MODEL": "my-haiku", "DEFAULT_HAIKU_MODEL": "my-haiku"},
		"{model: big, to: [{model: openai/gpt-5}]}\n    - {model: my-haiku, to: [{model: sim/offline}]}":                              {"MODEL": "big", "DEFAULT_HAIKU_MODEL": "my-haiku", "DEFAULT_OPUS_MODEL": "big", "AUTO_COMPACT_WINDOW": "400000", "MAX_OUTPUT_TOKENS": "128000"},
		"{model: \"*\", to: [{model: sim/offline}]}":                                                                                  {"MODEL": "any", "DEFAULT_OPUS_MODEL": "any"},
		"{model: my-haiku, from: [chat], to: [{model: sim/offline}]}\n    - {model: b, from: [messages], to: [{model: sim/offline}]}": {"MODEL": "b", "DEFAULT_HAIKU_MODEL": "b"},
	} {
		programtest.WriteFile(t, file, "gateway:\n  routes:\n    - "+routes+"\n")
		got := programtest.Run(t, "", "serve", "--config", file, "--for", "claude-code")
		for name, value := range want {
			line := cmp.Or(map[string]string{"AUTO_COMPACT_WINDOW": "CLAUDE_CODE_", "MAX_OUTPUT_TOKENS": "CLAUDE_CODE_"}[name], "ANTHROPIC_") + name
			if !strings.Contains(got.Out, fmt.Sprintf("%q: \"%s", line, value)) {
				t.Errorf("%s: %s is not %s:\n%s%s", routes, line, value, got.Out, got.ErrOut)
			}
		}
	}
}

// TestServeForWrites: --write edits the configuration of the agent, keeps a copy, and changes nothing the second time.
func TestServeForWrites(t *testing.T) {
	home := programtest.OwnHome(t)
	file := filepath.Join(home, ".claude", "settings.json")
	const before = "{\n  // mine\n  \"model\": \"opus\"\n}\n"
	programtest.Place(t, file, before)
	programtest.Must(t, programtest.Run(t, "", "serve", "--for", "claude-code", "--write"), 0, "it was copied to "+file+".before-toolpost")
	text, _ := os.ReadFile(file)
	copied, _ := os.ReadFile(file + ".before-toolpost")
	if !strings.Contains(string(text), "// mine") || !strings.Contains(string(text), "http://127.0.0.1:8230") || string(copied) != before {
		t.Errorf("%s\n%s", text, copied)
	}
	programtest.Must(t, programtest.Run(t, "", "serve", "--for", "claude-code", "--write"), 0, "is as it should be")
	programtest.WriteFile(t, file, "{")
	programtest.Must(t, programtest.Run(t, "", "serve", "--for", "claude-code", "--write"), 1, file+": line 1: the file ends before the closing }")
	programtest.Must(t, programtest.Run(t, "", "serve", "--for", "copilot", "--write"), 0, "no file for this, only variables", "export COPILOT_MODEL=")
	programtest.Must(t, programtest.Run(t, "", "serve", "--write"), 2, "--for AGENT")
	programtest.Must(t, programtest.Run(t, "", "serve", "--for", "codex", "--try", "--write"), 2, "give one of them")
	programtest.Must(t, programtest.Run(t, "", "serve", "--for", "codex", "--check"), 2, "leave out --check")
}

// TestServeForTries: --try asks once for each name that the agent will use, in its format.
func TestServeForTries(t *testing.T) {
	programtest.OwnHome(t)
	for _, a := range codingagents.All {
		if a.Name != "gemini-cli" {
			programtest.Must(t, programtest.Run(t, "", "serve", "--for", a.Name, "--try"), 0, "any   yes")
		}
	}
	file := filepath.Join(t.TempDir(), "gateway.yaml")
	programtest.WriteFile(t, file, "gateway:\n  routes:\n    - {model: my-model, to: [{model: sim/offline}]}\n    - {model: gemini-2.5-flash, to: [{model: sim/offline}]}\n")
	got := programtest.Run(t, "", "serve", "--config", file, "--for", "gemini-cli", "--try")
	programtest.Must(t, got, 1, "my-model", "2 of 4 names that Gemini CLI asks for do not work")
	for name, works := range map[string]string{"my-model": "yes", "gemini-2.5-flash": "yes", "gemini-2.5-pro": "no", "gemini-2.5-flash-lite": "no"} {
		found := false
		for _, line := range strings.Split(got.Out, "\n") {
			f := strings.Fields(line)
			found = found || len(f) > 1 && f[0] == name && f[1] == works
		}
		if !found {
			t.Errorf("%s: not %s\n%s", name, works, got.Out)
		}
	}
}

// TestCodingAgentsPage: the page about coding agents is generated from the table of agents.
func TestCodingAgentsPage(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Coding agents on the gateway

After this page your coding agent can use any model, also one without tools. Install the agent first. Then choose one of two ways.

**Launch.** One command starts a gateway and the agent, and stops both. Your configuration of the agent stays as it is.

` + "```sh" + `
toolpost launch claude-code                          # the model that toolpost run would choose
toolpost launch codex --model ollama/qwen3:8b        # any model of docs/providers.md
toolpost launch claude-code -m fast -- --continue    # a route of your configuration; the agent's arguments after --
` + "```" + `

The exit code is that of the agent. Ctrl-C and other signals reach it. The log of the gateway is in ` + "`launch.log`" + ` in the state folder.

**Serve.** Run one gateway for all your agents. ` + "`--write`" + ` edits the configuration of an agent: comments and other settings stay, and the file is copied
before it changes. A file that cannot be edited safely is refused. Without ` + "`--write`" + ` the lines are printed.

` + "```console" + `
$ toolpost serve --for opencode --write
…
$ toolpost serve --for claude-code --try
…
` + "```" + `

` + "`--try`" + ` asks once for each name that the agent will use, and shows which work. Then start the gateway with ` + "`toolpost serve`" + `, and the agent.

An agent is told the names of your routes, with the context window, the output limit and the prices of their models, as far as the
[catalogue](../models.md) knows them and the agent takes them. If the gateway has keys, replace ` + "`YOUR-KEY`" + ` by a key from ` + "`toolpost keys`" + `.

## Other models for other tasks

Claude Code asks for opus, sonnet and haiku: the main model, sub-agents and titles. Routes whose names have these words get these tasks. A route can
also pass a request to another route: a request for thinking, a long one, or one with images.

` + "```yaml" + `
gateway:
  routes:
    - model: claude-sonnet            # the default
      to: [{model: openai/gpt-5}]
      thinking_route: claude-opus     # requests that ask for thinking
      long_route: long                # requests of more than long_over tokens, estimated
      long_over: 60000
      image_route: eyes               # requests with an image
    - model: claude-haiku             # the background: titles, summaries, small sub-agents
      to: [{model: ollama/qwen3:8b}]
    - model: claude-opus
      to: [{model: deepseek/deepseek-reasoner}]
    - model: long
      to: [{model: gemini/gemini-2.5-pro}]
    - model: eyes
      to: [{model: openai/gpt-4o}]
` + "```" + `

The order is image, long, thinking. A request is passed on once. A key without the right to the other route stays at the first.

## The agents

This part is generated. ` + "`conformance/run agents`" + ` runs the agents that a package registry has ([results](../../conformance/README.md#libraries-and-agents)).
`)
	for _, a := range codingagents.All {
		fmt.Fprintf(&b, "\n### %s\n\n", a.Title)
		var files []string
		for _, f := range a.Files {
			files = append(files, "`"+f.Path+"`")
		}
		if len(files) > 0 {
			fmt.Fprintf(&b, "`toolpost serve --for %s --write` edits %s.", a.Name, strings.Join(files, " and "))
		} else {
			fmt.Fprintf(&b, "`toolpost serve --for %s` prints its variables.", a.Name)
		}
		if a.Program != "" {
			fmt.Fprintf(&b, " `toolpost launch %s` starts it.", a.Name)
		}
		if a.Note != "" {
			b.WriteString(" " + strings.NewReplacer("{URL}", "http://127.0.0.1:8230").Replace(a.Note))
		}
		b.WriteString("\n")
	}
	testkit.Page(t, "../../../../docs/gateway/agents.md", b.String())
}

// TestTaskRoutesOfThePage: the routes that the page shows for other tasks are a valid configuration.
func TestTaskRoutesOfThePage(t *testing.T) {
	programtest.OwnHome(t)
	page, err := os.ReadFile(filepath.Join(programtest.ModuleRoot(t), "docs", "gateway", "agents.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	config, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the page shows no routes")
	}
	file := filepath.Join(t.TempDir(), "gateway.yaml")
	programtest.WriteFile(t, file, config)
	programtest.Must(t, programtest.Run(t, "", "serve", "--check", "--config", file), 0, "the routes are in order")
	programtest.Must(t, programtest.Run(t, "", "serve", "--for", "claude-code", "--config", file), 0, `"ANTHROPIC_MODEL": "claude-sonnet"`, `"ANTHROPIC_DEFAULT_HAIKU_MODEL": "claude-haiku"`)
	programtest.WriteFile(t, file, strings.ReplaceAll(config, "thinking_route: claude-opus", "thinking_route: nobody"))
	programtest.Must(t, programtest.Run(t, "", "serve", "--check", "--config", file), 1, `no other route is for "nobody"`, "thinking_route")
}
