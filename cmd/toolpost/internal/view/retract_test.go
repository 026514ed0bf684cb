package view

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/llm"
)

// takenBack holds the events of an answer that breaks off and is requested again.
var takenBack = []llm.Event{
	agent.Turn{N: 1, Model: "some/model"},
	llm.Warning{Code: llm.Degraded, Feature: "schema", Detail: "one"},
	llm.ThinkingDelta{Text: "Hm."}, llm.TextDelta{Text: "Half\nan ans"}, llm.CallStart{ID: "c1", Name: "read_file"},
	llm.Retract{Why: "it broke off"},
	agent.AnswerRetry{Attempt: 1, Max: 3, Cause: "incomplete", Error: "it broke off"},
	llm.TextDelta{Text: "A whole answer."},
}

// A chat removes a retracted answer from the screen and keeps the notes.
func TestChatTakesBack(t *testing.T) {
	tr := NewTranscript(cli.Palette{})
	tr.Add(Said, "Hello")
	for _, ev := range takenBack {
		tr.Event(ev)
	}
	got := strings.Join(tr.Lines(80, 0, time.Now()), "\n")
	want := "› Hello\n\n· schema: one\n· asking again after incomplete, attempt 2 of 3: it broke off\n\nA whole answer."
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if open := tr.Calls.open(); len(open) != 0 {
		t.Errorf("%d calls are still being written", len(open))
	}
}

// Text on standard output cannot be retracted; the log notes that it does not count.
func TestRunTakesBack(t *testing.T) {
	var out, log bytes.Buffer
	pr := NewPrinter(&out, &log)
	stop := pr.Spin()
	for _, ev := range takenBack {
		if err := pr.Event(ev); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	if out.String() != "Half\nan ans\nA whole answer.\n" {
		t.Errorf("out is %q", out.String())
	}
	want := "· schema: one\n· what the model said so far does not count\n· asking again after incomplete, attempt 2 of 3: it broke off\n"
	if log.String() != want {
		t.Errorf("log is\n%s", log.String())
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
