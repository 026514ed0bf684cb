package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/yamlcheck"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/tool/builtin"
)

// A Loader reads suites. Its zero value reads files whose tools are in files.
type Loader struct {
	// Tools returns the tools of an MCP server by its name; nil knows none.
	Tools func(server string) ([]llm.ToolDef, error)
}

// Load reads a suite: YAML, JSON lines with a case each, or a file of questions of the Berkeley Function Calling
// Leaderboard. A misspelt key is an error that names its line.
func Load(path string) (*Suite, error) { return new(Loader).Load(path) }

// Load reads a suite from a file.
func (l *Loader) Load(path string) (*Suite, error) {
	text, err := readText(path)
	if err != nil {
		return nil, err
	}
	if isBFCL(text) {
		return loadBFCL(path, text)
	}
	return l.Parse(path, text)
}

// Parse reads a suite from text. Files that it names are relative to the folder of path.
func (l *Loader) Parse(path string, text []byte) (*Suite, error) {
	r := &reader{Loader: l, path: path, dir: filepath.Dir(path), known: make(map[string]llm.ToolDef)}
	err := checkText(path, text)
	if err != nil {
		return nil, err
	}
	if start := bytes.TrimSpace(text); len(start) > 0 && start[0] == '{' {
		err = r.lines(text)
	} else {
		err = r.yaml(text)
	}
	if err != nil {
		return nil, err
	}
	if r.suite.Name == "" {
		r.suite.Name = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	}
	if err := r.suite.finish(path); err != nil {
		return nil, err
	}
	r.hash.Write(text)
	r.suite.Hash, r.suite.Source = hashText(r.hash.String()), path
	return &r.suite, nil
}

// reader collects a suite. hash collects the text of all its files.
type reader struct {
	*Loader
	path, dir string
	suite     Suite
	system    string
	maxTokens int
	known     map[string]llm.ToolDef // the tools of the suite
	all       []string               // their names, in order
	hash      bytes.Buffer
}

// suiteFile is the form of a YAML suite.
type suiteFile struct {
	Suite       string     `yaml:"suite" json:"suite"`
	Description string     `yaml:"description" json:"description"`
	System      string     `yaml:"system" json:"system"`
	MaxTokens   int        `yaml:"max_tokens" json:"max_tokens"`
	Tools       any        `yaml:"tools" json:"tools"`
	Cases       []ast.Node `yaml:"-" json:"-"`
}

// caseFile is the form of a case, in YAML and in JSON lines.
type caseFile struct {
	ID        string            `yaml:"id" json:"id"`
	Task      string            `yaml:"task" json:"task"`
	System    string            `yaml:"system" json:"system"`
	Messages  []messageFile     `yaml:"messages" json:"messages"`
	Tools     any               `yaml:"tools" json:"tools"`
	Choice    string            `yaml:"choice" json:"choice"`
	Output    any               `yaml:"output" json:"output"`
	MaxTokens int               `yaml:"max_tokens" json:"max_tokens"`
	Results   map[string]any    `yaml:"results" json:"results"`
	Files     map[string]string `yaml:"files" json:"files"`
	User      *userFile         `yaml:"user" json:"user"`
	Turns     int               `yaml:"turns" json:"turns"`
	Tags      []string          `yaml:"tags" json:"tags"`
	Weight    *float64          `yaml:"weight" json:"weight"`
	Expect    expectFile        `yaml:"expect" json:"expect"`
}

type messageFile struct {
	Role string `yaml:"role" json:"role"`
	Text string `yaml:"text" json:"text"`
}

type userFile struct {
	Model string `yaml:"model" json:"model"`
	Goal  string `yaml:"goal" json:"goal"`
	Turns int    `yaml:"turns" json:"turns"`
}

type expectFile struct {
	Calls   []map[string]any    `yaml:"calls" json:"calls"`
	Ordered bool                `yaml:"ordered" json:"ordered"`
	Extra   bool                `yaml:"extra_calls" json:"extra_calls"`
	NoCall  bool                `yaml:"no_call" json:"no_call"`
	Some    bool                `yaml:"some_call" json:"some_call"`
	Answer  any                 `yaml:"answer" json:"answer"`
	Text    textFile            `yaml:"text" json:"text"`
	Files   map[string]textFile `yaml:"files" json:"files"`
	Judge   string              `yaml:"judge" json:"judge"`
}

