package catalog

import (
	"fmt"
	"slices"
	"strings"
)

// rule gives values to the models it matches.
type rule struct {
	name string
	from string // where it is written: file and line
	when match
	set  []setting
	host bool // it is about a host, so it can only take away
}

// match selects the ids that a rule applies to. Empty fields match all.
type match struct {
	families  []string // families or roots
	providers []string
	orgs      []string
	words     wordSet  // at least one of these
	variants  []string // or one of these words outside the vocabulary
	without   wordSet  // none of these
	version   []bound
	revision  []bound
	size      []bound
	unsized   bool   // size unknown
	plain     bool   // version unknown
	custom    Answer // Unknown matches both
	id        string // glob over the whole id
}

// bound is one comparison: >=3.5, <70b. Versions and sizes use the same type.
type bound struct {
	op      string
	version Version
	size    int64
}

func (b bound) holds(order int) bool {
	switch b.op {
	case ">=":
		return order >= 0
	case ">":
		return order > 0
	case "<=":
		return order <= 0
	case "<":
		return order < 0
	}
	return order == 0
}

// matches reports whether the rule is about id. The family was checked by the
// index already.
func (m *match) matches(id *ID) bool {
	switch {
	case m.providers != nil && (id.Provider == "" || !slices.Contains(m.providers, id.Provider)),
		m.orgs != nil && !slices.Contains(m.orgs, id.Org),
		(m.words != wordSet{} || m.variants != nil) && !id.words.overlaps(m.words) && !slices.Contains(m.variants, id.Variant),
		id.words.overlaps(m.without),
		m.plain && !id.Version.IsZero(),
		m.unsized && id.Size != 0,
		m.custom.Support == Yes && !id.Custom,
		m.custom.Support == No && id.Custom:
		return false
	}
	return within(m.version, id.Version) && within(m.revision, id.Revision) && m.sizeFits(id.Size) && m.idFits(id.Raw)
}

// within reports whether v satisfies the bounds; an absent version satisfies none.
func within(bounds []bound, v Version) bool {
	for _, b := range bounds {
		if v.IsZero() || !b.holds(v.Compare(b.version)) {
			return false
		}
	}
	return true
}

func (m *match) sizeFits(size int64) bool {
	for _, b := range m.size {
		order := 0
		switch {
		case size < b.size:
			order = -1
		case size > b.size:
			order = 1
		}
		if size == 0 || !b.holds(order) {
			return false
		}
	}
	return true
}

func (m *match) idFits(raw string) bool { return m.id == "" || glob(m.id, raw) }

// glob reports whether s fits a pattern in which * matches any text. Case is
// ignored. It looks at each byte of s once per star at most.
func glob(pattern, s string) bool {
	star, from := -1, 0
	i, j := 0, 0
	for j < len(s) {
		switch {
		case i < len(pattern) && pattern[i] == '*':
			star, from = i, j
			i++
		case i < len(pattern) && lower(pattern[i]) == lower(s[j]):
			i++
			j++
		case star >= 0: // let the last star take one more
			from++
			i, j = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[i:], "*") == ""
}

func lower(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		b += 'a' - 'A'
	}
	return b
}

// parseBounds reads "3", ">=3.5 <4" with the given reader for the values.
func parseBounds(s string, read func(string, *bound) error) ([]bound, error) {
	var all []bound
	for part := range strings.FieldsSeq(s) {
		b := bound{op: "="}
		for _, op := range []string{">=", "<=", ">", "<", "="} {
			if rest, ok := strings.CutPrefix(part, op); ok {
				b.op, part = op, rest
				break
			}
		}
		if err := read(part, &b); err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("expected a comparison such as >=3.5")
	}
	return all, nil
}

func versionBound(s string, b *bound) (err error) {
	b.version, err = parseVersion(s)
	return err
}

func sizeBound(s string, b *bound) (err error) {
	b.size, err = parseSize(s)
	return err
}
