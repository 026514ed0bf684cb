package agent_test

import (
	"context"
	"crypto/ed25519"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/internal/export"
	"github.com/toolpost/toolpost/internal/signing"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
	_ "modernc.org/sqlite"
)

// writeRecords names a new directory for the records that this version writes.
// The directories that are committed are never written again: they are what
// earlier versions left on users' disks.
var writeRecords = flag.String("write-records", "", "write records of many kinds of runs to this `DIRECTORY`, and do nothing else")

// scene is a run to record.
type scene struct {
	name string
	play func(*testing.T, journal.Store, string)
}

// ticking is a clock that moves 10 ms each time it is read.
func ticking() func() time.Time {
	at := time.Date(2026, 11, 16, 2, 0, 0, 0, time.UTC)
	return func() time.Time { at = at.Add(10 * time.Millisecond); return at }
}

// dying is a store that fails after so many entries, like that of a process that was
// killed.
type dying struct {
	journal.Store
	left int
}

func (s *dying) Append(ctx context.Context, e journal.Entry) (journal.Entry, error) {
	if s.left--; s.left < 0 {
		return journal.Entry{}, errors.New("the process is gone")
	}
	return s.Store.Append(ctx, e)
}

func (s *dying) Lease(ctx context.Context, run string) (journal.Lease, error) {
	return s.Store.(journal.Leaser).Lease(ctx, run)
}

func (s *dying) Release(ctx context.Context, l journal.Lease) error {
	return s.Store.(journal.Leaser).Release(ctx, l)
}

// files is a tool set of a reader and a writer that change nothing.
func files() []tool.Tool {
	type path struct {
		Path string `json:"path"`
	}
	read := tool.Func("read_file", "Reads a file.", func(_ context.Context, in path) (string, error) { return "text of " + in.Path + " <&> \u2028 é", nil })
	read.Effects = tool.ReadOnly
	type content struct {
		Path string `json:"path"`
		Text string `json:"text"`
	}
	write := tool.Func("write_file", "Writes a file.", func(_ context.Context, in content) (string, error) {
		return fmt.Sprintf("%d bytes written to %s", len(in.Text), in.Path), nil
	})
	return []tool.Tool{read, write}
}

// recordedAgent has what all scenes share.
func recordedAgent(store journal.Store, run string, m llm.Model) *agent.Agent {
	now := ticking()
	r := runner(files()...)
	r.Now = now
	return &agent.Agent{Model: m, ID: "sim/actor", System: "Be brief.", Tools: r, Store: store, Now: now, NewRun: func() string { return run }}
}

// playedScene runs an agent and fails unless it ended as it should.
func playedScene(t *testing.T, a *agent.Agent, task string, ok bool) *log {
	t.Helper()
	l := listen(a.Run(t.Context(), llm.User(task)))
	if (l.err == nil) != ok {
		t.Fatalf("%s: %v", task, l.err)
	}
	return l
}

func sceneFinished(t *testing.T, store journal.Store, run string) {
	m := says([]llm.Part{llm.Thinking{Text: "hm"}, llm.Text{Text: "Let me see."}, call("1", "read_file", `{"path":"a.txt"}`), call("2", "write_file", `{"path":"b.txt","text":"x"}`)},
		[]llm.Part{call("3", "read_file", `{"path": "c.txt"}`)}, "All is done.")
	playedScene(t, recordedAgent(store, run, m), "Copy a.txt to b.txt", true)
}

func sceneKilled(left int) func(*testing.T, journal.Store, string) {
	return func(t *testing.T, store journal.Store, run string) {
		m := says([]llm.Part{llm.Text{Text: "Let me see."}, call("1", "read_file", `{"path":"a.txt"}`), call("2", "write_file", `{"path":"b.txt","text":"x"}`)}, "All is done.")
		playedScene(t, recordedAgent(&dying{store, left}, run, m), "Copy a.txt to b.txt", false)
	}
}

func sceneStripped(left int) func(*testing.T, journal.Store, string) {
	return func(t *testing.T, store journal.Store, run string) {
		key := "sk-ant-api03-" + strings.Repeat("aB3", 12)
		say := tool.Func("say", "Says.", func(_ context.Context, in map[string]any) (string, error) { return "the key is " + key, nil })
		m := says([]llm.Part{llm.Text{Text: "With " + key}, call("1", "say", `{"text":"hi","password":"hunter22"}`)}, "It was "+key+".")
		a := recordedAgent(&dying{store, left}, run, m)
		a.Tools = &invoke.Runner{Tools: tool.MustSet(say), Now: a.Now}
		playedScene(t, a, "Use "+key, left > 100)
	}
}

