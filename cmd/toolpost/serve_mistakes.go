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

// mistake is a mistake in a configuration, or a warning.
type mistake struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"` // 0 if it has no line in the file
	Path    string `json:"path,omitempty"` // like gateway.routes[0].to[1].model, --addr or the name of a variable
	Problem string `json:"problem"`
	Warning bool   `json:"warning,omitempty"` // the gateway starts anyway

	missing bool // a key is missing in the environment: an error for serve, and a warning for --check, which may run without keys
	flag    bool // of a flag or a variable
}

// String formats the mistake in one line.
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

// placedError is a problem with a setting.
type placedError struct {
	path    string // below gateway; for a flag or a variable its name
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

// mistakes collects the mistakes of one configuration.
type mistakes struct {
	file    string
	tree    *ast.File
	anchors map[string]ast.Node
	zero    map[string]bool // paths with a 0 in the file
	form    []string        // paths of malformed values
	meant   []string        // paths of probable corrections for unknown names
	list    []mistake
}

// add adds a mistake and redacts secrets in it. It skips a mistake about a malformed value that is already reported.
func (m *mistakes) add(x mistake) {
	if slices.Contains(m.meant, x.Path) || slices.ContainsFunc(m.form, func(p string) bool {
		return x.Path == p || strings.HasPrefix(x.Path, p+".") || strings.HasPrefix(x.Path, p+"[")
	}) {
		return
	}
	x.Problem, _ = new(journal.Secrets).Redact(x.Problem)
	x.Path, x.Problem = cli.Revealed(x.Path), cli.Revealed(x.Problem) // a name may contain control characters of a terminal
	m.list = append(m.list, x)
}

// misread adds a malformed value.
func (m *mistakes) misread(line int, path, problem string) {
	m.add(mistake{File: m.file, Line: line, Path: path, Problem: problem})
	if path != "" {
		m.form = append(m.form, path)
	}
}

// addError adds all problems that are joined in an error.
func (m *mistakes) addError(err error) {
	var placed *placedError
	var route *gateway.RouteError
	var setting settingError
	var usage cli.UsageError
	if err == nil {
		return
	}
	for e := err; e != nil; e = errors.Unwrap(e) { // a prefix may wrap the joined errors
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
		if known := new(llm.Error); errors.As(route.Err, &known) && known.Err != nil { // the start of this error is meant for programs
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

// at adds a mistake with the line of its setting, or of the nearest section that has a line.
func (m *mistakes) at(x mistake) {
	x.File, x.Line = m.file, m.line(x.Path)
	m.add(x)
}

// warn adds a warning.
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

// split returns errors and warnings in the order of the file. For a check, keys that are missing only in the
// environment become warnings.
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

// refusal returns an error with all mistakes, nil if there are none.
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

// examine finds all mistakes in the configuration of serve, without starting or changing anything. serve, serve --check
// and every reload use it, so they report the same mistakes. serve itself can only fail later for reasons that a check
// cannot see, such as a port in use.
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

// readInto reads the settings. After mistakes it returns the readable part, or nil if nothing is readable.
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
		return nil // not YAML
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

// tryTools checks the tools that routes name. If none are open, it opens them temporarily, without starting servers.
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

// missingKeys warns about upstreams without a key.
func (s *settings) missingKeys(m *mistakes, open func(string, gateway.Way) (llm.Model, error)) {
	other, err := s.client()
	if err != nil {
		return
	}
	if len(s.Gateway.Routes) == 0 {
		return
	}
	routes := s.Gateway.routes()
	lacking := make([]map[int]error, len(routes)) // the upstreams of each route without a key
	answers := make([]bool, len(routes))          // whether the route has other upstreams
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

// anyAnswers reports whether a route for a name has a usable upstream. An exact match takes precedence over patterns
// that end in *, and longer patterns over shorter ones.
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
		case fit == best && fit >= 0: // a route for clients of another format
			found = found || answers[i]
		}
	}
	return found
}

// missingKey returns an error that names the missing key of an upstream. It returns nil if the key is set, not needed,
// or unknown.
func missingKey(r gateway.ModelRoute, u gateway.Upstream, open func(string, gateway.Way) (llm.Model, error), other *provider.Client) error {
	id := strings.Replace(u.Model, "*", "x", 1)
	asked, err := open(id, r.WayOf(u))
	known, ok := asked.(interface{ Ready() error })
	if (err != nil || !ok) && len(r.Pass) > 0 { // perhaps another kind of model
		known, err = other.Forwarder(id)
		ok = err == nil
	}
	if err != nil || !ok {
		return nil
	}
	return known.Ready()
}

// serveCheck prints all mistakes in a configuration without starting anything.
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
