package dialect

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/llm"
)

// wrapper is how a family of models is shown the results of calls. In each,
// $name, $id and $failed are about the call, $text is the result and $json the
// result as a JSON string.
type wrapper struct {
	role  llm.Role
	open  string // before all results
	each  string // one result; empty means that of the emulated dialects
	sep   string // between two results
	close string // after all results
	id    idForm
	guard []string // further words that a result must not contain
	stop  []string // what a model writes when it begins to invent a result
}

// plainResult is the wrapper of dialects whose models were never shown
// results in a form of their own, and of every emulated dialect.
var plainResult = wrapper{
	role: llm.RoleUser, each: "<tool_result name=\"$name\" id=\"$id\"$failed>\n$text\n</tool_result>", sep: "\n", stop: []string{"<tool_result"},
}

var toolResponse = wrapper{
	role: llm.RoleUser, each: "<tool_response>\n$text\n</tool_response>", sep: "\n", stop: []string{"<tool_response>"},
}

// bareResult leaves everything to the role of the message.
var bareResult = wrapper{role: llm.RoleTool, each: "$text", sep: "\n"}

// wrappers has the dialects whose models know a form of their own.
var wrappers = map[string]wrapper{
	"hermes_json":         toolResponse,
	"hermes_plural_array": {role: llm.RoleTool, each: "<tool_response>$text</tool_response>", stop: []string{"<tool_response>"}},
	"qwen3_coder_xml":     toolResponse,
	"minicpm5":            toolResponse,
	"glm45":               {role: llm.RoleTool, open: "<|observation|>", each: "\n<tool_response>\n$text\n</tool_response>"},
	"glm47":               {role: llm.RoleTool, open: "<|observation|>", each: "<tool_response>$text</tool_response>"},
	"glm4_classic":        {role: llm.RoleTool, each: "<|observation|>\n$text"},
	"hy_v3":               {role: llm.RoleTool, open: "<tool_responses>\n", each: "<tool_response>\n$text\n</tool_response>\n", close: "</tool_responses>"},
	"nemotron_nano_v2":    {role: llm.RoleTool, open: "<TOOL_RESPONSE>[", each: "$json", sep: ", ", close: "]</TOOL_RESPONSE>"},
	"granite20b_fc":       {role: llm.RoleTool, each: "<function_response> $text", sep: "\n"},

	"deepseek_v3": {
		role: llm.RoleTool, open: "<｜tool▁outputs▁begin｜>", each: "<｜tool▁output▁begin｜>$text<｜tool▁output▁end｜>", sep: "\n", close: "<｜tool▁outputs▁end｜>",
	},
	"deepseek_v31":      {role: llm.RoleTool, each: "<｜tool▁output▁begin｜>$text<｜tool▁output▁end｜>"},
	"deepseek_dsml_v32": {role: llm.RoleTool, open: "\n\n<function_results>\n", each: "<result>$text</result>\n", close: "</function_results>"},
	"deepseek_dsml_v4":  {role: llm.RoleUser, each: "<tool_result>$text</tool_result>"},
	"minimax_m2":        {role: llm.RoleTool, each: "<response>$text</response>", sep: "\n"},
	"minimax_m3":        {role: llm.RoleTool, each: "<response>$text</response>", sep: "\n"},
	"kimi_k2":           {role: llm.RoleTool, id: nameIndex, each: "## Return of $id\n$text", sep: "\n", guard: []string{"## Return of "}},
	"kimi_k3": {
		role: llm.RoleTool, id: oneBased, each: `<|open|>message role="tool" tool="$name" index="$id"<|sep|>$text<|close|>message<|sep|>`,
	},

	"mistral_json":    {role: llm.RoleTool, id: alnum9, each: `[TOOL_RESULTS] {"content": $json, "call_id": "$id"}[/TOOL_RESULTS]`},
	"mistral_v11":     {role: llm.RoleTool, each: "[TOOL_RESULTS]$text[/TOOL_RESULTS]"},
	"mistral_call_id": {role: llm.RoleTool, id: alnum9, each: "[TOOL_RESULTS]$id[TOOL_CONTENT]$text[/TOOL_RESULTS]"},
	"harmony":         {role: llm.RoleTool, each: "<|start|>functions.$name to=assistant<|channel|>commentary<|message|>$text<|end|>"},
	"llama3_json":     bareResult,
	"llama3_builtin":  bareResult,
	"functionary_v31": bareResult,
	"functionary_v32": bareResult,
	"pythonic":        bareResult,
	"gemma4":          {role: llm.RoleTool, each: `<|tool_response>response:$name{value:<|"|>$text<|"|>}<tool_response|>`},
	"functiongemma":   {role: llm.RoleTool, each: "<start_function_response>response:$name{<escape>$text<escape>}<end_function_response>"},
	"lfm2":            {role: llm.RoleTool, each: "<|tool_response_start|>$text<|tool_response_end|>"},
	"command_r_plus":  {role: llm.RoleTool, open: "<results>\n", each: "Document: $id\n$text\n", id: counter, sep: "\n", close: "</results>"},
	"command_action": {
		role: llm.RoleTool, id: counter, open: "<|START_TOOL_RESULT|>[\n", each: `    {"tool_call_id": "$id", "results": {"0": $json}}`, sep: ",\n", close: "\n]<|END_TOOL_RESULT|>",
	},
	"internlm":     {role: llm.RoleTool, each: "<|im_start|>environment name=<|plugin|>\n$text<|im_end|>", sep: "\n"},
	"muse_glimmer": {role: llm.RoleTool, each: "<tool_output name=\"$name\">\n$text\n</tool_output>", sep: "\n"},
	"solar_open": {
		role: llm.RoleTool, id: alnum10, open: "<|begin|>tool<|tool_response|>", close: "<|end|>",
		each: "<|tool_response:begin|>$id<|tool_response:name|>$name<|tool_response:result|>$text<|tool_response:end|>",
	},
	"qwen_agent": {role: llm.RoleUser, each: "✿RESULT✿: $text", sep: "\n", stop: []string{"✿RESULT✿", "✿RETURN✿"}},
	"react":      {role: llm.RoleUser, each: "Observation: $text", sep: "\n", guard: []string{"Observation:"}, stop: []string{"Observation:"}},
	"claude_xml": {
		role: llm.RoleUser, open: "<function_results>\n", each: "<result>\n<tool_name>$name</tool_name>\n<stdout>\n$text\n</stdout>\n</result>\n", close: "</function_results>",
		stop: []string{"<function_results>"},
	},
}

