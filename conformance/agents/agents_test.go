// Package agents runs coding agents that others made through the gateway, without a terminal, each started by
// 'toolpost launch' with an empty home. The model behind the gateway is a script on a simulator that is as strict as the
// vendors' servers.
package agents

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/sim"
)

// built is the command, which is built once.
var built string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "toolpost-agents-")
	if err != nil {
		panic(err)
	}
	if built = os.Getenv("TOOLPOST_AGENTS_COMMAND"); built == "" {
		built = filepath.Join(dir, "toolpost")
		cmd := exec.Command("go", "build", "-o", built, "./cmd/toolpost")
		cmd.Dir = "../.."
		if out, err := cmd.CombinedOutput(); err != nil {
			panic(fmt.Sprintf("%v: %s", err, out))
		}
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

const (
	broken = "def add(a, b):\n    return a - b  # READ-CALC\n"
	trial  = "from calc import add\nopen('result.txt', 'w').write('passed' if add(2, 3) == 5 else 'failed')\nprint('TRIAL-' + 'RAN')\n"
	task   = "MAINTASK: the function in calc.py is wrong. Read it, mend it and run python3 trial.py."
	again  = "RESUMED: is it done?"
	sub    = "SUBTASK: say that you are here."
	last   = "Mended and tested."
	png    = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
)

// upstream is a server behind the gateway: its format, its model, how it is asked for calls, and whether the model writes
// calls as text. It is as strict as the vendor's server for the model.
type upstream struct {
	name, wire, model, tools string
	text                     bool
}

// rules returns the model whose server's rules count. DeepSeek's are the strictest of those that take chat.
func (up upstream) rules() string {
	if up.wire == "chat" {
		return vendorModels["chat"]
	}
	return up.model
}

// vendorModels has a model for each format.
var vendorModels = map[string]string{"messages": "claude-sonnet-4-5", "chat": "deepseek-chat", "gemini": "gemini-2.5-pro", "responses": "gpt-5"}

// upstreams returns those that an agent is tried with: its own format, two others, a model that writes its calls as
// text, and one without tools.
func upstreams(format string) []upstream {
	list := []upstream{{"own format", format, vendorModels[format], "native", false}}
	for _, other := range []string{"messages", "chat", "gemini"} {
		if other != format && len(list) < 3 {
			list = append(list, upstream{other, other, vendorModels[other], "native", false})
		}
	}
	return append(list, upstream{"text dialect", "chat", "qwen3-8b", "native", true}, upstream{"none", "chat", "qwen3-8b", "prompted, style: hermes", true})
}

// A model answers with prepared steps, and keeps what it was asked.
type model struct {
	mu    sync.Mutex
	asked []string // the requests, as text
	tools []string // all names that were offered
	image bool     // an image was among the messages

	steps func(req *llm.Request, said int) string // the answer in the notation of sim.Script
	held  chan struct{}                           // closed when an answer is held back; nil holds none
	left  chan struct{}                           // closed when the client of that answer has left
	once  sync.Once
}

// Stream implements [llm.Model].
func (m *model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	said := 0
	var text strings.Builder
	m.mu.Lock()
	for _, msg := range req.Messages {
		if msg.Role == llm.RoleAssistant {
			said++
		}
		for _, p := range msg.Parts {
			m.image = m.image || isImage(p)
			if r, ok := p.(llm.Result); ok {
				m.image = m.image || slices.ContainsFunc(r.Parts, isImage)
				fmt.Fprintf(&text, "%s\n", r.Text())
				continue
			}
			fmt.Fprintf(&text, "%v\n", p)
		}
	}
	for _, t := range req.Tools {
		if !slices.Contains(m.tools, t.Name) {
			m.tools = append(m.tools, t.Name)
		}
	}
	m.asked = append(m.asked, text.String())
	m.mu.Unlock()
	if m.held != nil && said == 1 && strings.Contains(text.String(), "MAINTASK") {
		first := false
		m.once.Do(func() { first = true })
		if first {
			close(m.held)
			<-ctx.Done()
			close(m.left)
			return func(yield func(llm.Event, error) bool) { yield(nil, ctx.Err()) }
		}
	}
	script, err := sim.ParseScript([]byte(m.script(req, said)))
	if err != nil {
		return func(yield func(llm.Event, error) bool) { yield(nil, err) }
	}
	return script.Stream(ctx, req)
}

// script returns a script whose next answer in the conversation is the next step.
func (m *model) script(req *llm.Request, said int) string {
	var b strings.Builder
	for i := range said {
		fmt.Fprintf(&b, "-- %d --\ntext said before\n", i+1)
	}
	text := m.steps(req, said)
	if raw, ok := strings.CutPrefix(text, "raw\n"); ok {
		fmt.Fprintf(&b, "-- %d.raw --\n%s", said+1, raw)
	} else {
		fmt.Fprintf(&b, "-- %d --\n%s", said+1, text)
	}
	return b.String()
}

func isImage(p llm.Part) bool {
	media, ok := p.(llm.Media)
	return ok && media.Kind == llm.Image
}

// saw reports whether a request of the main conversation had a text.
func (m *model) saw(texts ...string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.asked, func(r string) bool {
		return !slices.ContainsFunc(texts, func(t string) bool { return !strings.Contains(r, t) })
	})
}

