package main

import (
	"encoding/json"
	"io"
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
	"github.com/toolpost/toolpost/cmd/toolpost/internal/replay"
)

// fruit is a folder with files to search.
var fruit = map[string]string{
	"notes/apples.md": "# Apples\n\nApples keep for weeks.\n",
	"notes/pears.md":  "# Pears\n\nPears do not.\n",
}

const fruitTask = `Search ./notes for "keep for weeks", then read the file it shows`

// runID returns the id of the run in a summary.
func runID(t *testing.T, text string) string {
	t.Helper()
	m := regexp.MustCompile(`receipts verify (\S+)`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no receipt in\n%s", text)
	}
	return m[1]
}

// TestRunOnABareMachine runs a task of several steps with real tools and without a model. The record verifies and can
// be replayed.
func TestRunOnABareMachine(t *testing.T) {
	clitest.Bare(t, fruit)
	r := toolpost(t, "", "run", fruitTask)
	if r.code != cli.ExitOK || !strings.Contains(r.out, "read_file says: # Apples\n\nApples keep for weeks.") {
		t.Fatalf("%+v", r)
	}
	for _, want := range []string{"sim/offline: no key is set", "✓ search_files path=./notes query=\"keep for weeks\"", "✓ read_file path=notes/apples.md", "2 calls in", "changed nothing: the tools that ran declare that they only read"} {
		if !strings.Contains(r.errOut, want) {
			t.Errorf("no %q in\n%s", want, r.errOut)
		}
	}
	id := runID(t, r.errOut)
	if v := toolpost(t, "", "receipts", "verify", id); v.code != cli.ExitOK || !strings.Contains(v.out, "sealed") {
		t.Errorf("verify: %+v", v)
	}
	if v := toolpost(t, "", "replay", id); v.code != cli.ExitOK || !strings.Contains(v.out, "goes as it went: 3 questions") {
		t.Errorf("replay: %+v", v)
	}
	if v := toolpost(t, "", "run", "--resume", id); v.code != cli.ExitUsage || !strings.Contains(v.errOut, "has ended; what shall it go on with?") {
		t.Errorf("resume: %+v", v)
	}
	if v := toolpost(t, "", "replay", "--against", "sim/hermes_json", id); v.code != cli.ExitOK || !strings.Contains(v.out, "3 of 3 questions answered with the same calls") {
		t.Errorf("against: %+v", v)
	}
}

// TestRunSameOnEveryModel runs the task on models with native calls and on models with dialects.
func TestRunSameOnEveryModel(t *testing.T) {
	clitest.Bare(t, fruit)
	for _, model := range []string{"sim/native", "sim/hermes_json", "sim/kimi_k2", "sim/qwen3_coder_xml", "sim/deepseek_v31", "sim/native+slow-args=1ms"} {
		r := toolpost(t, "", "run", "-m", model, fruitTask)
		if r.code != cli.ExitOK || !strings.Contains(r.out, "Apples keep for weeks.") || !strings.Contains(r.errOut, "2 calls in") {
			t.Errorf("%s: exit %d\n%s%s", model, r.code, r.out, r.errOut)
		}
	}
}

// TestRunJSON prints every event as a line, and nothing else.
func TestRunJSON(t *testing.T) {
	clitest.Bare(t, fruit)
	r := toolpost(t, "", "run", "--json", fruitTask)
	if r.code != cli.ExitOK || r.errOut != "" {
		t.Fatalf("%+v", r)
	}
	var kinds []string
	var done agent.Done
	for line := range strings.Lines(r.out) {
		var head struct{ Event string }
		if err := json.Unmarshal([]byte(line), &head); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if head.Event == "done" {
			if err := json.Unmarshal([]byte(line), &done); err != nil {
				t.Fatal(err)
			}
		}
		kinds = append(kinds, head.Event)
	}
	if kinds[0] != "turn" || kinds[len(kinds)-1] != "done" || done.Run == "" || done.Ran != 2 {
		t.Errorf("%s %+v", strings.Join(kinds, " "), done)
	}
}

