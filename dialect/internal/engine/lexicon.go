package engine

import (
	"slices"
	"strings"

	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/schema"
)

// Lexicon is a table of dialects made ready for reading: the tree of their
// markers, the bytes with which something other than text may begin, and the
// rows with each property. It does not change once it is made.
type Lexicon struct {
	rows []spec.Dialect
	tree *node
	byteTables
	readers readers

	properties

	quotes    []braceQuote // of the brace dialects
	openings  []opening
	cited     []string   // the elements of citations
	method    []string   // the suffixes of names
	argsFuncs []string   // functions around arguments, with their parenthesis
	labels    []string   // that stand behind an opener of thinking
	results   []string   // elements and labels with which models begin to invent a result
	said      [][]string // for each dialect of one JSON value, what stands before its text
	value     *token     // of the first dialect of pairs: what begins a value
	head      headWords
}

// properties are the rows with a property, most of them one field of a row.
type properties struct {
	bare, keyed, kindFirst, idFirst, plainArgs, nameAlone, list, echoes rowSet

	cites, roles, header, pairs, rawCode, namedCode, whole, methods rowSet

	nameFirst rowSet // without a word before the name
	single    rowSet // whose calls stand in no list
	newline   rowSet // that separate name and arguments by a newline
	sameLine  rowSet // that do not
	elements  rowSet // whose elements are named after tools
	yaml      rowSet // that write YAML in them
	thoughts  rowSet // whose thinking is a line
	labelled  rowSet // whose markers are ordinary words
	worded    rowSet // whose markers are words, ordinary or not
	unthought rowSet // whose answers may begin with the end of thinking
	unmarked  rowSet // that write calls without a marker
	fenced    rowSet // of fences in which there is nothing but calls

	form          [spec.Forms]rowSet
	fences        map[string]rowSet // by the words of a fence
	byKey, byArgs map[string]rowSet // by a key of JSON calls, and by that of the arguments
}

// braceQuote is a delimiter of strings and what they may be without a schema.
type braceQuote struct {
	text  string
	types schema.Types
}

// opening is the line that begins an answer to the user, and what follows it.
type opening struct {
	row  rowSet
	line spec.Pair
}

// headWords are the words of the headers of all dialects.
type headWords struct {
	ends, to, channels, skip, calls []string
	longest                         int // of ends
	thinkers, thinkChannels         map[string]bool
	users, speakers                 map[string]bool
}

// New makes a table ready for reading. Its rows must be valid, and must not
// change.
func New(rows []spec.Dialect) *Lexicon {
	x := &Lexicon{rows: rows, tree: newTree(rows)}
	x.fences, x.byKey, x.byArgs = make(map[string]rowSet), make(map[string]rowSet), make(map[string]rowSet)
	x.byteTables = newByteTables(x.tree, rows)
	x.readers = newReaders(x.tree)
	x.findRows()
	x.findUnmarked()
	for i := range rows {
		x.addWords(i)
	}
	for _, all := range x.fences {
		if !all.meets(x.form[spec.JSONCall]) { // the word of the fence says that it is a call
			x.fenced = x.fenced.or(all)
		}
	}
	return x
}

// rowOf returns the row of the dialect called name, the empty set if there is
// none.
func (x *Lexicon) rowOf(name string) rowSet {
	for i := range x.rows {
		if name != "" && x.rows[i].Name == name {
			return oneRow(i)
		}
	}
	return rowSet{}
}

// where returns the rows that fit.
func (x *Lexicon) where(fits func(*spec.Dialect) bool) (set rowSet) {
	for i := range x.rows {
		if fits(&x.rows[i]) {
			set = set.or(oneRow(i))
		}
	}
	return set
}

