package emulate

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/toolpost/toolpost/internal/rank"
)

// copiedKey is our own keyword in bounded schemas: the string is a run of
// these words, the words of the conversation. Only grammars can say it; for
// other hosts it is taken out. stateKey allows the letters of a state after it.
const (
	copiedKey = "x-copied"
	stateKey  = "x-state"
)

// maxCopied bounds how many words of a conversation may be copied.
const maxCopied = 160

// composed are words in the names of parameters whose values a model writes
// itself instead of finding them in the conversation.
var composed = stemSet("content body code script answer reply summary comment note explanation essay story poem html markdown sql command prompt reason thought")

// text returns the bounded schema of a string parameter: what the conversation
// says about it. It returns nil if that is nothing. Nine of ten strings in the
// calls of a public set of questions are words of the question; a small model
// that may write any string writes what it has seen in the description.
func (e *evidence) text(name string, s object) json.RawMessage {
	if e == nil || s.has("pattern", "format", "minLength", "maxLength") {
		return nil
	}
	about := decode[string](s.get("description"))
	if strings.Contains(strings.ToLower(about), "yyyy-mm-dd") {
		return json.RawMessage(`{"type":"string","format":"date"}`)
	}
	choices := choicesIn(about)
	if said := slices.DeleteFunc(slices.Clone(choices), func(c string) bool { return !e.speaksOf(c) }); len(said) > 0 {
		return object{{"enum", marshal(said)}}.raw()
	}
	if len(e.words) == 0 || slices.ContainsFunc(rank.Stems(name), func(w string) bool { return composed[w] }) {
		return nil
	}
	copied := object{{"type", marshal("string")}, {copiedKey, marshal(e.words)}}
	if lower := strings.ToLower(about); strings.Contains(lower, "city") && strings.Contains(lower, "state") {
		copied = append(copied, field{stateKey, json.RawMessage("true")})
	}
	if len(choices) == 0 {
		return copied.raw()
	}
	return object{{"anyOf", array([]json.RawMessage{object{{"enum", marshal(choices)}}.raw(), copied.raw()})}}.raw()
}

// speaksOf reports whether the request has every word of a phrase.
func (e *evidence) speaksOf(phrase string) bool {
	stems := rank.Stems(phrase)
	return len(stems) > 0 && !slices.ContainsFunc(stems, func(w string) bool { return !e.said[w] })
}

// closers are the words with which a description begins a list of all values.
var closers = []string{"can be", "one of", "valid values", "options", "either", "must be", "supports", "choices", "allowed", "possible values", "choose from"}

// choicesIn returns the values that a description lists in quotes, if it says
// that they are all there are.
func choicesIn(about string) []string {
	lower := strings.ToLower(about)
	if !slices.ContainsFunc(closers, func(c string) bool { return strings.Contains(lower, c) }) {
		return nil
	}
	var out []string
	for rest := about; ; {
		i := strings.IndexAny(rest, `'"`)
		if i < 0 {
			break
		}
		quote := rest[i]
		rest = rest[i+1:]
		end := strings.IndexByte(rest, quote)
		if end < 0 {
			break
		}
		if v := rest[:end]; v != "" && end <= 40 && !strings.Contains(v, ", ") && !slices.Contains(out, v) {
			out = append(out, v)
		}
		rest = rest[end+1:]
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// edge is what may stand around a word without being part of it.
const edge = `.,?!;:'"()[]{}<>` + "`“”‘’"

// wordsOf splits a text at spaces; the last maxCopied count.
func wordsOf(text string) []string {
	out := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	out = slices.DeleteFunc(out, func(w string) bool { return len(w) > 200 || strings.ContainsRune(w, '\uFFFD') })
	return out[max(0, len(out)-maxCopied):]
}

// copied writes a rule for the runs of words, each word a rule of its own that
// may go on with the next, so that the size is that of the text. Punctuation
// around a run is not part of it, and neither is the 's of a name.
func (w *grammarWriter) copied(words []string, state bool) {
	name, ok := w.copies[strings.Join(words, " ")]
	if !ok {
		name = "copy" + string(marshal(len(w.copies)+1))
		if w.copies == nil {
			w.copies = map[string]string{}
		}
		w.copies[strings.Join(words, " ")] = name
		w.copyRules(name, words)
	}
	w.add(`"\"" %s`, name)
	if state {
		w.add(` (", " [A-Z] [A-Z])?`)
	}
	w.add(` "\""`)
}

func (w *grammarWriter) copyRules(name string, words []string) {
	var starts []string
	var b strings.Builder
	for i, word := range words {
		core := strings.Trim(word, edge)
		head := word[:strings.Index(word, core)]
		bare := strings.TrimSuffix(strings.TrimSuffix(core, "'s"), "’s")
		if core == "" {
			bare = ""
		}
		next := ""
		if i+1 < len(words) {
			next = " " + name + "w" + string(marshal(i+1))
		}
		tail := strings.TrimPrefix(word, head)
		// w: in the middle of a run; s: at its beginning.
		b.WriteString(name + "w" + string(marshal(i)) + " ::= " + run(head, core, bare, tail, next) + "\n")
		if core != "" {
			starts = append(starts, "("+run("", core, bare, tail, next)+")")
		}
	}
	if len(starts) == 0 {
		starts = []string{`""`}
	}
	w.rules = append(w.rules, name+" ::= "+strings.Join(starts, " | ")+"\n"+b.String())
}

// run writes the ways to go on from a word: to end with it, without what
// stands around it, or to take it whole and the next.
func run(head, core, bare, tail, next string) string {
	var out []string
	if core != "" {
		out = append(out, literal(escaped(head+core)))
		if bare != core && bare != "" {
			out = append(out, literal(escaped(head+bare)))
		}
	}
	if next != "" {
		out = append(out, literal(escaped(head+tail+" "))+next)
	}
	if len(out) == 0 {
		return literal(escaped(head + tail))
	}
	return strings.Join(out, " | ")
}

// escaped writes text as it stands inside a JSON string.
func escaped(s string) string {
	quoted := string(marshal(s))
	return quoted[1 : len(quoted)-1]
}

// plainSchema takes our own keywords out of a schema, for hosts that take
// schemas only: such a string may be any of its length.
func plainSchema(raw json.RawMessage) json.RawMessage {
	switch {
	case len(raw) > 0 && raw[0] == '{':
		o, err := readObject(raw)
		if err != nil {
			return raw
		}
		if o.has(copiedKey) {
			n := 0
			for _, w := range decode[[]string](o.get(copiedKey)) {
				n += len(w) + 1
			}
			return object{{"type", marshal("string")}, {"maxLength", marshal(n)}}.raw()
		}
		for i := range o {
			o[i].value = plainSchema(o[i].value)
		}
		return o.raw()
	case len(raw) > 0 && raw[0] == '[':
		list := decode[[]json.RawMessage](raw)
		for i := range list {
			list[i] = plainSchema(list[i])
		}
		return array(list)
	}
	return raw
}
