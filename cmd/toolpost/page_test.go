package main

import (
	"context"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

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

// streamed is the time that the screen takes for an answer of so many words, one
// event each, and the memory that is in use in the end.
func streamed(t *testing.T, words int, end string) (time.Duration, uint64) {
	t.Helper()
	w := &wiring{settings: &settings{Root: "."}, tools: tool.MustSet(), found: found{ID: "some/model"}}
	c := newChatModel(t.Context(), w, palette{}, false)
	c.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	c.send = func(m tea.Msg) {
		c.Update(m)
		c.View()
	}
	began := time.Now()
	for range words / 8 {
		for range 7 {
			c.news.tell(context.Background(), llm.TextDelta{Text: "word "}, c.send)
		}
		c.news.tell(context.Background(), llm.TextDelta{Text: "word" + end}, c.send)
	}
	c.Update(ticked{})
	took := time.Since(began)
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if n := len(c.page.lines); n < words/16 {
		t.Errorf("%d words are %d lines", words, n)
	}
	runtime.KeepAlive(c)
	return took, m.HeapAlloc
}

// What the screen does for an answer grows with its length, in one paragraph or
// in lines.
func TestChatIsLinear(t *testing.T) {
	for _, end := range []string{" ", "\n"} {
		streamed(t, 8000, end) // warm
		small, _ := streamed(t, 50_000, end)
		large, held := streamed(t, 200_000, end)
		t.Logf("%q: 50,000 words %v, 200,000 words %v, %d MB", end, small, large, held>>20)
		if large > 5*small+time.Second {
			t.Errorf("%q: 50,000 words take %v, 200,000 words %v", end, small, large)
		}
		if held > 64<<20 {
			t.Errorf("%q: %d bytes are held", end, held)
		}
	}
}