type textFile struct {
	Equals   *string  `yaml:"equals" json:"equals"`
	Contains []string `yaml:"contains" json:"contains"`
	Lacks    []string `yaml:"lacks" json:"lacks"`
	Matches  string   `yaml:"matches" json:"matches"`
	Absent   bool     `yaml:"absent" json:"absent"`
}

// yaml reads a YAML suite.
func (r *reader) yaml(text []byte) error {
	if err := yamlcheck.Check(text); err != nil {
		return r.located(err)
	}
	file, err := yamlcheck.Parse(text)
	if err != nil {
		return r.located(err)
	}
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		return r.document(doc.Body)
	}
	return fmt.Errorf("%s: the file is empty", r.path)
}

func (r *reader) document(body ast.Node) error {
	top, ok := body.(*ast.MappingNode)
	if !ok {
		return fmt.Errorf("%s:%d: a suite is a mapping with the key cases", r.path, body.GetToken().Position.Line)
	}
	var cases *ast.SequenceNode
	head := *top
	head.Values = nil
	for _, v := range top.Values {
		if list, ok := v.Value.(*ast.SequenceNode); ok && v.Key.String() == "cases" {
			cases = list
			continue
		}
		head.Values = append(head.Values, v)
	}
	if cases == nil {
		return fmt.Errorf("%s: the suite has no list of cases", r.path)
	}
	if err := r.wholeNumbers(&head); err != nil {
		return err
	}
	var s suiteFile
	if len(head.Values) > 0 {
		if err := yaml.NodeToValue(&head, &s, yaml.Strict()); err != nil {
			return r.located(err)
		}
	}
	r.suite.Name, r.suite.Description, r.system, r.maxTokens = s.Suite, s.Description, s.System, s.MaxTokens
	if err := r.suiteTools(s.Tools); err != nil {
		return fmt.Errorf("%s: tools: %w", r.path, err)
	}
	for _, n := range cases.Values {
		if err := r.wholeNumbers(n); err != nil {
			return err
		}
		var c caseFile
		if err := yaml.NodeToValue(n, &c, yaml.Strict()); err != nil {
			return r.located(err)
		}
		if err := r.add(&c, n.GetToken().Position.Line, n); err != nil {
			return err
		}
	}
	return nil
}

// lines reads JSON lines with a case each.
func (r *reader) lines(text []byte) error {
	line := 0
	for row := range bytes.Lines(text) {
		line++
		if len(bytes.TrimSpace(row)) == 0 {
			continue
		}
		var c caseFile
		if err := decodeLine(row, &c); err != nil {
			return fmt.Errorf("%s:%d: %w", r.path, line, err)
		}
		if err := r.add(&c, line, nil); err != nil {
			return err
		}
	}
	return nil
}

// add converts a case. n is its place in a file of YAML.
func (r *reader) add(f *caseFile, line int, n ast.Node) error {
	c, err := r.convert(f)
	if unknown := new(unknownCondition); n != nil && errors.As(err, &unknown) {
		line = lineOfKey(n, unknown.key, line)
	}
	if err != nil {
		return fmt.Errorf("%s:%d: case %q: %w", r.path, line, f.ID, err)
	}
	c.Line = line
	r.suite.Cases = append(r.suite.Cases, c)
	return nil
}

func (r *reader) convert(f *caseFile) (Case, error) {
	c := Case{
		ID: f.ID, System: f.System, MaxTokens: f.MaxTokens, Files: f.Files, Turns: f.Turns, Tags: f.Tags, Weight: 1,
		Expect: Expect{Ordered: f.Expect.Ordered, Extra: f.Expect.Extra, NoCall: f.Expect.NoCall, SomeCall: f.Expect.Some, Rubric: f.Expect.Judge},
	}
	if c.System == "" {
		c.System = r.system
	}
	if c.MaxTokens == 0 {
		c.MaxTokens = r.maxTokens
	}
	if f.Weight != nil {
		c.Weight = *f.Weight
	}
	if f.User != nil {
		c.User = &User{Model: f.User.Model, Goal: f.User.Goal, Turns: f.User.Turns}
		if f.User.Goal == "" || f.User.Model == "" {
			return c, errors.New("user needs a model, which plays the person, and a goal")
		}
	}
	var err error
	steps := []func() error{
		func() error { c.Messages, err = messages(f); return err },
		func() error { c.Choice, err = choice(f.Choice); return err },
		func() error { c.Output, err = asSchema(f.Output); return err },
		func() error { c.Results, err = results(f.Results); return err },
		func() error { c.Tools, err = r.tools(f.Tools); return err },
		func() error { c.Expect.Calls, err = calls(f.Expect.Calls); return err },
		func() error { c.Expect.Answer, err = asSchema(f.Expect.Answer); return err },
		func() error { c.Expect.Text, err = text(f.Expect.Text); return err },
		func() error { c.Expect.Files, err = files(f.Expect.Files); return err },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return c, err
		}
	}
	if len(c.Files) > 0 { // which bring the file tools themselves
		c.Tools, err = withoutFileTools(c.Tools)
	}
	return c, err
}

