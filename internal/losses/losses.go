// Package losses finds the silent losses in a translation of a request. It is for tests.
package losses

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/history"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// Translation is a request of a client and its translation for an upstream.
type Translation struct {
	From, To  string // formats
	Body, Out []byte
	Warnings  []llm.Warning // that the client was given
	// Narrow returns a schema in the form that the upstream accepts, and whether it is less strict than before; nil if
	// it accepts all.
	Narrow func(schema []byte) (narrowed []byte, less bool)
}

// Translate translates a request to another format, like a server that forwards the requests of its clients.
func Translate(from, to string, body []byte) (Translation, error) {
	return translate(wire.Codec{Format: from}, to, body, nil)
}

// Change is a server's change of a request before it sends it, with the warnings.
type Change func(*llm.Request) (*llm.Request, []llm.Warning, error)

func translate(from wire.Codec, to string, body []byte, change Change) (Translation, error) {
	t := Translation{From: from.Format, To: to, Body: body}
	req, stream, err := from.DecodeRequest(body)
	if err != nil {
		return t, err
	}
	c := wire.Codec{Format: to}
	req, left := c.Portable(req)
	healed, changed := history.Repair(req.Messages, to)
	req.Messages = healed
	if change != nil {
		var more []llm.Warning
		if req, more, err = change(req); err != nil {
			return t, err
		}
		changed = append(changed, more...)
	}
	out, warnings, err := c.EncodeRequest(req, stream)
	t.Out, t.Warnings = out, slices.Concat(left, changed, warnings)
	return t, err
}

// Silent returns the texts, tools, schemas, calls and results that are neither in the translation nor named by a
// warning.
func (t Translation) Silent() []string {
	from, _, err := wire.Codec{Format: t.From}.DecodeRequest(t.Body)
	if err != nil {
		return []string{err.Error()}
	}
	to, _, err := wire.Codec{Format: t.To}.DecodeRequest(t.Out)
	if err != nil {
		return []string{err.Error()}
	}
	lost := t.tools(from, to)
	lost = append(lost, differ("call", calls(from), calls(to))...)
	lost = append(lost, differ("result", results(from), results(to))...)
	return append(lost, t.texts()...)
}

// tools compares the tools that are offered.
func (t Translation) tools(from, to *llm.Request) []string {
	var lost []string
	for _, d := range from.Tools {
		i := slices.IndexFunc(to.Tools, func(g llm.ToolDef) bool { return g.Name == d.Name })
		switch {
		case i < 0:
			if !t.named(d.Name) {
				lost = append(lost, fmt.Sprintf("the tool %s is not offered", d.Name))
			}
		case d.Kind == llm.FunctionTool && !t.sameSchema(d, to.Tools[i].Schema):
			lost = append(lost, fmt.Sprintf("the schema of %s is another: %s became %s", d.Name, d.Schema, to.Tools[i].Schema))
		case d.Kind != llm.HostedTool && squeeze(to.Tools[i].Description) != squeeze(d.Description) && !strings.Contains(squeeze(to.Tools[i].Description), squeeze(d.Description)):
			lost = append(lost, fmt.Sprintf("the description of %s is another: %q became %q", d.Name, d.Description, to.Tools[i].Description))
		}
	}
	return lost
}

// noParameters are the schemas of a tool without parameters: some formats demand one.
var noParameters = []string{"", `{"type":"object"}`, `{"properties":{},"type":"object"}`}

// sameSchema reports whether a tool has its schema, or a weaker schema and a warning about that.
func (t Translation) sameSchema(d llm.ToolDef, got []byte) bool {
	x, y := valueForm(d.Schema), valueForm(got)
	if x == y || slices.Contains(noParameters, x) && slices.Contains(noParameters, y) {
		return true
	}
	if t.Narrow == nil {
		return false
	}
	narrowed, less := t.Narrow(d.Schema)
	return valueForm(narrowed) == y && (!less || t.told(d.Name))
}

// told reports whether a warning is about the schema of a tool.
func (t Translation) told(tool string) bool {
	return slices.ContainsFunc(t.Warnings, func(w llm.Warning) bool {
		return (w.Feature == "schema" || w.Feature == "strict") && strings.HasPrefix(w.Detail, tool)
	})
}

// named reports whether a warning is about a member of the request, or about a value inside of it.
func (t Translation) named(member string) bool {
	names := append([]string{strings.TrimPrefix(member, kindMark)}, words[member]...)
	return slices.ContainsFunc(t.Warnings, func(w llm.Warning) bool {
		return slices.ContainsFunc(names, func(n string) bool {
			return w.Feature == n || strings.HasPrefix(w.Feature, n+".") || strings.HasSuffix(w.Feature, "."+n)
		})
	})
}

// kindMark precedes the kind of an object in a path: its type or its name.
const kindMark = "="

