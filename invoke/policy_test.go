package invoke_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

func TestAllowOwn(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	for _, c := range []struct {
		origin  tool.Origin
		effects tool.Effects
		allowed bool
		why     string
	}{
		{tool.Program, 0, true, "to hand over a function is to consent"},
		{tool.Unknown, 0, false, "nobody vouches for it"},
		{tool.Unknown, tool.ReadOnly, true, "it only reads"},
		{tool.MCP, 0, false, "from outside"},
		{tool.MCP, tool.Idempotent, false, "to change once is to change"},
		{tool.MCP, tool.ReadOnly, true, "a trusted server says it only reads"},
		{tool.File, 0, false, "from outside"},
		{tool.Request, 0, false, "from outside"},
		{tool.Builtin, tool.ReadOnly | tool.Local, true, "reads a file"},
		{tool.Builtin, tool.ReadOnly, false, "reads the network"},
		{tool.Builtin, tool.Local, false, "writes a file"},
	} {
		attacks++
		d, err := invoke.AllowOwn(t.Context(), tool.Tool{Name: "f", Origin: c.origin, Effects: c.effects}, llm.Call{})
		if err != nil || (d.Verdict == invoke.Allow) != c.allowed || !c.allowed && d.Reason == "" {
			t.Errorf("from %s, %s: %v %v; %s", c.origin, c.effects, d, err, c.why)
		}
	}
}

// Whatever goes wrong with a policy, the tool does not run.
// TestAllowReadOnly: what may change things is refused whoever hands it over, and
// AskFirst has a person decide about it; what reads is treated as AllowOwn does.
func TestAllowReadOnly(t *testing.T) {
	for origin := tool.Unknown; origin <= tool.Request; origin++ {
		for _, effects := range []tool.Effects{0, tool.Idempotent, tool.Local, tool.ReadOnly, tool.ReadOnly | tool.Local} {
			f := tool.Tool{Name: "f", Origin: origin, Effects: effects}
			want, err := invoke.AllowOwn(t.Context(), f, llm.Call{})
			if err != nil {
				t.Fatal(err)
			}
			if origin == tool.Program && effects.Has(tool.ReadOnly) {
				want.Verdict = invoke.Allow
			} else if !effects.Has(tool.ReadOnly) {
				want.Verdict = invoke.Refuse
			}
			d, err := invoke.AllowReadOnly(t.Context(), f, llm.Call{})
			if err != nil || d.Verdict != want.Verdict || d.Verdict == invoke.Refuse && d.Reason == "" {
				t.Errorf("from %s, %s: %v %v", origin, effects, d, err)
			}
			asked, err := invoke.AskFirst(invoke.AllowReadOnly)(t.Context(), f, llm.Call{})
			if err != nil || asked.Verdict == invoke.Refuse || asked.Reason != d.Reason || (asked.Verdict == invoke.Allow) != (d.Verdict == invoke.Allow) {
				t.Errorf("asked first, from %s, %s: %v %v", origin, effects, asked, err)
			}
		}
	}
}

func TestPolicies(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	decide := func(v invoke.Verdict, reason string, err error) invoke.Policy {
		return func(context.Context, tool.Tool, llm.Call) (invoke.Decision, error) {
			return invoke.Decision{Verdict: v, Reason: reason}, err
		}
	}
	for _, c := range []struct {
		why    string
		policy invoke.Policy
		runs   bool
		says   string
	}{
		{"nil is AllowOwn", nil, true, ""},
		{"allowed", invoke.AllowAll, true, ""},
		{"refused, with the reason", decide(invoke.Refuse, "not on Sundays", nil), false, "not on Sundays"},
		{"the zero decision refuses", decide(0, "", nil), false, "does not allow"},
		{"an error refuses, whatever the verdict", decide(invoke.Allow, "", errors.New("no database")), false, "could not decide"},
		{"a panic refuses", func(context.Context, tool.Tool, llm.Call) (invoke.Decision, error) { panic("boom") }, false, "could not decide"},
		{"a verdict that does not exist refuses", decide(99, "", nil), false, "does not allow"},
		{"nobody to ask", decide(invoke.Ask, "", nil), false, "nobody can be asked"},
		{"named", invoke.AllowNamed("write"), true, ""},
	} {
		attacks++
		ran := false
		write := doer("write", 0, func(context.Context) (string, error) { ran = true; return "", nil })
		s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(write), Policy: c.policy})
		o := outcomes(t, s, call("a", "write", ``))[0]
		if ran != c.runs || !strings.Contains(o.Result.Text(), c.says) || !ran && o.Error.Code != tool.Permission {
			t.Errorf("%s: ran %v, says %s", c.why, ran, o.Result.Text())
		}
	}
}

