package emulate

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// FinalTool is the name of the tool with which a model gives its final answer
// where the answer has to match a schema; see [AnswerByTool].
const FinalTool = "emit_output"

// AnswerByTool asks for the answer that req.Output describes as the arguments of a
// tool, [FinalTool], in addition to the tools that req offers. The call is demanded if
// force is set, or if there is no other tool to call. It changes req and returns the
// Reader that turns the call into the answer. Text before the call becomes thinking,
// because the text of the message is the answer alone.
func AnswerByTool(req *llm.Request, force bool) Reader {
	def := llm.ToolDef{
		Name:        FinalTool,
		Description: strings.TrimSpace("Give the final answer. Call this once, when everything else is done, and call nothing beside it. " + req.Output.Description),
		Schema:      OutputSchema(req.Output),
	}
	if schema.AnyObject(def.Schema) { // an empty list of properties would be a tool that takes nothing
		def.Schema = json.RawMessage(anyObject)
	}
	req.Output = nil
	if req.Choice.Forbids() || len(req.Tools) == 0 {
		req.Tools = []llm.ToolDef{def}
		req.Choice = llm.ToolChoice{Mode: llm.MustCall, Name: FinalTool}
		return readFinal
	}
	req.Tools = append(req.Tools, def)
	if req.Choice.Allowed != nil {
		req.Choice.Allowed = append(req.Choice.Allowed, FinalTool)
	}
	instruct(req, "When you are done, give your final answer by calling the tool "+FinalTool+". Do not answer in plain text.")
	if force {
		req.Choice.Mode = llm.MustCall
	}
	return readFinal
}

// AnswerByPrompt asks for the answer that req.Output describes in the system
// prompt, and nothing holds the model to it. It changes req and returns the
// Reader that takes a code fence off the answer.
func AnswerByPrompt(req *llm.Request) Reader {
	instruct(req, "Answer with one JSON value that matches this JSON Schema, and with nothing else, no explanation and no code fence:\n"+string(OutputSchema(req.Output)))
	req.Output = nil
	return wholeText(unfence)
}

// AnswerBySchema has the host hold the answer to the schema that req.Output
// describes. It changes req, which may have an Output for the host afterwards,
// and returns the Reader of the answer and what the host does not hold it to.
func (e Emulation) AnswerBySchema(req *llm.Request) (Reader, []schema.Loss, error) {
	if schema.AnyObject(OutputSchema(req.Output)) && e.Host.applyAny(req) {
		return wholeJSON("", ""), nil, nil
	}
	bounded, losses, err := e.bounds().bound(OutputSchema(req.Output))
	if err != nil {
		return nil, nil, &llm.Error{Op: "emulate", Kind: llm.Invalid, Err: fmt.Errorf("the schema of the output: %w", err)}
	}
	req.Output = nil
	if err := e.Host.apply(req, bounded); err != nil {
		return nil, nil, err
	}
	return wholeJSON("", ""), losses, nil
}

// anyObject is the schema of an answer that may be any JSON object.
const anyObject = `{"type":"object"}`

// OutputSchema returns the schema of an answer. The default is any JSON object.
func OutputSchema(out *llm.OutputFormat) json.RawMessage {
	if len(out.Schema) == 0 {
		return json.RawMessage(anyObject)
	}
	return out.Schema
}

// instruct adds to the instructions of a request.
func instruct(req *llm.Request, text string) {
	req.System = strings.TrimSpace(req.System + "\n\n" + text)
}

// answer plans how the answer comes to match the schema of the request, if it
// has one, and returns the Reader that comes last. It changes req.
func (e Emulation) answer(req *llm.Request, out *EmulatedRequest) (Reader, error) {
	switch {
	case req.Output == nil:
		return nil, nil
	case req.Choice.Mode == llm.MustCall: // this answer is for calls
		req.Output = nil
		return nil, nil
	case len(req.Tools) > 0 && !req.Choice.Forbids():
		out.final = true
		out.warn(llm.Emulated, "output", "the answer is asked for as the arguments of the tool %s", FinalTool)
		return AnswerByTool(req, true), nil
	case e.Host.holds():
		read, losses, err := e.AnswerBySchema(req)
		out.lost("output", losses)
		return read, err
	case req.Output.Strict:
		return nil, &llm.Error{Op: "emulate", Kind: llm.Unsupported, Err: errors.New("nothing is known to hold the model to the schema of the output")}
	}
	out.warn(llm.Emulated, "output", "the schema is part of the prompt: nothing is known to hold the model to a schema")
	return AnswerByPrompt(req), nil
}

