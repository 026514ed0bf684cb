package emulate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// What a small model is told. It reads one tool, its parameters and the
// request, after one worked example of the same form; everything else distracts
// it. The words were chosen on questions that are not among those the figures
// of docs/emulation.md come from.
const (
	smallTask    = "Write the JSON call of the tool for the user's request. Copy the values from the request."
	smallExample = `Tool:
get_weather: Weather forecast for a city.
- city (string): The city.
- days (integer): How many days.
Request: What will the weather be in Paris for the next 3 days?`
	smallAnswer  = `{"city": "Paris", "days": 3}`
	smallAnswers = `{"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}]}`
)

// The bounds of what a small model is told of a tool, in runes, and how long a
// string in its answer may be.
const (
	smallDescription = 200
	smallParameter   = 120
	shortestText     = 40
	longestText      = 300
)

// small has a small model fill in the arguments of the tools that were chosen
// for it, or answer in text.
func (e Emulation) small(req *llm.Request, out *EmulatedRequest) error {
	tools := Functions(callable(req))
	c := e.Decider.Conversation(req.Messages)
	if req.Choice.Forbids() {
		smallHistory(out.Request, c)
		out.Answer.Calls = e.reader(req, Functions(req.Tools), e.Dialect)
		return nil
	}
	chosen, reason := chooseTools(req, tools, c, out.final)
	out.Warnings = append(out.Warnings, decisionWarning(tools, chosen, reason))
	if len(chosen) == 0 {
		if !c.Answered() && c.Refers(tools) {
			out.warn(llm.Emulated, FromMemory, "no tool was offered; this answer is from memory")
		}
		smallHistory(out.Request, c)
		return nil
	}
	out.Dialect = "envelope"
	prompt, bounded, err := e.ask(chosen, c, out)
	if err != nil {
		return err
	}
	before, after, answer := "", "", smallAnswers
	if len(chosen) == 1 {
		before, after, answer = `{"name":`+string(js.Marshal(chosen[0].Name))+`,"arguments":`, "}", smallAnswer
	}
	smallPrompt(out.Request, prompt, answer, e.Context, chosen[0].Name == FinalTool)
	if len(out.Request.Stop) > 0 {
		out.Request.Stop = nil
		out.warn(llm.Ignored, "stop", "a call is held to a grammar and ends by itself")
	}
	if err := e.Host.apply(out.Request, bounded); err != nil {
		return err
	}
	out.warn(llm.Emulated, "tools", "the arguments are held to a grammar: optional parameters where the request gives a reason, numbers and words of the conversation where they fit")
	out.Answer.Constrained, out.Answer.Calls = wholeJSON(before, after), e.reader(req, chosen, "envelope")
	return nil
}

// chooseTools returns the tools to call and the reason. The tool that gives the
// final answer is called if no other tool is.
func chooseTools(req *llm.Request, tools []llm.ToolDef, c Conversation, final bool) (chosen []llm.ToolDef, reason string) {
	if !final || len(tools) < 2 {
		return c.Choose(tools, req.Choice, req.OneCall)
	}
	var others []llm.ToolDef
	var last llm.ToolDef
	for _, d := range tools {
		if d.Name == FinalTool {
			last = d
		} else {
			others = append(others, d)
		}
	}
	if chosen, reason = c.Choose(others, llm.ToolChoice{}, req.OneCall); len(chosen) == 0 {
		chosen = []llm.ToolDef{last}
	}
	return chosen, reason
}

// ask returns the question about the tools and the schema of its answer: the
// arguments of one tool, or an envelope with the calls of several.
func (e Emulation) ask(tools []llm.ToolDef, c Conversation, out *EmulatedRequest) (string, json.RawMessage, error) {
	var prompt strings.Builder
	var calls []json.RawMessage
	prompt.WriteString("Tool:\n")
	for _, d := range tools {
		b := bounds{text: min(max(len(c.Request()), shortestText), longestText), items: 10, whole: 1_000_000_000, evidence: c.Evidence(d)}
		args, losses, err := b.bound(d.Schema)
		if err != nil {
			return "", nil, &llm.Error{Op: "emulate", Kind: llm.Invalid, Err: fmt.Errorf("the schema of %q: %w", d.Name, err)}
		}
		out.lost("schema", losses)
		describeSmall(&prompt, d, args)
		if len(tools) == 1 {
			calls = append(calls, args)
			break
		}
		calls = append(calls, closed(field{"name", object{{"enum", array([]json.RawMessage{js.Marshal(d.Name)})}}.raw()}, field{"arguments", args}))
	}
	prompt.WriteString("Request: " + c.Request())
	if len(calls) == 1 {
		return prompt.String(), calls[0], nil
	}
	count := js.Marshal(len(calls))
	list := object{{"type", js.Marshal("array")}, {"prefixItems", array(calls)}, {"minItems", count}, {"maxItems", count}}
	return prompt.String(), closed(field{"tool_calls", list.raw()}), nil
}

