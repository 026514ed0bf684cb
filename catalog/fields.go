package catalog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// fieldInfo ties a key of models.yaml to a field of Model. Exactly one of the
// accessors is set.
type fieldInfo struct {
	key    string
	answer func(*Model) *Answer
	number func(*Model) *int
	text   func(*Model) *string
	limit  func(*Model) *Limit
	price  func(*Model) *Price
	need   bool         // yes is the stricter answer
	values []string     // the allowed texts; nil for any
	clears func(*Model) // resets fields that a rule which sets this field must not keep
}

// fields is every value a rule can give, in the order of the documentation.
var fields = [...]fieldInfo{
	{key: "kind", text: func(m *Model) *string { return &m.Kind }, values: []string{"chat", "completion", "embedding", "rerank", "image", "audio", "video", "moderation", "other"}},
	{key: "native_tools", answer: func(m *Model) *Answer { return &m.NativeTools }},
	{key: "parallel_tools", answer: func(m *Model) *Answer { return &m.ParallelTools }},
	{key: "tool_streaming", answer: func(m *Model) *Answer { return &m.ToolStreaming }},
	{key: "tool_choice_required", answer: func(m *Model) *Answer { return &m.ToolChoiceRequired }},
	{key: "json_mode", answer: func(m *Model) *Answer { return &m.JSONMode }},
	{key: "json_schema", answer: func(m *Model) *Answer { return &m.JSONSchema }},
	{key: "reasoning", answer: func(m *Model) *Answer { return &m.Reasoning }},
	{key: "needs_tool_schema_strict", answer: func(m *Model) *Answer { return &m.StrictSchema }, need: true},
	{key: "tool_result_in_user_message", answer: func(m *Model) *Answer { return &m.ResultInUser }, need: true},
	{key: "context_window", number: func(m *Model) *int { return &m.ContextWindow }},
	{key: "max_output_tokens", number: func(m *Model) *int { return &m.MaxOutput }},
	{key: "wire", text: func(m *Model) *string { return &m.Wire }, clears: func(m *Model) { m.ThinkingWire = "" }},
	{key: "thinking_wire", text: func(m *Model) *string { return &m.ThinkingWire }},
	{key: "dialect", text: func(m *Model) *string { return &m.Dialect }},
	{key: "text_calls", text: func(m *Model) *string { return &m.Promotion }, values: []string{"off", "marked", "all"}},
	{key: "thinking", text: func(m *Model) *string { return &m.Thinking }},
	{key: "thinking_open", answer: func(m *Model) *Answer { return &m.ThinkingOpen }, need: true},
	{key: "sampling", text: func(m *Model) *string { return &m.Sampling }, values: []string{"any", "one", "none", "any unless thinking"}},
	{key: "emulation_style", text: func(m *Model) *string { return &m.Emulation }},
	{key: "constrained_output", text: func(m *Model) *string { return &m.Constrain }, values: []string{"format", "json_schema", "structured_outputs", "response_format"}},
	{key: "tool_search", answer: func(m *Model) *Answer { return &m.ToolSearch }},
	{key: "tool_name", limit: func(m *Model) *Limit { return &m.ToolName }},
	{key: "call_id", limit: func(m *Model) *Limit { return &m.CallID }},
	{key: "system_turns", answer: func(m *Model) *Answer { return &m.SystemTurns }},
	{key: "turns", text: func(m *Model) *string { return &m.Turns }, values: []string{"any", "user", "alternate", "answered", "single"}},
	{key: "efforts", text: func(m *Model) *string { return &m.Efforts }},
	{key: "min_thinking_tokens", number: func(m *Model) *int { return &m.MinThinking }},
	{key: "max_thinking_tokens", number: func(m *Model) *int { return &m.MaxThinking }},
	{key: "stop_sequences", answer: func(m *Model) *Answer { return &m.StopSequences }},
	{key: "hosted_beside_functions", answer: func(m *Model) *Answer { return &m.HostedBeside }},
	{key: "call_id_form", text: func(m *Model) *string { return &m.CallIDForm }},
	{key: "price", price: func(m *Model) *Price { return &m.Price }},
}

// fieldCount is the number of fields. fieldNativeTools is the index of the
// field that distinguishes known models from unknown ones; fieldPrice is the
// last index.
const (
	fieldCount       = 33
	fieldNativeTools = 1
	fieldPrice       = fieldCount - 1
)

