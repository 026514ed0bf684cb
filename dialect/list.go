package dialect

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/toolpost/toolpost/dialect/internal/form"
	"github.com/toolpost/toolpost/dialect/internal/judge"
	"github.com/toolpost/toolpost/dialect/internal/write"
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/llm"
)

// InThinking is the repair rule of a call in thinking that never ends.
const InThinking = "call-in-thinking"

// WhyDoubtful returns a sentence about the doubt that a repair of the class
// [llm.Guess] records, such as a question before the call. It is empty for other repairs.
func WhyDoubtful(r llm.Repair) string {
	if why := judge.Why(r.Rule); why != "" || r.Class != llm.Guess {
		return why
	}
	return "it can be read in more than one way (" + r.Rule + ")"
}

// List is a list of dialects: those that Toolpost knows and, where [List.With]
// added some, a program's own. All are read by the same engine, so a dialect of
// your own is streamed, repaired and found in text like any other. A List does
// not change and may be used by several goroutines at once.
// [Builtin] is the list of Toolpost.
type List struct {
	lex   *form.Table
	tells []tell
}

// Builtin returns the dialects that Toolpost knows.
func Builtin() *List { return builtin() }

var builtin = sync.OnceValue(func() *List { return newList(spec.Builtin()) })

func newList(rows []spec.Dialect) *List {
	return &List{lex: form.New(rows), tells: tellsOf(rows)}
}

// With returns the list with own dialects after those it has. Where a text
// fits several dialects, the earlier one counts, unless Parser.Dialect names
// another.
//
// An error of kind llm.Invalid describes the fault of a dialect, or that its
// name is taken. It takes some milliseconds to make a list: keep it.
func (l *List) With(own ...spec.Dialect) (*List, error) {
	rows := slices.Clone(l.lex.Rows)
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
func (l *List) All() []spec.Dialect { return slices.Clone(l.lex.Rows) }

// Lookup returns the dialect called name.
func (l *List) Lookup(name string) (spec.Dialect, bool) {
	rows := l.lex.Rows
	for i := range rows {
		if rows[i].Name == name {
			return rows[i], true
		}
	}
	return spec.Dialect{}, false
}

// Render writes parts as a model that speaks the dialect writes them: text,
// thinking and calls in their order, with every marker the model itself would
// produce. What it returns, read again with the tools it is about, gives the
// same text, thinking and calls, except that dialects without types need the
// schemas for them and dialects that trim lose the white space they trim.
//
// A value that contains the dialect's own markers is escaped where the dialect
// has escapes (JSON and Python bodies). In the raw-text dialects it is in a
// CDATA section if it would be read as something else without.
//
// Render refuses what the dialect cannot say: media, results, calls run by the
// provider, arguments that are not an object, names or keys that would be read
// as markup, and values that would end before their end. The error is an
// *llm.Error of kind Invalid or Unsupported.
func (l *List) Render(dialect string, parts ...llm.Part) (string, error) {
	d, ok := l.Lookup(dialect)
	if !ok {
		return "", &llm.Error{Op: "dialect.Render", Kind: llm.Unsupported, Err: fmt.Errorf("no dialect is called %q", dialect)}
	}
	if d.Write.Call == "" {
		return "", &llm.Error{Op: "dialect.Render", Kind: llm.Unsupported, Err: fmt.Errorf("the dialect %q does not say how it is written", dialect)}
	}
	text, err := l.write(d, parts)
	if err != nil {
		return "", &llm.Error{Op: "dialect.Render", Kind: llm.Invalid, Err: fmt.Errorf("%s: %w", dialect, err)}
	}
	return text, nil
}

// write writes parts so their calls are read unchanged. Values with
// markup in them are read again: where they end is for the reader to say.
func (l *List) write(d spec.Dialect, parts []llm.Part) (string, error) {
	for _, sections := range []bool{false, true} {
		text, raw, err := write.Turn(d.Write, parts, sections)
		if err != nil || !raw || l.readsBack(d, parts, sections) {
			return text, err
		}
	}
	return "", errors.New("a value holds markup of the dialect and would be read as something else")
}

// WrapResults writes the results of calls as the models of a dialect are used
// to see them, and says in whose turn they stand. It is for prompts that we
// render ourselves; a vendor's chat template wraps results on its own. An
// empty dialect, or one without a form of its own, gives
// <tool_result name="…" id="…">…</tool_result> in the user's turn.
//
// Results are in the order given, which must be the order of the calls. A
// result that contains one of the wrapper's markers gets a backslash within
// it, so nothing a tool returns can end its own result and speak as
// someone else. Media cannot be written and are named in square brackets.
func (l *List) WrapResults(dialect string, results []llm.Result) (role llm.Role, text string) {
	d, _ := l.Lookup(dialect)
	return write.Results(d, results)
}

// ResultStops returns the sequences with which models of a dialect begin to
// invent the result of a call. A request to such a model should stop there;
// they are never part of a call. The dialect is chosen as by WrapResults.
func (l *List) ResultStops(dialect string) []string {
	d, _ := l.Lookup(dialect)
	return slices.Clone(write.Shown(d).Stop)
}

// ResultMarkers returns what the wrapper of results is made of: with these
// words a text could end a result or begin one. The dialect is chosen as by
// WrapResults.
func (l *List) ResultMarkers(dialect string) []string {
	d, _ := l.Lookup(dialect)
	return append(write.Guards(d), write.Shown(d).Stop...)
}

// BeginsInThinking reports whether a whole answer closes a thinking block that
// it never opened: then the prompt held the opener. A stream cannot know this;
// anyone who has the whole text can ask before parsing.
func (l *List) BeginsInThinking(text string) bool { return l.lex.BeginsInThinking(text) }