func sceneSpilled(t *testing.T, store journal.Store, run string) {
	long := tool.Func("list", "Lists.", func(context.Context, struct{}) (string, error) {
		return strings.Repeat("a line of many\n", 120), nil
	})
	long.Effects = tool.ReadOnly
	dir := filepath.Join(os.TempDir(), "toolpost-records")
	if err := os.RemoveAll(dir); err != nil { // a name that is taken is not used again
		t.Fatal(err)
	}
	a := recordedAgent(store, run, says(call("1", "list", `{}`), "Many."))
	a.Tools = &invoke.Runner{Tools: tool.MustSet(long), Now: a.Now, Output: invoke.ResultView{MaxChars: 1000, SpillDir: dir}}
	playedScene(t, a, "List", true)
}

// sceneCheckpoints has a person asked after failures, is interrupted and resumed
// twice, the second time with a message.
func sceneCheckpoints(finish bool) func(*testing.T, journal.Store, string) {
	return func(t *testing.T, store journal.Store, run string) {
		fails := 2
		open := tool.Func("open", "Opens.", func(_ context.Context, in map[string]any) (string, error) {
			if fails--; fails >= 0 {
				return "", errors.New("permission denied")
			}
			return "it is open", nil
		})
		choices := []agent.Choice{{Action: agent.Retry, By: "ada"}, {Action: agent.Retry, By: "ada"}, {Action: agent.Manual, Text: "it is open now", By: "ada"}}
		a := recordedAgent(&dying{store, 17}, run, byTurn{says(call("1", "open", `{"door":1}`), call("2", "open", `{"door":2}`), "Both are open.").lines})
		a.Tools = &invoke.Runner{Tools: tool.MustSet(open), Now: a.Now}
		a.Checkpoint = func(context.Context, agent.Checkpoint) (agent.Choice, error) {
			c := choices[0]
			choices = choices[min(1, len(choices)-1):]
			return c, nil
		}
		playedScene(t, a, "Open the doors", false)
		if !finish {
			return
		}
		a.Store = store
		if l := listen(a.Resume(t.Context(), run, llm.User("Hurry."))); l.err != nil {
			t.Fatal(l.err)
		}
	}
}

func sceneSwitch(t *testing.T, store journal.Store, run string) {
	first, second := says(call("1", "read_file", `{"path":"a.txt"}`)), says(call("1", "read_file", `{"path":"b.txt"}`), "Read both.")
	a := recordedAgent(store, run, nil)
	a.Route = func(turn int) (llm.Model, string) {
		if turn == 1 {
			return first, "sim/first"
		}
		return second, "sim/second"
	}
	playedScene(t, a, "Read both", true)
}

func sceneHosted(t *testing.T, store journal.Store, run string) {
	a := recordedAgent(store, run, new(searcher))
	a.Hosted = []agent.ProviderTool{{Name: llm.WebSearch, Config: llm.HostedConfig{MaxUses: 3}}}
	a.HostedSupport = func(string, llm.ToolDef) error { return nil }
	playedScene(t, a, "Where is Go?", true)
}

func sceneStructured(t *testing.T, store journal.Store, run string) {
	a := recordedAgent(store, run, says(call("1", "read_file", `{"path":"a.txt"}`), `Here: {"answer":"yes"}`))
	a.Request = llm.Request{Temperature: new(float64), Output: &llm.OutputFormat{Name: "verdict", Schema: json.RawMessage(
		`{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"],"additionalProperties":false}`)}}
	playedScene(t, a, "Is it?", true)
}

// sceneIDs has calls without ids, with the same id, and an unreadable one.
func sceneIDs(t *testing.T, store journal.Store, run string) {
	m := says([]llm.Part{call("", "read_file", `{"path":"a.txt"}`), call("", "read_file", `{"path":"b.txt"}`)}, call("call_1", "read_file", `{"path":"c.txt"}`),
		line{parts: []llm.Part{llm.Text{Text: "Now."}}, invalid: []llm.InvalidCall{{ID: "9", Name: "stop", Raw: `{"a":1}`, Reason: llm.NotAllowed, Problem: "it was not allowed"}}}, "Read.")
	playedScene(t, recordedAgent(store, run, m), "Read all", true)
}

