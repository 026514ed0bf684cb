package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

// mistake is something in a configuration that is wrong, or may be.
type mistake struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"` // 0 if it does not stand in the file
	Path    string `json:"path,omitempty"` // like gateway.routes[0].to[1].model, --addr or the name of a variable
	Problem string `json:"problem"`
	Warning bool   `json:"warning,omitempty"` // the gateway begins all the same

	missing bool // a key that is not in the environment: serve refuses, and --check, which runs where keys are not, warns
	flag    bool // of a flag or a variable
}

// String is the mistake in one line.
func (m mistake) String() string {
	text := m.Problem
	if m.Path != "" {
		text = m.Path + ": " + text
	}
	if m.Warning {
		text = "warning: " + text
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
	path    string // below gateway; of a flag or a variable its name
	err     error
	flag    bool
	missing bool // see mistake
}

func (e *placedError) Error() string {
	if e.flag {
		return e.path + ": " + e.err.Error()
	}
	return "gateway: " + e.path + ": " + e.err.Error()
}
func (e *placedError) Unwrap() error { return e.err }

// mistakes are those of one configuration.
type mistakes struct {
	file    string
	tree    *ast.File
	anchors map[string]ast.Node
	zero    map[string]bool // the paths that are 0 in the file
	form    []string        // the paths that cannot be read at all
	meant   []string        // those that somebody may have meant by a name that is not known
	list    []mistake
}

// add takes a problem down. What has the form of a secret is not repeated, and what was said of the form of a value is not said again of
// its meaning.
func (m *mistakes) add(x mistake) {
	if slices.Contains(m.meant, x.Path) || slices.ContainsFunc(m.form, func(p string) bool {
		return x.Path == p || strings.HasPrefix(x.Path, p+".") || strings.HasPrefix(x.Path, p+"[")
	}) {
		return
	}
	x.Problem, _ = new(journal.Secrets).Redact(x.Problem)
	x.Path, x.Problem = cli.Revealed(x.Path), cli.Revealed(x.Problem) // a name may be one that steers a terminal
	m.list = append(m.list, x)
}

// misread takes down that a value cannot be read.
func (m *mistakes) misread(line int, path, problem string) {
	m.add(mistake{File: m.file, Line: line, Path: path, Problem: problem})
	if path != "" {
		m.form = append(m.form, path)
	}
}

// addError takes all problems down that are joined in an error.
func (m *mistakes) addError(err error) {
	var placed *placedError
	var route *gateway.RouteError
	var setting settingError
	var usage cli.UsageError
	if err == nil {
		return
	}
	for e := err; e != nil; e = errors.Unwrap(e) { // a word may stand before a list
		if joined, ok := e.(interface{ Unwrap() []error }); ok {
			for _, e := range joined.Unwrap() {
				m.addError(e)
			}
			return
		}
	}
	switch {
	case errors.As(err, &placed) && placed.flag:
		m.add(mistake{Path: placed.path, Problem: placed.err.Error(), flag: true})
	case errors.As(err, &placed):
		m.at(mistake{Path: "gateway." + placed.path, Problem: placed.err.Error(), missing: placed.missing})
	case errors.As(err, &route):
		path := fmt.Sprintf("gateway.routes[%d].%s", route.Route, route.Setting)
		problem, unset := route.Error(), new(provider.UnsetError)
		if known := new(llm.Error); errors.As(route.Err, &known) && known.Err != nil { // its first words are for programs
			problem = strings.Replace(problem, strings.TrimSuffix(known.Error(), known.Err.Error()), "", 1)
		}
		m.at(mistake{Path: strings.TrimSuffix(path, "."), Problem: problem, missing: errors.As(route.Err, &unset)})
	case errors.As(err, &setting) && !setting.ofCommand():
		m.at(mistake{Path: setting.path, Problem: setting.err.Error()})
	case errors.As(err, &usage):
		m.add(mistake{Problem: usage.Err.Error(), flag: true})
	default:
		x := mistake{File: m.file, Problem: strings.TrimPrefix(err.Error(), m.file+": ")}
		if rest, ok := strings.CutPrefix(err.Error(), m.file+":"); ok && m.file != "" {
			line, problem, _ := strings.Cut(rest, ": ")
			if n, err := strconv.Atoi(line); err == nil {
				x.Line, x.Problem = n, problem
			}
		}
		m.add(x)
	}
}

// at takes a problem of a place down, with the line on which it, or what it is a part of, stands.
func (m *mistakes) at(x mistake) {
	x.File, x.Line = m.file, m.line(x.Path)
	m.add(x)
}

// warn takes down what may not be meant so.
func (m *mistakes) warn(path, format string, args ...any) {
	m.at(mistake{Path: path, Problem: fmt.Sprintf(format, args...), Warning: true})
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

// split returns what is refused and what is only said, in the order of the file. A check does not refuse what only the environment
// lacks.
func (m *mistakes) split(check bool) (wrong, said []mistake) {
	slices.SortStableFunc(m.list, func(a, b mistake) int { return a.Line - b.Line })
	for i := range m.list {
		if x := &m.list[i]; check && x.missing && !x.Warning {
			x.Warning = true
			x.Problem += "; serve does not start without it"
		}
		if x := m.list[i]; x.Warning {
			said = append(said, x)
		} else {
			wrong = append(wrong, x)
		}
	}
	return wrong, said
}

// refusal is the error of all that is wrong, nil if nothing is.
func (v *serving) refusal(wrong []mistake) error {
	if len(wrong) == 0 {
		return nil
	}
	var lines []string
	flags := true
	for _, x := range wrong {
		lines = append(lines, x.String())
		flags = flags && x.flag
	}
	if text := strings.Join(lines, "\n"); flags {
		return cli.Usagef(v.cmd, "%s", text)
	} else {
		return errors.New(text)
	}
}

// examine looks at everything that can be wrong with what serve is told, and starts and changes nothing. serve, serve --check and a
// configuration that is read again all ask it, so that none knows less than another. What serve meets later is only what cannot be seen
// without doing it, like a port that is taken.
func (v *serving) examine() (*mistakes, *settings, gateway.Setup) {
	m := new(mistakes)
	s := v.readInto(m)
	if s == nil {
		return m, nil, gateway.Setup{}
	}
	for _, err := range s.problems() {
		m.addError(err)
	}
	addr := addressOf(s, v.addrFlag)
	m.addError(s.Gateway.problems(addr, v.addrFlag != ""))
	m.addError(v.publicProblem(addr, s))
	m.addError(v.storeProblems(s))
	m.addError(v.bodyProblems(s))
	m.addError(traceProblem())
	m.addError(v.tryTools(s))
	s.impliedRoot(m)
	m.addError(s.Gateway.wordProblems())
	setup, err := s.gatewaySetup(v.log)
	m.addError(err)
	if err == nil {
		m.addError(s.loops(addr, setup.Open))
		if len(s.Gateway.Routes) > 0 {
			_, err = gateway.New(setup)
			m.addError(err)
		}
		s.missingKeys(m, setup.Open)
	}
	s.idleProviders(m)
	v.warnings(m, s)
	return m, s, setup
}

// readInto reads the settings, and as much of them as can be read if something is wrong. Nil means that nothing can.
func (v *serving) readInto(m *mistakes) *settings {
	s, partly := newSettings(), newSettings()
	file, named := configFile(v.cmd)
	if file != "" {
		m.file = file
		if err := m.read(partly); errors.Is(err, fs.ErrNotExist) && !named {
			m.file = ""
		} else if err != nil {
			m.add(mistake{File: file, Problem: fmt.Sprintf("the configuration cannot be read: %v", err)})
			return nil
		}
	}
	if m.tree == nil && len(m.list) > 0 {
		return nil // it is no YAML
	}
	if named && len(m.list) == 0 && m.saysNothing() {
		m.addError(errSaysNothing)
		return nil
	}
	switch {
	case len(m.list) > 0:
		s = partly
	case m.file != "":
		if err := s.readFile(file); err != nil {
			m.addError(err)
			return nil
		}
	}
	s.file = m.file
	if err := s.override(v.cmd); err != nil {
		m.addError(err)
		return nil
	}
	return s
}

// tryTools looks at the tools that routes name. Without any that are open, it opens them for the time of the look, and starts none.
func (v *serving) tryTools(s *settings) error {
	if v.tools != nil {
		return v.tools.attach(s)
	}
	tools, err := openRouteTools(v.cmd, s, true)
	if err != nil {
		return err
	}
	tools.close()
	return nil
}

// missingKeys warns of upstreams that have no key.
func (s *settings) missingKeys(m *mistakes, open func(string, gateway.Way) (llm.Model, error)) {
	other, err := s.client()
	if err != nil {
		return
	}
	if len(s.Gateway.Routes) == 0 {
		return
	}
	routes := s.Gateway.routes()
	lacking := make([]map[int]error, len(routes)) // the upstreams of each route that have no key
	answers := make([]bool, len(routes))          // whether it has others
	for i, r := range routes {
		lacking[i] = make(map[int]error)
		for k, u := range r.Upstreams {
			if u.Off {
				continue
			}
			if err := missingKey(r, u, open, other); err != nil {
				lacking[i][k] = err
			} else {
				answers[i] = true
			}
		}
	}
	for i, r := range routes {
		who := "clients of " + r.Model + " get no answer"
		if answers[i] {
			who = "it cannot be asked, and the others of " + r.Model + " answer in its place"
		} else if at := slices.IndexFunc(r.Fallback, func(name string) bool { return anyAnswers(routes, answers, name) }); at >= 0 {
			who = "it cannot be asked, and " + r.Fallback[at] + " answers in its place"
		}
		for _, k := range slices.Sorted(maps.Keys(lacking[i])) {
			m.warn(fmt.Sprintf("gateway.routes[%d].to[%d].model", i, k), "%s: %v", who, lacking[i][k])
		}
	}
}

// anyAnswers reports whether a route for a name has somebody who answers. The name itself counts before those that end in *, and
// of these the longest.
func anyAnswers(routes []gateway.ModelRoute, answers []bool, name string) bool {
	best, found := -1, false
	for i, r := range routes {
		fit := -1
		if prefix, star := strings.CutSuffix(r.Model, "*"); r.Model == name {
			fit = len(name) + 1
		} else if star && strings.HasPrefix(name, prefix) {
			fit = len(prefix)
		}
		switch {
		case fit > best:
			best, found = fit, answers[i]
		case fit == best && fit >= 0: // for clients of other formats
			found = found || answers[i]
		}
	}
	return found
}

// missingKey says which key an upstream has not; nil if it has one, needs none, or nobody can tell.
func missingKey(r gateway.ModelRoute, u gateway.Upstream, open func(string, gateway.Way) (llm.Model, error), other *provider.Client) error {
	id := strings.Replace(u.Model, "*", "x", 1)
	asked, err := open(id, r.WayOf(u))
	known, ok := asked.(interface{ Ready() error })
	if (err != nil || !ok) && len(r.Pass) > 0 { // it is no chat model, perhaps
		known, err = other.Forwarder(id)
		ok = err == nil
	}
	if err != nil || !ok {
		return nil
	}
	return known.Ready()
}

// serveCheck says everything that is wrong with a configuration, and starts nothing.
func (v *serving) serveCheck(asJSON bool) error {
	m, s, _ := v.examine()
	wrong, said := m.split(true)
	names := ""
	if s != nil && len(wrong) == 0 {
		names = s.Gateway.String()
	}
	if asJSON {
		if err := cli.PrintJSON(v.cmd.OutOrStdout(), map[string]any{"ok": len(wrong) == 0, "routes": names, "mistakes": append([]mistake{}, m.list...)}); err != nil {
			return err
		}
		return v.refusal(wrong)
	}
	for _, x := range said {
		fmt.Fprintln(v.cmd.ErrOrStderr(), x)
	}
	if err := v.refusal(wrong); err != nil {
		return err
	}
	text := "the routes are in order: " + names
	if names == "" {
		text = "nothing is wrong, and there are no routes: the offline model answers for every name"
	}
	_, err := fmt.Fprintln(v.cmd.OutOrStdout(), text)
	return err
}