// TestRunOutputSchema prints only the structured answer.
func TestRunOutputSchema(t *testing.T) {
	clitest.Bare(t, map[string]string{
		"answer.json": `{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}},"required":["name","age"]}`,
		"bad.json":    `{"type":"nonsense"}`,
	})
	r := toolpost(t, "", "run", "--output-schema", "answer.json", "Anna is 34 years old")
	var got struct {
		Name string
		Age  int
	}
	if err := json.Unmarshal([]byte(r.out), &got); err != nil || got.Name != "Anna" || got.Age != 34 || r.code != cli.ExitOK {
		t.Errorf("%v %+v", err, r)
	}
	if r := toolpost(t, "", "run", "--output-schema", "bad.json", "x"); r.code != cli.ExitFailed || !strings.Contains(r.errOut, "bad.json") {
		t.Errorf("%+v", r)
	}
}

// TestRunAsksFirst: calls that change things run only after approval.
func TestRunAsksFirst(t *testing.T) {
	work := clitest.Bare(t, map[string]string{
		"write.txtar": "-- 1 --\ncall write_file {\"path\":\"new.txt\",\"content\":\"hello\"}\n-- 2 --\ntext Done.\n",
		"own.txtar":   "-- 1 --\ncall touch {\"path\":\"new2.txt\"}\n-- 2 --\ntext Done.\n",
		"own.yaml":    "- name: touch\n  description: Make a file.\n  parameters: {type: object, properties: {path: {type: string}}, required: [path]}\n  command: [touch, '{path}']\n",
	})
	exists := func(name string) bool { _, err := os.Stat(filepath.Join(work, name)); return err == nil }
	r := toolpost(t, "", "run", "-m", "sim/script:write.txtar", "write")
	if exists("new.txt") || !strings.Contains(r.errOut, "✗ write_file") {
		t.Errorf("not offered, and yet: %+v", r)
	}
	r = toolpost(t, "", "run", "-m", "sim/script:write.txtar", "--allow", "write", "write")
	if exists("new.txt") || !strings.Contains(r.errOut, "permission: ") {
		t.Errorf("nobody was asked: %+v", r)
	}
	r = toolpost(t, "", "run", "-m", "sim/script:write.txtar", "--allow", "write", "--yes", "write")
	if !exists("new.txt") || !strings.Contains(r.errOut, "changed file created: new.txt") {
		t.Errorf("allowed beforehand: %+v", r)
	}
	if runtime.GOOS == "windows" {
		return
	}
	r = toolpost(t, "", "run", "-m", "sim/script:own.txtar", "--tools", "own.yaml", "go")
	if exists("new2.txt") {
		t.Errorf("a tool of a file that promises nothing: %+v", r)
	}
	r = toolpost(t, "", "run", "-m", "sim/script:own.txtar", "--tools", "own.yaml", "-y", "go")
	if !exists("new2.txt") || !strings.Contains(r.errOut, "changed command executed: touch") {
		t.Errorf("a tool of a file, allowed: %+v", r)
	}
}

// TestRunSummaryOfUnreportedChanges: if a tool may change things and does not report its changes, the summary does not claim
// that nothing changed.
func TestRunSummaryOfUnreportedChanges(t *testing.T) {
	posts := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			posts++
		}
		io.WriteString(w, "ok")
	}))
	defer server.Close()
	clitest.Bare(t, map[string]string{
		"post.txtar":  "-- 1 --\ncall order {\"n\":1}\n-- 2 --\ntext Done.\n",
		"both.txtar":  "-- 1 --\ncall order {\"n\":1}\ncall write_file {\"path\":\"new.txt\",\"content\":\"hello\"}\n-- 2 --\ntext Done.\n",
		"quiet.txtar": "-- 1 --\ntext Done.\n",
		"own.yaml":    "- name: order\n  description: Place an order.\n  parameters: {type: object, properties: {n: {type: integer}}, required: [n]}\n  http: {url: '" + server.URL + "/order'}\n",
	})
	for script, want := range map[string]string{
		"post":  "changed not known: order may change things, and did not say what\nreceipt",
		"both":  "changed file created: new.txt\n        not known: order may change things, and did not say what\nreceipt",
		"quiet": "changed nothing\nreceipt",
	} {
		r := toolpost(t, "", "run", "-m", "sim/script:"+script+".txtar", "--tools", "own.yaml", "--allow", "write", "-y", "go")
		if r.code != cli.ExitOK || !strings.Contains(r.errOut, want) {
			t.Errorf("%s: %+v", script, r)
		}
	}
	if posts != 2 {
		t.Errorf("%d orders", posts)
	}
}

