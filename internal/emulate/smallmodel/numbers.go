package smallmodel

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/emulate/internal/wording"
	"github.com/toolpost/toolpost/internal/js"
)

// Numbers returns the allowed numbers of the conversation, and the default. If a
// count precedes the thing that it counts, it is the only number. A percentage is
// a share if the parameter takes any number and does not mention percent.
// Otherwise it is the number before the sign, and then no other kind is offered.
func (e *evidence) Numbers(name, typ string, raw json.RawMessage, item bool, allowed func(string) bool) []json.RawMessage {
	s := keywordsOf(raw)
	if counted := e.counted(name); len(counted) == 1 && allowed(counted[0]) && !item {
		return []json.RawMessage{json.RawMessage(counted[0])}
	}
	about := strings.ToLower(name + " " + js.Decode[string](s["description"]))
	ofHundred := strings.Contains(strings.ReplaceAll(about, "%", "percent"), "percent")
	shares := typ == "number" && (!ofHundred || strings.Contains(about, "decimal"))
	numbers := slices.DeleteFunc(slices.Clone(e.numbers), func(n wording.Number) bool {
		return shares && n.Percent || !shares && n.Share || !allowed(n.Text)
	})
	if ofHundred && !shares && slices.ContainsFunc(numbers, func(n wording.Number) bool { return n.Percent }) {
		numbers = slices.DeleteFunc(numbers, func(n wording.Number) bool { return !n.Percent })
	}
	var out []json.RawMessage
	for _, n := range numbers {
		out = append(out, json.RawMessage(n.Text))
	}
	def := s["default"]
	if len(out) > 0 && allowed(string(def)) && !slices.ContainsFunc(out, func(o json.RawMessage) bool { return string(o) == string(def) }) {
		out = append(out, def)
	}
	return out
}
