package ask

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/tool"
)

// keyboard simulates a person at a question, with a clock.
type keyboard struct {
	t    *testing.T
	q    *Question
	at   time.Time
	pace time.Duration // between two keys
}

// newKeyboard shows the question about a call, and waits until keys count.
func newKeyboard(t *testing.T, p *Proposal) *keyboard {
	return typingAt(t, Consent(cli.Palette{}, p, "the end"))
}

func typingAt(t *testing.T, q *Question) *keyboard {
	t.Helper()
	k := &keyboard{t: t, q: q, at: time.Unix(1e9, 0), pace: 150 * time.Millisecond}
	was := now
	t.Cleanup(func() { now = was })
	now = func() time.Time { return k.at }
	k.q.Resize(80, 20)
	k.wait(Settle)
	return k
}

func (k *keyboard) wait(d time.Duration) { k.at = k.at.Add(d) }

func (k *keyboard) send(m tea.KeyPressMsg) {
	if k.q.Word == "" {
		k.wait(k.pace)
		k.q.Press(m)
		k.q.Draw()
	}
}

func (k *keyboard) press(names ...string) {
	for _, name := range names {
		k.send(pressing(name))
	}
}

func (k *keyboard) confirm(name string) { k.press(name, "enter") }

// text types a text. A newline presses Enter.
func (k *keyboard) text(s string) {
	for _, r := range s {
		switch r {
		case '\n':
			k.press("enter")
		case ' ':
			k.press("space")
		default:
			k.press(string(r))
		}
	}
}

// allows reports whether the question allowed something.
func (k *keyboard) allows() bool { return k.q.Word == "yes" || k.q.Word == always || k.q.grant != nil }

func aCall(t *testing.T) *Proposal {
	return asksFor(t, t.TempDir(), "run_command", `{"program":"ls","args":["-l"]}`)
}

// sentences are things that people type at a question, in ten languages and more. None of them allows anything.
var sentences = []string{
	"why is this needed?", "what? 4 times already", "yes, but", "yes, but only once", "you are sure?", "always the same", "y not", "yes please", "yes!", "any reason?", "i said no", "1 more time?", "yyy",
	"año nuevo, ¿por qué?", "sí, pero no ahora", "ya basta", "y después?", "adónde va esto?",
	"pourquoi faire ça ?", "oui mais attends", "y a-t-il une autre façon ?", "arrête", "ah non",
	"warum denn das?", "ja, aber nicht so", "alles klar?", "ach was", "you spinnst wohl",
	"perché serve?", "sì ma dopo", "aspetta", "allora no",
	"por que é necessário?", "sim, mas", "ainda não",
	"зачем это нужно?", "да, но не сейчас", "а почему?", "у меня вопрос",
	"为什么需要这个?", "是的，但是", "一定要吗",
	"なぜ必要ですか？", "はい、でも", "あとで",
	"왜 필요해요?", "네, 하지만", "아니요",
	"لماذا هذا ضروري؟", "نعم، ولكن", "آه لا",
	"यह क्यों चाहिए?", "हाँ, लेकिन", "अभी नहीं",
	"neden gerekli?", "evet ama", "yani ne?", "dlaczego?", "ale po co", "yalla", "wait", "stop", "n!", "no no no", "nope", "e", "?", "...", "\\", "/quit", "/help", "git status", "ls -la && y", "YES", "Yes", "ｙ", "у", "γ", "ÿ", "ý", "y̲", "1", "2", "4",
}

// TestSentencesAllowNothing: whatever a person types, at any pace, followed by Enter, does not allow a call unless it is
// the key of a choice alone. A sentence refuses, and the model gets it as the reason.
func TestSentencesAllowNothing(t *testing.T) {
	p := aCall(t)
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	for _, s := range sentences {
		for _, pace := range []time.Duration{0, 5 * time.Millisecond, 60 * time.Millisecond, 150 * time.Millisecond, time.Second, 5 * time.Second} {
			attacks++
			k := newKeyboard(t, p)
			k.pace = pace
			k.text(s + "\n")
			if k.allows() {
				t.Errorf("%q at %v allows", s, pace)
			}
			k.pace = 200 * time.Millisecond
			k.press("enter", "enter") // the person presses Enter again
			if k.allows() {
				t.Errorf("%q at %v, and Enter again, allows", s, pace)
			}
			if strings.Contains(s, " ") && (k.q.Word != "no" || k.q.reason != s) {
				t.Errorf("%q at %v: %q, reason %q", s, pace, k.q.Word, k.q.reason)
			}
		}
	}
}

