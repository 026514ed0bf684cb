package llm_test

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/linear"
	"github.com/toolpost/toolpost/llm"
)

// TestEstimate: the estimate is within a tenth of o200k_base in sum, for each kind of
// text. testdata/tokens.json has texts of this project and their counts, made once
// with github.com/tiktoken-go/tokenizer 0.10.0.
func TestEstimate(t *testing.T) {
	b, err := os.ReadFile("testdata/tokens.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		Kind  string
		From  string
		O200k int
		Text  string
	}
	if err := json.Unmarshal(b, &rows); err != nil {
		t.Fatal(err)
	}
	want, got := make(map[string]int), make(map[string]int)
	for _, r := range rows {
		n := llm.EstimateText(r.Text)
		if r.Kind == "tools" {
			var d struct {
				Name, Description string
				Parameters        json.RawMessage
			}
			if err := json.Unmarshal([]byte(r.Text), &d); err != nil {
				t.Fatal(err)
			}
			n = llm.EstimateTool(llm.ToolDef{Name: d.Name, Description: d.Description, Schema: d.Parameters})
		}
		want[r.Kind] += r.O200k
		got[r.Kind] += n
		if off := float64(n)/float64(r.O200k) - 1; off < -0.2 || off > 0.2 {
			t.Errorf("%s %s: %d, not %d", r.Kind, r.From, n, r.O200k)
		}
	}
	for _, kind := range []string{"english", "code", "json", "chinese", "tools"} {
		off := float64(got[kind])/float64(want[kind]) - 1
		t.Logf("%s: %d for %d (%+.1f %%)", kind, got[kind], want[kind], 100*off)
		if want[kind] < 600 || off < -0.1 || off > 0.1 {
			t.Errorf("%s: %d, not %d", kind, got[kind], want[kind])
		}
	}
}

// TestEstimateIsLinear: the work grows with the length of the text only.
func TestEstimateIsLinear(t *testing.T) {
	for _, piece := range []string{"a", "A", "1", " ", "\n", "{", "中", "é", "aB1 {\n中"} {
		linear.Check(t, strconv.Quote(piece), 1<<16, func(n int) func() {
			s := strings.Repeat(piece, n)
			return func() { llm.EstimateText(s) }
		})
	}
}

func TestEstimateRequest(t *testing.T) {
	r := &llm.Request{System: "Be brief.", Messages: []llm.Message{llm.User("How are you today?"), llm.Assistant(llm.Call{Name: "look", Args: json.RawMessage(`{"a":1}`)}),
		llm.Results(llm.Result{CallID: "1", Parts: []llm.Part{llm.Text{Text: strings.Repeat("word ", 100)}}})}}
	small := llm.EstimateRequest(r)
	if small < 110 || small > 170 {
		t.Errorf("%d tokens", small)
	}
	r.Messages = append(r.Messages, llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.Media{Kind: llm.Image, Data: make([]byte, 10)}}})
	r.Tools = []llm.ToolDef{{Name: "look", Description: "Looks.", Schema: []byte(`{"type":"object"}`)}}
	if n := llm.EstimateRequest(r); n < small+1000 {
		t.Errorf("%d tokens with an image", n)
	}
}
