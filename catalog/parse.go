package catalog

import (
	"bytes"
	"strings"
)

// ParseID takes a model id apart. It never fails: an id that names no family
// of the catalogue gets its first word as family, or "unknown" if it has none,
// and a Reason.
//
// It reads the forms hosts use: provider and organisation prefixes
// (openrouter/anthropic/…), Bedrock (us.anthropic.…-v1:0), Vertex (models/…,
// …@20241022), Azure, OpenRouter (…:free), fine-tunes (ft:base:org::id),
// Ollama (name:tag), GGUF files and quantisation suffixes. Dates are dropped.
func ParseID(s string) ID {
	name := strings.TrimSpace(s)
	switch {
	case name == "":
		return ID{Raw: s, Family: unknownFamily, Custom: true, Reason: "the id is empty"}
	case len(name) > maxID:
		return ID{Raw: s, Family: unknownFamily, Custom: true, Reason: "the id is longer than 512 bytes"}
	}
	p := reader{id: ID{Raw: s}, vocab: vocabulary()}
	rest := p.route(name)
	p.text.read(rest)
	if !p.findFamily() && strings.IndexByte(name, '/') >= 0 {
		p.text.read(name) // the path may hold it: flux/dev
		if !p.findFamily() {
			p.text.read(rest)
		}
	}
	if p.family == nil {
		p.unknown()
	}
	p.before()
	p.after()
	p.finish()
	return p.id
}

// reader takes one id apart.
type reader struct {
	id    ID
	vocab *vocab
	text  text

	family  *family // nil until found
	at, end int     // the chunks of the family's name
	line    string  // the line of the family that the name itself gives

	words       [4]spoken // the words that name the variant
	nwords      int
	weak        string // a word that names it in the absence of the others: instruct, preview
	letter      string // the letters glued to the version: the o of 4o
	series      span   // v3 of DeepSeek V3
	versionAt   int    // the chunk that gave the version's last part, or -1
	sized       bool   // a size came already
	unknownSeen bool   // an unknown word came already
	base        bool   // the following chunks belong to the base family
	quant       bool   // the last chunk was a quantisation
	dated       bool   // the last chunk was part of a date
	unknownOrg  bool   // the organisation is not one we know
	date        int    // the first date of four digits: 2512
}

// span is a piece of the folded text; spoken also holds the text itself if the
// vocabulary has it.
type (
	span   struct{ start, end uint16 }
	spoken struct {
		span
		text string
	}
)

// findFamily finds the family's name: the highest rank, then the leftmost.
func (p *reader) findFamily() bool {
	best := name{}
	parts := p.text.parts()
	for i := range parts {
		n, width := p.nameAt(i)
		if n.family == nil || best.family != nil && n.family.rank <= best.family.rank {
			continue
		}
		best, p.at, p.end = n, i, i+width
	}
	p.family, p.line = best.family, best.line
	return best.family != nil || p.findPrefix() || p.findInitial()
}

// nameAt returns the family name at chunk i and the number of its chunks.
func (p *reader) nameAt(i int) (name, int) {
	t := &p.text
	c := t.chunks[i]
	if i+1 < t.len && t.chunks[i+1].start == c.end+1 {
		if next := t.chunks[i+1]; next.head > next.start {
			if n, ok := p.vocab.names[string(t.buf[c.start:next.head])]; ok && t.buf[c.end] == '-' {
				return n, 2
			}
		}
	}
	if c.head == c.start {
		return name{}, 1
	}
	if !c.num.IsZero() {
		if n, ok := p.vocab.names[string(t.buf[c.start:c.tail])]; ok { // v0
			return n, 1
		}
		if i+1 < t.len && t.chunks[i+1].digits == 4 {
			if n, ok := p.vocab.names[string(t.buf[c.start:t.chunks[i+1].end])]; ok { // r1-1776
				return n, 2
			}
		}
	}
	n := p.vocab.names[string(t.head(c))]
	if n.family != nil && n.family.numbered && (c.digits != 1 || c.tail != c.end) {
		return name{}, 1 // o3, but not "o" alone
	}
	return n, 1
}

// findInitial finds short forms that need a number: k2.6, l3.3.
func (p *reader) findInitial() bool {
	for i, c := range p.text.parts() {
		if c.num.IsZero() || c.head == c.start {
			continue
		}
		if f := p.vocab.initials[string(p.text.head(c))]; f != nil {
			p.family, p.at, p.end = f, i, i+1
			return true
		}
	}
	return false
}

// findPrefix finds a family at the start of a longer word: qwenlong.
func (p *reader) findPrefix() bool {
	for i, c := range p.text.parts() {
		head := p.text.head(c)
		for n := len(head) - 1; n >= 4; n-- {
			if name, ok := p.vocab.names[string(head[:n])]; ok && !name.family.numbered {
				p.family, p.at, p.end = name.family, i, i+1
				return true
			}
		}
	}
	return false
}

