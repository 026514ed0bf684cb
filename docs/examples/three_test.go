package examples

import (
	"bytes"
	"context"
	"iter"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/internal/testkit"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/sim"
)

// output runs a program of this folder to its end and returns what it printed and
// its exit status.
func output(t *testing.T, program, dir string, env []string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// TestResume: a process dies in the middle of a call, another one goes on, and the
// record of both verifies and plays again.
func TestResume(t *testing.T) {
	program, dir := testkit.Build(t, "resume"), t.TempDir()
	if out, code := output(t, program, dir, []string{"CRASH=Oslo"}, "ask", "first", "What is the weather in Oslo?"); code != 9 || strings.Contains(out, "sunny") {
		t.Fatalf("exit status %d: %s", code, out)
	}
	if out, code := output(t, program, dir, nil, "check", "first"); code != 0 || !strings.Contains(out, "verified: open") {
		t.Errorf("exit status %d: %s", code, out)
	}
	if out, code := output(t, program, dir, nil, "go", "first"); code != 0 || out != "get_weather {\"city\":\"Oslo\"} ok\nget_weather says: sunny in Oslo\nfinished\n" {
		t.Errorf("exit status %d: %q", code, out)
	}
	if out, code := output(t, program, dir, nil, "check", "first"); code != 0 || !strings.Contains(out, "verified: sealed") || !strings.Contains(out, "replayed: <nil>") {
		t.Errorf("exit status %d: %s", code, out)
	}
	record := filepath.Join(dir, "runs", "first.jsonl")
	was, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(record, bytes.ReplaceAll(was, []byte("in Oslo?"), []byte("in Rome?")), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := output(t, program, dir, nil, "check", "first"); code != 0 || !strings.Contains(out, "verified: open 0 entries run first: journal: the entry does not match its hash") {
		t.Errorf("exit status %d: %s", code, out)
	}
}

// TestALongChat is the hook of context.md.
func TestALongChat(t *testing.T) {
	var read []llm.Message
	a := agent.Agent{Model: llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		read = slices.Clone(req.Messages)
		return sim.Offline{}.Stream(ctx, req)
	})}
	a.BeforeTurn = func(_ context.Context, p *agent.TurnStart) error {
		for llm.EstimateMessages(p.Messages...) > 20_000 {
			next := 1 + slices.IndexFunc(p.Messages[1:], func(m llm.Message) bool { return m.Role == llm.RoleUser })
			if next == 0 {
				break // one question is left
			}
			p.Messages = p.Messages[next:]
		}
		return nil
	}
	long := strings.Repeat("and so on ", 4_000)
	chat := []llm.Message{llm.User("one " + long), llm.Assistant(llm.Text{Text: long}), llm.User("two " + long), llm.Assistant(llm.Text{Text: "yes"}), llm.User("three")}
	done, err := a.Ask(t.Context(), chat...)
	if err != nil || len(read) != 3 || !strings.HasPrefix(read[0].Text(), "two ") || len(done.Messages) != 6 {
		t.Errorf("%d messages were read, %d are kept, error %v", len(read), len(done.Messages), err)
	}
}

// TestLongchat: the chat is compacted more than once, and all codes are known at its end.
func TestLongchat(t *testing.T) {
	out, code := output(t, testkit.Build(t, "longchat"), t.TempDir(), nil, "120")
	if code != 0 || !strings.HasSuffix(out, "20 of 20 codes are known after 120 turns\n") || strings.Count(out, " tokens -> ") < 2 {
		t.Errorf("exit status %d: %s", code, out)
	}
}

// TestExtract: the third answer of the model is the first that nothing refuses.
func TestExtract(t *testing.T) {
	out, code := output(t, testkit.Build(t, "extract"), t.TempDir(), []string{"MODEL="})
	if code != 0 || out != "{Ada Oslo} 2026-01-02 [{lamp 2 1990} {cable 1 500}] 4480 card 4242\n" {
		t.Errorf("exit status %d: %s", code, out)
	}
}

// TestSwitch: each of six formats continues what each other one began, on servers that refuse what the vendors'
// documentation forbids.
func TestSwitch(t *testing.T) {
	program, dir := testkit.Build(t, "switch"), t.TempDir()
	server := httptest.NewServer(&sim.Server{Unknown: "sim/native+strict"})
	defer server.Close()
	env := []string{"OPENAI_API_KEY=any", "ANTHROPIC_API_KEY=any", "GEMINI_API_KEY=any", "AWS_BEARER_TOKEN_BEDROCK=any"}
	var ids []string
	for _, id := range []string{"openai+%#gpt-5", "openai+responses+%#gpt-5", "anthropic+%#claude-sonnet-4-5", "gemini+%#gemini-3-pro-preview", "ollama+%#qwen3:8b", "bedrock+%#anthropic.claude-sonnet-4-5-20250929-v1:0"} {
		ids = append(ids, strings.Replace(id, "%", server.URL, 1))
	}
	for _, from := range ids {
		for _, to := range ids {
			if from == to {
				continue
			}
			out, code := output(t, program, dir, env, from, to, "What is the weather in Oslo?")
			for _, want := range []string{"turn 1 by " + from + "\n", "get_weather {\"city\":\"Oslo\"} ok\n", "turn 2 by " + to + "\n", "sunny in Oslo", "finished 4 messages"} {
				if code != 0 || !strings.Contains(out, want) {
					t.Errorf("%s to %s: exit status %d, no %q in\n%s", from, to, code, want, out)
				}
			}
		}
	}
}
