package main

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/runstore"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/task"
	"github.com/toolpost/toolpost/llm"
)

// saidIn returns the conversation of a run as one text, with the kinds of media.
func saidIn(t *testing.T, run string) string {
	t.Helper()
	store, done, err := runstore.OpenAt(settings.StateDir()+"/runs", false)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	messages, _, err := agent.Conversation(t.Context(), store, run)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(string(m.Role) + ":")
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.Text:
				b.WriteString(" " + p.Text)
			case llm.Media:
				b.WriteString(" [" + p.MIME + " " + p.Name + "]")
			case llm.Call:
				b.WriteString(" " + p.Name + string(p.Args))
			case llm.Result:
				b.WriteString(" result")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

var talkScripts = map[string]string{
	"one.txtar": "-- 1 --\ntext My name is Ada.\n", "two.txtar": "-- 1 --\ntext You asked twice.\n",
}

// -c continues the latest run and --resume any run. The model gets the earlier messages, the record names the earlier
// run, and its settings apply.
func TestContinue(t *testing.T) {
	clitest.Bare(t, talkScripts)
	first := runID(t, toolpost(t, "", "run", "-m", "sim/script:one.txtar", "--system", "Be brief.", "who are you?").errOut)
	r := toolpost(t, "", "run", "-c", "-m", "sim/script:two.txtar", "and again?")
	if r.code != cli.ExitOK || !strings.Contains(r.out, "You asked twice.") {
		t.Fatalf("%+v", r)
	}
	second := runID(t, r.errOut)
	want := "user: who are you?\nassistant: My name is Ada.\nuser: and again?\nassistant: You asked twice.\n"
	if got := saidIn(t, second); got != want || first == second {
		t.Errorf("the conversation is\n%s", got)
	}
	record, err := os.ReadFile(settings.StateDir() + "/runs/" + second + ".jsonl")
	if err != nil || !strings.Contains(string(record), `"parent":"`+first+`"`) || !strings.Contains(string(record), "Be brief.") {
		t.Errorf("the record does not know the run before: %v\n%s", err, record)
	}
	r = toolpost(t, "", "run", "--resume", first, "once more")
	if got := saidIn(t, runID(t, r.errOut)); r.code != cli.ExitOK || got != "user: who are you?\nassistant: My name is Ada.\nuser: once more\nassistant: My name is Ada.\n" {
		t.Errorf("%+v\n%s", r, got)
	}
	if r = toolpost(t, "", "run", "--resume", first); r.code != cli.ExitUsage || !strings.Contains(r.errOut, "has ended") {
		t.Errorf("without a task: %+v", r)
	}
	open := stoppedRun(t, "-m", "sim/native+stall=60s", "wait")
	r = toolpost(t, "", "run", "-c", "-m", "sim/script:two.txtar", "--timeout", "0", "never mind")
	if r.code != cli.ExitOK || runID(t, r.errOut) != open || !strings.Contains(saidIn(t, open), "never mind") {
		t.Errorf("an open run is resumed: %+v", r)
	}
	clitest.Bare(t, nil)
	if r = toolpost(t, "", "run", "-c", "hi"); r.code != cli.ExitFailed || !strings.Contains(r.errOut, "there are no runs") {
		t.Errorf("nothing to go on with: %+v", r)
	}
}

// Files and standard input are attached to a task.
func TestAttachedFiles(t *testing.T) {
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	clitest.Bare(t, map[string]string{
		"one.txtar": talkScripts["one.txtar"], "a.md": "Apples.\n", "b.md": "```\ncode\n```\n", "p.png": picture.String(), "d.pdf": "%PDF-1.4\nx", "bin": "\x00\x01\x02\xff", "none": "",
		"big": strings.Repeat("x", cli.MaxTask+1), "folder/x": "",
	})
	for _, c := range []struct{ name, in, args, want string }{
		{"text", "", "-f a.md sum", "user: sum \n\nThe content of a.md:\n```\nApples.\n```\n"},
		{"a fence that nothing closes", "", "-f b.md sum", "````\n```\ncode\n```\n````"},
		{"several", "", "-f a.md --file p.png -f d.pdf look", "Apples.\n``` [image/png p.png] [application/pdf d.pdf]"},
		{"piped", "Pears.\n", "sum", "user: sum \n\nThe content of standard input:\n```\nPears.\n```"},
		{"piped where it is named", "Pears.\n", "a - b", "user: a  Pears.\n  b\n"}, // three parts
		{"piped as a file", "Pears.\n", "-f - sum", "The content of standard input:\n```\nPears.\n```\n"},
		{"piped as the task", "Say hi.\n", "", "user: Say hi.\n"},
		{"piped as the task, with a file", "Say hi.\n", "-f a.md", "user: Say hi. \n\nThe content of a.md:"},
		{"nothing piped", " \n", "sum", "user: sum\n"},
	} {
		r := toolpost(t, c.in, append([]string{"run", "-m", "sim/script:one.txtar"}, strings.Fields(c.args)...)...)
		if r.code != cli.ExitOK {
			t.Errorf("%s: %+v", c.name, r)
			continue
		}
		if got := saidIn(t, runID(t, r.errOut)); !strings.Contains(got, c.want) {
			t.Errorf("%s: the model was told\n%s", c.name, got)
		}
	}
	for args, want := range map[string]string{
		"-f nowhere sum": "nowhere", "-f bin sum": "bin is neither UTF-8 text", "-f none sum": "none is empty", "-f folder sum": "folder is a folder", "-f big sum": "tools read it piece by piece",
		"-f a.md": "what is the task?",
	} {
		r := toolpost(t, "", append([]string{"run"}, strings.Fields(args)...)...)
		if r.code == cli.ExitOK || !strings.Contains(r.errOut, want) {
			t.Errorf("%s: %+v", args, r)
		}
	}
	if r := toolpost(t, "", append([]string{"run", "x"}, strings.Fields(strings.Repeat("-f a.md ", task.MaxAttached+1))...)...); r.code != cli.ExitUsage {
		t.Errorf("too many: %+v", r)
	}
}
