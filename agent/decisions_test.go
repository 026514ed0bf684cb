package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// later is an Approve that nobody answers yet.
func later(until time.Time) func(context.Context, invoke.Question) (journal.Approval, error) {
	return func(context.Context, invoke.Question) (journal.Approval, error) {
		return journal.Approval{}, &invoke.PendingError{Until: until}
	}
}

// waiting returns a run of twoChanges that waits for both of its changes, as an
// earlier process left it.
func waiting(t *testing.T, store journal.Store, until time.Time) {
	t.Helper()
	did := make(map[string]int)
	a := twoChanges(store, did)
	a.Tools.Approve = later(until)
	l := run(t, a, "pay")
	if l.err != nil || l.done.Status != agent.StatusPending || !l.done.Open || len(l.done.Waiting) != 2 || len(of[invoke.Outcome](l)) != 0 || len(did) != 0 {
		t.Fatalf("status %q, waiting %v, did %v, error %v", l.done.Status, l.done.Waiting, did, l.err)
	}
	valid(t, l.done.Messages)
}

// TestPending: a run that waits for a person ends without a failure, gives up
// its lease, and goes on in another process when it is resumed with decisions.
func TestPending(t *testing.T) {
	yes := func(call string) agent.Grant { return agent.Grant{Call: call, Allowed: true, By: "ada"} }
	for name, open := range everyStore {
		for _, c := range []struct {
			name    string
			decide  []agent.Grant   // before the run is resumed
			resumes [][]agent.Grant // with each Resume
			status  agent.Status    // of the last
			did     string
			told    string // to the model
		}{
			{"both at once", nil, [][]agent.Grant{{yes("a"), yes("b")}}, agent.StatusFinished, "map[a:1 b:1]", "paid b"},
			{"decided before", []agent.Grant{yes("b"), yes("a")}, [][]agent.Grant{nil}, agent.StatusFinished, "map[a:1 b:1]", "paid b"},
			{"one after the other", nil, [][]agent.Grant{{yes("a")}, {yes("b")}}, agent.StatusFinished, "map[a:1 b:1]", "paid a"},
			{"one only", nil, [][]agent.Grant{{yes("a")}}, agent.StatusPending, "map[]", "first"},
			{"none", nil, [][]agent.Grant{nil, nil}, agent.StatusPending, "map[]", "first"},
			{"one refused", []agent.Grant{{Call: "a", By: "bob", Reason: "too much"}}, [][]agent.Grant{{yes("b")}}, agent.StatusFinished, "map[b:1]", "bob refused it: too much"},
			{"other arguments", nil, [][]agent.Grant{{{Call: "a", Allowed: true, By: "ada", Args: json.RawMessage(`{"n":"c"}`)}, yes("b")}}, agent.StatusFinished, "map[b:1 c:1]", `ada changed the arguments; it was run with {"n":"c"}`},
		} {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				store := open(t)
				waiting(t, store, time.Time{})
				if len(c.decide) > 0 {
					if err := agent.Decide(t.Context(), store, "r", c.decide...); err != nil {
						t.Fatal(err)
					}
				}
				did := make(map[string]int)
				var l *log
				for _, grants := range c.resumes {
					a := twoChanges(store, did)
					a.Tools.Approve = later(time.Time{})
					if l = listen(a.ResumeWith(t.Context(), "r", grants)); l.err != nil {
						t.Fatal(l.err)
					}
				}
				if l.done.Status != c.status || fmt.Sprint(did) != c.did || !strings.Contains(conversation(l.done.Messages), c.told) {
					t.Errorf("status %s, did %v\n%s", l.done.Status, did, conversation(l.done.Messages))
				}
				valid(t, l.done.Messages)
				verified(t, store, "r")
				if err := agent.Replay(t.Context(), store, "r"); err != nil {
					t.Errorf("the replay differs: %v", err)
				}
			})
		}
	}
}

