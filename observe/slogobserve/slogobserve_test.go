package slogobserve_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/observe/observing"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
	"github.com/toolpost/toolpost/observe/slogobserve"
)

func answers(evs []llm.Event, err error) llm.Model {
	return llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			for _, ev := range evs {
				if !yield(ev, nil) {
					return
				}
			}
			if err != nil {
				yield(nil, err)
			}
		}
	})
}

// TestNew: a line for each step that is over, with ids and numbers, without what
// anybody said.
func TestNew(t *testing.T) {
	var out bytes.Buffer
	ctx := observe.With(t.Context(), slogobserve.New(slog.New(slog.NewTextHandler(&out, nil))))
	ctx, run := observing.BeginRun(ctx, observe.Run{ID: "r1", Model: "m"})
	ctx, turn := observing.BeginTurn(ctx, observe.Turn{Run: "r1", N: 2})
	req := &llm.Request{Messages: []llm.Message{llm.User("my secret wish")}}
	good := answers([]llm.Event{llm.TextDelta{Text: "granted"}, llm.Finish{Reason: llm.Stop, ID: "a1", Usage: llm.Usage{Input: 7, Output: 3}}}, nil)
	if _, err := llm.Generate(ctx, observing.Model(good, "m"), req); err != nil {
		t.Fatal(err)
	}
	bad := answers(nil, &llm.Error{Op: "x", Kind: llm.RateLimited, Err: errors.New("quoted wish")})
	if _, err := llm.Generate(ctx, observing.Model(bad, "m"), req); err == nil {
		t.Fatal("no error")
	}
	c, call := observing.BeginTool(ctx, observe.ToolCall{ID: "c1", Tool: "dig", Args: []byte(`{"wish":1}`)})
	call.Status, call.Receipt, call.Repairs, call.Attempts = "ok", "sha256:1", []llm.Repair{{Class: llm.Syntax}, {Class: llm.Syntax}}, 2
	observing.End(c, call, nil)
	observing.End(ctx, turn, nil)
	run.Status = "finished"
	observing.End(ctx, run, nil)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, want := range [][]string{
		{"level=INFO", `msg="model call"`, "run=r1", "turn=2", "answer=a1", "finish=stop", "input_tokens=7", "output_tokens=3", "took="},
		{"level=WARN", `msg="model call"`, "error=rate_limited"},
		{"level=INFO", `msg="tool call"`, "run=r1", "turn=2", "call=c1", "tool=dig", "status=ok", "receipt=sha256:1", "repairs=syntax", "attempts=2"},
		{"level=INFO", "msg=run", "run=r1", "status=finished"},
	} {
		for _, w := range want {
			if len(lines) != 4 || !strings.Contains(lines[i], w) {
				t.Errorf("line %d lacks %s:\n%s", i+1, w, out.String())
			}
		}
	}
	if strings.Contains(out.String(), "wish") || strings.Contains(out.String(), "granted") {
		t.Errorf("content is in the log:\n%s", out.String())
	}
}