// sceneOdd has JSON without a canonical form, and a vendor's state.
func sceneOdd(t *testing.T, store journal.Store, run string) {
	odd := llm.Call{ID: "c1", Name: "read_file", Args: json.RawMessage("{\"path\":\"\\ud83d half\",\"path\":2}"), State: llm.State{Vendor: "v", Data: json.RawMessage(`{"k":1,"k":2}`)}}
	playedScene(t, recordedAgent(store, run, says(odd, "Never mind.")), "Read", true)
}

func sceneShortened(t *testing.T, store journal.Store, run string) {
	long := tool.Func("list", "Lists.", func(_ context.Context, in map[string]any) (string, error) {
		return strings.Repeat("words ", 400), nil
	})
	long.Effects = tool.ReadOnly
	a := recordedAgent(store, run, says(call("1", "list", `{"n":1}`), call("2", "list", `{"n":2}`), call("3", "list", `{"n":3}`), call("4", "list", `{"n":4}`), "Enough."))
	a.Tools = &invoke.Runner{Tools: tool.MustSet(long), Now: a.Now}
	a.Context = 2200
	playedScene(t, a, "List", true)
}

// sceneFaults has answers that failed and were asked for again.
func sceneFaults(t *testing.T, store journal.Store, run string) {
	m := says(line{parts: []llm.Part{llm.Text{Text: "I was say"}}, err: failed(llm.Incomplete, "")}, call("1", "read_file", `{"path":"a.txt"}`), "Read.")
	playedScene(t, recordedAgent(store, run, m), "Read", true)
}

// sceneSession is a record that a program wrote without an agent, with all that an
// export can hold.
func sceneSession(t *testing.T, store journal.Store, run string) {
	ctx := t.Context()
	rec, err := journal.Open(ctx, store, run)
	if err != nil {
		t.Fatal(err)
	}
	rec.Now = ticking()
	issue, delta, sure, code := int64(7), 1, 0.9, 0
	check := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	args := json.RawMessage(`{"path":"hello.txt","old":"Helo","new":"Hello"}`)
	check(rec.Write(ctx, journal.KindStart, map[string]any{"producer": "editor@1.0", "task": "Fix it", "policy_bundle_id": "p1", "issue_number": issue,
		"repo": map[string]string{"remote": "r", "branch": "main", "commit": "c0ffee"}}))
	check(rec.Write(ctx, journal.KindPlan, journal.SessionPlan{PlanHash: journal.ParamsHash(json.RawMessage(`["edit"]`)), StepCount: 1, Plan: json.RawMessage(`["edit"]`)}))
	check(rec.Intent(ctx, journal.Intent{Call: "c1", StepID: "s1", Tool: "edit_file", Args: args, Effects: "writes"}))
	check(rec.Receipt(ctx, journal.Receipt{Call: "c1", StepID: "s1", Tool: "edit_file", Args: args, Status: journal.OK, LatencyMS: 7, ExitCode: &code, Attempts: 2, DelaysMS: []int64{5},
		SideEffects: []journal.SideEffect{{Type: "file_modified", Path: "hello.txt"}},
		Result:      &llm.Result{CallID: "c1", Name: "edit_file", Parts: []llm.Part{llm.Text{Text: "1 replacement"}}}}))
	check(rec.Receipt(ctx, journal.Receipt{Call: "c2", StepID: "s1", Tool: "rm", Args: args, Status: journal.Refused, Reason: "not allowed", Error: &journal.Failure{Code: "permission", Message: "not allowed"}}))
	check(rec.Intent(ctx, journal.Intent{Call: "c3", StepID: "s1", Tool: "pay", Args: json.RawMessage(`{"sum":12345678901234567890}`)}))
	check(rec.Write(ctx, journal.KindStep, journal.Step{StepID: "s1", Status: "Success", Iterations: 1}))
	check(rec.Write(ctx, journal.KindVerification, map[string]any{"command": "grep -q Hello hello.txt", "exit_code": 0, "duration_ms": 2, "verification_delta": delta}))
	check(rec.Write(ctx, journal.KindEnd, journal.End{Status: "success", Confidence: &sure, Summary: "The greeting is right."}))
	check(rec.Seal(ctx))
}

