package run_test

import (
	"bytes"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/runstore"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/task"
	"github.com/toolpost/toolpost/journal"
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
	first := programtest.RunID(t, programtest.Run(t, "", "run", "-m", "sim/script:one.txtar", "--system", "Be brief.", "who are you?").ErrOut)
	r := programtest.Run(t, "", "run", "-c", "-m", "sim/script:two.txtar", "and again?")
	if r.Code != cli.ExitOK || !strings.Contains(r.Out, "You asked twice.") {
		t.Fatalf("%+v", r)
	}
	second := programtest.RunID(t, r.ErrOut)
	want := "user: who are you?\nassistant: My name is Ada.\nuser: and again?\nassistant: You asked twice.\n"
	if got := saidIn(t, second); got != want || first == second {
		t.Errorf("the conversation is\n%s", got)
	}
	record, err := os.ReadFile(settings.StateDir() + "/runs/" + second + ".jsonl")
	if err != nil || !strings.Contains(string(record), `"parent":"`+first+`"`) || !strings.Contains(string(record), "Be brief.") {
		t.Errorf("the record does not know the run before: %v\n%s", err, record)
	}
	r = programtest.Run(t, "", "run", "--resume", first, "once more")
	if got := saidIn(t, programtest.RunID(t, r.ErrOut)); r.Code != cli.ExitOK || got != "user: who are you?\nassistant: My name is Ada.\nuser: once more\nassistant: My name is Ada.\n" {
		t.Errorf("%+v\n%s", r, got)
	}
	if r = programtest.Run(t, "", "run", "--resume", first); r.Code != cli.ExitUsage || !strings.Contains(r.ErrOut, "has ended") {
		t.Errorf("without a task: %+v", r)
	}
	open := programtest.StoppedRun(t, "-m", "sim/native+stall=60s", "wait")
	r = programtest.Run(t, "", "run", "-c", "-m", "sim/script:two.txtar", "--timeout", "0", "never mind")
	if r.Code != cli.ExitOK || programtest.RunID(t, r.ErrOut) != open || !strings.Contains(saidIn(t, open), "never mind") {
		t.Errorf("an open run is resumed: %+v", r)
	}
	clitest.Bare(t, nil)
	if r = programtest.Run(t, "", "run", "-c", "hi"); r.Code != cli.ExitFailed || !strings.Contains(r.ErrOut, "there are no runs") {
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
		r := programtest.Run(t, c.in, append([]string{"run", "-m", "sim/script:one.txtar"}, strings.Fields(c.args)...)...)
		if r.Code != cli.ExitOK {
			t.Errorf("%s: %+v", c.name, r)
			continue
		}
		if got := saidIn(t, programtest.RunID(t, r.ErrOut)); !strings.Contains(got, c.want) {
			t.Errorf("%s: the model was told\n%s", c.name, got)
		}
	}
	for args, want := range map[string]string{
		"-f nowhere sum": "nowhere", "-f bin sum": "bin is neither UTF-8 text", "-f none sum": "none is empty", "-f folder sum": "folder is a folder", "-f big sum": "tools read it piece by piece",
		"-f a.md": "what is the task?",
	} {
		r := programtest.Run(t, "", append([]string{"run"}, strings.Fields(args)...)...)
		if r.Code == cli.ExitOK || !strings.Contains(r.ErrOut, want) {
			t.Errorf("%s: %+v", args, r)
		}
	}
	if r := programtest.Run(t, "", append([]string{"run", "x"}, strings.Fields(strings.Repeat("-f a.md ", task.MaxAttached+1))...)...); r.Code != cli.ExitUsage {
		t.Errorf("too many: %+v", r)
	}
}

