package tool

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The lengths of descriptions that are too short to be useful, and long enough
// to be truncated or to cost more than they help.
const (
	shortDescription = 20
	longDescription  = 1024
	shortParameter   = 10
)

// Filler words, and words of advertising.
var (
	vague     = []string{"stuff", "things", "various", "etc", "misc", "miscellaneous", "somehow", "whatever", "handles", "processes", "and more"}
	marketing = []string{"powerful", "seamless", "seamlessly", "amazing", "revolutionary", "cutting-edge", "effortless",
		"effortlessly", "world-class", "best-in-class", "innovative", "blazing", "state-of-the-art", "unleash", "elevate", "empower"}
)

func (a *audit) wording(r *AuditReport) {
	if !ValidName(a.def.Name) {
		r.add("invalid-name", "", fmt.Sprintf("%.80q is a name some vendor refuses", a.def.Name),
			"Use 1 to 64 letters, digits, _ and -; as it is, it would be sent as "+SafeName(a.def.Name)+".")
	}
	switch n := utf8.RuneCountInString(a.def.Description); {
	case n == 0:
		r.add("no-description", "", "there is no description", "Say what it does, when not to use it, and what its input looks like.")
	case n < shortDescription:
		r.add("short-description", "", fmt.Sprintf("the description has %d characters", n), "Say in a sentence or two what it does and returns.")
	case n > longDescription:
		r.add("long-description", "", fmt.Sprintf("the description has %d characters, and every request pays for them", n), "Keep what changes a decision; some vendors cut the rest.")
	}
	text := spaced(a.def.Description)
	if w := among(text, vague); w != "" {
		r.add("vague-words", "", "vague: "+w, "Say which.")
	}
	if w := among(text, marketing); w != "" {
		r.add("marketing-words", "", "praise: "+w, "Delete it; a model chooses by what a tool does.")
	}
}

// spaced returns the words of a text in lower case, with a space around each.
func spaced(text string) string {
	return " " + strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(".,;:!?()\"", r)
	}), " ") + " "
}

// among returns the entries of the list that occur in a spaced text.
func among(text string, list []string) string {
	var found []string
	for _, w := range list {
		if strings.Contains(text, " "+w+" ") {
			found = append(found, w)
		}
	}
	return strings.Join(found, ", ")
}

// commands are phrases that instruct the model about other things than the
// tool. They occur in descriptions of malicious servers.
var commands = []string{"ignore previous", "ignore all previous", "ignore the above", "disregard previous", "disregard all", "system prompt", "developer message",
	"do not tell the user", "don't tell the user", "do not mention this", "without telling the user", "hide this from", "before using any other tool", "before any other tool",
	"always call this tool", "must always be called", "you are now", "your instructions", "override your"}

// tokens are beginnings of the control tokens of chat templates, and of tags that
// imitate a voice of authority.
var tokens = []string{"<|", "[inst]", "<<sys>>", "<important>", "<system>", "</system>", "<tool_call>", "<start_of_turn>", "<s>[", "### instruction"}

// instructs reports text that instructs the model in another role, or that
// people cannot see.
func (a *audit) instructs(r *AuditReport) {
	for _, t := range append([]named{{"", a.def.Description}}, a.described()...) {
		lower := strings.ToLower(t.text)
		for _, phrase := range slices.Concat(commands, tokens) {
			if strings.Contains(lower, phrase) {
				r.add("injection", t.name, fmt.Sprintf("it says %q, which is an instruction to the model and says nothing of the tool", phrase), "Delete it, or do not use the tool: who wrote it wants more than to be called.")
				break
			}
		}
		if strings.ContainsFunc(t.text, hidden) {
			r.add("hidden-text", t.name, "it holds characters that nobody sees", "Delete them: a model reads what a person cannot check.")
		}
	}
}

// named is the description of a parameter.
type named struct{ name, text string }

func (a *audit) described() []named {
	var out []named
	for _, p := range a.params {
		out = append(out, named{p.name, p.description})
	}
	return out
}

// hidden reports whether a character is invisible: a control character, or a
// character that only changes direction, joins or tags others.
func hidden(r rune) bool {
	if r == '\n' || r == '\t' || r == '\r' {
		return false
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != '\u00ad' && r != '\u200d'
}

// changes are verbs of tools that change something.
var changes = []string{"delete", "remove", "drop", "destroy", "purge", "erase", "create", "write", "update", "insert", "send", "post", "put", "upload", "pay", "transfer",
	"buy", "cancel", "move", "rename", "kill", "reboot", "install", "execute", "publish", "overwrite", "truncate", "revoke", "approve", "merge", "deploy"}

// declares reports effects that the name contradicts.
func (a *audit) declares(r *AuditReport) {
	verb := firstWord(a.def.Name)
	if a.effects.Has(ReadOnly) && slices.Contains(changes, verb) {
		r.add("misleading-effects", "", fmt.Sprintf("it is called %s and declared to only read", a.def.Name),
			"Take the promise back, or rename it: what only reads runs without a question.")
	}
}

// firstWord returns the first word of a name, in lower case.
func firstWord(name string) string {
	for i, r := range name {
		if i > 0 && (!unicode.IsLetter(r) || unicode.IsUpper(r)) {
			return strings.ToLower(name[:i])
		}
	}
	return strings.ToLower(name)
}

func (a *audit) parameters(r *AuditReport) {
	var open []string
	for _, p := range a.params {
		n := utf8.RuneCountInString(p.description)
		switch {
		case n == 0 && p.required:
			r.add("undocumented-required", p.name, "it is required and has no description", "Say what it holds, in what form, with an example.")
		case n == 0:
			r.add("undocumented", p.name, "it has no description", "Say what it holds and what happens without it.")
		case n < shortParameter:
			r.add("short-parameter", p.name, fmt.Sprintf("its description has %d characters", n), "Say what it holds, in what form.")
		}
		if !p.typed {
			r.add("untyped", p.name, "its schema names no type", "Name the type, so that a wrong value is found before it is used.")
		}
		if p.nullable && !p.required {
			r.add("optional-or-null", p.name, "it may be left out, and it may be null", "Allow one of the two: a model cannot know what the difference is.")
		}
		if !p.bounded && slices.Contains([]string{"integer", "number", "array"}, p.kind) {
			open = append(open, p.name)
		}
	}
	if len(open) > 0 {
		r.add("no-bounds", "", "no limit to "+strings.Join(open, ", "), "Give numbers a minimum or maximum and lists a maxItems: a wrong one is found before it is used.")
	}
}
