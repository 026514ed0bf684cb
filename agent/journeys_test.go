package agent_test

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
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write what happens into the journeys and their table")

// A journey is an archive in testdata/journeys. It is played against the
// simulator over HTTP in every form: calls delivered by the vendor or written as
// text after a prompt, streamed or whole. What happens must be the same in all.
//
//	-- agent --    settings, if any: see stageSettings
//	-- tools --    a tool per line: name, effects, schema, script
//	-- user --     the task
//	-- model N --  what the model says to its Nth question: a script of package
//	               sim, or with "raw" in its first line the text as it is
//	-- means --    what must happen; in one form only: means native, means emulated
//	-- record --   what the journal must hold, and how often each tool ran
func TestJourneys(t *testing.T) {
	files, err := filepath.Glob("testdata/journeys/*.txtar")
	if err != nil || len(files) < 31 {
		t.Fatalf("found %d journeys, error %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			old, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := journey(t, old)
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

// journey plays an archive in every form and returns it with what happened.
func journey(t *testing.T, in *txtar.Archive) *txtar.Archive {
	out := &txtar.Archive{Comment: in.Comment}
	for _, f := range in.Files {
		if !strings.HasPrefix(f.Name, "means") && !strings.HasPrefix(f.Name, "record") {
			out.Files = append(out.Files, f)
		}
	}
	said := make(map[string]string) // by form
	for _, form := range forms {
		s := newStage(t, in, form)
		for _, f := range s.play() {
			key := f.Name + " " + form.kind
			if was, ok := said[key]; ok && was != string(f.Data) {
				t.Errorf("%s: streamed and whole differ:\n%s", key, gocmp.Diff(was, string(f.Data)))
			}
			said[key] = string(f.Data)
		}
	}
	for _, name := range []string{"means", "record"} {
		native, emulated := said[name+" native"], said[name+" emulated"]
		if native == emulated {
			out.Files = append(out.Files, txtar.File{Name: name, Data: []byte(native)})
			continue
		}
		out.Files = append(out.Files, txtar.File{Name: name + " native", Data: []byte(native)}, txtar.File{Name: name + " emulated", Data: []byte(emulated)})
	}
	return out
}

// stageSettings are the settings a journey may have.
type stageSettings struct {
	System     string
	MaxTurns   int `json:"max_turns"`
	NoLastTurn bool
	Budget     int
	Choice     string // "required", "none" or the name of a tool
	Output     json.RawMessage
	Person     []agent.Choice // the answers at checkpoints, in order; the last for ever
	Ladder     bool
	Stronger   bool     // the ladder ends at a stronger model
	Caller     []string // these tools have no function
	Offer      int      // so many tools
	Context    int
	Policy     string // "refuse" refuses everything, "ask" asks a person, who agrees
	Fault      string // of the simulator, like "+429=1s+times=1"
	Model      string // what the model is called; it behaves like the one of the form
	Switch     int    // the turn at which a model of the other kind goes on
	Interrupt  string // the type of the event at which the run is interrupted
	Resume     bool   // and then resumed
	MaxChars   int    // of a result
	CallBudget int    // calls that may run
	Search     *agent.ProviderTool
	Searches   bool // the provider runs web_search itself
	Varies     bool // whether a question is asked again depends on the form
}

// stage is where a journey takes place, in one form.
type stage struct {
	t     *testing.T
	form  form
	set   stageSettings
	tools []tool.Tool
	user  string
	play1 *player
	agent agent.Agent
	store *journal.Memory

	mu  sync.Mutex
	ran map[string]int
}

func newStage(t *testing.T, in *txtar.Archive, f form) *stage {
	s := &stage{t: t, form: f, play1: &player{t: t}, store: new(journal.Memory), ran: make(map[string]int)}
	for _, file := range in.Files {
		kind, _, _ := strings.Cut(file.Name, " ")
		switch kind {
		case "agent":
			strict(t, file.Data, &s.set)
		case "tools":
			for line := range bytes.Lines(file.Data) {
				var def scripted
				strict(t, line, &def)
				s.tools = append(s.tools, s.tool(def))
			}
		case "user":
			s.user = strings.TrimSpace(string(file.Data))
		case "model":
			s.play1.add(file)
		case "means", "record":
		default:
			t.Fatalf("no section is called %q", file.Name)
		}
	}
	return s
}

func strict(t *testing.T, data []byte, v any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
}

// scripted is a tool as a journey writes it. Its script is what it does the
// first time, the second time and so on; the last line goes on for ever.
type scripted struct {
	Name, Description, Effects, Origin string
	Schema                             json.RawMessage
	Script                             []struct {
		Text, Error string
		Repeat      int
		Did         []tool.SideEffect
	}
}

var (
	effects = map[string]tool.Effects{"": 0, "read_only": tool.ReadOnly, "idempotent": tool.Idempotent}
	origins = map[string]tool.Origin{"": tool.Program, "mcp": tool.MCP}
)

func (s *stage) tool(d scripted) tool.Tool {
	t := tool.Tool{Name: d.Name, Description: d.Description, Input: d.Schema, Effects: effects[d.Effects], Origin: origins[d.Origin]}
	t.Call = func(ctx context.Context, args json.RawMessage) (tool.Output, error) {
		s.mu.Lock()
		line := d.Script[min(s.ran[d.Name], len(d.Script)-1)]
		s.ran[d.Name]++
		s.mu.Unlock()
		out := tool.Output{Did: line.Did, Parts: tool.Text(strings.Repeat(line.Text, max(line.Repeat, 1))).Parts}
		if line.Error != "" {
			return out, tool.FromError(errors.New(line.Error))
		}
		return out, ctx.Err()
	}
	return t
}

// cast builds the agent of the journey.
func (s *stage) cast() {
	set := s.set
	a := &s.agent
	a.Model, a.ID = s.open(s.form, s.set.Fault)
	a.System, a.Store = set.System, s.store
	a.MaxTurns, a.NoLastTurn, a.RetryBudget, a.Context, a.Offer.Tools = set.MaxTurns, set.NoLastTurn, set.Budget, set.Context, set.Offer
	a.NewRun = func() string { return "journey" }
	a.Request.MaxTokens = 1000
	var own []tool.Tool
	for _, t := range s.tools {
		if contains(set.Caller, t.Name) {
			a.Caller = append(a.Caller, t.Def())
		} else {
			own = append(own, t)
		}
	}
	a.Tools = &invoke.Runner{Tools: tool.MustSet(own...), Backoff: invoke.Backoff{Initial: time.Millisecond}, Rand: func() float64 { return 0 }}
	a.Tools.Output.MaxChars, a.Tools.Output.NoSpill, a.Tools.Budget.Calls = set.MaxChars, true, set.CallBudget
	switch set.Policy {
	case "refuse":
		a.Tools.Policy = func(context.Context, tool.Tool, llm.Call) (invoke.Decision, error) {
			return invoke.Decision{Reason: "not today"}, nil
		}
	case "ask":
		a.Tools.Policy = invoke.AskFirst(nil)
		a.Tools.Approve = func(_ context.Context, q invoke.Question) (journal.Approval, error) {
			return q.Answer(true, "ada", ""), nil
		}
	}
	s.direct()
}

// direct sets what a journey says about choice, answer, lanes and people.
func (s *stage) direct() {
	set, a := s.set, &s.agent
	switch set.Choice {
	case "":
	case "required":
		a.Request.Choice.Mode = llm.MustCall
	case "none":
		a.Request.Choice.Mode = llm.MustNotCall
	default:
		a.Request.Choice = llm.ToolChoice{Mode: llm.MustCall, Name: set.Choice}
	}
	if set.Output != nil {
		a.Request.Output = &llm.OutputFormat{Name: "answer", Schema: set.Output}
	}
	if set.Search != nil {
		a.Hosted = []agent.ProviderTool{*set.Search}
		a.HostedSupport = func(string, llm.ToolDef) error {
			if s.set.Searches {
				return nil
			}
			return errors.New("it has no such tool")
		}
	}
	if set.Ladder || set.Stronger {
		a.Ladder = new(agent.Ladder)
	}
	if set.Stronger {
		a.Ladder.Stronger, _ = s.open(s.form.other(), "")
		a.Ladder.StrongerID = "stronger"
	}
	if set.Switch > 0 {
		next, _ := s.open(s.form.other(), "")
		a.Route = func(turn int) (llm.Model, string) {
			if turn >= set.Switch {
				return next, "the other model"
			}
			return a.Model, a.ID
		}
	}
	if set.Person != nil {
		n := 0
		a.Checkpoint = func(context.Context, agent.Checkpoint) (agent.Choice, error) {
			n++
			return set.Person[min(n, len(set.Person))-1], nil
		}
	}
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}

// play plays the journey and returns what happened.
func (s *stage) play() []txtar.File {
	s.cast()
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Minute)
	defer cancel()
	d := &digest{names: make(map[string]string), varies: s.set.Varies}
	if s.set.Model != "" {
		id := catalog.ParseID(s.set.Model)
		d.line("model %s: family %s, custom=%v", s.set.Model, id.Family, id.Custom)
	}
	l := s.watch(ctx, d, s.agent.Run(ctx, llm.User(s.user)))
	if s.set.Resume {
		d.line("== resumed ==")
		l = s.watch(ctx, d, s.agent.Resume(ctx, "journey"))
	}
	valid(s.t, l.done.Messages[:max(len(l.done.Messages)-min(len(l.done.Calls), 1), 0)])
	if err := agent.Replay(ctx, s.store, "journey"); err != nil {
		s.t.Errorf("%s: the replay differs: %v", s.form.name, err)
	}
	return []txtar.File{{Name: "means", Data: []byte(d.String())}, {Name: "record", Data: s.record(d)}}
}

// watch follows a run and writes down what happens.
func (s *stage) watch(ctx context.Context, d *digest, events func(func(llm.Event, error) bool)) *log {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := new(log)
	for ev, err := range events {
		if err != nil {
			l.err = err
			d.line("error %s", tidy(err.Error()))
			continue
		}
		d.add(ev, s.play1)
		if done, ok := ev.(agent.Done); ok {
			l.done = done
		}
		if ev.EventType() == s.set.Interrupt {
			s.set.Interrupt += " (it happened)"
			d.line("== interrupted ==")
			break
		}
	}
	_ = ctx
	return l
}

// record writes down the journal, as far as it does not depend on the form, and
// how often each tool ran.
func (s *stage) record(d *digest) []byte {
	var b strings.Builder
	for _, e := range verified(s.t, s.store, "journey") {
		if s.set.Varies && (e.Kind == journal.KindRequest || e.Kind == journal.KindAnswer) {
			continue
		}
		var about struct{ Call, Tool string }
		_ = e.Decode(&about) // only some entries are about a call
		fmt.Fprintf(&b, "%s %s %s", e.Kind, d.name(about.Call), about.Tool)
		if e.Kind == journal.KindReceipt || e.Kind == journal.KindRefusal {
			var r journal.Receipt
			if err := e.Decode(&r); err != nil {
				s.t.Error(err)
			}
			fmt.Fprintf(&b, " %s by %s", r.Status, cmp.Or(r.ExecutedBy, journal.ByRuntime))
			for _, did := range r.SideEffects {
				fmt.Fprintf(&b, " did=%s:%s", did.Type, did.Path)
			}
			if r.Approval != nil {
				fmt.Fprintf(&b, " approved by %s", r.Approval.By)
			}
		}
		if e.Kind == journal.KindOutcome {
			var o journal.OutcomeRecord
			if err := e.Decode(&o); err != nil {
				s.t.Error(err)
			}
			fmt.Fprintf(&b, " success=%v code=%s attempt=%d repairs=%d", o.Success, o.Code, o.Attempt, o.Repairs)
		}
		b.WriteString(" \n") // a word per line at least, for sorted
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tools {
		fmt.Fprintf(&b, "%s ran %d times\n", t.Name, s.ran[t.Name])
	}
	return []byte(sorted(b.String(), s.set.Ladder || s.set.Stronger))
}
