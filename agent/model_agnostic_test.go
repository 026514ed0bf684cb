package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/tool/builtin"
	"github.com/toolpost/toolpost/wire"
)

// TestModelAgnosticCalling has the tests that the document on model-agnostic tool calling
// prints, under their own names. Where its code and its tests disagree, the
// tests stand; what changed is said beside them.
func TestModelAgnosticCalling(t *testing.T) {
	for _, c := range []struct {
		name string
		test func(*testing.T)
	}{
		{"test_tool_description_quality", printedDescriptions},
		{"test_parse_model_id", printedModelIDs},
		{"test_gpt4o_capabilities", capable("gpt-4o", func(m catalog.Model) bool {
			return m.NativeTools == yes && m.ParallelTools == yes && m.ToolStreaming == yes
		})},
		{"test_claude_35_capabilities", capable("claude-3.5-sonnet", func(m catalog.Model) bool {
			return m.NativeTools == yes && m.StrictSchema == yes && m.ResultInUser == yes
		})},
		{"test_small_llama_emulation", capable("llama3:7b", func(m catalog.Model) bool { return m.NativeTools.Support == catalog.No && m.Emulation == "json" })},
		// Unknown is not no: three values. No tools are sent either way.
		{"test_unknown_model_defaults", capable("totally-unknown-model", func(m catalog.Model) bool { return m.NativeTools.Support != catalog.Yes && m.Emulation == "json" })},
		{"test_custom_model_inheritance", capable("mycompany/llama3.3-ft", func(m catalog.Model) bool { return m.NativeTools == yes })},
		{"test_normalize_standard_json", printedReads("\n    Here's what I'll do:\n    \n    ```json\n    {\"tool\": \"write_file\", \"arguments\": {\"path\": \"test.py\", \"content\": \"print('hi')\"}}\n    ```\n    ", "write_file", "")},
		{"test_normalize_llama_quirks", printedReads("\n    {\"tool\": \"read_file\", \"arguments\": {\"path\": \"test.py\",}}\n    ", "read_file", "trailing-comma")},
		{"test_normalize_qwen_function_key", printedReads("\n    {\"function\": \"list_files\", \"arguments\": {\"path\": \".\"}}\n    ", "list_files", "")},
		{"test_file_not_found", failsAs(fs.ErrNotExist, tool.NotFound, true, tool.Rephrase)},
		{"test_permission_denied", failsAs(fs.ErrPermission, tool.Permission, false, tool.Abort)},
		{"test_timeout", failsAs(context.DeadlineExceeded, tool.Timeout, true, tool.Same)},
		{"test_rate_limit", failsAs(errors.New("HTTP 429: Rate limited"), tool.RateLimit, true, tool.Same)},
		{"test_network_failure", failsAs(errors.New("dial tcp: connection refused"), tool.Network, true, tool.Same)},
		{"test_validation_error_rephrase", printedRetries(tool.Validation, []bool{true, true, false}, 1, tool.Rephrase)},
		{"test_timeout_escalates_after_retries", printedRetries(tool.Timeout, []bool{true, true, false}, 3, tool.Escalate)},
		{"test_permission_unrecoverable", printedRetries(tool.Permission, []bool{false, false, false}, 1, tool.Abort)},
		{"test_text_only", printedStream([]string{"Hello, how can I help?"}, "text")},
		{"test_tool_start_detection", printedStream([]string{`Let me help: {"tool"`, `: "write_file", "arguments": {"path": "test.py"}}`}, "text start args call")},
		{"test_tool_name_extraction", printedStream([]string{`{"tool": "read_file", "arguments": {"path": "x.py"}}`}, "start args call")},
		{"test_multiple_tools", printedStream([]string{"\n```json\n{\"tool\": \"read_file\", \"arguments\": {\"path\": \"a.py\"}}\n```\n\n```json  \n{\"tool\": \"read_file\", \"arguments\": {\"path\": \"b.py\"}}\n```\n"}, "start args call start args call")},
		{"test_text_chunk", func(t *testing.T) {
			if (llm.TextDelta{Text: "Hello"}).EventType() != "text_delta" {
				t.Error("a text delta is something else")
			}
		}},
		{"test_tool_chunk", func(t *testing.T) { // is_complete is a type of its own: a Call is complete
			if (llm.Call{}).EventType() == (llm.InvalidCall{}).EventType() {
				t.Error("a complete call and one that is not are told apart by their type")
			}
		}},
		{"test_no_optimization_large_context", printedSelects(tool.Selection{Cost: 128000 / 5}, "", 50, 51)},
		{"test_reduces_tools_small_context", printedSelects(tool.Selection{Cost: 4096 / 5}, "", 1, 49)},
		{"test_prioritizes_by_task_hint", printedSelects(tool.Selection{Cost: 4096 / 5}, "write a python file", 1, 49)},
		{"test_truncates_descriptions_tiny_context", printedCompact},
		{"test_compact_for_small_context", printedPrompt(emulate.PromptOptions{Context: 4096}, func(e emulate.ToolPrompt) bool { return e.Template == "compact" && len(e.System) < 700 })},
		{"test_parallel_prompt", printedPrompt(emulate.PromptOptions{Context: 32000, Parallel: true}, func(e emulate.ToolPrompt) bool { return e.Template == "parallel" })},
		// The elements have other names: those that most models know. <tool_call> is another style.
		{"test_xml_style", printedPrompt(emulate.PromptOptions{Style: "xml"}, func(e emulate.ToolPrompt) bool { return strings.Contains(e.System, "<invoke name=") })},
		{"test_xml_style, tool_call", printedPrompt(emulate.PromptOptions{Style: "hermes"}, func(e emulate.ToolPrompt) bool { return strings.Contains(e.System, "<tool_call>") })},
		{"test_full_tool_cycle_native", printedCycle},
		{"test_full_tool_cycle_emulated", printedReads(`{"tool": "read_file", "arguments": {"path": "x.py"}}`, "read_file", "")},
		{"test_model_switch_journey", func(t *testing.T) {
			capable("gpt-4o", func(m catalog.Model) bool { return m.NativeTools == yes })(t)
			capable("ollama/llama3:7b", func(m catalog.Model) bool { return m.NativeTools.Support == catalog.No })(t)
		}},
		{"test_custom_model_journey", func(t *testing.T) {
			id := catalog.ParseID("mycompany/llama3.3-code-ft")
			if !id.Custom || id.Family != "llama" || id.Version.Compare(catalog.MakeVersion(3, 3)) < 0 {
				t.Errorf("got %+v", id)
			}
			capable("mycompany/llama3.3-code-ft", func(m catalog.Model) bool { return m.NativeTools == yes })(t)
		}},
	} {
		t.Run(c.name, c.test)
	}
}

