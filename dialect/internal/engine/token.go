package engine

import (
	"maps"
	"math/bits"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolpost/toolpost/dialect/spec"
)

// kind is the role a marker plays. One marker may play several.
type kind uint8

const (
	opens      kind = iota // begins calls
	closes                 // ends calls
	separates              // stands between name and arguments
	identifies             // stands between name and id
	thinks                 // begins thinking
	unthinks               // ends thinking
	codes                  // begins code
	drops                  // has no meaning for us
	addresses              // begins a message; whom it is for may follow
	heads                  // begins a message header
	tagCall                // begins the tag of a call, up to its name
	endCall
	tagParam // begins the tag of a parameter, up to its name
	endParam
	tagValue // begins the value of the key before it
	endValue
	prefixes // stands before every tag
	kinds
)

// token is a marker and, for each of its roles, the dialects in which it
// plays it, as a set of rows of the table.
type token struct {
	text    string
	number  int      // in the order of the tree
	kinds   uint32   // the roles, one bit each
	rows    []rowSet // of each role it plays, in their order
	all     rowSet
	line    bool // only at the beginning of a line: it begins with a letter
	word    bool // only at the beginning of a word
	special bool // spelled like no ordinary text: with bars, or not in ASCII
	always  bool // without meaning, although ordinary markup may hold it

	beforeName bool   // only right before a name
	atStart    bool   // only before anything was said
	label      string // a word behind it, of a marker that begins thinking
	tagEnd     string // of the beginning of a tag: what ends the tag
}

// is reports whether the marker, if there is one, plays the role k.
func (t *token) is(k kind) bool { return t != nil && t.kinds>>k&1 != 0 }

// in returns the dialects in which the marker, if there is one, plays the role.
func (t *token) in(k kind) rowSet {
	if !t.is(k) {
		return rowSet{}
	}
	return t.rows[t.place(k)]
}

// place returns where the rows of the role k stand.
func (t *token) place(k kind) int { return bits.OnesCount32(t.kinds & (1<<k - 1)) }

// node is a node of the tree of all markers, in which bars and underscores of
// all spellings are one. All nodes are in one slice and hold few pointers, to keep
// the work of the garbage collector small.
type node struct {
	next  []node
	index *[256]uint16 // of a node with many children: the number of each, and one more
	token *token
	byte  byte // that leads here
}

// manyChildren is how many children a node has at least that has an index.
const manyChildren = 5

func (n *node) child(c byte) *node {
	if n.index != nil {
		if i := n.index[c]; i > 0 {
			return &n.next[i-1]
		}
		return nil
	}
	for i := range n.next {
		if n.next[i].byte == c {
			return &n.next[i]
		}
	}
	return nil
}

// newTree returns the tree of the markers of a table.
func newTree(rows []spec.Dialect) *node {
	all := make(markers)
	for i := range rows {
		all.addRow(&rows[i], oneRow(i))
	}
	texts := slices.Sorted(maps.Keys(all))
	nodes := make([]node, 1, 1+countPrefixes(texts))
	nodes[0].grow(&nodes, texts, 0, all)
	return &nodes[0]
}

// countPrefixes returns how many beginnings the sorted texts have.
func countPrefixes(texts []string) (count int) {
	last := ""
	for _, s := range texts {
		same := 0
		for same < min(len(s), len(last)) && s[same] == last[same] {
			same++
		}
		count += len(s) - same
		last = s
	}
	return count
}

// grow gives the node to which the first depth bytes of all texts lead its
// children, for which nodes has room.
func (n *node) grow(nodes *[]node, texts []string, depth int, all markers) {
	if len(texts) > 0 && len(texts[0]) == depth {
		n.token = all[texts[0]]
		texts = texts[1:]
	}
	var ends []int // of the texts of each child
	for i := range texts {
		if i+1 == len(texts) || texts[i+1][depth] != texts[i][depth] {
			ends = append(ends, i+1)
		}
	}
	first := len(*nodes)
	*nodes = (*nodes)[:first+len(ends)]
	n.next = (*nodes)[first:len(*nodes):len(*nodes)]
	if len(ends) >= manyChildren {
		n.index = new([256]uint16)
	}
	for i, start := 0, 0; i < len(ends); i++ {
		c := texts[start][depth]
		if n.index != nil {
			n.index[c] = uint16(i + 1)
		}
		n.next[i].byte = c
		n.next[i].grow(nodes, texts[start:ends[i]], depth+1, all)
		start = ends[i]
	}
}

// markers are the markers of a table by their text.
type markers map[string]*token

// find returns the marker that is spelled so, nil if there is none.
func (m markers) find(text string) *token { return m[foldAll(text)] }