// TestPendingArgumentsOnRecord: the record has the arguments that a person was
// shown and those that were run instead.
func TestPendingArgumentsOnRecord(t *testing.T) {
	store := new(journal.Memory)
	waiting(t, store, time.Time{})
	a := twoChanges(store, make(map[string]int))
	grants := []agent.Grant{{Call: "a", Allowed: true, By: "ada", Args: json.RawMessage(`{"n":"c"}`)}, {Call: "b"}}
	if l := listen(a.ResumeWith(t.Context(), "r", grants)); l.err != nil {
		t.Fatal(l.err)
	}
	found := make(map[journal.Kind]string)
	for _, e := range verified(t, store, "r") {
		var b struct {
			Call string          `json:"call"`
			Args json.RawMessage `json:"args"`
		}
		switch e.Kind {
		case journal.KindQuestion, journal.KindApproval, journal.KindIntent, journal.KindReceipt:
			if err := e.Decode(&b); err != nil {
				t.Fatal(err)
			}
			if b.Call == "a" {
				found[e.Kind] = string(b.Args)
			}
		}
	}
	want := map[journal.Kind]string{journal.KindQuestion: `{"n":"a"}`, journal.KindApproval: `{"n":"c"}`, journal.KindIntent: `{"n":"c"}`, journal.KindReceipt: `{"n":"c"}`}
	if fmt.Sprint(found) != fmt.Sprint(want) {
		t.Errorf("on record are %v, want %v", found, want)
	}
}

// TestDecisionsThatCannotBeMeant are refused, and the run waits on.
func TestDecisionsThatCannotBeMeant(t *testing.T) {
	for name, g := range map[string]agent.Grant{
		"no such call":          {Call: "z", Allowed: true},
		"a call that is over":   {Call: "r", Allowed: true},
		"invalid arguments":     {Call: "a", Allowed: true, Args: json.RawMessage(`{"n":[7]}`)},
		"arguments of no shape": {Call: "a", Allowed: true, Args: json.RawMessage(`{"n":`)},
		"other arguments shown": {Call: "a", Allowed: true, ParamsHash: journal.ParamsHash(json.RawMessage(`{"n":"b"}`))},
	} {
		t.Run(name, func(t *testing.T) {
			store, did := new(journal.Memory), make(map[string]int)
			waiting(t, store, time.Time{})
			if err := agent.Decide(t.Context(), store, "r", g); err == nil {
				t.Error("it was recorded")
			}
			if l := listen(twoChanges(store, did).ResumeWith(t.Context(), "r", []agent.Grant{g})); l.err == nil || len(did) > 0 {
				t.Errorf("did %v, error %v", did, l.err)
			}
			if q, err := agent.Waiting(t.Context(), store, "r"); err != nil || len(q) != 2 {
				t.Errorf("waits for %v, %v", q, err)
			}
		})
	}
	if err := agent.Decide(t.Context(), new(journal.Memory), "nothing", agent.Grant{Call: "a"}); !errors.Is(err, agent.ErrNotWaiting) {
		t.Errorf("a run that is not there: %v", err)
	}
}

// TestPolicyRefusesWhatAPersonWrote: a person cannot give arguments that the
// policy does not allow at all.
func TestPolicyRefusesWhatAPersonWrote(t *testing.T) {
	store, did := new(journal.Memory), make(map[string]int)
	waiting(t, store, time.Time{})
	a := twoChanges(store, did)
	a.Tools.Policy = func(_ context.Context, tl tool.Tool, c llm.Call) (invoke.Decision, error) {
		if strings.Contains(string(c.Args), "evil") {
			return invoke.Decision{Reason: "never that"}, nil
		}
		return invoke.Decision{Verdict: invoke.Ask}, nil
	}
	l := listen(a.ResumeWith(t.Context(), "r", []agent.Grant{{Call: "a", Allowed: true, Args: json.RawMessage(`{"n":"evil"}`)}, {Call: "b", Allowed: true}}))
	if l.err != nil || did["evil"] != 0 || did["b"] != 1 || !strings.Contains(conversation(l.done.Messages), "never that") {
		t.Errorf("did %v, error %v\n%s", did, l.err, conversation(l.done.Messages))
	}
}

