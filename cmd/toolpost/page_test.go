package main

import (
	"context"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/internal/linear"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// A text that is drawn while it grows is drawn as it is drawn whole, at every
// width.
func TestFlowDrawsTheSame(t *testing.T) {
	words := []string{"a", "word", "漢字漢字", "🙂", "supercalifragilisticexpialidocious", "x\x1by", "é", "tab\there", " ", "  "}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		var b strings.Builder
		for range 60 {
			b.WriteString(words[r.IntN(len(words))])
			if r.IntN(5) > 0 {
				b.WriteByte(' ')
			}
		}
		text, width := b.String(), 4+r.IntN(30)
		grown := new(flow)
		for rest := text; rest != ""; {
			n := min(1+r.IntN(9), len(rest))
			grown.write(rest[:n])
			rest = rest[n:]
			if r.IntN(3) == 0 {
				grown.draw(width)
			}
			if r.IntN(40) == 0 {
				grown.draw(width + 3)
			}
		}
		want := wrap(printable(text), width, "", plainly)
		if d := cmp.Diff(want, grown.draw(width)); d != "" {
			t.Fatalf("%q at %d:\n%s", text, width, d)
		}
	}
}

// streamed shows an answer of so many words, one event each, and returns the
// memory that is in use in the end.
func streamed(t *testing.T, words int, end string) uint64 {
	t.Helper()
	w := &wiring{settings: &settings{Root: "."}, tools: tool.MustSet(), found: found{ID: "some/model"}}
	c := newChatModel(t.Context(), w, palette{}, false)
	c.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	c.send = func(m tea.Msg) {
		c.Update(m)
		c.View()
	}
	for range words / 8 {
		for range 7 {
			c.news.tell(context.Background(), llm.TextDelta{Text: "word "}, c.send)
		}
		c.news.tell(context.Background(), llm.TextDelta{Text: "word" + end}, c.send)
	}
	c.Update(ticked{})
	if n := len(c.page.lines); n < words/16 {
		t.Errorf("%d words are %d lines", words, n)
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	runtime.KeepAlive(c)
	return m.HeapAlloc
}

// What the screen does for an answer grows with its length, in one paragraph or
// in lines.
func TestChatIsLinear(t *testing.T) {
	for _, end := range []string{" ", "\n"} {
		linear.Check(t, strconv.Quote(end), 25_000, func(words int) func() {
			return func() { streamed(t, words, end) }
		})
		held := streamed(t, 200_000, end)
		t.Logf("%q: %d MB are held", end, held>>20)
		if held > 64<<20 {
			t.Errorf("%q: %d bytes are held", end, held)
		}
	}
}
