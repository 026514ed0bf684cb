package export_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/toolpost/toolpost/internal/export"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

var update = flag.Bool("update", false, "write the golden files")

func ptr[T any](v T) *T { return &v }

// sample is a run with everything an export can show.
func sample(t *testing.T) *journal.Memory {
	t.Helper()
	store := new(journal.Memory)
	r, err := journal.Open(t.Context(), store, "run-1")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r.Now = func() time.Time { at = at.Add(250 * time.Millisecond); return at }
	write := func(kind journal.Kind, v any) {
		t.Helper()
		if _, err := r.Write(t.Context(), kind, v); err != nil {
			t.Fatal(err)
		}
	}
	out, err := journal.OutputHash([]llm.Part{llm.Text{Text: "done"}}, "")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := journal.HashJSON([]byte(`["look","mend"]`))
	if err != nil {
		t.Fatal(err)
	}
	write(journal.KindStart, journal.Start{Task: "Mend the\nbuild", PolicyID: "default-1", IssueNumber: ptr(int64(7)), Repo: &journal.Repo{Remote: "git@example.org:x.git", Branch: "main", Commit: "abc"}})
	write(journal.KindPlan, journal.SessionPlan{PlanHash: plan, StepCount: 2})
	receipts := []journal.Receipt{
		{Call: "call_1", StepID: "look", Tool: "read_file", Args: json.RawMessage(`{"path":"main.go"}`), OutputHash: out, Status: journal.OK, LatencyMS: 12},
		{Call: "call_2", StepID: "mend", Tool: "edit_file", Args: json.RawMessage(`{"path":"main.go","new":"x"}`), OutputHash: out, Status: journal.OK, LatencyMS: 30,
			SideEffects: []journal.SideEffect{{Type: "file_modified", Path: "main.go"}}, StepUtility: ptr(0.75), Attempts: 2,
			Approval: &journal.Approval{Call: "call_2", Allowed: true, By: "sam"}},
		{Call: "call_3", StepID: "mend", Tool: "run", Args: json.RawMessage(`{"cmd":"make|all"}`), OutputHash: out, Status: journal.Failed, LatencyMS: 1500, ExitCode: ptr(2),
			Error: &journal.Failure{Code: "execution", Message: "main.go:3: oops", Recoverable: true}, SideEffects: []journal.SideEffect{{Type: "command_executed", Detail: map[string]json.RawMessage{"command": json.RawMessage(`"make all"`)}}}},
		{Call: "call_4", StepID: "mend", Tool: "rm", Args: json.RawMessage(`{"path":"/"}`), OutputHash: out, Status: journal.Refused, Error: &journal.Failure{Code: "permission", Message: "no policy allows it"}},
	}
	for i, rec := range receipts {
		if i == 1 || i == 2 {
			if _, err := r.Intent(t.Context(), journal.Intent{Call: rec.Call, StepID: rec.StepID, Tool: rec.Tool, Args: rec.Args}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.Receipt(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Intent(t.Context(), journal.Intent{Call: "call_5", StepID: "mend", Tool: "push", Args: json.RawMessage(`{}`)}); err != nil {
		t.Fatal(err)
	}
	write(journal.KindStep, journal.Step{StepID: "mend", Status: "Success", Iterations: 2})
	write(journal.KindVerification, journal.Verification{Command: "go test ./...", ExitCode: 0, Cwd: "/home/sam/x", DurationMS: 900, FailuresFixed: ptr(3)})
	write("something_new", map[string]int{"n": 1})
	write(journal.KindEnd, journal.End{Status: "success", Confidence: ptr(0.9)})
	if _, err := r.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	return store
}

func run(t *testing.T, opts export.Options) *export.Bundle {
	t.Helper()
	opts.Producer = "toolpost@test"
	b, err := export.Run(sample(t).Read(t.Context(), "run-1", 0), opts)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var variants = map[string]export.Options{
	"a": {Format: export.A}, "b": {Format: export.B}, "a-full": {Format: export.A, Full: true}, "b-full": {Format: export.B, Full: true},
}

func TestExport(t *testing.T) {
	for name, opts := range variants {
		b := run(t, opts)
		got := txtar.Format(&txtar.Archive{Files: []txtar.File{
			{Name: export.ReplayFile, Data: b.Replay}, {Name: export.ReceiptFile, Data: b.Receipt}, {Name: export.SummaryFile, Data: b.Summary},
		}})
		file := filepath.Join("testdata", name+".txtar")
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-golden +got):\n%s", file, diff)
		}
		if r := export.Verify(b.Replay, b.Receipt); r.Err() != nil || r.Calls != 5 || !r.Ended || r.Session != "run-1" || len(r.Unknown) != 1 {
			t.Errorf("%s does not verify: %+v", name, r)
		}
		if again := run(t, opts); !bytes.Equal(again.Replay, b.Replay) || !bytes.Equal(again.Receipt, b.Receipt) {
			t.Errorf("%s: the same run gives other bytes", name)
		}
	}
}

// Without being asked, an export holds no argument, output, message or path.
func TestHashesOnly(t *testing.T) {
	private := []string{"main.go", "make|all", "oops", "no policy", "/home/sam", "Mend the", "make all"}
	for name, opts := range variants {
		for file, content := range run(t, opts).Files() {
			for _, word := range private {
				if bytes.Contains(content, []byte(word)) && !opts.Full {
					t.Errorf("%s, %s: %q is told", name, file, word)
				}
			}
		}
	}
}

// Each line is its own canonical form, and hashes are those of the arguments.
func TestLines(t *testing.T) {
	for name, opts := range variants {
		for line := range bytes.Lines(run(t, opts).Replay) {
			line = bytes.TrimSpace(line)
			if c, err := journal.Canonical(line); err != nil || !bytes.Equal(c, line) {
				t.Errorf("%s: %s is not canonical: %v", name, line, err)
			}
		}
	}
}

// Whatever line of an export is changed, dropped or repeated, the files no
// longer agree.
func TestTamperedExport(t *testing.T) {
	for name, opts := range variants {
		b := run(t, opts)
		lines := bytes.SplitAfter(bytes.TrimSuffix(b.Replay, []byte("\n")), []byte("\n"))
		lines[len(lines)-1] = append(bytes.Clone(lines[len(lines)-1]), '\n')
		for i, l := range lines {
			with := func(what string, middle ...[]byte) {
				t.Helper()
				file := bytes.Join(append(append(append([][]byte{}, lines[:i]...), middle...), lines[i+1:]...), nil)
				if r := export.Verify(file, b.Receipt); r.Err() == nil {
					t.Errorf("%s: line %d %s, and nobody notices", name, i+1, what)
				}
			}
			with("dropped")
			with("doubled", l, l)
			if i > 0 { // the header is no part of a trajectory
				with("changed", bytes.Replace(l, []byte("2026-"), []byte("2025-"), 1))
			}
		}
		receipt := bytes.Replace(b.Receipt, []byte(`"latency_ms": 12`), []byte(`"latency_ms": 13`), 1)
		if r := export.Verify(b.Replay, receipt); bytes.Equal(receipt, b.Receipt) || r.Err() == nil {
			t.Errorf("%s: the receipt changed, and nobody notices", name)
		}
	}
}

// Files of other programs: unknown events and fields, keys in any order,
// results in any order.
func TestForeignExports(t *testing.T) {
	hash := func(s string) journal.Hash {
		h, err := journal.HashJSON([]byte(s))
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	x := hash(`{"x":1}`)
	head := `{"event":"ReplayHeader","replay_version":1,"producer":"other@1.0","created_at":"2025-01-01T00:00:00Z"}
{"event":"SessionStart","t":"2025-01-01T00:00:00Z","session_id":"s1","policy_bundle_id":"p"}
`
	call := func(id string, h journal.Hash) string {
		return fmt.Sprintf(`{"event":"ToolCall","t":"…","id":%q,"tool":"f","params":{"x": 1},"params_hash":%q,"step_id":"s"}`+"\n", id, h)
	}
	result := func(id string, out journal.Hash) string {
		return fmt.Sprintf(`{"event":"ToolResult","id":%q,"output_hash":%q,"step_utility":0.5,"latency_ms":3,"novel":true}`+"\n", id, out)
	}
	end := `{"event":"SessionEnd","status":"Success","confidence":0.5,"total_tool_calls":2,"total_latency_ms":6}` + "\n"
	for _, c := range []struct{ why, replay, problem string }{
		{"in order", head + call("a", x) + result("a", x) + call("b", x) + result("b", x) + end, ""},
		{"results join by id", head + call("a", x) + call("b", x) + `{"event":"Payment","sats":1}` + "\n" + result("b", x) + result("a", x) + end, ""},
		{"no end", head + call("a", x), ""},
		{"a wrong hash", head + call("a", hash(`{}`)) + result("a", x) + call("b", x) + result("b", x) + end, "line 3: the params_hash is not"},
		{"a result for nobody", head + call("a", x) + result("c", x), "line 4 is a result without a call"},
		{"two results", head + call("a", x) + result("a", x) + result("a", x), "line 5 is a result without a call"},
		{"a wrong count", head + call("a", x) + result("a", x) + end, "counts 2 calls"},
		{"no header", call("a", x), "does not begin with a ReplayHeader"},
		{"no start", strings.SplitAfter(head, "\n")[0] + call("a", x), "line 2 is \"ToolCall\""},
		{"not JSON", head + "oops\n", "line 3 is not a JSON object"},
		{"something after the end", head + call("a", x) + call("b", x) + end + call("c", x), "stands after the SessionEnd"},
		{"nothing", "", "is empty"},
	} {
		r := export.Verify([]byte(c.replay), nil)
		got := strings.Join(r.Problems, "; ")
		if c.problem == "" && got != "" || !strings.Contains(got, c.problem) {
			t.Errorf("%s: %s; want %q", c.why, got, c.problem)
		}
	}
	b := `{"type":"ReplayHeader","replay_version":1,"producer":"other@1.0","created_at":"…"}
{"type":"SessionStart","ts":"…","session_id":"s1","policy_bundle_id":"p"}
{"type":"ToolCall","ts":"…","session_id":"s1","step_id":"1","tool":"f","params":{"x":1},"params_hash":"` + string(x) + `"}
{"type":"ToolResult","ts":"…","step_id":"1","ok":true,"output_hash":"` + string(x) + `","latency_ms":1,"side_effects":["fs_read"]}
{"type":"SessionEnd","ts":"…","status":"success","confidence":1}
`
	receipt := `{"schema":"openagents.receipt.v1","session_id":"s1","trajectory_hash":"sha256:theirs","policy_bundle_id":"p","tool_calls":[{"tool":"f","params_hash":"` + string(x) + `","output_hash":"` + string(x) + `"}]}`
	if r := export.Verify([]byte(b), []byte(receipt)); r.Err() != nil || r.Format != export.B || r.Calls != 1 {
		t.Errorf("format B of another program: %+v", r)
	}
	if r := export.Verify([]byte(b), []byte(strings.Replace(receipt, `"tool":"f"`, `"tool":"g"`, 1))); r.Err() == nil {
		t.Error("another tool in the receipt is not noticed")
	}
	for file, want := range map[string][2]bool{b: {true, false}, head: {true, false}, receipt: {false, true}, "{}": {}, "": {}} {
		if replay, receipt := export.Looks([]byte(file)); replay != want[0] || receipt != want[1] {
			t.Errorf("%.40s looks like replay %v, receipt %v", file, replay, receipt)
		}
	}
}

// The hash of arguments that held a secret is of what they were; the export
// says so, and still verifies.
func TestStrippedArguments(t *testing.T) {
	store := new(journal.Memory)
	r, err := journal.Open(t.Context(), store, "r")
	if err != nil {
		t.Fatal(err)
	}
	args := json.RawMessage(`{"password":"hunter2"}`)
	if _, err := r.Receipt(t.Context(), journal.Receipt{Call: "c", Tool: "login", Args: args, Status: journal.OK}); err != nil {
		t.Fatal(err)
	}
	b, err := export.Run(store.Read(t.Context(), "r", 0), export.Options{Open: true, Full: true})
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b.Replay, []byte("hunter2")) || !bytes.Contains(b.Replay, []byte(journal.ParamsHash(args))) {
		t.Errorf("%s", b.Replay)
	}
	if report := export.Verify(b.Replay, b.Receipt); report.Err() != nil {
		t.Error(report.Err())
	}
}

func TestOpenAndBrokenRuns(t *testing.T) {
	store := new(journal.Memory)
	r, err := journal.Open(t.Context(), store, "r")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Receipt(t.Context(), journal.Receipt{Call: "c", Tool: "f", Status: journal.OK}); err != nil {
		t.Fatal(err)
	}
	if _, err := export.Run(store.Read(t.Context(), "r", 0), export.Options{}); !export.IsOpen(err) {
		t.Errorf("an open run: %v", err)
	}
	b, err := export.Run(store.Read(t.Context(), "r", 0), export.Options{Open: true})
	if err != nil {
		t.Fatal(err)
	}
	if report := export.Verify(b.Replay, b.Receipt); report.Err() != nil || report.Ended {
		t.Errorf("%+v", report)
	}
	if _, err := export.Run(store.Read(t.Context(), "r", 2), export.Options{Open: true}); err == nil {
		t.Error("an empty run is exported")
	}
	if _, err := export.Run(store.Read(t.Context(), "r", 0), export.Options{Open: true, Format: "c"}); err == nil {
		t.Error("there is a format c")
	}
}

// No file makes Verify do anything but say what is wrong with it.
func FuzzVerify(f *testing.F) {
	f.Add([]byte("{\"event\":\"ReplayHeader\",\"replay_version\":1}\n{\"event\":\"ToolResult\"}\n"), []byte(`{"session_id":"s","tool_calls":[{}]}`))
	f.Add([]byte("{\"type\":\"ReplayHeader\",\"producer\":\"toolpost@1\"}\n[]\n"), []byte(`{"schema":"x","trajectory_hash":"y"}`))
	f.Fuzz(func(t *testing.T, replay, receipt []byte) {
		export.Looks(replay)
		if r := export.Verify(replay, receipt); r.Err() == nil && r.Calls > 0 && r.Format == "" {
			t.Errorf("%d calls in no format", r.Calls)
		}
	})
}

// TestEditedSummary: the receipt has the hash of the summary, and the receipt of another program need not.
func TestEditedSummary(t *testing.T) {
	for _, format := range []export.Format{export.A, export.B} {
		b, err := export.Run(sample(t).Read(t.Context(), "run-1", 0), export.Options{Format: format})
		if err != nil {
			t.Fatal(err)
		}
		for summary, fails := range map[string]bool{string(b.Summary): false, string(b.Summary) + " ": true, "": true, strings.Replace(string(b.Summary), "ok", "OK", 1): true} {
			r := export.Verify(b.Replay, b.Receipt)
			if r.CheckSummary(b.Receipt, []byte(summary)); (r.Err() != nil) != fails {
				t.Errorf("format %s: %q: %v", format, summary, r.Err())
			}
		}
	}
	r := new(export.Report)
	if r.CheckSummary([]byte(`{"session_id":"x","tool_calls":[]}`), []byte("any")); r.Err() != nil {
		t.Error(r.Err())
	}
}