// offered returns a tool whose name has a word at its end, "" if there is none.
func offered(req *llm.Request, word string) string {
	for _, t := range req.Tools {
		if strings.HasSuffix(t.Name, word) {
			return t.Name
		}
	}
	return ""
}

// run is an agent that was started in a folder.
type run struct {
	t          *testing.T
	a          agent
	home, work string
	m          *model
	config     string
}

// begin prepares the folders, the model and the gateway's configuration of a run.
func (a agent) begin(t *testing.T, up upstream) *run {
	r := &run{t: t, a: a, home: t.TempDir(), work: t.TempDir(), m: new(model)}
	picture, _ := base64.StdEncoding.DecodeString(png)
	files := map[string]string{"calc.py": broken, "trial.py": trial, "dot.png": string(picture)}
	for i := range 4 {
		files[fmt.Sprintf("p%d.txt", i)] = fmt.Sprintf("PART-%d-HERE\n", i)
	}
	write(t, r.work, files)
	server := httptest.NewServer(&sim.Server{Model: r.m, Unknown: "sim/native+strict=" + up.rules()})
	t.Cleanup(server.Close)
	root := map[string]string{"gemini": "/v1beta"}[up.wire]
	if root == "" {
		root = "/v1"
	}
	name := a.model
	to := fmt.Sprintf("to: [{model: \"up/%s\", tools: %s}]", up.model, up.tools)
	r.config = filepath.Join(r.home, "gateway.yaml")
	write(t, r.home, map[string]string{"gateway.yaml": fmt.Sprintf("providers:\n  up: {base_url: %q, wire: %s}\ngateway:\n  routes:\n    - {model: %q, %s}\n    - {model: \"*\", hidden: true, %s}\n", server.URL+root, up.wire, name, to, to)})
	for file, text := range a.files {
		write(t, r.home, map[string]string{file: r.fill(text)})
	}
	r.m.steps = a.working(r, up)
	return r
}

func (r *run) fill(text string) string {
	probe, _ := filepath.Abs("probe.py")
	return strings.NewReplacer("{HOME}", r.home, "{WORK}", r.work, "{TASK}", task, "{AGAIN}", again, "{PROBE}", probe).Replace(text)
}

// command returns the launch of the agent.
func (r *run) command(args []string) *exec.Cmd {
	var filled []string
	for _, arg := range args {
		filled = append(filled, r.fill(arg))
	}
	cmd := exec.Command(built, append([]string{"launch", r.a.launch(), "--config", r.config, "-m", r.a.model, "--"}, filled...)...)
	cmd.Dir, cmd.WaitDelay = r.work, 5*time.Second
	cmd.Env = []string{"PATH=" + path(r.t), "HOME=" + r.home, "TMPDIR=" + r.home, "LANG=C.UTF-8", "CI=1", "TERM=dumb"}
	for _, v := range r.a.env {
		cmd.Env = append(cmd.Env, r.fill(v))
	}
	return cmd
}

// patience limits a run of an agent. It is for runs that never end.
const patience = 5 * time.Minute

// finish runs the agent to its end.
func (r *run) finish(args []string) (out string, err error) {
	cmd := r.command(args)
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	if err := cmd.Start(); err != nil {
		return "", err
	}
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	err = cmd.Wait()
	return b.String(), err
}

