// Package lexicon makes a table of dialects ready for reading: the tree of all their
// markers, the bytes with which something other than text may begin, and the rows
// that have a property.
package lexicon

import (
	"bytes"
	"slices"
	"strings"
	"unicode"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/schema"
)

// Lexicon is a table of dialects made ready for reading: the tree of their
// markers, the bytes with which something other than text may begin, and the
// rows with each property. It does not change once it is made.
type Lexicon struct {
	// Rows are the rows of the table. They must not be changed.
	Rows []spec.Dialect
	Tree *Node
	byteTables

	properties

	Fragments [][]string   // of each row: what shows that a value swallowed a tag of its call
	Quotes    []BraceQuote // of the brace dialects
	Openings  []Opening
	Cited     []string   // the elements of citations
	Method    []string   // the suffixes of names
	ArgsFuncs []string   // functions around arguments, with their parenthesis
	Labels    []string   // that follow an opener of thinking
	Results   []string   // elements and labels with which models begin to invent a result
	Said      [][]string // for each dialect of one JSON value, the tokens before its text
	Value     *Token     // of the first dialect of pairs: what begins a value
	Head      headWords
}

// properties are the rows with a property, most of them one field of a row.
type properties struct {
	Bare, Keyed, KindFirst, IdFirst, PlainArgs, NameAlone, List, Echoes RowSet

	Cites, Roles, Header, Pairs, RawCode, NamedCode, Whole, Methods RowSet

	NameFirst RowSet // without a word before the name
	Single    RowSet // whose calls are in no list
	Newline   RowSet // that separate name and arguments by a newline
	SameLine  RowSet // that do not
	Elements  RowSet // whose elements are named after tools
	Yaml      RowSet // that write YAML in them
	Thoughts  RowSet // whose thinking is a line
	Labelled  RowSet // whose markers are ordinary words
	Worded    RowSet // whose markers are words, ordinary or not
	Unthought RowSet // whose answers may begin with the end of thinking
	Unmarked  RowSet // that write calls without a marker
	Fenced    RowSet // of fences in which there is only calls

	Form          [spec.LineCall + 1]RowSet
	Fences        map[string]RowSet // by the words of a fence
	ByKey, ByArgs map[string]RowSet // by a key of JSON calls, and by that of the arguments
}

// BraceQuote is a delimiter of strings and what they may be without a schema.
type BraceQuote struct {
	Text  string
	Types schema.Types
}

// Opening is the line that begins an answer to the user, and what follows it.
type Opening struct {
	Row  RowSet
	Line spec.Pair
}

// headWords are the words of the headers of all dialects.
type headWords struct {
	Ends, To, channels, skip, Calls []string
	Longest                         int // of ends
	Thinkers, ThinkChannels         map[string]bool
	Users, Speakers                 map[string]bool
}

// New makes a table of dialects ready for reading. Its rows must be valid,
// and must not change.
func New(rows []spec.Dialect) *Lexicon {
	x := &Lexicon{Rows: rows, Tree: newTree(rows)}
	x.Fences, x.ByKey, x.ByArgs = make(map[string]RowSet), make(map[string]RowSet), make(map[string]RowSet)
	x.byteTables = newByteTables(x.Tree, rows)
	for i, t := range x.Tokens() {
		t.Number = i
	}
	for _, d := range rows {
		x.Fragments = append(x.Fragments, fragments(d))
	}
	x.findRows()
	x.findUnmarked()
	for i := range rows {
		x.addWords(i)
	}
	for _, all := range x.Fences {
		if !all.Meets(x.Form[spec.JSONCall]) { // the word of the fence shows that it is a call
			x.Fenced = x.Fenced.Or(all)
		}
	}
	return x
}

// Tokens returns all markers, in the order of their numbers.
func (x *Lexicon) Tokens() []*Token { return x.Tree.tokens(nil) }

// RowOf returns the row of the dialect called name, the empty set if there is
// none.
func (x *Lexicon) RowOf(name string) RowSet {
	for i := range x.Rows {
		if name != "" && x.Rows[i].Name == name {
			return oneRow(i)
		}
	}
	return RowSet{}
}

// where returns the rows that fit.
func (x *Lexicon) where(fits func(*spec.Dialect) bool) (set RowSet) {
	for i := range x.Rows {
		if fits(&x.Rows[i]) {
			set = set.Or(oneRow(i))
		}
	}
	return set
}

