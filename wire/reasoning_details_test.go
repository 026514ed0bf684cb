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
	"github.com/toolpost/toolpost/wire/internal/codec"
)

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
		err := c.Relay(&out, strings.NewReader(stream), func(ev llm.Event) RelayDecision {
			switch text := ev.(type) {
			case llm.ThinkingDelta:
				if text.Text == word {
					return Replace(ev)
				}
			case llm.TextDelta:
				if text.Text == word {
					return Replace(ev)
				}
			}
			return Pass
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

// TestHeldOfATranslationIsBounded: a relay that writes a stream anew keeps back no more than one that copies it.
func TestHeldOfATranslationIsBounded(t *testing.T) {
	c := Codec{Format: Chat}
	src := &endless{frame: chunkOf(`{"content":"` + strings.Repeat("a", 1<<18) + `"}`)}
	var out bytes.Buffer
	first := true
	err := c.Relay(&out, src, func(ev llm.Event) RelayDecision {
		if _, text := ev.(llm.TextDelta); text && first {
			first = false
			return Replace(llm.TextDelta{Text: "begun"})
		} else if text {
			return Hold
		}
		return Pass
	})
	if err == nil || !strings.Contains(err.Error(), "are held back") || src.read > codec.MaxHeld+codec.MaxHeld/4 {
		t.Errorf("%d bytes were read: %v", src.read, err)
	}
	if !strings.Contains(out.String(), "begun") || !strings.Contains(out.String(), `"error"`) {
		t.Errorf("the client has %.500s", out.String())
	}
}
