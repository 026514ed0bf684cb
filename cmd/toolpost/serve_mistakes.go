package main

import (
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/internal/yamlcheck"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

// mistake is something in a configuration that is wrong, or may be.
type mistake struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"` // 0 if it does not stand in the file
	Path    string `json:"path,omitempty"` // like gateway.routes[0].to[1].model
	Problem string `json:"problem"`
	Warning bool   `json:"warning,omitempty"` // the gateway begins all the same
}

// String is the mistake in one line.
func (m mistake) String() string {
	text := m.Problem
	if m.Path != "" {
		text = m.Path + ": " + text
	}
	switch {
	case m.Line > 0:
		return fmt.Sprintf("%s:%d: %s", m.File, m.Line, text)
	case m.File != "":
		return m.File + ": " + text
	}
	return text
}

// placedError is a problem of a setting.
type placedError struct {
	path string // below gateway
	err  error
}

func (e *placedError) Error() string { return "gateway: " + e.path + ": " + e.err.Error() }
func (e *placedError) Unwrap() error { return e.err }

// mistakes are those of one file.
type mistakes struct {
	file string
	tree *ast.File
	list []mistake
}

// add takes a problem down. What has the form of a secret is not repeated.
func (m *mistakes) add(line int, path, problem string, warning bool) {
	clean, _ := new(journal.Secrets).Strip(problem)
	m.list = append(m.list, mistake{m.file, line, path, clean, warning})
}

// addError takes all problems down that are joined in an error.
func (m *mistakes) addError(err error) {
	var placed *placedError
	var route *gateway.RouteError
	joined, isJoined := err.(interface{ Unwrap() []error })
	if !isJoined && err != nil && !errors.As(err, &placed) {
		joined, isJoined = errors.Unwrap(err).(interface{ Unwrap() []error }) // a word before a list
		_, isRoute := err.(*gateway.RouteError)
		isJoined = isJoined && !isRoute
	}
	switch {
	case err == nil:
	case isJoined:
		for _, e := range joined.Unwrap() {
			m.addError(e)
		}
	case errors.As(err, &placed):
		m.at("gateway."+placed.path, placed.err.Error(), false)
	case errors.As(err, &route):
		m.addRoute(route)
	default:
		m.add(0, "", strings.TrimPrefix(err.Error(), m.file+": "), false)
	}
}

func (m *mistakes) addRoute(e *gateway.RouteError) {
	list := []error{e.Err}
	if joined, ok := e.Err.(interface{ Unwrap() []error }); ok {
		list = joined.Unwrap()
	}
	for _, err := range list {
		m.at(fmt.Sprintf("gateway.routes[%d]", e.Route), fmt.Sprintf("route %d (%s): %s", e.Route+1, e.Model, err), false)
	}
}

// at takes a problem of a place down, with the line on which it, or what it is a part of, stands.
func (m *mistakes) at(path, problem string, warning bool) {
	m.add(m.line(path), path, problem, warning)
}

func (m *mistakes) line(path string) int {
	for m.tree != nil && path != "" {
		if p, err := yaml.PathString("$." + path); err == nil {
			if n, err := p.FilterFile(m.tree); err == nil && n != nil && n.GetToken() != nil && n.GetToken().Position != nil {
				return n.GetToken().Position.Line
			}
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return 0
}

// read looks at the structure of a file: keys that are not known and values that are none.
func (m *mistakes) read() error {
	text, err := readFile(m.file, maxConfig)
	if err != nil {
		return err
	}
	line := new(yamlcheck.LineError)
	if err := yamlcheck.Check(text); errors.As(err, &line) {
		m.add(line.Line, "", line.Problem, false)
		return nil
	} else if err != nil {
		m.add(0, "", err.Error(), false)
		return nil
	}
	if m.tree, err = parser.ParseBytes(text, 0); err != nil {
		line, problem := configProblem(err)
		m.add(line, "", problem, false)
		return nil
	}
	for _, doc := range m.tree.Docs {
		m.walk(doc.Body, reflect.TypeFor[settings](), "")
	}
	return nil
}

// walk looks at a value that should be of a type.
func (m *mistakes) walk(n ast.Node, t reflect.Type, path string) {
	switch n := n.(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode:
		return
	case *ast.MappingNode, *ast.MappingValueNode:
		if ours := t.Kind() == reflect.Struct && t.PkgPath() == reflect.TypeFor[settings]().PkgPath(); ours {
			m.members(n, t, path)
			return
		}
	case *ast.SequenceNode:
		if t.Kind() == reflect.Slice {
			for i, v := range n.Values {
				m.walk(v, t.Elem(), fmt.Sprintf("%s[%d]", path, i))
			}
			return
		}
	}
	if err := yaml.NodeToValue(n, reflect.New(t).Interface(), yaml.Strict(), yaml.DisallowUnknownField()); err != nil {
		line, problem := configProblem(err)
		if line == 0 && n.GetToken() != nil && n.GetToken().Position != nil {
			line = n.GetToken().Position.Line
		}
		m.add(line, path, problem, false)
	}
}

// members looks at the members of a mapping.
func (m *mistakes) members(n ast.Node, t reflect.Type, path string) {
	known := map[string]reflect.Type{}
	settingKeys(t, known)
	for k, v := range members(n) {
		name := scalar(k)
		if name == "" || name == "<<" {
			continue // decoding says what is wrong
		}
		in, ok := known[name]
		if ok {
			m.walk(v, in, strings.TrimPrefix(path+"."+name, "."))
			continue
		}
		problem := fmt.Sprintf("the key %q is not known", name)
		if near := nearest(name); near != "" && path == "" {
			problem += "; did you mean " + near + "?"
		}
		m.add(k.GetToken().Position.Line, strings.TrimPrefix(path+"."+name, "."), problem, false)
	}
}

// settingKeys adds the keys of a struct of settings, and what they are.
func settingKeys(t reflect.Type, into map[string]reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case opts == "inline":
			settingKeys(f.Type, into)
		case f.IsExported() && name != "":
			into[name] = f.Type
		}
	}
}

