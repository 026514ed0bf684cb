package configcheck

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/internal/yamlcheck"
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
	refused []string        // paths of values that their declaration does not allow
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

// Place returns a file and the line of a setting in its text, or only the file if the text does not have it.
func Place(file string, text []byte, path string) string {
	tree, err := yamlcheck.Parse(text)
	if err != nil {
		return file
	}
	if line := (&Report{tree: tree}).Line(path); line > 0 {
		return fmt.Sprintf("%s:%d", file, line)
	}
	return file
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

// CheckDeclared compares the values of a section with their declared bounds and words. A 0 in the file that means a
// default is a warning, because the user may have meant none or no limit.
func (r *Report) CheckDeclared(section reflect.Value, path string) {
	for _, f := range Fields(section.Type()) {
		r.checkField(f, f.Of(section), strings.TrimPrefix(path+"."+f.Key, "."))
	}
}

func (r *Report) checkField(f Field, v reflect.Value, path string) {
	given := v.Kind() == reflect.Pointer
	if given {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	switch {
	case isSection(v.Type()):
		r.CheckDeclared(v, path)
	case v.Kind() == reflect.Slice && isSection(v.Type().Elem()):
		for i := range v.Len() {
			r.CheckDeclared(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	case v.CanInt() && v.IsZero() && !given:
		if text := f.Tag.Get("default"); text != "" && r.zero[path] {
			r.Warn(path, "0 means the default, which is %s; leave it out, or write another value", text)
		}
	case v.CanInt():
		if problem := f.outOfBounds(v.Int()); problem != "" {
			r.refuse(path, problem)
		}
	case v.Kind() == reflect.String && v.String() != "":
		if words := f.Words(); len(words) > 0 && !slices.Contains(words, v.String()) {
			r.refuse(path, fmt.Sprintf("%q is not one of %s", v.String(), strings.Join(words, ", ")))
		}
	}
}

// refuse adds a value that its declaration does not allow.
func (r *Report) refuse(path, problem string) {
	r.Wrong(path, "%s", problem)
	r.refused = append(r.refused, path)
}

// AddFound adds the problems of a package that checks values itself, except for values that CheckDeclared refused.
func (r *Report) AddFound(err error) {
	malformed := r.form
	r.form = slices.Concat(malformed, r.refused)
	r.AddError(err)
	r.form = malformed
}

// Words returns the words that a text may be, nil for any text.
func (f Field) Words() []string { return strings.Fields(f.Tag.Get("values")) }

// outOfBounds describes why a number is out of its bounds, "" if it is not.
func (f Field) outOfBounds(n int64) string {
	format := func(n int64) string { return strconv.FormatInt(n, 10) }
	if f.Type == durations {
		format = func(n int64) string { return time.Duration(n).String() }
	}
	least, hasLeast := f.bound("min")
	most, hasMost := f.bound("max")
	switch {
	case n < 0 && f.Tag.Get("negative") != "":
	case hasLeast && hasMost && (n < least || n > most):
		return fmt.Sprintf("%s is not between %s and %s", format(n), format(least), format(most))
	case hasLeast && n < least:
		return fmt.Sprintf("%s is too small; the minimum is %s", format(n), format(least))
	case hasMost && n > most:
		return fmt.Sprintf("%s is too large; the maximum is %s", format(n), format(most))
	}
	return ""
}

// BoundsText describes the bounds of a number for a reference page, "" if it has none.
func (f Field) BoundsText() string {
	least, most := f.Tag.Get("min"), f.Tag.Get("max")
	switch {
	case most != "":
		return fmt.Sprintf("; %s to %s", least, most)
	case least != "" && f.Type != durations:
		return "; at least " + least
	}
	return ""
}

// bound parses a bound of a number or a duration.
func (f Field) bound(tag string) (n int64, ok bool) {
	text := f.Tag.Get(tag)
	if text == "" {
		return 0, false
	}
	if f.Type == durations {
		d, err := time.ParseDuration(text)
		return int64(d), err == nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// NeedRestart returns the paths of the settings that differ and that a running gateway does not take over.
func NeedRestart(before, now reflect.Value, path string) (paths []string) {
	for _, f := range Fields(before.Type()) {
		a, b := f.Of(before), f.Of(now)
		switch f.Tag.Get("restart") {
		case "yes":
			if reflect.DeepEqual(a.Interface(), b.Interface()) {
				continue
			}
		case "presence":
			if a.IsZero() == b.IsZero() {
				continue
			}
		default:
			continue
		}
		paths = append(paths, path+"."+f.Key)
	}
	return paths
}

// places maps the key of each setting to its possible places: "" is the top of the file, "gateway.routes[]" an entry of
// a list, and "providers.NAME" an entry with a user-defined name.
func places(root reflect.Type) map[string][]string {
	places := map[string][]string{}
	findPlaces(root, "", places)
	return places
}

// findPlaces adds the settings of a type and of its nested types.
func findPlaces(t reflect.Type, at string, places map[string][]string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		at += map[reflect.Kind]string{reflect.Slice: "[]", reflect.Map: ".NAME"}[t.Kind()]
		t = t.Elem()
	}
	if !isSection(t) {
		return
	}
	for _, f := range Fields(t) {
		places[f.Key] = append(places[f.Key], at)
		findPlaces(f.Type, strings.TrimPrefix(at+"."+f.Key, "."), places)
	}
}

// entryNumber matches the index of a list entry in a path.
var entryNumber = regexp.MustCompile(`\[\d+\]`)

// misplaced suggests where a misplaced setting belongs, "" if no setting has this name. Near places come first, because
// a wrong indentation moves a setting to a neighbouring section.
func (s *Schema) misplaced(name, path string) string {
	if s.Hint != nil {
		if hint := s.Hint(name, path); hint != "" {
			return "; " + hint
		}
	}
	here := entryNumber.ReplaceAllString(path, "[]")
	found := slices.Clone(places(s.Root)[name])
	if len(found) == 0 {
		return ""
	}
	slices.SortStableFunc(found, func(a, b string) int { return distance(here, a) - distance(here, b) })
	words := placeWords(found[0])
	if len(found) > 1 && distance(here, found[1]) == distance(here, found[0]) {
		words += ", or " + placeWords(found[1])
	}
	return "; it belongs " + words
}

// distance returns the number of sections to leave and to enter between two places. Another top section is farther away
// than any place in the same one.
func distance(a, b string) int {
	from, to := strings.FieldsFunc(a, between), strings.FieldsFunc(b, between)
	if len(from) > 0 && (len(to) == 0 || from[0] != to[0]) {
		return otherSection + len(to)
	}
	shared := 0
	for shared < min(len(from), len(to)) && from[shared] == to[shared] {
		shared++
	}
	return len(from) + len(to) - 2*shared
}

// otherSection is larger than any distance within a section.
const otherSection = 100

// between reports whether a character separates the parts of a place.
func between(r rune) bool { return r == '.' || r == '[' }

// placeWords describes a place in words.
func placeWords(place string) string {
	list, inList := strings.CutSuffix(place, "[]")
	above, named := strings.CutSuffix(place, ".NAME")
	switch {
	case place == "":
		return "at the top level, without indentation"
	case inList:
		return "in an entry of " + strings.ReplaceAll(list, "[]", "")
	case named:
		return "below a name in " + strings.ReplaceAll(above, "[]", "")
	}
	return "below " + strings.ReplaceAll(place, "[]", "")
}

// tooDeep reports that a top section is probably indented below a section with user-defined names, and so parsed as one
// of these names. It returns "" unless the content has settings of the top section, because a user-defined name may be
// any word.
func (s *Schema) tooDeep(n ast.Node, name, path string, row reflect.Type) string {
	top, ok := fieldNamed(s.Root, name)
	if !ok || path == "" || row.Kind() != reflect.Struct || top.Type.Kind() != reflect.Map && !isSection(top.Type) {
		return ""
	}
	fits := false
	for k := range Members(n) {
		if _, ok := fieldNamed(row, Scalar(k)); ok {
			return ""
		}
		if isSection(top.Type) {
			_, ok := fieldNamed(top.Type, Scalar(k))
			fits = fits || ok
		} else {
			fits = true
		}
	}
	if !fits {
		return ""
	}
	return fmt.Sprintf("%s is indented below %s and is read as a name there; it belongs at the top level, without indentation", name, path)
}