// closed is the schema of an object with exactly these properties.
func closed(props ...field) json.RawMessage {
	names := make([]string, len(props))
	for i, p := range props {
		names[i] = p.key
	}
	return object{{"type", js.Marshal("object")}, {"properties", object(props).raw()}, {"required", js.Marshal(names)}, {"additionalProperties", json.RawMessage("false")}}.raw()
}

// describeSmall writes the tool and the parameters that are asked for.
func describeSmall(b *strings.Builder, d llm.ToolDef, bounded json.RawMessage) {
	fmt.Fprintf(b, "%s: %s\n", d.Name, clip.Line(d.Description, smallDescription))
	asked, _ := readObject(bounded)
	offered, _ := readObject(asked.get("properties"))
	original, _ := readObject(d.Schema)
	props, _ := readObject(original.get("properties"))
	for _, p := range offered {
		about, _ := readObject(props.get(p.key))
		fmt.Fprintf(b, "- %s (%s): %s\n", p.key, strings.Join(typesOf(about), " or "), clip.Line(js.Decode[string](about.get("description")), smallParameter))
	}
}

// exampleTokens is what the worked example costs, and runesPerToken how texts
// are counted where no tokenizer is at hand.
const (
	exampleTokens = 120
	runesPerToken = 3
)

// smallPrompt puts the question last, after the example and the conversation
// so far. The final answer is made of what the tools returned, so the turn that
// has their results, which the question otherwise replaces, stays.
func smallPrompt(req *llm.Request, prompt, answer string, context int, final bool) {
	smallHistory(req, nil)
	req.System = strings.TrimSpace(req.System + "\n\n" + smallTask)
	messages, question := req.Messages, llm.User(prompt)
	if last := len(messages) - 1; last >= 0 && messages[last].Role == llm.RoleUser {
		if final {
			question.Parts = slices.Concat(messages[last].Parts, []llm.Part{llm.Text{Text: "\n\n"}}, question.Parts)
			question.Extra = messages[last].Extra
		}
		messages = messages[:last]
	}
	size := len(req.System) + len(prompt)
	for _, m := range messages {
		size += len(m.Text())
	}
	var out []llm.Message
	if context == 0 || size/runesPerToken+exampleTokens < context/2 {
		out = append(out, llm.User(smallExample), llm.Assistant(llm.Text{Text: answer}))
	}
	req.Messages = append(append(out, messages...), question)
}

// smallHistory leaves calls out and writes results as plain sentences: a small
// model repeats whatever JSON it has seen. After results the request is said
// again, because it answers what stands last. Turns of one side that then
// follow each other become one.
func smallHistory(req *llm.Request, c Conversation) {
	var out []llm.Message
	for _, m := range req.Messages {
		role := m.Role
		var said []llm.Part
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.Result:
				role = llm.RoleUser
				said = append(said, llm.Text{Text: smallResult(p)})
			case llm.Text, llm.Media:
				said = append(said, p)
			}
		}
		if last := len(out) - 1; last >= 0 && out[last].Role == role && len(said) > 0 {
			out[last].Parts = append(append(out[last].Parts, llm.Text{Text: "\n"}), said...)
		} else if len(said) > 0 {
			out = append(out, llm.Message{Role: role, Parts: said, Extra: m.Extra})
		}
	}
	if last := len(out) - 1; c != nil && c.Answered() && last >= 0 && out[last].Role == llm.RoleUser {
		out[last].Parts = append(out[last].Parts, llm.Text{Text: "\nAnswer this in a sentence: " + c.Request()})
	}
	req.Messages = out
}

func smallResult(r llm.Result) string {
	verb := "returned"
	if r.Failed {
		verb = "failed"
	}
	name := r.Name
	if name == "" {
		name = "The tool"
	}
	return fmt.Sprintf("%s %s: %s", name, verb, r.Text())
}
