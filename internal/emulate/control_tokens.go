package emulate

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/toolpost/toolpost/internal/emulate/internal/templates"
)

// mark is inserted after the first character of a control token, which makes it an
// ordinary word. It is not part of any token, survives every normalisation of text,
// and needs no escape in JSON or markup. A text that already has marks there gets one
// more, so removing one restores the text exactly.
const mark = "¦"

// Tokens are the control tokens of chat templates that text from outside must
// not hold: with them a page or a user could end its turn and speak as someone
// else. A Tokens does not change and may be used by several goroutines at once.
// The nil Tokens has none.
type Tokens struct {
	first [256]bool       // the bytes that a token may begin with
	pairs [1 << 10]uint64 // a bit for each two of them, marked or not
	trie  []tokenNode
	angle int32 // the node of "<", where the shapes begin
}

// tokenNode is the beginning of a token.
type tokenNode struct {
	next  []tokenEdge
	whole bool
}

type tokenEdge struct {
	b  byte
	to int32
}

// likeness is whether a text continues like the rest of a token.
type likeness uint8

// The likenesses, each stronger than the one before.
const (
	other likeness = iota
	maybe          // the text ends before it can be told
	token
)

// FamilyTokens returns the control tokens of the models of a family, in the
// words of the catalogue. Of an unknown family, or none, it returns those of
// all templates. Whatever has the shape of a control token counts as one in
// every family.
func FamilyTokens(family string) *Tokens { return familyTokens(family, nil) }

// tokenSets are the sets that were made, by family and further words. There
// are as many as families and styles; unknown families share one.
var tokenSets sync.Map

// familyTokens is FamilyTokens with more tokens.
func familyTokens(family string, more []string) *Tokens {
	if !knownFamilies()[family] {
		family = ""
	}
	key := family + "\x00" + strings.Join(more, "\x00")
	if t, ok := tokenSets.Load(key); ok {
		return t.(*Tokens)
	}
	words := slices.Clone(more)
	for _, t := range templates.All {
		if family == "" || len(t.Families) == 0 || slices.Contains(t.Families, family) {
			words = append(words, t.Tokens...)
		}
	}
	t, _ := tokenSets.LoadOrStore(key, newTokens(words))
	return t.(*Tokens)
}

// knownFamilies returns the families whose templates are known.
var knownFamilies = sync.OnceValue(func() map[string]bool {
	known := map[string]bool{}
	for _, t := range templates.All {
		for _, f := range t.Families {
			known[f] = true
		}
	}
	return known
})

// newTokens returns the set of these tokens and of the shapes.
func newTokens(words []string) *Tokens {
	t := &Tokens{trie: make([]tokenNode, 1)}
	t.angle = t.add("<")
	for _, w := range words {
		if w != "" {
			t.trie[t.add(w)].whole = true
			t.pair(w)
		}
	}
	for _, p := range templates.Shapes {
		t.pair(p.Open)
	}
	return t
}

// pair notes the two bytes that a token begins with.
func (t *Tokens) pair(token string) {
	t.first[token[0]] = true
	for _, second := range []byte{(token + " ")[1], mark[0]} {
		at := int(token[0])<<8 | int(second)
		t.pairs[at>>6] |= 1 << (at & 63)
	}
}

// paired reports whether a token may begin with two bytes.
func (t *Tokens) paired(a, b byte) bool {
	at := int(a)<<8 | int(b)
	return t.pairs[at>>6]&(1<<(at&63)) != 0
}

// begins reports whether a token may begin somewhere in a text.
func (t *Tokens) begins(text []byte) bool {
	for i := 1; i < len(text); i++ {
		if t.first[text[i-1]] && t.paired(text[i-1], text[i]) {
			return true
		}
	}
	return false
}

// add returns the node of a text, made if there is none.
func (t *Tokens) add(text string) int32 {
	at := int32(0)
	for _, b := range []byte(text) {
		to := t.child(at, b)
		if to == 0 {
			to = int32(len(t.trie))
			t.trie[at].next = append(t.trie[at].next, tokenEdge{b, to})
			t.trie = append(t.trie, tokenNode{})
		}
		at = to
	}
	return at
}

// child returns the node behind b, or 0.
func (t *Tokens) child(at int32, b byte) int32 {
	for _, e := range t.trie[at].next {
		if e.b == b {
			return e.to
		}
	}
	return 0
}

// start returns the node of the character that text begins with, and its
// length; 0 if no token begins with it.
func (t *Tokens) start(text string) (node int32, size int) {
	_, size = utf8.DecodeRuneInString(text)
	for _, b := range []byte(text[:size]) {
		if node = t.child(node, b); node == 0 {
			return 0, size
		}
	}
	return node, size
}

// follow reports whether text continues like a token whose first character is node. In
// JSON a backslash may precede a character.
func (t *Tokens) follow(node int32, text string, inJSON bool) likeness {
	v := t.walk(node, text, inJSON)
	if node == t.angle && v != token {
		v = max(v, shape(text, inJSON))
	}
	return v
}

