package agentcli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// option is a setting of a request that an agent program does not take.
type option struct {
	name  string
	given func(*llm.Request) bool
	// refused settings end the question; others are a warning.
	refused bool
	code    llm.WarningCode
	why     string
}

// options are all settings that do not reach the program unchanged.
var options = []option{
	{"n", func(r *llm.Request) bool { return r.N > 1 }, true, "", "an agent program gives one answer"},
	{"temperature", func(r *llm.Request) bool { return r.Temperature != nil }, false, llm.Ignored, "the program chooses it"},
	{"top_p", func(r *llm.Request) bool { return r.TopP != nil }, false, llm.Ignored, "the program chooses it"},
	{"top_k", func(r *llm.Request) bool { return r.TopK != nil }, false, llm.Ignored, "the program chooses it"},
	{"frequency_penalty", func(r *llm.Request) bool { return r.FrequencyPenalty != nil }, false, llm.Ignored, "the program has none"},
	{"presence_penalty", func(r *llm.Request) bool { return r.PresencePenalty != nil }, false, llm.Ignored, "the program has none"},
	{"seed", func(r *llm.Request) bool { return r.Seed != nil }, false, llm.Ignored, "the program has none"},
	{"max_tokens", func(r *llm.Request) bool { return r.MaxTokens > 0 }, false, llm.Ignored, "the program chooses it"},
	{"stop", func(r *llm.Request) bool { return len(r.Stop) > 0 }, false, llm.Ignored, "the program has none"},
	{"reasoning", func(r *llm.Request) bool { return r.Reasoning != nil }, false, llm.Ignored, "the program chooses it; its arguments may say how much"},
	{"one_call", func(r *llm.Request) bool { return r.OneCall }, false, llm.Ignored, "the program may make several"},
	{"tool_choice", func(r *llm.Request) bool { return r.Choice.Mode == llm.MustCall }, false, llm.Degraded, "the program is asked to call a tool and cannot be made to"},
	{"output", func(r *llm.Request) bool { return r.Output != nil }, false, llm.Emulated, "the program is asked for JSON of the schema and cannot be held to it"},
	{"extra", func(r *llm.Request) bool { return len(r.Extra) > 0 }, false, llm.Ignored, "fields of a wire format have no place here"},
}

// checkOptions returns a warning for each setting that is not honoured, and an error for a setting
// that must be.
func checkOptions(req *llm.Request) ([]llm.Warning, error) {
	var out []llm.Warning
	for _, o := range options {
		switch {
		case !o.given(req):
		case o.refused:
			return nil, fmt.Errorf("%s: %s", o.name, o.why)
		default:
			out = append(out, llm.Warning{Code: o.code, Feature: o.name, Detail: o.why})
		}
	}
	return out, nil
}

// offeredTools are the tools of a request that the model may call.
func offeredTools(req *llm.Request) ([]llm.ToolDef, error) {
	if req.Choice.Mode == llm.MustNotCall {
		return nil, nil
	}
	var defs []llm.ToolDef
	for _, d := range req.Tools {
		if !req.Choice.Permits(d.Name) {
			continue
		}
		if d.Kind == llm.HostedTool || d.Kind == llm.FreeTool {
			return nil, fmt.Errorf("%s is a tool of a vendor's own kind, which an agent program cannot be given", d.Name)
		}
		defs = append(defs, d)
	}
	return defs, nil
}

// systemText is what the program is told before the conversation.
func systemText(req *llm.Request) string {
	parts := []string{}
	if req.System != "" {
		parts = append(parts, req.System)
	}
	if req.Choice.Mode == llm.MustCall {
		what := "a tool"
		if req.Choice.Name != "" {
			what = "the tool " + req.Choice.Name
		}
		parts = append(parts, "Call "+what+" before you answer.")
	}
	if req.Output != nil {
		text := "Your answer is one JSON object and nothing else."
		if len(req.Output.Schema) > 0 {
			text += " It matches this JSON Schema: " + string(req.Output.Schema)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "\n\n")
}

// prompt is the conversation as one text. A single message of the user is its text. A
// longer one is told as lines, each of which is JSON after a label: so no text of a tool
// or of a model can begin a line of somebody else's. Thinking is never told.
func prompt(messages []llm.Message) (string, error) {
	if len(messages) == 0 {
		return "", errors.New("there is no message")
	}
	if len(messages) == 1 && messages[0].Role == llm.RoleUser {
		if text, ok := onlyText(messages[0].Parts); ok {
			return text, nil
		}
	}
	lines := []string{"This is a conversation so far, oldest first: one line for each thing that was said or done, as JSON. Go on with it: answer what comes last, and do not repeat what was done."}
	for _, m := range messages {
		for _, p := range m.Parts {
			line, err := promptLine(m.Role, p)
			if err != nil {
				return "", err
			}
			if line != "" {
				lines = append(lines, line)
			}
		}
	}
	return strings.Join(lines, "\n"), nil
}

func onlyText(parts []llm.Part) (string, bool) {
	var texts []string
	for _, p := range parts {
		t, ok := p.(llm.Text)
		if !ok {
			return "", false
		}
		texts = append(texts, t.Text)
	}
	return strings.Join(texts, "\n"), true
}

func promptLine(role llm.Role, p llm.Part) (string, error) {
	switch p := p.(type) {
	case llm.Text:
		return fmt.Sprintf("[%s] %s", role, quoted(p.Text)), nil
	case llm.Thinking:
		return "", nil
	case llm.Call:
		args := string(p.Args)
		if !json.Valid(p.Args) || strings.ContainsAny(args, "\r\n") {
			args = quoted(args)
		}
		return fmt.Sprintf("[tool-call:%s#%s] %s", tool.SafeName(p.Name), label(p.ID), args), nil
	case llm.Result:
		text, ok := onlyText(p.Parts)
		if !ok {
			return "", errors.New("a result holds a picture or a file, which an agent program cannot be given")
		}
		failed := ""
		if p.Failed {
			failed = " failed"
		}
		return fmt.Sprintf("[tool-result:%s#%s]%s %s", tool.SafeName(p.Name), label(p.CallID), failed, quoted(text)), nil
	}
	return "", errors.New("a message holds a picture or a file, which an agent program cannot be given")
}

// label is an id that cannot end a label.
func label(id string) string {
	if id == "" {
		return "-"
	}
	return tool.SafeName(id)
}

// quoted is a text as JSON, in one line.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""` // a string always has one
	}
	return string(b)
}
