package sim

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
)

// taughtName is the model that refuses tools but follows the instructions in its prompt.
const taughtName = "taught"

// taughtDialect is the dialect in which package emulate teaches calls to an unknown model.
const taughtDialect = "json_fence"

// learned returns a request to a model without tools as a request with the tools that its prompt teaches, in the words
// of package emulate: the tools, the calls in the text of its answers, and the results in the messages of the user. A
// prompt without tools is returned unchanged.
func learned(req *llm.Request) *llm.Request {
	list, rules, taught := taughtLong(req.System)
	if !taught {
		list, rules, taught = taughtShort(req.System)
	}
	if !taught {
		return req
	}
	req = req.Clone()
	req.System, req.Tools = "", taughtTools(list)
	if _, must, ok := strings.Cut(rules, "This time you must call "); ok {
		req.Choice = llm.ToolChoice{Mode: llm.MustCall}
		if name, ok := strings.CutPrefix(must, "the tool "); ok {
			req.Choice.Name, _, _ = strings.Cut(name, ":")
		}
	}
	parser := dialect.Parser{Tools: req.Tools, Dialect: taughtDialect}
	for i, m := range req.Messages {
		if m.Role == llm.RoleAssistant {
			req.Messages[i].Parts = taughtCalls(&parser, m)
		} else if results := taughtResults(m.Text()); len(results) > 0 {
			req.Messages[i] = llm.Results(results...)
		}
	}
	return req
}

// taughtLong finds the tools in a prompt, and the rules for calling them.
func taughtLong(system string) (tools, rules string, found bool) {
	_, rest, found := strings.Cut(system, "# Tools\n")
	tools, rules, _ = strings.Cut(rest, "\n# How to call")
	return tools, rules, found
}

// taughtSignature is a tool in a compact prompt: "- get_weather(city: string, days?: integer): why".
var taughtSignature = regexp.MustCompile(`^- (\S+?)\((.*?)\)(?:: (.*))?$`)

// taughtShort is taughtLong for compact prompts; it returns the tools in the form of the long prompt.
func taughtShort(system string) (tools, rules string, found bool) {
	_, rest, found := strings.Cut(system, "You can call these tools:\n")
	list, rules, _ := strings.Cut(rest, "To call a tool, ")
	var b strings.Builder
	for line := range strings.Lines(list) {
		m := taughtSignature.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue // the meaning of a parameter
		}
		b.WriteString("## " + m[1] + "\n" + m[3] + "\n")
		for _, p := range splitTop(m[2]) {
			name, kind, _ := strings.Cut(p, ": ")
			how := "required"
			if strings.HasSuffix(name, "?") {
				how = "optional"
			}
			b.WriteString("- " + strings.TrimSuffix(name, "?") + " (" + kind + ", " + how + ")\n")
		}
	}
	return b.String(), rules, found
}

// splitTop splits parameters at the commas outside of brackets.
func splitTop(text string) []string {
	var list []string
	depth, from := 0, 0
	for i, r := range text {
		switch r {
		case '{', '[', '(':
			depth++
		case '}', ']', ')':
			depth--
		case ',':
			if depth == 0 {
				list, from = append(list, strings.TrimSpace(text[from:i])), i+1
			}
		}
	}
	if last := strings.TrimSpace(text[from:]); last != "" {
		list = append(list, last)
	}
	return list
}

// taughtParameter is a line of a prompt: "- city (string, required): where".
var taughtParameter = regexp.MustCompile(`^- (\S+) \((.*), (required|optional)\)(?:: (.*))?$`)

// taughtTools reads the tools of a prompt.
func taughtTools(text string) []llm.ToolDef {
	var tools []llm.ToolDef
	for _, block := range strings.Split("\n"+text, "\n## ")[1:] {
		name, rest, _ := strings.Cut(block, "\n")
		def := llm.ToolDef{Name: strings.TrimSpace(name)}
		properties, required := map[string]any{}, []string{}
		for line := range strings.Lines(rest) {
			line = strings.TrimRight(line, "\n")
			p := taughtParameter.FindStringSubmatch(line)
			if p == nil {
				def.Description = strings.TrimSpace(def.Description + " " + line)
				continue
			}
			property := taughtType(p[2])
			if p[4] != "" {
				property["description"] = p[4]
			}
			properties[p[1]] = property
			if p[3] == "required" {
				required = append(required, p[1])
			}
		}
		def.Schema, _ = json.Marshal(map[string]any{"type": "object", "properties": properties, "required": required}) // made of text
		tools = append(tools, def)
	}
	return tools
}

// taughtType is the schema of a type as prompts write it: a name, or values with | between them.
func taughtType(text string) map[string]any {
	var values []any
	if json.Unmarshal([]byte("["+strings.ReplaceAll(text, " | ", ",")+"]"), &values) == nil && len(values) > 0 {
		return map[string]any{"enum": values}
	}
	word, _, _ := strings.Cut(text, " ")
	switch word {
	case "string", "integer", "number", "boolean", "object", "array":
		return map[string]any{"type": word}
	case "list":
		return map[string]any{"type": "array"}
	}
	return map[string]any{}
}

// taughtCalls returns the model's earlier text, with its calls as calls.
func taughtCalls(parser *dialect.Parser, m llm.Message) []llm.Part {
	var b llm.Builder
	for ev, err := range parser.Parse(dialect.Whole(m.Text())) {
		if err != nil {
			return m.Parts
		}
		b.Add(ev)
	}
	return b.Response().Message.Parts
}

// taughtResult matches a result in the text of a user message.
var taughtResult = regexp.MustCompile(`(?s)<tool_result name="([^"]*)" id="([^"]*)"[^>]*>\n?(.*?)\n?</tool_result>`)

func taughtResults(text string) []llm.Result {
	var list []llm.Result
	for _, m := range taughtResult.FindAllStringSubmatch(text, -1) {
		list = append(list, llm.Result{Name: m[1], CallID: m[2], Parts: []llm.Part{llm.Text{Text: m[3]}}})
	}
	return list
}