var _ = [1]struct{}{}[len(fields)-fieldCount] // the table and the constant agree

// fieldNames returns every key, for errors.
func fieldNames() string {
	var names []string
	for _, f := range fields {
		names = append(names, f.key)
	}
	return strings.Join(names, ", ")
}

// findField returns the place of a key in the table.
func findField(key string) (int, bool) {
	i := slices.IndexFunc(fields[:], func(f fieldInfo) bool { return f.key == key })
	return i, i >= 0
}

// setting gives one field a value.
type setting struct {
	field  int
	answer Answer
	number int
	text   string
	limit  Limit
	price  Price
}

// apply writes the setting into m.
func (s *setting) apply(m *Model) {
	if clears := fields[s.field].clears; clears != nil {
		clears(m)
	}
	switch f := &fields[s.field]; {
	case f.answer != nil:
		*f.answer(m) = s.answer
	case f.number != nil:
		*f.number(m) = s.number
	case f.text != nil:
		*f.text(m) = s.text
	case f.price != nil:
		*f.price(m) = s.price
	default:
		*f.limit(m) = s.limit
	}
}

// restrict writes the setting into m if it is stricter than the present value,
// and reports whether it did. Texts and limits belong to the host and are
// always written.
func (s *setting) restrict(m *Model) bool {
	f := &fields[s.field]
	switch {
	case f.answer != nil:
		p := f.answer(m)
		next := p.strictest(s.answer)
		if f.need && (p.Support == Yes || s.answer.Support == Yes) {
			next = Answer{Support: Yes}
		}
		changed := next != *p
		*p = next
		return changed
	case f.number != nil:
		p := f.number(m)
		if *p != 0 && *p <= s.number {
			return false
		}
		*p = s.number
		return true
	}
	s.apply(m)
	return true
}

// setting reads the value of field i from a file.
func (n yamlNode) setting(i int) (setting, error) {
	s := setting{field: i}
	f := &fields[i]
	if n.node == nil { // null: unknown
		return s, nil
	}
	switch {
	case f.number != nil:
		return s, n.int(&s.number)
	case f.price != nil:
		return s, n.price(&s.price)
	}
	var text string
	if err := n.text(&text); err != nil {
		return s, err
	}
	var err error
	switch {
	case f.answer != nil:
		s.answer, err = parseAnswer(text)
	case f.limit != nil:
		err = s.limit.UnmarshalText([]byte(text))
	case f.values != nil && !slices.Contains(f.values, text):
		err = fmt.Errorf("%s is one of %s, not %.40q", f.key, strings.Join(f.values, ", "), text)
	default:
		s.text = text
	}
	if err != nil {
		err = n.errorf("%w", err)
	}
	return s, err
}

// settingsOf returns the known fields of m, for catalogues made by programs.
func settingsOf(m Model) []setting {
	var all []setting
	for i, f := range fields {
		s := setting{field: i}
		switch {
		case f.answer != nil:
			s.answer = *f.answer(&m)
		case f.number != nil:
			s.number = *f.number(&m)
		case f.text != nil:
			s.text = *f.text(&m)
		case f.price != nil:
			s.price = *f.price(&m)
		default:
			s.limit = *f.limit(&m)
		}
		if s != (setting{field: i}) {
			all = append(all, s)
		}
	}
	return all
}

// value returns the field for JSON: null where it is unknown.
func (f *fieldInfo) value(m *Model) any {
	switch {
	case f.answer != nil:
		return f.answer(m).Support
	case f.number != nil:
		return some(*f.number(m))
	case f.text != nil:
		return some(*f.text(m))
	case f.price != nil:
		return *f.price(m)
	}
	return *f.limit(m)
}

// format writes the field for people.
func (f *fieldInfo) format(m *Model) string {
	s := ""
	switch {
	case f.answer != nil:
		return f.answer(m).String()
	case f.number != nil:
		if n := *f.number(m); n != 0 {
			s = strconv.Itoa(n)
		}
	case f.text != nil:
		s = *f.text(m)
	case f.price != nil:
		s = f.price(m).String()
	default:
		s = f.limit(m).String()
	}
	if s == "" {
		return "unknown"
	}
	return s
}
