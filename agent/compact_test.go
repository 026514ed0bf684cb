package agent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/sim"
)

// lasting is a text of about so many tokens.
func lasting(name string, tokens int) string {
	return name + " " + strings.Repeat("and on and on ", tokens/4)
}

// longTalk is a chat of so many turns, of about 100 tokens each.
func longTalk(turns int) []llm.Message {
	msgs := []llm.Message{llm.User("The task is to count.")}
	for i := range turns {
		msgs = append(msgs, llm.Assistant(llm.Text{Text: lasting(fmt.Sprint("answer", i), 50)}), llm.User(lasting(fmt.Sprint("question", i), 50)))
	}
	return msgs
}

// windowed is a model with a window of so many tokens, in its own count, that remembers
// what it was asked.
type windowed struct {
	*reader
	most int
}

func (m windowed) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	if n := llm.EstimateRequest(req); n > m.most {
		return func(yield func(llm.Event, error) bool) {
			yield(nil, &llm.Error{Op: "test", Kind: llm.TooLong, Err: fmt.Errorf("prompt is too long: %d tokens > %d maximum", n, m.most)})
		}
	}
	return m.reader.Stream(ctx, req)
}

// TestCompact: a chat that outgrows the window goes on with a summary in the place of its
// oldest part, in the words of the hook or without any; the task, the question and the newest
// turns stay. It never ends because it is too long, and its record replays.
func TestCompact(t *testing.T) {
	write := func(text string, err error) func(context.Context, agent.Compaction) (string, error) {
		return func(context.Context, agent.Compaction) (string, error) { return text, err }
	}
	for name, c := range map[string]struct {
		compact  func(context.Context, agent.Compaction) (string, error)
		context  int
		window   int // of the model
		summary  string
		warning  string
		question int // tokens
	}{
		"a summary":                 {write("They counted to 7.", nil), 1500, 1500, "They counted to 7.", "", 10},
		"no hook":                   {nil, 1500, 1500, "", "without a summary: no function writes one", 10},
		"the hook fails":            {write("", errors.New("no ink")), 1500, 1500, "", "without a summary: no ink", 10},
		"nothing is written":        {write("  ", nil), 1500, 1500, "", "without a summary: the summary was empty", 10},
		"a summary that is long":    {write(lasting("They counted.", 5000), nil), 1500, 1500, "They counted. and on", "", 10},
		"only the model knows":      {write("They counted to 7.", nil), 0, 1500, "They counted to 7.", "", 10},
		"and it is much smaller":    {write("They counted to 7.", nil), 0, 300, "They counted to 7.", "", 10},
		"a question of half of all": {write("They counted to 7.", nil), 1500, 1500, "They counted to 7.", "", 800},
	} {
		t.Run(name, func(t *testing.T) {
			store := new(journal.Memory)
			m := windowed{&reader{Model: says("Fine.")}, c.window}
			a := agent.Agent{Model: m, ID: "m", System: "Count.", Store: store, Context: c.context, Compact: c.compact, NewRun: func() string { return "r" }}
			question := llm.User(lasting("What now?", c.question))
			l := listen(a.Run(t.Context(), append(longTalk(30), question)...))
			if l.err != nil || l.done.Text != "Fine." {
				t.Fatal(l.err)
			}
			last := m.asked[len(m.asked)-1]
			n := len(last.Messages)
			if last.System != "Count." || last.Messages[0].Text() != "The task is to count." || last.Messages[n-1].Text() != question.Text() || c.question < 100 && c.window > 1000 && last.Messages[n-2].Text() != longTalk(30)[60].Text() {
				t.Errorf("the question is\n%s", conversation(last.Messages))
			}
			if text := conversation(last.Messages); c.summary != "" && !strings.Contains(text, c.summary) || c.summary == "" && !strings.Contains(text, "earlier messages were left out here") {
				t.Errorf("no %q in\n%s", c.summary, text)
			}
			warned := fmt.Sprint(of[llm.Warning](l))
			if c.warning != "" && !strings.Contains(warned, c.warning) || c.warning == "" && strings.Contains(warned, "without") {
				t.Errorf("the warnings are %s", warned)
			}
			if said := of[agent.Compacted](l); len(said) == 0 || said[0].Messages < 10 || said[0].Kept >= said[0].Tokens {
				t.Errorf("%+v", said)
			}
			sealedAndReplays(t, store, "r")
		})
	}
}