// TestRunTask builds the task from arguments and standard input.
func TestRunTask(t *testing.T) {
	clitest.Bare(t, nil)
	for _, c := range []struct{ why, stdin, args, want string }{
		{"words", "", "list the files", "list the files"},
		{"standard input", "list\nthe files\n", "-", "list\nthe files"},
		{"both", "a\nb", "read this: -", "read this: a\nb"},
		{"a pipe and no arguments", "list", "", "list"},
	} {
		r := toolpost(t, c.stdin, append([]string{"run", "--json"}, strings.Fields(c.args)...)...)
		var done agent.Done
		lines := strings.Split(strings.TrimSpace(r.out), "\n")
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &done); err != nil || done.Messages[0].Text() != c.want {
			t.Errorf("%s: %v %s%s", c.why, err, r.out, r.errOut)
		}
	}
	if r := toolpost(t, "  \n", "run"); r.code != cli.ExitUsage || !strings.Contains(r.errOut, "what is the task?") {
		t.Errorf("no task: %+v", r)
	}
	if r := toolpost(t, "\xff\xfe", "run"); r.code != cli.ExitFailed || !strings.Contains(r.errOut, "not UTF-8") {
		t.Errorf("no text: %+v", r)
	}
	if r := toolpost(t, strings.Repeat("x", 10<<20), "run"); r.code != cli.ExitFailed || !strings.Contains(r.errOut, "longer than 1048576 bytes") {
		t.Errorf("10 MB: %d %.200s", r.code, r.errOut)
	}
}

// TestRunWrongUse: usage errors name the mistake and the fix.
func TestRunWrongUse(t *testing.T) {
	clitest.Bare(t, nil)
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"run -m nope/x hi", cli.ExitFailed, "'toolpost doctor' shows what can be asked"},
		{"run -m sim/nonsense hi", cli.ExitFailed, `no model is called "nonsense"`},
		{"run -m openai/gpt-5 hi", cli.ExitFailed, "set OPENAI_API_KEY"},
		{"run --root nowhere hi", cli.ExitFailed, "root: "},
		{"run --allow everything hi", cli.ExitUsage, `"everything" is not one of exec, net, write`},
		{"run --max-turns 0 hi", cli.ExitUsage, "max_turns is 0"},
		{"run --tools nowhere.json hi", cli.ExitFailed, "nowhere.json"},
		{"run --resume nope", cli.ExitFailed, "nope"},
		{"run --journal postgres://u:secret@h/db hi", cli.ExitUsage, "a password on the command line"},
		{"run --config nowhere.yaml hi", cli.ExitFailed, "nowhere.yaml"},
		{"replay nope", cli.ExitFailed, "there is no run nope"},
		{"chat", cli.ExitFailed, "chat needs a terminal"},
	} {
		r := toolpost(t, "", strings.Fields(c.args)...)
		if r.code != c.code || !strings.Contains(r.errOut, c.want) || strings.Contains(r.errOut, "secret") {
			t.Errorf("toolpost %s: exit %d, %q", c.args, r.code, r.errOut)
		}
	}
}

// TestRunMaxTurns stops a model that never stops calling tools.
func TestRunMaxTurns(t *testing.T) {
	clitest.Bare(t, map[string]string{"loop.txtar": "-- 1 --\ncall list_files {\"path\":\"a\"}\n-- 2 --\ncall list_files {\"path\":\"b\"}\n-- 3 --\ncall list_files {\"path\":\"c\"}\n-- 4 --\ntext I give up.\n"})
	r := toolpost(t, "", "run", "-m", "sim/script:loop.txtar", "--max-turns", "2", "go")
	if strings.Count(r.errOut, "✗ list_files") != 2 {
		t.Errorf("%+v", r)
	}
}

