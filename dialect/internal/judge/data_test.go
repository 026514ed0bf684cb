package judge

import (
	"testing"

	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/offered"
	"github.com/toolpost/toolpost/llm"
)

func TestData(t *testing.T) {
	for _, c := range []struct {
		text     string
		end      int // offset of the byte after the value
		suspects bool
	}{
		{`{"a": [1, {"b": "c"}]} rest`, 22, false},
		{`{"plan": [{"tool": "ping", "args": {}}]}`, 40, true},
		{`{"plan": [{"name": "ping", "description": "d", "parameters": {}}]}`, 66, false},
		{`{"a": nonsense}`, 14, false},
		{`{"a": }`, 6, false},
	} {
		e := NewEvidence(builtin, offered.New([]llm.ToolDef{{Name: "ping"}}), lexicon.RowSet{}, false)
		e.Buf, e.Eof = []byte(c.text), true
		if !e.BeginsData(c.text[0]) {
			t.Errorf("%s: is not data", c.text)
		}
		var d Data
		for d.Begin(&e); !d.Ended() && e.Pos < len(e.Buf); {
			d.Read()
		}
		d.End()
		if e.Pos != c.end && c.text != `{"a": nonsense}` || (len(e.Covers) > 0) != c.suspects {
			t.Errorf("%s: ended at %d, suspects %v", c.text, e.Pos, e.Covers)
		}
	}
}

// Before a call is read, the decision is the same function with an earlier stage.
func TestStages(t *testing.T) {
	for _, c := range []struct {
		before string
		c      Candidate
		want   Result
	}{
		{"Write `", Candidate{Stage: Seen}, IsText},
		{"> ", Candidate{Stage: Seen}, IsText},
		{"Write ", Candidate{Stage: Seen}, IsCall},
		{"<!-- ", Candidate{Stage: Seen}, IsText},
		{"", Candidate{Stage: Begun}, IsCall},
		{"Let me look.\n", Candidate{Stage: Begun, Marked: true}, IsCall},
		{"Let me look.\n", Candidate{Stage: Begun}, IsOpen},
		{"As in ", Candidate{Stage: Begun, Marked: true}, IsOpen},
		{"<doc><part>", Candidate{Stage: Named, Element: "get_weather"}, IsText},
		{"<answer>", Candidate{Stage: Named, Element: "get_weather"}, IsCall},
	} {
		e := NewEvidence(builtin, offered.New([]llm.ToolDef{{Name: "ping"}}), lexicon.RowSet{}, false)
		e.Buf, e.Eof, e.Pos, e.Started = []byte(c.before+"x"), true, len(c.before), len(c.before) > 0
		if v := Decide(&e, c.c); v.Result != c.want {
			t.Errorf("%q, %+v: %v, want %v", c.before, c.c.Stage, v.Result, c.want)
		}
	}
	e := NewEvidence(builtin, offered.New(nil), lexicon.RowSet{}, true)
	if v := Decide(&e, Candidate{Stage: Named, Rows: builtin.Bare}); v.Result != IsText {
		t.Errorf("a call without a marker on a route that wants one: %v", v.Result)
	}
}
