package builtin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/toolpost/toolpost/internal/yamlcheck"
	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/tool"
)

// Declared is a tool that a file describes: its description for the model, as
// in every file of tools, and its implementation. Without a Command and an HTTP
// it only describes another tool in different words; see [Declared.Redescribe].
type Declared struct {
	tool.Definition
	Effects tool.Effects
	// Timeout limits one attempt; 0 leaves it to the runner.
	Timeout time.Duration

	// Command is a program and its arguments. {name} in an argument is replaced
	// by the call's argument of that name. An argument that consists only of
	// {name} is omitted if the call lacks it, and repeated for each item of a
	// list. The program runs without a shell. It reads all arguments of the
	// call as one JSON object from its standard input.
	Command []string
	// Env are names of environment variables that the program gets in addition
	// to the usual ones.
	Env []string

	// HTTP asks a server.
	HTTP *Endpoint
}

// Endpoint is the request of a declared tool to a server.
type Endpoint struct {
	// URL may hold {name} for the call's argument of that name, anywhere after
	// the host. A GET or DELETE sends the other arguments as its query, any
	// other method sends all of them as a JSON object.
	URL string `json:"url"`
	// Method is POST unless set.
	Method string `json:"method"`
	// Headers may hold ${NAME} for an environment variable.
	Headers map[string]string `json:"headers"`
}

// declaredKeys are the keys that a declared tool may have: the keys of
// definitions in every vendor's form, and the keys of the implementation.
var declaredKeys = strings.Fields("id name title description parameters input_schema inputSchema schema examples type function strict annotations effects timeout command env http")

// maxDeclared limits a file of declared tools.
const maxDeclared = 4 << 20

// ParseDeclared reads a file of tools in JSON, in every form [tool.ParseDefs]
// knows, or in YAML. It is strict: a key it does not know is an error, because
// its setting would be ignored.
func ParseDeclared(text []byte) ([]Declared, error) {
	if len(text) > maxDeclared {
		return nil, fmt.Errorf("builtin: a file of tools of more than %d bytes", maxDeclared)
	}
	text, err := asJSON(text)
	if err != nil {
		return nil, err
	}
	var out []Declared
	for raw, err := range declarations(text) {
		if err != nil {
			return nil, fmt.Errorf("builtin: tool %d: %w", len(out)+1, err)
		}
		d, err := parseDeclared(raw)
		if err != nil {
			return nil, fmt.Errorf("builtin: tool %d (%s): %w", len(out)+1, nameOf(raw), err)
		}
		out = append(out, d)
	}
	return out, nil
}

// asJSON returns text as JSON if it is YAML.
func asJSON(text []byte) ([]byte, error) {
	if start := bytes.TrimSpace(text); len(start) == 0 || start[0] == '{' || start[0] == '[' {
		return text, nil
	}
	if err := yamlcheck.Check(text); err != nil {
		return nil, fmt.Errorf("builtin: %w", err)
	}
	out, err := yamlAsJSON(text)
	if err != nil {
		var at yaml.Error
		if errors.As(err, &at) && at.GetToken() != nil {
			return nil, fmt.Errorf("line %d: %s", at.GetToken().Position.Line, at.GetMessage())
		}
	}
	return out, err
}

// yamlAsJSON returns a YAML document as JSON, with its keys in their order and its merge keys (<<) expanded.
func yamlAsJSON(text []byte) ([]byte, error) {
	file, err := yamlcheck.Parse(text)
	if err != nil {
		return nil, err
	}
	var v any
	for _, doc := range file.Docs {
		if doc.Body != nil && doc.Body.Type() != ast.CommentType {
			if err := yaml.NodeToValue(doc.Body, &v, yaml.UseOrderedMap()); err != nil {
				return nil, err
			}
			break
		}
	}
	return yaml.MarshalWithOptions(v, yaml.JSON())
}

// declarations yields the tools of a file, each as its own JSON object.
func declarations(text []byte) func(func(json.RawMessage, error) bool) {
	return func(yield func(json.RawMessage, error) bool) {
		dec := json.NewDecoder(bytes.NewReader(text))
		for dec.More() {
			var raw json.RawMessage
			if err := dec.Decode(&raw); err != nil {
				yield(nil, err)
				return
			}
			list := []json.RawMessage{raw}
			var wrapped struct {
				Tools []json.RawMessage `json:"tools"`
			}
			var plain []json.RawMessage
			if json.Unmarshal(raw, &plain) == nil && plain != nil {
				list = plain
			} else if json.Unmarshal(raw, &wrapped) == nil && wrapped.Tools != nil {
				list = wrapped.Tools
			}
			for _, one := range list {
				if !yield(one, nil) {
					return
				}
			}
		}
	}
}

func nameOf(raw json.RawMessage) string {
	var d struct {
		Name     string
		Function struct{ Name string }
	}
	_ = json.Unmarshal(raw, &d)
	if d.Name == "" {
		d.Name = d.Function.Name
	}
	if d.Name == "" {
		return "without a name"
	}
	return d.Name
}

