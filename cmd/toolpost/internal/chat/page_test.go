package chat

import (
	"context"
	"runtime"
	"strconv"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/ask"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/openmodel"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/session"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/internal/linear"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// streamed shows an answer with the given number of words, one event each, and returns the memory in use at the end.
func streamed(t *testing.T, words int, end string) uint64 {
	t.Helper()
	w := &session.Session{Settings: &settings.Settings{ToolOptions: settings.ToolOptions{Root: "."}}, ToolSet: tool.MustSet(), Found: openmodel.Choice{ID: "some/model"}}
	c := newModel(t.Context(), w, cli.Palette{}, false)
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
	c.Update(ask.Ticked{})
	if n := len(c.page.Lines); n < words/16 {
		t.Errorf("%d words are %d lines", words, n)
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	runtime.KeepAlive(c)
	return m.HeapAlloc
}

// The work of the screen for an answer is linear in its length, in one paragraph or in lines.
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
