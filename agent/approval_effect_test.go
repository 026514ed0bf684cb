package agent_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/tool/builtin"
)

// swap is something that changes between an approval and the call.
type swap struct {
	name string
	// tool returns the tool that is called in a folder; swapped is true after the change.
	tool func(t *testing.T, dir string, swapped bool) tool.Tool
	args string
	// change changes the folder. Nil means that only the tool changes, which cannot
	// happen while a process runs.
	change func(t *testing.T, dir string)
	want   string // what the second question tells
	fails  bool   // the call cannot succeed any more: the model is told, and nobody is asked
}

// swapFolder fills a folder for the swaps.
func swapFolder(t *testing.T) string {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"docs/a.txt": "a\n", "prod/z.txt": "z\n", "a/b/c.txt": "c\n", "p.sh": "#!/bin/sh\necho p\n", "q.sh": "#!/bin/sh\necho q\n",
		"bin/p.sh": "#!/bin/sh\necho p\n", "other/p.sh": "#!/bin/sh\necho other\n", "plain": "echo plain\n",
	} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		mode := os.FileMode(0o644)
		if strings.HasSuffix(name, ".sh") {
			mode = 0o755
		}
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), mode))
	}
	must(t, os.Symlink("docs", filepath.Join(dir, "link")))
	must(t, os.Symlink("p.sh", filepath.Join(dir, "l.sh")))
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func fileTool(name string) func(*testing.T, string, bool) tool.Tool {
	return func(t *testing.T, dir string, _ bool) tool.Tool {
		files, err := builtin.OpenFiles(dir)
		must(t, err)
		t.Cleanup(func() { files.Close() })
		set := tool.MustSet(files.Tools()...)
		found, _ := set.Lookup(name)
		return found
	}
}

func commandTool(_ *testing.T, dir string, _ bool) tool.Tool { return builtin.Command{Dir: dir}.Tool() }

// declaredTool returns a tool from its description, which may change.
func declaredTool(before, after string) func(*testing.T, string, bool) tool.Tool {
	return func(t *testing.T, dir string, swapped bool) tool.Tool {
		text := before
		if swapped {
			text = after
		}
		d, err := builtin.ParseDeclared([]byte(`[{"name":"act","description":"x","parameters":{"type":"object","properties":{"x":{"type":"string"}}},` + text + `}]`))
		must(t, err)
		own, err := d[0].Tool(builtin.Command{Dir: dir}, "own.json")
		must(t, err)
		return own
	}
}

// serverTool returns a tool that is changed by change.
func serverTool(change func(*tool.Tool)) func(*testing.T, string, bool) tool.Tool {
	return func(_ *testing.T, _ string, swapped bool) tool.Tool {
		own := tool.Tool{Name: "act", Input: []byte(`{"type":"object"}`), Origin: tool.MCP, Source: "shop", SourceHash: "sha256:1", Effects: tool.Idempotent, HonoursKeys: true}
		if swapped {
			change(&own)
		}
		return own
	}
}

func replaceFolder(name string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		must(t, os.Rename(filepath.Join(dir, name), filepath.Join(dir, "old")))
		must(t, os.MkdirAll(filepath.Join(dir, name, "b"), 0o755))
	}
}

func replaceByLink(name, target string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		_ = os.Rename(filepath.Join(dir, name), filepath.Join(dir, "old"))
		must(t, os.Symlink(target, filepath.Join(dir, name)))
	}
}

func rewrite(name string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho something else\n"), 0o755))
	}
}

func remove(name string) func(*testing.T, string) {
	return func(t *testing.T, dir string) { must(t, os.RemoveAll(filepath.Join(dir, name))) }
}

const (
	isCommand = `"command":["echo","{x}"]`
	isAddress = `"http":{"url":"https://shop.example/orders/{x}"}`
)