var scenes = []scene{
	{"finished", sceneFinished},
	{"killed-after-answer", sceneKilled(4)},
	{"killed-after-intent", sceneKilled(8)},
	{"killed-after-receipt", sceneKilled(10)},
	{"stripped", sceneStripped(1000)},
	{"stripped-killed", sceneStripped(8)},
	{"spilled", sceneSpilled},
	{"checkpoints", sceneCheckpoints(true)},
	{"checkpoints-killed", sceneCheckpoints(false)},
	{"switch", sceneSwitch},
	{"hosted", sceneHosted},
	{"structured", sceneStructured},
	{"ids", sceneIDs},
	{"odd", sceneOdd},
	{"shortened", sceneShortened},
	{"faults", sceneFaults},
	{"session", sceneSession},
}

// exported are the scenes that are also written as exports, with the way to do it.
var exported = map[string]export.Options{
	"finished-a":      {Format: export.A},
	"finished-a-full": {Format: export.A, Full: true},
	"finished-b-full": {Format: export.B, Full: true},
	"stripped-a-full": {Format: export.A, Full: true},
	"session-a-full":  {Format: export.A, Full: true},
	"session-b":       {Format: export.B},
	"session-b-full":  {Format: export.B, Full: true},
}

// TestWriteRecords writes a directory of records if it is told to; see the README
// beside them.
func TestWriteRecords(t *testing.T) {
	if *writeRecords == "" {
		return
	}
	dir, err := journal.OpenDir(*writeRecords)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scenes {
		s.play(t, dir, s.name)
	}
	sceneFinished(t, dir, "torn")
	tearLast(t, dir.File("torn"))
	signRecord(t, dir, "finished")
	for name, opts := range exported {
		run, _, _ := strings.Cut(name, "-")
		writeExport(t, dir, run, filepath.Join(*writeRecords, "exports", name), opts)
	}
	dumpSQL(t, filepath.Join(*writeRecords, "journal.sql"))
}

// tearLast leaves half of the last line of a file, and of the line before it.
func tearLast(t *testing.T, file string) {
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(b), "\n")
	last := lines[len(lines)-3] // before the seal
	b = []byte(strings.Join(lines[:len(lines)-3], "") + last[:len(last)/2])
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func signRecord(t *testing.T, dir *journal.Dir, run string) {
	report, err := journal.Verify(dir.Read(t.Context(), run, 0))
	if err != nil {
		t.Fatal(err)
	}
	private, public, err := signing.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	var key ed25519.PrivateKey
	if key, err = signing.ParsePrivateKey(private); err != nil {
		t.Fatal(err)
	}
	sig, err := signing.Sign(report, key, ticking()())
	if err != nil {
		t.Fatal(err)
	}
	line, err := json.Marshal(sig)
	if err != nil {
		t.Fatal(err)
	}
	base := strings.TrimSuffix(dir.File(run), ".jsonl")
	if err := errors.Join(os.WriteFile(base+".sig", append(line, '\n'), 0o600), os.WriteFile(base+".pub", public, 0o600)); err != nil {
		t.Fatal(err)
	}
}

func writeExport(t *testing.T, store journal.Store, run, dir string, opts export.Options) {
	opts.Producer = "toolpost@records"
	bundle, err := export.Run(store.Read(t.Context(), run, 0), opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range bundle.Files() {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// dumpSQL writes a database with some of the scenes as the statements that make it.
func dumpSQL(t *testing.T, file string) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	store, err := journal.OpenSQL(db)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scenes {
		if s.name == "finished" || s.name == "killed-after-intent" || s.name == "stripped-killed" {
			s.play(t, store, s.name)
		}
	}
	var b strings.Builder
	tables, err := db.QueryContext(t.Context(), "SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name")
	if err != nil {
		t.Fatal(err)
	}
	defer tables.Close()
	var names []string
	for tables.Next() {
		var name, create string
		if err := tables.Scan(&name, &create); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
		b.WriteString(create + ";\n")
	}
	for _, name := range names {
		dumpTable(t, db, name, &b)
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

func dumpTable(t *testing.T, db *sql.DB, name string, b *strings.Builder) {
	rows, err := db.QueryContext(t.Context(), "SELECT * FROM "+name)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values := make([]any, len(columns))
		places := make([]any, len(columns))
		for i := range values {
			places[i] = &values[i]
		}
		if err := rows.Scan(places...); err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			if s, ok := v.(string); ok {
				values[i] = "'" + strings.ReplaceAll(s, "'", "''") + "'"
			}
		}
		fmt.Fprintf(b, "INSERT INTO %s (%s) VALUES (%s);\n", name, strings.Join(columns, ", "), joined(values))
	}
}

func joined(values []any) string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = fmt.Sprint(v)
	}
	return strings.Join(out, ", ")
}