// TestDeadline: when its time is over, a question is answered with no, whatever
// comes later.
func TestDeadline(t *testing.T) {
	for _, how := range []string{"resume", "grant", "decide"} {
		t.Run(how, func(t *testing.T) {
			store, did := new(journal.Memory), make(map[string]int)
			waiting(t, store, time.Now().Add(-time.Minute))
			grants := []agent.Grant{{Call: "a", Allowed: true, By: "ada"}, {Call: "b", Allowed: true, By: "ada"}}
			a := twoChanges(store, did)
			switch how {
			case "resume":
				grants = nil
			case "decide":
				if err := agent.Decide(t.Context(), store, "r", grants...); !errors.Is(err, agent.ErrTooLate) {
					t.Errorf("decided: %v", err)
				}
				grants = nil
			}
			l := listen(a.ResumeWith(t.Context(), "r", grants))
			if l.err != nil || len(did) != 0 || l.done.Status != agent.StatusFinished || !strings.Contains(conversation(l.done.Messages), "it was not allowed in time: nobody decided before") {
				t.Errorf("did %v, error %v\n%s", did, l.err, conversation(l.done.Messages))
			}
			if err := agent.Replay(t.Context(), store, "r"); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestToolAsks: a tool asks a person something with a schema. The answer may be
// there at once, or come from another process; the tool has its effect once.
func TestToolAsks(t *testing.T) {
	schema := json.RawMessage(`{"additionalProperties":false,"properties":{"seat":{"enum":["aisle","window"],"type":"string"}},"required":["seat"],"type":"object"}`)
	for name, open := range everyStore {
		for _, effects := range []tool.Effects{tool.ReadOnly, 0} {
			for _, c := range []struct {
				name   string
				inline string // the answer that is there at once
				grant  *agent.Grant
				booked string
			}{
				{name: "at once", inline: `{"seat":"aisle"}`, booked: `[{"seat":"aisle"}]`},
				{name: "at once, and no answer", inline: `{"seat":"roof"}`, booked: "[]"},
				{name: "later", grant: &agent.Grant{Call: "1", Allowed: true, By: "ada", Value: json.RawMessage(`{"seat":"window"}`)}, booked: `[{"seat":"window"}]`},
				{name: "declined", grant: &agent.Grant{Call: "1", By: "ada", Reason: "no seat"}, booked: "[]"},
			} {
				t.Run(name+"/"+effects.String()+"/"+c.name, func(t *testing.T) {
					t.Parallel()
					booked := []string{}
					book := tool.Func("book", "Books.", func(ctx context.Context, _ struct{}) (string, error) {
						v, err := tool.Ask(ctx, tool.Prompt{Message: "Which seat?", Schema: schema})
						if err != nil {
							return "", err
						}
						booked = append(booked, string(v))
						return "booked " + string(v), nil
					})
					book.Effects = effects
					store := open(t)
					a := &agent.Agent{Model: byTurn{says(call("1", "book", `{}`), "done").lines}, Store: store, Tools: runner(book), NewRun: func() string { return "r" }}
					a.Tools.Approve = func(_ context.Context, q invoke.Question) (journal.Approval, error) {
						if q.Message != "Which seat?" || q.Prompt != 1 || string(q.Schema) != string(schema) {
							t.Errorf("asked %+v", q)
						}
						if c.inline == "" {
							return journal.Approval{}, new(invoke.PendingError)
						}
						answer := q.Answer(true, "ada", "")
						answer.Value = json.RawMessage(c.inline)
						return answer, nil
					}
					l := run(t, a, "go")
					if c.grant != nil {
						if l.err != nil || l.done.Status != agent.StatusPending || len(l.done.Waiting) != 1 {
							t.Fatalf("%+v, %v", l.done, l.err)
						}
						bad := *c.grant
						bad.Value, bad.Allowed = json.RawMessage(`{"seat":"roof"}`), true
						if r := listen(a.ResumeWith(t.Context(), "r", []agent.Grant{bad})); r.err == nil {
							t.Error("an answer was taken that does not match the schema")
						}
						if r := listen(a.Resume(t.Context(), "r")); r.err != nil || r.done.Status != agent.StatusPending {
							t.Errorf("without an answer: %s, %v", r.done.Status, r.err)
						}
						l = listen(a.ResumeWith(t.Context(), "r", []agent.Grant{*c.grant}))
					}
					if l.err != nil || l.done.Status != agent.StatusFinished || fmt.Sprint(booked) != c.booked {
						t.Errorf("%s, booked %v, error %v\n%s", l.done.Status, booked, l.err, conversation(l.done.Messages))
					}
					verified(t, store, "r")
					if err := agent.Replay(t.Context(), store, "r"); err != nil {
						t.Errorf("the replay differs: %v", err)
					}
				})
			}
		}
	}
}

// TestToolAsksTwice: the first answer is there at once, the second comes later;
// then the tool finds both, whatever the order in which it asks.
func TestToolAsksTwice(t *testing.T) {
	var booked []string
	order := []string{"Which seat?", "Which day?"}
	book := tool.Func("book", "Books.", func(ctx context.Context, _ struct{}) (string, error) {
		var got []string
		for _, q := range order {
			v, err := tool.Ask(ctx, tool.Prompt{Message: q})
			if err != nil {
				return "", err
			}
			got = append(got, string(v))
		}
		booked = got
		return "booked", nil
	})
	a := &agent.Agent{Model: byTurn{says(call("1", "book", `{}`), "done").lines}, Store: new(journal.Memory), Tools: runner(book), NewRun: func() string { return "r" }}
	a.Tools.Approve = func(_ context.Context, q invoke.Question) (journal.Approval, error) {
		if q.Message == "Which day?" {
			return journal.Approval{}, new(invoke.PendingError)
		}
		answer := q.Answer(true, "ada", "")
		answer.Value = json.RawMessage(`"aisle"`)
		return answer, nil
	}
	if l := run(t, a, "go"); l.err != nil || l.done.Status != agent.StatusPending || l.done.Waiting[0].Message != "Which day?" {
		t.Fatalf("%+v, %v", l.done, l.err)
	}
	order = []string{"Which day?", "Which seat?"}
	l := listen(a.ResumeWith(t.Context(), "r", []agent.Grant{{Call: "1", Allowed: true, Value: json.RawMessage(`"Monday"`)}}))
	if l.err != nil || l.done.Status != agent.StatusFinished || fmt.Sprint(booked) != `["Monday" "aisle"]` {
		t.Errorf("%s, booked %v, error %v\n%s", l.done.Status, booked, l.err, conversation(l.done.Messages))
	}
}

// TestPendingGivesUpTheLease: whoever comes owns the run.
func TestPendingGivesUpTheLease(t *testing.T) {
	for name, open := range everyStore {
		t.Run(name, func(t *testing.T) {
			store := open(t)
			waiting(t, store, time.Time{})
			rec, err := journal.Open(t.Context(), store, "r")
			if err != nil {
				t.Fatal(err)
			}
			if len(rec.Unknown()) > 0 {
				t.Errorf("unknown are %v", rec.Unknown())
			}
			var held *journal.HeldError
			if l := listen(twoChanges(store, nil).Resume(t.Context(), "r")); !errors.As(l.err, &held) {
				t.Errorf("two own the run: %v", l.err)
			}
			if err := rec.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestUnrecordedRunsDoNotWait: nobody could resume them.
func TestUnrecordedRunsDoNotWait(t *testing.T) {
	a := twoChanges(nil, nil)
	a.Tools.Approve = later(time.Time{})
	if l := run(t, a, "pay"); l.err != nil || l.done.Status != agent.StatusFinished || !strings.Contains(conversation(l.done.Messages), "not recorded") {
		t.Errorf("%s, %v\n%s", l.done.Status, l.err, conversation(l.done.Messages))
	}
}

func ExampleAgent_ResumeWith() {
	pay := tool.Func("pay", "Pays an invoice.", func(_ context.Context, in struct {
		Invoice string `json:"invoice"`
	}) (string, error) {
		return "paid " + in.Invoice, nil
	})
	a := agent.Agent{
		Model: says(call("1", "pay", `{"invoice":"2026-17"}`), "It is paid."), Store: new(journal.Memory),
		Tools: &invoke.Runner{
			Tools: tool.MustSet(pay),
			Policy: func(context.Context, tool.Tool, llm.Call) (invoke.Decision, error) {
				return invoke.Decision{Verdict: invoke.Ask}, nil
			},
			Approve: func(context.Context, invoke.Question) (journal.Approval, error) {
				return journal.Approval{}, &invoke.PendingError{Until: time.Now().Add(24 * time.Hour)}
			},
		},
	}
	done, err := a.Ask(context.Background(), llm.User("Pay the invoice."))
	fmt.Println(done.Status, err, done.Waiting[0].Tool, string(done.Waiting[0].Args))
	// Another process, another day:
	grants := []agent.Grant{{Call: done.Waiting[0].CallID, Allowed: true, By: "ada"}}
	for ev := range a.ResumeWith(context.Background(), done.Run, grants) {
		if d, ok := ev.(agent.Done); ok {
			fmt.Println(d.Status, d.Text)
		}
	}
	// Output:
	// pending <nil> pay {"invoice":"2026-17"}
	// finished It is paid.
}