// swaps are the changes between an approval and its call.
var swaps = []swap{
	{"folder becomes a link", fileTool("write_file"), `{"path":"docs/y.txt","content":"x\n"}`, replaceByLink("docs", "prod"), "another file", false},
	{"folder becomes another folder", fileTool("write_file"), `{"path":"docs/y.txt","content":"x\n"}`, replaceFolder("docs"), "folder docs is another", false},
	{"folder above becomes another folder", fileTool("write_file"), `{"path":"a/b/y.txt","content":"x\n"}`, replaceFolder("a"), "folder a is another", false},
	{"folder below becomes a link", fileTool("write_file"), `{"path":"a/b/y.txt","content":"x\n"}`, replaceByLink("a/b", "../prod"), "another file", false},
	{"file becomes a link", fileTool("write_file"), `{"path":"docs/y.txt","content":"x\n"}`, replaceByLink("docs/y.txt", "../prod/new.txt"), "another file", false},
	{"link gets another target", fileTool("write_file"), `{"path":"link/y.txt","content":"x\n"}`, func(t *testing.T, dir string) {
		must(t, os.Remove(filepath.Join(dir, "link")))
		must(t, os.Symlink("prod", filepath.Join(dir, "link")))
	}, "another file", false},
	{"missing folder becomes a link", fileTool("write_file"), `{"path":"new/y.txt","content":"x\n"}`, replaceByLink("new", "prod"), "another file", false},
	{"folder is gone", fileTool("write_file"), `{"path":"docs/y.txt","content":"x\n"}`, remove("docs"), "folder docs is gone", false},
	{"folder becomes a link out of the root", fileTool("write_file"), `{"path":"docs/y.txt","content":"x\n"}`, replaceByLink("docs", "/tmp"), "", true},
	{"file changes", fileTool("write_file"), `{"path":"docs/a.txt","content":"x\n","overwrite":true}`, rewrite("docs/a.txt"), "content of docs/a.txt", false},
	{"file is gone", fileTool("write_file"), `{"path":"docs/a.txt","content":"x\n","overwrite":true}`, remove("docs/a.txt"), "content of docs/a.txt", false},
	{"file appears", fileTool("write_file"), `{"path":"docs/y.txt","content":"x\n","overwrite":true}`, rewrite("docs/y.txt"), "content of docs/y.txt", false},
	{"program file has other content", commandTool, `{"program":"./p.sh"}`, rewrite("p.sh"), "program ./p.sh", false},
	{"script of a shell", commandTool, `{"program":"sh","args":["plain"]}`, rewrite("plain"), "program plain", false},
	{"script after an option", commandTool, `{"program":"sh","args":["-x","plain"]}`, rewrite("plain"), "program plain", false},
	{"script of env", commandTool, `{"program":"env","args":["A=b","sh","p.sh"]}`, rewrite("p.sh"), "program p.sh", false},
	{"argument that can be run", commandTool, `{"program":"cat","args":["q.sh"]}`, rewrite("q.sh"), "program q.sh", false},
	{"program behind a link", commandTool, `{"program":"./l.sh"}`, rewrite("p.sh"), "program ./l.sh", false},
	{"program becomes a link", commandTool, `{"program":"./p.sh"}`, replaceByLink("p.sh", "q.sh"), "program ./p.sh", false},
	{"folder of the program", commandTool, `{"program":"bin/p.sh"}`, replaceByLink("bin", "other"), "program bin/p.sh", false},
	{"program is gone", commandTool, `{"program":"./p.sh"}`, remove("p.sh"), "", true},
	{"path becomes a link", commandTool, `{"program":"cat","args":["docs/a.txt"]}`, replaceByLink("docs", "prod"), "path docs/a.txt leads elsewhere", false},
	{"path in another folder", commandTool, `{"program":"cat","args":["docs/a.txt"]}`, replaceFolder("docs"), "folder docs is another", false},
	{"path in a folder that is gone", commandTool, `{"program":"ls","args":["docs"]}`, remove("docs"), "folder docs is gone", false},
	{"path through a link", commandTool, `{"program":"cat","args":["link/a.txt"]}`, replaceByLink("link", "prod"), "path link/a.txt leads elsewhere", false},
	{"path of a file that becomes a link", commandTool, `{"program":"cat","args":["docs/a.txt"]}`, replaceByLink("docs/a.txt", "../prod/z.txt"), "path docs/a.txt leads elsewhere", false},
	{"path of a new file that becomes a link", commandTool, `{"program":"cat","args":["docs/new.txt"]}`, replaceByLink("docs/new.txt", "../prod/new.txt"), "path docs/new.txt leads elsewhere", false},
	{"path in an option", commandTool, `{"program":"ls","args":["--ignore=docs/a.txt"]}`, replaceByLink("docs", "prod"), "path docs/a.txt leads elsewhere", false},
	{"path in a short option", commandTool, `{"program":"ls","args":["-Idocs/a.txt"]}`, replaceByLink("docs", "prod"), "path docs/a.txt leads elsewhere", false},
	{"script in a short option", commandTool, `{"program":"awk","args":["-fplain"]}`, rewrite("plain"), "program plain", false},
	{"path behind a name", commandTool, `{"program":"env","args":["OUT=docs/a.txt","ls"]}`, replaceByLink("docs", "prod"), "path docs/a.txt leads elsewhere", false},
	{"path with dots", commandTool, `{"program":"cat","args":["a/../docs/a.txt"]}`, replaceByLink("docs", "prod"), "leads elsewhere", false},
	{"path of a declared command", declaredTool(`"command":["cat","docs/{x}"]`, `"command":["cat","docs/{x}"]`), `{"x":"a.txt"}`, replaceByLink("docs", "prod"), "path docs/a.txt leads elsewhere", false},
	{"script of a declared command", declaredTool(`"command":["sh","p.sh","{x}"]`, `"command":["sh","p.sh","{x}"]`), `{"x":"1"}`, rewrite("p.sh"), "program p.sh", false},
	{"declared program", declaredTool(`"command":["./p.sh"]`, `"command":["./p.sh"]`), `{"x":"1"}`, rewrite("p.sh"), "program ./p.sh", false},

	{"another program", declaredTool(isCommand, `"command":["rm","{x}"]`), `{"x":"1"}`, nil, "command", false},
	{"another option", declaredTool(isCommand, `"command":["echo","-n","{x}"]`), `{"x":"1"}`, nil, "command", false},
	{"a variable", declaredTool(isCommand, isCommand+`,"env":["SHOP_MODE"]`), `{"x":"1"}`, nil, "variables", false},
	{"a request instead of a command", declaredTool(isCommand, isAddress), `{"x":"1"}`, nil, "address", false},
	{"another host", declaredTool(isAddress, `"http":{"url":"https://evil.example/orders/{x}"}`), `{"x":"1"}`, nil, "address", false},
	{"another path", declaredTool(isAddress, `"http":{"url":"https://shop.example/refunds/{x}"}`), `{"x":"1"}`, nil, "address", false},
	{"another scheme", declaredTool(isAddress, `"http":{"url":"http://shop.example/orders/{x}"}`), `{"x":"1"}`, nil, "address", false},
	{"another method", declaredTool(isAddress, `"http":{"url":"https://shop.example/orders/{x}","method":"DELETE"}`), `{"x":"1"}`, nil, "address", false},
	{"another header", declaredTool(isAddress, `"http":{"url":"https://shop.example/orders/{x}","headers":{"X-Account":"2"}}`), `{"x":"1"}`, nil, "headers", false},
	{"fewer promises", declaredTool(isCommand+`,"effects":["idempotent"]`, isCommand), `{"x":"1"}`, nil, "effects", false},
	{"fewer promises of a server", serverTool(func(t *tool.Tool) { t.Effects = 0 }), `{}`, nil, "effects", false},
	{"no keys", serverTool(func(t *tool.Tool) { t.HonoursKeys = false }), `{}`, nil, "effects", false},
	{"other tools of the server", serverTool(func(t *tool.Tool) { t.SourceHash = "sha256:2" }), `{}`, nil, "server shop", false},
	{"another server", serverTool(func(t *tool.Tool) { t.Source = "evil" }), `{}`, nil, "server", false},
	{"another origin", serverTool(func(t *tool.Tool) { t.Origin = tool.Request }), `{}`, nil, "comes from elsewhere", false},
	{"no fingerprint", serverTool(func(t *tool.Tool) { t.SourceHash = "" }), `{}`, nil, "server shop", false},
	{"a program behind the tool", serverTool(func(t *tool.Tool) {
		t.Preview = func(context.Context, json.RawMessage) (tool.Preview, error) {
			return tool.Preview{Command: []string{"rm"}}, nil
		}
	}), `{}`, nil, "command", false},
}

