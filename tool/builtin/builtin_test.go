package builtin_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/internal/leaks"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/tool/builtin"
)

func TestMain(m *testing.M) { leaks.VerifyTestMain(m) }

// text joins the text of an output.
func text(out tool.Output) string {
	var b strings.Builder
	for _, p := range out.Parts {
		if t, ok := p.(llm.Text); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

func all(t *testing.T) []tool.Tool {
	t.Helper()
	files, err := builtin.OpenFiles(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	search, err := builtin.Search{Engine: "duckduckgo"}.Tool()
	if err != nil {
		t.Fatal(err)
	}
	return append(files.Tools(), builtin.Command{}.Tool(), builtin.Fetch{}.Tool(), search)
}

// TestDescriptions holds the built-in tools to our own audit.
func TestDescriptions(t *testing.T) {
	tools := all(t)
	if _, err := tool.NewSet(tools...); err != nil {
		t.Fatal(err)
	}
	var defs []llm.ToolDef
	for _, x := range tools {
		defs = append(defs, x.Def())
		if x.Origin != tool.Builtin {
			t.Errorf("%s comes from %s", x.Name, x.Origin)
		}
	}
	keywords := 0.0
	defer func() {
		if keywords < 0.8 {
			t.Errorf("by keywords %.2f on average", keywords)
		}
	}()
	for _, r := range tool.Audit(defs) {
		if r.Score < 1 || r.Keywords < 0.6 {
			t.Errorf("%s: %.1f, by keywords %.1f", r.Tool, r.Score, r.Keywords)
		}
		keywords += r.Keywords / float64(len(defs))
		for _, f := range r.Findings {
			if f.Rule != "vendor-loss" { // no vendor holds a model to every keyword; we validate
				t.Errorf("%s: %+v", r.Tool, f)
			}
		}
	}
}

// TestPromises lists the effects of each tool, which decide whether it runs without a policy.
func TestPromises(t *testing.T) {
	want := map[string]tool.Effects{
		"list_files": tool.ReadOnly | tool.Local, "read_file": tool.ReadOnly | tool.Local, "search_files": tool.ReadOnly | tool.Local,
		"write_file": tool.Idempotent | tool.Local, "edit_file": tool.Local, "run_command": 0, "fetch_url": tool.ReadOnly, "web_search": tool.ReadOnly,
	}
	for _, x := range all(t) {
		if x.Effects != want[x.Name] {
			t.Errorf("%s promises %v", x.Name, x.Effects)
		}
	}
}

func TestFilesAtWork(t *testing.T) {
	root := tree(t)
	tools := fileTools(t, root)
	do := func(name string, args map[string]any) string {
		t.Helper()
		out, err := call(t.Context(), tools[name], args)
		if err != nil {
			return "error: " + err.Error()
		}
		return out
	}
	for _, c := range []struct {
		why, name string
		args      map[string]any
		want      string // contained
	}{
		{"read", "read_file", map[string]any{"path": "ok.txt"}, "fine"},
		{"a link inside is fine", "read_file", map[string]any{"path": "link-ok"}, "fine"},
		{"a file that is not there", "read_file", map[string]any{"path": "nope.txt"}, "error: not_found: there is no nope.txt"},
		{"a folder is not a file", "read_file", map[string]any{"path": "sub"}, "is a folder"},
		{"list", "list_files", map[string]any{"path": "sub"}, "sub/deep.txt  5"},
		{"list with a pattern", "list_files", map[string]any{"pattern": "*.txt", "depth": 2}, "sub/deep.txt"},
		{"a bad pattern", "list_files", map[string]any{"pattern": "["}, "is not a pattern"},
		{"search", "search_files", map[string]any{"query": "DEEP"}, "sub/deep.txt:1: deep"},
		{"a regular expression", "search_files", map[string]any{"query": "^d..p$", "regexp": true}, "sub/deep.txt:1"},
		{"a bad regular expression", "search_files", map[string]any{"query": "(", "regexp": true}, "not a regular expression"},
		{"write", "write_file", map[string]any{"path": "new/dir/a.txt", "content": "one two two\n"}, "wrote new/dir/a.txt: 12 bytes, 1 line"},
		{"a line without an end is one", "write_file", map[string]any{"path": "new/b.txt", "content": "a\nb"}, "wrote new/b.txt: 3 bytes, 2 lines"},
		{"one byte", "write_file", map[string]any{"path": "new/c.txt", "content": "a"}, "wrote new/c.txt: 1 byte, 1 line"},
		{"nothing", "write_file", map[string]any{"path": "new/d.txt", "content": ""}, "wrote new/d.txt: 0 bytes, 0 lines"},
		{"not twice", "write_file", map[string]any{"path": "new/dir/a.txt", "content": "other"}, "new/dir/a.txt exists"},
		{"the same again changes nothing", "write_file", map[string]any{"path": "new/dir/a.txt", "content": "one two two\n"}, "wrote"},
		{"edit", "edit_file", map[string]any{"path": "new/dir/a.txt", "old_text": "one", "new_text": "1"}, "wrote"},
		{"ambiguous", "edit_file", map[string]any{"path": "new/dir/a.txt", "old_text": "two", "new_text": "2"}, "stands in new/dir/a.txt 2 times"},
		{"all of them", "edit_file", map[string]any{"path": "new/dir/a.txt", "old_text": "two", "new_text": "2", "all": true}, "wrote"},
		{"not there", "edit_file", map[string]any{"path": "new/dir/a.txt", "old_text": "three", "new_text": "3"}, "does not stand in"},
		{"nothing to do", "edit_file", map[string]any{"path": "new/dir/a.txt", "old_text": "1", "new_text": "1"}, "are the same"},
		{"edited as told", "read_file", map[string]any{"path": "new/dir/a.txt"}, "1 2 2\n"},
		{"unread files are not edited", "edit_file", map[string]any{"path": "sub/deep.txt", "old_text": "deep", "new_text": "flat"}, "has not been read"},
		{"a folder cannot be written", "write_file", map[string]any{"path": "sub", "content": "x", "overwrite": true}, "is a folder"},
		{"unknown arguments", "read_file", map[string]any{"path": "ok.txt", "encoding": "latin1"}, "unknown field"},
		{"beyond the end", "read_file", map[string]any{"path": "ok.txt", "from_line": 9}, "only 1 lines"},
	} {
		if got := do(c.name, c.args); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", c.why, got)
		}
	}
}

// TestEditsOfChangedFilesAreRefused changes a file without the model's knowledge.
func TestEditsOfChangedFilesAreRefused(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	root := tree(t)
	tools := fileTools(t, root)
	if _, err := call(t.Context(), tools["read_file"], map[string]any{"path": "ok.txt"}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "ok.txt"), []byte("someone else was here\nfine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string]map[string]any{
		"edit_file":  {"path": "ok.txt", "old_text": "fine", "new_text": "x"},
		"write_file": {"path": "ok.txt", "content": "x", "overwrite": true},
	} {
		attacks++
		if _, err := call(t.Context(), tools[name], args); err == nil || !strings.Contains(err.Error(), "changed since you read it") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLongAndBinaryFiles(t *testing.T) {
	root := t.TempDir()
	line := strings.Repeat("x", 99) + "\n"
	for name, data := range map[string]string{
		"long.txt": strings.Repeat(line, 5000), "one-line.txt": strings.Repeat("é", 300000), "nul.bin": "a\x00b", "empty.txt": "",
		"dot.png": "\x89PNG\r\n\x1a\n0000", "latin.txt": "caf\xe9",
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tools := fileTools(t, root)
	out, err := call(t.Context(), tools["read_file"], map[string]any{"path": "long.txt"})
	if err != nil || !strings.Contains(out, "go on with from_line 2622]") || len(out) > 300<<10 {
		t.Errorf("long: %d bytes, ends %q, %v", len(out), out[max(len(out)-80, 0):], err)
	}
	out, err = call(t.Context(), tools["read_file"], map[string]any{"path": "long.txt", "from_line": 4999, "lines": 5})
	if err != nil || out != line+line {
		t.Errorf("the end: %d bytes %v", len(out), err)
	}
	if out, err := call(t.Context(), tools["read_file"], map[string]any{"path": "one-line.txt"}); err != nil || len(out) > 300<<10 {
		t.Errorf("one line: %d bytes, %v", len(out), err)
	}
	if out, err := call(t.Context(), tools["read_file"], map[string]any{"path": "empty.txt"}); err != nil || out != "" {
		t.Errorf("empty: %q %v", out, err)
	}
	for _, name := range []string{"nul.bin", "latin.txt"} {
		if _, err := call(t.Context(), tools["read_file"], map[string]any{"path": name}); err == nil || !strings.Contains(err.Error(), "is not text") {
			t.Errorf("%s: %v", name, err)
		}
	}
	image, err := tools["read_file"].Run(t.Context(), []byte(`{"path":"dot.png"}`))
	if err != nil || len(image.Parts) != 1 {
		t.Fatalf("image: %v", err)
	}
	if m, ok := image.Parts[0].(llm.Media); !ok || m.MIME != "image/png" || m.Name != "dot.png" {
		t.Errorf("image: %+v", image.Parts[0])
	}
}

func TestCommands(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the programs of this test are a POSIX system's")
	}
	t.Setenv("SECRET_KEY", secret)
	x := builtin.Command{Dir: t.TempDir(), Timeout: time.Minute, MaxOutput: 100}.Tool()
	run := func(program string, args ...string) (string, error) {
		return call(t.Context(), x, map[string]any{"program": program, "args": args})
	}
	if out, err := run("echo", "$HOME", "*", "a;b|c"); err != nil || out != "exit code 0\n$HOME * a;b|c\n" {
		t.Errorf("no shell: %q %v", out, err)
	}
	if out, err := run("env"); err != nil || strings.Contains(out, secret) {
		t.Errorf("the environment leaks: %q %v", out, err)
	}
	if _, err := run("false"); err == nil || !strings.Contains(err.Error(), "exit code 1") {
		t.Errorf("a failure: %v", err)
	}
	if _, err := run("no-such-program"); err == nil || !strings.Contains(err.Error(), "cannot be run") {
		t.Errorf("not there: %v", err)
	}
	if _, err := run("echo hi && rm -rf /"); err == nil || !strings.Contains(err.Error(), "is not the name of a program") {
		t.Errorf("a command line: %v", err)
	}
	if out, err := run("seq", "1000"); err != nil || !strings.Contains(out, "bytes left out") || len(out) > 200 || !strings.HasSuffix(out, "1000\n") {
		t.Errorf("long output: %q %v", out, err)
	}
	if out, err := call(t.Context(), x, map[string]any{"program": "cat", "input": "hello"}); err != nil || !strings.HasSuffix(out, "hello") {
		t.Errorf("input: %q %v", out, err)
	}
}

const page = `<html><head><title>The Title</title><style>p{}</style></head><body><h1>Head</h1><p>Some <b>bold</b> words
and <a href="/more">more</a>.</p><script>evil()</script><ul><li>one<li>two</ul></body>`

func TestFetchReadsPages(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/gone":
			http.NotFound(w, r)
		case "/busy":
			w.Header().Set("Retry-After", "3")
			http.Error(w, "later", http.StatusTooManyRequests)
		default:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, page)
		}
	}))
	defer server.Close()
	x := builtin.Fetch{Open: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Ports: []string{port(server)}}.Tool()
	want := "The Title\nHead\nSome bold words and more <" + server.URL + "/more> .\none\ntwo"
	if out, err := call(t.Context(), x, map[string]any{"url": server.URL}); err != nil || out != want {
		t.Errorf("%q, want %q, %v", out, want, err)
	}
	var known *tool.Error
	if _, err := call(t.Context(), x, map[string]any{"url": server.URL + "/gone"}); !errors.As(err, &known) || known.Code != tool.NotFound {
		t.Errorf("gone: %v", err)
	}
	if _, err := call(t.Context(), x, map[string]any{"url": server.URL + "/busy"}); !errors.As(err, &known) || known.Code != tool.RateLimit || known.RetryAfter != 3*time.Second {
		t.Errorf("busy: %v", err)
	}
	blocked := builtin.Fetch{Blocked: []string{"example.org"}}.Tool()
	if _, err := call(t.Context(), blocked, map[string]any{"url": "https://www.example.org/"}); !errors.As(err, &known) || known.Code != tool.Permission {
		t.Errorf("blocked: %v", err)
	}
	nothing := builtin.Fetch{Allowed: []string{}}.Tool()
	if _, err := call(t.Context(), nothing, map[string]any{"url": "https://go.dev/"}); !errors.As(err, &known) || known.Code != tool.Permission {
		t.Errorf("nothing allowed: %v", err)
	}
}