func (x *Lexicon) findRows() {
	x.Bare = x.where(func(d *spec.Dialect) bool { return d.Bare })
	x.Keyed = x.where(func(d *spec.Dialect) bool { return d.Keyed })
	x.KindFirst = x.where(func(d *spec.Dialect) bool { return d.KindFirst })
	x.IdFirst = x.where(func(d *spec.Dialect) bool { return d.IDFirst })
	x.PlainArgs = x.where(func(d *spec.Dialect) bool { return d.PlainArgs })
	x.NameAlone = x.where(func(d *spec.Dialect) bool { return d.NameAlone })
	x.Echoes = x.where(func(d *spec.Dialect) bool { return d.Echoes })
	x.Cites = x.where(func(d *spec.Dialect) bool { return d.Cites != "" })
	x.Roles = x.where(func(d *spec.Dialect) bool { return len(d.Role) > 0 })
	x.Header = x.where(func(d *spec.Dialect) bool { return d.Form == spec.Header })
	x.Pairs = x.where(func(d *spec.Dialect) bool { return d.Tags.Value.Open != "" })
	x.RawCode = x.where(func(d *spec.Dialect) bool { return len(d.Code) > 0 })
	x.NamedCode = x.where(func(d *spec.Dialect) bool { return d.NamedCode })
	x.Elements = x.where(func(d *spec.Dialect) bool { return d.Tags.Call.Open == "<%s>" && d.Write.Body != spec.YAMLBody })
	x.Yaml = x.where(func(d *spec.Dialect) bool { return d.Write.Body == spec.YAMLBody })
	x.Thoughts = x.where(func(d *spec.Dialect) bool { return d.Form == spec.LineCall && len(d.Think) > 0 })
	x.Labelled = x.where(func(d *spec.Dialect) bool {
		return d.Form == spec.LineCall && len(d.Call) > 0 && chars.IsLetter(d.Call[0].Open[0]) && len(d.Think) == 0
	})
	x.Worded = x.where(func(d *spec.Dialect) bool {
		return d.Form == spec.LineCall && len(d.Call) > 0 && chars.IsLetter(d.Call[0].Open[0])
	})
	x.Unthought = x.where(func(d *spec.Dialect) bool { return d.Unthought })
	x.Whole = x.where(func(d *spec.Dialect) bool { return d.Write.Whole })
	x.List = x.where(func(d *spec.Dialect) bool { return d.List })
	x.Single = x.where(func(d *spec.Dialect) bool { return !d.List })
	x.NameFirst = x.where(func(d *spec.Dialect) bool { return !d.KindFirst })
	x.Newline = x.where(func(d *spec.Dialect) bool { return slices.Contains(d.Sep, "\n") })
	x.SameLine = x.where(func(d *spec.Dialect) bool { return !slices.Contains(d.Sep, "\n") })
	x.Methods = x.where(func(d *spec.Dialect) bool { return d.Method != "" })
	for f := range x.Form {
		x.Form[f] = x.where(func(d *spec.Dialect) bool { return d.Form == spec.Form(f) })
	}
}

// addWords adds the words of row i that are looked for by themselves.
func (x *Lexicon) addWords(i int) {
	d, row := &x.Rows[i], oneRow(i)
	if d.NameKey != "" {
		x.ByKey[d.NameKey] = x.ByKey[d.NameKey].Or(row)
	}
	if d.ArgsKey != "" {
		x.ByKey[d.ArgsKey] = x.ByKey[d.ArgsKey].Or(row)
		x.ByArgs[d.ArgsKey] = x.ByArgs[d.ArgsKey].Or(row)
	}
	for _, p := range d.Wrap {
		if strings.HasPrefix(p.Open, "```") {
			x.Fences[p.Open] = x.Fences[p.Open].Or(row)
		}
	}
	types := schema.Any
	if d.Text == spec.Verbatim || d.Text == spec.Plain {
		types = schema.String
	}
	for _, q := range d.Quotes {
		if !slices.ContainsFunc(x.Quotes, func(other BraceQuote) bool { return other.Text == q }) {
			x.Quotes = append(x.Quotes, BraceQuote{q, types})
		}
	}
	if d.Opening.Open != "" {
		x.Openings = append(x.Openings, Opening{row, d.Opening})
	}
	addWord(&x.Cited, d.Cites, "")
	addWord(&x.Method, d.Method, "")
	addWord(&x.ArgsFuncs, d.ArgsFunc, "(")
	addWord(&x.Labels, d.ThinkLabel, "")
	for _, stop := range d.Results.Stop {
		if strings.HasSuffix(stop, ">") || strings.HasSuffix(stop, ":") {
			addWord(&x.Results, stop, "")
		}
	}
	if d.Write.Whole {
		x.Said = append(x.Said, jsonTokens(d.Write.Text.Open))
	}
	if x.Value == nil && d.Form == spec.TagCall {
		x.Value = x.Tree.Find(d.Tags.Value.Open)
	}
	x.Head.add(d)
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
	addWord(&h.Ends, FoldAll(d.Head.End), "")
	h.Longest = max(h.Longest, len(FoldAll(d.Head.End)))
	addWord(&h.To, d.Head.To, "")
	addWord(&h.channels, d.Head.Channel, "")
	for _, s := range d.Head.Skip {
		addWord(&h.skip, s, "")
	}
	for _, p := range d.Call {
		addWord(&h.Calls, FoldAll(p.Close), "")
	}
	for _, l := range []struct {
		set  *map[string]bool
		list []string
	}{{&h.Thinkers, d.Head.Thinkers}, {&h.ThinkChannels, d.Head.ThinkChannels}, {&h.Users, d.Head.Users}, {&h.Speakers, d.Head.Speakers}} {
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
		if !chars.IsSpace(s[i]) {
			list = append(list, s[i:i+n])
		}
		i += n
	}
	return append(list, `"`)
}