func sealedAndReplays(t *testing.T, store journal.Store, run string) {
	t.Helper()
	verified(t, store, run)
	if err := agent.Replay(t.Context(), store, run); err != nil {
		t.Error(err)
	}
}

// TestCompactOneTask: in a run of many calls the task stays, calls stay with their results, and
// what was left out is not asked about again. The hook is given a copy.
func TestCompactOneTask(t *testing.T) {
	store := new(journal.Memory)
	most := 0
	m := &reader{Model: counting{&actor{lines: readAll(40).(byTurn).lines}, 1, catalog.Model{}, &most}}
	given := 0
	a := agent.Agent{Model: m, ID: "m", Store: store, Tools: runner(long()), Context: 1200, MaxTurns: 50, NewRun: func() string { return "r" },
		Compact: func(_ context.Context, c agent.Compaction) (string, error) {
			given++
			valid(t, c.Messages)
			for _, msg := range c.Messages {
				for i := range msg.Parts {
					msg.Parts[i] = llm.Text{Text: "overwritten"}
				}
			}
			return fmt.Sprintf("%d messages of reading.", len(c.Messages)), nil
		}}
	a.Tools.LoopLimit = -1
	l := run(t, &a, "Read it all.")
	if l.err != nil || given == 0 || l.done.Ran < 20 {
		t.Fatalf("%v, %d compactions, %d calls", l.err, given, l.done.Ran)
	}
	for _, req := range m.asked {
		valid(t, req.Messages)
		if text := conversation(req.Messages); req.Messages[0].Text() != "Read it all." || strings.Contains(text, "overwritten") || llm.EstimateRequest(req) > 1200 {
			t.Fatalf("%d tokens:\n%s", llm.EstimateRequest(req), text)
		}
	}
	sealedAndReplays(t, store, "r")
}

// TestCompactResumed: a process that dies between a compaction and the next turn loses nothing: the
// next one goes on with the same summary, which was paid for once.
func TestCompactResumed(t *testing.T) {
	for name, stop := range map[string]func(llm.Event) bool{
		"after the compaction": func(ev llm.Event) bool { _, ok := ev.(agent.Compacted); return ok },
		"in the answer":        func(ev llm.Event) bool { _, ok := ev.(llm.TextDelta); return ok },
	} {
		store := new(journal.Memory)
		m := &reader{Model: sim.Recall{}}
		a := agent.Agent{Model: m, ID: "m", Store: store, Context: 1500, Compact: agent.Summarize, Cost: cents("m"), NewRun: func() string { return "r" }}
		chat := append(longTalk(30), llm.User("The code is X-17. "+lasting("so", 20)))
		chat = slices.Insert(chat, 1, llm.User("The locker code of Ada Byron is K-12."))
		for ev, err := range a.Run(t.Context(), append(chat, llm.User("What is the locker code of Ada Byron?"))...) {
			if err != nil {
				t.Fatal(err)
			}
			if stop(ev) {
				break
			}
		}
		summaries := func() (n int) {
			for _, req := range m.asked {
				if strings.Contains(req.System, "summary") {
					n++
				}
			}
			return n
		}
		before := summaries()
		messages, ended, err := agent.Conversation(t.Context(), store, "r")
		if err != nil || ended || len(messages) > len(chat)/2 {
			t.Fatalf("%s: %d messages, ended %v, %v", name, len(messages), ended, err)
		}
		l := listen(a.Resume(t.Context(), "r"))
		if l.err != nil || !strings.Contains(l.done.Text, "K-12") {
			t.Errorf("%s: %q %v", name, l.done.Text, l.err)
		}
		if before == 0 || summaries() != before {
			t.Errorf("%s: %d questions for a summary, then %d", name, before, summaries()-before)
		}
		if l.done.Usage.Input < 1500 || l.done.Cost != catalog.Money(l.done.Usage.Input+l.done.Usage.Output)*catalog.Dollar/100 {
			t.Errorf("%s: usage %+v, cost %s", name, l.done.Usage, l.done.Cost)
		}
		sealedAndReplays(t, store, "r")
	}
}

