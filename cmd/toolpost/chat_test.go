package main

import (
	"errors"
	"os"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// typed presses the keys of a text.
func typed(c *chat, text string) {
	for _, r := range text {
		k := tea.KeyPressMsg{Code: r, Text: string(r)}
		switch r {
		case '\n':
			k = tea.KeyPressMsg{Code: tea.KeyEnter}
		case '\t':
			k = tea.KeyPressMsg{Code: tea.KeyTab}
		}
		c.Update(k)
	}
}

func newTestChat(t *testing.T) *chat {
	t.Helper()
	w := &wiring{settings: &settings{Root: "."}, tools: tool.MustSet(), found: found{ID: "some/model"}}
	c := newChatModel(t.Context(), w, cli.Palette{}, false)
	c.send = func(tea.Msg) {}
	c.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	return c
}

// Tab completes commands, their arguments, tools and files. Candidates are shown until the next key.
func TestTabCompletes(t *testing.T) {
	bare(t, map[string]string{"notes/apples.md": "", "notes/pears.md": "", ".hidden": "", "note.txt": ""})
	w := &wiring{settings: &settings{Root: "."}, tools: consentTools(t, "."), found: found{ID: "some/model"}}
	for _, c := range []struct{ typed, want, offers string }{
		{"/mo\t", "/model", "/model /models"},
		{"/he\t", "/help ", ""},
		{"/nothing\t", "/nothing", ""},
		{"/model sim/off\t", "/model sim/offline ", ""},
		{"/model gpt-4o-m\t", "/model gpt-4o-mini ", ""},
		{"/tools re\t", "/tools revoke ", ""},
		{"/save no\t", "/save note", "note.txt notes/"},
		{"look at notes/\t", "look at notes/", "notes/apples.md notes/pears.md"},
		{"look at notes/a\t", "look at notes/apples.md ", ""},
		{"use read_\t", "use read_file ", ""},
		{"look \t", "look ", ""},
		{"x .hi\t", "x .hidden ", ""},
		{"/mo\tx", "/modelx", ""},
	} {
		m := newChatModel(t.Context(), w, cli.Palette{}, false)
		m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
		typed(m, c.typed)
		if got := m.input.Value(); got != c.want || strings.Join(m.offers, " ") != c.offers {
			t.Errorf("%q becomes %q with %q", c.typed, got, m.offers)
		}
	}
}

// Lines entered during a turn wait for its end, in order. After a failure they return to the input. During a question
// nothing is sent, and queued lines do not answer it.
func TestQueue(t *testing.T) {
	bare(t, nil)
	c := newTestChat(t)
	c.stop = func() {}
	typed(c, "one\n/tools\n")
	if len(c.queue) != 1 || c.input.Value() != "" || !strings.Contains(c.View().Content, "⋯ one") {
		t.Errorf("%q waits, %q is typed\n%s", c.queue, c.input.Value(), c.View().Content)
	}
	q := &asking{consent(cli.Palette{}, asksFor(t, t.TempDir(), "run_command", `{"program":"ls"}`), "you leave"), make(chan struct{})}
	c.Update(q)
	typed(c, "yes\n")
	if q.word != "" || len(c.queue) != 1 {
		t.Errorf("the question has the answer %q, %q waits", q.word, c.queue)
	}
	c.Update(turnOver{err: errors.New("broken")})
	if len(c.queue) != 0 || !strings.HasPrefix(c.input.Value(), "one\n") {
		t.Errorf("%q waits, %q is typed", c.queue, c.input.Value())
	}
	c = newTestChat(t)
	c.stop = func() {}
	typed(c, "/help\n/clear\n/quit\n")
	if strings.Join(c.queue, " ") != "/clear /quit" {
		t.Errorf("%q waits", c.queue)
	}
	_, cmd := c.Update(turnOver{done: agent.Done{Run: "r"}})
	if len(c.queue) != 0 || cmd == nil || len(c.messages) != 0 {
		t.Errorf("%q waits", c.queue)
	}
}

// /save writes the conversation to a new file that only the user can read.
func TestSave(t *testing.T) {
	bare(t, map[string]string{"there.md": "old"})
	c := newTestChat(t)
	c.whole = []llm.Message{llm.User("Weather?"), {Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: "Let me look."}, llm.Call{Name: "weather", Args: []byte(`{"city":"Rome"}`)}}},
		llm.Results(llm.Result{CallID: "1", Parts: []llm.Part{llm.Text{Text: "sunny"}}}), {Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: "Sunny."}}}}
	typed(c, "/save talk.md\n")
	text, err := os.ReadFile("talk.md")
	want := "# A conversation with some/model\n\n## You\n\nWeather?\n\n## Model\n\nLet me look.\n\n> called weather {\"city\":\"Rome\"}\n\nSunny.\n"
	if err != nil || string(text) != want {
		t.Errorf("%v\n%s", err, text)
	}
	if info, err := os.Stat("talk.md"); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	typed(c, "/save there.md\n/save\n/save no/such/folder.md\n")
	if text, _ := os.ReadFile("there.md"); string(text) != "old" || !strings.Contains(c.View().Content, "there.md is there already") {
		t.Errorf("%s\n%s", text, c.View().Content)
	}
}

// An earlier conversation is shown, and an open turn is continued.
func TestChatTakesUp(t *testing.T) {
	bare(t, nil)
	c := newTestChat(t)
	c.takeUp(earlier{run: "r", messages: []llm.Message{llm.User("Hello?"), {Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: "Hi **there**."}}}}})
	c.Update(ticked{})
	for _, want := range []string{"› Hello?", "Hi **there**.", "goes on with it"} {
		if !strings.Contains(c.View().Content, want) {
			t.Errorf("%q is not on the screen\n%s", want, c.View().Content)
		}
	}
	if c.open != "r" || c.parent != "r" || len(c.messages) != 2 || len(c.runs) != 0 {
		t.Errorf("%+v", c.open)
	}
	typed(c, "/clear\n")
	if c.open != "" || c.parent != "" || len(c.messages) != 0 || strings.Contains(c.View().Content, "Hello") {
		t.Errorf("/clear leaves\n%s", c.View().Content)
	}
}