const (
	MaxName   = spec.MaxWord
	MaxPrefix = 48 // of a prefix that models put before names
)

// Bold are the signs around a label in bold.
const Bold = "**"

// findUnmarked finds the dialects whose calls, as they write them, begin
// without a marker that only calls have.
func (x *Lexicon) findUnmarked() {
	x.Unmarked = x.where(func(d *spec.Dialect) bool {
		if !d.Bare {
			return false
		}
		t, _ := x.Tree.longest(d.Write.Open + d.Write.Call)
		return !t.Is(TagCall) && !x.Marks(t)
	})
}

// Marks reports whether a marker that begins calls says by itself that calls
// follow.
func (x *Lexicon) Marks(t *Token) bool {
	return t.Is(Opens) && (!t.In(Opens).Within(x.Bare) || strings.HasPrefix(t.Text, "<|"))
}

// Recipient returns whom a header addresses, and its channel.
func (h *headWords) Recipient(header string) (to, channel string) {
	_, to, channel = h.split(header)
	return to, channel
}

// split returns the recipient and the channel of a header, and the other words with the channel.
func (h *headWords) split(header string) (rest, to, channel string) {
	for _, s := range h.skip {
		header = strings.ReplaceAll(header, s, " ")
	}
	for _, s := range h.channels {
		header = strings.ReplaceAll(header, s, " "+s)
	}
	for _, s := range h.To { // a question mark is what some tokenizers leave of a space
		header = strings.ReplaceAll(header, "?"+s, " "+s)
	}
	for _, word := range strings.Fields(header) {
		if c, ok := cutAny(word, h.channels); ok {
			channel = strings.Trim(c, "?–-")
			word = c
		}
		if r, ok := cutAny(word, h.To); ok {
			to = r
			continue
		}
		rest += " " + word
	}
	return rest, to, channel
}

// Unused reports whether a header holds words that mean nothing: neither a recipient, a channel, a role nor the notation
// of the message.
func (h *headWords) Unused(header string) bool {
	for _, s := range h.Ends {
		header = strings.ReplaceAll(header, s, " ")
	}
	header, _, _ = h.split(header)
	for _, word := range strings.Fields(header) {
		if !headerWords[strings.Trim(word, "?–-:")] {
			return true
		}
	}
	return false
}

// headerWords are the words that may be in a header besides the recipient: channels, roles, and notations of arguments.
var headerWords = map[string]bool{
	"": true, "commentary": true, "analysis": true, "final": true, "assistant": true, "functions": true, "function": true, "tool": true,
	"json": true, "code": true, "python": true, "text": true, "xml": true, "none": true, "call": true, "user": true, "system": true,
}

// cutAny returns word without the one of list it begins with.
func cutAny(word string, list []string) (rest string, ok bool) {
	for _, s := range list {
		if rest, ok = strings.CutPrefix(word, s); ok {
			return rest, true
		}
	}
	return "", false
}

// EndsHeader reports whether s ends with what ends a header.
func (x *Lexicon) EndsHeader(s string) bool {
	for _, end := range x.Head.Ends {
		if strings.HasSuffix(s, end) {
			return true
		}
	}
	return false
}

// InValue reports whether arguments contain a tag of the first of rows, or the beginning of one. The value may be meant so,
// or its end tag is missing.
func (x *Lexicon) InValue(rows RowSet, args []byte) bool {
	i := rows.First()
	return i >= 0 && slices.ContainsFunc(x.Fragments[i], func(s string) bool { return bytes.Contains(args, []byte(s)) })
}

// fragments returns the beginnings of the tags of a dialect for parameters, up to the end of their first word, and the
// words in them that have signs of special tokens on both sides.
func fragments(d spec.Dialect) (list []string) {
	for _, tag := range []string{d.Tags.Param.Open, d.Tags.Param.Close} {
		for _, word := range strings.FieldsFunc(tag, func(c rune) bool { return !unicode.IsLetter(c) }) {
			for _, s := range []string{"|" + word + "|", "]" + word + "[", "｜" + word + "｜"} {
				if strings.Contains(tag, s) && !slices.Contains(list, s) {
					list = append(list, s)
				}
			}
		}
	}
	for _, tag := range []string{d.Tags.Param.Open, d.Tags.Param.Close, d.Tags.Value.Open, d.Tags.Value.Close, d.Tags.Call.Close} {
		start := strings.IndexFunc(tag, unicode.IsLetter)
		if start < 0 || start > 0 && strings.HasPrefix(tag[start-1:], "%s") || strings.HasPrefix(tag[start:], "s>") {
			continue
		}
		end := start
		for end < len(tag) && chars.IsNameByte(tag[end]) && tag[end] != '=' {
			end++
		}
		if s := tag[max(0, start-2):end]; end-start > 3 && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}
