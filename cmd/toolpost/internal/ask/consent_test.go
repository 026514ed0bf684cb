package ask

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/term"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/view"
	"github.com/toolpost/toolpost/internal/pinname"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
)

// asksFor returns a proposal for a call of a tool below dir.
func asksFor(t *testing.T, dir, name, args string) *Proposal {
	t.Helper()
	return Propose(t.Context(), clitest.ConsentTools(t, dir), invoke.Question{CallID: "c", Tool: name, Args: json.RawMessage(args), ParamsHash: journal.ParamsHash(json.RawMessage(args))})
}

// The full content of a call is on the screen, character by character, at every width, and in rows that begin with our
// mark.
func TestProposalsShowEverything(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	dir := t.TempDir()
	long := strings.Repeat("word ", 500) + "END"
	for _, c := range []struct{ name, args string }{
		{"run_command", fmt.Sprintf(`{"program":"sh","args":["-c",%q]}`, long)},
		{"run_command", fmt.Sprintf(`{"program":"sh","input":%q}`, long)},
		{"write_file", fmt.Sprintf(`{"path":"a.txt","content":%q}`, long)},
		{"fetch_url", fmt.Sprintf(`{"url":"https://a.example/%s"}`, strings.ReplaceAll(long, " ", ""))},
		{"other", fmt.Sprintf(`{"a":{"b":[%q]}}`, long)},
		{"other", fmt.Sprintf(`[%q]`, long)},
		{"other", fmt.Sprintf(`{"a":1,"a":%q}`, long)},
		{"write_file", fmt.Sprintf(`{"path":"../a.txt","content":%q}`, long)},
	} {
		p := asksFor(t, dir, c.name, c.args)
		for _, width := range []int{20, 80, 120} {
			attacks++
			rows := p.screen(cli.Palette{}, width)
			joined := ""
			for _, r := range rows {
				if n := len([]rune(r)); n >= width {
					t.Fatalf("%s at %d: a row of %d: %q", c.name, width, n, r)
				}
				joined += strings.TrimLeft(strings.TrimLeft(r, " ?$│+>!-"), " ")
			}
			flat := strings.ReplaceAll(joined, " ", "")
			if n := strings.Count(flat, "word"); n < 500 || !strings.Contains(flat, "END") {
				t.Errorf("%s %.40s at %d: %d of 500 words are shown", c.name, c.args, width, n)
			}
		}
	}
}

// Characters that a terminal would hide, execute or reorder are made visible.
func TestRevealed(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	for in, want := range map[string]string{
		"plain Ünïcode 漢字 🙂\nline": "plain Ünïcode 漢字 🙂\nline",
		"a\x1b[2Jb\rc":             "a␛[2Jb␍c",
		"a\u202eb\u2066c":          "a⟨U+202E⟩b⟨U+2066⟩c",
		"a\u200bb\u200dc\ufeffd":   "a⟨U+200B⟩b⟨U+200D⟩c⟨U+FEFF⟩d",
		"a\u00a0b\u3000c\u2028d":   "a⟨U+00A0⟩b⟨U+3000⟩c⟨U+2028⟩d",
		"a\u00adb\U000e0041c":      "a⟨U+00AD⟩b⟨U+E0041⟩c",
		"a\u3164b\u2800c\ufe0fd":   "a⟨U+3164⟩b⟨U+2800⟩c⟨U+FE0F⟩d",
		"a\u0085b\tc":              "a⟨U+0085⟩b⇥   c",
	} {
		attacks++
		if got := cli.Revealed(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"ls", "-la", "a/b.txt"}, "ls -la a/b.txt"},
		{[]string{"echo", "", "a b", "it's", "$HOME", "*"}, `echo '' 'a b' 'it'\''s' '$HOME' '*'`},
		{[]string{"echo", "a\nb\u202e'\\"}, `echo $'a\nb\u202e\'\\'`},
	} {
		if got := cli.ShellLine(c.words); got != c.want {
			t.Errorf("%q: %s, want %s", c.words, got, c.want)
		}
	}
}