// addRow adds the markers of a dialect.
func (m markers) addRow(d *spec.Dialect, row rowSet) {
	for _, ps := range [][]spec.Pair{d.Wrap, d.Call} {
		for _, p := range ps {
			if d.Form == spec.Header && strings.HasPrefix(p.Open, "<|") {
				m.add(p.Open, heads, row)
			} else {
				m.add(p.Open, opens, row)
			}
			m.add(p.Close, closes, row)
		}
	}
	for _, p := range d.Think {
		m.add(p.Open, thinks, row)
		m.add(p.Close, unthinks, row)
		if t := m.find(p.Open); t != nil && t.label == "" {
			t.label = d.ThinkLabel
		}
	}
	m.addAll(d.Sep, separates, row)
	m.addAll(d.IDSep, identifies, row)
	m.addAll(d.Code, codes, row)
	m.addAll(d.Drop, drops, row)
	m.addAll(d.End, drops, row)
	m.addAll(d.Role, drops, row)
	m.addAll(d.Role, addresses, row)
	m.addTags(d, row)
	m.limit(d)
}

// limit notes which markers of a dialect count in some places only, or always.
func (m markers) limit(d *spec.Dialect) {
	for _, s := range d.Inline {
		if t := m.find(s); t != nil {
			t.line, t.word = false, true
		}
	}
	for _, s := range d.BeforeName {
		if t := m.find(s); t != nil {
			t.beforeName = true
		}
	}
	for _, s := range d.AtStart {
		if t := m.find(s); t != nil {
			t.atStart = true
		}
	}
	for _, s := range d.End {
		if t := m.find(s); t != nil {
			t.always = true
		}
	}
}

// longest returns the longest marker with which text begins, and its length.
func (n *node) longest(text string) (found *token, length int) {
	for i := 0; i < len(text) && n != nil; {
		c, width := fold(text[i:])
		n = n.child(c)
		i += width
		if n != nil && n.token != nil {
			found, length = n.token, i
		}
	}
	return found, length
}

// tokens appends the markers of the tree to list.
func (n *node) tokens(list []*token) []*token {
	if n.token != nil {
		list = append(list, n.token)
	}
	for i := range n.next {
		list = n.next[i].tokens(list)
	}
	return list
}

// find returns the marker that is spelled so, nil if there is none.
func (n *node) find(text string) *token {
	for i := 0; i < len(text) && n != nil; {
		c, width := fold(text[i:])
		n = n.child(c)
		i += width
	}
	if n == nil {
		return nil
	}
	return n.token
}

func (m markers) addAll(texts []string, k kind, row rowSet) {
	for _, s := range texts {
		m.add(s, k, row)
	}
}

// addTags adds the tags of a dialect up to the place of the name. Elements
// that are named after a tool or a parameter are no markers.
func (m markers) addTags(d *spec.Dialect, row rowSet) {
	for _, t := range []struct {
		tag       spec.Pair
		open, end kind
	}{{d.Tags.Call, tagCall, endCall}, {d.Tags.Param, tagParam, endParam}, {d.Tags.Value, tagValue, endValue}} {
		word, end := t.tag.Open, ">"
		if i := strings.Index(word, "%"); i >= 0 {
			end = tagEnd(word)
			word = strings.TrimRight(word[:i], `="`)
			word, _, _ = strings.Cut(word, " ")
		}
		if prefix, ok := strings.CutSuffix(word, "<"); ok {
			m.add(prefix, prefixes, row)
			continue
		}
		m.addTag(word, end, t.open, row)
		m.add(t.tag.Close, t.end, row)
		for _, space := range d.Tags.Spaces {
			m.addTag(inSpace(space, word), end, t.open, row)
			m.add(inSpace(space, t.tag.Close), t.end, row)
		}
	}
	for _, p := range d.Tags.Also {
		word, _, _ := strings.Cut(p.Open, "%")
		m.addTag(strings.TrimRight(word, `"`), tagEnd(p.Open), tagCall, row)
	}
	for _, space := range d.Tags.Spaces {
		for _, p := range d.Wrap {
			m.add(inSpace(space, p.Open), opens, row)
			m.add(inSpace(space, p.Close), closes, row)
		}
	}
}

// addTag adds the beginning of a tag that ends with end.
func (m markers) addTag(word, end string, k kind, row rowSet) {
	m.add(word, k, row)
	if t := m.find(word); t != nil && t.tagEnd == "" {
		t.tagEnd = end
	}
}

// tagEnd returns what ends a tag: all that stands behind its last value.
func tagEnd(tag string) string {
	tag = tag[strings.LastIndexByte(tag, '%')+2:]
	return foldAll(strings.TrimLeft(tag, `"'`))
}

// inSpace puts a namespace before the name of the element a tag is of.
func inSpace(space, tag string) string {
	name := strings.TrimLeft(tag, "</")
	return tag[:len(tag)-len(name)] + space + ":" + name
}

func (m markers) add(text string, k kind, row rowSet) {
	if strings.TrimSpace(text) == "" || strings.HasPrefix(text, "```") {
		return // a fence is no marker: what it holds decides
	}
	folded := foldAll(text)
	t := m[folded]
	if t == nil {
		first, _ := utf8.DecodeRuneInString(text)
		t = &token{text: folded, line: unicode.IsLetter(first), special: folded[0] >= utf8.RuneSelf || strings.Contains(folded, "|")}
		m[folded] = t
	}
	t.play(k, row)
}

