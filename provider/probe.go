package provider

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/internal/requestctx"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
)

// MaxProbe is how many requests a probe sends at most.
const MaxProbe = 20

// ProbeFinding is what a probe found out about one thing.
type ProbeFinding struct {
	Name    string          `json:"name"`
	Answer  catalog.Support `json:"answer"`
	Because string          `json:"because"` // the observation
	// Field is the setting of models.yaml that the answer decides; empty if there is
	// none.
	Field string `json:"field,omitempty"`
}

// Probe is what asking a model showed.
type Probe struct {
	ID       string         `json:"id"`
	Requests int            `json:"requests"`
	Findings []ProbeFinding `json:"findings"`
	// Record is what it means for the user's model file.
	Record Record `json:"record"`
}

// Probe asks the model up to MaxProbe cheap questions, which cost tokens, and reports
// its actual capabilities. It fails if the model does not respond at all. Questions
// without a clear result are unknown.
func (m *Model) Probe(ctx context.Context) (*Probe, error) {
	p := &probing{Model: m, ctx: ctx, out: &Probe{ID: m.catalogID(m.id)}, values: map[string]string{}}
	failed := p.run()
	if err := ctx.Err(); err != nil { // a cancelled probe learns nothing
		return nil, &llm.Error{Op: "probe", Kind: llm.KindOf(err), Err: fmt.Errorf("interrupted after %d requests, nothing was learnt: %w", p.out.Requests, err)}
	}
	if failed != nil {
		return nil, failed
	}
	p.out.Record = Record{ID: p.out.ID, Values: p.values, Why: fmt.Sprintf("probed with %d requests", p.out.Requests)}
	return p.out, nil
}

// probing is a probe under way.
type probing struct {
	*Model
	ctx    context.Context
	out    *Probe
	values map[string]string

	wrong map[string]string // what answers got wrong: by feature, in the words of the first warning
	think bool              // thinking was found in text
}

// probeAnswer is an answer to a probe.
type probeAnswer struct {
	*llm.Response
	err    *llm.Error
	pieces int    // of arguments
	raw    string // the body
}

func (p *probing) found(name, field string, answer catalog.Support, format string, args ...any) {
	p.out.Findings = append(p.out.Findings, ProbeFinding{Name: name, Field: field, Answer: answer, Because: fmt.Sprintf(format, args...)})
	if field != "" && answer != catalog.Unknown {
		p.values[field] = map[catalog.Support]string{catalog.Yes: "true", catalog.No: "false"}[answer]
	}
}

// refused is what an error says about the thing that was asked for: no if the
// server refused it, and nothing if the question got no answer.
func refused(err *llm.Error) catalog.Support {
	if err.Kind == llm.Invalid || err.Kind == llm.Unsupported {
		return catalog.No
	}
	return catalog.Unknown
}

// run asks the questions, each only if those before it make sense of it.
func (p *probing) run() error {
	hello := p.ask(plainly("Say hello.", 64))
	if hello.err != nil {
		return hello.err
	}
	p.found("answers", "", catalog.Yes, "it said %.40q", cmp.Or(hello.Message.Text(), "nothing"))
	p.think = strings.Contains(hello.Message.Text(), "think>")
	if p.tools() {
		p.choice()
		p.parallel()
		p.pieces()
		p.results()
	}
	p.length()
	p.schema()
	p.oddities()
	return nil
}

// ask sends one question as the vendor takes it, without any emulation.
func (p *probing) ask(req *llm.Request) probeAnswer {
	req.Model = p.model
	j := &job{req: req, codec: p.settled.codec, route: Route{Kind: Native}, whole: p.client.Whole}
	var tap firstBytes
	j.tap = &tap
	body, _, err := j.codec.EncodeRequest(req, !p.client.Whole)
	if err != nil {
		return probeAnswer{Response: new(llm.Response), err: asLLM(err)}
	}
	for n := 1; ; n++ {
		if p.out.Requests >= MaxProbe {
			return probeAnswer{Response: new(llm.Response), err: &llm.Error{Op: "probe", Kind: llm.Unknown, Err: errors.New("the budget of the probe is spent")}}
		}
		p.out.Requests++
		tap.Reset()
		h := p.listen(j, body)
		h.raw = tap.String()
		if h.err == nil || n == 3 || !retryable(h.err) {
			p.note(h)
			return h
		}
		wait, soon := p.client.Retry.wait(n, h.err, requestctx.Patient, rand.Float64())
		if !soon {
			p.note(h)
			return h
		}
		if stop := sleep(p.ctx, wait); stop != nil {
			return h
		}
	}
}

