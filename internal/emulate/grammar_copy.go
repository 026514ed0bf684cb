package emulate

import (
	"encoding/json"
	"strings"

	"github.com/toolpost/toolpost/internal/emulate/internal/wording"
	"github.com/toolpost/toolpost/internal/js"
)

// copied writes a rule for the runs of words. Each word has a rule that may
// continue with the rule of the next word, so the grammar is as long as the text.
// Punctuation around a run, and the 's of a name, are not part of it.
func (w *grammarWriter) copied(words []CopyWord, state bool) {
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = word.Text
	}
	text := strings.Join(texts, " ")
	name, ok := w.copies[text]
	if !ok {
		name = "copy" + string(js.Marshal(len(w.copies)+1))
		if w.copies == nil {
			w.copies = map[string]string{}
		}
		w.copies[text] = name
		w.copyRules(name, words)
	}
	w.add(`"\"" %s`, name)
	if state {
		w.add(` (", " [A-Z] [A-Z])?`)
	}
	w.add(` "\""`)
}

func (w *grammarWriter) copyRules(name string, words []CopyWord) {
	var starts []string
	var b strings.Builder
	for i := range words {
		word := words[i].Text
		core := strings.Trim(word, wording.Edge)
		head := word[:strings.Index(word, core)]
		bare := strings.TrimSuffix(strings.TrimSuffix(core, "'s"), "’s")
		if core == "" {
			bare = ""
		}
		next := ""
		if i+1 < len(words) {
			next = " " + name + "w" + string(js.Marshal(i+1))
		}
		tail := strings.TrimPrefix(word, head)
		end := core
		if !words[i].Ends && next != "" && tail == core { // a run continues after "the"
			end, bare = "", ""
		}
		// w: in the middle of a run; s: at its beginning.
		b.WriteString(name + "w" + string(js.Marshal(i)) + " ::= " + run(head, end, bare, tail, next) + "\n")
		if core != "" && (words[i].Begins || next == "" && len(starts) == 0) {
			starts = append(starts, "("+run("", end, bare, tail, next)+")")
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
	quoted := string(js.Marshal(s))
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
		if o.has(copyKeyword) {
			n := 0
			for _, w := range js.Decode[[]CopyWord](o.get(copyKeyword)) {
				n += len(w.Text) + 1
			}
			return object{{"type", js.Marshal("string")}, {"maxLength", js.Marshal(n)}}.raw()
		}
		for i := range o {
			o[i].value = plainSchema(o[i].value)
		}
		return o.raw()
	case len(raw) > 0 && raw[0] == '[':
		list := js.Decode[[]json.RawMessage](raw)
		for i := range list {
			list[i] = plainSchema(list[i])
		}
		return array(list)
	}
	return raw
}