// wrapperOf returns the wrapper of a dialect; one without its own, or none at
// all, has that of the emulated dialects.
func wrapperOf(dialect string) wrapper {
	if w, ok := wrappers[dialect]; ok {
		return w
	}
	return plainResult
}

// ResultStops returns the sequences with which models of a dialect begin to
// invent the result of a call. A request to such a model should stop there;
// they are never part of a call. The dialect is chosen as by WrapResults.
func ResultStops(dialect string) []string { return slices.Clone(wrapperOf(dialect).stop) }

// WrapResults writes the results of calls as the models of a dialect are used
// to see them, and says in whose turn they stand. It is for prompts that we
// render ourselves; a vendor's chat template wraps results on its own. An
// empty dialect, or one without a form of its own, gives
// <tool_result name="…" id="…">…</tool_result> in the user's turn.
//
// Results stand in the order given, which must be the order of the calls. A
// result that contains one of the wrapper's markers gets a backslash within
// it, so that nothing a tool returns can end its own result and speak as
// someone else. Media cannot be written and are named in square brackets.
func WrapResults(dialect string, results []llm.Result) (role llm.Role, text string) {
	w := wrapperOf(dialect)
	guards := w.guards(dialect)
	var b strings.Builder
	b.WriteString(w.open)
	for i, r := range results {
		if i > 0 {
			b.WriteString(w.sep)
		}
		body := blunt(resultText(r), guards)
		failed := ""
		if r.Failed {
			failed = ` error="true"`
		}
		id := r.CallID
		if w.id != noID {
			id = w.id.of(r.CallID, r.Name, i)
		}
		b.WriteString(strings.NewReplacer("$name", word(r.Name), "$id", word(id), "$failed", failed,
			"$text", body, "$json", quote(body)).Replace(w.each))
	}
	b.WriteString(w.close)
	return w.role, b.String()
}

// resultText returns the text of a result with its media named.
func resultText(r llm.Result) string {
	var lines []string
	for _, p := range r.Parts {
		switch p := p.(type) {
		case llm.Text:
			lines = append(lines, p.Text)
		case llm.Media:
			lines = append(lines, fmt.Sprintf("[%s %s]", p.Kind, strings.TrimSpace(p.Name+" "+p.MIME)))
		}
	}
	return strings.Join(lines, "\n")
}

// word makes a name or id safe as an attribute: everything that is markup
// becomes an underscore.
func word(s string) string {
	return strings.Map(func(r rune) rune {
		if plain(string(r)) {
			return r
		}
		return '_'
	}, s)
}

// guards returns what a result must not contain: the markers of the wrapper
// without their last bracket, so that a space before it does not help, and the
// tokens that end a turn of the dialect.
func (w wrapper) guards(dialect string) []string {
	out := append([]string(nil), w.guard...)
	for _, m := range (script{open: w.open, call: w.each, close: w.close}).markers() {
		out = append(out, strings.TrimRight(m, ">] "))
	}
	d, _ := Lookup(dialect)
	for _, m := range d.Drop {
		if strings.HasPrefix(m, "<|") || strings.HasPrefix(m, "<｜") {
			out = append(out, m)
		}
	}
	return out
}

// blunt puts a backslash after the first letter of every guard in s, whatever
// its case.
func blunt(s string, guards []string) string {
	for _, g := range guards {
		_, size := utf8.DecodeRuneInString(g)
		low, want := lower(s), lower(g)
		var b strings.Builder
		for {
			i := strings.Index(low, want)
			if i < 0 {
				break
			}
			b.WriteString(s[:i+size] + `\`)
			s, low = s[i+size:], low[i+size:]
		}
		b.WriteString(s)
		s = b.String()
	}
	return s
}

// lower is strings.ToLower for ASCII, so that no byte moves.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