// TestPastesAllowNothing: a paste is a reason or nothing, with and without the brackets that terminals send, and in one
// burst. A line break in it confirms nothing.
func TestPastesAllowNothing(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	p := aCall(t)
	for _, s := range []string{"y\n", "\ny\n", "yes\n", "a", "a\n4\n", "a\n4\neverything\n", "a\n1\n", "a\n\n", "i\ny\n", "y\ny\ny\n", "\ty\n", "y\t\n", "please do\ny\n", "everything\n", "1\n", "y\r\n", "\x1b[200~y\n", "git commit -am 'x'\ny\n", strings.Repeat("y\n", 500)} {
		for _, after := range []string{"", "y", "\n"} {
			attacks += 2
			k := newKeyboard(t, p)
			k.q.Paste(tea.PasteMsg{Content: s})
			k.press("enter")
			k.text(after + "\n")
			if k.allows() {
				t.Errorf("the paste %.20q and %q allow", s, after)
			}
			k = newKeyboard(t, p) // a terminal without bracketed paste
			k.pace = time.Millisecond
			k.text(s)
			k.pace = 150 * time.Millisecond
			if k.text("\n"); k.allows() {
				t.Errorf("the burst %.20q allows", s)
			}
		}
	}
}

// TestOtherKeysAllowNothing: function keys, modifiers and every printable key before Enter allow nothing, except the keys
// that the question names.
func TestOtherKeysAllowNothing(t *testing.T) {
	p := aCall(t)
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	var keys []tea.KeyPressMsg
	for r := rune(0x21); r < 0x250; r++ {
		keys = append(keys, tea.KeyPressMsg{Code: r, Text: string(r)})
	}
	for code := tea.KeyUp; code <= tea.KeyF20; code++ {
		keys = append(keys, tea.KeyPressMsg{Code: code})
	}
	for _, r := range "yania14e" {
		for _, mod := range []tea.KeyMod{tea.ModAlt, tea.ModCtrl, tea.ModMeta, tea.ModSuper, tea.ModHyper} {
			keys = append(keys, tea.KeyPressMsg{Code: r, Text: string(r), Mod: mod}, tea.KeyPressMsg{Code: r, Mod: mod})
		}
	}
	selects := map[string]bool{"left": true, "right": true, "tab": true, "enter": true, "y": true, "Y": true, "shift+y": true}
	for _, m := range keys {
		if selects[m.String()] {
			continue
		}
		attacks++
		k := newKeyboard(t, p)
		k.send(m)
		if k.press("enter"); k.allows() {
			t.Errorf("%s, then Enter, allows", m)
		}
		k = newKeyboard(t, p)
		k.press("y")
		if k.send(m); k.allows() {
			t.Errorf("y, then %s, allows", m)
		}
	}
}

// TestTypingWhileTheScreenChanges: resizing, suspending and scrolling during a sentence allow nothing, and a sentence that
// began before the question appeared does not answer it.
func TestTypingWhileTheScreenChanges(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	random := rand.New(rand.NewPCG(1, 2))
	calls := []*Proposal{asksFor(t, t.TempDir(), "write_file", fmt.Sprintf(`{"path":"a","content":%q}`, strings.Repeat("line\n", 60))), aCall(t)}
	for i, s := range sentences {
		for range 10 {
			attacks++
			k := newKeyboard(t, calls[i%2])
			if random.IntN(2) == 0 { // the question appeared while the person was typing
				k.wait(-Settle + 1)
			}
			for _, r := range s + "\n" {
				switch random.IntN(6) {
				case 0:
					k.q.Resize(20+random.IntN(120), 5+random.IntN(40))
				case 1:
					k.q.Rest()
				case 2:
					k.send(tea.KeyPressMsg{Code: tea.KeyPgDown})
				}
				k.pace = time.Duration(random.IntN(1500)) * time.Millisecond
				k.text(string(r))
			}
			if k.allows() {
				t.Errorf("%q allows: %s", s, k.q.Word)
			}
		}
	}
}