// firstBytes keeps the first bytes that are written to it.
type firstBytes struct{ bytes.Buffer }

func (b *firstBytes) Write(p []byte) (int, error) {
	_, err := b.Buffer.Write(p[:min(len(p), max(0, maxError-b.Len()))])
	return len(p), err
}

// listen sends a request once and takes in the answer.
func (p *probing) listen(j *job, body []byte) probeAnswer {
	var h probeAnswer
	var b llm.Builder
	h.err, _ = p.once(p.ctx, j, body, func(ev llm.Event, _ error) bool {
		b.Add(ev)
		if _, ok := ev.(llm.CallDelta); ok {
			h.pieces++
		}
		return true
	})
	h.Response = b.Response()
	return h
}

// note keeps what an answer got wrong.
func (p *probing) note(h probeAnswer) {
	for _, w := range h.Warnings {
		p.wrongly(w.Feature, w.Detail)
	}
	if strings.Contains(h.Message.Text(), "think>") {
		p.think = true
	}
	if !p.client.Whole {
		p.indexes(h.raw)
	}
}

func (p *probing) wrongly(feature, detail string) {
	if p.wrong == nil {
		p.wrong = map[string]string{}
	}
	if _, known := p.wrong[feature]; !known {
		p.wrong[feature] = detail
	}
}

// indexes looks at the calls of a raw stream of chunks with choices: each has
// its own index and its own id. Other streams have no such chunks.
func (p *probing) indexes(raw string) {
	owner := map[int]string{}
	for line := range strings.Lines(raw) {
		data, ok := strings.CutPrefix(line, "data: ")
		var chunk struct {
			Choices []struct {
				Delta struct {
					Calls []struct {
						Index    int
						ID       string
						Function struct{ Name string }
					} `json:"tool_calls"`
				}
			}
		}
		if !ok || json.Unmarshal([]byte(data), &chunk) != nil || len(chunk.Choices) == 0 {
			continue
		}
		for _, c := range chunk.Choices[0].Delta.Calls {
			if c.Function.Name == "" {
				continue // a further piece
			}
			if c.ID == "" {
				p.wrongly("id", "calls have no id")
			}
			if other, taken := owner[c.Index]; taken && other != c.ID {
				p.wrongly("index", fmt.Sprintf("two calls have the index %d", c.Index))
			}
			owner[c.Index] = c.ID
		}
	}
}

// The questions.

var probeTool = llm.ToolDef{
	Name: "get_weather", Description: "Get the current weather in a city",
	Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string","description":"name of the city"}},"required":["city"]}`),
}

var probeOther = llm.ToolDef{
	Name: "get_time", Description: "Get the current time in a city",
	Schema: probeTool.Schema,
}

// plainly is a request without tools.
func plainly(text string, max int) *llm.Request {
	return &llm.Request{Messages: []llm.Message{llm.User(text)}, MaxTokens: max}
}

func withTools(text string) *llm.Request {
	req := plainly(text, 512)
	req.Tools = []llm.ToolDef{probeTool, probeOther}
	return req
}

const rome = "What is the weather in Rome?"