func port(s *httptest.Server) string {
	_, p, _ := net.SplitHostPort(s.Listener.Addr().String())
	return p
}

// engines are stand-ins that answer as the engines do.
var searchAnswers = map[string]string{
	"searxng": `{"results":[{"title":"Go","url":"https://go.dev/","content":"The Go language"},{"title":"Spam","url":"https://spam.example/","content":"buy"},
{"title":"Docs","url":"https://pkg.go.dev/","content":"Docs"},{"title":"Bad","url":"javascript:1","content":""}]}`,
	"duckduckgo": `<a class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fgo.dev%2F">Go</a><a class="result__snippet">The <b>Go</b> language</a>
<a class="result__a" href="https://spam.example/">Spam</a><a class="result__snippet">buy</a><a class="result__a" href="https://pkg.go.dev/">Docs</a>`,
}

func TestWebSearch(t *testing.T) {
	for engine, answer := range searchAnswers {
		t.Run(engine, func(t *testing.T) {
			var asked string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = r.URL.String()
				fmt.Fprint(w, answer)
			}))
			defer server.Close()
			x, err := builtin.Search{Engine: engine, Endpoint: server.URL, Blocked: []string{"spam.example"}, MaxUses: 2,
				Location: &llm.Location{City: "Zürich", Country: "CH"}}.Tool()
			if err != nil {
				t.Fatal(err)
			}
			out, err := call(t.Context(), x, map[string]any{"query": "golang"})
			if err != nil || !strings.HasPrefix(out, "1. Go\nhttps://go.dev/\nThe Go language") || !strings.Contains(out, "2. Docs") || strings.Contains(out, "Spam") || !strings.Contains(out, "1 results left out") {
				t.Errorf("%q %v", out, err)
			}
			if !strings.Contains(asked, "Z%C3%BCrich") || !strings.Contains(strings.ToLower(asked), "=de-ch") && !strings.Contains(asked, "kl=ch-de") {
				t.Errorf("the place was not asked for: %s", asked)
			}
			if out, err := call(t.Context(), x, map[string]any{"query": "golang", "limit": 1}); err != nil || strings.Contains(out, "2. ") {
				t.Errorf("limit: %q %v", out, err)
			}
			if _, err := call(t.Context(), x, map[string]any{"query": "golang"}); err == nil {
				t.Error("it was used more often than allowed")
			}
		})
	}
}

func TestSearchRefusesWhatItCannotEnforce(t *testing.T) {
	for _, s := range []builtin.Search{
		{}, {Engine: "bing"}, {Engine: "searxng"}, {Engine: "searxng", Endpoint: "ftp://x"}, {Engine: "searxng", Endpoint: "http://u:p@x"},
		{Engine: "duckduckgo", Location: &llm.Location{Country: "Atlantis"}}, {Engine: "duckduckgo", Location: &llm.Location{Timezone: "Europe/Berlin"}},
	} {
		if _, err := s.Tool(); err == nil {
			t.Errorf("%+v was accepted", s)
		}
	}
}
