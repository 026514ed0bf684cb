package run_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/replay"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/sim"
)

// TestBudget: a run ends when its models exceed the budget. Without a known price it does not start. The cost is
// reported.
func TestBudget(t *testing.T) {
	dir := programtest.OwnHome(t)
	t.Setenv("TOOLPOST_STORE", filepath.Join(dir, "runs"))
	server := httptest.NewServer(new(sim.Server))
	defer server.Close()
	id := server.URL + "/v1#sim/native"
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	task := []string{"--root", dir, `Read the file "a.txt"`}
	ask := func(args ...string) programtest.Result {
		return programtest.Run(t, "", append(append([]string{"run"}, args...), task...)...)
	}

	r := ask("-m", id, "--budget-usd", "1")
	if want := "the budget of $1.00 cannot be kept: the price of " + id + " is not known. Put its price into models.yaml"; r.Code != cli.ExitFailed || !strings.Contains(r.ErrOut, want) || strings.Contains(r.ErrOut, "Agent.") {
		t.Errorf("exit %d, %s", r.Code, r.ErrOut)
	}
	for value, says := range map[string]string{"much": "expected an amount of dollars such as 0.25", "0": "leave it out for no bound", "-1": "expected an amount"} {
		if r := ask("-m", id, "--budget-usd", value); r.Code != cli.ExitUsage || !strings.Contains(r.ErrOut, "--budget-usd: ") || !strings.Contains(r.ErrOut, says) {
			t.Errorf("%s: exit %d, %s", value, r.Code, r.ErrOut)
		}
	}
	for name, value := range map[string]string{"TOOLPOST_BUDGET_USD": "abc", "TOOLPOST_MAX_TURNS": "many", "TOOLPOST_MAX_TOKENS": "-1"} {
		t.Setenv(name, value)
		if r := ask("-m", id); r.Code != cli.ExitUsage || !strings.Contains(r.ErrOut, name+": ") {
			t.Errorf("%s=%s: exit %d, %s", name, value, r.Code, r.ErrOut)
		}
		t.Setenv(name, "")
	}
	if r := ask("-m", "sim/native", "--budget-usd", "0.01"); r.Code != cli.ExitOK || strings.Contains(r.ErrOut, "cost ") {
		t.Errorf("a simulated model costs nothing: exit %d, %s", r.Code, r.ErrOut)
	}

	file := filepath.Join(dir, "prices.yaml")
	t.Setenv("TOOLPOST_MODELS", file)
	if err := os.WriteFile(file, fmt.Appendf(nil, "models:\n  %q: {native_tools: true, price: {input: 1000, output: 1000}}\n", id), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := ask("-m", id, "--budget-usd", "0.01"); r.Code != cli.ExitFailed || !strings.Contains(r.ErrOut, "the budget of $0.01 is used up: ") {
		t.Errorf("exit %d, %s", r.Code, r.ErrOut)
	}
	r = programtest.Run(t, "", "run", "-c", "--budget-usd", "100")
	if r.Code != cli.ExitOK || !strings.Contains(r.ErrOut, "cost    $") {
		t.Errorf("exit %d, %s", r.Code, r.ErrOut)
	}
}

// TestCompaction: a conversation continues beyond the context window and reports the summary.
func TestCompaction(t *testing.T) {
	t.Setenv("TOOLPOST_STORE", filepath.Join(programtest.OwnHome(t), "runs"))
	model := []string{"-m", "sim/recall+window=2500"}
	programtest.Run(t, "", append([]string{"run"}, append(model, "The gate code of Ada Byron is K-12.")...)...)
	said := ""
	for i := range 12 {
		r := programtest.Run(t, "", "run", "-c", strings.Repeat("we walked on under the trees and were glad. ", 20))
		if r.Code != cli.ExitOK {
			t.Fatalf("turn %d: exit %d, %s", i, r.Code, r.ErrOut)
		}
		said += r.ErrOut
	}
	r := programtest.Run(t, "", "run", "-c", "What is the gate code of Ada Byron?")
	if r.Code != cli.ExitOK || !strings.Contains(r.Out, "K-12") || !strings.Contains(said, "a summary replaces its oldest ") {
		t.Errorf("exit %d, %s%s\n%s", r.Code, r.Out, r.ErrOut, said)
	}
}

// TestSizesAreTrue: an output that a tool shortens is not called the full output. The receipt has its whole size, and the
// model and the person are told how much is missing.
func TestSizesAreTrue(t *testing.T) {
	if _, err := exec.LookPath("seq"); err != nil {
		t.Skip("seq is not installed")
	}
	clitest.Bare(t, map[string]string{"big.txtar": "-- 1 --\ncall run_command {\"program\":\"seq\",\"args\":[\"200000\"]}\n-- 2 --\ntext Done.\n"})
	const printed = 1288895 // bytes that seq 200000 prints
	r := programtest.Run(t, "", "run", "-y", "-m", "sim/script:big.txtar", "--allow", "exec", "count")
	programtest.Must(t, r, 0, "the tool left out ")
	shown := programtest.Run(t, "", "receipts", "show", "--json", "latest")
	programtest.Must(t, shown, 0, "bytes, and what it returned is saved to: ")
	if strings.Contains(shown.Out, "full output saved") {
		t.Error("a part is called the full output")
	}
	var run struct {
		Entries []struct {
			Kind journal.Kind
			Body journal.Receipt
		}
	}
	_ = json.Unmarshal([]byte(shown.Out), &run) // bodies of other kinds differ
	found := false
	for _, e := range run.Entries {
		if e.Kind == journal.KindReceipt {
			found = true
			if e.Body.OutputBytes < printed || e.Body.OutputBytes > printed+200 || e.Body.OmittedBytes < printed-300_000 || !e.Body.Truncated {
				t.Errorf("the receipt has %d bytes of output, %d left out, truncated %v", e.Body.OutputBytes, e.Body.OmittedBytes, e.Body.Truncated)
			}
		}
	}
	if !found {
		t.Errorf("no receipt in\n%.2000s", shown.Out)
	}
}

// TestShowPrintsAConversationInOrder: each turn of a conversation over several runs is printed once, the first one first.
func TestShowPrintsAConversationInOrder(t *testing.T) {
	clitest.Bare(t, map[string]string{"talk.txtar": "-- 1 --\ntext One.\n-- 2 --\ntext Two.\n-- 3 --\ntext Three.\n"})
	programtest.Must(t, programtest.Run(t, "", "run", "-m", "sim/script:talk.txtar", "first question"), 0)
	programtest.Must(t, programtest.Run(t, "", "run", "-m", "sim/script:talk.txtar", "-c", "second question"), 0)
	programtest.Must(t, programtest.Run(t, "", "run", "-m", "sim/script:talk.txtar", "-c", "third question"), 0)
	r := programtest.Run(t, "", "receipts", "show", "latest")
	programtest.Must(t, r, 0)
	last := -1
	for _, want := range []string{"› first question", "One.", "› second question", "Two.", "› third question", "Three."} {
		at := strings.Index(r.Out, want)
		if strings.Count(r.Out, want) != 1 || at < last {
			t.Errorf("%q is there %d times, at %d after %d:\n%s", want, strings.Count(r.Out, want), at, last, r.Out)
		}
		last = at
	}
}

// TestEmptyRunsDoNotFail: a file without entries, which a full disk leaves, is no failure of verify. A named file of the
// person's own is.
func TestEmptyRunsDoNotFail(t *testing.T) {
	clitest.Bare(t, map[string]string{"s.txtar": "-- 1 --\ntext One.\n", "runs/20260101-000000-aaaaaaaa.jsonl": "", "runs/20260101-000001-aaaaaaaa.jsonl": `{"at":"20`})
	if err := os.Chmod("runs", 0o700); err != nil {
		t.Fatal(err)
	}
	programtest.Must(t, programtest.Run(t, "", "run", "--journal", "runs", "-m", "sim/script:s.txtar", "x"), 0)
	programtest.Must(t, programtest.Run(t, "", "receipts", "verify", "--journal", "runs"), 0, "empty", "nothing was recorded", "sealed")
	if r := programtest.Run(t, "", "receipts", "verify", "runs/20260101-000000-aaaaaaaa.jsonl"); r.Code != cli.ExitFailed {
		t.Errorf("an empty file that was named: %+v", r)
	}
	programtest.Must(t, programtest.Run(t, "", "receipts", "prune", "--journal", "runs", "--keep", "1"), 0, "2 runs removed")
	programtest.Must(t, programtest.Run(t, "", "receipts", "verify", "--journal", "runs"), 0, "sealed")
}

// TestRunsAreRemoved: by age, by number, and by the retention of the settings. Runs that have not ended stay.
func TestRunsAreRemoved(t *testing.T) {
	for _, name := range []string{"runs", "sqlite:runs.db"} {
		clitest.Bare(t, map[string]string{"s.txtar": "-- 1 --\ntext One.\n", "w.txtar": "-- 1 --\ncall write_file {\"path\":\"a\",\"content\":\"b\"}\n-- 2 --\ntext Done.\n"})
		runs := func() int {
			r := programtest.Run(t, "", "receipts", "list", "--journal", name, "--json")
			var all []struct{ Run string }
			if err := json.Unmarshal([]byte(r.Out), &all); err != nil {
				t.Fatal(err, r)
			}
			return len(all)
		}
		programtest.Must(t, programtest.Run(t, "", "run", "--journal", name, "-m", "sim/script:w.txtar", "--allow", "write", "--later", "x"), 3)
		for range 3 {
			programtest.Must(t, programtest.Run(t, "", "run", "--journal", name, "-m", "sim/script:s.txtar", "x"), 0)
		}
		programtest.Must(t, programtest.Run(t, "", "receipts", "prune", "--journal", name), 2)
		programtest.Must(t, programtest.Run(t, "", "receipts", "prune", "--journal", name, "--older-than", "1h"), 0, "0 runs removed")
		programtest.Must(t, programtest.Run(t, "", "receipts", "prune", "--journal", name, "--keep", "2", "--dry-run"), 0, "1 run would be removed")
		if n := runs(); n != 4 {
			t.Errorf("%s: %d runs before", name, n)
		}
		programtest.Must(t, programtest.Run(t, "", "receipts", "prune", "--journal", name, "--keep", "2"), 0, "1 run removed")
		programtest.Must(t, programtest.Run(t, "", "receipts", "verify", "--journal", name, "--allow-open"), 0)
		t.Setenv("TOOLPOST_RETENTION", "1ns")
		programtest.Must(t, programtest.Run(t, "", "run", "--journal", name, "-m", "sim/script:s.txtar", "x"), 0)
		if n := runs(); n != 2 {
			t.Errorf("%s: %d runs after the retention, want the waiting one and the new one", name, n)
		}
		programtest.Must(t, programtest.Run(t, "", "receipts", "prune", "--journal", name, "--older-than", "1ns", "--open"), 0, "2 runs removed")
		t.Setenv("TOOLPOST_RETENTION", "")
	}
}

// TestNoJournal: --no-journal leaves no record and says so. The word none is not a store.
func TestNoJournal(t *testing.T) {
	clitest.Bare(t, map[string]string{"s.txtar": "-- 1 --\ncall list_files {}\n-- 2 --\ntext One.\n", "config.yaml": "journal: none\n"})
	programtest.Must(t, programtest.Run(t, "", "run", "-m", "sim/script:s.txtar", "--no-journal", "x"), 0, "receipt none: --no-journal")
	found, err := filepath.Glob(filepath.Join(os.Getenv("XDG_STATE_HOME"), "toolpost", "runs", "*"))
	if more, _ := filepath.Glob("none*"); err != nil || len(slices.Concat(found, more)) > 0 {
		t.Errorf("there are %v, %v", found, err)
	}
	for _, args := range [][]string{
		{"run", "-m", "sim/script:s.txtar", "--journal", "none", "x"},
		{"run", "-m", "sim/script:s.txtar", "--journal", "runs", "--no-journal", "x"},
		{"run", "-m", "sim/script:s.txtar", "--no-journal", "--later", "x"},
		{"run", "-m", "sim/script:s.txtar", "--no-journal", "-c", "x"},
		{"run", "-m", "sim/script:s.txtar", "--no-journal", "--resume", "r", "x"},
	} {
		if r := programtest.Run(t, "", args...); r.Code != cli.ExitUsage || !strings.Contains(r.ErrOut, "-journal") {
			t.Errorf("%v: %+v", args, r)
		}
	}
	if r := programtest.Run(t, "", "run", "-m", "sim/script:s.txtar", "--config", "config.yaml", "x"); r.Code == 0 || !strings.Contains(r.ErrOut, "--no-journal") {
		t.Errorf("journal: none in the file: %+v", r)
	}
}

// TestQuietHoldsTheFinalAnswer: -q into a file writes the final answer, and nothing that was said before it.
func TestQuietHoldsTheFinalAnswer(t *testing.T) {
	clitest.Bare(t, map[string]string{"s.txtar": "-- 1 --\ntext I will look.\ncall list_files {}\n-- 2 --\ntext Here it is.\n"})
	r := programtest.Run(t, "", "run", "-q", "-m", "sim/script:s.txtar", "x")
	if r.Code != 0 || r.Out != "Here it is.\n" {
		t.Errorf("%+v", r)
	}
	if r = programtest.Run(t, "", "run", "-m", "sim/script:s.txtar", "x"); r.Out != "I will look.\nHere it is.\n" {
		t.Errorf("%+v", r)
	}
}

// fruit is a folder with files to search.
var fruit = map[string]string{
	"notes/apples.md": "# Apples\n\nApples keep for weeks.\n",
	"notes/pears.md":  "# Pears\n\nPears do not.\n",
}

const fruitTask = `Search ./notes for "keep for weeks", then read the file it shows`

// TestRunOnABareMachine runs a task of several steps with real tools and without a model. The record verifies and can
// be replayed.
func TestRunOnABareMachine(t *testing.T) {
	clitest.Bare(t, fruit)
	r := programtest.Run(t, "", "run", fruitTask)
	if r.Code != cli.ExitOK || !strings.Contains(r.Out, "read_file says: # Apples\n\nApples keep for weeks.") {
		t.Fatalf("%+v", r)
	}
	for _, want := range []string{"sim/offline: no key is set", "✓ search_files path=./notes query=\"keep for weeks\"", "✓ read_file path=notes/apples.md", "2 calls in", "changed nothing: the tools that ran declare that they only read"} {
		if !strings.Contains(r.ErrOut, want) {
			t.Errorf("no %q in\n%s", want, r.ErrOut)
		}
	}
	id := programtest.RunID(t, r.ErrOut)
	if v := programtest.Run(t, "", "receipts", "verify", id); v.Code != cli.ExitOK || !strings.Contains(v.Out, "sealed") {
		t.Errorf("verify: %+v", v)
	}
	if v := programtest.Run(t, "", "replay", id); v.Code != cli.ExitOK || !strings.Contains(v.Out, "goes as it went: 3 questions") {
		t.Errorf("replay: %+v", v)
	}
	if v := programtest.Run(t, "", "run", "--resume", id); v.Code != cli.ExitUsage || !strings.Contains(v.ErrOut, "has ended; what shall it go on with?") {
		t.Errorf("resume: %+v", v)
	}
	if v := programtest.Run(t, "", "replay", "--against", "sim/hermes_json", id); v.Code != cli.ExitOK || !strings.Contains(v.Out, "3 of 3 questions answered with the same calls") {
		t.Errorf("against: %+v", v)
	}
}

// TestRunSameOnEveryModel runs the task on models with native calls and on models with dialects.
func TestRunSameOnEveryModel(t *testing.T) {
	clitest.Bare(t, fruit)
	for _, model := range []string{"sim/native", "sim/hermes_json", "sim/kimi_k2", "sim/qwen3_coder_xml", "sim/deepseek_v31", "sim/native+slow-args=1ms"} {
		r := programtest.Run(t, "", "run", "-m", model, fruitTask)
		if r.Code != cli.ExitOK || !strings.Contains(r.Out, "Apples keep for weeks.") || !strings.Contains(r.ErrOut, "2 calls in") {
			t.Errorf("%s: exit %d\n%s%s", model, r.Code, r.Out, r.ErrOut)
		}
	}
}

// TestRunJSON prints every event as a line, and nothing else.
func TestRunJSON(t *testing.T) {
	clitest.Bare(t, fruit)
	r := programtest.Run(t, "", "run", "--json", fruitTask)
	if r.Code != cli.ExitOK || r.ErrOut != "" {
		t.Fatalf("%+v", r)
	}
	var kinds []string
	var done agent.Done
	for line := range strings.Lines(r.Out) {
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
	r := programtest.Run(t, "", "run", "--output-schema", "answer.json", "Anna is 34 years old")
	var got struct {
		Name string
		Age  int
	}
	if err := json.Unmarshal([]byte(r.Out), &got); err != nil || got.Name != "Anna" || got.Age != 34 || r.Code != cli.ExitOK {
		t.Errorf("%v %+v", err, r)
	}
	if r := programtest.Run(t, "", "run", "--output-schema", "bad.json", "x"); r.Code != cli.ExitFailed || !strings.Contains(r.ErrOut, "bad.json") {
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
	r := programtest.Run(t, "", "run", "-m", "sim/script:write.txtar", "write")
	if exists("new.txt") || !strings.Contains(r.ErrOut, "✗ write_file") {
		t.Errorf("not offered, and yet: %+v", r)
	}
	r = programtest.Run(t, "", "run", "-m", "sim/script:write.txtar", "--allow", "write", "write")
	if exists("new.txt") || !strings.Contains(r.ErrOut, "refused") {
		t.Errorf("nobody was asked: %+v", r)
	}
	r = programtest.Run(t, "", "run", "-m", "sim/script:write.txtar", "--allow", "write", "--yes", "write")
	if !exists("new.txt") || !strings.Contains(r.ErrOut, "changed file created: new.txt") {
		t.Errorf("allowed beforehand: %+v", r)
	}
	if runtime.GOOS == "windows" {
		return
	}
	r = programtest.Run(t, "", "run", "-m", "sim/script:own.txtar", "--tools", "own.yaml", "go")
	if exists("new2.txt") {
		t.Errorf("a tool of a file that promises nothing: %+v", r)
	}
	r = programtest.Run(t, "", "run", "-m", "sim/script:own.txtar", "--tools", "own.yaml", "-y", "go")
	if !exists("new2.txt") || !strings.Contains(r.ErrOut, "changed command executed: touch") {
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
		r := programtest.Run(t, "", "run", "-m", "sim/script:"+script+".txtar", "--tools", "own.yaml", "--allow", "write", "-y", "go")
		if r.Code != cli.ExitOK || !strings.Contains(r.ErrOut, want) {
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
		r := programtest.Run(t, c.stdin, append([]string{"run", "--json"}, strings.Fields(c.args)...)...)
		var done agent.Done
		lines := strings.Split(strings.TrimSpace(r.Out), "\n")
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &done); err != nil || done.Messages[0].Text() != c.want {
			t.Errorf("%s: %v %s%s", c.why, err, r.Out, r.ErrOut)
		}
	}
	if r := programtest.Run(t, "  \n", "run"); r.Code != cli.ExitUsage || !strings.Contains(r.ErrOut, "what is the task?") {
		t.Errorf("no task: %+v", r)
	}
	if r := programtest.Run(t, "\xff\xfe", "run"); r.Code != cli.ExitFailed || !strings.Contains(r.ErrOut, "not UTF-8") {
		t.Errorf("no text: %+v", r)
	}
	if r := programtest.Run(t, strings.Repeat("x", 10<<20), "run"); r.Code != cli.ExitFailed || !strings.Contains(r.ErrOut, "longer than 1048576 bytes") {
		t.Errorf("10 MB: %d %.200s", r.Code, r.ErrOut)
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
		r := programtest.Run(t, "", strings.Fields(c.args)...)
		if r.Code != c.code || !strings.Contains(r.ErrOut, c.want) || strings.Contains(r.ErrOut, "secret") {
			t.Errorf("toolpost %s: exit %d, %q", c.args, r.Code, r.ErrOut)
		}
	}
}

// TestRunMaxTurns stops a model that never stops calling tools.
func TestRunMaxTurns(t *testing.T) {
	clitest.Bare(t, map[string]string{"loop.txtar": "-- 1 --\ncall list_files {\"path\":\"a\"}\n-- 2 --\ncall list_files {\"path\":\"b\"}\n-- 3 --\ncall list_files {\"path\":\"c\"}\n-- 4 --\ntext I give up.\n"})
	r := programtest.Run(t, "", "run", "-m", "sim/script:loop.txtar", "--max-turns", "2", "go")
	if strings.Count(r.ErrOut, "✗ list_files") != 2 {
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
	id := programtest.RunID(t, programtest.Run(t, "", "run", fruitTask).ErrOut)
	if err := os.WriteFile("other.txtar", []byte("-- 1 --\ntext No.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := programtest.Run(t, "", "replay", id, "--against", "sim/script:other.txtar")
	if r.Code != cli.ExitFailed || !strings.Contains(r.Out, "✗ turn 1\n") || !strings.Contains(r.Out, "│ No.") || !strings.Contains(r.Out, "1 of 3 questions") {
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
	if r := programtest.Run(t, "", "replay", id); r.Code != cli.ExitFailed || !strings.Contains(r.ErrOut, "receipts verify") {
		t.Errorf("a record that was changed: %+v", r)
	}
}

// A raw answer of a script is parsed like the text of any model.
func TestRunRawScript(t *testing.T) {
	clitest.Bare(t, map[string]string{
		"notes.txt": "Apples keep for weeks.\n",
		"raw.txtar": "-- 1.raw --\nLet me look.\n<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"notes.txt\",}}\n</tool_call>\n-- 2.raw --\nThey do.\n",
	})
	r := programtest.Run(t, "", "run", "-m", "sim/script:raw.txtar", "do apples keep?")
	if r.Code != cli.ExitOK || !strings.Contains(r.ErrOut, "✓ read_file path=notes.txt") || strings.Contains(r.Out, "<tool_call>") || !strings.Contains(r.Out, "They do.") {
		t.Errorf("%+v", r)
	}
}

// With --quiet, run prints the answer, and after a failure the error.
func TestRunQuiet(t *testing.T) {
	clitest.Bare(t, fruit)
	r := programtest.Run(t, "", "run", "-q", fruitTask)
	if r.Code != cli.ExitOK || r.ErrOut != "" || !strings.Contains(r.Out, "Apples keep for weeks.") {
		t.Errorf("%+v", r)
	}
	r = programtest.Run(t, "", "run", "-q", "-m", "openai/gpt-5", "hi")
	if r.Code != cli.ExitFailed || !strings.Contains(r.ErrOut, "set OPENAI_API_KEY") {
		t.Errorf("%+v", r)
	}
}

// The names of durations in events include their unit.
func TestRunJSONUnits(t *testing.T) {
	clitest.Bare(t, fruit)
	r := programtest.Run(t, "", "run", "--json", "-m", "sim/native+500+times=1", fruitTask)
	for _, want := range []string{`"took_ns":`, `"wait_ns":`} {
		if !strings.Contains(r.Out, want) {
			t.Errorf("no %s in\n%s", want, r.Out)
		}
	}
	if m := regexp.MustCompile(`"(took|delay|wait|time)":`).FindString(r.Out); m != "" {
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
	r := programtest.Run(t, "", "run", "-m", "sim/script:one.txtar", "--allow", "write", "write")
	if r.Code != cli.ExitFailed || !strings.Contains(r.ErrOut, "nothing was run: write_file was refused") || !strings.Contains(r.ErrOut, "refused: nobody can be asked here") {
		t.Errorf("%+v", r)
	}
	r = programtest.Run(t, "", "run", "-m", "sim/script:more.txtar", "--allow", "write,exec", "write")
	if r.Code != cli.ExitFailed || !strings.Contains(r.ErrOut, "nothing was run: write_file ×2, run_command were refused") || !strings.Contains(r.ErrOut, "refused write_file ×2, run_command\n") {
		t.Errorf("%+v", r)
	}
	r = programtest.Run(t, "", "run", "-m", "sim/script:some.txtar", "--allow", "write", "write")
	if r.Code != cli.ExitOK || !strings.Contains(r.ErrOut, "refused write_file") {
		t.Errorf("%+v", r)
	}
}
