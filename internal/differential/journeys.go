package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
)

// journey is an archive of agent/testdata/journeys, as far as the command can play it: the settings
// that only a program has are left out.
type journey struct {
	name, task string
	script     []byte // for the simulator
	tools      []scriptedTool
	set        struct {
		System   string
		MaxTurns int `json:"max_turns"`
		Output   json.RawMessage
		Fault    string
	}
}

// scriptedTool is a tool of a journey. Each call takes the next step of its script.
type scriptedTool struct {
	Name, Description, Effects string
	Schema                     json.RawMessage
	Script                     []struct {
		Text, Error string
		Repeat      int
	}
}

// runForm is a way to run a journey.
type runForm struct {
	name, provider, model string
	later                 bool     // calls wait for approval
	export                bool     // the record is verified and exported
	args                  []string // more arguments
}

// The first form is the one of -quick.
var runForms = []runForm{
	{"native", "up-chat", "sim/native", false, true, []string{"--yes"}},
	{"messages", "up-messages", "sim/native", false, false, []string{"--yes"}},
	{"text", "up-chat", "sim/hermes_json", false, false, []string{"--yes", "--results", "concise"}},
	{"prompted", "up-chat", "sim/taught", false, false, []string{"--yes"}},
	{"later", "up-responses", "sim/native", true, false, []string{"--later"}},
}

var builtin = regexp.MustCompile(`\b(?:list_files|read_file|search_files|write_file|edit_file|run_command|fetch_url|web_search)\b`)

func readJourney(file string) (*journey, error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	archive := txtar.Parse(builtin.ReplaceAll(src, []byte("my_$0"))) // the command has such tools itself
	j := &journey{name: strings.TrimSuffix(filepath.Base(file), ".txtar")}
	answers := new(txtar.Archive)
	for _, f := range archive.Files {
		section, _, _ := strings.Cut(f.Name, " ")
		switch section {
		case "agent":
			if err := json.Unmarshal(f.Data, &j.set); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
		case "tools":
			for line := range bytes.Lines(f.Data) {
				var t scriptedTool
				if err := json.Unmarshal(line, &t); err != nil {
					return nil, fmt.Errorf("%s: %w", file, err)
				}
				j.tools = append(j.tools, t)
			}
		case "user":
			j.task = strings.TrimSpace(string(f.Data))
		case "model":
			text := string(f.Data)
			if strings.HasPrefix(text, "if ") {
				_, text, _ = strings.Cut(text, "\n")
			}
			name := fmt.Sprint(len(answers.Files) + 1)
			if rest, ok := strings.CutPrefix(text, "raw\n"); ok {
				name, text = name+".raw", rest
			}
			answers.Files = append(answers.Files, txtar.File{Name: name, Data: []byte(text)})
		}
	}
	j.script = txtar.Format(answers)
	return j, nil
}

// offline are tasks for the offline model of the simulator and the built-in tools.
var offline = []string{
	`Search for "checkpoint" and read the file it shows`,
	`List the files in docs`,
	`Read the file notes.txt`,
	`Write "hello" into the file new.txt`,
	`What is 12 * 7?`,
}

