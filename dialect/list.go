package dialect

import (
	"fmt"
	"slices"
	"sync"

	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/llm"
)

// List is a list of dialects: those that Toolpost knows and, where [List.With]
// added some, a program's own. All are read by the same engine, so a dialect of
// your own is streamed, repaired and found in text like any other. A List does
// not change and may be used by several goroutines at once.
//
// The functions of the package are those of [Builtin].
type List struct {
	lex   *lexicon
	tells []tell
}

// Builtin returns the dialects that Toolpost knows.
func Builtin() *List { return builtin() }

var builtin = sync.OnceValue(func() *List { return newList(spec.Builtin()) })

func newList(rows []Dialect) *List {
	return &List{lex: newLexicon(rows), tells: tellsOf(rows)}
}

// With returns the list with own dialects after those it has. Where a text
// fits several dialects, the earlier one counts, unless Parser.Dialect names
// another.
//
// An error of kind llm.Invalid says what is wrong with a dialect, or that its
// name is taken. It takes some milliseconds to make a list: keep it.
func (l *List) With(own ...Dialect) (*List, error) {
	rows := slices.Clone(l.lex.rows)
	taken := make(map[string]bool, len(rows)+len(own))
	for i := range rows {
		taken[rows[i].Name] = true
	}
	for i := range own {
		if err := own[i].Validate(); err != nil {
			return nil, &llm.Error{Op: "dialect.With", Kind: llm.Invalid, Err: err}
		}
		if taken[own[i].Name] {
			return nil, &llm.Error{Op: "dialect.With", Kind: llm.Invalid, Err: fmt.Errorf("there is already a dialect called %q", own[i].Name)}
		}
		taken[own[i].Name] = true
		rows = append(rows, own[i].Clone())
	}
	return newList(rows), nil
}

// All returns the dialects in the order of the list, which is the order in
// which ties are decided. Their slices must not be changed.
func (l *List) All() []Dialect { return slices.Clone(l.lex.rows) }

// Lookup returns the dialect called name.
func (l *List) Lookup(name string) (Dialect, bool) {
	for i := range l.lex.rows {
		if l.lex.rows[i].Name == name {
			return l.lex.rows[i], true
		}
	}
	return Dialect{}, false
}

// All returns the dialects that Toolpost knows; see [List.All].
func All() []Dialect { return builtin().All() }

// Lookup returns the dialect called name that Toolpost knows.
func Lookup(name string) (Dialect, bool) { return builtin().Lookup(name) }

// Render is [List.Render] for the dialects that Toolpost knows.
func Render(dialect string, parts ...llm.Part) (string, error) {
	return builtin().Render(dialect, parts...)
}

// WrapResults is [List.WrapResults] for the dialects that Toolpost knows.
func WrapResults(dialect string, results []llm.Result) (role llm.Role, text string) {
	return builtin().WrapResults(dialect, results)
}

// FromTemplate is [List.FromTemplate] for the dialects that Toolpost knows.
func FromTemplate(text string) (name, why string) { return builtin().FromTemplate(text) }

// BeginsInThinking is [List.BeginsInThinking] for the dialects that Toolpost
// knows.
func BeginsInThinking(text string) bool { return builtin().BeginsInThinking(text) }