// TestChoices: each choice needs Enter. Arrows select a choice too.
func TestChoices(t *testing.T) {
	left, right, down := tea.KeyPressMsg{Code: tea.KeyLeft}, tea.KeyPressMsg{Code: tea.KeyRight}, tea.KeyPressMsg{Code: tea.KeyDown}
	p := aCall(t)
	esc, back := tea.KeyPressMsg{Code: tea.KeyEscape}, tea.KeyPressMsg{Code: tea.KeyBackspace}
	for _, c := range []struct {
		keys         []any
		word, reason string
		scope        scope
	}{
		{[]any{"y"}, "", "", 0},
		{[]any{"y", "enter"}, "yes", "", 0},
		{[]any{"Y", "enter"}, "yes", "", 0},
		{[]any{"y", "e", back, "enter"}, "yes", "", 0},
		{[]any{"y", esc, "enter"}, "", "", 0},
		{[]any{"n", "enter"}, "no", "", 0},
		{[]any{"n", "o", "enter"}, "no", "", 0},
		{[]any{"enter"}, "", "", 0},
		{[]any{right, "enter"}, "yes", "", 0},
		{[]any{right, right, "enter"}, "no", "", 0},
		{[]any{right, right, left, "enter"}, "yes", "", 0},
		{[]any{right, "x", "enter"}, "no", "x", 0},
		{[]any{right, "x", back, "enter"}, "", "", 0},
		{[]any{"y", "e", "s", "enter"}, "", "", 0},
		{[]any{"i", "enter", "l", "s", "enter"}, "no", "do this instead: ls", 0},
		{[]any{"i", "enter", "y", "enter"}, "no", "do this instead: y", 0},
		{[]any{"i", "enter", "enter", esc, "y", "enter"}, "yes", "", 0},
		{[]any{"a", "enter", "enter"}, "", "", 0},
		{[]any{"a", "enter", "1", "enter"}, always, "", thisCall},
		{[]any{"a", "enter", down, "enter"}, always, "", thisCall},
		{[]any{"a", "enter", "2", "enter"}, always, "", thisProgram},
		{[]any{"a", "enter", "9", "enter"}, "no", "9", 0},
		{[]any{"a", "enter", "4", "enter"}, "", "", 0},
		{[]any{"a", "enter", "4", "enter", "enter", "y", "enter"}, "no", "y", 0},
		{[]any{"a", "enter", "4", "enter", "e", "v", "e", "r", "y", "enter"}, "", "", 0},
		{[]any{"a", "enter", "4", "enter", "e", "v", "e", "r", "y", "t", "h", "i", "n", "g", "enter"}, always, "", Anything},
		{[]any{"a", "enter", "4", "enter", right, "enter"}, "", "", 0},
		{[]any{"a", "enter", "4", "enter", esc, "1", "enter"}, always, "", thisCall},
		{[]any{"a", "enter", esc, "y", "enter"}, "yes", "", 0},
	} {
		k := newKeyboard(t, p)
		for _, key := range c.keys {
			switch key := key.(type) {
			case string:
				k.press(key)
			case tea.KeyPressMsg:
				k.send(key)
			}
		}
		if k.q.Word != c.word || k.q.reason != c.reason || (c.word == always) != (k.q.grant != nil) || k.q.grant != nil && k.q.grant.Scope != c.scope {
			t.Errorf("%v: %q, reason %q, %v", c.keys, k.q.Word, k.q.reason, k.q.grant)
		}
	}
}

// TestReasonsReachTheModel: the reason of a refusal is in the answer that the runtime gives the model.
func TestReasonsReachTheModel(t *testing.T) {
	p := aCall(t)
	for _, typed := range []string{"why is this needed?\n", "i\nlist the files of docs\n"} {
		k := newKeyboard(t, p)
		k.text(typed)
		got, err := (&Approver{Tools: tool.MustSet(), Put: answeredWith(k.q)}).Approve(t.Context(), invoke.Question{CallID: "c", Tool: "x", Args: json.RawMessage(`{}`)})
		want := strings.TrimSuffix(strings.Replace(typed, "i\n", "do this instead: ", 1), "\n")
		if err != nil || got.Allowed || got.Reason != want {
			t.Errorf("%q: %+v, %v", typed, got, err)
		}
	}
}