// wholeText returns a Reader that holds the text of an answer back until it is
// whole, and changes it. The text of an answer that ends in an error passes
// unchanged, before the error.
func wholeText(change func(string) string) Reader {
	return func(raw iter.Seq2[llm.Event, error]) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			var text strings.Builder
			flush := func(whole bool) bool {
				s := text.String()
				text.Reset()
				if whole {
					s = change(s)
				}
				return s == "" || yield(llm.TextDelta{Text: s}, nil)
			}
			for ev, err := range raw {
				if d, ok := ev.(llm.TextDelta); ok && err == nil && !d.About().Refusal {
					text.WriteString(d.Text)
					continue
				}
				_, last := ev.(llm.Finish)
				if (last || err != nil) && !flush(last) {
					return
				}
				if !yield(ev, err) {
					return
				}
			}
		}
	}
}

// unfence takes the code fence, and the words around it, off a JSON value.
func unfence(s string) string {
	trimmed := strings.TrimSpace(s)
	if json.Valid([]byte(trimmed)) {
		return trimmed
	}
	if _, after, ok := strings.Cut(trimmed, "```"); ok {
		body, _, _ := strings.Cut(after, "```")
		if first, rest, ok := strings.Cut(body, "\n"); ok && !strings.ContainsAny(first, "{[\"") {
			body = rest
		}
		if body = strings.TrimSpace(body); json.Valid([]byte(body)) {
			return body
		}
	}
	return s
}

// readFinal turns the call of the final tool into the answer.
func readFinal(raw iter.Seq2[llm.Event, error]) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		e := &finalAnswer{yield: yield}
		for ev, err := range raw {
			if err != nil {
				if e.say(false) {
					yield(nil, err)
				}
				return
			}
			if !e.event(ev) {
				return
			}
		}
	}
}

// finalAnswer is one answer that may end in a call of the final tool.
type finalAnswer struct {
	yield  func(llm.Event, error) bool
	id     string // of the final call
	answer *llm.Call
	given  int // how often the answer was given
	others int
	text   strings.Builder // text before any call
}

func (e *finalAnswer) event(ev llm.Event) bool {
	switch ev := ev.(type) {
	case llm.TextDelta:
		if e.others == 0 && !ev.About().Refusal {
			e.text.WriteString(ev.Text)
			return true
		}
	case llm.CallStart:
		if ev.Name == FinalTool {
			e.id = ev.ID
			return true
		}
		return e.other(ev)
	case llm.CallDelta:
		if ev.ID == e.id {
			return true
		}
	case llm.Call:
		if ev.Name == FinalTool {
			e.answer = &ev
			e.given++
			return true
		}
		return e.other(ev)
	case llm.InvalidCall:
		if ev.Name == FinalTool {
			e.text.WriteString(ev.Raw)
			return true
		}
		return e.other(ev)
	case llm.Finish:
		return e.finish(ev)
	}
	return e.yield(ev, nil)
}

// other passes on a call of another tool, after the text before it.
func (e *finalAnswer) other(ev llm.Event) bool {
	e.others++
	return e.say(false) && e.yield(ev, nil)
}

// say passes on the text that was held. Before an answer it is thinking, so
// that the text of the message is the answer and nothing else.
func (e *finalAnswer) say(aside bool) bool {
	s := e.text.String()
	e.text.Reset()
	switch {
	case s == "":
		return true
	case aside:
		return e.yield(llm.ThinkingDelta{Text: s}, nil)
	}
	return e.yield(llm.TextDelta{Text: s}, nil)
}

func (e *finalAnswer) finish(f llm.Finish) bool {
	if e.given > 1 {
		w := llm.Warning{Code: llm.Ignored, Feature: "output", Detail: "the model gave its answer more than once; the last one counts"}
		if !e.yield(w, nil) {
			return false
		}
	}
	switch {
	case e.answer != nil && e.others == 0:
		f.Reason = llm.Stop
		return e.say(true) && e.yield(llm.TextDelta{Text: string(e.answer.Args)}, nil) && e.yield(f, nil)
	case e.answer != nil:
		w := llm.Warning{Code: llm.Ignored, Feature: "output", Detail: "the model gave its answer beside calls; the calls come first, and the answer has to be given again"}
		return e.yield(w, nil) && e.yield(f, nil)
	}
	text := unfence(e.text.String())
	e.text.Reset()
	e.text.WriteString(text)
	return e.say(false) && e.yield(f, nil)
}