// decider answers questions, the first with yes and all others with no, and counts them.
type decider struct {
	asked  []invoke.Question
	change func() // after the first answer
}

func (d *decider) approve(_ context.Context, q invoke.Question) (journal.Approval, error) {
	d.asked = append(d.asked, q)
	if len(d.asked) > 1 {
		return q.Answer(false, "ada", "it changed"), nil
	}
	if d.change != nil {
		d.change()
	}
	return q.Answer(true, "ada", ""), nil
}

// swapCase is one swap on one path.
type swapCase struct {
	*swap
	dir  string
	ran  int
	asks decider
}

func (c *swapCase) agent(t *testing.T, store journal.Store, swapped bool) *agent.Agent {
	own := c.tool(t, c.dir, swapped)
	name := own.Name
	own.Call = func(context.Context, json.RawMessage) (tool.Output, error) { c.ran++; return tool.Text("done"), nil }
	return &agent.Agent{
		Model: byTurn{says([]llm.Part{call("c", name, c.args)}, "All is done.").lines}, Store: store, NewRun: func() string { return "r" },
		Tools: &invoke.Runner{Tools: tool.MustSet(own), Policy: invoke.AskFirst(invoke.AllowReadOnly), Approve: c.asks.approve},
	}
}

// swapPaths are the ways from an approval to a run. Each returns after the call was
// decided, changed (if change is true) and given the chance to run.
var swapPaths = map[string]func(t *testing.T, c *swapCase, change bool) *log{
	"live": func(t *testing.T, c *swapCase, change bool) *log {
		if change {
			c.asks.change = func() { c.change(t, c.dir) }
		}
		return run(t, c.agent(t, new(journal.Memory), false), "go")
	},
	"later": func(t *testing.T, c *swapCase, change bool) *log {
		store := c.wait(t)
		must(t, agent.Decide(t.Context(), store, "r", agent.Grant{Call: "c", Allowed: true, By: "ada"}))
		c.apply(t, change)
		return listen(c.agent(t, store, change).Resume(t.Context(), "r"))
	},
	"resume": func(t *testing.T, c *swapCase, change bool) *log {
		store := c.wait(t)
		c.apply(t, change)
		return listen(c.agent(t, store, change).ResumeWith(t.Context(), "r", []agent.Grant{{Call: "c", Allowed: true, By: "ada"}}))
	},
	"gateway": func(t *testing.T, c *swapCase, change bool) *log { // as a gateway continues a call in its record
		store := c.wait(t)
		must(t, agent.Decide(t.Context(), store, "r", agent.Grant{Call: "c", Allowed: true, By: "ada"}))
		c.apply(t, change)
		a := c.agent(t, store, change)
		rec, err := journal.Open(t.Context(), store, "r")
		must(t, err)
		s, err := a.Tools.Session(rec)
		must(t, err)
		for e, err := range journal.Whole(store.Read(t.Context(), "r", 0)) {
			must(t, err)
			must(t, s.Recall(e))
		}
		l := new(log)
		for ev, err := range s.Do(t.Context(), []llm.Call{call("c", a.Tools.Tools.Names()[0], c.args)}) {
			must(t, err)
			l.events = append(l.events, ev)
		}
		return l
	},
}

