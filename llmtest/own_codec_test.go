package llmtest_test

// An additional format, and the suite that tests its contract. It needs only
// the exported packages: copy this file to begin.

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/llmtest"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
	"github.com/toolpost/toolpost/wire/format"
)

func TestOwnCodec(t *testing.T) {
	llmtest.TestCodec(t, wire.Codec{Own: acme{}})
}

// TestOwnCodecInUse opens a model at a server of the format. The server uses
// the same codec.
func TestOwnCodecInUse(t *testing.T) {
	codec := wire.Codec{Own: acme{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		req, _, err := codec.DecodeRequest(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		stream := codec.NewStream(w, format.Head{Model: req.Model})
		for ev := range (parrot{}).Stream(r.Context(), req) {
			_ = stream.Write(ev)
		}
	}))
	t.Cleanup(server.Close)
	id := "acme/parrot-1"
	c := &provider.Client{
		HTTP:    server.Client(),
		Formats: []format.Format{acme{}},
		Vendors: map[string]provider.Vendor{"acme": {BaseURL: server.URL, Wires: []string{"acme"}}},
		Catalog: catalog.Default().With(catalog.Model{ID: catalog.ID{Raw: id}, Kind: "chat", NativeTools: catalog.Answer{Support: catalog.Yes}}),
	}
	llmtest.TestModel(t, func(t *testing.T) llm.Model {
		m, err := c.Open(id)
		if err != nil {
			t.Fatal(err)
		}
		return m
	})
}

// acme is the format of a vendor whose turns are plain objects and whose
// streams are lines of JSON.
type acme struct{}

func (acme) Properties() format.Properties {
	return format.Properties{
		Name: "acme", Path: "talk", StreamType: "application/x-ndjson",
		Features:     []format.Feature{format.ChoiceNone, format.MaxTokens, format.Temperature},
		StreamedArgs: true, AnswerIDs: true,
		Errors: map[llm.Kind]string{llm.RateLimited: "slow_down", llm.Overloaded: "busy", llm.Invalid: "what"},
	}
}

type (
	acmeRequest struct {
		Model, System string
		Stream        bool
		Tools         []acmeTool
		NoCalls       bool
		Limit         int
		Temperature   *float64
		Turns         []acmeTurn
	}
	acmeTool struct {
		Name, Description string
		Schema            json.RawMessage
	}
	acmeTurn struct {
		Who, Text string       `json:",omitempty"`
		Calls     []acmeCall   `json:",omitempty"`
		Results   []acmeResult `json:",omitempty"`
	}
	acmeCall struct {
		ID, Name string
		Args     string
	}
	acmeResult struct{ ID, Name, Text string }
)

func (f acme) EncodeRequest(req *llm.Request, stream bool) ([]byte, []llm.Warning, error) {
	out := acmeRequest{Model: req.Model, System: req.System, Stream: stream, NoCalls: req.Choice.Mode == llm.MustNotCall, Limit: req.MaxTokens, Temperature: req.Temperature}
	lost := f.Properties().Missing(req)
	for range req.Extra {
		lost = append(lost, gone("extra"))
	}
	for _, t := range req.Tools {
		out.Tools = append(out.Tools, acmeTool{t.Name, t.Description, t.Schema})
	}
	for _, m := range req.Messages {
		if m.Role == llm.RoleSystem || m.Role == llm.RoleDeveloper {
			lost = append(lost, gone(string(m.Role)))
		}
		turn, more := encodeTurn(m)
		out.Turns, lost = append(out.Turns, turn), append(lost, more...)
	}
	body, err := json.Marshal(out)
	return body, lost, err
}

func gone(feature string) llm.Warning {
	return llm.Warning{Code: llm.Degraded, Feature: feature, Detail: "Acme's format has no place for it"}
}

func encodeTurn(m llm.Message) (turn acmeTurn, lost []llm.Warning) {
	turn.Who = string(m.Role)
	for i, p := range m.Parts {
		switch p := p.(type) {
		case llm.Text:
			if turn.Text != "" || p.Refusal || i > 0 {
				lost = append(lost, gone("text parts"))
			}
			turn.Text += p.Text
		case llm.Call:
			turn.Calls = append(turn.Calls, acmeCall{p.ID, p.Name, string(p.Args)})
		case llm.Result:
			turn.Results = append(turn.Results, acmeResult{p.CallID, p.Name, p.Text()})
			if p.Failed || len(p.Parts) > 1 {
				lost = append(lost, gone("result"))
			}
		default: // media and thinking
			lost = append(lost, gone("part"))
		}
	}
	return turn, lost
}

