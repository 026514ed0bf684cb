package sim

import (
	"context"
	"strings"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/llm"
)

// respond asks the model of b and changes its answer according to b: the result
// is the answer that a vendor's server should send.
func (b behaviour) respond(ctx context.Context, m llm.Model, req *llm.Request) (*llm.Response, error) {
	if b.IgnoreChoice {
		req = req.Clone()
		req.Choice, req.OneCall = llm.ToolChoice{}, false
	}
	if b.Echo {
		return respond(req, llm.Stop, llm.Text{Text: describe(req)}), nil
	}
	if b.Recall {
		m = Recall{}
	}
	if b.Taught {
		req = learned(req)
	}
	r, err := llm.Generate(ctx, m, req)
	if err != nil {
		return nil, err
	}
	if b.Huge > 0 {
		filler := strings.Repeat("All work and no play makes a dull tool. ", b.Huge/40+1)[:b.Huge]
		r.Message.Parts = append([]llm.Part{llm.Text{Text: filler}}, r.Message.Parts...)
	}
	if b.Dialect != "" {
		if err := b.write(r); err != nil {
			return nil, err
		}
	} else if b.ThinkCall {
		thinkCalls(r, "hermes_json")
	}
	if b.WrongFinish {
		r.Finish.Reason = contradiction(r)
	}
	if b.Length {
		cutOff(r)
	}
	return r, nil
}

// write turns calls and thinking into text of the dialect.
func (b behaviour) write(r *llm.Response) error {
	if b.ThinkCall {
		thinkCalls(r, b.Dialect)
	}
	text, err := dialect.Builtin().Render(b.Dialect, r.Message.Parts...)
	if err != nil {
		return err
	}
	r.Message.Parts = []llm.Part{llm.Text{Text: text}}
	if r.Finish.Reason == llm.ToolCalls {
		r.Finish.Reason = llm.Stop
	}
	return nil
}

// thinkCalls moves the calls into thinking that never ends, as the text of a
// dialect: a model that forgot to stop thinking.
func thinkCalls(r *llm.Response, name string) {
	var kept, calls []llm.Part
	for _, p := range r.Message.Parts {
		if c, ok := p.(llm.Call); ok {
			calls = append(calls, c)
		} else {
			kept = append(kept, p)
		}
	}
	if len(calls) == 0 {
		return
	}
	text, err := dialect.Builtin().Render(name, calls...)
	if err != nil {
		return
	}
	r.Message.Parts = append(kept, llm.Thinking{Text: "I should call a tool. " + text})
	r.Finish.Reason = llm.Stop
}

// contradiction returns a wrong finish reason.
func contradiction(r *llm.Response) llm.Reason {
	if len(r.Message.Calls()) > 0 {
		return llm.Stop
	}
	return llm.ToolCalls
}

// cutOff ends the last part in its middle.
func cutOff(r *llm.Response) {
	r.Finish.Reason = llm.Length
	if len(r.Message.Parts) == 0 {
		return
	}
	last := len(r.Message.Parts) - 1
	switch p := r.Message.Parts[last].(type) {
	case llm.Text:
		p.Text = p.Text[:clip.Rune(p.Text, len(p.Text)/2)]
		r.Message.Parts[last] = p
	case llm.Thinking:
		p.Text = p.Text[:clip.Rune(p.Text, len(p.Text)/2)]
		r.Message.Parts[last] = p
	case llm.Call:
		p.Args = p.Args[:len(p.Args)/2]
		r.Message.Parts[last] = p
	}
}