// mistakesIn looks at everything in the configuration of a serve that is not started. Settings that
// cannot be read leave the rest of the checks out.
func (v *serving) mistakesIn(addr string) (*mistakes, *settings) {
	m := new(mistakes)
	file, named := configFile(v.cmd)
	if file != "" {
		m.file = file
		if err := m.read(); errors.Is(err, fs.ErrNotExist) && !named {
			m.file = ""
		} else if err != nil {
			m.add(0, "", fmt.Sprintf("the configuration cannot be read: %v", err), false)
			return m, nil
		}
	}
	if len(m.list) > 0 {
		s := v.lenient(m)
		if s != nil {
			m.addError(s.Gateway.problems(addressOf(s, addr)))
		}
		return m, nil
	}
	s, setup, err := v.setup()
	if err != nil {
		m.addError(err)
		return m, nil
	}
	addr = addressOf(s, addr)
	m.addError(s.Gateway.problems(addr))
	m.addError(s.loops(addr, setup.Open))
	if live, err := gateway.NewLive(setup); err != nil {
		m.addError(err)
	} else {
		live.Close()
	}
	for _, w := range s.missingKeys(setup.Open) {
		m.at(w.path, w.err.Error(), true)
	}
	if _, err := v.guards.handler(v.cmd, addr, nil, s); err != nil {
		m.addError(err)
	}
	return m, s
}

// lenient reads what can be read of a file that has keys which are not known; nil if more is wrong.
func (v *serving) lenient(m *mistakes) *settings {
	text, err := readFile(m.file, maxConfig)
	if err != nil || slices.ContainsFunc(m.list, func(x mistake) bool { return !strings.Contains(x.Problem, "is not known") }) {
		return nil
	}
	s := new(settings)
	if yaml.Unmarshal(text, s) != nil {
		return nil
	}
	return s
}

// missingKeys says which upstreams have no key.
func (s *settings) missingKeys(open func(string, gateway.Way) (llm.Model, error)) (list []placedError) {
	for i, r := range s.Gateway.Routes {
		for k, u := range r.To {
			m, err := open(strings.Replace(u.Model, "*", "x", 1), gateway.Way{Tools: provider.RouteKind(u.Tools), Style: u.Style})
			known, ok := m.(interface{ Ready() error })
			if err != nil || !ok {
				continue
			}
			if err := known.Ready(); err != nil {
				list = append(list, placedError{fmt.Sprintf("gateway.routes[%d].to[%d].model", i, k), fmt.Errorf("clients of %s get no answer: %w", r.Model, err)})
			}
		}
	}
	return list
}

// serveCheck says everything that is wrong with a configuration, and starts nothing.
func (v *serving) serveCheck(addr string, asJSON bool) error {
	m, s := v.mistakesIn(addr)
	slices.SortStableFunc(m.list, func(a, b mistake) int { return a.Line - b.Line })
	names := ""
	if s != nil {
		names = s.Gateway.String()
	}
	var wrong []string
	for _, x := range m.list {
		if !x.Warning {
			wrong = append(wrong, x.String())
		} else if !asJSON {
			fmt.Fprintln(v.cmd.ErrOrStderr(), x)
		}
	}
	if asJSON {
		if m.list == nil {
			m.list = []mistake{}
		}
		if err := printJSON(v.cmd.OutOrStdout(), map[string]any{"ok": len(wrong) == 0, "routes": names, "mistakes": m.list}); err != nil {
			return err
		}
	}
	switch {
	case len(wrong) > 0:
		return errors.New(strings.Join(wrong, "\n"))
	case asJSON:
		return nil
	case names == "":
		names = "none, so the offline model answers"
	}
	_, err := fmt.Fprintf(v.cmd.OutOrStdout(), "the routes are in order: %s\n", names)
	return err
}