// withoutFileTools leaves out the built-in tools that a case with files has anyway.
func withoutFileTools(defs []llm.ToolDef) ([]llm.ToolDef, error) {
	own, err := builtInTools()
	return slices.DeleteFunc(slices.Clone(defs), func(d llm.ToolDef) bool {
		return slices.Contains(fileTools, d.Name) && slices.ContainsFunc(own, func(o llm.ToolDef) bool { return o.Name == d.Name && o.Description == d.Description })
	}), err
}

func messages(f *caseFile) ([]llm.Message, error) {
	if f.Task != "" && len(f.Messages) > 0 {
		return nil, errors.New("task and messages exclude each other")
	}
	if f.Task != "" {
		return []llm.Message{llm.User(f.Task)}, nil
	}
	var out []llm.Message
	for i, m := range f.Messages {
		role := llm.Role(m.Role)
		if role != llm.RoleUser && role != llm.RoleAssistant && role != llm.RoleSystem {
			return nil, fmt.Errorf("messages[%d].role must be system, user or assistant, not %q", i, m.Role)
		}
		out = append(out, llm.Message{Role: role, Parts: []llm.Part{llm.Text{Text: m.Text}}})
	}
	return out, nil
}

func choice(word string) (llm.ToolChoice, error) {
	switch name, named := strings.CutPrefix(word, "tool:"); {
	case word == "" || word == "auto":
		return llm.ToolChoice{}, nil
	case word == "none":
		return llm.ToolChoice{Mode: llm.MustNotCall}, nil
	case word == "required":
		return llm.ToolChoice{Mode: llm.MustCall}, nil
	case named && name != "":
		return llm.ToolChoice{Mode: llm.MustCall, Name: name}, nil
	}
	return llm.ToolChoice{}, fmt.Errorf("choice must be auto, none, required or tool:NAME, not %q", word)
}

// asJSON returns a value of YAML or JSON as JSON; nil stays nil.
func asJSON(v any) (json.RawMessage, error) {
	if v == nil {
		return nil, nil
	}
	return json.Marshal(v)
}

func asSchema(v any) (json.RawMessage, error) {
	s, err := asJSON(v)
	if s == nil || err != nil {
		return nil, err
	}
	return s, nil
}

// results reads what tools return: a text, any JSON value, or {error: TEXT}.
func results(list map[string]any) (map[string]CannedResult, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := make(map[string]CannedResult, len(list))
	for name, v := range list {
		if s, ok := v.(string); ok {
			out[name] = CannedResult{Text: s}
			continue
		}
		raw, err := asJSON(v)
		if err != nil {
			return nil, err
		}
		if m, ok := v.(map[string]any); ok && len(m) == 1 && js.Kind(js.Get(raw, "error")) == '"' {
			out[name] = CannedResult{Text: js.Text(js.Get(raw, "error")), Error: true}
			continue
		}
		out[name] = CannedResult{Text: string(raw)}
	}
	return out, nil
}

func text(f textFile) (TextMatch, error) {
	if f.Absent {
		return TextMatch{}, errors.New("absent is for files only")
	}
	m := TextMatch{Equals: f.Equals, Contains: f.Contains, Lacks: f.Lacks}
	if f.Matches != "" {
		var err error
		if m.Matches, err = regexp.Compile(f.Matches); err != nil {
			return m, fmt.Errorf("matches: %w", err)
		}
	}
	return m, nil
}

func files(list map[string]textFile) (map[string]FileMatch, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := make(map[string]FileMatch, len(list))
	for name, f := range list {
		absent := f.Absent
		f.Absent = false
		m, err := text(f)
		if err != nil {
			return nil, fmt.Errorf("files %s: %w", name, err)
		}
		if absent && !m.empty() {
			return nil, fmt.Errorf("files %s: absent excludes the others", name)
		}
		out[name] = FileMatch{Absent: absent, TextMatch: m}
	}
	return out, nil
}