// unknown settles the family of an id that names none we know.
func (p *reader) unknown() {
	id := &p.id
	id.Custom = true
	p.family = &noFamily
	p.at, p.end = 0, min(1, p.text.len)
	if f := p.vocab.orgs[id.Org].family; f != nil { // us.deepseek.v3.2
		p.family, p.end, id.Custom = f, 0, false
		return
	}
	id.Family, id.Reason = unknownFamily, "the id does not start with a word"
	if p.text.len > 0 {
		if head := p.text.head(p.text.chunks[0]); len(head) > 0 {
			id.Family = string(head)
			id.Reason = "no family of the catalogue is named in the id"
		}
	}
}

// before reads the chunks in front of the family's name.
func (p *reader) before() {
	t := &p.text
	for _, c := range t.chunks[:p.at] {
		head := t.head(c)
		if n := t.size(c); n > 0 && p.id.Size == 0 {
			p.id.Size = n
			continue
		}
		if len(head) == 0 || p.vocab.skip[string(head)] {
			continue
		}
		if host, ok := p.vocab.providers[string(head)]; ok {
			if p.id.Provider == "" {
				p.id.Provider = host
			}
		} else if org, ok := p.vocab.orgs[string(head)]; ok {
			if p.id.Org == "" {
				p.id.Org = org.name
			}
		} else if w, ok := p.knownWord(head); ok {
			if w.class == heavy && p.vocab.names[w.text].family != nil { // dolphin-mistral
				p.addWord(spoken{span{c.start, c.head}, w.text})
			}
		} else if n := p.vocab.names[string(head)]; n.family != nil && !n.family.numbered {
			p.id.Base = n.family.name
		} else {
			p.id.Custom = true // an unknown name in front: a custom model
		}
	}
}

// after reads the family's name itself and all that follows it.
func (p *reader) after() {
	t := &p.text
	p.versionAt = -1
	for i := p.at; i < t.len; i++ {
		c := t.chunks[i]
		switch {
		case i < p.end-1: // the first half of a double name
		case i == p.end-1:
			p.glued(i, c)
		default:
			p.chunk(i, c)
		}
	}
}

// glued reads the number that hangs on the family's name: llama3.3, 7b of
// command-r7b.
func (p *reader) glued(i int, c chunk) {
	if p.line != "" {
		p.addWord(spoken{span{c.start, c.head}, p.line})
		p.knownWord(p.text.head(c))
	}
	switch {
	case c.num.IsZero() || p.family.numbered || p.isWholeName(c) || c.head == c.start && p.end-p.at == 2:
	case c.tail < c.end && p.setSize(p.text.buf[c.head:c.end]):
	case p.family.series != "":
		p.revise(i, c, span{})
	default:
		p.setVersion(i, c)
		p.suffix(c)
	}
}

// isWholeName reports whether the number is part of the name: v0.
func (p *reader) isWholeName(c chunk) bool {
	_, ok := p.vocab.names[string(p.text.buf[c.start:c.tail])]
	return ok
}

// chunk reads one chunk after the family's name.
func (p *reader) chunk(i int, c chunk) {
	t := &p.text
	quant, dated := p.quant, p.dated
	p.quant, p.dated = false, false
	switch {
	case c.sep == ':' && c.number():
		p.afterColon(i, c)
	case p.isQuant(c) || quant && p.afterQuant(c):
		p.quant = true
	case t.size(c) > 0:
		p.setSize(t.all(c))
	case t.marked(c, 'a') > 0:
		p.id.Active = t.marked(c, 'a')
	case t.marked(c, 'e') > 0:
		p.setSize(t.buf[c.head:c.end])
	case t.marked(c, 'r') > 0: // command-r7b
		p.setSize(t.buf[c.head:c.end])
		p.heavyWord(c)
	case p.isDate(i, c, dated):
		p.dated = true
		if c.digits == 4 && p.date == 0 {
			p.date = c.num.major()
		}
	case c.number():
		p.number(i, c)
	case c.head == c.start: // 4o, 128k, 16e
		p.numbered(i, c)
	default:
		p.word(i, c)
	}
}

// afterColon reads the number after a colon: a minor version in "claude-v2:1";
// ignored in "…-v1:0" and ":thinking:1024".
func (p *reader) afterColon(i int, c chunk) {
	if c.digits != 1 || c.num.major() == 0 || i == 0 {
		return
	}
	prev := p.text.chunks[i-1]
	if string(p.text.head(prev)) != "v" || prev.digits == 0 {
		return
	}
	if p.versionAt == i-1 {
		p.id.Version = p.id.Version.append(c.num.major())
	} else if p.id.Revision == prev.num {
		p.id.Revision = p.id.Revision.append(c.num.major())
	}
}

