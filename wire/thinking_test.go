package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	wireformat "github.com/toolpost/toolpost/wire/format"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

// TestThinkingInContent: parts of the content that are thinking, as Mistral has them, are thinking in an answer in one piece and
// in a stream, where the last piece of thinking may stand in one list with the first text.
func TestThinkingInContent(t *testing.T) {
	c := Codec{Format: Chat}
	whole, err := c.DecodeResponse([]byte(`{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":[
		{"type":"thinking","thinking":[{"type":"text","text":"one "},{"type":"text","text":"two"}],"closed":true,"signature":null},{"type":"text","text":"said"}]}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	thought := func(s string, closed bool) string {
		return fmt.Sprintf(`{"type":"thinking","thinking":[{"type":"text","text":%q}],"closed":%v}`, s, closed)
	}
	streamed := build(t, c, chunkOf(`{"role":"assistant","content":""}`)+chunkOf(`{"content":[`+thought("one ", false)+`]}`)+chunkOf(`{"content":[`+thought("tw", false)+`]}`)+
		chunkOf(`{"content":[`+thought("o", true)+`,{"type":"text","text":"sa"}]}`)+chunkOf(`{"content":"id"}`)+chunksEnd)
	for what, r := range map[string]*llm.Response{"whole": whole, "streamed": streamed} {
		if len(r.Message.Parts) != 2 {
			t.Errorf("%s: %+v", what, r.Message.Parts)
			continue
		}
		first, ok := r.Message.Parts[0].(llm.Thinking)
		if !ok || first.Text != "one two" || len(first.Extra) > 0 || r.Message.Text() != "said" {
			t.Errorf("%s: %+v", what, r.Message.Parts)
		}
	}
}

// TestThinkingPartsGoBack: a host that has thinking in its content gets it back there, in its place, and other hosts do not.
func TestThinkingPartsGoBack(t *testing.T) {
	req := &llm.Request{Model: "m", Messages: []llm.Message{llm.User("hi"), {Role: llm.RoleAssistant, Parts: []llm.Part{
		llm.Thinking{Text: "hm"}, llm.Text{Text: "said"}, llm.Call{ID: "c1", Name: "f", Args: []byte("{}")}}},
		{Role: llm.RoleTool, Parts: []llm.Part{llm.Result{CallID: "c1", Name: "f", Parts: []llm.Part{llm.Text{Text: "ok"}}}}}}}
	const want = `"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}],"closed":true},{"type":"text","text":"said"}]`
	for _, parts := range []bool{false, true} {
		c := Codec{Format: Chat, Quirks: wireformat.Quirks{ThinkingParts: parts}}
		body, warnings, err := c.EncodeRequest(req, false)
		if err != nil || strings.Contains(string(body), want) != parts || strings.Contains(string(body), "hm") != parts || (len(warnings) == 0) != parts {
			t.Errorf("%v: %v, %v\n%s", parts, err, warnings, body)
		}
		if !parts {
			continue
		}
		back, _, err := c.DecodeRequest(body)
		if err != nil {
			t.Fatal(err)
		}
		again, _, err := c.EncodeRequest(back, false)
		if err != nil || string(again) != string(body) {
			t.Errorf("%v, %s is written again as\n%s", err, body, again)
		}
	}
}

// TestThinkingOfInstructions: instructions that show how to think, as Mistral recommends, stay as they are.
func TestThinkingOfInstructions(t *testing.T) {
	const content = `[{"type":"text","text":"Draft first."},{"type":"thinking","thinking":[{"type":"text","text":"Your thoughts."}]}]`
	c := Codec{Format: Chat, Quirks: wireformat.Quirks{ThinkingParts: true}}
	req, _, err := c.DecodeRequest([]byte(`{"model":"m","messages":[{"role":"system","content":` + content + `},{"role":"user","content":"hi"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	body, _, err := c.EncodeRequest(req, false)
	if err != nil || !strings.Contains(string(body), content) {
		t.Errorf("%v\n%s", err, body)
	}
}

// thoughtOf returns the thinking of an answer, which is one document, or a stream of them.
func thoughtOf(answer []byte) string {
	var b strings.Builder
	for line := range bytes.Lines(answer) {
		doc := bytes.TrimPrefix(line, []byte("data: "))
		if js.Kind(js.Trim(doc)) != '{' {
			continue
		}
		for _, path := range []string{"choices.0.message.reasoning_content", "choices.0.delta.reasoning_content", "message.thinking"} {
			b.WriteString(js.Text(at(js.Trim(doc), path)))
		}
	}
	return b.String()
}

// TestThinkingIsJoined: formats with one text for all thinking join its parts in a stream as they do in one piece.
func TestThinkingIsJoined(t *testing.T) {
	signed := llm.State{Vendor: Messages, Data: []byte(`{"signature":"s"}`)}
	for name, parts := range map[string][]llm.Part{
		"one":           {llm.Thinking{Text: "p1"}, llm.Text{Text: "A"}},
		"two":           {llm.Thinking{Text: "p1"}, llm.Thinking{Text: "p2"}, llm.Text{Text: "A"}},
		"signed":        {llm.Thinking{Text: "p1", State: signed}, llm.Thinking{Text: "p2", State: signed}, llm.Text{Text: "A"}},
		"around text":   {llm.Thinking{Text: "p1"}, llm.Text{Text: "A"}, llm.Thinking{Text: "p2"}, llm.Text{Text: "B"}},
		"around a call": {llm.Thinking{Text: "p1"}, llm.Call{ID: "c", Name: "f", Args: []byte("{}")}, llm.Thinking{Text: "p2"}},
		"redacted":      {llm.Thinking{Text: "p1"}, llm.Thinking{Redacted: true, State: signed}, llm.Thinking{Text: "p2"}},
		"only redacted": {llm.Thinking{Redacted: true, State: signed}, llm.Thinking{Text: "p2"}},
	} {
		r := &llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Parts: parts}, Finish: llm.Finish{Reason: llm.Stop}}
		for _, format := range []string{Chat, Ollama} {
			c := Codec{Format: format}
			whole, _, err := c.EncodeResponse(r)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			w := c.NewStream(&out, wireformat.Head{})
			for _, ev := range r.Events() {
				if err := w.Write(ev); err != nil {
					t.Fatal(err)
				}
			}
			if got, want := thoughtOf(out.Bytes()), thoughtOf(whole); got != want || want == "" {
				t.Errorf("%s: %s: the stream says %q, one piece %q", name, format, got, want)
			}
		}
	}
}

// detailsOf returns what a client that adds up the pieces of the reasoning_details of a stream has, by index.
func detailsOf(stream string) map[string]string {
	out := map[string]string{}
	for _, line := range strings.Split(stream, "\n") {
		data, ok := strings.CutPrefix(line, "data: {")
		if !ok {
			continue
		}
		for choice := range js.Elements(js.Get([]byte("{"+data), "choices")) {
			for d := range js.Elements(js.Get(js.Get(choice, "delta"), "reasoning_details")) {
				for key, v := range js.Members(d) {
					if name := string(js.Get(d, "index")) + " " + string(key); string(key) == "text" || string(key) == "signature" {
						out[name] += js.Text(v)
					}
				}
			}
		}
	}
	return out
}

// TestDetailsOfARelay: a relay that begins to write anew in the middle of reasoning_details says the pieces that its client
// does not have, and no other again.
func TestDetailsOfARelay(t *testing.T) {
	piece := func(rest string) string {
		return chunkOf(`{"reasoning_details":[{"type":"reasoning.text","index":0,` + rest + `}]}`)
	}
	stream := chunkOf(`{"role":"assistant","content":""}`) + piece(`"text":"one "`) + piece(`"text":"two "`) + piece(`"text":"three"`) +
		piece(`"signature":"SIG"`) + chunkOf(`{"content":"said"}`) + chunksEnd
	want := fmt.Sprint(map[string]string{"0 text": "one two three", "0 signature": "SIG"})
	c := Codec{Format: Chat}
	for _, word := range []string{"one ", "two ", "three", "said"} {
		var out bytes.Buffer
		err := c.Relay(&out, strings.NewReader(stream), func(ev llm.Event) wireformat.RelayDecision {
			switch text := ev.(type) {
			case llm.ThinkingDelta:
				if text.Text == word {
					return wireformat.Replace(ev)
				}
			case llm.TextDelta:
				if text.Text == word {
					return wireformat.Replace(ev)
				}
			}
			return wireformat.Pass
		})
		if got := detailsOf(out.String()); err != nil || fmt.Sprint(got) != want {
			t.Errorf("written anew from %q: %v, the client has %v, not %v, from\n%s", word, err, got, want, out.String())
		}
	}
}

// TestDetailsAreJoinedOnce: the work for reasoning_details grows with their length, and not with its square.
func TestDetailsAreJoinedOnce(t *testing.T) {
	const pieces = 40000
	var b strings.Builder
	one := chunkOf(`{"reasoning_details":[{"type":"reasoning.text","index":0,"text":"` + strings.Repeat("a", 100) + `"}]}`)
	for range pieces {
		b.WriteString(one)
	}
	begun := time.Now()
	r := build(t, Codec{Format: Chat}, b.String()+chunkOf(`{"content":"said"}`)+chunksEnd)
	if took := time.Since(begun); took > 15*time.Second {
		t.Errorf("%v for %d pieces", took, pieces)
	}
	state := r.Message.Parts[0].(llm.Thinking).State.Data
	var all struct {
		Details []struct{ Text string } `json:"reasoning_details"`
	}
	if err := json.Unmarshal(state, &all); err != nil || len(all.Details) != 1 || len(all.Details[0].Text) != 100*pieces {
		t.Errorf("%d bytes, %v", len(state), err)
	}
}

// TestTooManyDetails: what is more than can be kept is named.
func TestTooManyDetails(t *testing.T) {
	list := `{"reasoning_details":[` + strings.Repeat(`{"text":"a"},`, 1<<14) + `{"text":"a"}]}`
	stream := strings.Repeat(chunkOf(list), 5) + chunkOf(`{"content":"said"}`) + chunksEnd
	warned := 0
	for ev, err := range (Codec{Format: Chat}).DecodeStream(strings.NewReader(stream)) {
		if err != nil {
			t.Fatal(err)
		}
		if w, ok := ev.(llm.Warning); ok && w.Feature == "reasoning_details" {
			warned++
		}
		if d, ok := ev.(llm.ThinkingDelta); ok && !d.About().State.IsZero() {
			t.Error("half of the details is kept")
		}
	}
	if warned != 1 {
		t.Errorf("%d warnings", warned)
	}
}

// endless is an upstream that says one frame until nobody reads it any more.
type endless struct {
	frame string
	read  int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.read > 3*codec.MaxHeld {
		return 0, io.EOF
	}
	n := copy(p, e.frame[e.read%len(e.frame):])
	e.read += n
	return n, nil
}

// TestRelayLimitsHeldEvents: a relay that writes a stream anew keeps back no more than one that copies it.
func TestRelayLimitsHeldEvents(t *testing.T) {
	c := Codec{Format: Chat}
	src := &endless{frame: chunkOf(`{"content":"` + strings.Repeat("a", 1<<18) + `"}`)}
	var out bytes.Buffer
	first := true
	err := c.Relay(&out, src, func(ev llm.Event) wireformat.RelayDecision {
		if _, text := ev.(llm.TextDelta); text && first {
			first = false
			return wireformat.Replace(llm.TextDelta{Text: "begun"})
		} else if text {
			return wireformat.Hold
		}
		return wireformat.Pass
	})
	if err == nil || !strings.Contains(err.Error(), "are held back") || src.read > codec.MaxHeld+codec.MaxHeld/4 {
		t.Errorf("%d bytes were read: %v", src.read, err)
	}
	if !strings.Contains(out.String(), "begun") || !strings.Contains(out.String(), `"error"`) {
		t.Errorf("the client has %.500s", out.String())
	}
}