// TestCompactKilled: a process that is killed after any entry of its record is taken up by another,
// which comes to the same answer, and runs no call twice that is on record.
func TestCompactKilled(t *testing.T) {
	t.Parallel()
	agentIn := func(dir string) (*agent.Agent, *journal.Dir) {
		store, err := journal.OpenDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		m := counting{sim.Recall{}, 1, catalog.Model{}, new(int)} // as it is estimated, before and after
		a := &agent.Agent{Model: m, ID: "m", Store: store, Context: 1200, Compact: agent.Summarize, Tools: runner(long()), NewRun: func() string { return "r" }}
		return a, store
	}
	first := t.TempDir()
	a, store := agentIn(first)
	chat := slices.Insert(longTalk(20), 1, llm.User("The locker code of Ada Byron is K-12."))
	if l := listen(a.Run(t.Context(), append(chat, llm.User("Please read N 4."))...)); l.err != nil || l.done.Ran != 1 {
		t.Fatalf("%v after %d calls", l.err, l.done.Ran)
	}
	file, err := os.ReadFile(store.File("r"))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(file, []byte("\n"))
	compactions := bytes.Count(file, []byte(`"agent.compact"`))
	for k := 2; k < len(lines)-3; k++ { // until the last answer is on record
		dir := t.TempDir()
		a, store := agentIn(dir)
		if err := os.WriteFile(store.File("r"), bytes.Join(lines[:k], nil), 0o600); err != nil {
			t.Fatal(err)
		}
		l := listen(a.Resume(t.Context(), "r"))
		if l.err != nil || !strings.Contains(l.done.Text, "page 4 says much") {
			t.Fatalf("after %d entries: %q %v", k, l.done.Text, l.err)
		}
		again, err := os.ReadFile(store.File("r"))
		if err != nil || bytes.Count(again, []byte(`"agent.compact"`)) != compactions {
			t.Errorf("after %d entries: %d compactions, want %d, %v", k, bytes.Count(again, []byte(`"agent.compact"`)), compactions, err)
		}
		sealedAndReplays(t, store, "r")
	}
	if compactions == 0 {
		t.Error("nothing was compacted")
	}
}

// TestCompactCutResults: results that were cut before a process died are cut for the next one, too.
func TestCompactCutResults(t *testing.T) {
	store := new(journal.Memory)
	a := agent.Agent{Model: readAll(3), ID: "m", Store: store, Tools: runner(long()), Context: 900, NewRun: func() string { return "r" }}
	for ev, err := range a.Run(t.Context(), llm.User("Read it all.")) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := ev.(agent.Shortened); ok {
			break
		}
	}
	messages, _, err := agent.Conversation(t.Context(), store, "r")
	if err != nil || !strings.Contains(conversation(messages), "result shortened") {
		t.Errorf("%v\n%s", err, conversation(messages))
	}
	if l := listen(a.Resume(t.Context(), "r")); l.err != nil || l.done.Text != "Read." || l.done.Ran != 3 {
		t.Errorf("%q after %d calls, %v", l.done.Text, l.done.Ran, l.err)
	}
	sealedAndReplays(t, store, "r")
}

// TestCompactBudget: what a summary uses counts. A run that has nothing left after it ends, and
// goes on with more.
func TestCompactBudget(t *testing.T) {
	store := new(journal.Memory)
	a := agent.Agent{Model: &reader{Model: sim.Recall{}}, ID: "m", Store: store, Context: 1500, Tokens: 1200, Compact: agent.Summarize, NewRun: func() string { return "r" }}
	l := listen(a.Run(t.Context(), append(longTalk(30), llm.User("What now?"))...))
	if l.err == nil || !strings.Contains(l.err.Error(), "the budget of 1200 tokens is used up") || l.done.Usage.Input == 0 || !l.done.Open {
		t.Fatalf("%v, usage %+v", l.err, l.done.Usage)
	}
	if err := agent.Replay(t.Context(), store, "r"); err != nil {
		t.Error(err)
	}
	used := l.done.Usage.Input
	a.Tokens = 100_000
	if l = listen(a.Resume(t.Context(), "r")); l.err != nil || l.done.Usage.Input <= used {
		t.Errorf("%v, usage %+v after %d", l.err, l.done.Usage, used)
	}
	sealedAndReplays(t, store, "r")
}