// isQuant recognises q4_K_M, iq2, fp8, bf16, int4, 4bit and the like.
func (p *reader) isQuant(c chunk) bool {
	if c.num.IsZero() {
		return false
	}
	if c.head == c.start {
		return bytes.Equal(p.text.rest(c), []byte("bit"))
	}
	return p.vocab.quants[string(p.text.head(c))]
}

// afterQuant recognises the letters that may follow q4: K, M, XS.
func (p *reader) afterQuant(c chunk) bool {
	return c.end-c.start <= 3 && (c.integer(1) || p.vocab.quantTails[string(p.text.all(c))])
}

// isDate recognises 20250514, 2024-08-06, 08-2024, 2411, 0613 and 05-20.
func (p *reader) isDate(i int, c chunk, dated bool) bool {
	if !c.number() || c.digits == 0 {
		return false
	}
	if c.digits >= 3 || dated && c.digits == 2 {
		return true
	}
	if c.digits != 2 {
		return false
	}
	if p.text.buf[c.start] == '0' {
		return true // 08-2024, 05-20, text-01
	}
	next := chunk{}
	if i+1 < p.text.len {
		next = p.text.chunks[i+1]
	}
	if next.number() && next.digits == 4 && c.num.major() <= 12 {
		return true // 11-2024
	}
	return p.versionAt >= 0 && next.number() && next.digits == 2 && c.num.major() <= 12
}

// number reads a plain number: the version, its next part, or the first half
// of a size written with a hyphen (2-4t, 1-5b).
func (p *reader) number(i int, c chunk) {
	t := &p.text
	if i+1 < t.len && c.integer(1) && (p.base || p.id.Version.n >= 2) {
		if next := t.chunks[i+1]; next.digits == 1 && t.size(next) > 0 && p.id.Size == 0 {
			unit := sizeUnit(t.buf[next.tail])
			p.id.Size = int64((float64(c.num.major()) + float64(next.num.major())/10) * unit)
			p.sized = true
			return
		}
	}
	switch {
	case p.base:
	case p.family.series != "":
		p.revise(i, c, span{})
	case p.id.Version.IsZero():
		if !p.unknownSeen && (!p.sized || p.family.last) {
			p.setVersion(i, c)
		}
	case p.versionAt == i-1 && p.isMinor(t.chunks[i-1], c):
		p.id.Version = p.id.Version.append(c.num.major())
		p.versionAt = i
	}
}

// isMinor reports whether the plain number c continues the version that prev
// gave or ended: the 5 of claude-3-5.
func (p *reader) isMinor(prev, c chunk) bool {
	if !c.integer(2) || c.sep != '-' || p.family.zero && c.num.major() == 0 {
		return false
	}
	return prev.digits > 0 && prev.digits <= 2 && prev.tail == prev.end && p.id.Version.n < 3
}

// setVersion takes the number of c as the family's version.
func (p *reader) setVersion(i int, c chunk) {
	v := c.num
	if c.digits == 2 && !p.family.wide && v.major() >= 10 { // gpt-35-turbo
		v = MakeVersion(v.major()/10, v.major()%10)
	}
	if p.family.zero && v.n == 2 && v.part[1] == 0 { // claude 4.0 is claude 4
		v = MakeVersion(v.major())
	}
	p.id.Version, p.versionAt = v, i
}

// revise takes the number of c as the revision of a family that counts by
// series, and c itself as the series: v3.1 is revision 3.1 of series v3.
func (p *reader) revise(i int, c chunk, series span) {
	if p.base {
		return
	}
	if p.id.Revision.IsZero() {
		p.id.Revision, p.versionAt, p.series = c.num, i, series
	} else if p.versionAt == i-1 && c.integer(1) && p.id.Revision.n == 1 {
		p.id.Revision = p.id.Revision.append(c.num.major())
	}
}

// setSize takes b, such as 70b, as the size unless there is one.
func (p *reader) setSize(b []byte) bool {
	n, unit := readSize(b)
	size := int64(n * sizeUnit(unit))
	if size <= 0 {
		return false
	}
	if !p.sized {
		p.id.Size = size
	}
	p.sized = true
	return true
}

// numbered reads a number with letters after it: the version with its letter in
// gpt-4o. It ignores contexts and counts of experts.
func (p *reader) numbered(i int, c chunk) {
	rest := p.text.rest(c)
	if len(rest) == 1 && (rest[0] == 'k' || rest[0] == 'e' || rest[0] == 'm') {
		return
	}
	if p.id.Version.IsZero() && !p.base && !p.unknownSeen {
		p.setVersion(i, c)
		p.suffix(c)
	}
}

// suffix reads the letters glued to a version: 4o, 4.6v, 2.5vl.
func (p *reader) suffix(c chunk) {
	rest := p.text.rest(c)
	if len(rest) == 0 {
		return
	}
	if w, ok := p.vocab.words[string(rest)]; ok {
		p.id.words.add(w.index)
		p.letter = w.text
	}
}