func TestDifference(t *testing.T) {
	for _, c := range []struct{ why, before, after, want string }{
		{"a line changes", "a\nb\nc\n", "a\nB\nc\n", " a\n-b\n+B\n c"},
		{"new", "", "a\nb\n", "+a\n+b"},
		{"emptied", "a\n", "", "-a"},
		{"only the last newline", "a\n", "a", "-a\n+a ⟨no newline⟩"},
		{"the same", "a\n", "a\n", ""},
		{"far apart", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", "1\nX\n3\n4\n5\n6\n7\n8\n9\nY\n", " 1\n-2\n+X\n 3\n 4\n 5\n@line 7\n 7\n 8\n 9\n-10\n+Y"},
		{"moved", "a\nb\nc\n", "c\na\nb\n", "+c\n a\n b\n-c"},
	} {
		var got []string
		for _, line := range term.Difference(c.before, c.after) {
			got = append(got, string(line.Mark)+line.Text)
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%s:\n%s", c.why, strings.Join(got, "\n"))
		}
	}
	big := strings.Repeat("a\nb\n", 5000)
	if got := term.Difference(big, strings.ReplaceAll(big, "b", "c")); len(got) < 10000 {
		t.Errorf("two long texts: %d lines", len(got))
	}
}

// A permission covers exactly its scope.
func TestGrantsCover(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "docs"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../docs/x", filepath.Join(dir, "docs", "link")); err != nil {
		t.Skip(err)
	}
	given := map[string]*Proposal{
		"git status":   asksFor(t, dir, "run_command", `{"program":"git","args":["status"]}`),
		"git push":     asksFor(t, dir, "run_command", `{"program":"git","args":["push"]}`),
		"./git status": asksFor(t, dir, "run_command", `{"program":"./git","args":["status"]}`),
		"docs/a":       asksFor(t, dir, "write_file", `{"path":"docs/a","content":"x"}`),
		"docs/b/c":     asksFor(t, dir, "write_file", `{"path":"docs/b/c","content":"x"}`),
		"docs2/a":      asksFor(t, dir, "write_file", `{"path":"docs2/a","content":"x"}`),
		"a":            asksFor(t, dir, "write_file", `{"path":"a","content":"x"}`),
		"../a":         asksFor(t, dir, "write_file", `{"path":"../a","content":"x"}`),
		"other":        asksFor(t, dir, "other", `{}`),
	}
	for _, c := range []struct {
		of     string
		scope  scope
		covers string
	}{
		{"git status", thisCall, "git status"},
		{"git status", thisProgram, "git status, git push"},
		{"git status", ThisTool, "git status, git push, ./git status"},
		{"docs/a", thisCall, "docs/a"},
		{"docs/a", ThisFolder, "docs/a, docs/b/c"},
		{"a", ThisFolder, "docs/a, docs/b/c, docs2/a, a"},
		{"docs/a", ThisTool, "docs/a, docs/b/c, docs2/a, a, ../a"},
		{"other", Anything, "git status, git push, ./git status, docs/a, docs/b/c, docs2/a, a, ../a, other"},
	} {
		for _, g := range given[c.of].scopes() {
			if g.Scope != c.scope {
				continue
			}
			for name, p := range given {
				attacks++
				if want := strings.Contains(", "+c.covers+",", ", "+name+","); g.covers(p) != want {
					t.Errorf("%s (%s) covers %s: %v", g, c.of, name, !want)
				}
			}
		}
	}
	for _, p := range given {
		if first := p.scopes()[0]; first.Scope != thisCall {
			t.Errorf("%s: the first is %s", p.Tool, first)
		}
	}
}

// pressing returns the press of a key, by its character or by "space" and "enter".
func pressing(name string) tea.KeyPressMsg {
	switch name {
	case "space":
		return tea.KeyPressMsg{Code: tea.KeySpace, Text: " "}
	case "enter":
		return tea.KeyPressMsg{Code: tea.KeyEnter}
	}
	return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
}

// Keys count only after the question has been on the screen for a while without a key press. Choices that allow something
// count only after all of it was shown.
func TestQuestionsTakeKeysInTime(t *testing.T) {
	k := newKeyboard(t, asksFor(t, t.TempDir(), "write_file", fmt.Sprintf(`{"path":"a","content":%q}`, strings.Repeat("line\n", 30))))
	k.wait(-Settle)
	if k.press("y"); k.q.line.Value() != "" {
		t.Fatal("a key at once counted")
	}
	k.wait(3 * Settle)
	k.confirm("y")
	k.confirm("a")
	if k.q.Word != "" || k.q.stage != choosing {
		t.Fatal("allowed before it was shown whole")
	}
	k.press("space")
	if k.q.Resize(100, 20); k.q.whole() {
		t.Fatal("another width was not shown yet")
	}
	k.press("space")
	if k.confirm("y"); k.q.Word != "yes" {
		t.Fatalf("%q at the end; %d of %d rows", k.q.Word, k.q.seen, len(k.q.rows))
	}
}

