package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/toolpost/toolpost/internal/wire/history"
	"github.com/toolpost/toolpost/llm"
)

// Script is a model that gives prepared answers. Its answer depends only on the
// number of answers that the conversation already has. A conversation can
// therefore be asked again from any point.
//
// A script is a txtar archive with one file per answer, named 1, 2, 3 …; the
// text before the first file explains the purpose of the script. A file is
// lines:
//
//	text Let me look.
//	thinking The user wants the weather.
//	call weather {"city":"Rome"}
//	call apply_patch "*** Begin Patch\n*** End Patch"
//	extra responses {"namespace":"mcp__home"}
//	finish length
//
// A call of a free-text tool has a text for its arguments. A server leaves
// calls out where no tools are offered.
//
// An extra line adds fields of a single wire format to the call before it.
//
// A file named 1.raw is the text of answer 1, untouched: for dialects and for
// nonsense. When the script is over, the last answer is given again.
type Script struct {
	answers []*llm.Response
}

// ParseScript reads a script. The error names the file and line.
func ParseScript(src []byte) (*Script, error) {
	archive := txtar.Parse(src)
	if len(archive.Files) == 0 {
		return nil, fmt.Errorf("sim: a script has one file per answer, like %q; this one has none", "-- 1 --")
	}
	s := new(Script)
	for i, f := range archive.Files {
		number, raw := strings.CutSuffix(f.Name, ".raw")
		if number != strconv.Itoa(i+1) {
			return nil, fmt.Errorf("sim: file %q of a script: the next answer is %d", f.Name, i+1)
		}
		if raw {
			text := strings.TrimSuffix(string(f.Data), "\n")
			s.answers = append(s.answers, respond(&llm.Request{}, llm.Stop, llm.Text{Text: text}))
			continue
		}
		a, err := parseAnswer(string(f.Data))
		if err != nil {
			return nil, fmt.Errorf("sim: file %q of a script: %w", f.Name, err)
		}
		s.answers = append(s.answers, a)
	}
	return s, nil
}

// reasons are the words a script may finish with.
var reasons = map[string]llm.Reason{
	"stop": llm.Stop, "tool_calls": llm.ToolCalls, "length": llm.Length, "content_filter": llm.ContentFilter, "other": llm.OtherReason,
}

func parseAnswer(data string) (*llm.Response, error) {
	var parts []llm.Part
	reason := llm.Stop
	finish := llm.Reason("")
	for i, line := range strings.Split(strings.TrimRight(data, "\n"), "\n") {
		verb, rest, _ := strings.Cut(line, " ")
		switch verb {
		case "text":
			parts = append(parts, llm.Text{Text: rest})
		case "thinking":
			parts = append(parts, llm.Thinking{Text: rest})
		case "call":
			name, args, _ := strings.Cut(rest, " ")
			if args == "" {
				args = "{}"
			}
			if !json.Valid([]byte(args)) {
				return nil, fmt.Errorf("line %d: the arguments of %s are not JSON: %s", i+1, name, args)
			}
			parts = append(parts, llm.Call{Name: name, Args: json.RawMessage(args)})
			reason = llm.ToolCalls
		case "extra":
			if err := addExtra(parts, rest); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
		case "finish":
			r, ok := reasons[rest]
			if !ok {
				return nil, fmt.Errorf("line %d: %q is no reason to finish", i+1, rest)
			}
			finish = r
		case "":
		default:
			return nil, fmt.Errorf("line %d: %q is not text, thinking, call, extra or finish", i+1, verb)
		}
	}
	if finish != "" {
		reason = finish
	}
	return respond(&llm.Request{}, reason, parts...), nil
}

// addExtra adds fields that one format has to the last of parts, which must be a call.
func addExtra(parts []llm.Part, rest string) error {
	format, text, _ := strings.Cut(rest, " ")
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &fields); format == "" || err != nil {
		return fmt.Errorf("extra is followed by a format and a JSON object, not by %q", rest)
	}
	if len(parts) > 0 {
		if c, ok := parts[len(parts)-1].(llm.Call); ok {
			c.Extra = llm.Extra{format: fields}
			parts[len(parts)-1] = c
			return nil
		}
	}
	return errors.New("extra belongs to a call, and there is none before it")
}

// noTools is the text of a server instead of calls if the request offers no tools.
const noTools = "There is no tool to call."

// withoutCalls removes the calls from an answer to a request that offers no tools: a model cannot call unknown tools,
// and some requests of an agent offer none.
func withoutCalls(req *llm.Request, r *llm.Response) {
	if len(req.Tools) > 0 || len(r.Message.Calls()) == 0 {
		return
	}
	r.Message.Parts = slices.DeleteFunc(r.Message.Parts, func(p llm.Part) bool { _, is := p.(llm.Call); return is })
	if r.Message.Text() == "" {
		r.Message.Parts = append(r.Message.Parts, llm.Text{Text: noTools})
	}
	r.Finish.Reason = llm.Stop
}

// asOffered returns a call as one of the tool that is offered: the arguments of a free-text tool
// are a text, and where a client offers the tool as a function, that text is its argument.
func asOffered(c llm.Call, tools []llm.ToolDef) llm.Call {
	for _, t := range tools {
		if t.Name != c.Name {
			continue
		}
		text := c.Args[0] == '"'
		switch {
		case t.Kind == llm.FreeTool && !text:
			c.Args, _ = json.Marshal(string(c.Args))
		case t.Kind != llm.FreeTool && text:
			c.Args, _ = json.Marshal(map[string]json.RawMessage{history.FreeInput: c.Args})
		}
		c.Kind = t.Kind
	}
	return c
}

// Stream gives the next answer of the conversation.
func (s *Script) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	said, calls := 0, 0
	for _, m := range req.Messages {
		if m.Role == llm.RoleAssistant {
			said++
			calls += len(m.Calls())
		}
	}
	r := *s.answers[min(said, len(s.answers)-1)]
	r.Finish.Usage.Input = inputTokens(req)
	r.Message = llm.Message{Role: llm.RoleAssistant, Parts: append([]llm.Part(nil), r.Message.Parts...)}
	ids := llm.CallIDs{After: calls}
	for i, p := range r.Message.Parts {
		if c, ok := p.(llm.Call); ok {
			c.ID = ids.Take("")
			r.Message.Parts[i] = asOffered(c, req.Tools)
		}
	}
	return play(ctx, &r)
}