func tail(s string) string { return s[max(0, len(s)-2500):] }

// working returns the answers of the main task: a file, four files at once, an edit, the test, a command that fails,
// and commands up to ten rounds.
func (a agent) working(r *run, up upstream) func(*llm.Request, int) string {
	var rounds [][]step
	rounds = append(rounds, []step{a.reading("calc.py")})
	var four []step
	for i := range 4 {
		four = append(four, a.reading(fmt.Sprintf("p%d.txt", i)))
	}
	rounds = append(rounds, four, []step{a.edit}, []step{a.running("python3 trial.py")}, []step{a.running("cat no-such-file-77")})
	for i := 6; i <= 10; i++ {
		rounds = append(rounds, []step{a.running(fmt.Sprintf("printf ROUND-%%s-END %d", i))})
	}
	if a.end != (step{}) {
		rounds = append(rounds, []step{a.end})
	}
	return func(req *llm.Request, said int) string {
		if a.says != "" {
			return "raw\n" + a.says
		}
		if made := callsIn(req); made > 0 { // some agents write an answer with several calls as several messages
			for said = 0; said < len(rounds) && made > 0; said++ {
				made -= len(rounds[said])
			}
		}
		if said >= len(rounds) {
			return "text " + last
		}
		return answered(r, rounds[said], up.text)
	}
}

// callsIn counts the calls of a conversation, also those that are text.
func callsIn(req *llm.Request) (n int) {
	for _, m := range req.Messages {
		if m.Role == llm.RoleAssistant {
			n += len(m.Calls()) + strings.Count(m.Text(), "<tool_call>")
		}
	}
	return n
}

// answered writes calls in the notation of a script, or as the text of a model.
func answered(r *run, steps []step, text bool) string {
	if !text {
		out := "text On it.\n"
		for _, s := range steps {
			out += fmt.Sprintf("call %s %s\n", s.tool, r.fill(s.args))
		}
		return out
	}
	out := "raw\nOn it.\n"
	for _, s := range steps {
		args := r.fill(s.args)
		if args[0] == '"' {
			args = `{"input":` + args + `}`
		}
		call, err := json.Marshal(map[string]any{"name": s.tool, "arguments": json.RawMessage(args)})
		if err != nil {
			r.t.Fatal(err)
		}
		out += fmt.Sprintf("<tool_call>\n%s\n</tool_call>\n", call)
	}
	return out
}

// TestCodingAgents fills the table of cells. With TOOLPOST_UPDATE=1 it also writes cells.md.
func TestCodingAgents(t *testing.T) {
	table := &cells{rows: map[string]map[string]string{}}
	t.Run("agents", func(t *testing.T) {
		for _, a := range agents {
			t.Run(a.name, func(t *testing.T) {
				t.Parallel()
				a.find(t)
				for _, up := range upstreams(a.format) {
					t.Run(up.name, func(t *testing.T) { a.work(t, table, up) })
				}
				own := upstreams(a.format)[0]
				t.Run("resume", func(t *testing.T) { a.tryResume(t, table, own) })
				t.Run("interruption", func(t *testing.T) { a.tryInterruption(t, table, own) })
				t.Run("image", func(t *testing.T) { a.tryImage(t, table, own) })
				t.Run("mcp", func(t *testing.T) { a.tryMCP(t, table, own) })
				t.Run("sub-agent", func(t *testing.T) { a.trySubAgent(t, table, own) })
			})
		}
	})
	table.print(t)
}

// work has an agent do the main task, which fills six cells.
func (a agent) work(t *testing.T, table *cells, up upstream) {
	r := a.begin(t, up)
	out, err := r.finish(a.args)
	result, _ := os.ReadFile(filepath.Join(r.work, "result.txt"))
	code, _ := os.ReadFile(filepath.Join(r.work, "calc.py"))
	parts := []string{}
	for i := range 4 {
		parts = append(parts, fmt.Sprintf("PART-%d-HERE", i))
	}
	fails := "no-such-file-77"
	for name, ok := range map[string]bool{
		"read": r.m.saw("READ-CALC"), "four reads": r.m.saw(parts...), "edit": strings.Contains(string(code), "a + b"),
		"shell": string(result) == "passed" && r.m.saw("TRIAL-RAN"), "failing tool": r.m.saw(fails, "o such file"), "10 rounds": a.end != (step{}) && r.m.saw("ROUND-9-END") || r.m.saw("ROUND-10-END"),
	} {
		if !table.cannot(a, name) {
			table.set(t, a, name+"/"+up.name, ok && err == nil, fmt.Sprintf("%v\n%s", err, tail(out)))
		}
	}
}