// A broader permission is shown in full, or not offered.
func TestScopesAreShownWhole(t *testing.T) {
	dir := t.TempDir()
	foot := func(program string) string {
		args, err := json.Marshal(map[string]any{"program": program, "args": []string{"x"}})
		if err != nil {
			t.Fatal(err)
		}
		q := Consent(cli.Palette{}, asksFor(t, dir, "run_command", string(args)), "then")
		q.Resize(60, 40)
		q.stage = picking
		return strings.Join(strings.Fields(strings.Join(q.foot(), " ")), "")
	}
	program := func(folders ...string) string { // a person is asked about programs that exist
		file := filepath.Join(dir, filepath.Join(folders...), "bash")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		return file
	}
	long := program(strings.Repeat("x", 80))
	if got := foot(long); !strings.Contains(got, "theprogram"+long+",whateveritsarguments,whichcanbeanyotherprogram") {
		t.Errorf("a long name: %s", got)
	}
	if got := foot(program(slices.Repeat([]string{strings.Repeat("x", 200)}, 14)...)); strings.Contains(got, "whateveritsarguments") {
		t.Errorf("a name that fills the screen can be allowed: %s", got)
	}
}

// The record names who allowed a call. A granted call is not asked about again.
func TestApprovalsSayWho(t *testing.T) {
	dir := t.TempDir()
	ask := func(args string) invoke.Question {
		return invoke.Question{CallID: "c", Tool: "run_command", Args: json.RawMessage(args), ParamsHash: journal.ParamsHash(json.RawMessage(args))}
	}
	one, two := ask(`{"program":"echo","args":["1"]}`), ask(`{"program":"echo","args":["2"]}`)
	asked := 0
	a := &Approver{Tools: clitest.ConsentTools(t, dir)}
	answer := func(word string, scope int) {
		a.Put = func(_ context.Context, p *Proposal) (*Question, error) {
			asked++
			return &Question{Word: word, grant: &p.scopes()[scope]}, nil
		}
	}
	for _, c := range []struct {
		why     string
		set     func()
		q       invoke.Question
		allowed bool
		by, of  string
		asked   int
	}{
		{"nobody there", func() {}, one, false, "toolpost", "nobody can be asked", 0},
		{"no", func() { answer("no", 0) }, one, false, view.ByPerson, "", 1},
		{"this call again", func() { answer(always, 0) }, one, true, view.ByPerson, "granted: this call again", 2},
		{"the same", func() {}, one, true, view.ByPerson, "granted before: this call again", 2},
		{"another", func() { answer("yes", 0) }, two, true, view.ByPerson, "", 3},
		{"it was once", func() { answer("no", 0) }, two, false, view.ByPerson, "", 4},
		{"taken back", func() { a.Grants.Drop(0) }, one, false, view.ByPerson, "", 5},
		{"--yes", func() { a.Yes = true }, one, true, "--yes", "", 5},
	} {
		c.set()
		got, err := a.Approve(t.Context(), c.q)
		if err != nil || got.Allowed != c.allowed || got.By != c.by || !strings.Contains(got.Reason, c.of) || asked != c.asked {
			t.Errorf("%s: %+v %v, asked %d times", c.why, got, err, asked)
		}
	}
}

