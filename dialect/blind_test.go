package dialect_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// blindTools are offered with the rows of testdata/blind of all rounds before the eighth. Later rounds share the tools of the eighth.
var blindTools = []llm.ToolDef{
	{Name: "book_table", Schema: []byte(`{"type":"object","properties":{"restaurant":{"type":"string"},"guests":{"type":"integer"},"note":{"type":"string"}},"required":["restaurant","guests"]}`)},
	{Name: "lookup_word", Schema: []byte(`{"type":"object","properties":{"word":{"type":"string"},"lang":{"type":"string"}},"required":["word"]}`)},
	{Name: "save_text", Schema: []byte(`{"type":"object","properties":{"file":{"type":"string"},"body":{"type":"string"}},"required":["file","body"]}`)},
	{Name: "delete_branch", Schema: []byte(`{"type":"object","properties":{"branch":{"type":"string"},"force":{"type":"boolean"}},"required":["branch"]}`)},
	{Name: "tag_items", Schema: []byte(`{"type":"object","properties":{"labels":{"type":"array","items":{"type":"string"}},"archive":{"type":"boolean"}},"required":["labels"]}`)},
	{Name: "list_notes", Schema: []byte(`{"type":"object","properties":{"limit":{"type":"integer"}}}`)},
}

type blindRow struct {
	ID, Form, Dialect, Text string
	Calls                   []wantCall
}

func blindRows(t *testing.T, name string) []blindRow {
	t.Helper()
	data, err := os.ReadFile("testdata/blind/" + name + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var rows []blindRow
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		var row blindRow
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

// toolsOf returns the tools that are offered with the rows of a set.
func toolsOf(t *testing.T, set string) (list []llm.ToolDef) {
	if round := regexp.MustCompile(`_round(\d+)$`).FindStringSubmatch(set); round == nil || len(round[1]) == 1 && round[1] < "8" {
		return blindTools
	}
	data, err := os.ReadFile("testdata/blind/tools_round8.json")
	if err != nil {
		t.Fatal(err)
	}
	var tools []struct {
		Name, Description string
		Parameters        json.RawMessage
	}
	if err := json.Unmarshal(data, &tools); err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		list = append(list, llm.ToolDef{Name: tool.Name, Description: tool.Description, Schema: []byte(tool.Parameters)})
	}
	return list
}

// blindResult is how a row was read: right, doubtful (right as well), wrong,
// refused (an invalid call or a warning) or silent.
func blindResult(t *testing.T, row blindRow, p dialect.Parser) string {
	var sure, doubtful, refused int
	var calls []wantCall
	for ev, err := range p.Parse(dialect.Whole(row.Text)) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case llm.Call:
			calls = append(calls, wantCall{ev.Name, coerced(t, p.Tools, ev)})
			if slices.ContainsFunc(ev.Provenance.Repairs, func(r llm.Repair) bool { return r.Class == llm.Guess }) {
				doubtful++
			} else {
				sure++
			}
		case llm.InvalidCall, llm.Warning:
			refused++
		}
	}
	switch {
	case len(calls) > 0 && !reflect.DeepEqual(calls, row.Calls) && row.Calls != nil:
		return "wrong"
	case sure > 0:
		return "call"
	case doubtful > 0:
		return "doubtful"
	case refused > 0:
		return "refused"
	}
	return "silent"
}

// coerced returns the arguments of a call as they would run: with the types that the schema of its tool demands.
func coerced(t *testing.T, tools []llm.ToolDef, call llm.Call) (args any) {
	text := call.Args
	if i := slices.IndexFunc(tools, func(d llm.ToolDef) bool { return d.Name == call.Name }); i >= 0 {
		s, err := schema.Compile(tools[i].Schema)
		if err != nil {
			t.Fatal(err)
		}
		text, _ = s.Coerce(call.Args)
	}
	if err := json.Unmarshal(text, &args); err != nil {
		t.Errorf("arguments %q: %v", text, err)
	}
	return args
}