// calls reads expected calls: each is NAME: {ARGUMENT: MATCH, …}, or NAME: any.
func calls(list []map[string]any) ([]ExpectedCall, error) {
	var out []ExpectedCall
	for i, entry := range list {
		if len(entry) != 1 {
			return nil, fmt.Errorf("calls[%d] must be the name of a tool with its arguments, like get_weather: {city: Rome}", i)
		}
		for name, v := range entry {
			call := ExpectedCall{Name: name, Args: make(map[string]Match)}
			switch v := v.(type) {
			case nil:
			case string:
				if v != "any" {
					return nil, fmt.Errorf("calls[%d]: the arguments of %s must be a mapping or the word any, not %q", i, name, v)
				}
				call.AnyArgs = true
			case map[string]any:
				for arg, want := range v {
					m, err := match(want)
					if err != nil {
						return nil, fmt.Errorf("calls[%d]: %s.%s: %w", i, name, arg, err)
					}
					call.Args[arg] = m
				}
			default:
				return nil, fmt.Errorf("calls[%d]: the arguments of %s must be a mapping", i, name)
			}
			out = append(out, call)
		}
	}
	return out, nil
}

// match reads what an argument must be. A mapping whose keys begin with $ is a condition; other values must be equal,
// and conditions may be inside of them.
func match(v any) (Match, error) {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			if strings.HasPrefix(key, "$") {
				return condition(v)
			}
		}
		m := Match{Members: make(map[string]Match, len(v))}
		for key, want := range v {
			inner, err := match(want)
			if err != nil {
				return m, fmt.Errorf("%s: %w", key, err)
			}
			m.Members[key] = inner
		}
		return m, nil
	case []any:
		m := Match{Items: make([]Match, len(v))}
		for i, want := range v {
			var err error
			if m.Items[i], err = match(want); err != nil {
				return m, err
			}
		}
		return m, nil
	}
	raw, err := json.Marshal(v)
	return Match{Value: raw}, err
}

// conditionKeys are the conditions that an argument may have; $optional may be next to any.
const conditionKeys = "$any, $one_of, $optional, $pattern, $range, $schema, $text"

// set reads one condition.
func (m *Match) set(key string, v any) (err error) {
	s, isText := v.(string)
	switch key {
	case "$any":
		m.Any = true
		return wantTrue(v)
	case "$one_of":
		list, ok := v.([]any)
		if !ok || len(list) == 0 {
			return errors.New("$one_of needs a list")
		}
		for _, alternative := range list {
			inner, err := match(alternative)
			if err != nil {
				return err
			}
			m.AnyOf = append(m.AnyOf, inner)
		}
		return nil
	case "$text":
		if !isText {
			return errors.New("$text needs a text")
		}
		m.Fold = true
		m.Value, err = json.Marshal(s)
		return err
	case "$pattern":
		if !isText {
			return errors.New("$pattern needs a regular expression")
		}
		m.Pattern, err = regexp.Compile(s)
		return err
	case "$range":
		raw, err := json.Marshal(v)
		var ends []float64
		if err != nil || json.Unmarshal(raw, &ends) != nil || len(ends) != 2 || ends[0] > ends[1] {
			return errors.New("$range needs the least and the greatest number, like [0, 10]")
		}
		m.Range = &[2]float64{ends[0], ends[1]}
		return nil
	case "$schema":
		s, err := asSchema(v)
		if err != nil {
			return err
		}
		m.Schema, err = schema.Compile(s)
		return err
	}
	return &unknownCondition{key}
}

// unknownCondition is the error of a misspelt condition.
type unknownCondition struct{ key string }

func (e *unknownCondition) Error() string {
	return fmt.Sprintf("unknown condition %q; conditions are %s", e.key, conditionKeys)
}

func condition(v map[string]any) (Match, error) {
	var m Match
	set := 0
	for key, value := range v {
		if key == "$optional" {
			m.Optional = true
			if err := wantTrue(value); err != nil {
				return m, err
			}
			continue
		}
		set++
		if err := m.set(key, value); err != nil {
			return m, err
		}
	}
	switch {
	case set > 1:
		return m, errors.New("one condition at a time; only $optional goes with another")
	case set == 0:
		m.Any = true
	}
	return m, nil
}

func wantTrue(v any) error {
	if v != true {
		return errors.New("$any and $optional take only true")
	}
	return nil
}

