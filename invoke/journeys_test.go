package invoke_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

var update = flag.Bool("update", false, "write what happens into the journeys")

// A journey is an archive in testdata/journeys. Its tools follow a script, its
// turns are calls as a model would send them, and it says which events, results
// and records must come of them. Time is simulated.
//
//	-- tools --     a tool per line: name, effects, schema, script
//	-- runner --    settings, if any
//	-- turn N --    a call per line, as JSON
//	-- events N --  what must happen
//	-- record --    what the journal must hold, and how often each tool ran
func TestJourneys(t *testing.T) {
	files, err := filepath.Glob("testdata/journeys/*.txtar")
	if err != nil || len(files) < 12 {
		t.Fatalf("found %d journeys, error %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			old, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got *txtar.Archive
			synctest.Test(t, func(t *testing.T) { got = journey(t, old) })
			if *update {
				if err := os.WriteFile(file, txtar.Format(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := gocmp.Diff(string(txtar.Format(old)), string(txtar.Format(got))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// journey plays an archive and returns it with what happened.
func journey(t *testing.T, in *txtar.Archive) *txtar.Archive {
	out := &txtar.Archive{Comment: in.Comment}
	stage := &stage{t: t, ran: make(map[string]int)}
	var s *invoke.Session
	store := new(journal.Memory)
	for _, f := range in.Files {
		if strings.HasPrefix(f.Name, "events") || f.Name == "record" {
			continue
		}
		out.Files = append(out.Files, f)
		kind, n, _ := strings.Cut(f.Name, " ")
		switch kind {
		case "tools":
			stage.tools = tool.MustSet(decodeLines(t, f.Data, stage.tool)...)
		case "runner":
			stage.settings(f.Data)
		case "turn":
			if s == nil {
				s = stage.open(store)
			}
			calls := decodeLines(t, f.Data, func(c llm.Call) llm.Call { return c })
			out.Files = append(out.Files, txtar.File{Name: "events " + n, Data: stage.play(s, calls)})
		default:
			t.Fatalf("no section is called %q", f.Name)
		}
	}
	time.Sleep(24 * time.Hour) // tools that were abandoned end, too
	out.Files = append(out.Files, txtar.File{Name: "record", Data: stage.record(store)})
	return out
}

// stage is where a journey takes place.
type stage struct {
	t      *testing.T
	tools  *tool.Set
	runner invoke.Runner
	mu     sync.Mutex
	ran    map[string]int
}

func decodeLines[In, Out any](t *testing.T, data []byte, then func(In) Out) []Out {
	t.Helper()
	var out []Out
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	for dec.More() {
		var v In
		if err := dec.Decode(&v); err != nil {
			t.Fatal(err)
		}
		out = append(out, then(v))
	}
	return out
}

// scripted is a tool as a journey writes it. Its script is what it does the
// first time, the second time and so on; the last line goes on for ever.
type scripted struct {
	Name, Effects, Origin, Timeout string
	Schema                         json.RawMessage
	Script                         []struct {
		Text, Error, Panic, Took, RetryAfter string
		Repeat                               int
		IgnoresStop                          bool // ignores that it was told to stop
		Did                                  []tool.SideEffect
	}
}

var (
	effects = map[string]tool.Effects{"": 0, "read_only": tool.ReadOnly, "idempotent": tool.Idempotent}
	origins = map[string]tool.Origin{"": tool.Program, "mcp": tool.MCP}
)

func (st *stage) tool(def scripted) tool.Tool {
	t := tool.Tool{Name: def.Name, Input: def.Schema, Effects: effects[def.Effects], Origin: origins[def.Origin], Timeout: st.duration(def.Timeout)}
	t.Call = func(ctx context.Context, args json.RawMessage) (tool.Output, error) {
		st.mu.Lock()
		line := def.Script[min(st.ran[def.Name], len(def.Script)-1)]
		st.ran[def.Name]++
		st.mu.Unlock()
		var own struct{ Took string } // so that calls side by side end in a known order
		if err := json.Unmarshal(args, &own); err != nil {
			return tool.Output{}, err
		}
		if took := st.duration(cmp.Or(own.Took, line.Took)); took > 0 {
			select {
			case <-time.After(took):
			case <-ctx.Done():
				if !line.IgnoresStop {
					return tool.Output{}, ctx.Err()
				}
				time.Sleep(took)
			}
		}
		if line.Panic != "" {
			panic(line.Panic)
		}
		out := tool.Output{Did: line.Did}
		if line.Text != "" {
			out.Parts = tool.Text(strings.Repeat(line.Text, max(line.Repeat, 1))).Parts
		}
		if line.Error == "" {
			return out, nil
		}
		err := tool.FromError(errors.New(line.Error))
		err.RetryAfter = st.duration(line.RetryAfter)
		return out, err
	}
	return t
}

func (st *stage) duration(s string) time.Duration {
	if s == "" {
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		st.t.Fatal(err)
	}
	return d
}

func (st *stage) settings(data []byte) {
	var set struct {
		Policy    string // "ask" asks a person
		Person    string // "yes", "no" or "other" (agrees to other arguments)
		MaxChars  int
		Calls     int
		Cache     bool
		Task      string
		NoBreaker bool
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&set); err != nil {
		st.t.Fatal(err)
	}
	r := &st.runner
	if set.Policy == "ask" {
		r.Policy = invoke.AskFirst(nil)
	}
	if set.Person != "" {
		r.Approve = func(_ context.Context, q invoke.Question) (journal.Approval, error) {
			a := q.Answer(set.Person != "no", "ada", "")
			if set.Person == "other" {
				a.ParamsHash = journal.ParamsHash(json.RawMessage(`{}`))
			}
			return a, nil
		}
	}
	r.Output.MaxChars, r.Budget.Calls, r.Cache, r.Breaker.Off = set.MaxChars, set.Calls, set.Cache, set.NoBreaker
}

func (st *stage) open(store journal.Store) *invoke.Session {
	st.runner.Tools = st.tools
	st.runner.Rand = func() float64 { return 0 }
	st.runner.Output.SpillDir = filepath.Join(st.t.TempDir(), "spill")
	rec, err := journal.Open(st.t.Context(), store, "journey")
	if err != nil {
		st.t.Fatal(err)
	}
	s, err := st.runner.Session(rec)
	if err != nil {
		st.t.Fatal(err)
	}
	s.Task = "journey"
	return s
}

// play runs a turn and writes down its events. Tools that start side by side
// start in any order, so their lines are sorted.
func (st *stage) play(s *invoke.Session, calls []llm.Call) []byte {
	var lines []string
	first := 0
	for ev, err := range s.Do(st.t.Context(), calls) {
		if err != nil {
			lines = append(lines, "error "+err.Error())
			break
		}
		if _, ok := ev.(invoke.Started); ok {
			lines = append(lines, describe(ev))
			continue
		}
		slices.Sort(lines[min(first, len(lines)):])
		lines = append(lines, describe(ev))
		first = len(lines)
	}
	return []byte(st.tidy(strings.Join(lines, "\n")) + "\n")
}

// tidy takes out what differs from machine to machine.
func (st *stage) tidy(s string) string {
	return strings.ReplaceAll(s, st.runner.Output.SpillDir, "SPILL")
}

func describe(ev llm.Event) string {
	switch ev := ev.(type) {
	case invoke.Checked:
		line := fmt.Sprintf("checked %s %s %s", ev.CallID, ev.Tool, ev.Args)
		for _, r := range ev.Repairs {
			line += fmt.Sprintf(" (%s %s)", r.Class, r.Rule)
		}
		return line
	case invoke.Asked:
		return fmt.Sprintf("asked %s %s %s: %s", ev.CallID, ev.Tool, ev.Args, ev.Reason)
	case invoke.Decided:
		return strings.TrimSpace(fmt.Sprintf("decided %s allowed=%v by %s %s", ev.CallID, ev.Allowed, ev.By, ev.Reason))
	case invoke.Planned:
		return fmt.Sprintf("planned %v", ev.Batches)
	case invoke.Intended:
		return fmt.Sprintf("intended %s on record=%v", ev.CallID, ev.Entry.Valid())
	case invoke.Started:
		return fmt.Sprintf("started %s attempt %d", ev.CallID, ev.Attempt)
	case invoke.ToolRetry:
		return fmt.Sprintf("retrying %s after attempt %d and %s: %s", ev.CallID, ev.Attempt, ev.Delay, ev.Error)
	case invoke.Truncated:
		return fmt.Sprintf("truncated %s %d -> %d", ev.CallID, ev.Chars, ev.Kept)
	case invoke.Ended:
		return fmt.Sprintf("ended %s %s in %s", ev.CallID, ev.Status, ev.Took)
	case invoke.Stopped:
		return "stopped " + ev.Reason
	case llm.Warning:
		return fmt.Sprintf("warning %s %s: %s", ev.Code, ev.Feature, ev.Detail)
	case invoke.Outcome:
		head := fmt.Sprintf("outcome %d %s %s", ev.Index, ev.Call.ID, ev.Receipt.Status)
		if ev.Error != nil {
			head += fmt.Sprintf(" code=%s recoverable=%v attempt=%d next=%s", ev.Error.Code, ev.Error.Recoverable, ev.Attempt, ev.Next)
		}
		text := ev.Result.Text()
		if len(text) > 2000 {
			text = text[:60] + " ... " + text[len(text)-250:]
		}
		return head + "\n\t" + strings.ReplaceAll(text, "\n", "\n\t")
	}
	return ev.EventType()
}

// record writes down the journal, as far as it does not depend on the machine,
// and how often each tool ran.
func (st *stage) record(store journal.Store) []byte {
	var b strings.Builder
	report, err := journal.Verify(store.Read(st.t.Context(), "journey", 0))
	if err != nil {
		st.t.Errorf("the journal does not verify: %v", err)
	}
	_ = report
	for e := range store.Read(st.t.Context(), "journey", 0) {
		var about struct{ Call, Tool string }
		if err := e.Decode(&about); err != nil {
			st.t.Error(err)
		}
		fmt.Fprintf(&b, "%s %s %s", e.Kind, about.Call, about.Tool)
		if e.Kind == journal.KindReceipt || e.Kind == journal.KindRefusal {
			var r journal.Receipt
			if err := e.Decode(&r); err != nil {
				st.t.Error(err)
			}
			describeReceipt(&b, r)
		}
		b.WriteString("\n")
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	for t := range st.tools.All() {
		fmt.Fprintf(&b, "%s ran %d times\n", t.Name, st.ran[t.Name])
	}
	return []byte(st.tidy(b.String()))
}

func describeReceipt(b *strings.Builder, r journal.Receipt) {
	fmt.Fprintf(b, " %s attempts=%d", r.Status, r.Attempts)
	if len(r.DelaysMS) > 0 {
		fmt.Fprintf(b, " delays=%v", r.DelaysMS)
	}
	if r.Error != nil {
		fmt.Fprintf(b, " error=%s strategy=%s", r.Error.Code, r.Error.Strategy)
	}
	for _, did := range r.SideEffects {
		fmt.Fprintf(b, " did=%s:%s", did.Type, did.Path)
	}
	for _, rep := range r.Repairs {
		fmt.Fprintf(b, " repair=%s", rep.Rule)
	}
	if r.Cached {
		b.WriteString(" cached")
	}
	if r.Truncated {
		fmt.Fprintf(b, " bytes=%d", r.OutputBytes)
	}
	if r.Approval != nil {
		fmt.Fprintf(b, " approval by %s allowed=%v", r.Approval.By, r.Approval.Allowed)
	}
}
