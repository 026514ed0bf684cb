package smallmodel

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/internal/emulate/internal/wording"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/rank"
	"github.com/toolpost/toolpost/llm"
)

// generic are words in the names of parameters that say nothing about them.
var generic = stemSet("type value number name unit list option mode data info parameter include flag enable")

func stemSet(text string) map[string]bool {
	out := map[string]bool{}
	for _, s := range rank.Stems(text) {
		out[s] = true
	}
	return out
}

// evidence is what a conversation says about the values of a tool's
// parameters. A nil evidence says nothing.
type evidence struct {
	request string
	lower   string           // the request, in lower case
	said    map[string]bool  // the stems of its words
	about   map[string]bool  // the stems of the tool's name, which do not count
	numbers []wording.Number // of the whole conversation
	words   []string         // of the whole conversation, as they stand
	days    []moment         // of the request
	clocks  []string         // of the request
	task    task             // if the tool does it
	roles   map[string]takes // of the tool's parameters, with task
}

func (t *conversation) evidence(tool llm.ToolDef) *evidence {
	brief := t.text[max(0, len(t.text)-maxKnown):]
	e := &evidence{
		request: t.text, lower: strings.ToLower(t.text), said: stemSet(t.text), about: stemSet(tool.Name),
		numbers: wording.Numbers(t.known), words: wordsOf(t.known), days: daysIn(brief), clocks: clocksIn(brief),
	}
	deeds := deedsOf(tool)
	for _, text := range append([]string{t.text}, rank.Clauses(t.text)...) {
		if task := taskOf(text); task.deed != noDeed && slices.Contains(deeds, task.deed) {
			e.task, e.roles = task, rolesOf(tool)
			break
		}
	}
	return e
}

// Given returns the value that the request gives for a parameter word for word, and
// true for what it says yes to. It returns nil if the request gives none.
func (e *evidence) Given(name string, raw json.RawMessage) json.RawMessage {
	role, ok := e.roles[name]
	if !ok || role == takesOther {
		return e.affirms(name, raw)
	}
	switch role {
	case takesFirstLine, takesLines:
		if n, ok := e.task.lines[role]; ok {
			return js.Marshal(n)
		}
		return nil
	case takesArguments:
		if e.task.args == nil {
			return nil
		}
		return js.Marshal(e.task.args)
	}
	text, ok := e.task.text[role]
	if role == takesProgram && ok && !slices.Contains(slices.Collect(maps.Values(e.roles)), takesArguments) {
		text = strings.Join(append([]string{text}, e.task.args...), " ")
	}
	if !ok || !sizeOf(keywordsOf(raw)).takes(text) {
		return nil
	}
	return js.Marshal(text)
}

// long reports whether a request is too long to be searched for names and counts.
func (e *evidence) long() bool { return len(e.request) > maxKnown }

// Values returns those of a list of values that the request says.
func (e *evidence) Values(list []json.RawMessage) []json.RawMessage {
	return slices.DeleteFunc(slices.Clone(list), func(v json.RawMessage) bool { return !says(e.lower, v) && !e.means(v) })
}

// means reports whether the request says a value in another form: "parks" for
// Park, "two" for "2".
func (e *evidence) means(v json.RawMessage) bool {
	word := js.Decode[string](v)
	if _, err := strconv.ParseFloat(word, 64); err == nil {
		return slices.ContainsFunc(e.numbers, func(n wording.Number) bool { return n.Text == word })
	}
	return len(word) > 2 && e.speaksOf(word)
}

// Offers reports whether the request gives a reason to fill in a parameter that
// is not required: it mentions the parameter, one of its values, or a year.
func (e *evidence) Offers(name string, raw json.RawMessage) bool {
	s := keywordsOf(raw)
	if role, ok := e.roles[name]; ok && role != takesOther {
		given := e.Given(name, raw)
		return given != nil && string(given) != "[]"
	}
	def := string(s["default"])
	listed := js.Decode[[]json.RawMessage](s["enum"])
	for _, v := range e.Values(listed) {
		if string(v) != def {
			return true
		}
	}
	if slices.Equal(rank.Stems(name), rank.Stems("year")) && slices.ContainsFunc(e.numbers, isYear) {
		return true
	}
	if found, takes := e.moments(name, s); takes {
		return len(found) > 0 && !e.open(name, len(e.days))
	}
	switch typ := js.Decode[string](s["type"]); {
	case yesNo(s) != nil && e.asks(e.hints(name)):
		return true
	case (typ == "integer" || typ == "number") && (len(e.counted(name)) > 0 || e.percents(name)):
		return true
	case typ == "string" && !s.has("enum") && len(e.people(name)) > 0:
		return true
	case len(listed) > 0 && yesNo(s) == nil:
		return false // the request does not select a value
	}
	return e.names(name)
}

// names reports whether the request has every word of a parameter's name that
// says something.
func (e *evidence) names(name string) bool {
	own := slices.DeleteFunc(rank.Stems(name), func(w string) bool { return generic[w] || e.about[w] })
	return len(own) > 0 && !slices.ContainsFunc(own, func(w string) bool { return !e.said[w] })
}

// denials are the words with which a request refuses something.
var denials = []string{"not", "no", "without", "don't", "dont", "never", "exclude", "excluding", "except", "n't"}

// affirms returns the value for yes of a yes-or-no parameter that the request
// mentions, if the request refuses nothing. Otherwise it returns nil.
func (e *evidence) affirms(name string, raw json.RawMessage) json.RawMessage {
	yes := yesNo(keywordsOf(raw))
	if yes == nil || !e.names(name) && !e.asks(e.hints(name)) || slices.ContainsFunc(denials, func(w string) bool { return wording.Mentions(e.lower, w) }) {
		return nil
	}
	return yes
}

// isYear reports whether a number looks like a year of our time.
func isYear(n wording.Number) bool {
	return len(n.Text) == 4 && (strings.HasPrefix(n.Text, "19") || strings.HasPrefix(n.Text, "20"))
}

// says reports whether a text in lower case has a value of a list of values,
// with no letter around it. One letter says nothing.
func says(lower string, value json.RawMessage) bool {
	word := strings.ToLower(js.Decode[string](value))
	return len(word) > 1 && (wording.Mentions(lower, word) || wording.Mentions(lower, strings.NewReplacer("_", " ", "-", " ").Replace(word)))
}