// TestFailuresNeedEnter: a checkpoint is decided by a key and Enter, and a sentence decides nothing.
func TestFailuresNeedEnter(t *testing.T) {
	ask := func() *keyboard {
		return typingAt(t, Failure(cli.Palette{}, agent.Checkpoint{Cause: agent.ToolFailed, Error: tool.Errorf(tool.NotFound, "no"), Options: []agent.Action{agent.Retry, agent.Skip, agent.Manual, agent.Abort}}, "the run"))
	}
	for _, s := range sentences {
		k := ask()
		if k.text(s + "\n"); k.q.Word != "" {
			t.Errorf("%q decides %s", s, k.q.Word)
		}
	}
	k := ask()
	k.confirm("r")
	m := ask()
	m.text("m\nit is 7\n")
	if k.q.Choice().Action != agent.Retry || m.q.Choice().Action != agent.Manual || m.q.Choice().Text != "it is 7" {
		t.Errorf("%+v, %+v", k.q.Choice(), m.q.Choice())
	}
}

func answeredWith(q *Question) func(context.Context, *Proposal) (*Question, error) {
	return func(context.Context, *Proposal) (*Question, error) { return q, nil }
}

// TestHintsSayWhatEnterDoes: the line below the input names the effect of Enter, and Enter has that effect.
func TestHintsSayWhatEnterDoes(t *testing.T) {
	p := aCall(t)
	call := func() *Question { return Consent(cli.Palette{}, p, "the end") }
	failure := func(cause agent.Cause) func() *Question {
		return func() *Question {
			return Failure(cli.Palette{}, agent.Checkpoint{Cause: cause, Error: tool.Errorf(tool.NotFound, "no"), Options: []agent.Action{agent.Retry, agent.Manual, agent.Abort}}, "this turn")
		}
	}
	const notAChoice = "not a choice: Enter clears this; a choice is its key, then Enter"
	for _, c := range []struct {
		name, typed string
		q           func() *Question
		want        []string
		word        string // after Enter
	}{
		{"nothing", "", call, []string{"other text refuses"}, ""},
		{"a key", "y", call, []string{"Enter: once"}, "yes"},
		{"a word", "yes", call, []string{"› yes", notAChoice}, ""},
		{"its beginning", "alw", call, []string{"› alw", notAChoice}, ""},
		{"no", "no", call, []string{"› no", "Enter: no"}, "no"},
		{"a sentence", "yesterday", call, []string{"no, because: yesterday", "Enter refuses"}, "no"},
		{"a word instead of a number", "a\nyes", call, []string{"› yes", notAChoice}, ""},
		{"a word at a failure", "retry", failure(agent.ModelFailed), []string{"› retry", notAChoice}, ""},
		{"abort", "", failure(agent.ModelFailed), []string{"[a]bort end this turn", "type a hint for the model"}, ""},
		{"a hint", "m\nuse less", failure(agent.ModelFailed), []string{"Enter gives this as a hint for the model, Esc goes back"}, "manual"},
		{"a result", "m\n7", failure(agent.ToolFailed), []string{"Enter gives this as the result, Esc goes back"}, "manual"},
	} {
		k := typingAt(t, c.q())
		k.text(c.typed)
		k.wait(time.Second)
		shown := k.q.Draw()
		for _, want := range c.want {
			if !strings.Contains(shown, want) {
				t.Errorf("%s: no %q in\n%s", c.name, want, shown)
			}
		}
		if k.press("enter"); k.q.Word != c.word {
			t.Errorf("%s: Enter answers %q", c.name, k.q.Word)
		}
	}
}

// TestKeyAndEnterAtOnce: a key whose Enter arrives in the same moment, as over a slow connection, is taken as pasted text.
// The question reports that, and Esc leads back to the choices.
func TestKeyAndEnterAtOnce(t *testing.T) {
	failure := Failure(cli.Palette{}, agent.Checkpoint{Cause: agent.ModelFailed, Error: tool.Errorf(tool.NotFound, "no"), Options: []agent.Action{agent.Retry, agent.Abort}}, "the run")
	for _, c := range []struct {
		before, key string
		q           *Question
		hint, word  string
	}{
		{"", "y", nil, "taken as pasted text: Esc, then the key; Enter refuses for this reason", "yes"},
		{"a\n", "1", nil, "taken as pasted text: Esc, then the key; Enter refuses for this reason", always},
		{"", "r", failure, "taken as pasted text: Esc, then the key, then Enter", "retry"},
	} {
		if c.q == nil {
			c.q = Consent(cli.Palette{}, aCall(t), "the end")
		}
		k := typingAt(t, c.q)
		k.text(c.before + c.key)
		k.pace = time.Millisecond
		k.text("\n")
		k.pace = 150 * time.Millisecond
		k.wait(time.Second)
		if shown := k.q.Draw(); k.q.Word != "" || !strings.Contains(shown, c.hint) {
			t.Errorf("%s: %q, no %q in\n%s", c.key, k.q.Word, c.hint, shown)
		}
		k.send(tea.KeyPressMsg{Code: tea.KeyEscape})
		if k.confirm(c.key); k.q.Word != c.word {
			t.Errorf("%s after Esc: %q", c.key, k.q.Word)
		}
	}
}

