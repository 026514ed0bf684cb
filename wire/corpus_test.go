package wire

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/corpus"
	"github.com/toolpost/toolpost/llm"
)

// TestCapturedStreams decodes streams that a real server sent.
func TestCapturedStreams(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(corpus.Path(t, "streams/openai_sse"), "*.sse"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r := build(t, Codec{Format: Chat}, string(body))
		text, thinking, args := captured(t, string(body))
		if got := r.Message.Text(); got != text {
			t.Errorf("%s: text %q, the file says %q", file, got, text)
		}
		var gotArgs strings.Builder
		for _, c := range r.Message.Calls() {
			gotArgs.Write(c.Args)
		}
		if gotArgs.String() != args {
			t.Errorf("%s: arguments %q, the file says %q", file, gotArgs.String(), args)
		}
		if got := thought(r.Message); got != thinking {
			t.Errorf("%s: thinking %q, the file says %q", file, got, thinking)
		}
		if len(r.Warnings)+len(r.Invalid) > 0 {
			t.Errorf("%s: %v %v", file, r.Warnings, r.Invalid)
		}
		t.Logf("%s: %d calls, finish %s, usage %+v", filepath.Base(file), len(r.Message.Calls()), r.Finish.Reason, r.Finish.Usage)
	}
}

// captured joins the pieces of a stream with encoding/json alone.
func captured(t *testing.T, stream string) (text, thinking, args string) {
	for line := range strings.Lines(stream) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var chunk struct {
			Choices []struct {
				Delta struct {
					Content   string
					Reasoning string `json:"reasoning_content"`
					ToolCalls []struct {
						Function struct{ Arguments string }
					} `json:"tool_calls"`
				}
			}
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			t.Fatal(err)
		}
		for _, c := range chunk.Choices {
			text += c.Delta.Content
			thinking += c.Delta.Reasoning
			for _, call := range c.Delta.ToolCalls {
				args += call.Function.Arguments
			}
		}
	}
	return text, thinking, args
}

func thought(m llm.Message) string {
	var b strings.Builder
	for _, p := range m.Parts {
		if th, ok := p.(llm.Thinking); ok {
			b.WriteString(th.Text)
		}
	}
	return b.String()
}

// build decodes a stream that must be whole.
func build(t *testing.T, c Codec, stream string) *llm.Response {
	t.Helper()
	var b llm.Builder
	for ev, err := range c.DecodeStream(strings.NewReader(stream)) {
		if err != nil {
			t.Fatal(err)
		}
		b.Add(ev)
	}
	return b.Response()
}

// TestCapturedConversations carries real runs of an agent through every
// format: no call, argument, result or word may change.
func TestCapturedConversations(t *testing.T) {
	b, err := os.ReadFile(corpus.Path(t, "transcripts/livemcp_claude-sonnet-4.json"))
	if err != nil {
		t.Fatal(err)
	}
	var runs []struct{ Messages json.RawMessage }
	if err := json.Unmarshal(b, &runs); err != nil {
		t.Fatal(err)
	}
	calls, results := 0, 0
	for i, run := range runs {
		req, _, err := (Codec{Format: Chat}).DecodeRequest([]byte(`{"messages":` + string(run.Messages) + `}`))
		if err != nil {
			t.Fatalf("run %d: %v", i, err)
		}
		s := storyOf(req)
		calls, results = calls+len(s.Calls), results+len(s.Results)
		for _, format := range Formats() {
			compareRequests(t, format, req, carry(t, Codec{Format: format}, req).req)
		}
	}
	t.Logf("%d runs, %d calls, %d results through %d formats", len(runs), calls, results, len(Formats()))
	if calls == 0 || results != calls {
		t.Errorf("%d calls and %d results", calls, results)
	}
}
