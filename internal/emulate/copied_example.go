package emulate

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolpost/toolpost/internal/emulate/internal/wording"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// ExampleRule is the repair of a call that has an example instead of a value.
const ExampleRule = "copied-example"

// CopiedExample finds an argument whose value is not in the conversation and is the
// value of an example: of the tool's examples, of its schema, or of a description. A
// small model repeats such values although the user did not ask for them. So the value
// is a guess, and the repair delimits it in args. Values that the schema lists, and
// defaults, do not count as examples. If the conversation has pictures or other
// documents with unknown words, nothing is found.
//
// The model's own text counts only if the user has answered since, and the results of
// failed calls do not count.
func CopiedExample(def llm.ToolDef, args json.RawMessage, system string, messages []llm.Message) (llm.Repair, bool) {
	var h *spokenText
	said := func(text string) bool {
		if h == nil {
			h = spokenBy(system, messages)
		}
		return h.says(text)
	}
	given, err := readObject(args)
	if err != nil {
		return llm.Repair{}, false
	}
	root, _ := readObject(def.Schema)
	props, _ := readObject(root.get("properties"))
	for _, p := range given {
		own, _ := readObject(props.get(p.key))
		if own.has("enum", "const") || string(own.get("default")) == string(p.value) {
			continue
		}
		text, ok := scalar(p.value)
		if ok && isExample(def, p.key, own, p.value, text) && !said(text) {
			start := max(bytes.Index(args, js.Marshal(p.key)), 0)
			start += max(bytes.Index(args[start:], p.value), 0)
			return llm.Repair{Rule: ExampleRule, Class: llm.Guess, Start: start, End: min(start+len(p.value), len(args))}, true
		}
	}
	return llm.Repair{}, false
}

// scalar returns the text of a string or a number that could be an example: one
// that says something.
func scalar(v json.RawMessage) (string, bool) {
	switch {
	case len(v) > 1 && v[0] == '"':
		text := strings.TrimSpace(js.Decode[string](v))
		return text, len(text) > 2
	case len(v) > 1 && (wording.IsDigit(v[0]) || v[0] == '-'):
		return string(v), true
	}
	return "", false
}

// isExample reports whether a value is given as an example of its parameter.
func isExample(def llm.ToolDef, name string, own object, value json.RawMessage, text string) bool {
	for _, e := range def.Examples {
		args, err := readObject(e)
		if err == nil && string(args.get(name)) == string(value) {
			return true
		}
	}
	if slices.ContainsFunc(append(js.Decode[[]json.RawMessage](own.get("examples")), own.get("example")), func(v json.RawMessage) bool { return string(v) == string(value) }) {
		return true
	}
	for _, about := range []string{js.Decode[string](own.get("description")), def.Description} {
		about = strings.ToLower(about)
		for _, cue := range exampleCues {
			if _, after, ok := strings.Cut(about, cue); ok && alone(after, strings.ToLower(text)) {
				return true
			}
		}
	}
	return false
}

// alone reports whether text has a phrase with nothing around it but space and
// punctuation: notes is not alone in docs/notes.md.
func alone(text, phrase string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], phrase)
		if i < 0 {
			return false
		}
		start, end := from+i, from+i+len(phrase)
		before, _ := utf8.DecodeLastRuneInString(strings.TrimRight(text[:start], wording.Edge))
		after, _ := utf8.DecodeRuneInString(strings.TrimLeft(text[end:], wording.Edge))
		if (start == 0 || unicode.IsSpace(before) || before == utf8.RuneError) && (end == len(text) || unicode.IsSpace(after) || after == utf8.RuneError) {
			return true
		}
		from = end
	}
}

// exampleCues are the words with which a description begins an example.
var exampleCues = []string{" like ", "e.g.", "example", "for instance", "such as ", "i.e."}

// spokenText is the text of a conversation, in lower case.
type spokenText struct {
	text    string
	unclear bool // there is more that cannot be searched
	numbers []wording.Number
}

func spokenBy(system string, messages []llm.Message) *spokenText {
	h := new(spokenText)
	var b strings.Builder
	b.WriteString(system)
	last := -1 // the last message of the user
	for i, m := range messages {
		if m.Role == llm.RoleUser && strings.TrimSpace(m.Text()) != "" {
			last = i
		}
	}
	for i, m := range messages {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.Text:
				if !p.Ours && (m.Role != llm.RoleAssistant || i < last) {
					b.WriteString("\n" + p.Text)
				}
			case llm.Result:
				if !p.Failed {
					b.WriteString("\n" + p.Text())
				}
			case llm.Media:
				h.unclear = h.unclear || p.Kind != llm.Document || len(p.Data) == 0 || !utf8.Valid(p.Data)
				b.WriteString("\n" + p.Name + "\n" + string(p.Data))
			}
		}
	}
	h.text = strings.ToLower(b.String())
	return h
}

func (h *spokenText) says(text string) bool {
	if h.unclear || wording.Mentions(h.text, strings.ToLower(text)) {
		return true
	}
	if !wording.IsDigit(text[0]) && text[0] != '-' {
		return false
	}
	if h.numbers == nil {
		h.numbers = wording.Numbers(h.text)
	}
	return slices.ContainsFunc(h.numbers, func(n wording.Number) bool { return n.Text == text })
}
