package sim

import (
	"encoding/json"
	"slices"
	"sort"
	"strings"
)

// fill finds arguments for a tool in text, by the tool's schema. It returns the
// arguments it found and the required parameters without a value. Each stretch
// of text is used for one parameter; the words of about, which describe the
// tool, are never a value. If loose, a required parameter that takes any text
// may get the rest of it.
func fill(schema property, text, about string, loose bool) (map[string]any, []string) {
	if args, ok := commandLine(schema, text); ok && loose {
		return args, nil
	}
	f := &filler{tokens: tokenize(text), text: strings.ToLower(text), about: make(map[string]bool), loose: loose}
	f.used = make([]bool, len(f.tokens))
	for _, w := range words(about) {
		f.about[w], f.about[w+"s"], f.about[strings.TrimSuffix(w, "s")] = true, true, true
	}
	fields := leaves(schema.properties, nil, true)
	args := nest(schema.properties, fields, f.values(fields), nil)
	return args, lacking(schema.properties, args)
}

// nest builds the objects that hold values, given in the order of fields.
// An incomplete optional object is left out.
func nest(properties, fields []property, values map[int]any, outer []string) map[string]any {
	args := make(map[string]any)
	for _, p := range properties {
		path := append(slices.Clone(outer), p.name)
		if p.is("object") && len(p.properties) > 0 {
			v := nest(p.properties, fields, values, path)
			if p.required || len(v) > 0 && len(lacking(p.properties, v)) == 0 {
				args[p.name] = v
			}
			continue
		}
		if v, ok := values[slices.IndexFunc(fields, func(f property) bool { return slices.Equal(f.path, path) })]; ok {
			args[p.name] = v
		}
	}
	return args
}

// lacking returns the required parameters that args lacks or has incompletely.
func lacking(properties []property, args map[string]any) []string {
	var missing []string
	for _, p := range properties {
		v, ok := args[p.name]
		if inner, object := v.(map[string]any); object && len(p.properties) > 0 {
			ok = len(lacking(p.properties, inner)) == 0
		}
		if p.required && !ok {
			missing = append(missing, p.name)
		}
	}
	return missing
}

// running are the words before the command line in a request to run one.
var running = set("run execute use run_command the a an command program on called named")

// commandLine reads "run PROGRAM ARGUMENT..." for a tool that takes a program
// and a list of arguments. Quotes are understood around all of it only.
func commandLine(schema property, text string) (map[string]any, bool) {
	takes := func(name, kind string) bool {
		return slices.ContainsFunc(schema.properties, func(p property) bool { return p.name == name && p.is(kind) })
	}
	if !takes("program", "string") || !takes("args", "array") {
		return nil, false
	}
	line := strings.Fields(strings.TrimRight(text, ".!? \n"))
	asked := false
	for len(line) > 0 && (polite[strings.ToLower(line[0])] || running[strings.ToLower(line[0])]) {
		asked = asked || running[strings.ToLower(line[0])]
		line = line[1:]
	}
	rest := strings.Join(line, " ")
	if n := len(rest); n > 1 && strings.ContainsAny(rest[:1], "\"'`") && rest[0] == rest[n-1] {
		rest = rest[1 : n-1]
	}
	line = strings.Fields(rest)
	if !asked || len(line) == 0 || strings.ContainsAny(rest, "\"'`") {
		return nil, false
	}
	args := map[string]any{"program": line[0]}
	if len(line) > 1 {
		args["args"] = line[1:]
	}
	return args, true
}

type filler struct {
	tokens []token
	text   string // lower case
	used   []bool
	about  map[string]bool
	loose  bool
}

// fit is how well a token suits a parameter.
type fit struct {
	property int
	token    int
	score    int
}

// values fills parameters, by their index: distinctive values first (enums,
// booleans, lists), then single tokens by how well they suit, best first.
func (f *filler) values(properties []property) map[int]any {
	args := make(map[int]any)
	for i := range properties {
		if v, ok := f.special(&properties[i]); ok {
			args[i] = v
		}
	}
	fits := f.fits(properties, args)
	sort.SliceStable(fits, func(i, j int) bool { return fits[i].score > fits[j].score })
	for _, x := range fits {
		if _, done := args[x.property]; done || f.used[x.token] {
			continue
		}
		f.used[x.token] = true
		args[x.property] = f.value(&properties[x.property], f.tokens[x.token])
	}
	for i := range properties {
		p := &properties[i]
		if _, done := args[i]; done || !p.required {
			continue
		}
		if v, ok := f.fallback(p); ok {
			args[i] = v
		}
	}
	return args
}

