package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// A client of the gateway gets the calls and the text that the library reads in the same answer.
func TestGatewayReadsLikeTheLibrary(t *testing.T) {
	var answer string
	m := llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] { return answered(answer) })
	url := reaskingGateway(t, m, gateway.CheckOff)
	req := weatherRequest(wire.Chat)
	req.Tools = []llm.ToolDef{
		{Name: "book_table", Schema: json.RawMessage(`{"type":"object","properties":{"restaurant":{"type":"string"},"guests":{"type":"integer"},"note":{"type":"string"}},"required":["restaurant","guests"]}`)},
		{Name: "lookup_word", Schema: json.RawMessage(`{"type":"object","properties":{"word":{"type":"string"},"lang":{"type":"string"}},"required":["word"]}`)},
		{Name: "save_text", Schema: json.RawMessage(`{"type":"object","properties":{"file":{"type":"string"},"body":{"type":"string"}},"required":["file","body"]}`)},
		{Name: "delete_branch", Schema: json.RawMessage(`{"type":"object","properties":{"branch":{"type":"string"},"force":{"type":"boolean"}},"required":["branch"]}`)},
	}
	files, _ := filepath.Glob("../dialect/testdata/blind/[ht]*.jsonl") // honest, talk, twins
	calls, texts := 0, 0
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var row struct{ Text string }
			if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
				t.Fatal(err)
			}
			if texts++; texts%4 != 0 {
				continue
			}
			answer = row.Text
			held := *req
			held.HoldDoubtful = true
			var b llm.Builder
			for ev, err := range (emulate.CallReader{Request: &held, Tools: req.Tools, Promotion: llm.PromoteMarked}).Read(answered(answer)) {
				if err != nil {
					t.Fatal(err)
				}
				b.Add(ev)
			}
			want := b.Response()
			got := ask(t, url, wire.Chat, req, texts%8 == 0)
			if got.err != nil || len(got.Message.Calls()) != len(want.Message.Calls()) {
				t.Errorf("%d calls, want %d, %v in\n%s", len(got.Message.Calls()), len(want.Message.Calls()), got.err, answer)
				continue
			}
			for i, c := range want.Message.Calls() {
				if calls++; got.Message.Calls()[i].Name != c.Name || string(got.Message.Calls()[i].Args) != string(c.Args) {
					t.Errorf("call %s, want %s in\n%s", got.Message.Calls()[i].Args, c.Args, answer)
				}
			}
		}
		f.Close()
	}
	if t.Logf("%d texts, %d calls", texts/4, calls); calls < 50 {
		t.Error("few calls")
	}
}

// answered is the answer of a model that says a text.
func answered(text string) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		_ = yield(llm.TextDelta{Text: text}, nil) && yield(llm.Finish{Reason: llm.Stop}, nil)
	}
}