// The rows of testdata/blind were written before the reader was run on them; those of later rounds end in _b, _c and _d.
// Each set states the least number of right rows and the most wrong ones.
func TestBlindSets(t *testing.T) {
	for _, set := range []struct {
		name          string
		sure, read    [2]int // least and most
		wrong, silent int    // most
		hint          bool
	}{
		{name: "talk", read: [2]int{0, 3}},
		{name: "talk_b", read: [2]int{0, 3}},
		{name: "talk_round3", read: [2]int{0, 1}},                                           // at first sight 56, of which 24 sure
		{name: "talk_round4", read: [2]int{0, 1}},                                           // 19, of which 18 sure
		{name: "talk_round5", read: [2]int{0, 4}, sure: [2]int{0, 3}},                       // 19, of which 8 sure
		{name: "talk_round6", read: [2]int{0, 1}},                                           // 6, of which 5 sure
		{name: "talk_round7", read: [2]int{0, 15}, sure: [2]int{0, 2}},                      // of 150, at first sight 15, of which 14 sure
		{name: "talk_round7", read: [2]int{0, 150}, sure: [2]int{0, 2}, hint: true},         // 37 sure
		{name: "talk_round8", read: [2]int{0, 8}, sure: [2]int{0, 1}},                       // of 150, as at first sight
		{name: "talk_round8", read: [2]int{0, 53}, sure: [2]int{0, 3}, hint: true},          // as at first sight
		{name: "twins_round8", read: [2]int{150, 150}, sure: [2]int{146, 150}},              // at first sight 145
		{name: "twins_round8", read: [2]int{150, 150}, sure: [2]int{146, 150}, hint: true},  // 147
		{name: "honest_round8", read: [2]int{163, 170}, sure: [2]int{103, 170}, wrong: 1},   // 147 right, 2 wrong, 4 silent
		{name: "long_round8", read: [2]int{100, 100}, sure: [2]int{100, 100}, hint: true},   // 100
		{name: "talk_round9", read: [2]int{0, 5}, sure: [2]int{0, 1}},                       // of 50, as at first sight
		{name: "talk_round9", read: [2]int{0, 17}, sure: [2]int{0, 2}, hint: true},          // as at first sight
		{name: "twins_round9", read: [2]int{49, 50}, sure: [2]int{47, 50}},                  // as at first sight
		{name: "twins_round9", read: [2]int{49, 50}, sure: [2]int{47, 50}, hint: true},      // as at first sight
		{name: "honest_round9", read: [2]int{162, 170}, sure: [2]int{46, 170}},              // of 112 forms, at first sight 101 right, 3 wrong, 25 silent
		{name: "long_round9", read: [2]int{100, 100}, sure: [2]int{100, 100}},               // as at first sight
		{name: "long_round9", read: [2]int{100, 100}, sure: [2]int{100, 100}, hint: true},   // as at first sight
		{name: "talk_round10", read: [2]int{0, 5}},                                          // of 100, as at first sight
		{name: "talk_round10", read: [2]int{0, 75}, hint: true},                             // as at first sight
		{name: "twins_round10", read: [2]int{100, 100}, sure: [2]int{100, 100}},             // as at first sight
		{name: "twins_round10", read: [2]int{100, 100}, sure: [2]int{100, 100}, hint: true}, // as at first sight
		{name: "honest_round10", read: [2]int{168, 170}, sure: [2]int{45, 170}},             // of 114 forms, at first sight 143 right, 1 wrong, 12 silent
		{name: "long_round10", read: [2]int{100, 100}, sure: [2]int{100, 100}},              // as at first sight
		{name: "long_round10", read: [2]int{100, 100}, sure: [2]int{100, 100}, hint: true},  // as at first sight
		{name: "talk_round11"},                                                            // of 50, as at first sight
		{name: "talk_round11", read: [2]int{0, 36}, hint: true},                           // as at first sight
		{name: "twins_round11", read: [2]int{50, 50}, sure: [2]int{50, 50}},               // as at first sight
		{name: "twins_round11", read: [2]int{50, 50}, sure: [2]int{50, 50}, hint: true},   // as at first sight
		{name: "honest_round11", read: [2]int{75, 80}, sure: [2]int{22, 80}, silent: 1},   // at first sight 65 right, 1 wrong, 4 silent
		{name: "long_round11", read: [2]int{50, 50}, sure: [2]int{50, 50}},                // as at first sight
		{name: "long_round11", read: [2]int{50, 50}, sure: [2]int{50, 50}, hint: true},    // as at first sight
		{name: "talk_round12", read: [2]int{0, 2}, silent: 1},                             // of 100, in 20 languages; at first sight 5, of which 2 sure
		{name: "talk_round12", read: [2]int{0, 16}, silent: 1, hint: true},                // 2 sure
		{name: "twins_round12", read: [2]int{96, 100}, sure: [2]int{62, 100}},             // 88
		{name: "twins_round12", read: [2]int{96, 100}, sure: [2]int{62, 100}, hint: true}, // 88
		{name: "honest_round12", read: [2]int{157, 170}, sure: [2]int{29, 170}, wrong: 1}, // of 170 forms, at first sight 124 right, 2 wrong, 6 silent
		{name: "long_round12", read: [2]int{100, 100}, sure: [2]int{99, 100}},             // as at first sight
		{name: "long_round12", read: [2]int{100, 100}, sure: [2]int{99, 100}, hint: true}, // as at first sight
		{name: "twins_round7", read: [2]int{75, 75}, sure: [2]int{74, 75}, hint: true},
		{name: "honest_round7", read: [2]int{165, 166}, sure: [2]int{80, 166}}, // 158, of which 60 sure
		{name: "long_round7", read: [2]int{180, 180}, sure: [2]int{180, 180}},
		{name: "talk", read: [2]int{0, 3}, hint: true},
		{name: "talk_b", read: [2]int{0, 3}, hint: true},
		// Marked talk in the model's own dialect is doubtful. Before, 21 of these texts were sure.
		{name: "talk_round3", read: [2]int{0, 50}, hint: true},
		{name: "talk_round4", read: [2]int{0, 49}, sure: [2]int{0, 1}, hint: true},
		{name: "talk_round5", read: [2]int{0, 51}, sure: [2]int{0, 3}, hint: true},
		{name: "talk_round6", read: [2]int{0, 44}, hint: true},
		{name: "twins", read: [2]int{75, 75}, sure: [2]int{75, 75}, hint: true},
		{name: "twins_b", read: [2]int{75, 75}, sure: [2]int{75, 75}, hint: true},
		{name: "honest", read: [2]int{228, 232}, sure: [2]int{83, 232}},
		{name: "honest_b", read: [2]int{222, 225}, sure: [2]int{114, 225}},
		{name: "honest_c", read: [2]int{168, 169}, sure: [2]int{78, 169}},
		{name: "honest_d", read: [2]int{145, 146}, sure: [2]int{60, 146}},
		{name: "long_c", read: [2]int{128, 128}, sure: [2]int{128, 128}},
		// Six calls of these rounds are doubtful because the sentence before them announces nothing.
		{name: "honest_round3", read: [2]int{77, 77}, sure: [2]int{70, 77}}, // at first sight 75
		{name: "honest_round4", read: [2]int{75, 76}, sure: [2]int{72, 76}}, // 74
		{name: "honest_round5", read: [2]int{75, 75}, sure: [2]int{62, 75}}, // 72
		{name: "long_d", read: [2]int{64, 64}, sure: [2]int{60, 64}},
		{name: "honest_round6", read: [2]int{59, 60}, sure: [2]int{59, 60}}, // 59
		{name: "long", read: [2]int{100, 100}, sure: [2]int{97, 100}},
		{name: "long_b", read: [2]int{100, 100}, sure: [2]int{98, 100}, hint: true},
	} {
		counts, tools := make(map[string]int), toolsOf(t, set.name)
		for _, row := range blindRows(t, set.name) {
			p := dialect.Parser{Tools: tools}
			if set.hint {
				p.Dialect = row.Dialect
			}
			result := blindResult(t, row, p)
			counts[result]++
			if *showRows != "" {
				t.Logf("%s %s %s", set.name, row.ID, result)
			}
		}
		read := counts["call"] + counts["doubtful"]
		t.Logf("%s: %v", set.name, counts)
		if counts["call"] < set.sure[0] || counts["call"] > set.sure[1] || read < set.read[0] || read > set.read[1] ||
			counts["wrong"] > set.wrong || counts["silent"] > set.silent {
			t.Errorf("%s: %v, want %+v", set.name, counts, set)
		}
	}
}

