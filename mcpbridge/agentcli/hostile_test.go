package agentcli_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/agentcli"
	"github.com/toolpost/toolpost/tool"
)

// soon are limits for programs that never end.
var soon = llm.Limits{Bytes: 64 << 20, Text: 1 << 20, Time: time.Minute, Idle: 200 * time.Millisecond}

// hostile are programs that do not do what they should, and what becomes of them.
var hostile = []struct {
	scene string
	kind  llm.Kind
	code  string
	says  string // the error does
}{
	{"endless line", llm.ByteLimit, "", "a line of more than"},
	{"endless lines", llm.TextLimit, "", "bytes of text"},
	{"wrong json", llm.Malformed, "runtime-query-error", `{"type":"assistant",]`},
	{"no json", llm.Malformed, "runtime-query-error", "Welcome to the agent!"},
	{"wrong shapes", llm.Malformed, "runtime-query-error", "not of the format claude"},
	{"exit 1", llm.Unknown, "runtime-query-process-exit", "exit status 1"},
	{"exit 1 with a word:Invalid API key", llm.Auth, "runtime-query-auth-failed", "Invalid API key"},
	{"exit 1 with a word:quota exceeded", llm.RateLimited, "runtime-query-quota-exhausted", "quota exceeded"},
	{"exit 1 with a word:the sky fell", llm.Unknown, "runtime-query-process-exit", "the sky fell"},
	{"exit 1 after text", llm.Unknown, "runtime-query-process-exit", "exit status 1"},
	{"exit 0", llm.Incomplete, "agent-sdk-no-result", "without an answer"},
	{"dies in a line", llm.Unknown, "runtime-query-process-exit", "exit status 3"},
	{"never ends", llm.Stalled, "", "said nothing for 200ms"},
	{"stderr only", llm.Incomplete, "agent-sdk-no-result", "it said: [31mI have nothing to say[0m"},
	{"more tools", llm.Unsupported, "outside-the-bridge", `has the tool "Bash"`},
	{"another server", llm.Unsupported, "outside-the-bridge", `has the MCP server "evil"`},
	{"no bridge", llm.Unsupported, "runtime-query-error", "does not reach its tools: failed"},
	{"runs bash", llm.Unsupported, "outside-the-bridge", `ran "Bash"`},
	{"another agent", llm.Unsupported, "outside-the-bridge", "something else than call the tools"},
	{"many calls", llm.Malformed, "runtime-query-error", "more than 64 calls at once"},
}

// Programs that misbehave end with a clear error, alone and in a run, and nothing of them
// goes on.
func TestHostilePrograms(t *testing.T) {
	for _, row := range hostile {
		t.Run(row.scene, func(t *testing.T) {
			m := model(t, row.scene)
			m.Program.Limits = soon
			if row.scene != "never ends" {
				m.Program.Limits.Idle = time.Minute
			}
			_, err := words(t, m, ask("Weather?", weatherDef))
			var e *llm.Error
			if !errors.As(err, &e) || e.Kind != row.kind || e.Code != row.code || !strings.Contains(err.Error(), row.says) {
				t.Errorf("alone: %v", err)
			}
			if strings.ContainsAny(err.Error(), "\x1b\x00") {
				t.Errorf("%q steers a terminal", err)
			}
			var cities []string
			a := &agent.Agent{Model: m, RetryBudget: -1, Tools: &invoke.Runner{Tools: tool.MustSet(weather(&cities))}}
			if _, err := a.Ask(t.Context(), llm.User("Weather?")); llm.KindOf(err) != row.kind || cities != nil {
				t.Errorf("in a run: %v, ran %v", err, cities)
			}
		})
	}
}

// A call that was cut off is never run.
func TestACallThatWasCutOffIsNotRun(t *testing.T) {
	got, err := words(t, model(t, "dies in a call"), ask("Weather?", weatherDef))
	if err == nil || !strings.Contains(strings.Join(got, "\n"), "invalid toolu_1 weather truncated") {
		t.Errorf("%v\n%s", err, strings.Join(got, "\n"))
	}
	_, cities, _, err := run(t, "dies in a call", nil)
	if err == nil || cities != nil {
		t.Errorf("%v, ran %v", err, cities)
	}
}

// A model may name a tool that is not there: the program tells it, and the run goes on.
func TestAToolThatIsNotThere(t *testing.T) {
	store := new(journal.Memory)
	events, cities, done, err := run(t, "imagines a tool", store)
	if err != nil || cities != nil || done.Text != "Sorry." || !strings.Contains(strings.Join(events, "\n"), "result toolu_1 Bash No such tool true") {
		t.Errorf("%v, %v, %q\n%s", err, cities, done.Text, strings.Join(events, "\n"))
	}
	if r := receiptsOf(t, store, done.Run); len(r) != 1 || r[0].ExecutedBy != journal.ByProvider || r[0].Status != journal.Failed {
		t.Errorf("receipts %+v", r)
	}
	got, err := words(t, model(t, "imagines a tool"), ask("Weather?", weatherDef))
	if err != nil || !strings.Contains(strings.Join(got, "\n"), "invalid toolu_1 Bash unknown_tool") {
		t.Errorf("%v\n%s", err, strings.Join(got, "\n"))
	}
}

// A program that cannot be started says so.
func TestAProgramThatIsNotThere(t *testing.T) {
	p := program(t, "weather")
	p.Command = "toolpost-no-such-program"
	_, err := words(t, &agentcli.Model{Program: p}, ask("x"))
	if err == nil || !strings.Contains(err.Error(), "toolpost-no-such-program cannot be started") {
		t.Error(err)
	}
}

// Secrets of the configuration are in no error, event or record.
func TestSecretsOfAProgramStayWithIt(t *testing.T) {
	const key = "sk-agentcli-0123456789abcdef"
	p := program(t, "says its secrets")
	p.Env["FAKE_API_KEY"] = key
	store := new(journal.Memory)
	var cities []string
	a := &agent.Agent{Model: &agentcli.Model{Program: p}, Store: store, Tools: &invoke.Runner{Tools: tool.MustSet(weather(&cities))}}
	done, err := a.Ask(t.Context(), llm.User("Weather?"))
	if err == nil || strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "it said: key [stripped:value]") {
		t.Error(err)
	}
	for e, err := range store.Read(t.Context(), done.Run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(e.Body), key) || strings.Contains(string(e.Body), "Bearer") {
			t.Errorf("the record has a secret: %s", e.Body)
		}
	}
}

// Whoever stops listening ends the program.
func TestStoppingEarlyEndsTheProgram(t *testing.T) {
	for range model(t, "never ends").Stream(t.Context(), ask("x", weatherDef)) {
		break
	}
}