func TestPolicyCannotChangeArguments(t *testing.T) {
	var got string
	tl := tool.Tool{Name: "f", Call: func(_ context.Context, args json.RawMessage) (tool.Output, error) {
		got = string(args)
		return tool.Output{}, nil
	}}
	meddle := func(_ context.Context, _ tool.Tool, c llm.Call) (invoke.Decision, error) {
		copy(c.Args, `{"a":9}`)
		return invoke.Decision{Verdict: invoke.Allow}, nil
	}
	s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(tl), Policy: meddle})
	outcomes(t, s, call("a", "f", `{"a":1}`))
	if got != `{"a":1}` {
		t.Errorf("the tool got %s", got)
	}
}

var errPanic = errors.New("panic instead")

func TestApprovals(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	tomorrow, yesterday := time.Now().Add(24*time.Hour), time.Now().Add(-24*time.Hour)
	hash := journal.ParamsHash(json.RawMessage(`{"a":1}`))
	other := journal.ParamsHash(json.RawMessage(`{"a":2}`))
	for _, c := range []struct {
		why    string
		answer journal.Approval
		err    error
		runs   bool
	}{
		{"this call", journal.Approval{Call: "a", Tool: "f", ParamsHash: hash, Allowed: true}, nil, true},
		{"any call with these arguments", journal.Approval{Tool: "f", ParamsHash: hash, Allowed: true}, nil, true},
		{"still good", journal.Approval{Tool: "f", ParamsHash: hash, Allowed: true, Expires: tomorrow}, nil, true},
		{"no", journal.Approval{Tool: "f", ParamsHash: hash, Reason: "too late"}, nil, false},
		{"other arguments", journal.Approval{Tool: "f", ParamsHash: other, Allowed: true}, nil, false},
		{"another tool", journal.Approval{Tool: "g", ParamsHash: hash, Allowed: true}, nil, false},
		{"another call", journal.Approval{Call: "b", Tool: "f", ParamsHash: hash, Allowed: true}, nil, false},
		{"expired", journal.Approval{Tool: "f", ParamsHash: hash, Allowed: true, Expires: yesterday}, nil, false},
		{"nobody answered", journal.Approval{Tool: "f", ParamsHash: hash, Allowed: true}, errors.New("gone home"), false},
		{"nobody can be asked", journal.Approval{Tool: "f", ParamsHash: hash, Allowed: true}, errPanic, false},
		{"a yes to nothing in particular", journal.Approval{Allowed: true}, nil, false},
	} {
		for _, way := range []string{"asked", "granted"} {
			attacks++
			ran := false
			f := tool.Tool{Name: "f", Origin: tool.MCP, Call: func(context.Context, json.RawMessage) (tool.Output, error) { ran = true; return tool.Output{}, nil }}
			r := &invoke.Runner{Tools: tool.MustSet(f), Policy: invoke.AskFirst(nil)}
			if way == "asked" {
				r.Approve = func(context.Context, invoke.Question) (journal.Approval, error) {
					if errors.Is(c.err, errPanic) {
						panic("no terminal")
					}
					return c.answer, c.err
				}
			} else if c.err != nil {
				continue
			}
			s, store := session(t, r)
			if way == "granted" {
				s.Grant(c.answer)
			}
			o := outcomes(t, s, call("a", "f", `{ "a": 1.0 }`))[0] // the same arguments, written differently
			if ran != c.runs {
				t.Errorf("%s, %s: ran %v: %s\n%q", c.why, way, ran, o.Result.Text(), statuses(t, store))
			}
			if ran && (o.Receipt.Approval == nil || statuses(t, store)[0] != "approval a" && statuses(t, store)[0] != "approval") {
				t.Errorf("%s, %s: the approval is not on record: %q", c.why, way, statuses(t, store))
			}
		}
	}
}

// TestNamesThatDifferInCase: what the schema did not see does not reach a function,
// whatever the schema leaves open.
func TestNamesThatDifferInCase(t *testing.T) {
	var got []int
	type in struct {
		Amount int `json:"amount"`
	}
	pay := tool.Func("pay", "Pays.", func(_ context.Context, in in) (string, error) { got = append(got, in.Amount); return "paid", nil })
	pay.Input = []byte(`{"type":"object","properties":{"amount":{"type":"integer","maximum":100}},"required":["amount"]}`)
	s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(pay)})
	for i, args := range []string{`{"amount":5,"AMOUNT":5000}`, `{"AMOUNT":5000,"amount":5}`, `{"amount":5,"amount":5000}`, `{"amount":"5","Amount":5000}`} {
		o := outcomes(t, s, call(fmt.Sprint(i), "pay", args))[0]
		if o.Error == nil || o.Error.Code != tool.Validation {
			t.Errorf("%s: %v", args, o.Error)
		}
	}
	if len(got) > 0 {
		t.Errorf("paid %v", got)
	}
}
