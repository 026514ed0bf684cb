package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/program"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/run"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/internal/testkit"
	"github.com/toolpost/toolpost/mcpbridge/config"
)

// settingDefaults are the defaults of settings, for the page. A setting without a default has none.
var settingDefaults = map[string]string{
	"model": "found by itself", "local": "ollama, llamacpp, vllm, lmstudio", "root": "the current folder", "allow": "nothing", "sandbox": "false",
	"lanes": "auto", "gate": "auto", "cache": "false", "system": "a short one", "max_turns": "20, at most 500", "max_tokens": "the model's own", "results": "detailed",
	"tool_tokens": "an eighth of the model's context, 4,000 to 16,000", "temperature": "the model's own", "journal": "`runs` in the state folder",
	"limits": "see [providers](../providers.md#answers-without-end)",
}

// settingPages are the pages that explain a setting.
var settingPages = map[string]string{
	"sandbox": "builtin-tools.md", "gate": "emulation.md#small-models", "tools": "run.md#your-own-tools", "lanes": "mcp.md#choose-the-lane-of-a-tool", "results": "shorten.md", "tool_tokens": "many-tools.md",
	"budget_usd": "run.md#what-it-may-cost", "gateway": "gateway/configuration.md", "mcp_servers": "mcp.md", "agent_programs": "agent-programs.md",
	"tasks": "configuration.md#tasks-with-a-name", "providers": "gateway/configuration.md#servers-accounts-regions-and-endpoints", "journal": "receipts.md",
}

// settingSections are the settings with keys of their own; those of gateway and providers have a separate page.
var settingSections = []struct {
	title string
	of    reflect.Type
	keys  map[string]string
}{
	{"limits", reflect.TypeFor[settings.LimitsConfig](), map[string]string{
		"bytes": "bytes of a response", "text": "bytes of text and arguments", "thinking": "bytes of thinking", "events": "events", "time": "time of the vendor",
		"idle": "time without content; see [providers](../providers.md#answers-without-end)",
	}},
	{"tasks.NAME", reflect.TypeFor[settings.TaskConfig](), map[string]string{
		"task": "the task; `{1}` to `{9}` and `{args}` are words after the name", "model": "overrides `model`", "system": "overrides `system`",
		"allow": "overrides `allow`", "tools": "overrides `tools`", "max_turns": "overrides `max_turns`",
	}},
	{"mcp_servers.NAME", reflect.TypeFor[config.ServerEntry](), map[string]string{
		"type": "`stdio`, `http` or `sse`; default: by `command` or `url`", "command": "the program of a stdio server", "args": "its arguments",
		"env": "its variables", "envFile": "a file with `NAME=value` lines, relative to the configuration", "cwd": "its folder", "url": "the address",
		"headers": "headers of every request", "protocol": "`auto` (default), `2025-11-25` (that or older) or `2026-07-28` (nothing else)", "connect_timeout": "time to get ready (`30s`; with `npx`, `uvx` and the like `2m`)", "call_timeout": "time of a call (`60s`; relayed `10m`)",
		"tools": "tools to use, by the server's names; default or `[\"*\"]` all, `[]` none", "disabled_tools": "tools that are not used", "trust": "`none` (default) or `annotations`",
		"sampling": "`true` lets the server ask the run's model", "enabled": "`false`: only if `--mcp` names it",
	}},
	{"agent_programs.NAME", reflect.TypeFor[settings.ProgramEntry](), map[string]string{
		"format": "output of the program: `claude` (`stream-json`) or `codex` (`codex exec --json`)", "command": "the program", "args": "extra arguments",
		"env": "all variables of the program; name `PATH` and `HOME` if needed", "cwd": "its folder; default: an empty temporary folder",
		"settings": "only `codex`, optional: a file (path relative to the configuration) with the start of its `config.toml`, without `mcp_servers`",
		"bridge":   "name of the MCP server with the tools (`toolpost`)", "max_turns": "only `claude`: limit of its turns",
	}},
}

