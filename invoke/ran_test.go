package invoke_test

import (
	"context"
	"encoding/json"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/tool"
)

// TestRecordHoldsWhatRan: of a call that nobody is asked about, the intent and the receipt hold the values with which the tool ran. They may be
// spelled in another way; what has no canonical form is on record as the text that it is.
func TestRecordHoldsWhatRan(t *testing.T) {
	for args, want := range map[string]struct{ ran, recorded string }{ // recorded "" means not run
		`{"amount":9007199254740993.0,"to":"V"}`:    {`{"amount":9007199254740992,"to":"V"}`, `{"amount":9007199254740992,"to":"V"}`},
		`{"amount":1234567890123456789.75}`:         {`{"amount":1234567890123456800}`, `{"amount":1234567890123456800}`},
		`{"amount":"9007199254740993.0"}`:           {`{"amount":9007199254740993}`, `{"amount":9007199254740993}`},
		`{"amount":"1.00000000000000001"}`:          {`{"amount":1}`, `{"amount":1}`},
		`{"amount":1e-400}`:                         {`{"amount":0}`, `{"amount":0}`},
		`{"amount":9007199254740993}`:               {`{"amount":9007199254740993}`, `{"amount":9007199254740993}`},
		`{"to":"\u0056", "amount":6.66e2}`:          {`{"to":"\u0056", "amount":6.66e2}`, `{"amount":666,"to":"V"}`},
		`{"amount":0.1,"to":"1.00000000000000001"}`: {`{"amount":0.1,"to":"1.00000000000000001"}`, `{"amount":0.1,"to":"1.00000000000000001"}`},
		`{"more":2.00000000000000001}`:              {"", ""}, // over 2 as it is written, and not when it is rounded: what is checked is what runs
		`{"more":3.00000000000000001}`:              {`{"more":3}`, `{"more":3}`},
		`{"amount":1,"to":"V\ud800"}`:               {`{"amount":1,"to":"V\ud800"}`, `"{\"amount\":1,\"to\":\"V\\ud800\"}"`},
		`{"amount":1e400}`:                          {`{"amount":1e400}`, `"{\"amount\":1e400}"`},
		`{"amount":1,"amount":2}`:                   {"", ""},
		"{\"to\":\"\xff\"}":                         {"", ""},
	} {
		var ran, recorded []string
		pay := tool.Tool{Name: "pay", Origin: tool.Program, Input: schema.Schema(`{"type":"object","properties":{"amount":{"type":"number"},"more":{"type":"number","exclusiveMinimum":2},"to":{"type":"string"}}}`),
			Call: func(_ context.Context, args json.RawMessage) (tool.Output, error) {
				ran = append(ran, string(args))
				return tool.Output{Parts: []llm.Part{llm.Text{Text: "paid"}}}, nil
			}}
		store := new(journal.Memory)
		rec, err := journal.Open(t.Context(), store, "r")
		if err != nil {
			t.Fatal(err)
		}
		s, err := (&invoke.Runner{Tools: tool.MustSet(pay)}).Session(rec)
		if err != nil {
			t.Fatal(err)
		}
		var got invoke.Outcome
		for ev, err := range s.Do(t.Context(), []llm.Call{{ID: "c", Name: "pay", Args: json.RawMessage(args)}}) {
			if err != nil {
				t.Fatal(err)
			}
			if o, ok := ev.(invoke.Outcome); ok {
				got = o
			}
		}
		for e, err := range journal.Whole(store.Read(t.Context(), "r", 0)) {
			if err != nil {
				t.Fatal(err)
			}
			var in journal.Intent
			if e.Kind == journal.KindIntent && e.Decode(&in) == nil {
				recorded = append(recorded, string(in.Args))
			}
		}
		if want.ran == "" {
			if len(ran) > 0 || !got.Result.Failed {
				t.Errorf("%s: ran %q, %+v", args, ran, got.Result)
			}
			continue
		}
		if !slices.Equal(ran, []string{want.ran}) || !slices.Equal(recorded, []string{want.recorded}) {
			t.Errorf("%s: ran %q, recorded %q", args, ran, recorded)
			continue
		}
		if got.Receipt.ParamsHash != journal.ParamsHash(json.RawMessage(ran[0])) {
			t.Errorf("%s: the receipt is of other arguments", args)
		}
		if strings.HasPrefix(want.recorded, `"`) {
			var text string
			if json.Unmarshal([]byte(want.recorded), &text) != nil || text != ran[0] {
				t.Errorf("%s: %s is not its text", args, want.recorded)
			}
		} else if form, err := journal.Canonical([]byte(ran[0])); err != nil || string(form) != want.recorded || exactly(t, ran[0]) != exactly(t, want.recorded) {
			t.Errorf("%s: %s and %s are not the same values", args, ran[0], want.recorded)
		}
	}
}

// exactly returns JSON with the values that it has, to the last digit.
func exactly(t *testing.T, text string) string {
	t.Helper()
	var v map[string]any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	for name, x := range v {
		if n, is := x.(json.Number); is {
			v[name] = rational(t, string(n))
		}
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func rational(t *testing.T, n string) string {
	t.Helper()
	r, ok := new(big.Rat).SetString(n)
	if !ok {
		t.Fatal(n)
	}
	return r.String()
}