// suiteTools reads the tools of the suite, which all its cases have unless they name others.
func (r *reader) suiteTools(v any) error {
	defs, err := r.definitions(v)
	if err != nil {
		return err
	}
	for _, d := range defs {
		r.known[d.Name] = d
		r.all = append(r.all, d.Name)
	}
	return nil
}

// tools returns the tools of a case: nil takes those of the suite, a list may name some of them.
func (r *reader) tools(v any) ([]llm.ToolDef, error) {
	if v == nil {
		out := make([]llm.ToolDef, len(r.all))
		for i, name := range r.all {
			out[i] = r.known[name]
		}
		return out, nil
	}
	return r.definitions(v)
}

// definitions reads tools: the name of a file, mcp:SERVER, or a list of definitions and of names of known tools.
func (r *reader) definitions(v any) ([]llm.ToolDef, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case string:
		return r.source(v)
	case []any:
		var out []llm.ToolDef
		for _, item := range v {
			name, ok := item.(string)
			if m, mapping := item.(map[string]any); mapping && len(m) == 1 { // builtin: NAME, and builtin:NAME in brackets
				if own, text := m["builtin"].(string); text {
					name, ok = "builtin:"+own, true
				}
			}
			if ok {
				d, err := r.named(name)
				if err != nil {
					return nil, err
				}
				out = append(out, d)
				continue
			}
			raw, err := json.Marshal(item)
			if err != nil {
				return nil, err
			}
			defs, err := parseTools(append(append([]byte{'['}, raw...), ']'))
			if err != nil {
				return nil, err
			}
			out = append(out, defs...)
		}
		return out, nil
	}
	return nil, errors.New("tools must be a file, mcp:SERVER, builtin or a list")
}

// named returns a tool of the suite, or with the prefix builtin: one of the program.
func (r *reader) named(name string) (llm.ToolDef, error) {
	own, builtIn := strings.CutPrefix(name, "builtin:")
	if !builtIn {
		if d, ok := r.known[name]; ok {
			return d, nil
		}
		return llm.ToolDef{}, fmt.Errorf("the suite has no tool %q; builtin:NAME is one of the program", name)
	}
	defs, err := builtInTools()
	if err != nil {
		return llm.ToolDef{}, err
	}
	names := make([]string, len(defs))
	for i, d := range defs {
		if d.Name == own {
			return d, nil
		}
		names[i] = d.Name
	}
	return llm.ToolDef{}, fmt.Errorf("there is no built-in tool %q; there are %s", own, strings.Join(names, ", "))
}

// builtInTools returns the definitions of the tools of the program that need no account. A case never runs them, but for the
// tools of its own files.
var builtInTools = sync.OnceValues(func() ([]llm.ToolDef, error) {
	dir, err := os.MkdirTemp("", "toolpost-eval-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	files, err := builtin.OpenFiles(dir)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	set, err := tool.NewSet(append(files.Tools(), builtin.Command{Dir: dir}.Tool(), builtin.Fetch{}.Tool())...)
	if err != nil {
		return nil, err
	}
	return set.Defs(), nil
})

// source reads the tools of a file or a server.
func (r *reader) source(name string) ([]llm.ToolDef, error) {
	if name == "builtin" {
		return builtInTools()
	}
	if server, ok := strings.CutPrefix(name, "mcp:"); ok {
		if r.Tools == nil {
			return nil, fmt.Errorf("%s: no MCP servers are known here", name)
		}
		defs, err := r.Tools(server)
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(defs)
		r.hash.Write(text)
		return defs, err
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(r.dir, name)
	}
	text, err := readText(name)
	if err != nil {
		return nil, err
	}
	r.hash.Write(text)
	return parseTools(text)
}

func parseTools(text []byte) ([]llm.ToolDef, error) {
	var defs []tool.Definition
	var err error
	if start := bytes.TrimSpace(text); len(start) > 0 && (start[0] == '[' || start[0] == '{') {
		defs, err = tool.ParseDefs(text)
	} else {
		var declared []builtin.Declared
		declared, err = builtin.ParseDeclared(text)
		for _, d := range declared {
			defs = append(defs, d.Definition)
		}
	}
	out := make([]llm.ToolDef, len(defs))
	for i, d := range defs {
		out[i] = d.ToolDef
		out[i].Schema = schema.Normalize(out[i].Schema)
	}
	return out, err
}

// hashText returns a short name for a text.
func hashText(text string) string {
	h, err := journal.HashValue(text)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(string(h), "sha256:")[:16]
}