func compareRun(ctx context.Context, o *options) (*comparison, error) {
	c := newComparison()
	files, err := filepath.Glob(filepath.Join(o.root, "agent/testdata/journeys/*.txtar"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(err, errors.New("there are no journeys; run in the root of the module"))
	}
	forms, tasks := runForms, offline
	if o.quick {
		files, forms, tasks = sample(files, 15), []runForm{runForms[0]}, offline[:2]
	}
	var journeys []*journey
	for _, file := range files {
		j, err := readJourney(file)
		if err != nil {
			return nil, err
		}
		journeys = append(journeys, j)
	}
	for i, task := range tasks {
		journeys = append(journeys, &journey{name: fmt.Sprintf("offline %d", i+1), task: task})
	}
	return c, workers(len(journeys), func(n int) error {
		for i := range o.sides {
			forms := forms
			if !o.quick { // the second and the third form take turns
				skip := 1 + n%2
				forms = slices.Concat(runForms[:skip], runForms[skip+1:])
			}
			if err := o.play(ctx, c, i, journeys[n], forms); err != nil {
				return fmt.Errorf("%s: %w", journeys[n].name, err)
			}
		}
		return nil
	})
}

// play runs a journey in all forms on one side. Both sides use the same directory, one after the
// other, because paths are part of the record.
func (o *options) play(ctx context.Context, c *comparison, i int, j *journey, forms []runForm) (err error) {
	dir := filepath.Join(o.tmp, "run", strings.ReplaceAll(j.name, " ", "-"))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	args := []string{"sim", "--addr", "127.0.0.1:0"}
	if j.script != nil {
		file := filepath.Join(dir, "script.txtar")
		if err := os.WriteFile(file, j.script, 0o600); err != nil {
			return err
		}
		args = append(args, "--script", file)
	}
	sim, err := o.sides[0].start(ctx, dir, nil, args...)
	if err != nil {
		return err
	}
	defer sim.stop()
	proxy, err := record(sim.address)
	if err != nil {
		return err
	}
	defer proxy.http.Close()
	for n, form := range forms {
		p := &playing{o: o, s: o.sides[i], j: j, form: form, dir: filepath.Join(dir, form.name)}
		if err := p.prepare(proxy.http.URL); err != nil {
			return err
		}
		if err := p.play(ctx, n); err != nil {
			return err
		}
		for k, up := range proxy.take() {
			fmt.Fprintf(&p.out, "-- upstream request %d --\n%s", k+1, up)
		}
		c.add(i, j.name+"/"+form.name, sortCalls(p.out.String()))
	}
	return nil
}

// playing is a journey in one form on one side.
type playing struct {
	o    *options
	s    *side
	j    *journey
	form runForm
	dir  string
	out  strings.Builder
}

// step is the program that implements each tool of a journey: it prints file after file.
const step = `n=$(cat "$1.calls" 2>/dev/null || echo 0)
n=$((n + 1))
echo $n >"$1.calls"
[ -e "$1.$n.text" ] || [ -e "$1.$n.error" ] || n=last
if [ -e "$1.$n.error" ]; then cat "$1.$n.error" >&2; exit 1; fi
cat "$1.$n.text"
`

// prepare writes the files of a run.
func (p *playing) prepare(address string) error {
	work := filepath.Join(p.dir, "work")
	files := map[string]string{
		"config.yaml": fmt.Sprintf("providers:\n  up-chat: {base_url: %[1]s/v1, wire: chat}\n  up-messages: {base_url: %[1]s/v1, wire: messages}\n  up-responses: {base_url: %[1]s/v1, wire: responses}\n", address),
		"step.sh":     step, "work/notes.txt": "one\ntwo\nthree\n", "work/docs/a.md": "A checkpoint is a question to a person.\n", "work/docs/b.md": "Nothing here.\n",
	}
	type definition struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Effects     []string        `json:"effects,omitempty"`
		Command     []string        `json:"command"`
	}
	var tools []definition
	for _, t := range p.j.tools {
		d := definition{Name: t.Name, Description: t.Description, Parameters: t.Schema, Command: []string{"sh", filepath.Join(p.dir, "step.sh"), filepath.Join(p.dir, t.Name)}}
		if t.Effects != "" {
			d.Effects = []string{t.Effects}
		}
		if d.Description == "" {
			d.Description = t.Name
		}
		tools = append(tools, d)
		for i, s := range t.Script {
			name, text := fmt.Sprintf("%s.%d.text", t.Name, i+1), strings.Repeat(s.Text, max(s.Repeat, 1))
			if s.Error != "" {
				name, text = fmt.Sprintf("%s.%d.error", t.Name, i+1), s.Error
			}
			files[name] = text
			files[strings.Replace(name, fmt.Sprintf(".%d.", i+1), ".last.", 1)] = text
		}
	}
	if tools != nil {
		data, err := json.Marshal(tools)
		if err != nil {
			return err
		}
		files["tools.yaml"] = string(data)
	}
	if p.j.set.Output != nil {
		files["output.json"] = string(p.j.set.Output)
	}
	if err := os.MkdirAll(filepath.Join(work, "docs"), 0o700); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// play runs the command, decides about calls that wait, and reads the record.
func (p *playing) play(ctx context.Context, n int) error {
	journal := filepath.Join(p.dir, "journal")
	common := []string{"--config", filepath.Join(p.dir, "config.yaml"), "--journal", journal}
	model := p.form.provider + "/" + p.form.model + p.j.set.Fault
	if p.j.set.Fault != "" {
		model += fmt.Sprintf("+seed=%d", n+1) // counts its requests alone
	}
	args := slices.Concat([]string{"run", "--json", "--mcp", "none", "-m", model}, common, p.form.args)
	if p.j.tools != nil {
		args = append(args, "--tools", filepath.Join(p.dir, "tools.yaml"))
	} else {
		args = append(args, "--allow", "write")
	}
	if p.j.set.System != "" {
		args = append(args, "--system", p.j.set.System)
	}
	if p.j.set.MaxTurns > 0 {
		args = append(args, "--max-turns", fmt.Sprint(p.j.set.MaxTurns))
	}
	if p.j.set.Output != nil {
		args = append(args, "--output-schema", filepath.Join(p.dir, "output.json"))
	}
	code, err := p.command(ctx, append(args, p.j.task)...)
	for round := 0; err == nil && code == 3 && p.form.later && round < 8; round++ {
		code, err = p.decide(ctx, journal, common, args)
	}
	if err != nil {
		return err
	}
	records, err := filepath.Glob(filepath.Join(journal, "*.jsonl"))
	if err != nil {
		return err
	}
	for _, file := range records {
		entries, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		fmt.Fprintf(&p.out, "-- journal --\n%s", chain.ReplaceAll(entries, []byte("$1")))
	}
	if len(records) > 0 && p.form.export {
		for _, more := range [][]string{{"receipts", "verify", "latest", "--journal", journal}, {"receipts", "export", "latest", "--journal", journal, "--out", filepath.Join(p.dir, "export")}} {
			if _, err := p.command(ctx, more...); err != nil {
				return err
			}
		}
		for _, name := range []string{"REPLAY.jsonl", "RECEIPT.json", "PR_SUMMARY.md"} {
			text, err := os.ReadFile(filepath.Join(p.dir, "export", name))
			fmt.Fprintf(&p.out, "-- %s --\n%s", name, text)
			if err != nil {
				fmt.Fprintln(&p.out, "there is no", name)
			}
		}
	}
	return nil
}

// decide approves the calls a run waits for and resumes it. Every second time it denies them.
func (p *playing) decide(ctx context.Context, journal string, common, args []string) (int, error) {
	runs, err := filepath.Glob(filepath.Join(journal, "*.jsonl"))
	if err != nil || len(runs) != 1 {
		return 0, errors.Join(err, fmt.Errorf("%d runs", len(runs)))
	}
	id := strings.TrimSuffix(filepath.Base(runs[0]), ".jsonl")
	if _, err := p.command(ctx, append([]string{"runs", "list", "--json"}, common...)...); err != nil {
		return 0, err
	}
	if code, err := p.command(ctx, append([]string{"runs", "approve", id, "--all", "--by", "ada", "--reason", "as agreed"}, common...)...); err != nil || code != 0 {
		return 0, err
	}
	return p.command(ctx, append(args[:len(args):len(args)], "--resume", id)...)
}

// command runs the build on the working folder and keeps its output.
func (p *playing) command(ctx context.Context, args ...string) (int, error) {
	cmd := exec.CommandContext(ctx, p.s.bin, args...)
	cmd.Env = p.s.env("HOME="+p.dir, "TMPDIR="+p.dir, "XDG_STATE_HOME="+p.dir, "TOOLPOST_MODELS="+filepath.Join(p.o.root, "conformance/gateway/models.yaml"))
	cmd.Dir = filepath.Join(p.dir, "work")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, err
	}
	fmt.Fprintf(&p.out, "-- %s --\nexit code %d\n%s-- stderr --\n%s", args[0], cmd.ProcessState.ExitCode(), stdout.String(), stderr.String())
	return cmd.ProcessState.ExitCode(), nil
}

// chain matches the places of a journal entry in its chain, which "receipts verify" checks.
var chain = regexp.MustCompile(`,"hash":"sha256:[0-9a-f]{64}"(,"kind":)|,"prev":"[^"]*"|,"seq":\d+`)

var ofCall = regexp.MustCompile(`"call(?:_id)?":"([^"]+)"`)

// sortCalls sorts successive lines about calls by the call: calls that run at the same time end in
// any order.
func sortCalls(text string) string {
	lines := strings.SplitAfter(text, "\n")
	id := func(line string) string {
		if m := ofCall.FindStringSubmatch(line); m != nil && line[0] == '{' && len(line) < 4000 {
			return m[1]
		}
		return ""
	}
	for i := 0; i < len(lines); i++ {
		n := i
		for n < len(lines) && id(lines[n]) != "" {
			n++
		}
		slices.SortStableFunc(lines[i:n], func(a, b string) int { return strings.Compare(id(a), id(b)) })
		i = max(i, n-1)
	}
	return strings.Join(lines, "")
}