// tools finds out whether tools are taken and calls come back, and reports
// whether it makes sense to ask more about them.
func (p *probing) tools() bool {
	for range 2 { // a model may choose not to call
		h := p.ask(withTools(rome))
		switch {
		case h.err != nil && saysNoTools(h.err):
			p.found("tools", "native_tools", catalog.No, "%v", h.err)
			return false
		case h.err != nil:
			p.found("tools", "native_tools", catalog.Unknown, "%v", h.err)
			return false
		case len(h.Message.Calls()) > 0:
			p.found("tools", "native_tools", catalog.Yes, "it called %s %s", h.Message.Calls()[0].Name, h.Message.Calls()[0].Args)
			return true
		case len(h.Invalid) > 0:
			p.found("tools", "native_tools", catalog.Yes, "it began a call: %s", h.Invalid[0].Problem)
			return true
		}
		if calls, where := h.written(); len(calls) > 0 {
			p.values["dialect"] = calls[0].Provenance.Dialect
			p.found("tools", "native_tools", catalog.Yes, "tools are taken, and calls come back in the %s, in the dialect %s", where, p.values["dialect"])
			return true
		}
	}
	p.found("tools", "native_tools", catalog.No, "tools are taken without a word, and nothing is called")
	return false
}

// written returns the calls in the text or the thinking of an answer, and in which of
// the two.
func (h probeAnswer) written() (calls []llm.Call, where string) {
	parser := dialect.Parser{Tools: []llm.ToolDef{probeTool, probeOther}}
	for _, p := range h.Message.Parts {
		text, place := "", "text"
		switch p := p.(type) {
		case llm.Text:
			text = p.Text
		case llm.Thinking:
			text, place = p.Text, "thinking"
		}
		for ev := range parser.Parse(dialect.Whole(text)) {
			if c, ok := ev.(llm.Call); ok {
				calls, where = append(calls, c), place
			}
		}
	}
	return calls, where
}

// calls returns the names of the calls of an answer, wherever they stand.
func (h probeAnswer) calls() []string {
	var names []string
	written, _ := h.written()
	for _, c := range append(h.Message.Calls(), written...) {
		names = append(names, c.Name)
	}
	for _, c := range h.Invalid {
		names = append(names, c.Name)
	}
	return names
}

// choice finds out whether the choice of tools is honoured.
func (p *probing) choice() {
	req := withTools("Say hello.")
	req.Choice = llm.ToolChoice{Mode: llm.MustCall, Name: "get_time"}
	named := p.ask(req)
	req = withTools("Say hello.")
	req.Choice = llm.ToolChoice{Mode: llm.MustCall}
	required := p.ask(req)
	switch {
	case !p.format().Has(format.ChoiceRequired):
		p.found("forced call", "tool_choice_required", catalog.No, "the format has no choice")
	case required.err != nil || named.err != nil:
		p.found("forced call", "tool_choice_required", refused(cmp.Or(required.err, named.err)), "%v", cmp.Or(required.err, named.err))
	case len(required.calls()) > 0 && slices.Equal(unique(named.calls()), []string{"get_time"}):
		p.found("forced call", "tool_choice_required", catalog.Yes, "it called what it had to")
	default:
		p.found("forced call", "tool_choice_required", catalog.No, "asked for any it called %q, asked for get_time %q", required.calls(), named.calls())
	}
	req = withTools(rome)
	req.Choice = llm.ToolChoice{Mode: llm.MustNotCall}
	if !p.format().Has(format.ChoiceNone) {
		return
	}
	h := p.ask(req)
	switch calls := h.calls(); {
	case h.err != nil:
		p.found("forbidden call", "", refused(h.err), "%v", h.err)
	case len(calls) > 0:
		p.found("forbidden call", "", catalog.No, "it called %q all the same", calls)
	default:
		p.found("forbidden call", "", catalog.Yes, "it called nothing")
	}
}

func unique(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return slices.Compact(s)
}

// parallel finds out whether several calls come in one answer.
func (p *probing) parallel() {
	for range 2 {
		h := p.ask(withTools("What is the weather in Rome and what is the weather in Paris? Make both calls at once."))
		if h.err != nil {
			p.found("several calls", "parallel_tools", catalog.Unknown, "%v", h.err)
			return
		}
		if n := len(h.calls()); n > 1 {
			p.found("several calls", "parallel_tools", catalog.Yes, "it made %d in one answer", n)
			return
		}
	}
	p.found("several calls", "parallel_tools", catalog.No, "it made one at a time")
}

