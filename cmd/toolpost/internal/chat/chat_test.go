package chat

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/ask"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/openmodel"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/session"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/invoke"
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
	w := &session.Session{Settings: &settings.Settings{ToolOptions: settings.ToolOptions{Root: "."}}, ToolSet: tool.MustSet(), Found: openmodel.Choice{ID: "some/model"}}
	c := newModel(t.Context(), w, cli.Palette{}, false)
	c.send = func(tea.Msg) {}
	c.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	return c
}

// Tab completes commands, their arguments, tools and files. Candidates are shown until the next key.
func TestTabCompletes(t *testing.T) {
	clitest.Bare(t, map[string]string{"notes/apples.md": "", "notes/pears.md": "", ".hidden": "", "note.txt": ""})
	w := &session.Session{Settings: &settings.Settings{ToolOptions: settings.ToolOptions{Root: "."}}, ToolSet: clitest.ConsentTools(t, "."), Found: openmodel.Choice{ID: "some/model"}}
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
		m := newModel(t.Context(), w, cli.Palette{}, false)
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
	clitest.Bare(t, nil)
	c := newTestChat(t)
	c.stop = func() {}
	typed(c, "one\n/tools\n")
	if len(c.queue) != 1 || c.input.Value() != "" || !strings.Contains(c.View().Content, "⋯ one") {
		t.Errorf("%q waits, %q is typed\n%s", c.queue, c.input.Value(), c.View().Content)
	}
	q := &asking{ask.Consent(cli.Palette{}, ask.Propose(t.Context(), clitest.ConsentTools(t, t.TempDir()), invoke.Question{CallID: "c", Tool: "run_command", Args: []byte(`{"program":"ls"}`)}), "you leave"), "c", make(chan struct{})}
	c.Update(q)
	typed(c, "yes\n")
	if q.Word != "" || len(c.queue) != 1 {
		t.Errorf("the question has the answer %q, %q waits", q.Word, c.queue)
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

// A draft stays visible during a question, keeps the keys until it is sent or Tab is pressed, and is there afterwards.
func TestDraftsDoNotAnswerQuestions(t *testing.T) {
	clitest.Bare(t, nil)
	was := ask.Settle
	ask.Settle = 5 * time.Millisecond
	t.Cleanup(func() { ask.Settle = was })
	asked := func(draft string) (*chat, *asking) {
		c := newTestChat(t)
		c.stop = func() {}
		typed(c, draft)
		q := &asking{ask.Consent(cli.Palette{}, ask.Propose(t.Context(), clitest.ConsentTools(t, t.TempDir()), invoke.Question{CallID: "c", Tool: "run_command", Args: []byte(`{"program":"ls"}`)}), "you leave"), "c", make(chan struct{})}
		c.Update(q)
		time.Sleep(4 * ask.Settle)
		c.Update(ask.Ticked{})
		return c, q
	}
	for _, draft := range []string{"do it, ", "why not ", "x", "y", "a", "/he"} {
		c, q := asked(draft)
		if !strings.Contains(c.View().Content, "› "+strings.TrimSpace(draft)) || !strings.Contains(c.View().Content, "Tab brings them here") {
			t.Errorf("%q is not on the screen:\n%s", draft, c.View().Content)
		}
		typed(c, "y")
		if c.Update(tea.PasteMsg{Content: "es"}); q.Word != "" || c.input.Value() != draft+"yes" {
			t.Errorf("%q: the question has the answer %q, the draft is %q", draft, q.Word, c.input.Value())
		}
		typed(c, "\t")
		time.Sleep(4 * ask.Settle)
		typed(c, "y")
		time.Sleep(ask.Settle)
		if typed(c, "\n"); q.Word != "yes" || c.input.Value() != draft+"yes" || c.ask != nil || !strings.Contains(c.View().Content, "› "+strings.TrimSpace(draft+"yes")) {
			t.Errorf("%q: after Tab y answers %q, the draft is %q\n%s", draft, q.Word, c.input.Value(), c.View().Content)
		}
	}
	c, q := asked("why not ")
	if typed(c, "y\ny\n"); q.Word != "" || strings.Join(c.queue, "|") != "why not y" || c.input.Value() != "" {
		t.Errorf("the question has the answer %q, %q waits, %q is typed", q.Word, c.queue, c.input.Value())
	}
	if !strings.Contains(c.View().Content, "⋯ why not y") {
		t.Errorf("what is sent later is not on the screen:\n%s", c.View().Content)
	}
	time.Sleep(4 * ask.Settle)
	typed(c, "n")
	time.Sleep(ask.Settle)
	if typed(c, "\n"); q.Word != "no" || len(c.queue) != 1 {
		t.Errorf("the question has the answer %q, %q waits", q.Word, c.queue)
	}
	c, q = asked("draft")
	if c.Update(tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}); q.Word != ask.Interrupted || c.ask != nil || c.input.Value() != "draft" {
		t.Errorf("Ctrl-C: %q, the draft is %q", q.Word, c.input.Value())
	}
}

// /save writes the conversation to a new file that only the user can read.
func TestSave(t *testing.T) {
	clitest.Bare(t, map[string]string{"there.md": "old"})
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
	clitest.Bare(t, nil)
	c := newTestChat(t)
	c.takeUp(session.Earlier{Run: "r", Messages: []llm.Message{llm.User("Hello?"), {Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: "Hi **there**."}}}}})
	c.Update(ask.Ticked{})
	for _, want := range []string{"› Hello?", "Hi **there**.", "your next message continues it"} {
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

// TestChatBudget: the turns of a chat share one budget. An exhausted budget is reported before a request.
func TestChatBudget(t *testing.T) {
	clitest.Bare(t, nil)
	c := newTestChat(t)
	c.w.Budgeted = catalog.Dollar
	c.stop = func() {}
	c.Update(turnOver{done: agent.Done{Run: "r", Cost: catalog.Dollar}})
	c.Update(ask.Ticked{})
	typed(c, "Hello?\n")
	if c.stop != nil || !strings.Contains(c.View().Content, "the budget of $1.00 is used up: this conversation cost $1.00") {
		t.Errorf("a turn is under way: %v\n%s", c.stop != nil, c.View().Content)
	}
}

// TestGrown: messages replaced by a summary are still saved.
func TestGrown(t *testing.T) {
	whole := []llm.Message{llm.User("one"), llm.Assistant(llm.Text{Text: "1"}), llm.User("two"), llm.Assistant(llm.Text{Text: "2"})}
	shown := []llm.Message{llm.User("one"), llm.Assistant(llm.Text{Text: "[Summary]"}), llm.User("three"), llm.Assistant(llm.Text{Text: "3"})}
	got := grown(whole, shown, &shown[2])
	if len(got) != 6 || got[3].Text() != "2" || got[5].Text() != "3" {
		t.Errorf("%v", got)
	}
	if got := grown(nil, shown, nil); len(got) != len(shown) {
		t.Errorf("%v", got)
	}
}

// TestQuestionPrecedesItsCall: an answered question is above the line of its call, because the call ran after the answer.
func TestQuestionPrecedesItsCall(t *testing.T) {
	was := ask.Settle
	t.Cleanup(func() { ask.Settle = was })
	ask.Settle = 0
	clitest.Bare(t, nil)
	c := newTestChat(t)
	c.stop = func() {}
	tools := clitest.ConsentTools(t, t.TempDir())
	for _, id := range []string{"one", "two"} {
		c.log.Event(llm.Call{ID: id, Name: "run_command", Args: []byte(`{"program":"echo","args":["` + id + `"]}`)})
	}
	for _, id := range []string{"two", "one"} {
		p := ask.Propose(t.Context(), tools, invoke.Question{CallID: id, Tool: "run_command", Args: []byte(`{"program":"echo","args":["` + id + `"]}`)})
		c.Update(&asking{ask.Consent(cli.Palette{}, p, "you leave"), id, make(chan struct{})})
		typed(c, map[string]string{"one": "y\n", "two": "n\n"}[id])
		c.log.Event(invoke.Outcome{Call: llm.Call{ID: id}, Result: llm.Result{Parts: []llm.Part{llm.Text{Text: "done " + id}}}})
	}
	c.Update(ask.Ticked{})
	got := c.View().Content
	for _, want := range []string{"$ echo one\n", "→ allowed this once\n✓ run_command", "done one\n", "$ echo two\n", "→ refused\n✓ run_command", "done two\n"} {
		_, rest, found := strings.Cut(got, want)
		if !found {
			t.Fatalf("no %q, or not in this order, in\n%s", want, c.View().Content)
		}
		got = rest
	}
}

// TestToolsInColumns: /tools lists name, policy and description in columns.
func TestToolsInColumns(t *testing.T) {
	clitest.Bare(t, nil)
	c := newTestChat(t)
	c.w.ToolSet = clitest.ConsentTools(t, t.TempDir())
	typed(c, "/tools\n")
	c.Update(ask.Ticked{})
	shown := c.View().Content
	for _, want := range []string{"read_file     allowed     Read ", "run_command   asks first  Run ", "\nfile tools see files below this folder"} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in\n%s", want, shown)
		}
	}
}