// aLongCall is a call whose text does not fit on the screen.
func aLongCall(t *testing.T) *Proposal {
	return asksFor(t, t.TempDir(), "write_file", fmt.Sprintf(`{"path":"a","content":%q}`, strings.Repeat("line\n", 60)))
}

// TestSpaceIsASpaceInALine: while the end of a text is not visible, Space continues the line. A sentence that begins with
// the key of a choice stays whole, and its last word does not allow the call.
func TestSpaceIsASpaceInALine(t *testing.T) {
	p := aLongCall(t)
	for _, s := range []string{"y y", "a y", "y después", "a ver", "i y", "n y", "y a", "e y", "y  y", "y y y y y"} {
		k := newKeyboard(t, p)
		k.text(s + "\n")
		if k.allows() || k.q.Word != "no" || k.q.reason != s {
			t.Errorf("%q: %q, reason %q", s, k.q.Word, k.q.reason)
		}
	}
}

// TestChoicesBeforeTheEndOfTheText: a key or a mark from before the end of the text was visible chooses nothing, even when
// the end is visible at Enter.
func TestChoicesBeforeTheEndOfTheText(t *testing.T) {
	pages := func(k *keyboard) {
		for range 10 {
			k.send(tea.KeyPressMsg{Code: tea.KeyPgDown})
		}
	}
	for _, c := range []struct {
		name string
		show func(*keyboard)
	}{{"scrolled", pages}, {"resized", func(k *keyboard) { k.q.Resize(80, 200) }}} {
		for _, key := range []tea.KeyPressMsg{pressing("y"), pressing("a"), {Code: tea.KeyRight}, {Code: tea.KeyTab}, {Code: tea.KeyLeft}} {
			k := newKeyboard(t, aLongCall(t))
			k.send(key)
			c.show(k)
			if !k.q.whole() {
				t.Fatal("the end is not visible")
			}
			if k.press("enter"); k.q.Word != "" || k.q.stage != choosing {
				t.Errorf("%s: %s from before answers %q", c.name, key, k.q.Word)
			}
			k.send(tea.KeyPressMsg{Code: tea.KeyEscape})
			if k.confirm("y"); k.q.Word != "yes" {
				t.Errorf("%s: after %s, y answers %q", c.name, key, k.q.Word)
			}
		}
	}
}

// TestPastesInASlowProgram: a paste without brackets answers nothing, however slowly its keys are handled.
func TestPastesInASlowProgram(t *testing.T) {
	p := aCall(t)
	for _, s := range []string{"y\r", "y\n", "\ry\r", "y\r\ny\r\n", "why\r", "one\rtwo\ry\r", "a\r4\reverything\r", "a\r1\r", "\r\r\ry\r", "i\ry\r", "n\r", "\t\r"} {
		for _, pace := range []time.Duration{time.Millisecond, 60 * time.Millisecond, 400 * time.Millisecond, 3 * time.Second} {
			q := Consent(cli.Palette{}, p, "the end")
			q.Keys = new(Keys)
			q.Keys.count([]byte("a task\r")) // before the question
			k := typingAt(t, q)
			k.q.Keys.count([]byte(s))
			k.pace = pace
			for _, r := range strings.ReplaceAll(s, "\r\n", "\n") {
				switch r {
				case '\r', '\n':
					k.press("enter")
				case '\t':
					k.send(tea.KeyPressMsg{Code: tea.KeyTab})
				default:
					k.press(string(r))
				}
			}
			if k.q.Word != "" {
				t.Errorf("%q at %v answers %q, reason %q", s, pace, k.q.Word, k.q.reason)
				continue
			}
			k.pace = 150 * time.Millisecond
			k.q.Keys.count([]byte("\r"))
			if k.press("enter"); k.allows() {
				t.Errorf("%q at %v and Enter allow", s, pace)
			}
			if k.q.Word != "" {
				continue
			}
			k.send(tea.KeyPressMsg{Code: tea.KeyEscape})
			k.send(tea.KeyPressMsg{Code: tea.KeyEscape})
			k.q.Keys.count([]byte("y"))
			k.q.Keys.count([]byte("\r"))
			if k.confirm("y"); k.q.Word != "yes" {
				t.Errorf("%q at %v: y and Enter after it answer %q", s, pace, k.q.Word)
			}
		}
	}
}