// special fills parameters whose value is not one token.
func (f *filler) special(p *property) (any, bool) {
	switch {
	case len(p.enum) > 0:
		return f.enum(p)
	case p.is("boolean"):
		return f.boolean(p)
	case p.is("array") && p.items != nil:
		return f.list(p, false)
	}
	return nil, false
}

// enum picks the value that the text mentions.
func (f *filler) enum(p *property) (any, bool) {
	for _, raw := range p.enum {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			continue
		}
		plain := strings.Join(words(s), " ")
		if plain != "" && containsWords(f.text, plain) {
			f.use(plain)
			return s, true
		}
	}
	if len(p.enum) == 1 && p.required {
		return p.enum[0], true
	}
	return nil, false
}

// containsWords reports whether text has phrase with no letter around it.
func containsWords(text, phrase string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], phrase)
		if i < 0 || phrase == "" {
			return false
		}
		start, end := from+i, from+i+len(phrase)
		if (start == 0 || !letter(text[start-1])) && (end == len(text) || !letter(text[end])) {
			return true
		}
		from = end
	}
}

func letter(b byte) bool { return b >= 'a' && b <= 'z' || b >= '0' && b <= '9' || b > 127 }

// use marks the tokens of a phrase.
func (f *filler) use(phrase string) {
	for i, t := range f.tokens {
		if t.kind != mark && containsWords(phrase, t.lower()) {
			f.used[i] = true
		}
	}
}

// boolean is true if the text mentions the parameter and does not negate it.
func (f *filler) boolean(p *property) (any, bool) {
	for _, w := range words(p.name) {
		if len(w) < 4 || !containsWords(f.text, w) {
			continue
		}
		before := f.text[:strings.Index(f.text, w)]
		denied := strings.HasSuffix(before, "not ") || strings.HasSuffix(before, "no ") || strings.HasSuffix(before, "without ") || strings.HasSuffix(before, "don't ")
		return !denied, true
	}
	return nil, false
}

// list collects the longest run of values that suit the items, separated by
// commas and "and". One value is a list only if single.
func (f *filler) list(p *property, single bool) (any, bool) {
	var best, run []int
	apart := true
	for i, t := range f.tokens {
		switch {
		case t.kind == mark && strings.Contains("[](),", t.text), t.lower() == "and", t.lower() == "or":
			apart = true
			continue
		case f.used[i] || !f.suits(p.items, t) || p.items.is("string") && t.kind == number || t.kind == word && len(run) == 0:
			run, apart = nil, true
		case apart:
			run, apart = append(run, i), false
		default:
			run, apart = []int{i}, false
		}
		if len(run) > len(best) {
			best = slices.Clone(run)
		}
	}
	if len(best) < 2 && (!single || len(best) == 0) {
		return nil, false
	}
	var out []any
	for _, i := range best {
		f.used[i] = true
		out = append(out, f.value(p.items, f.tokens[i]))
	}
	return out, true
}

// suits reports whether a token can be a value of the type at all.
func (f *filler) suits(p *property, t token) bool {
	switch {
	case t.kind == mark:
		return false
	case p.is("integer"):
		return t.kind == number && !strings.Contains(parseNumber(t.text), ".")
	case p.is("number"):
		return t.kind == number
	case p.is("object"), p.is("array"), p.is("boolean"):
		return false
	}
	return t.kind != word || !common[t.lower()] && !f.about[t.lower()]
}

// fits scores every open parameter against every token.
func (f *filler) fits(properties []property, done map[int]any) []fit {
	var out []fit
	for i := range properties {
		p := &properties[i]
		if _, ok := done[i]; ok || len(p.enum) > 0 || p.is("boolean") || p.is("array") && p.items != nil {
			continue
		}
		for j, t := range f.tokens {
			if f.used[j] || !f.suits(p, t) {
				continue
			}
			if s := f.score(p, t); s > 0 {
				out = append(out, fit{i, j, s*100 - i})
			}
		}
	}
	return out
}