// wait has a run wait for the decision about the call.
func (c *swapCase) wait(t *testing.T) journal.Store {
	store := new(journal.Memory)
	a := c.agent(t, store, false)
	a.Tools.Approve = later(time.Time{})
	l := run(t, a, "go")
	if l.err != nil || l.done.Status != agent.StatusPending {
		t.Fatalf("status %s, %v", l.done.Status, l.err)
	}
	c.asks.asked = l.done.Waiting
	return store
}

func (c *swapCase) apply(t *testing.T, change bool) {
	if change && c.change != nil {
		c.change(t, c.dir)
	}
}

// TestApprovalIsBoundToTheEffect: whatever changes between an approval and the call, on
// every path, a person is asked again and told what changed. Without a change the call
// runs, and nobody is asked twice.
func TestApprovalIsBoundToTheEffect(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs sh and links")
	}
	swapped := 0
	for i := range swaps {
		for _, path := range slices.Sorted(maps.Keys(swapPaths)) {
			if path == "live" && swaps[i].change == nil {
				continue
			}
			for _, change := range []bool{true, false} {
				t.Run(swaps[i].name+"/"+path, func(t *testing.T) {
					c := &swapCase{swap: &swaps[i], dir: swapFolder(t)}
					l := swapPaths[path](t, c, change)
					if l.err != nil {
						t.Fatal(l.err)
					}
					c.judge(t, l, change)
				})
			}
			swapped++
		}
	}
	if t.Logf("%d swaps", swapped); swapped < 40 {
		t.Errorf("only %d swaps", swapped)
	}
}

func (c *swapCase) judge(t *testing.T, l *log, change bool) {
	outcome := of[invoke.Outcome](l)
	if len(outcome) != 1 {
		t.Fatalf("%d outcomes", len(outcome))
	}
	text := outcome[0].Result.Text()
	switch {
	case !change:
		if c.ran != 1 || len(c.asks.asked) != 1 {
			t.Errorf("ran %d times, asked %d times without a change: %s", c.ran, len(c.asks.asked), text)
		}
	case c.ran != 0:
		t.Errorf("it ran")
	case c.fails:
		if len(c.asks.asked) != 1 || outcome[0].Error == nil || outcome[0].Receipt.Status != journal.Refused {
			t.Errorf("asked %d times: %s", len(c.asks.asked), text)
		}
	case len(c.asks.asked) != 2:
		t.Errorf("asked %d times: %s", len(c.asks.asked), text)
	default:
		if q := c.asks.asked[1]; !strings.Contains(q.Changed, c.want) || !strings.Contains(q.Reason, q.Changed) {
			t.Errorf("changed: %q, want %q; reason %q", q.Changed, c.want, q.Reason)
		}
	}
}