// words are the names of members of requests, and of kinds of objects, in warnings.
var words = map[string][]string{
	"thinking": {"reasoning"}, "=thought": {"thinking"}, "=reasoning": {"thinking"}, "reasoning_content": {"thinking"}, "thinkingConfig": {"reasoning"},
	"reasoning_details": {"thinking", "signature"}, "reasoningContent": {"thinking"}, "=redacted_thinking": {"thinking"}, "annotations": {"citations"},
	"is_error": {"failed"}, "definition": {"grammar"}, "syntax": {"grammar"}, "strict": {"tools.strict"},
}

// calls lists the calls of a conversation.
func calls(req *llm.Request) []string {
	var list []string
	for _, m := range req.Messages {
		for _, c := range m.Calls() {
			if args := string(c.Args); !c.Hosted {
				if c.Kind == llm.FreeTool {
					args = `{"` + history.FreeInput + `":` + args + `}`
				}
				list = append(list, c.Name+" "+valueForm([]byte(args)))
			}
		}
	}
	return list
}

// results lists the results, with the number of the call that each answers.
func results(req *llm.Request) []string {
	var list []string
	n, index := 0, map[string]int{}
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.Call:
				if n++; !p.Hosted {
					index[p.ID] = n
				}
			case llm.Result:
				if !p.Hosted {
					list = append(list, fmt.Sprint(index[p.CallID], " ", squeeze(p.Text())))
				}
			}
		}
	}
	return list
}

// differ compares two lists.
func differ(what string, from, to []string) []string {
	var lost []string
	for i, s := range from {
		if i >= len(to) || to[i] != s {
			lost = append(lost, fmt.Sprintf("%s %d is %q", what, i+1, s))
		}
	}
	if len(to) > len(from) {
		lost = append(lost, fmt.Sprintf("%d more of %s", len(to)-len(from), what))
	}
	return lost
}

// ownWords are members whose text is a keyword of the format, for which other formats have different keywords, and
// members that only the vendor can read.
var ownWords = []string{
	"signature", "encrypted_content", "thoughtSignature", "type", "role", "effort", "reasoning_effort", "tool_choice", "url", "data", "syntax", "summary", "model",
	"call_id", "id", "tool_use_id", "tool_call_id",
}

// unquoted is for texts inside of JSON that is a text itself.
var unquoted = strings.NewReplacer(`\"`, `"`, `\n`, "", `\t`, "", `\\`, `\`)

// texts looks for every text of the request in the translation.
func (t Translation) texts() []string {
	var from, to any
	if err := json.Unmarshal(t.Body, &from); err != nil {
		return []string{err.Error()}
	}
	if err := json.Unmarshal(t.Out, &to); err != nil {
		return []string{err.Error()}
	}
	var all strings.Builder
	leaves(to, nil, func(_ []string, text string) { all.WriteString(squeeze(text) + "\n") })
	there := unquoted.Replace(all.String())
	var lost []string
	leaves(from, nil, func(path []string, text string) {
		if t.Narrow != nil && slices.ContainsFunc(path, isSchema) { // which is compared as a whole
			return
		}
		if slices.Contains(ownWords, path[len(path)-1]) || usual(t.From, t.To, path, text) || strings.Contains(there, unquoted.Replace(squeeze(text))) || json.Valid([]byte(text)) { // arguments, which calls compares
			return
		}
		if !slices.ContainsFunc(path, t.named) {
			lost = append(lost, fmt.Sprintf("%s %q", strings.Join(path, "."), text))
		}
	})
	return lost
}

// kinds returns the type and the name that an object declares.
func kinds(v map[string]any) []string {
	var list []string
	for _, key := range []string{"type", "name"} {
		if word, ok := v[key].(string); ok {
			list = append(list, kindMark+word)
		}
	}
	if v["role"] == "tool" {
		list = append(list, kindMark+"tool")
	}
	if v["thought"] == true {
		list = append(list, kindMark+"thought")
	}
	return list
}

// isSchema reports whether a member is the schema of a tool.
func isSchema(member string) bool {
	return slices.Contains([]string{"input_schema", "parameters", "parametersJsonSchema"}, member)
}

// leaves calls found with every text of a document. The path includes the kinds of the objects.
func leaves(v any, path []string, found func(path []string, text string)) {
	switch v := v.(type) {
	case string:
		if len(path) > 0 {
			found(path, v)
		}
	case []any:
		for _, el := range v {
			leaves(el, path, found)
		}
	case map[string]any:
		path := append(slices.Clone(path), kinds(v)...)
		for key, el := range v {
			leaves(el, append(slices.Clone(path), key), found)
		}
	}
}

// squeeze removes white space, which formats with one text a message add.
func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

// valueForm is for comparing values; text that is not JSON is its own form.
func valueForm(b []byte) string {
	out, err := (&js.Form{Mode: js.ByValue}).Append(nil, b)
	if err != nil {
		return string(b)
	}
	return string(out)
}