// tryResume ends the agent and continues the conversation in a new process.
func (a agent) tryResume(t *testing.T, table *cells, up upstream) {
	if table.cannot(a, "resume") {
		return
	}
	r := a.begin(t, up)
	out, err := r.finish(append(slices.Clone(a.args), a.keep...))
	if err == nil {
		out, err = r.finish(a.resume)
	}
	table.set(t, a, "resume", err == nil && r.m.saw("MAINTASK", "READ-CALC", "RESUMED"), fmt.Sprintf("%v\n%s", err, tail(out)))
}

// tryInterruption sends Ctrl-C while the model answers.
func (a agent) tryInterruption(t *testing.T, table *cells, up upstream) {
	if table.cannot(a, "interruption") {
		return
	}
	r := a.begin(t, up)
	r.m.held, r.m.left = make(chan struct{}), make(chan struct{})
	cmd := r.command(a.args)
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	limit := time.After(patience)
	ok, why := false, "the model was not asked a second time"
	select {
	case <-r.m.held:
		_ = cmd.Process.Signal(os.Interrupt)
		why = "the agent did not end"
		select {
		case <-ended:
			ended <- nil
			why = "the request was not cancelled"
			select {
			case <-r.m.left:
				ok = true
			case <-limit:
			}
		case <-limit:
		}
	case err := <-ended:
		ended <- err
	case <-limit:
	}
	_ = cmd.Process.Kill()
	<-ended
	table.set(t, a, "interruption", ok, why+"\n"+tail(b.String()))
}

// tryImage gives the agent a picture.
func (a agent) tryImage(t *testing.T, table *cells, up upstream) {
	if table.cannot(a, "image") {
		return
	}
	r := a.begin(t, up)
	args := a.args
	if a.image != nil {
		args = a.image
	}
	r.m.steps = func(_ *llm.Request, said int) string {
		if said == 0 && a.image == nil {
			return answered(r, []step{a.reading("dot.png")}, false)
		}
		return "text " + last
	}
	out, err := r.finish(args)
	table.set(t, a, "image", err == nil && r.m.image, fmt.Sprintf("%v\n%s", err, tail(out)))
}

// tryMCP has the agent call a tool of an MCP server.
func (a agent) tryMCP(t *testing.T, table *cells, up upstream) {
	if table.cannot(a, "mcp") {
		return
	}
	a.files = a.mcpFiles
	r := a.begin(t, up)
	r.m.steps = func(req *llm.Request, said int) string {
		if name := offered(req, "lookup"); said == 0 && name != "" {
			return "call " + name + " {\"key\":\"k\"}"
		}
		return "text " + last
	}
	out, err := r.finish(append(slices.Clone(a.args), a.mcpArgs...))
	table.set(t, a, "mcp", err == nil && r.m.saw("MCP-MARKER-42"), fmt.Sprintf("%v, offered %q\n%s", err, r.m.tools, tail(out)))
}

// trySubAgent has the agent start another one.
func (a agent) trySubAgent(t *testing.T, table *cells, up upstream) {
	if table.cannot(a, "sub-agent") {
		return
	}
	r := a.begin(t, up)
	r.m.steps = func(req *llm.Request, said int) string {
		main := false
		for _, m := range req.Messages {
			main = main || strings.Contains(fmt.Sprint(m.Parts), "MAINTASK")
		}
		switch {
		case !main:
			return "text SUB-AGENT-IS-HERE"
		case said < len(a.sub):
			return answered(r, a.sub[said:said+1], false)
		}
		return "text " + last
	}
	out, err := r.finish(a.args)
	table.set(t, a, "sub-agent", err == nil && r.m.saw("SUBTASK") && r.m.saw("MAINTASK", "SUB-AGENT-IS-HERE"), fmt.Sprintf("%v, offered %q\n%s", err, r.m.tools, tail(out)))
}

// write writes files below a folder.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
