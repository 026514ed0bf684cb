package lexicon

import (
	"maps"
	"math/bits"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/spec"
)

// Kind is the role a marker plays. One marker may play several.
type Kind uint8

const (
	Opens      Kind = iota // begins calls
	Closes                 // ends calls
	Separates              // stands between name and arguments
	Identifies             // stands between name and id
	Thinks                 // begins thinking
	Unthinks               // ends thinking
	Codes                  // begins code
	Drops                  // lacks meaning for us
	Addresses              // begins a message; whom it is for may follow
	Heads                  // begins a message header
	TagCall                // begins the tag of a call, up to its name
	EndCall
	TagParam // begins the tag of a parameter, up to its name
	EndParam
	TagValue // begins the value of the key before it
	EndValue
	Prefixes // is before every tag
	kinds
)

// Token is a marker and, for each of its roles, the dialects in which it
// plays it, as a set of rows of the table.
type Token struct {
	Text    string
	Number  int      // in the order of the tree
	kinds   uint32   // the roles, one bit each
	rows    []RowSet // of each role it plays, in their order
	All     RowSet
	Line    bool // only at the beginning of a line: it begins with a letter
	Word    bool // only at the beginning of a word
	Special bool // spelled like no ordinary text: with bars, or not in ASCII
	Always  bool // without meaning, although ordinary markup may hold it

	BeforeName bool   // only right before a name
	AtStart    bool   // only before anything was said
	Label      string // a word after it, of a marker that begins thinking
	TagEnd     string // of the beginning of a tag: what ends the tag
}

// Is reports whether the marker, if there is one, plays the role k.
func (t *Token) Is(k Kind) bool { return t != nil && t.kinds>>k&1 != 0 }

// In returns the dialects in which the marker, if there is one, plays the role.
func (t *Token) In(k Kind) RowSet {
	if !t.Is(k) {
		return RowSet{}
	}
	return t.rows[t.roleIndex(k)]
}

// roleIndex returns where the rows of the role k stand.
func (t *Token) roleIndex(k Kind) int { return bits.OnesCount32(t.kinds & (1<<k - 1)) }

// Node is a node of the tree of all markers, in which bars and underscores of
// all spellings are one. All nodes are in one slice and hold few pointers, to keep
// the work of the garbage collector small.
type Node struct {
	Next  []Node
	index *[256]uint16 // of a node with many children: the number of each, and one more
	Token *Token
	byte  byte // that leads here
}

// manyChildren is how many children a node has at least that has an index.
const manyChildren = 5

func (n *Node) Child(c byte) *Node {
	if n.index != nil {
		if i := n.index[c]; i > 0 {
			return &n.Next[i-1]
		}
		return nil
	}
	for i := range n.Next {
		if n.Next[i].byte == c {
			return &n.Next[i]
		}
	}
	return nil
}