// What the beginning of a text gives, the whole text gives as well. If the answer ended normally, a call that was
// completed or guessed may have less.
func TestTruncationInventsNoCall(t *testing.T) {
	every := 37
	if os.Getenv("TOOLPOST_LONG") != "" {
		every = 1
	}
	count := 0
	for _, name := range []string{"honest", "honest_b", "honest_c", "honest_d", "long", "long_b", "long_c", "long_d", "twins", "twins_b", "honest_round8", "twins_round8", "honest_round12"} {
		tools := toolsOf(t, name)
		for _, row := range blindRows(t, name) {
			if strings.Contains(row.Text, "](") {
				continue // a link of Markdown, whose text in brackets would be a call if the answer ended there
			}
			hints := []string{"", row.Dialect}
			if row.Dialect == "" {
				hints = hints[:1]
			} else if strings.HasPrefix(name, "twins") {
				hints = hints[1:] // what follows the call decides
			}
			for _, hint := range hints {
				whole := blindCalls(t, tools, row.Text, hint, llm.Stop, llm.Guess)
				for i := count % every; i < len(row.Text); i += every {
					count++
					for end, worst := range map[llm.Reason]llm.RepairClass{llm.Length: llm.Guess, llm.Stop: llm.Coercion} {
						for _, call := range blindCalls(t, tools, row.Text[:i], hint, end, worst) {
							if !slices.ContainsFunc(whole, func(c wantCall) bool { return reflect.DeepEqual(c, call) }) {
								t.Errorf("%s %s, hint %q, end %s: the first %d bytes give %v, the whole text %v\n%s", name, row.ID, hint, end, i, call, whole, row.Text[:i])
							}
						}
					}
				}
			}
		}
	}
	t.Logf("%d truncated texts", count)
}