// TestKeyboardsOfAnAttacker: 2,000 keyboards that paste, type sentences and change the screen in any order and at any pace.
// None of them presses the key of a choice alone and then Enter, so none of them allows anything.
func TestKeyboardsOfAnAttacker(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 8))
	pastes := []string{"y\r", "\ry", "\r\ry", "yes\r", "a\r1\r", "a\r4\reverything\r", "\ty", "y y", "yy", "1\r", "\r\n\r\n", "sudo apt install x\ry\r", "y\rn\ry", "i\ry\r", "ok y"}
	calls := []*Proposal{aLongCall(t), aCall(t)}
	for i := range 2000 {
		q := Consent(cli.Palette{}, calls[i%2], "the end")
		q.Keys = new(Keys)
		k := typingAt(t, q)
		var did []string
		for range 1 + random.IntN(8) {
			text, single := "", false
			switch random.IntN(6) {
			case 0:
				k.q.Resize(20+random.IntN(120), 5+random.IntN(60))
			case 1:
				k.send(tea.KeyPressMsg{Code: tea.KeyPgDown})
			case 2:
				k.q.Rest()
			case 3:
				text = sentences[random.IntN(len(sentences))] + " "
				single = true
			case 4:
				k.q.Paste(tea.PasteMsg{Content: pastes[random.IntN(len(pastes))]})
			default:
				text = pastes[random.IntN(len(pastes))]
			}
			did = append(did, text)
			if !single {
				k.q.Keys.count([]byte(text))
			}
			for _, c := range text {
				if single {
					k.q.Keys.count([]byte(string(c)))
				}
				k.pace = time.Duration(random.IntN(900)) * time.Millisecond
				switch c {
				case '\r', '\n':
					k.press("enter")
				case '\t':
					k.send(tea.KeyPressMsg{Code: tea.KeyTab})
				case ' ':
					k.press("space")
				default:
					k.press(string(c))
				}
			}
			if random.IntN(2) == 0 && text != "" { // the person sends what is on the line
				did = append(did, "Enter")
				k.pace = time.Second
				k.q.Keys.count([]byte("\r"))
				k.press("enter")
			}
			if k.allows() {
				t.Fatalf("keyboard %d: %q allow", i, did)
			}
		}
	}
}

// TestMarkKeepsTheBracket: the mark of the arrows is before the bracket of the key, and nothing else moves.
func TestMarkKeepsTheBracket(t *testing.T) {
	k := newKeyboard(t, aCall(t))
	for _, typed := range []string{"", "a\n"} {
		k.text(typed)
		plain := k.q.Draw()
		for i := range 3 {
			k.send(tea.KeyPressMsg{Code: tea.KeyRight})
			key := "▸[" + k.q.choices()[i].key + "]"
			if shown := k.q.Draw(); !strings.Contains(shown, key) || !strings.HasPrefix(plain, strings.ReplaceAll(shown[:strings.LastIndex(shown, "\n")], "▸", " ")) {
				t.Errorf("no %s, or more has changed:\n%s\nunmarked\n%s", key, shown, plain)
			}
		}
		k.send(tea.KeyPressMsg{Code: tea.KeyEscape})
	}
}

// TestAHeldKeyIsNoPaste: a slow program reads several presses of one key at once. The key that follows still chooses.
func TestAHeldKeyIsNoPaste(t *testing.T) {
	for text, want := range map[string]int64{" ": 0, "   ": 0, "yyy": 0, "éé": 0, "\x1b[6~": 0, " y": 1, "  y\r": 1, "no": 1, "yy\r": 1} {
		k := new(Keys)
		if k.count([]byte(text)); k.Texts() != want {
			t.Errorf("%q: %d texts", text, k.Texts())
		}
	}
}

// consentScreen is a call that a person is asked about.
type consentScreen struct{ tool, args string }

