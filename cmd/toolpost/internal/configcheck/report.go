package configcheck

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/journal"
)

// Mistake is a mistake in a configuration, or a warning.
type Mistake struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"` // 0 if it has no line in the file
	Path    string `json:"path,omitempty"` // like gateway.routes[0].to[1].model, --addr or the name of a variable
	Problem string `json:"problem"`
	Warning bool   `json:"warning,omitempty"` // the configuration works anyway

	Unset   bool `json:"-"` // a variable is not set: an error when the configuration is used, and a warning in a check
	Outside bool `json:"-"` // the value is from a flag or a variable
}

// String formats the mistake in one line.
func (m Mistake) String() string {
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

// Error is a problem with a setting.
type Error struct {
	Path    string // in the file; the name of a flag or a variable if Outside
	Err     error
	Outside bool // see Mistake
	Unset   bool // see Mistake
}

func (e *Error) Error() string { return e.Path + ": " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns a problem with a setting of the file.
func Errorf(path, format string, args ...any) error {
	return &Error{Path: path, Err: fmt.Errorf(format, args...)}
}

// Report collects the mistakes of one configuration.
type Report struct {
	File string
	List []Mistake
	// Explain turns an error of another package into a mistake with the path of its setting. ok is false for unknown errors.
	Explain func(error) (m Mistake, ok bool)

	tree    *ast.File
	anchors map[string]ast.Node
	zero    map[string]bool // paths with a 0 in the file
	form    []string        // paths of malformed values
	meant   []string        // paths of probable corrections for unknown fields
	schema  *Schema
}

// Add adds a mistake and redacts secrets in it. It skips a mistake about a malformed value that is already reported.
func (r *Report) Add(m Mistake) {
	if slices.Contains(r.meant, m.Path) || slices.ContainsFunc(r.form, func(p string) bool {
		return m.Path == p || strings.HasPrefix(m.Path, p+".") || strings.HasPrefix(m.Path, p+"[")
	}) {
		return
	}
	m.Problem, _ = new(journal.Secrets).Redact(m.Problem)
	m.Path, m.Problem = cli.Revealed(m.Path), cli.Revealed(m.Problem) // a name may contain control characters of a terminal
	r.List = append(r.List, m)
}

// malformed adds a value that cannot be read. Later mistakes about the same setting are skipped.
func (r *Report) malformed(line int, path, problem string) {
	r.Add(Mistake{File: r.File, Line: line, Path: path, Problem: problem})
	if path != "" {
		r.form = append(r.form, path)
	}
}

// AddAt adds a mistake with the line of its setting, or of the nearest section that has a line.
func (r *Report) AddAt(m Mistake) {
	m.File, m.Line = r.File, r.Line(m.Path)
	r.Add(m)
}

// Wrong adds a mistake of a setting in the file.
func (r *Report) Wrong(path, format string, args ...any) {
	r.AddAt(Mistake{Path: path, Problem: fmt.Sprintf(format, args...)})
}

// Warn adds a warning about a setting in the file.
func (r *Report) Warn(path, format string, args ...any) {
	r.AddAt(Mistake{Path: path, Problem: fmt.Sprintf(format, args...), Warning: true})
}

// AddError adds all problems that are joined in an error.
func (r *Report) AddError(err error) {
	for e := err; e != nil; e = errors.Unwrap(e) { // a prefix may wrap the joined errors
		if joined, ok := e.(interface{ Unwrap() []error }); ok {
			for _, e := range joined.Unwrap() {
				r.AddError(e)
			}
			return
		}
	}
	var placed *Error
	var usage cli.UsageError
	switch {
	case err == nil:
		return
	case errors.As(err, &placed) && placed.Outside:
		r.Add(Mistake{Path: placed.Path, Problem: placed.Err.Error(), Outside: true})
		return
	case errors.As(err, &placed):
		r.AddAt(Mistake{Path: placed.Path, Problem: placed.Err.Error(), Unset: placed.Unset})
		return
	}
	if r.Explain != nil {
		if m, ok := r.Explain(err); ok {
			r.AddAt(m)
			return
		}
	}
	if errors.As(err, &usage) {
		r.Add(Mistake{Problem: usage.Err.Error(), Outside: true})
		return
	}
	m := Mistake{File: r.File, Problem: strings.TrimPrefix(err.Error(), r.File+": ")}
	if rest, ok := strings.CutPrefix(err.Error(), r.File+":"); ok && r.File != "" {
		line, problem, _ := strings.Cut(rest, ": ")
		if n, err := strconv.Atoi(line); err == nil {
			m.Line, m.Problem = n, problem
		}
	}
	r.Add(m)
}

// Line returns the line of a setting, or of the nearest section around it. It returns 0 if the file has neither.
func (r *Report) Line(path string) int {
	for r.tree != nil && path != "" {
		if p, err := yaml.PathString("$." + path); err == nil {
			if n, err := p.FilterFile(r.tree); err == nil {
				if line := lineOf(n); line > 0 {
					return line
				}
			}
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return 0
}

// lineOf returns the line of a node, 0 if it has none.
func lineOf(n ast.Node) int {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return 0
	}
	return n.GetToken().Position.Line
}

// Split returns errors and warnings in the order of the file. In a check, variables that are not set are warnings that
// end with note.
func (r *Report) Split(check bool, note string) (wrong, warnings []Mistake) {
	slices.SortStableFunc(r.List, func(a, b Mistake) int { return cmp.Compare(a.Line, b.Line) })
	for i := range r.List {
		m := &r.List[i]
		if check && m.Unset && !m.Warning {
			m.Warning = true
			m.Problem += note
		}
		if m.Warning {
			warnings = append(warnings, *m)
		} else {
			wrong = append(wrong, *m)
		}
	}
	return wrong, warnings
}

// Err returns an error with all mistakes, nil if there are only warnings.
func (r *Report) Err() error {
	wrong, _ := r.Split(false, "")
	var lines []string
	for _, m := range wrong {
		lines = append(lines, m.String())
	}
	if lines == nil {
		return nil
	}
	return errors.New(strings.Join(lines, "\n"))
}