// otherVariables are variables of the environment that are not settings.
var otherVariables = []struct{ names, meaning string }{
	{"TOOLPOST_CONFIG", "the configuration file"},
	{"TOOLPOST_MODELS", "the file of [model data](../models.md)"},
	{"TOOLPOST_MCP_KEYS", "keys of clients of [`toolpost mcp serve`](../mcp.md#serving-tools)"},
	{"TOOLPOST_GATEWAY_KEYS, TOOLPOST_GATEWAY_STATE, TOOLPOST_ADMIN_KEY", "stores and administrator key of the [gateway](../gateway/keys.md)"},
	{"TOOLPOST_BUDGET_WEBHOOK", "the [webhook](../gateway/keys.md#alerts) of the gateway"},
	{"TOOLPOST_CONSOLE_ACCOUNTS", "accounts of the [console](../console.md#several-people)"},
	{"NO_COLOR", "no colours"},
	{"OTEL_EXPORTER_OTLP_ENDPOINT", "the collector for traces and metrics, like `http://127.0.0.1:4318`"},
	{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "the complete address for traces, or metrics"},
	{"OTEL_EXPORTER_OTLP_HEADERS, OTEL_EXPORTER_OTLP_TRACES_HEADERS", "headers for the collector: `name=value,other=value`"},
	{"OTEL_EXPORTER_OTLP_PROTOCOL, OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "`grpc` is refused; the collector gets JSON over HTTP"},
	{"OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES", "attributes of the program"},
	{"OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG", "`always_on`, `always_off`, `traceidratio`, also `parentbased_…`"},
	{"OTEL_TRACES_EXPORTER, OTEL_METRICS_EXPORTER", "`none` sends no traces, or no metrics"},
	{"OTEL_SDK_DISABLED", "`true` sends neither"},
}

var variableName = regexp.MustCompile(`\b(?:TOOLPOST|OTEL)_[A-Z_]*[A-Z]\b`)

// TestVariablesAreInTheReference: every variable that the source of the command names is on the page of settings.
func TestVariablesAreInTheReference(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := variableName.FindAllString(string(page), -1)
	documented = append(documented, "TOOLPOST_KEY", "TOOLPOST_API_KEY") // in the lines for coding agents, which read them
	found := 0
	for _, dir := range []string{".", "../../observe/otlp", "../../catalog", "../../provider", "../../gateway", "../../mcpbridge", "../../journal", "../../agent"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, name := range variableName.FindAllString(string(text), -1) {
				if strings.HasPrefix(name, "TOOLPOST_TEST_") {
					continue
				}
				found++
				if !slices.Contains(documented, name) {
					t.Errorf("%s: the variable %s is not in docs/reference/settings.md", path, name)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 40 {
		t.Errorf("only %d variables were found", found)
	}
}

// TestSettingsReference: the page of settings is generated from the table of settings.
func TestSettingsReference(t *testing.T) {
	var page strings.Builder
	page.WriteString("# Settings\n\nLook up a setting of `toolpost`. [Configuration](../configuration.md) explains the file; `toolpost config show` prints the values in effect. " +
		"This page is generated.\n\n| key | variable | flag of `run` | default | meaning |\n|---|---|---|---|---|\n")
	flags := run.New().Flags()
	for _, row := range settings.Table {
		flag := ""
		if f := flags.Lookup(strings.ReplaceAll(row.Key, "_", "-")); f != nil {
			flag = "`--" + f.Name + "`"
			if f.Shorthand != "" {
				flag = "`-" + f.Shorthand + "`, " + flag
			}
		}
		help := row.Help
		if link := settingPages[row.Key]; link != "" {
			help += " ([more](../" + link + "))"
		}
		fmt.Fprintf(&page, "| `%s` | %s | %s | %s | %s |\n", row.Key, row.Env, flag, settingDefaults[row.Key], help)
	}
	for _, section := range settingSections {
		fmt.Fprintf(&page, "\n## %s\n\n| key | meaning |\n|---|---|\n", section.title)
		for i := range section.of.NumField() {
			key, _, _ := strings.Cut(section.of.Field(i).Tag.Get("yaml"), ",")
			if section.keys[key] == "" {
				t.Errorf("%s: the key %s has no explanation", section.title, key)
			}
			fmt.Fprintf(&page, "| `%s` | %s |\n", key, section.keys[key])
		}
		if len(section.keys) != section.of.NumField() {
			t.Errorf("%s: %d keys are explained, and there are %d", section.title, len(section.keys), section.of.NumField())
		}
	}
	page.WriteString("\n## Other variables\n\n| variable | meaning |\n|---|---|\n")
	for _, v := range otherVariables {
		fmt.Fprintf(&page, "| `%s` | %s |\n", strings.ReplaceAll(v.names, ", ", "`, `"), v.meaning)
	}
	testkit.Page(t, "../../docs/reference/settings.md", page.String())
	for _, names := range []map[string]string{settingDefaults, settingPages} {
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if !slices.ContainsFunc(settings.Table, func(row settings.Setting) bool { return row.Key == name }) {
				t.Errorf("there is no setting %s", name)
			}
		}
	}
}

// TestCommandsReference: the page of commands is generated from the commands, with every flag.
func TestCommandsReference(t *testing.T) {
	var page strings.Builder
	page.WriteString("# Commands\n\nLook up a command and its flags. `toolpost COMMAND --help` adds an explanation and examples. This page is generated.\n\n" +
		"Exit status: 0 done; 1 the task failed; 2 wrong use; 3 a run waits for a person; 130 interrupted; 143 ended by SIGTERM. `serve` ends with 0 on both signals.\n")
	writeCommand(t, &page, program.New())
	testkit.Page(t, "../../docs/reference/commands.md", page.String())
}

func writeCommand(t *testing.T, page *strings.Builder, cmd *cobra.Command) {
	if cmd.Hidden {
		return
	}
	if cmd.Runnable() && cmd.HasParent() {
		fmt.Fprintf(page, "\n## %s\n\n%s.\n\n```text\n%s\n```\n", cmd.CommandPath(), strings.TrimSuffix(cmd.Short, "."), cmd.UseLine())
		var rows []string
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" {
				return
			}
			if f.Usage == "" {
				t.Errorf("%s: the flag --%s has no explanation", cmd.CommandPath(), f.Name)
			}
			rows = append(rows, flagRow(f))
		})
		if len(rows) > 0 {
			page.WriteString("\n| flag | default | meaning |\n|---|---|---|\n" + strings.Join(rows, ""))
		}
	}
	for _, sub := range cmd.Commands() {
		writeCommand(t, page, sub)
	}
}

func flagRow(f *pflag.Flag) string {
	value, usage := pflag.UnquoteUsage(f)
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + "`, `" + name
	}
	if value != "" {
		name += " " + value
	}
	def := f.DefValue
	if def == "false" || def == "[]" || def == "0" || def == "0s" || strings.HasPrefix(def, "/") {
		def = ""
	}
	return fmt.Sprintf("| `%s` | %s | %s |\n", name, cell(def), cell(usage))
}

// cell makes text fit into a cell of a table.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(s)
}
