package catalog

import (
	"slices"
	"strconv"
	"strings"
)

// finish writes down the family and composes the variant.
func (p *reader) finish() {
	id := &p.id
	if id.Known() {
		id.Family = p.family.name
		if p.family.numbered {
			id.Family = p.family.members[p.text.chunks[p.at].num.major()%10]
		}
	}
	id.Custom = id.Custom || p.unknownOrg
	if id.Base == id.Family {
		id.Base = ""
	}
	id.Variant = p.variant()
	for i := range p.vocab.implied[p.family.name] {
		p.vocab.implied[p.family.name][i].apply(p)
	}
}

// implied fills in a field that an id omits although its other words determine it.
type implied struct {
	words, without wordSet
	orgs           []string
	version        Version
	date           int
	size, active   int64
	give           Version
}

// apply fills the version if the row gives one, else the size. It never changes
// a field that the id gives.
func (m *implied) apply(p *reader) {
	id := &p.id
	switch {
	case m.words != wordSet{} && !id.words.overlaps(m.words) || id.words.overlaps(m.without):
	case m.orgs != nil && !slices.Contains(m.orgs, id.Org):
	case !m.version.IsZero() && m.version != id.Version || m.date != 0 && m.date != p.date:
	case !m.give.IsZero():
		if id.Version.IsZero() && (m.size == 0 || m.size == id.Size && m.active == id.Active) {
			id.Version = m.give
		}
	case id.Size == 0 && id.Active == 0:
		id.Size, id.Active = m.size, m.active
	}
}

// variant joins the words that name the variant: "flash-lite", "v4-flash".
// Without any, a glued letter (the o of gpt-4o) or a weak word (instruct) does.
func (p *reader) variant() string {
	words := p.words[:p.nwords]
	if p.family.series != "" && !p.id.Revision.IsZero() {
		series := p.text.at(p.series)
		if series == "" { // deepseek-3.2 is of series v3
			series = p.family.series[:1] + strconv.Itoa(p.id.Revision.major())
		}
		if len(words) == 0 {
			return series
		}
		return series + "-" + p.join(words)
	}
	switch {
	case len(words) > 0:
		return p.join(words)
	case p.letter != "":
		return p.letter
	}
	return p.weak
}

// at returns the text of a span.
func (t *text) at(s span) string { return string(t.buf[s.start:s.end]) }

// join joins words with hyphens, without an allocation for a single known word.
func (p *reader) join(words []spoken) string {
	if len(words) == 1 && words[0].text != "" {
		return words[0].text
	}
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte('-')
		}
		b.Write(p.text.buf[w.start:w.end])
	}
	return b.String()
}