// TestChangedCallsAreAskedAgain: a call that is not what was approved is asked about again whatever was granted, and every
// answer says what changed.
func TestChangedCallsAreAskedAgain(t *testing.T) {
	dir := t.TempDir()
	p := asksFor(t, dir, "write_file", `{"path":"a","content":"b"}`)
	for _, g := range p.scopes() {
		asked := 0
		a := &Approver{Tools: clitest.ConsentTools(t, dir), Put: func(_ context.Context, p *Proposal) (*Question, error) {
			asked++
			if shown := strings.Join(p.screen(cli.Palette{}, 80), "\n"); !strings.Contains(shown, "the folder docs is another one") {
				t.Errorf("%s: the question does not say what changed:\n%s", g, shown)
			}
			return &Question{Word: "no"}, nil
		}}
		a.Grants.add(g)
		q := p.Question
		if got, err := a.Approve(t.Context(), q); err != nil || !got.Allowed || asked != 0 {
			t.Errorf("%s: %+v %v", g, got, err)
		}
		q.Changed = "the folder docs is another one"
		if got, err := a.Approve(t.Context(), q); err != nil || got.Allowed || asked != 1 {
			t.Errorf("%s covers a changed call: %+v %v", g, got, err)
		}
	}
	q := p.Question
	q.Changed = "the folder docs is another one"
	for _, a := range []*Approver{{Yes: true}, {}} {
		a.Tools = clitest.ConsentTools(t, dir)
		if got, err := a.Approve(t.Context(), q); err != nil || got.Allowed != a.Yes || !strings.Contains(got.Reason, q.Changed) {
			t.Errorf("%+v %v", got, err)
		}
	}
	lines := strings.Join(view.QuestionLines(cli.Palette{}, invoke.Question{CallID: "c", Tool: "say", Args: json.RawMessage(`{}`), Runs: "sh -c 'rm x'\nevil", Changed: q.Changed}), "\n")
	if !strings.Contains(lines, "runs sh -c 'rm x'\n│ evil") || !strings.Contains(lines, "it is not what was approved: "+q.Changed) {
		t.Errorf("the list shows\n%s", lines)
	}
}

// TestFolderGrantsEndWithTheFolder: a permission for a folder covers that folder, not another one of the same name.
func TestFolderGrantsEndWithTheFolder(t *testing.T) {
	dir := t.TempDir()
	with := func(file string, folders ...string) *Proposal {
		p := asksFor(t, dir, "write_file", fmt.Sprintf(`{"path":%q,"content":"x"}`, file))
		p.Bound = make(map[string]journal.Hash)
		for _, f := range folders {
			name, id, _ := strings.Cut(f, " ")
			p.Bound[pinname.Folder+name] = journal.Hash(id)
		}
		return p
	}
	if err := os.MkdirAll(filepath.Join(dir, "docs", "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name        string
		given, call *Proposal
		covers      bool
	}{
		{"the same", with("docs/a", ". 1", "docs 2"), with("docs/b", ". 1", "docs 2"), true},
		{"below", with("docs/a", ". 1", "docs 2"), with("docs/sub/b", ". 1", "docs 2", "docs/sub 3"), true},
		{"another folder of that name", with("docs/a", ". 1", "docs 2"), with("docs/b", ". 1", "docs 9"), false},
		{"another folder below", with("docs/a", ". 1", "docs 2"), with("docs/sub/b", ". 1", "docs 9", "docs/sub 3"), false},
		{"another root", with("docs/a", ". 1", "docs 2"), with("docs/b", ". 9", "docs 2"), false},
		{"made by the call", with("new/a", ". 1"), with("new/b", ". 1", "new 2"), true},
		{"made by the call, in another root", with("new/a", ". 1"), with("new/b", ". 9", "new 2"), false},
		{"unknown now", with("docs/a", ". 1", "docs 2"), with("docs/b"), false},
		{"elsewhere", with("docs/a", ". 1", "docs 2"), with("a", ". 1"), false},
		{"all files", with("a", ". 1"), with("docs/b", ". 1", "docs 2"), true},
		{"all files of another root", with("a", ". 1"), with("docs/b", ". 9", "docs 2"), false},
	} {
		scopes := c.given.scopes()
		i := slices.IndexFunc(scopes, func(g Grant) bool { return g.Scope == ThisFolder })
		if i < 0 || scopes[i].covers(c.call) != c.covers {
			t.Errorf("%s: covers is not %v", c.name, c.covers)
		}
	}
}

// TestRepeatsAreAsked: earlier permissions do not cover the repetition of a call with unknown outcome.
func TestRepeatsAreAsked(t *testing.T) {
	for _, wait := range []*PendingFlags{nil, {}, {later: true}} {
		a := &Approver{Yes: true, Tools: clitest.ConsentTools(t, t.TempDir()), Wait: wait}
		q := invoke.Question{CallID: "2", Tool: "write_file", Args: json.RawMessage(`{"path":"a","content":"b"}`), Repeats: "1", Reason: "its outcome is unknown"}
		answer, err := a.Approve(t.Context(), q)
		if later := wait != nil && wait.later; answer.Allowed || (err != nil) != later {
			t.Errorf("%+v: %+v, %v", wait, answer, err)
		}
	}
}
