package wire

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

// A translation that holds one event after the other, each for a moment, holds little at a time, however much it is in all.
func TestHeldOftenIsNotHeldLong(t *testing.T) {
	in, out := io.Pipe()
	defer in.Close()
	chunk := func(word string) string { return chunkOf(`{"content":"` + word + strings.Repeat("x", 20<<10) + `"}`) }
	rounds := 3 * codec.MaxHeld / (2 * len(chunk("P"))) // more than may be held at once
	go func() {
		defer out.Close()
		text := chunkOf(`{"role":"assistant","content":""}`) + chunk("R") + chunk("H")
		for range rounds {
			if _, err := io.WriteString(out, text); err != nil {
				return
			}
			text = chunk("P") + chunk("H") // each read ends with an event that is held
		}
		_, _ = io.WriteString(out, chunksEnd)
	}()
	err := (&Codec{Format: Chat}).Relay(io.Discard, in, func(ev llm.Event) RelayDecision {
		if text, ok := ev.(llm.TextDelta); ok && text.Text[0] == 'R' {
			return Replace(ev)
		} else if ok && text.Text[0] == 'H' {
			return Hold
		}
		return Pass
	})
	if err != nil {
		t.Error(err)
	}
}

// Where a relay writes anew inside reasoning_details, what it does for each delta does not grow with those before: as many as may come
// took an hour.
func TestManyDetailsAfterARewrite(t *testing.T) {
	const n = 40000
	var b strings.Builder
	b.WriteString(chunkOf(`{"role":"assistant","content":""}`))
	for i := range n {
		b.WriteString(chunkOf(fmt.Sprintf(`{"reasoning":"w%d ","reasoning_details":[{"type":"reasoning.text","index":0,"text":"w%d "}]}`, i, i)))
	}
	b.WriteString(chunkOf(`{"content":"said"}`) + chunksEnd)
	var out bytes.Buffer
	err := (&Codec{Format: Chat}).Relay(&out, strings.NewReader(b.String()), func(ev llm.Event) RelayDecision {
		if x, ok := ev.(llm.ThinkingDelta); ok && x.Text == "w3 " {
			return Replace(ev)
		}
		return Pass
	})
	if err != nil || !strings.Contains(out.String(), fmt.Sprintf("w%d ", n-1)) || !strings.Contains(out.String(), "said") {
		t.Errorf("%v, %d bytes", err, out.Len())
	}
}