// play adds a role of the marker and the dialect in which it plays it.
func (t *token) play(k kind, row rowSet) {
	if !t.is(k) {
		t.rows = slices.Insert(t.rows, t.place(k), rowSet{})
		t.kinds |= 1 << k
	}
	t.rows[t.place(k)] = t.in(k).or(row)
	t.all = t.all.or(row)
}

func foldAll(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		c, width := fold(s[i:])
		b.WriteByte(c)
		i += width
	}
	return b.String()
}

// fold returns the first byte of s, or | and _ for the other spellings of
// bars and underscores, and how many bytes it stands for.
func fold(s string) (c byte, width int) {
	if s[0] < 0x80 || len(s) < 3 {
		return s[0], 1
	}
	switch s[:3] {
	case "｜", "‖", "│":
		return '|', 3
	case "▁":
		return '_', 3
	}
	return s[0], 1
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// match returns the longest marker that begins i bytes from here, and its
// length; nil if there is none. It waits for more input only as long as the
// bytes that are there may begin a marker.
func (in *input) match(i int) (found *token, n int) {
	at := in.lex.tree
	last := byte(0)
	for j := i; in.at(j); {
		c, width := in.folded(j)
		next := at.child(c)
		if next == nil || c == ' ' && at.child('>') != nil && in.peek(j+1) == '>' {
			next, width = in.tolerate(at, last, c, j)
		}
		if next == nil {
			break
		}
		j += width
		if next == at {
			continue
		}
		at, last = next, c
		if at.token != nil {
			found, n = at.token, j-i
		}
	}
	return found, n
}

// partialMarker reports whether the answer ends i bytes from here in the
// middle of a marker.
func (in *input) partialMarker(i int) bool {
	at := in.lex.tree
	last := byte(0)
	for j := i; ; {
		if !in.at(j) {
			return j > i+1
		}
		c, width := in.folded(j)
		next := at.child(c)
		switch {
		case next != nil:
			at, last = next, c
			j += width
		case at.takesSuffix(last, c):
			j = in.suffix(j)
		case c == '\\' && j > i:
			j++
		default:
			return false
		}
	}
}

// takesSuffix reports whether c, behind last, may begin the suffix of the name
// of a tag that ends here.
func (n *node) takesSuffix(last, c byte) bool {
	return c == ':' && isLetter(last) && (n.child('>') != nil || n.child('|') != nil)
}

// suffix returns the index behind the suffix of a tag's name that begins with
// the colon at the j-th byte.
func (in *input) suffix(j int) int {
	const longest = 32
	k := j + 1
	for k < j+longest && in.at(k) && isSuffixByte(in.buf[in.pos+k]) {
		k++
	}
	return k
}

// foldedAt is folded for a byte that may not be there: then it is 0.
func (in *input) foldedAt(j int) (c byte, width int) {
	if !in.at(j) {
		return 0, 0
	}
	return in.folded(j)
}

// folded is fold at the j-th byte from here.
func (in *input) folded(j int) (c byte, width int) {
	c = in.buf[in.pos+j]
	if c < 0x80 || (c != 0xEF && c != 0xE2) || !in.at(j+2) {
		return c, 1
	}
	return fold(string(in.buf[in.pos+j : in.pos+j+3]))
}

// tolerate handles spellings that proxies and tokenizers produce: spaces
// around bars and before the end of a tag, doubled bars, spaces for underscores, and a suffix like
// :opensource before the end of a tag. It returns where to go on and how many
// bytes were passed over.
func (in *input) tolerate(at *node, last, c byte, j int) (next *node, width int) {
	switch {
	case len(at.next) == 0:
	case c == '|' && last == '|':
		return at, 1 + 2*boolInt(in.buf[in.pos+j] >= 0x80)
	case c == ' ':
		return in.tolerateSpace(at, last, j)
	case c == '\\' && at != in.lex.tree: // Markdown escapes punctuation
		if next, _ := in.foldedAt(j + 1); next != 0 && at.child(next) != nil && !isLetter(next) {
			return at, 1
		}
	case at.takesSuffix(last, c):
		k := in.suffix(j)
		if end, _ := in.foldedAt(k); k > j+1 && end != 0 && at.child(end) != nil {
			return at, k - j
		}
	}
	return nil, 0
}

// tolerateSpace is tolerate for a space.
func (in *input) tolerateSpace(at *node, last byte, j int) (next *node, width int) {
	switch {
	case (last == '<' || last == '|' || last == '/') && at != in.lex.tree:
		return at, 1
	case at.child('|') != nil && in.barAt(j+1):
		return at, 1
	case at.child('>') != nil && in.peek(j+1) == '>': // <tool_call >
		return at, 1
	case at.child('_') != nil:
		return at.child('_'), 1
	case last != 0 && (at.child('|') != nil || at.child('<') != nil || last == '>'):
		return at, 1
	}
	return nil, 0
}

// isSuffixByte reports whether c may stand in the suffix of a tag's name.
func isSuffixByte(c byte) bool {
	return isLetter(c) || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.'
}

// barAt reports whether a bar of any spelling stands at j.
func (in *input) barAt(j int) bool {
	if !in.at(j) {
		return false
	}
	c, _ := in.folded(j)
	return c == '|'
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