// TestCompactStopped: a hook that is cancelled leaves the conversation as it was, and one that
// panics ends the run. The model of a compaction answers nothing when that is over.
func TestCompactStopped(t *testing.T) {
	store := new(journal.Memory)
	ctx, cancel := context.WithCancel(t.Context())
	var kept llm.Model
	a := agent.Agent{Model: says("Fine."), ID: "m", Store: store, Context: 1500, NewRun: func() string { return "r" }}
	a.Compact = func(ctx context.Context, c agent.Compaction) (string, error) {
		kept = c.Model
		cancel()
		<-ctx.Done()
		return "", ctx.Err()
	}
	chat := append(longTalk(30), llm.User("What now?"))
	if l := listen(a.Run(ctx, chat...)); !errors.Is(l.err, context.Canceled) || l.done.Status != agent.StatusInterrupted || len(l.done.Messages) != len(chat) {
		t.Errorf("%v, %s, %d messages", l.err, l.done.Status, len(l.done.Messages))
	}
	if _, err := llm.Generate(t.Context(), kept, &llm.Request{Messages: chat[:1]}); err == nil || !strings.Contains(err.Error(), "the compaction is over") {
		t.Error(err)
	}
	a.Compact = func(context.Context, agent.Compaction) (string, error) { panic("no ink") }
	var ended *agent.AbortedError
	if l := listen(a.Resume(t.Context(), "r")); !errors.As(l.err, &ended) || !strings.Contains(l.err.Error(), "the compaction before turn 1: ") || !strings.Contains(l.err.Error(), "the hook panicked: no ink") {
		t.Error(l.err)
	}
	sealedAndReplays(t, store, "r")
}

// TestCompactBeforeTurn: a hook before the turn is given what fits, and may mark it.
func TestCompactBeforeTurn(t *testing.T) {
	store := new(journal.Memory)
	m := &reader{Model: says("Fine.")}
	a := agent.Agent{Model: m, ID: "m", Store: store, Context: 1500, NewRun: func() string { return "r" }, Compact: func(context.Context, agent.Compaction) (string, error) { return "Counted.", nil }}
	a.BeforeTurn = func(_ context.Context, p *agent.TurnStart) error {
		p.Messages[0].Parts[0] = llm.Text{Text: "The task is to count well."}
		return nil
	}
	l := listen(a.Run(t.Context(), append(longTalk(30), llm.User("What now?"))...))
	if l.err != nil || len(m.asked) != 1 || llm.EstimateRequest(m.asked[0]) > 1500 || !strings.HasPrefix(conversation(m.asked[0].Messages), "user: The task is to count well.") {
		t.Errorf("%v\n%s", l.err, conversation(m.asked[0].Messages))
	}
	sealedAndReplays(t, store, "r")
}

// TestCompactRandom: whatever a conversation is made of, what is sent fits, no call is parted from
// its result, and the question stays; a question that is too long by itself is an error.
func TestCompactRandom(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(16, 3))
	for range sample(60, 150) {
		var msgs []llm.Message
		for i := range 1 + rng.IntN(30) {
			size := rng.IntN(1 + rng.IntN(600))
			switch id := fmt.Sprint("c", i); rng.IntN(4) {
			case 0:
				msgs = append(msgs, llm.User(lasting("say", size)))
			case 1:
				msgs = append(msgs, llm.Assistant(llm.Text{Text: lasting("said", size)}))
			case 2:
				msgs = append(msgs, llm.Assistant(llm.Call{ID: id, Name: "read", Args: []byte(`{}`)}), llm.Results(llm.Result{CallID: id, Name: "read", Parts: []llm.Part{llm.Text{Text: lasting("is", size)}}}))
			case 3:
				msgs = append(msgs, llm.Note(lasting("note", size/4)))
			}
		}
		msgs = append(msgs, llm.User("What now?"))
		window := 400 + rng.IntN(3000)
		known := []int{0, window}[rng.IntN(2)]
		m := windowed{&reader{Model: says("Fine.")}, window}
		store := new(journal.Memory)
		a := agent.Agent{Model: m, ID: "m", Store: store, Context: known, NewRun: func() string { return "r" }}
		if rng.IntN(2) == 0 {
			a.Compact = agent.Summarize
		}
		l := listen(a.Run(t.Context(), msgs...))
		if l.err != nil {
			t.Fatalf("a window of %d: %v\n%s", window, l.err, conversation(msgs))
		}
		asked := m.asked[len(m.asked)-1].Messages
		valid(t, asked)
		if asked[len(asked)-1].Text() != "What now?" {
			t.Errorf("the question is gone:\n%s", conversation(asked))
		}
		sealedAndReplays(t, store, "r")
	}
	a := agent.Agent{Model: says("Fine."), Context: 300}
	if l := listen(a.Run(t.Context(), llm.User("Hi."), llm.User(lasting("What?", 400)))); llm.KindOf(l.err) != llm.TooLong {
		t.Errorf("a question of 400 tokens for a window of 300: %v", l.err)
	}
}