func parseDeclared(raw json.RawMessage) (Declared, error) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(raw, &keys); err != nil || keys == nil {
		return Declared{}, errors.New("it is not an object with keys and values")
	}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if !slices.Contains(declaredKeys, k) {
			return Declared{}, fmt.Errorf("the key %q is not known: %s", k, strings.Join(declaredKeys, " "))
		}
	}
	defs, err := tool.ParseDefs(raw)
	if err != nil {
		return Declared{}, errors.New(strings.TrimPrefix(err.Error(), "tool: definition 1: "))
	}
	var work struct {
		Effects []string  `json:"effects"`
		Timeout string    `json:"timeout"`
		Command []string  `json:"command"`
		Env     []string  `json:"env"`
		HTTP    *Endpoint `json:"http"`
	}
	if err := json.Unmarshal(raw, &work); err != nil {
		return Declared{}, err
	}
	d := Declared{Definition: defs[0], Command: work.Command, Env: work.Env, HTTP: work.HTTP}
	if work.Timeout != "" {
		if d.Timeout, err = time.ParseDuration(work.Timeout); err != nil || d.Timeout <= 0 {
			return d, fmt.Errorf("timeout %q is not a duration like 30s", work.Timeout)
		}
	}
	if d.Effects, err = parseEffects(work.Effects); err != nil {
		return d, err
	}
	return d, d.check()
}

// promises are the words of "effects".
var promises = map[string]tool.Effects{"read_only": tool.ReadOnly, "idempotent": tool.Idempotent, "local": tool.Local}

func parseEffects(words []string) (tool.Effects, error) {
	var e tool.Effects
	for _, w := range words {
		p, ok := promises[w]
		if !ok {
			return 0, fmt.Errorf("effects %q is not one of %s", w, strings.Join(slices.Sorted(maps.Keys(promises)), ", "))
		}
		e |= p
	}
	return e, nil
}

// check refuses mistakes that only the first call would reveal.
func (d Declared) check() error {
	switch {
	case len(d.Command) > 0 && d.HTTP != nil:
		return errors.New("it has both a command and an http: one does the work")
	case d.Command != nil && (len(d.Command) == 0 || d.Command[0] == ""):
		return errors.New("its command names no program")
	case len(d.Command) > 0 && strings.ContainsAny(d.Command[0], "{}"):
		return errors.New("the program itself cannot come from the call")
	case len(d.Env) > 0 && len(d.Command) == 0:
		return errors.New("env is for a command")
	case !d.Works() && (d.Effects != 0 || d.Timeout != 0):
		return errors.New("effects and timeout belong to a tool with a command or an http")
	case d.HTTP != nil:
		if err := d.HTTP.check(); err != nil {
			return err
		}
	}
	return d.checkPlaces()
}

// checkPlaces refuses a {name} that no argument can have.
func (d Declared) checkPlaces() error {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(d.Schema, &s)
	texts := d.Command
	if d.HTTP != nil {
		texts = []string{d.HTTP.URL}
	}
	for _, text := range texts {
		for _, name := range places(text) {
			if _, ok := s.Properties[name]; !ok {
				return fmt.Errorf("{%s} is not a parameter of its schema", name)
			}
		}
	}
	return nil
}

// Works reports whether d has an implementation.
func (d Declared) Works() bool { return len(d.Command) > 0 || d.HTTP != nil }

// Tool returns d as a tool. The Dir and the containment of c apply to its
// programs; the other fields of c are ignored. source names the file, for
// people. It is an error if d lacks an implementation.
func (d Declared) Tool(c Command, source string) (tool.Tool, error) {
	t := tool.Tool{
		Name: d.Name, Description: d.Description, Input: schema.Schema(d.Schema), Examples: d.Examples,
		Effects: d.Effects, Timeout: d.Timeout, Origin: tool.File, Source: source, Preview: d.preview(c.Dir), Bind: d.bind(c.Dir),
	}
	switch {
	case len(d.Command) > 0:
		t.Call = d.command(c)
	case d.HTTP != nil:
		t.Call = d.HTTP.call
	default:
		return t, fmt.Errorf("%s has neither a command nor an http, and no tool of that name is there to be described", d.Name)
	}
	return t, nil
}

// Redescribe returns t with the description and examples of d, where d has any.
// The schema stays: the implementation decides which arguments it takes.
func (d Declared) Redescribe(t tool.Tool) tool.Tool {
	if d.Description != "" {
		t.Description = d.Description
	}
	if len(d.Examples) > 0 {
		t.Examples = d.Examples
	}
	return t
}

// places returns the names in braces.
func places(text string) []string {
	var names []string
	for {
		_, rest, ok := strings.Cut(text, "{")
		if !ok {
			return names
		}
		name, tail, ok := strings.Cut(rest, "}")
		if !ok {
			return names
		}
		if !strings.HasPrefix(name, "{") && name != "" {
			names = append(names, name)
		}
		text = tail
	}
}
