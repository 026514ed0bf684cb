package view

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/refine"
)

// takenBack holds the events of an answer that breaks off and is requested again.
var takenBack = []llm.Event{
	agent.Turn{N: 1, Model: "some/model"},
	llm.Warning{Code: llm.Degraded, Feature: "context", Detail: "one"},
	llm.ThinkingDelta{Text: "Hm."}, llm.TextDelta{Text: "Half\nan ans"}, llm.CallStart{ID: "c1", Name: "read_file"},
	llm.Retract{Why: "it broke off"},
	refine.AnswerRetry{Attempt: 1, Max: 3, Cause: "incomplete", Error: "it broke off"},
	llm.TextDelta{Text: "A whole answer."},
}

// A chat strikes a retracted answer through and keeps the notes.
func TestChatTakesBack(t *testing.T) {
	tr := NewTranscript(cli.Palette{})
	tr.Add(Said, "Hello")
	for _, ev := range takenBack {
		tr.Event(ev)
	}
	got := strings.Join(tr.Lines(80, 0, time.Now()), "\n")
	want := "› Hello\n\n· context: one\n\n~ Half\n~ an ans\n\n· asking again after incomplete, attempt 2 of 3: it broke off\n\nA whole answer."
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if open := tr.Calls.open(); len(open) != 0 {
		t.Errorf("%d calls are still being written", len(open))
	}
}

// TestRunHoldsAnswersBack: where standard output is no terminal, an answer is written when it counts. With --quiet it holds
// the final answer only. On a terminal, text cannot be retracted, and the log notes that it does not count.
func TestRunHoldsAnswersBack(t *testing.T) {
	const asked = "· asking again after incomplete, attempt 2 of 3: it broke off\n"
	later := append(slices.Clone(takenBack), agent.Turn{N: 2, Model: "some/model"}, llm.TextDelta{Text: "The end."})
	for _, c := range []struct {
		name            string
		quiet, terminal bool
		events          []llm.Event
		fails           bool
		out, log        string
	}{
		{"piped", false, false, takenBack, false, "A whole answer.\n", "· context: one\n" + asked},
		{"piped, two turns", false, false, later, false, "A whole answer.\nThe end.\n", "· context: one\n" + asked},
		{"quiet", true, false, later, false, "The end.\n", ""},
		{"quiet, fails", true, false, later, true, "", ""},
		{"piped, fails", false, false, later, true, "A whole answer.\nThe end.\n", "· context: one\n" + asked},
		{"terminal", false, true, takenBack, false, "Half\nan ans\nA whole answer.\n", "· context: one\n· what the model said so far does not count\n" + asked},
	} {
		var out, log bytes.Buffer
		pr := NewPrinter(&out, &log)
		pr.Quiet, pr.clean = c.quiet, c.terminal
		stop := pr.Spin()
		for _, ev := range c.events {
			if err := pr.Event(ev); err != nil {
				t.Fatal(err)
			}
		}
		if c.fails {
			pr.Drop()
		}
		stop()
		if out.String() != c.out || log.String() != c.log {
			t.Errorf("%s: out is %q, log is\n%s", c.name, out.String(), log.String())
		}
	}
}

// Retracted thinking that was not shown is not mentioned.
func TestRunTakesBackThinking(t *testing.T) {
	var out, log bytes.Buffer
	pr := NewPrinter(&out, &log)
	for _, ev := range []llm.Event{agent.Turn{N: 1}, llm.ThinkingDelta{Text: "Hm."}, llm.Retract{}} {
		if err := pr.Event(ev); err != nil {
			t.Fatal(err)
		}
	}
	pr.settle()
	if out.Len()+log.Len() > 0 {
		t.Errorf("said %q and %q", out.String(), log.String())
	}
}