var consentScreens = []consentScreen{
	{"run_command", `{"program":"ls","args":["-l"]}`},
	{"run_command", `{"program":"sh","args":["-c","echo y"],"input":"y\ny\n"}`},
	{"write_file", `{"path":"docs/a.txt","content":"y\n"}`},
	{"write_file", `{"path":"a","content":"` + strings.Repeat(`line\n`, 60) + `"}`},
	{"fetch_url", `{"url":"https://a.example/yes"}`},
	{"other", `{"answer":"y","always":"1"}`},
	{"other", `["y"]`},
}

// consentKeyboards are what people do at a question without a decision to allow the call.
var consentKeyboards = map[string]func(k *keyboard){
	"a sentence":                 func(k *keyboard) { k.text("yes, but why?\n") },
	"a sentence, slowly":         func(k *keyboard) { k.pace = 2 * time.Second; k.text("y todo esto?\n") },
	"a burst":                    func(k *keyboard) { k.pace = 0; k.text("y\ny\ny\n") },
	"a paste":                    func(k *keyboard) { k.q.Paste(tea.PasteMsg{Content: "y\ny"}); k.press("enter") },
	"a paste after a key":        func(k *keyboard) { k.press("y"); k.q.Paste(tea.PasteMsg{Content: "\n"}); k.pace = 0; k.press("enter") },
	"function keys":              func(k *keyboard) { k.keys(tea.KeyF1, tea.KeyF5, tea.KeyF12, tea.KeyInsert, tea.KeyEnter) },
	"control keys":               func(k *keyboard) { k.q.Press(tea.KeyPressMsg{Code: 'y', Mod: tea.ModCtrl}); k.press("enter") },
	"a resize in between":        func(k *keyboard) { k.text("y des"); k.q.Resize(40, 8); k.text("pués\n") },
	"Ctrl-Z in between":          func(k *keyboard) { k.press("y"); k.q.Rest(); k.press("enter") },
	"Ctrl-Z before the sentence": func(k *keyboard) { k.q.Rest(); k.text("yes, go on\n") },
	"called back at once":        func(k *keyboard) { k.q.Return(); k.pace = 0; k.text("y\n") },
	"an old Enter":               func(k *keyboard) { k.wait(-Settle + 1); k.pace = 10 * time.Millisecond; k.text("y\n") },
	"scrolling":                  func(k *keyboard) { k.keys(tea.KeyPgDown, tea.KeyEnd, tea.KeyPgUp, tea.KeyHome, tea.KeyEnter) },
	"Enter again and again":      func(k *keyboard) { k.text("\n\n\n\n\n\n") },
	"always, then a sentence":    func(k *keyboard) { k.text("a\nyes to all of it\n") },
	"everything, half of it":     func(k *keyboard) { k.text("a\n4\ny\n") },
	"instead":                    func(k *keyboard) { k.text("i\ny\n") },
	"Esc, then a sentence":       func(k *keyboard) { k.keys(tea.KeyEscape); k.text("you may not\n") },
	"another script":             func(k *keyboard) { k.text("да, у меня вопрос\n") },
	"letters like the key":       func(k *keyboard) { k.text("у\nｙ\nγ\n") },
}

// keys presses keys that are not letters.
func (k *keyboard) keys(codes ...rune) {
	for _, code := range codes {
		k.send(tea.KeyPressMsg{Code: code})
	}
}

// TestConsentScreens: every keyboard at every screen, at three sizes. None allows anything. The key of a choice
// and Enter do, once the whole text was visible.
func TestConsentScreens(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	dir := t.TempDir()
	for _, s := range consentScreens {
		p := asksFor(t, dir, s.tool, s.args)
		for _, size := range [][2]int{{20, 6}, {80, 24}, {200, 100}} {
			for name, use := range consentKeyboards {
				attacks++
				k := newKeyboard(t, p)
				k.q.Resize(size[0], size[1])
				k.wait(Settle)
				use(k)
				if k.allows() {
					t.Errorf("%s %.40s at %v: %s allows %s", s.tool, s.args, size, name, k.q.Word)
				}
			}
			k := newKeyboard(t, p)
			k.q.Resize(size[0], size[1])
			k.wait(Settle)
			for range 100 {
				k.send(tea.KeyPressMsg{Code: tea.KeyPgDown})
			}
			if k.confirm("y"); k.q.Word != "yes" {
				t.Errorf("%s %.40s at %v: y and Enter answer %q", s.tool, s.args, size, k.q.Word)
			}
		}
	}
}