func printedDescriptions(t *testing.T) {
	files, err := builtin.OpenFiles(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	sum, n := 0.0, 0
	for _, r := range tool.Audit(tool.MustSet(files.Tools()...).Defs()) {
		if r.Score < 0.6 {
			t.Errorf("%s has a poor description: %.1f %v", r.Tool, r.Score, r.Findings)
		}
		sum, n = sum+r.Score, n+1
	}
	if sum/float64(n) < 0.8 {
		t.Errorf("average %.2f", sum/float64(n))
	}
}

func printedModelIDs(t *testing.T) {
	for id, want := range map[string]string{
		"gpt-4o": "gpt 4 0", "gpt-4-turbo": "gpt 4 0", "gpt-3.5-turbo": "gpt 3.5 0", "o1-preview": "o1  0",
		"claude-3.5-sonnet": "claude 3.5 0", "claude-3-opus": "claude 3 0", "claude-sonnet-4-20250514": "claude 4 0",
		"llama3.3:70b": "llama 3.3 70000000000", "meta-llama/Llama-3.3-70B-Instruct": "llama 3.3 70000000000",
		"qwen2.5:32b": "qwen 2.5 32000000000", "qwen3": "qwen 3 0", "ollama/llama3.3:70b": "llama 3.3 70000000000", "mycompany/llama3-ft": "llama 3 0",
	} {
		got := catalog.ParseID(id)
		if s := fmt.Sprintf("%s %s %d", got.Family, got.Version, got.Size); s != want {
			t.Errorf("%s is %s, want %s", id, s, want)
		}
	}
}

func capable(id string, is func(catalog.Model) bool) func(*testing.T) {
	return func(t *testing.T) {
		if m := catalog.Default().Lookup(id); !is(m) {
			t.Errorf("%s: %+v", id, m)
		}
	}
}

// printedReads reads a text and expects one call, with a repair or without.
func printedReads(text, name, repair string) func(*testing.T) {
	return func(t *testing.T) {
		var calls []llm.Call
		p := dialect.Parser{Tools: []llm.ToolDef{def("read_file"), def("write_file"), def("list_files")}}
		for ev, err := range p.Parse(dialect.Whole(text)) {
			if c, ok := ev.(llm.Call); ok {
				calls = append(calls, c)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if len(calls) != 1 || calls[0].Name != name {
			t.Fatalf("calls %+v", calls)
		}
		if got := repairs(calls[0].Provenance.Repairs); !strings.Contains(got, repair) || repair == "" && got != "" {
			t.Errorf("repairs %s, want %s", got, repair)
		}
	}
}

func failsAs(err error, code tool.Code, recoverable bool, next tool.Strategy) func(*testing.T) {
	return func(t *testing.T) {
		e := tool.FromError(fmt.Errorf("foo.py: %w", err))
		if e.Code != code || e.Recoverable != recoverable || e.Next(1) != next || e.ForModel("x", 1, 3) == "" {
			t.Errorf("got %+v, next %s", e, e.Next(1))
		}
	}
}

func printedRetries(code tool.Code, retry []bool, attempt int, next tool.Strategy) func(*testing.T) {
	return func(t *testing.T) {
		e := tool.Errorf(code, "x")
		for i, want := range retry {
			if got := e.ShouldRetry(i+1, 0); got != want {
				t.Errorf("retry after attempt %d: %v", i+1, got)
			}
		}
		if got := e.Next(attempt); got != next {
			t.Errorf("after attempt %d comes %s, want %s", attempt, got, next)
		}
	}
}

// printedStream reads a text in pieces and expects these kinds of events.
func printedStream(pieces []string, want string) func(*testing.T) {
	return func(t *testing.T) {
		var kinds []string
		add := func(kind string) {
			if len(kinds) == 0 || kinds[len(kinds)-1] != kind {
				kinds = append(kinds, kind)
			}
		}
		p := dialect.Parser{Tools: []llm.ToolDef{def("read_file"), def("write_file")}}
		for ev := range p.Parse(func(yield func(string, error) bool) {
			for _, piece := range pieces {
				if !yield(piece, nil) {
					return
				}
			}
		}) {
			switch ev := ev.(type) {
			case llm.TextDelta:
				if strings.TrimSpace(ev.Text) != "" {
					add("text")
				}
			case llm.CallStart:
				add("start")
			case llm.CallDelta:
				add("args")
			case llm.Call:
				add("call")
			}
		}
		if got := strings.Join(kinds, " "); got != want {
			t.Errorf("events %s, want %s", got, want)
		}
	}
}

// printedSelects chooses among fifty long tools and one that fits the task.
func printedSelects(b tool.Selection, task string, least, most int) func(*testing.T) {
	return func(t *testing.T) {
		var defs []llm.ToolDef
		for i := range 50 {
			d := def(fmt.Sprintf("tool_%d", i), "arg")
			d.Description = strings.Repeat(fmt.Sprintf("This is tool number %d with a moderately long description ", i), 5)
			defs = append(defs, d)
		}
		defs = append(defs, llm.ToolDef{Name: "write_file", Description: "Write content to a file"})
		kept, left := tool.NewRanker(defs).Select(task, b)
		if len(kept) < least || len(kept) > most || len(kept)+len(left) != len(defs) {
			t.Errorf("%d tools kept, %d left out", len(kept), len(left))
		}
		if found := len(kept) > 0 && kept[len(kept)-1] == 50; task != "" && !found {
			t.Errorf("write_file is not among %v", kept)
		}
	}
}

// printedCompact: gated on characters, not on an estimate of tokens.
func printedCompact(t *testing.T) {
	d := def("test", "arg")
	d.Description = strings.Repeat("This is a tool with a moderately long description. ", 20)
	e, err := emulate.Teach(emulate.PromptOptions{Tools: []llm.ToolDef{d}, Context: 2048})
	if err != nil || strings.Contains(e.System, d.Description[:250]) {
		t.Errorf("the whole description is there, error %v", err)
	}
}

func printedPrompt(o emulate.PromptOptions, is func(emulate.ToolPrompt) bool) func(*testing.T) {
	return func(t *testing.T) {
		o.Tools = []llm.ToolDef{{Name: "test", Description: "A test tool"}}
		if e, err := emulate.Teach(o); err != nil || !is(e) {
			t.Errorf("template %s, %d bytes, error %v:\n%s", e.Template, len(e.System), err, e.System)
		}
	}
}

// printedCycle: the printed test hands over maps and stops in the middle; here the
// cycle is a run.
func printedCycle(t *testing.T) {
	codec, _ := wire.For(wire.Chat)
	body, _, err := codec.EncodeRequest(&llm.Request{Messages: []llm.Message{llm.User("x")}, Tools: []llm.ToolDef{def("read_file", "path")}}, false)
	if err != nil || !strings.Contains(string(body), `"type":"function"`) {
		t.Errorf("%s %v", body, err)
	}
	n := 0
	l := run(t, &agent.Agent{Model: says(call("1", "read_file", `{"path":"test.py"}`), "done"), Tools: runner(counted("read_file", &n, tool.ReadOnly))}, "go")
	if l.err != nil || n != 1 || l.done.Text != "done" {
		t.Errorf("ran %d, error %v", n, l.err)
	}
}