// newTree returns the tree of the markers of a table.
func newTree(rows []spec.Dialect) *Node {
	all := make(markers)
	for i := range rows {
		all.addRow(&rows[i], oneRow(i))
	}
	texts := slices.Sorted(maps.Keys(all))
	nodes := make([]Node, 1, 1+countPrefixes(texts))
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
func (n *Node) grow(nodes *[]Node, texts []string, depth int, all markers) {
	if len(texts) > 0 && len(texts[0]) == depth {
		n.Token = all[texts[0]]
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
	n.Next = (*nodes)[first:len(*nodes):len(*nodes)]
	if len(ends) >= manyChildren {
		n.index = new([256]uint16)
	}
	for i, start := 0, 0; i < len(ends); i++ {
		c := texts[start][depth]
		if n.index != nil {
			n.index[c] = uint16(i + 1)
		}
		n.Next[i].byte = c
		n.Next[i].grow(nodes, texts[start:ends[i]], depth+1, all)
		start = ends[i]
	}
}

// markers are the markers of a table by their text.
type markers map[string]*Token

// find returns the marker that is spelled so, nil if there is none.
func (m markers) find(text string) *Token { return m[FoldAll(text)] }

// addRow adds the markers of a dialect.
func (m markers) addRow(d *spec.Dialect, row RowSet) {
	for _, ps := range [][]spec.Pair{d.Wrap, d.Call} {
		for _, p := range ps {
			if d.Form == spec.Header && strings.HasPrefix(p.Open, "<|") {
				m.add(p.Open, Heads, row)
			} else {
				m.add(p.Open, Opens, row)
			}
			m.add(p.Close, Closes, row)
		}
	}
	for _, p := range d.Think {
		m.add(p.Open, Thinks, row)
		m.add(p.Close, Unthinks, row)
		if t := m.find(p.Open); t != nil && t.Label == "" {
			t.Label = d.ThinkLabel
		}
	}
	m.addAll(d.Sep, Separates, row)
	m.addAll(d.IDSep, Identifies, row)
	m.addAll(d.Code, Codes, row)
	m.addAll(d.Drop, Drops, row)
	m.addAll(d.End, Drops, row)
	m.addAll(d.Role, Drops, row)
	m.addAll(d.Role, Addresses, row)
	m.addTags(d, row)
	m.limit(d)
}

// limit notes which markers of a dialect count in some places only, or always.
func (m markers) limit(d *spec.Dialect) {
	for _, s := range d.Inline {
		if t := m.find(s); t != nil {
			t.Line, t.Word = false, true
		}
	}
	for _, s := range d.BeforeName {
		if t := m.find(s); t != nil {
			t.BeforeName = true
		}
	}
	for _, s := range d.AtStart {
		if t := m.find(s); t != nil {
			t.AtStart = true
		}
	}
	for _, s := range d.End {
		if t := m.find(s); t != nil {
			t.Always = true
		}
	}
}

// longest returns the longest marker with which text begins, and its length.
func (n *Node) longest(text string) (found *Token, length int) {
	for i := 0; i < len(text) && n != nil; {
		c, width := Fold(text[i:])
		n = n.Child(c)
		i += width
		if n != nil && n.Token != nil {
			found, length = n.Token, i
		}
	}
	return found, length
}

// tokens appends the markers of the tree to list.
func (n *Node) tokens(list []*Token) []*Token {
	if n.Token != nil {
		list = append(list, n.Token)
	}
	for i := range n.Next {
		list = n.Next[i].tokens(list)
	}
	return list
}

// Find returns the marker that is spelled so, nil if there is none.
func (n *Node) Find(text string) *Token {
	for i := 0; i < len(text) && n != nil; {
		c, width := Fold(text[i:])
		n = n.Child(c)
		i += width
	}
	if n == nil {
		return nil
	}
	return n.Token
}

func (m markers) addAll(texts []string, k Kind, row RowSet) {
	for _, s := range texts {
		m.add(s, k, row)
	}
}

// addTags adds the tags of a dialect up to the place of the name. Elements
// that are named after a tool or a parameter are not markers.
func (m markers) addTags(d *spec.Dialect, row RowSet) {
	for _, t := range []struct {
		tag       spec.Pair
		open, end Kind
	}{{d.Tags.Call, TagCall, EndCall}, {d.Tags.Param, TagParam, EndParam}, {d.Tags.Value, TagValue, EndValue}} {
		word, end := t.tag.Open, ">"
		if i := strings.Index(word, "%"); i >= 0 {
			end = tagEnd(word)
			word = strings.TrimRight(word[:i], `="`)
			word, _, _ = strings.Cut(word, " ")
		}
		if prefix, ok := strings.CutSuffix(word, "<"); ok {
			m.add(prefix, Prefixes, row)
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
		m.addTag(strings.TrimRight(word, `"`), tagEnd(p.Open), TagCall, row)
	}
	for _, space := range d.Tags.Spaces {
		for _, p := range d.Wrap {
			m.add(inSpace(space, p.Open), Opens, row)
			m.add(inSpace(space, p.Close), Closes, row)
		}
	}
}

// addTag adds the beginning of a tag that ends with end.
func (m markers) addTag(word, end string, k Kind, row RowSet) {
	m.add(word, k, row)
	if t := m.find(word); t != nil && t.TagEnd == "" {
		t.TagEnd = end
	}
}

// tagEnd returns what ends a tag: all that follows its last value.
func tagEnd(tag string) string {
	tag = tag[strings.LastIndexByte(tag, '%')+2:]
	return FoldAll(strings.TrimLeft(tag, `"'`))
}

// inSpace puts a namespace before the name of the element a tag is of.
func inSpace(space, tag string) string {
	name := strings.TrimLeft(tag, "</")
	return tag[:len(tag)-len(name)] + space + ":" + name
}

func (m markers) add(text string, k Kind, row RowSet) {
	if strings.TrimSpace(text) == "" || strings.HasPrefix(text, "```") {
		return // a fence is no marker: what it holds decides
	}
	folded := FoldAll(text)
	t := m[folded]
	if t == nil {
		first, _ := utf8.DecodeRuneInString(text)
		t = &Token{Text: folded, Line: unicode.IsLetter(first), Special: folded[0] >= utf8.RuneSelf || strings.Contains(folded, "|")}
		m[folded] = t
	}
	t.play(k, row)
}

// play adds a role of the marker and the dialect in which it plays it.
func (t *Token) play(k Kind, row RowSet) {
	if !t.Is(k) {
		t.rows = slices.Insert(t.rows, t.roleIndex(k), RowSet{})
		t.kinds |= 1 << k
	}
	t.rows[t.roleIndex(k)] = t.In(k).Or(row)
	t.All = t.All.Or(row)
}

func FoldAll(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		c, width := Fold(s[i:])
		b.WriteByte(c)
		i += width
	}
	return b.String()
}

// Fold returns the first byte of s, or | and _ for the other spellings of
// bars and underscores, and how many bytes it stands for.
func Fold(s string) (c byte, width int) {
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

// TakesSuffix reports whether c, behind last, may begin the suffix of the name
// of a tag that ends here.
func (n *Node) TakesSuffix(last, c byte) bool {
	return c == ':' && chars.IsLetter(last) && (n.Child('>') != nil || n.Child('|') != nil)
}

// IsSuffixByte reports whether c may stand in the suffix of a tag's name.
func IsSuffixByte(c byte) bool {
	return chars.IsLetter(c) || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.'
}

// IsWritten reports whether t is a marker of ordinary text: no special token and
// no label.
func (t *Token) IsWritten() bool { return t != nil && !t.Special && !t.Line }

// Opening returns the dialects in which a marker below n begins calls.
func (n *Node) Opening() (rows RowSet) {
	if n == nil {
		return rows
	}
	if n.Token != nil {
		rows = n.Token.In(Opens)
	}
	for i := range n.Next {
		rows = rows.Or(n.Next[i].Opening())
	}
	return rows
}