// shapes are the words in a parameter's name that ask for a kind of token.
var shapes = map[kind]map[string]bool{
	path:  set("path file filename filepath dir directory folder root source destination target"),
	glob:  set("pattern glob mask wildcard"),
	url:   set("url uri link website address endpoint"),
	email: set("email mail recipient to sender address"),
	date:  set("date day time start end from until since deadline birthday"),
}

// cues are the words before a value that point at a parameter.
var cues = map[string]map[string]bool{
	"in":      set("city location place country state region area room language unit format currency year month"),
	"at":      set("location place time address price rate hour"),
	"for":     set("city location name query topic symbol company product days duration years period user"),
	"from":    set("from origin source start base departure lower min old unit currency"),
	"to":      set("to destination target end recipient upper max new unit currency arrival"),
	"of":      set("name city topic subject company symbol country number base radius length"),
	"by":      set("author artist name"),
	"about":   set("query topic subject message"),
	"named":   set("name title"),
	"called":  set("name title"),
	"between": set("start lower min origin from"),
	"with":    set("content text message"),
}

// score rates how well a token suits a parameter; 0 means not at all.
func (f *filler) score(p *property, t token) int {
	own := words(p.name)
	s := 0
	if p.is("integer") || p.is("number") {
		s = 2
	}
	for _, w := range own {
		if shapes[t.kind][w] {
			s += 8
		}
		if p.format != "" && strings.Contains(p.format, w) {
			s++
		}
	}
	switch t.kind {
	case quoted:
		s += 5
	case name, path, glob, url, email, date:
		s += 2
	case word:
		s--
	case number:
		if p.is("string") {
			s--
		}
	}
	s += f.near(p, own, t)
	if !p.required {
		s -= 4
	}
	return s
}

// near looks at the words around a token for the parameter's own name or a
// cue that points at it.
func (f *filler) near(p *property, own []string, t token) int {
	s := 0
	for back := 1; back <= 4 && t.at-back >= 0; back++ {
		w := f.tokens[t.at-back].lower()
		if f.tokens[t.at-back].kind == number && back > 1 {
			break // that name belongs to another number
		}
		if mentions(own, w) {
			s += 7 - back
		}
		if back <= 2 && points(cues[w], own) {
			s += 4 - back
		}
	}
	if t.at+1 < len(f.tokens) {
		after := f.tokens[t.at+1].lower()
		if slices.Contains(own, after) {
			s += 5
		} else if mentions(own, after) {
			s += 4
		} else if t.kind == number && len(after) > 3 && strings.Contains(strings.ToLower(p.description), strings.TrimSuffix(after, "s")) {
			s += 2
		}
	}
	return s
}

func mentions(own []string, w string) bool {
	for _, o := range own {
		if o == w || len(o) > 3 && (strings.TrimSuffix(w, "s") == o || strings.TrimSuffix(o, "s") == w) {
			return true
		}
	}
	return false
}

func points(cue map[string]bool, own []string) bool {
	for _, o := range own {
		if cue[o] {
			return true
		}
	}
	return false
}

// value turns a token into the parameter's type.
func (f *filler) value(p *property, t token) any {
	if t.kind == number && (p.is("integer") || p.is("number")) {
		return json.Number(parseNumber(t.text))
	}
	return t.text
}

// fallback is for a required parameter without a match in the text: the
// schema's default, false for a flag, or the rest of the text for a parameter
// that takes any text.
func (f *filler) fallback(p *property) (any, bool) {
	switch {
	case len(p.def) > 0 && string(p.def) != "null":
		return p.def, true
	case p.is("boolean"):
		return false, true
	case p.is("array") && p.items != nil:
		return f.list(p, true)
	case len(p.types) > 0 && !p.is("string") || len(p.enum) > 0 || !f.loose:
		return nil, false
	}
	var rest []string
	for i, t := range f.tokens {
		if !f.used[i] && t.kind != mark && !common[t.lower()] && !f.about[t.lower()] {
			rest = append(rest, t.text)
			f.used[i] = true
		}
	}
	return strings.Join(rest, " "), len(rest) > 0
}