// TestSummarizeLongPart: a part that is longer than the window is read piece by piece, and nothing
// of it is lost.
func TestSummarizeLongPart(t *testing.T) {
	var msgs []llm.Message
	for i := range 40 {
		msgs = append(msgs, llm.User(fmt.Sprintf("%s. The code of box %d is Z-%04d.", lasting("well", 200), i, i)))
	}
	m := windowed{&reader{Model: sim.Recall{}}, 2500}
	text, err := agent.Summarize(t.Context(), agent.Compaction{Messages: msgs, Tokens: 900, Window: 6000, Model: m})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		if !strings.Contains(text, fmt.Sprintf("Z-%04d", i)) {
			t.Errorf("box %d is gone", i)
		}
	}
	if _, err := agent.Summarize(t.Context(), agent.Compaction{Messages: msgs}); err == nil {
		t.Error("a summary without a model")
	}
}

// TestSummarizeLimits: a model that refuses the limit, or has nothing left of it after thinking, is
// asked without one; one that writes nothing has failed.
func TestSummarizeLimits(t *testing.T) {
	for name, c := range map[string]struct {
		line  line // to a question with a limit
		then  string
		wrong string
	}{
		"taken":    {line{parts: []llm.Part{llm.Text{Text: "Facts"}}}, "", ""},
		"refused":  {line{err: &llm.Error{Kind: llm.Invalid, Err: errors.New("max_tokens is too large")}}, "Facts", ""},
		"used up":  {line{parts: []llm.Part{llm.Thinking{Text: "Well."}}, finish: llm.Finish{Reason: llm.Length}}, "Facts", ""},
		"nothing":  {line{parts: []llm.Part{llm.Text{Text: " "}}}, " ", "wrote none"},
		"a server": {line{err: &llm.Error{Kind: llm.Server, Err: errors.New("down")}}, "Facts", "down"},
	} {
		m := llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
			if req.MaxTokens > 0 {
				return (&actor{lines: []line{c.line}}).Stream(ctx, req)
			}
			return says(c.then).Stream(ctx, req)
		})
		text, err := agent.Summarize(t.Context(), agent.Compaction{Messages: longTalk(3), Tokens: 500, Window: 3000, Model: m})
		if c.wrong == "" && (err != nil || text != "Facts") || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

func ExampleSummarize() {
	a := agent.Agent{
		Model:   sim.Recall{}, // knows what stands in its request; any: provider.Open
		Context: 2_000,        // of a model that the catalogue knows it need not be said
		Compact: agent.Summarize,
	}
	chat := []llm.Message{llm.User("The gate code of Ada Byron is K-12.")}
	compactions := 0
	for range 50 {
		chat = append(chat, llm.User(strings.Repeat("we walked on and talked. ", 20)))
		for ev, err := range a.Run(context.Background(), chat...) {
			switch ev := ev.(type) {
			case agent.Compacted:
				compactions++
			case agent.Done:
				chat = ev.Messages
			}
			if err != nil {
				fmt.Println(err)
			}
		}
	}
	done, err := a.Ask(context.Background(), append(chat, llm.User("What is the gate code of Ada Byron?"))...)
	fmt.Println(done.Text, err, compactions > 1)
	// Output: The gate code of Ada Byron is K-12. <nil> true
}