// A resumed run uses its previous model, tools and settings, from any folder. Flags override them.
func TestResumeRestoresSettings(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the tool is a POSIX program")
	}
	work := clitest.Bare(t, map[string]string{
		"below/notes.txt": "Apples keep for weeks.\n",
		"own.yaml":        "- name: count_words\n  description: Count the words of a file.\n  parameters: {type: object, properties: {path: {type: string}}, required: [path]}\n  effects: [read_only, local]\n  command: [wc, -w, '{path}']\n",
		"schema.json":     `{"type":"object","properties":{"answer":{"type":"string"}}}`,
	})
	id := programtest.StoppedRun(t, "-m", "sim/native+stall=60s", "--root", "below", "--allow", "write", "--tools", "own.yaml", "--system", "Be brief.", "--max-turns", "7", "--max-tokens", "999", "--temperature", "0.5",
		"--output-schema", "schema.json", "count the words of notes.txt")
	t.Chdir(t.TempDir())
	store, err := journal.OpenDir(filepath.Join(os.Getenv("XDG_STATE_HOME"), "toolpost", "runs"))
	if err != nil {
		t.Fatal(err)
	}
	check := func(model string, turns int) {
		t.Helper()
		s, err := agent.ReadSettings(t.Context(), store, id)
		if err != nil {
			t.Fatal(err)
		}
		if s.Model != model || s.System != "Be brief." || s.MaxTurns != turns || s.Request.MaxTokens != 999 || *s.Request.Temperature != 0.5 || s.Request.Output == nil ||
			!strings.Contains(strings.Join(s.Tools, " "), "count_words") || !strings.Contains(strings.Join(s.Tools, " "), "write_file") ||
			!strings.Contains(string(s.Program), `"root":"`+filepath.Join(work, "below")+`"`) {
			t.Errorf("%+v\n%s", s, s.Program)
		}
	}
	check("sim/native+stall=60s", 7)
	r := programtest.Run(t, "", "run", "--resume", id)
	if r.Code != cli.ExitFailed || !strings.Contains(r.ErrOut, "the time of the run is over") {
		t.Errorf("resumed as it was: %+v", r)
	}
	check("sim/native+stall=60s", 7)
	if err := os.Rename(filepath.Join(work, "own.yaml"), filepath.Join(work, "moved.yaml")); err != nil {
		t.Fatal(err)
	}
	r = programtest.Run(t, "", "run", "--resume", id, "-m", "sim/native")
	if r.Code == cli.ExitOK || !strings.Contains(r.ErrOut, "own.yaml") {
		t.Errorf("its tools are gone: %+v", r)
	}
	r = programtest.Run(t, "", "run", "--resume", id, "-m", "sim/native", "--timeout", "0", "--max-turns", "8", "--tools", filepath.Join(work, "moved.yaml"))
	if !strings.Contains(r.ErrOut, "✓ count_words path=notes.txt") { // the simulator writes no answer for the schema
		t.Errorf("resumed with another model: %+v", r)
	}
	check("sim/native", 8)
}

// A run that failed without an answer of the model stays open. The command prints how to resume it, unless
// nothing was recorded.
func TestFailedRunPrintsResume(t *testing.T) {
	clitest.Bare(t, map[string]string{"notes.txt": "Apples keep for weeks.\n"})
	wrongKey := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":{"message":"no such key"}}`, http.StatusUnauthorized)
	}))
	defer wrongKey.Close()
	r := programtest.Run(t, "", "run", "-m", wrongKey.URL+"/v1#m", "read notes.txt")
	m := regexp.MustCompile(`(?m)^The run has not ended: toolpost run --resume (\S+)$`).FindStringSubmatch(r.ErrOut)
	if m == nil || r.Code != cli.ExitFailed {
		t.Fatalf("%+v", r)
	}
	programtest.Expect(t, cli.ExitFailed, []string{"open    " + m[1], "the run has not ended"}, "receipts", "verify", m[1])
	programtest.Expect(t, cli.ExitOK, nil, "run", "--resume", m[1], "-m", "sim/native")
	programtest.Expect(t, cli.ExitOK, []string{"sealed  " + m[1]}, "receipts", "verify", m[1])
	if r := programtest.Run(t, "", "run", "--no-journal", "-m", wrongKey.URL+"/v1#m", "read notes.txt"); r.Code != cli.ExitFailed || strings.Contains(r.ErrOut, "--resume") {
		t.Errorf("without a record: %+v", r)
	}
}