func (acme) DecodeRequest(body []byte) (*llm.Request, bool, error) {
	var in acmeRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, false, err
	}
	req := &llm.Request{Model: in.Model, System: in.System, MaxTokens: in.Limit, Temperature: in.Temperature}
	if in.NoCalls {
		req.Choice.Mode = llm.MustNotCall
	}
	for _, t := range in.Tools {
		req.Tools = append(req.Tools, llm.ToolDef{Name: t.Name, Description: t.Description, Schema: t.Schema})
	}
	for _, turn := range in.Turns {
		m := llm.Message{Role: llm.Role(turn.Who)}
		if turn.Text != "" {
			m.Parts = append(m.Parts, llm.Text{Text: turn.Text})
		}
		for _, c := range turn.Calls {
			m.Parts = append(m.Parts, llm.Call{ID: c.ID, Name: c.Name, Args: json.RawMessage(c.Args)})
		}
		for _, r := range turn.Results {
			m.Parts = append(m.Parts, llm.Result{CallID: r.ID, Name: r.Name, Parts: []llm.Part{llm.Text{Text: r.Text}}})
		}
		req.Messages = append(req.Messages, m)
	}
	return req, in.Stream, nil
}

// acmeLine is a line of a stream. A whole answer is an array of them.
type acmeLine struct {
	Text  string    `json:",omitempty"`
	Call  *acmeCall `json:",omitempty"` // a piece: the pieces of one id, joined, are the arguments of the call
	End   *acmeEnd  `json:",omitempty"`
	Error *acmeFail `json:",omitempty"`
}

type acmeEnd struct {
	Why, ID, Model string
	In, Out        int
}

type acmeFail struct{ Code, Message string }

// read adds a line to a.
func (l acmeLine) read(a *format.Answer, raw []byte) (more bool) {
	a.Text(l.Text)
	if c := l.Call; c != nil {
		a.Call(-1, c.ID, c.Name, c.Args)
	}
	if l.Error != nil {
		a.Fail(raw)
	}
	if e := l.End; e != nil {
		a.Finish(llm.Finish{Reason: llm.Reason(e.Why), ID: e.ID, Model: e.Model, Usage: llm.Usage{Input: e.In, Output: e.Out}})
	}
	return l.End == nil && l.Error == nil
}

func (acme) DecodeStream(src io.Reader, a *format.Answer) error {
	var bad error
	err := a.Lines(src, func(raw []byte) bool {
		var l acmeLine
		bad = json.Unmarshal(raw, &l)
		return bad == nil && l.read(a, raw)
	})
	if bad != nil {
		return &llm.Error{Op: "acme", Kind: llm.Malformed, Err: bad}
	}
	return err
}

func (acme) DecodeResponse(body []byte, a *format.Answer) error {
	var lines []acmeLine
	if err := json.Unmarshal(body, &lines); err != nil {
		return err
	}
	for _, l := range lines {
		l.read(a, body)
	}
	return nil
}

func (f acme) EncodeResponse(r *llm.Response) ([]byte, []llm.Warning, error) {
	var lines []json.RawMessage
	var lost []llm.Warning
	for _, ev := range r.Events() {
		line, more := encodeEvent(ev)
		lost = append(lost, more...)
		if line != nil {
			lines = append(lines, line)
		}
	}
	body, err := json.Marshal(lines)
	return body, lost, err
}

// encodeEvent returns an event as a line, and nil for an event without a line
// in Acme's format.
func encodeEvent(ev llm.Event) (line []byte, lost []llm.Warning) {
	var l acmeLine
	switch ev := ev.(type) {
	case llm.TextDelta:
		if l.Text = ev.Text; ev.About().Refusal {
			lost = append(lost, gone("refusal"))
		}
	case llm.ThinkingDelta:
		return nil, []llm.Warning{gone("thinking")}
	case llm.CallStart:
		l.Call = &acmeCall{ID: ev.ID, Name: ev.Name}
	case llm.CallDelta:
		l.Call = &acmeCall{ID: ev.ID, Args: ev.Args}
	case llm.Finish:
		l.End = &acmeEnd{string(ev.Reason), ev.ID, ev.Model, ev.Usage.Input, ev.Usage.Output}
	default:
		return nil, nil
	}
	line, err := json.Marshal(l)
	if err != nil {
		panic(err) // strings and numbers
	}
	return line, lost
}

func (acme) EncodeStream(format.Head) format.EventWriter { return acmeWriter{} }

type acmeWriter struct{}

func (acmeWriter) Event(ev llm.Event) ([]byte, []llm.Warning, error) {
	line, lost := encodeEvent(ev)
	if line != nil {
		line = append(line, '\n')
	}
	return line, lost, nil
}

func (acmeWriter) Fail(err *llm.Error) []byte { return append(acme{}.EncodeError(err, 0), '\n') }

func (f acme) EncodeError(err *llm.Error, _ int) []byte {
	body, _ := json.Marshal(acmeLine{Error: &acmeFail{f.Properties().Errors[err.Kind], err.Err.Error()}})
	return body
}

func (acme) DecodeError(body []byte) (code, message string) {
	var l acmeLine
	if json.Unmarshal(body, &l) != nil || l.Error == nil {
		return "", ""
	}
	return l.Error.Code, strings.TrimSpace(l.Error.Message)
}
