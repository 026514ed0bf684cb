package invoke_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/tool"
)

// payRun has the calls made one by one in a recorded session, asking before each, and returns what a person was shown, what the
// record of the question says, what ran, and the outcomes.
func payRun(t *testing.T, answer func(*journal.Approval), calls ...llm.Call) (shown, recorded, ran []string, outcomes []invoke.Outcome) {
	t.Helper()
	pay := tool.Tool{Name: "pay", Origin: tool.MCP, Input: schema.Schema(`{"type":"object","properties":{"amount":{"type":"number"},"to":{"type":"string"}}}`),
		Call: func(_ context.Context, args json.RawMessage) (tool.Output, error) {
			ran = append(ran, string(args))
			return tool.Output{Parts: []llm.Part{llm.Text{Text: "paid"}}}, nil
		}}
	store := new(journal.Memory)
	rec, err := journal.Open(t.Context(), store, "r")
	if err != nil {
		t.Fatal(err)
	}
	runner := &invoke.Runner{Tools: tool.MustSet(pay), Policy: invoke.AskFirst(nil), Approve: func(_ context.Context, q invoke.Question) (journal.Approval, error) {
		shown = append(shown, string(q.Args))
		a := q.Answer(true, "ada", "")
		if answer != nil {
			answer(&a)
		}
		return a, nil
	}}
	s, err := runner.Session(rec)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range calls {
		for ev, err := range s.Do(t.Context(), []llm.Call{c}) {
			if err != nil {
				t.Fatal(err)
			}
			if o, ok := ev.(invoke.Outcome); ok {
				outcomes = append(outcomes, o)
			}
		}
	}
	for e, err := range journal.Whole(store.Read(t.Context(), "r", 0)) {
		var in journal.Intent
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == journal.KindIntent && e.Decode(&in) == nil {
			recorded = append(recorded, string(in.Args))
		}
	}
	if report, err := journal.Verify(store.Read(t.Context(), "r", 0)); err != nil {
		t.Errorf("%v %+v", err, report)
	}
	return shown, recorded, ran, outcomes
}

// TestShownIsWhatRuns: the tool gets, byte for byte, the arguments that the person was shown and that are on record. What
// cannot be shown as it is does not run, and nobody is asked about it.
func TestShownIsWhatRuns(t *testing.T) {
	for args, want := range map[string]string{
		`{"amount":9007199254740993.0,"to":"V"}`:             `{"amount":9007199254740992,"to":"V"}`,
		`{"amount":1234567890123456789.75}`:                  `{"amount":1234567890123456800}`,
		`{"amount":1.00000000000000001}`:                     `{"amount":1}`,
		`{"amount":1e-400}`:                                  `{"amount":0}`,
		`{"to":"V","amount":9007199254740993}`:               `{"amount":9007199254740993,"to":"V"}`,
		`{"amount":0.1,"to":"\u0056 1.0000000000000000001"}`: `{"amount":0.1,"to":"V 1.0000000000000000001"}`,
		`{"amount":6.66e2}`:                                  `{"amount":666}`,
		`{"amount":1e400,"to":"V"}`:                          "",
		`{"amount":1,"to":"V\ud800"}`:                        "",
		`{"amount":1,"to\udc00":"V"}`:                        "",
		`{"amount":1,"amount":2}`:                            "",
	} {
		shown, recorded, ran, outcomes := payRun(t, nil, llm.Call{ID: "c", Name: "pay", Args: json.RawMessage(args)})
		if want == "" {
			if len(shown)+len(ran) > 0 || len(outcomes) != 1 || !outcomes[0].Result.Failed {
				t.Errorf("%s: shown %q, ran %q, %+v", args, shown, ran, outcomes)
			}
			continue
		}
		if len(shown) != 1 || len(ran) != 1 || len(recorded) != 1 || shown[0] != want || ran[0] != want || recorded[0] != want {
			t.Errorf("%s: shown %q, recorded %q, ran %q, want %s", args, shown, recorded, ran, want)
		}
		rounded := strings.Contains(args, "93.0") || strings.Contains(args, "9.75") || strings.Contains(args, `:1.0`) || strings.Contains(args, "e-400")
		if told := outcomes[0].Result.Text(); strings.Contains(told, "was rounded") != rounded || rounded != (len(outcomes[0].Receipt.Repairs) > 0) {
			t.Errorf("%s: the model is told %q, and the receipt has %v", args, told, outcomes[0].Receipt.Repairs)
		}
	}
}

// TestGrantCoversWhatItShows: a decision about arguments of one hash never has others run, though they have the same hash.
func TestGrantCoversWhatItShows(t *testing.T) {
	_, _, ran, _ := payRun(t, nil, llm.Call{ID: "a", Name: "pay", Args: json.RawMessage(`{"amount":1.00000000000000001}`)},
		llm.Call{ID: "b", Name: "pay", Args: json.RawMessage(`{"amount":1}`)})
	if len(ran) != 2 || ran[0] != `{"amount":1}` || ran[1] != ran[0] {
		t.Errorf("%q", ran)
	}
}

// TestOtherArgumentsAreShown: the arguments that a person gives instead run in the form that the record has, or not at all.
func TestOtherArgumentsAreShown(t *testing.T) {
	for args, want := range map[string]string{`{"to":"V","amount":2.00000000000000001}`: `{"amount":2,"to":"V"}`, `{"amount":2,"to":"\ud800"}`: "", `{"amount":1e400}`: ""} {
		_, recorded, ran, outcomes := payRun(t, func(a *journal.Approval) { a.Args = json.RawMessage(args) }, llm.Call{ID: "a", Name: "pay", Args: json.RawMessage(`{"amount":1}`)})
		if want == "" && len(ran) == 0 && outcomes[0].Result.Failed {
			continue
		}
		if len(ran) != 1 || ran[0] != want || recorded[0] != want {
			t.Errorf("%s: recorded %q, ran %q, %+v", args, recorded, ran, outcomes)
		}
	}
}