// pieces finds out whether arguments come in pieces.
func (p *probing) pieces() {
	if p.client.Whole {
		return
	}
	h := p.ask(withTools("What is the weather in Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch?"))
	switch {
	case h.err != nil || len(h.Message.Calls()) == 0:
		p.found("arguments in pieces", "tool_streaming", catalog.Unknown, "no call to look at")
	case h.pieces > len(h.Message.Calls()):
		p.found("arguments in pieces", "tool_streaming", catalog.Yes, "they came in %d", h.pieces)
	default:
		p.found("arguments in pieces", "tool_streaming", catalog.No, "they came at once")
	}
}

// results finds out whether a result is understood.
func (p *probing) results() {
	req := withTools(rome)
	call := llm.Call{ID: "call000001", Name: "get_weather", Args: json.RawMessage(`{"city":"Rome"}`)}
	if p.info.CallID.Max == 9 {
		call.ID = "call00001"
	}
	req.Messages = append(req.Messages, llm.Assistant(call), llm.Results(llm.Result{CallID: call.ID, Name: call.Name, Parts: []llm.Part{llm.Text{Text: "17 degrees and hail"}}}))
	h := p.ask(req)
	switch {
	case h.err != nil:
		p.found("results", "", refused(h.err), "%v", h.err)
	case strings.Contains(h.Message.Text(), "17") || strings.Contains(strings.ToLower(h.Message.Text()), "hail"):
		p.found("results", "", catalog.Yes, "it spoke of the result")
	default:
		p.found("results", "", catalog.Unknown, "it said %.60q", h.Message.Text())
	}
}

// length finds out whether a truncated answer reports that it was truncated.
func (p *probing) length() {
	h := p.ask(plainly("Count from one to a hundred in words.", 16))
	switch {
	case h.err != nil:
		p.found("says when cut off", "", catalog.Unknown, "%v", h.err)
	case h.Finish.Reason == llm.Length:
		p.found("says when cut off", "", catalog.Yes, "the reason was %q", h.Finish.Raw)
	case len(h.Message.Text()) > 200:
		p.found("says when cut off", "", catalog.No, "the limit of 16 tokens was ignored")
	default:
		p.found("says when cut off", "", catalog.Unknown, "the answer ended by itself: %.40q", h.Message.Text())
	}
}

// schema finds out whether an answer is held to a schema.
func (p *probing) schema() {
	req := plainly("Name a colour and how many letters its name has.", 128)
	req.Output = &llm.OutputFormat{Name: "colour", Strict: true, Schema: json.RawMessage(`{"type":"object","properties":{"colour_name":{"type":"string"},"letter_count":{"type":"integer"}},"required":["colour_name","letter_count"],"additionalProperties":false}`)}
	h := p.ask(req)
	var got struct {
		Name  *string `json:"colour_name"`
		Count *int    `json:"letter_count"`
	}
	switch err := json.Unmarshal([]byte(h.Message.Text()), &got); {
	case h.err != nil:
		p.found("answer by schema", "json_schema", refused(h.err), "%v", h.err)
	case err == nil && got.Name != nil && got.Count != nil: // only the schema has these names
		p.found("answer by schema", "json_schema", catalog.Yes, "it answered %.60q", h.Message.Text())
		if p.info.Constrain == "" {
			p.values["constrained_output"] = p.format().OutputField
		}
	case h.Finish.Reason == llm.Length:
		p.found("answer by schema", "json_schema", catalog.Unknown, "the answer was cut off")
	default:
		p.found("answer by schema", "json_schema", catalog.No, "it answered %.60q", h.Message.Text())
	}
}

// oddities reports what answers got wrong on the way.
func (p *probing) oddities() {
	for _, o := range []struct {
		feature, name string
		needsCalls    bool
	}{{"index", "calls have their own index", true}, {"id", "calls have their own id", true}, {"finish reason", "the reason fits the answer", false}} {
		if o.needsCalls && p.values["native_tools"] != "true" {
			continue
		}
		if detail, bad := p.wrong[o.feature]; bad {
			p.found(o.name, "", catalog.No, "%s", detail)
		} else {
			p.found(o.name, "", catalog.Yes, "in all answers")
		}
	}
	if p.think {
		p.found("thinking stays out of text", "", catalog.No, "tags of thinking stood in the text")
	} else {
		p.found("thinking stays out of text", "", catalog.Yes, "in all answers")
	}
}