// blindCalls returns the calls of a text whose repairs are no worse than worst.
func blindCalls(t *testing.T, tools []llm.ToolDef, text, hint string, end llm.Reason, worst llm.RepairClass) (calls []wantCall) {
	p := dialect.Parser{Tools: tools, Dialect: hint, Finish: func() llm.Reason { return end }}
	for ev, err := range p.Parse(dialect.Whole(text)) {
		if err != nil {
			t.Fatal(err)
		}
		if call, ok := ev.(llm.Call); ok && call.Provenance.Worst() <= worst {
			var args any
			if err := json.Unmarshal(call.Args, &args); err != nil {
				t.Errorf("%q: arguments %q: %v", text, call.Args, err)
			}
			calls = append(calls, wantCall{call.Name, args})
		}
	}
	return calls
}

// An answer whose end is not known gives the calls of a normal end, except those that end in a word: it may be cut off.
// No call is silent.
func TestAnUnknownEndLosesNoWholeCall(t *testing.T) {
	unknown := dialect.Parser{Tools: blindTools, Finish: func() llm.Reason { return "" }}
	for _, name := range []string{"honest", "honest_b", "honest_c", "honest_d", "long_c"} {
		for _, row := range blindRows(t, name) {
			ended, open := blindResult(t, row, dialect.Parser{Tools: blindTools}), blindResult(t, row, unknown)
			text := strings.TrimRight(row.Text, "\n`")
			closed := strings.ContainsAny(text[len(text)-1:], ")]}>") && !strings.HasPrefix(row.ID, "toml")
			if open == "silent" || open == "wrong" || closed && (open == "refused") != (ended == "refused") {
				t.Errorf("%s %s: %s, with a normal end %s\n%s", name, row.ID, open, ended, row.Text)
			}
		}
	}
	for text, want := range map[string]bool{
		`<tool_call>{"name": "lookup_word", "arguments": {"word": "fern"}}`: true,
		`<tool_call>{"name": "lookup_word", "arguments": {"word": "fern"`:   false,
		`[lookup_word(word="fern"`: false,
	} {
		if got := blindResult(t, blindRow{Text: text}, unknown); (got == "call") != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}
