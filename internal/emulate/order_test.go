package emulate_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/llm"
)

// endings are texts whose last bytes may begin a call, or a marker of one, and some that cannot.
var endings = []string{
	"a", "A", "Done.", "Let me check:\n\n", "Now I run `ls`", "See [1]", "See ]", "I use <", "Result: {", "Use \"x\"", "I call the function", "go to", "```",
	"```json\n", "this is <tool", "<tool_call>", "<tool_call>{\"name\":\"ls", "<function=", "[TOOL_CALLS]", "<|python_tag|>", "{\"name\": \"ls\"", "ls(", "ls", "Wetter für Köln 😀",
	"\uff1c", "Action: ls\n", "I think", "<thi", "a </think", " ", "\n", "{", "[", "(", "x = ",
	"a <|", "a <|im_", "x <tool_", "x [TOOL_", "<tool_", "<|py", "[/TOOL_", "to=", "to=functions.ls", "assistant to=functions.ls", "commentary", "<|channel|>", "<|channel|>comm", "</tool_", "<function_calls>", "<invoke",
	"<|start|>assistant", "<｜tool", "<tool_call>\n{\"name\": \"ls\", \"arguments\": ", "<tool_call>{\"name\":\"ls\",\"arguments\":{\"path\":\"/",
}

// interruptions are the events, by kind, that are no text to be searched for calls.
var interruptions = map[string][]llm.Event{
	"call":         {llm.CallStart{ID: "n1", Name: "ls"}, llm.CallDelta{ID: "n1", Args: "{}"}, llm.Call{ID: "n1", Name: "ls", Args: json.RawMessage("{}")}},
	"whole call":   {llm.Call{ID: "n1", Name: "ls", Args: json.RawMessage("{}")}},
	"invalid call": {llm.InvalidCall{ID: "n1", Name: "ls", Raw: "{", Reason: llm.BadArguments}},
	"hosted call":  {llm.HostedCall{Call: llm.Call{ID: "h1", Name: "search", Hosted: true}}, llm.HostedResult{Result: llm.Result{CallID: "h1", Hosted: true}}},
	"thinking":     {llm.ThinkingDelta{Text: "Hm."}},
	"part end":     {llm.PartEnd{}},
	"media":        {llm.Media{MIME: "image/png", URL: "https://example.com/a.png"}},
	"refusal":      {llm.TextDelta{Text: "No.", Part: &llm.Text{Refusal: true}}},
	"citation":     {llm.TextDelta{Text: "cited", Part: &llm.Text{Citations: []llm.Citation{{URL: "https://example.com"}}}}},
	"signature":    {llm.TextDelta{Part: &llm.Text{State: llm.State{Vendor: "v", Data: json.RawMessage(`"s"`)}}}},
}

// Whatever is no text ends the text before it: what the reader of calls held back of it comes first, and not behind. So the
// parts of an answer keep their order, whichever way it is cut.
func TestTextStaysBeforeWhatFollows(t *testing.T) {
	tools := []llm.ToolDef{{Name: "ls", Schema: []byte(`{"type":"object","properties":{"path":{"type":"string"}}}`)}}
	readers := map[string]emulate.CallReader{
		"all": {Promotion: llm.PromoteAll}, "marked": {Promotion: llm.PromoteMarked}, "off": {Promotion: llm.PromoteOff},
		"hermes": {Promotion: llm.PromoteAll, Dialect: "hermes_json", Taught: true}, "whole": {Promotion: llm.PromoteAll, Whole: true},
	}
	for name, c := range readers {
		c.Tools = tools
		for kind, between := range interruptions {
			for _, text := range endings {
				for _, n := range []int{1, len(text)} {
					events := cut(text, n)
					events = append(append(events, between...), cut("b "+text, n)...)
					events = append(append(events, between...), llm.TextDelta{Text: "c"}, llm.Finish{Reason: llm.Stop})
					want, got := order(events), order(read(t, c, events))
					if kind == "signature" && len(got) == 1 { // a call began in the text: it is no longer the one that was signed
						want = []string{"text " + text + "b " + text + "c"}
					}
					if !slices.Equal(got, want) {
						t.Errorf("%s, %s, pieces of %d bytes of %q:\ngot  %q\nwant %q", name, kind, n, text, got, want)
					}
				}
			}
		}
	}
}

