package dialect

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// The arguments of a call leave as they arrive, in every dialect: a consumer
// that shows a long text while it is written must not see it at the end only.
func TestArgumentsAreNotHeld(t *testing.T) {
	value := strings.Repeat("a line of ordinary words, and more of them. ", 40)
	args, err := json.Marshal(map[string]string{"s": value})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range Builtin().All() {
		text, err := Builtin().Render(d.Name, llm.Call{Name: "say", Args: args})
		if err != nil {
			t.Fatal(err)
		}
		start := strings.Index(text, value)
		if start < 0 {
			t.Errorf("%s writes the value otherwise: %.200q", d.Name, text)
			continue
		}
		if lag := argumentLag(t, text, start, start+len(value)); lag > 2 && heldArguments[d.Name] == "" {
			t.Errorf("%s: %d bytes are held", d.Name, lag)
		}
	}
}

// heldArguments are the dialects whose arguments leave when they are complete,
// and why.
var heldArguments = map[string]string{
	"yaml_tagname": "what a line of YAML means is for the next ones to say",
}

// argumentLag is how many bytes of the value text[start:end] have arrived and
// not left, at most.
func argumentLag(t *testing.T, text string, start, end int) int {
	at, said, most := 0, 0, 0
	chunks := func(yield func(string, error) bool) {
		for c := range Cut(text, 1) {
			if at > start && at < end {
				most = max(most, at-start-max(0, said-len(`{"s":"`)))
			}
			at += len(c)
			if !yield(c, nil) {
				return
			}
		}
	}
	p := Parser{Tools: hardTools}
	for ev, err := range p.Parse(chunks) {
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := ev.(llm.CallDelta); ok {
			said += len(d.Args)
		}
	}
	return most
}

// Text and thinking leave as they arrive; what may begin a call waits only
// until the next bytes show that it does not.
func TestTextIsNotHeld(t *testing.T) {
	for _, c := range []struct {
		prose string
		most  int // bytes that may wait
	}{
		{"Some ordinary words, and more of them. ", 1},
		{"Lines\nof\nwords\n\n- a list\n- of two\n", 1},
		{"For a < b and 3 > 2 see [1] and [2, 3], f(x) = {y}, `code`, \"say\" and 50 % of it. ", 3},
		{"Call say with care: say (or get_time) is a tool. ", 5}, // a name may be followed by its arguments
		{"Größe, 日本語, 🙂 and … dots. ", 2},
	} {
		for _, open := range []bool{false, true} {
			if lag := textLag(t, strings.Repeat(c.prose, 30), open); lag > c.most {
				t.Errorf("%q, thinking %v: %d bytes are held", c.prose, open, lag)
			}
		}
	}
}

// textLag is how many bytes have arrived and not left, at most.
func textLag(t *testing.T, text string, thinking bool) int {
	at, said, most := 0, 0, 0
	chunks := func(yield func(string, error) bool) {
		for c := range Cut(text, 1) {
			most = max(most, at-said)
			at += len(c)
			if !yield(c, nil) {
				return
			}
		}
	}
	p := Parser{Tools: hardTools, ThinkingOpen: thinking}
	for ev, err := range p.Parse(chunks) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case llm.TextDelta:
			said += len(ev.Text)
		case llm.ThinkingDelta:
			said += len(ev.Text)
		}
	}
	return most
}

// A call waits for the paragraph after it, at most 256 bytes: it may refuse or explain the call. Arguments do not wait.
func TestPlacesAreDecidedSoon(t *testing.T) {
	const object = `{"name": "say", "arguments": {"s": "a"}}`
	for _, c := range []struct {
		text string
		most int // bytes after the call before it leaves
	}{
		{"I speak.\n" + object + "\nThen more words follow here.", len("\nThen more words follow here.")},
		{"I speak.\n" + object + "\n\n\n\nThen more words follow here.", len("\n\n\n\nThen more words follow here.")},
		{object + "\nand then more words", len("\nand then more words")},
		{object + " And then more words", len(" And then more words")},
		{"I speak.\n" + object + "\n" + strings.Repeat("More words ", 100), 260},
		{"I speak. <tool_call>" + object + "</tool_call> and go on", len("</tool_call> and go on")},
		{"I speak: <tool_call>" + object + "</tool_call> And go on", len("</tool_call> And go on")},
		{"<log>\n<tool_call>" + object + "</tool_call>\nThen more words", len("</tool_call>\nThen more words")},
		{"<log>\nI go on.\n\n<tool_call>" + object + "</tool_call>\n" + strings.Repeat("More words ", 100), 600},
		{"I speak.\n```json\n" + object + "\n```\n```json\n" + object + "\n```", 14},
	} {
		if lag := callLag(t, c.text, strings.Index(c.text, object)+len(object)); lag > c.most {
			t.Errorf("%.60q: the call leaves %d bytes behind its end", c.text, lag)
		}
	}
}

// callLag is how many bytes after end had to arrive before the first call left;
// all of them if none did.
func callLag(t *testing.T, text string, end int) int {
	at := 0
	chunks := func(yield func(string, error) bool) {
		for c := range Cut(text, 1) {
			at += len(c)
			if !yield(c, nil) {
				return
			}
		}
	}
	p := Parser{Tools: hardTools}
	for ev, err := range p.Parse(chunks) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := ev.(llm.Call); ok {
			return at - end
		}
	}
	return len(text)
}

// The buffer may move while a reader waits for the next byte, wherever that is:
// here, in what decides about the place of a call.
func TestPlacesWhereTheBufferMoves(t *testing.T) {
	t.Parallel()
	const object = `{"name": "say", "arguments": {"s": "a"}}`
	for _, end := range []string{
		"\n```json\n" + object + "\n```\nThen more.", "\n" + object + "\nsay it again", "\n" + `{"name": "say", "parameters": {"s": {"type": "string"}}}`,
	} {
		for pad := range 1100 {
			text := strings.Repeat("a", pad) + end
			for _, err := range (&Parser{Tools: hardTools}).Parse(Cut(text, 1)) {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