func (x *Lexicon) findRows() {
	x.bare = x.where(func(d *spec.Dialect) bool { return d.Bare })
	x.keyed = x.where(func(d *spec.Dialect) bool { return d.Keyed })
	x.kindFirst = x.where(func(d *spec.Dialect) bool { return d.KindFirst })
	x.idFirst = x.where(func(d *spec.Dialect) bool { return d.IDFirst })
	x.plainArgs = x.where(func(d *spec.Dialect) bool { return d.PlainArgs })
	x.nameAlone = x.where(func(d *spec.Dialect) bool { return d.NameAlone })
	x.echoes = x.where(func(d *spec.Dialect) bool { return d.Echoes })
	x.cites = x.where(func(d *spec.Dialect) bool { return d.Cites != "" })
	x.roles = x.where(func(d *spec.Dialect) bool { return len(d.Role) > 0 })
	x.header = x.where(func(d *spec.Dialect) bool { return d.Form == spec.Header })
	x.pairs = x.where(func(d *spec.Dialect) bool { return d.Tags.Value.Open != "" })
	x.rawCode = x.where(func(d *spec.Dialect) bool { return len(d.Code) > 0 })
	x.namedCode = x.where(func(d *spec.Dialect) bool { return d.NamedCode })
	x.elements = x.where(func(d *spec.Dialect) bool { return d.Tags.Call.Open == "<%s>" && d.Write.Body != spec.YAMLBody })
	x.yaml = x.where(func(d *spec.Dialect) bool { return d.Write.Body == spec.YAMLBody })
	x.thoughts = x.where(func(d *spec.Dialect) bool { return d.Form == spec.LineCall && len(d.Think) > 0 })
	x.labelled = x.where(func(d *spec.Dialect) bool {
		return d.Form == spec.LineCall && len(d.Call) > 0 && isLetter(d.Call[0].Open[0]) && len(d.Think) == 0
	})
	x.worded = x.where(func(d *spec.Dialect) bool {
		return d.Form == spec.LineCall && len(d.Call) > 0 && isLetter(d.Call[0].Open[0])
	})
	x.unthought = x.where(func(d *spec.Dialect) bool { return d.Unthought })
	x.whole = x.where(func(d *spec.Dialect) bool { return d.Write.Whole })
	x.list = x.where(func(d *spec.Dialect) bool { return d.List })
	x.single = x.where(func(d *spec.Dialect) bool { return !d.List })
	x.nameFirst = x.where(func(d *spec.Dialect) bool { return !d.KindFirst })
	x.newline = x.where(func(d *spec.Dialect) bool { return slices.Contains(d.Sep, "\n") })
	x.sameLine = x.where(func(d *spec.Dialect) bool { return !slices.Contains(d.Sep, "\n") })
	x.methods = x.where(func(d *spec.Dialect) bool { return d.Method != "" })
	for f := range x.form {
		x.form[f] = x.where(func(d *spec.Dialect) bool { return d.Form == spec.Form(f) })
	}
}

// addWords adds the words of row i that are looked for by themselves.
func (x *Lexicon) addWords(i int) {
	d, row := &x.rows[i], oneRow(i)
	if d.NameKey != "" {
		x.byKey[d.NameKey] = x.byKey[d.NameKey].or(row)
	}
	if d.ArgsKey != "" {
		x.byKey[d.ArgsKey] = x.byKey[d.ArgsKey].or(row)
		x.byArgs[d.ArgsKey] = x.byArgs[d.ArgsKey].or(row)
	}
	for _, p := range d.Wrap {
		if strings.HasPrefix(p.Open, "```") {
			x.fences[p.Open] = x.fences[p.Open].or(row)
		}
	}
	types := schema.Any
	if d.Text == spec.Verbatim || d.Text == spec.Plain {
		types = schema.String
	}
	for _, q := range d.Quotes {
		if !slices.ContainsFunc(x.quotes, func(other braceQuote) bool { return other.text == q }) {
			x.quotes = append(x.quotes, braceQuote{q, types})
		}
	}
	if d.Opening.Open != "" {
		x.openings = append(x.openings, opening{row, d.Opening})
	}
	addWord(&x.cited, d.Cites, "")
	addWord(&x.method, d.Method, "")
	addWord(&x.argsFuncs, d.ArgsFunc, "(")
	addWord(&x.labels, d.ThinkLabel, "")
	for _, stop := range d.Results.Stop {
		if strings.HasSuffix(stop, ">") || strings.HasSuffix(stop, ":") {
			addWord(&x.results, stop, "")
		}
	}
	if d.Write.Whole {
		x.said = append(x.said, jsonTokens(d.Write.Text.Open))
	}
	if x.value == nil && d.Form == spec.TagCall {
		x.value = x.tree.find(d.Tags.Value.Open)
	}
	x.head.add(d)
}

// addWord adds a word with what follows it to a list that does not have it.
func addWord(list *[]string, word, after string) {
	if word != "" && !slices.Contains(*list, word+after) {
		*list = append(*list, word+after)
	}
}

// add adds the words of a dialect with headers.
func (h *headWords) add(d *spec.Dialect) {
	if d.Form != spec.Header {
		return
	}
	addWord(&h.ends, foldAll(d.Head.End), "")
	h.longest = max(h.longest, len(foldAll(d.Head.End)))
	addWord(&h.to, d.Head.To, "")
	addWord(&h.channels, d.Head.Channel, "")
	for _, s := range d.Head.Skip {
		addWord(&h.skip, s, "")
	}
	for _, p := range d.Call {
		addWord(&h.calls, foldAll(p.Close), "")
	}
	for _, l := range []struct {
		set  *map[string]bool
		list []string
	}{{&h.thinkers, d.Head.Thinkers}, {&h.thinkChannels, d.Head.ThinkChannels}, {&h.users, d.Head.Users}, {&h.speakers, d.Head.Speakers}} {
		for _, word := range l.list {
			if *l.set == nil {
				*l.set = make(map[string]bool)
			}
			(*l.set)[word] = true
		}
	}
}

// jsonTokens splits the beginning of a JSON value into its tokens, and adds the
// quote that begins the text after them.
func jsonTokens(s string) (list []string) {
	for i := 0; i < len(s); {
		n := 1
		if s[i] == '"' {
			n = 2 + strings.IndexByte(s[i+1:], '"')
		}
		if !isSpace(s[i]) {
			list = append(list, s[i:i+n])
		}
		i += n
	}
	return append(list, `"`)
}