// A call that is whole where the text ends is a call, before whatever follows; the deltas of one text hold one call. One that
// goes on behind something else is none.
func TestCallsInTextBeforeOthers(t *testing.T) {
	c := emulate.CallReader{Tools: []llm.ToolDef{{Name: "ls", Schema: []byte(`{"type":"object"}`)}}, Promotion: llm.PromoteAll}
	const call = `<tool_call>{"name":"ls","arguments":{"path":"/"}}</tool_call>`
	for kind, between := range interruptions {
		for _, closed := range []bool{true, false} {
			text := call
			if !closed {
				text = strings.TrimSuffix(call, "</tool_call>")
			}
			for n := 1; n <= len(text); n += 5 {
				events := append(cut("Look.\n"+text, n), between...)
				got := order(read(t, c, append(events, llm.Finish{Reason: llm.Stop})))
				want := append([]string{"text Look.\n", `found ls {"path":"/"}`}, order(between)...)
				if kind == "signature" {
					want = want[:2] // it was that of another text
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s, pieces of %d bytes of %q:\ngot  %q\nwant %q", kind, n, text, got, want)
				}
			}
		}
		for at := len(`<tool_call>{"name":"ls"`); at < len(call)-len("}}</tool_call>"); at++ {
			events := append(append(cut(call[:at], 3), between...), cut(call[at:], 3)...)
			for _, line := range order(read(t, c, append(events, llm.Finish{Reason: llm.Stop}))) {
				if line == `found ls {"path":"/"}` {
					t.Errorf("%s in the middle of a call, at %d: %s", kind, at, line)
				}
			}
		}
	}
}

// Calls in thinking that a vendor left in the text are no calls if the answer goes on with one that it delivers.
func TestRehearsalBeforeNativeCall(t *testing.T) {
	c := emulate.CallReader{Tools: []llm.ToolDef{{Name: "ls", Schema: []byte(`{"type":"object"}`)}}, Promotion: llm.PromoteAll}
	text := `<think>I could write <tool_call>{"name":"ls","arguments":{}}</tool_call>`
	for n := 1; n <= len(text); n += 7 {
		events := append(cut(text, n), interruptions["whole call"]...)
		events = append(events, llm.TextDelta{Text: " so.</think>Done."}, llm.Finish{Reason: llm.Stop})
		got := order(read(t, c, events))
		want := []string{"thinking " + strings.TrimPrefix(text, "<think>"), "llm.Call", "thinking  so.", "text Done."}
		if !slices.Equal(got, want) {
			t.Errorf("pieces of %d bytes:\ngot  %q\nwant %q", n, got, want)
		}
	}
}

// cut returns a text in deltas of n bytes.
func cut(text string, n int) (events []llm.Event) {
	for ; len(text) > n; text = text[n:] {
		events = append(events, llm.TextDelta{Text: text[:n]})
	}
	return append(events, llm.TextDelta{Text: text})
}

// read returns what a reader makes of events.
func read(t *testing.T, c emulate.CallReader, events []llm.Event) (out []llm.Event) {
	t.Helper()
	raw := func(yield func(llm.Event, error) bool) {
		for _, ev := range events {
			if !yield(ev, nil) {
				return
			}
		}
	}
	for ev, err := range emulate.WholeCalls(c.Read(raw), func(id string) bool { return id == "n1" || id == "h1" }) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, ev)
	}
	return out
}

// order returns the events of an answer as lines, with the pieces of a text and of thinking joined.
func order(events []llm.Event) (lines []string) {
	add := func(kind, text string) {
		if n := len(lines) - 1; n >= 0 && strings.HasPrefix(lines[n], kind) {
			lines[n] += text
		} else if text != "" {
			lines = append(lines, kind+text)
		}
	}
	for _, ev := range events {
		switch ev := ev.(type) {
		case llm.Warning, llm.TextRead, llm.Finish:
		case llm.TextDelta:
			if ev.Part == nil {
				add("text ", ev.Text)
			} else {
				lines = append(lines, fmt.Sprintf("about %q %t %d %s", ev.Text, ev.Part.Refusal, len(ev.Part.Citations), ev.Part.State.Data))
			}
		case llm.ThinkingDelta:
			add("thinking ", ev.Text)
		case llm.CallStart, llm.CallDelta:
			if id := fmt.Sprint(ev); strings.Contains(id, "n1") {
				lines = append(lines, fmt.Sprintf("%T", ev))
			}
		case llm.Call:
			if ev.ID != "n1" {
				lines = append(lines, fmt.Sprintf("found %s %s", ev.Name, ev.Args))
				continue
			}
			lines = append(lines, "llm.Call")
		default:
			lines = append(lines, fmt.Sprintf("%T", ev))
		}
	}
	return lines
}