func (t *Tokens) walk(node int32, text string, inJSON bool) likeness {
	escaped := false
	for _, b := range []byte(text) {
		if inJSON && b == '\\' {
			escaped = true
			continue
		}
		if escaped && b == 'n' {
			b = '\n'
		}
		escaped = false
		if node = t.child(node, b); node == 0 {
			return other
		}
		if t.trie[node].whole {
			return token
		}
	}
	return maybe
}

// longestToken bounds the word between the delimiters of a shape, in bytes.
const longestToken = 64

// shape reports whether text after "<" continues like a token of one of the shapes.
func shape(text string, inJSON bool) likeness {
	v := other
	for _, p := range templates.Shapes {
		bar, end := p.Open[1:], p.Close
		word, ok := strings.CutPrefix(text, bar)
		if !ok {
			if strings.HasPrefix(bar, text) {
				v = maybe
			}
			continue
		}
		return closes(word, end, inJSON)
	}
	return v
}

// closes reports whether text is a word followed by end.
func closes(text, end string, inJSON bool) likeness {
	for i, r := range text {
		switch {
		case i > longestToken:
			return other
		case i > 0 && strings.HasPrefix(text[i:], end):
			return token
		case i > 0 && strings.HasPrefix(end, text[i:]):
			return maybe
		case inJSON && r == '\\':
		case r <= ' ' || r == '<' || r == '>' || r == '|' || r == '｜' || strings.HasPrefix(text[i:], mark):
			return other
		}
	}
	return maybe
}

// marks returns how many bytes of marks text begins with.
func marks(text string) int {
	n := 0
	for strings.HasPrefix(text[n:], mark) {
		n += len(mark)
	}
	return n
}

// Neutralise returns text with a mark in every token. Text without tokens is returned
// unchanged.
func (t *Tokens) Neutralise(text string) string {
	if t == nil {
		return text
	}
	var b strings.Builder
	done := 0
	for i := 0; i+1 < len(text); i++ {
		if !t.first[text[i]] || !t.paired(text[i], text[i+1]) {
			continue
		}
		node, size := t.start(text[i:])
		if node == 0 {
			continue
		}
		rest := i + size
		if t.follow(node, text[rest+marks(text[rest:]):], false) != token {
			continue
		}
		b.WriteString(text[done:rest])
		b.WriteString(mark)
		done = rest
	}
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}

// Restore takes away the marks that Neutralise put there.
func (t *Tokens) Restore(text string) string { return t.restore(text, false) }

func (t *Tokens) restore(text string, inJSON bool) string {
	if t == nil || !strings.Contains(text, mark) {
		return text
	}
	r := restorer{tokens: t, inJSON: inJSON}
	return r.add(text) + r.end()
}

// restorer takes marks away from a text that comes in pieces. It holds back no
// more than a token, and nothing of a text without marks.
type restorer struct {
	tokens *Tokens
	inJSON bool
	last   string // the end of the text that was returned, long enough for a character
	node   int32  // of the character before the marks that held begins with; 0 if it does not
	held   string // half a mark, or one mark and the beginning of a token
}

// add takes a piece and returns the text that is certain so far.
func (r *restorer) add(piece string) string {
	if r.held == "" && strings.IndexByte(piece, mark[0]) < 0 {
		r.pass(piece)
		return piece
	}
	return r.read(piece, false)
}

// end returns the held text.
func (r *restorer) end() string {
	if r.held == "" {
		return ""
	}
	return r.read("", true)
}

// pass notes what the text ended with.
func (r *restorer) pass(text string) {
	const most = utf8.UTFMax
	if len(text) >= most {
		r.last = text[len(text)-most:]
	} else if r.last += text; len(r.last) > most {
		r.last = r.last[len(r.last)-most:]
	}
}

func (r *restorer) read(piece string, over bool) string {
	text := r.held + piece
	r.held = ""
	var out strings.Builder
	emit := func(s string) {
		out.WriteString(s)
		r.pass(s)
	}
	for text != "" {
		i := strings.IndexByte(text, mark[0])
		if i < 0 {
			break
		}
		if i > 0 {
			r.node = 0
			emit(text[:i])
			text = text[i:]
		}
		n := marks(text)
		if n == 0 {
			if len(text) == 1 && !over {
				r.held = text
				return out.String()
			}
			emit(text[:1])
			text = text[1:]
			continue
		}
		node := r.node
		if node == 0 {
			node = r.before()
		}
		r.node = 0
		emit(text[:n-len(mark)])
		rest := text[n:]
		v := other
		if node != 0 {
			v = r.tokens.follow(node, rest, r.inJSON)
		}
		if rest == mark[:1] {
			v = maybe // perhaps one more mark
		}
		if v == maybe && !over && node != 0 {
			r.node, r.held = node, text[n-len(mark):]
			return out.String()
		}
		if v != token {
			emit(mark)
		}
		text = rest
	}
	emit(text)
	return out.String()
}

// before returns the node of the last character that has passed.
func (r *restorer) before() int32 {
	last, size := utf8.DecodeLastRuneInString(r.last)
	if r.inJSON && last == 'n' && strings.HasSuffix(r.last, `\n`) {
		last, size = '\n', 1
	}
	if size == 0 {
		return 0
	}
	node, _ := r.tokens.start(string(last))
	return node
}