// TestReplayShowsTheFirstDifference replays a sealed record after its task was changed.
func TestReplayShowsTheFirstDifference(t *testing.T) {
	p := cli.Palette{}
	got := replay.SideBySide(p, "read_file {\"path\":\"a.txt\"}", "", 40)
	want := "  recorded          │ now\n  read_file {\"path\" │ nothing\n  :\"a.txt\"}         │ \n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	clitest.Bare(t, fruit)
	id := runID(t, toolpost(t, "", "run", fruitTask).errOut)
	if err := os.WriteFile("other.txtar", []byte("-- 1 --\ntext No.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := toolpost(t, "", "replay", id, "--against", "sim/script:other.txtar")
	if r.code != cli.ExitFailed || !strings.Contains(r.out, "✗ turn 1\n") || !strings.Contains(r.out, "│ No.") || !strings.Contains(r.out, "1 of 3 questions") {
		t.Errorf("%+v", r)
	}
	file := filepath.Join(os.Getenv("XDG_STATE_HOME"), "toolpost", "runs", id+".jsonl")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "keep for weeks", "keep for years", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := toolpost(t, "", "replay", id); r.code != cli.ExitFailed || !strings.Contains(r.errOut, "receipts verify") {
		t.Errorf("a record that was changed: %+v", r)
	}
}

// A raw answer of a script is parsed like the text of any model.
func TestRunRawScript(t *testing.T) {
	clitest.Bare(t, map[string]string{
		"notes.txt": "Apples keep for weeks.\n",
		"raw.txtar": "-- 1.raw --\nLet me look.\n<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"notes.txt\",}}\n</tool_call>\n-- 2.raw --\nThey do.\n",
	})
	r := toolpost(t, "", "run", "-m", "sim/script:raw.txtar", "do apples keep?")
	if r.code != cli.ExitOK || !strings.Contains(r.errOut, "✓ read_file path=notes.txt") || strings.Contains(r.out, "<tool_call>") || !strings.Contains(r.out, "They do.") {
		t.Errorf("%+v", r)
	}
}

// With --quiet, run prints the answer, and after a failure the error.
func TestRunQuiet(t *testing.T) {
	clitest.Bare(t, fruit)
	r := toolpost(t, "", "run", "-q", fruitTask)
	if r.code != cli.ExitOK || r.errOut != "" || !strings.Contains(r.out, "Apples keep for weeks.") {
		t.Errorf("%+v", r)
	}
	r = toolpost(t, "", "run", "-q", "-m", "openai/gpt-5", "hi")
	if r.code != cli.ExitFailed || !strings.Contains(r.errOut, "set OPENAI_API_KEY") {
		t.Errorf("%+v", r)
	}
}

// The names of durations in events include their unit.
func TestRunJSONUnits(t *testing.T) {
	clitest.Bare(t, fruit)
	r := toolpost(t, "", "run", "--json", "-m", "sim/native+500+times=1", fruitTask)
	for _, want := range []string{`"took_ns":`, `"wait_ns":`} {
		if !strings.Contains(r.out, want) {
			t.Errorf("no %s in\n%s", want, r.out)
		}
	}
	if m := regexp.MustCompile(`"(took|delay|wait|time)":`).FindString(r.out); m != "" {
		t.Errorf("%s has no unit", m)
	}
}

// A run whose calls were all refused did not complete its task.
func TestRunWithRefusedCallFails(t *testing.T) {
	clitest.Bare(t, map[string]string{
		"one.txtar":  "-- 1 --\ncall write_file {\"path\":\"new.txt\",\"content\":\"hello\"}\n-- 2 --\ntext Done.\n",
		"more.txtar": "-- 1 --\ncall write_file {\"path\":\"a\",\"content\":\"a\"}\ncall run_command {\"program\":\"ls\"}\ncall write_file {\"path\":\"b\",\"content\":\"b\"}\n-- 2 --\ntext Done.\n",
		"some.txtar": "-- 1 --\ncall list_files {}\n-- 2 --\ncall write_file {\"path\":\"new.txt\",\"content\":\"hello\"}\n-- 3 --\ntext Done.\n",
	})
	r := toolpost(t, "", "run", "-m", "sim/script:one.txtar", "--allow", "write", "write")
	if r.code != cli.ExitFailed || !strings.Contains(r.errOut, "nothing was run: write_file was refused") || !strings.Contains(r.errOut, "toolpost refused it: nobody can be asked here") {
		t.Errorf("%+v", r)
	}
	r = toolpost(t, "", "run", "-m", "sim/script:more.txtar", "--allow", "write,exec", "write")
	if r.code != cli.ExitFailed || !strings.Contains(r.errOut, "nothing was run: write_file ×2, run_command were refused") || !strings.Contains(r.errOut, "refused write_file ×2, run_command\n") {
		t.Errorf("%+v", r)
	}
	r = toolpost(t, "", "run", "-m", "sim/script:some.txtar", "--allow", "write", "write")
	if r.code != cli.ExitOK || !strings.Contains(r.errOut, "refused write_file") {
		t.Errorf("%+v", r)
	}
}