// word reads a chunk that starts with letters.
func (p *reader) word(i int, c chunk) {
	head := p.text.head(c)
	numbered := !c.num.IsZero()
	switch {
	case numbered && c.tail == c.end && len(head) == 1 && p.lettered(i, c, head[0]):
	case c.sep == ':' && p.provider(c):
	case p.familyName(i, c):
	case len(head) == 1 && numbered: // z1: a letter with a version is not a word
		p.knownWord(head)
		p.addWord(spoken{span: span{c.start, c.end}})
	case p.heavyWord(c):
		if numbered { // opus4
			p.number(i, chunk{start: c.head, head: c.head, tail: c.tail, end: c.tail, num: c.num, digits: c.digits, sep: '-'})
		}
	case p.vocab.skip[string(head)]:
	default:
		p.unknownWord(c)
	}
}

// familyName reads the name of a family. The name of another family is the base
// of the model. The model's family may be repeated, followed by the version.
func (p *reader) familyName(i int, c chunk) bool {
	n, _ := p.nameAt(i)
	switch {
	case n.family != nil && n.family != p.family && n.family.rank > 0 && !n.family.numbered:
		p.id.Base, p.base = n.family.name, true
	case n.family != p.family || n.line != "":
		return false
	case !c.num.IsZero() && p.id.Version.IsZero() && p.family.series == "":
		p.setVersion(i, c) // minimax.minimax-m2.1, qwen/…/Qwen3
	}
	return true
}

// unknownWord reads a word that is not in the vocabulary.
func (p *reader) unknownWord(c chunk) {
	p.unknownSeen = true
	if p.sized {
		p.id.Custom = true // a community fine-tune: Qwen3.5-27B-BlueStar
	} else if p.nwords == 0 && len(p.text.head(c)) > 1 {
		p.addWord(spoken{span: span{c.start, c.end}})
	}
}

// heavyWord reads the letters of c as a word of the vocabulary.
func (p *reader) heavyWord(c chunk) bool {
	w, ok := p.knownWord(p.text.head(c))
	switch {
	case !ok:
	case w.class == heavy:
		p.addWord(spoken{span{c.start, c.head}, w.text})
	case w.class == light && p.weak == "":
		p.weak = w.text
	}
	return ok
}

// knownWord records a word of the vocabulary.
func (p *reader) knownWord(b []byte) (word, bool) {
	w, ok := p.vocab.words[string(b)]
	if ok {
		p.id.words.add(w.index)
		p.id.Custom = p.id.Custom || w.class == custom
	}
	return w, ok
}

// addWord adds to the words that name the variant.
func (p *reader) addWord(s spoken) {
	if p.nwords < len(p.words) {
		p.words[p.nwords] = s
		p.nwords++
	}
}

// lettered reads v2, k2.6, m2.5, r1: a version, a revision, a series or, for
// letters without a meaning in the family, a variant such as z1.
func (p *reader) lettered(i int, c chunk, letter byte) bool {
	f := p.family
	switch {
	case p.base:
		return letter == 'v'
	case f.series != "" && strings.IndexByte(f.series, letter) >= 0:
		p.revise(i, c, span{c.start, c.head + digitsOf(c)})
	case strings.IndexByte(f.letters, letter) >= 0 && p.id.Version.IsZero() && !p.unknownSeen:
		p.setVersion(i, c)
	case letter != 'v':
		return false
	default:
		p.vee(i, c)
	}
	return true
}

// vee reads v1, v0.3. Straight after the name it is the version. Later on it
// is a revision of the weights, except in families that put their version last.
func (p *reader) vee(i int, c chunk) {
	direct := i == p.end
	plain := c.num == MakeVersion(1) && !direct // nova-pro-v1
	early := !p.sized && !p.unknownSeen || p.family.last
	if p.id.Version.IsZero() && !plain && early {
		p.setVersion(i, c)
	} else if p.id.Revision.IsZero() {
		p.id.Revision = c.num
	}
}

// digitsOf returns the length of the first number of c: the 3 of v3.1.
func digitsOf(c chunk) uint16 {
	n := uint16(1)
	for m := c.num.major(); m >= 10; m /= 10 {
		n++
	}
	return n
}

// provider reads a host after a colon: openai/gpt-oss-120b:fireworks-ai.
func (p *reader) provider(c chunk) bool {
	t := &p.text
	end := t.n
	if i := bytes.IndexByte(t.buf[c.start:t.n], ':'); i >= 0 {
		end = c.start + uint16(i)
	}
	host, ok := p.vocab.providers[string(t.buf[c.start:end])]
	if ok && p.id.Provider == "" {
		p.id.Provider = host
	}
	return ok
}
