package llmtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
	"github.com/toolpost/toolpost/wire/format"
)

// TestCodec checks that a codec keeps the promises of package wire. An encoded
// value decodes to the same value. A stream means the same however it is split.
// A truncated call cannot be run. A warning names each part that the format
// cannot carry. The reported properties of the format are true. Use it to test
// another [format.Format]:
//
//	llmtest.TestCodec(t, wire.Codec{Own: myFormat{}})
func TestCodec(t *testing.T, c wire.Codec) {
	for _, p := range []struct {
		promise string
		check   func(*testing.T, wire.Codec)
	}{
		{"the properties are whole", codecProperties},
		{"a conversation comes back as it was", codecConversation},
		{"what the properties say of each feature is true", codecFeatures},
		{"no content of a message is lost in silence", codecContent},
		{"what another vendor signed is not sent", codecForeignState},
		{"requests are not changed", codecKeepsRequests},
		{"a whole answer comes back as it was", codecAnswers},
		{"a stream says what a whole answer says", codecStreams},
		{"a stream means the same however it is cut", codecCutAnywhere},
		{"no call that was cut off can be run", codecTruncated},
		{"no event comes after the caller stopped", codecStops},
		{"calls that are written side by side stay apart", codecSideBySide},
		{"white space at the borders of pieces is kept", codecPieceBorders},
		{"a keep-alive does not disturb an answer", codecKeepAlive},
		{"what cannot be read is not passed over", codecUnreadable},
		{"events of unknown types are passed over", codecUnknownEvents},
		{"errors keep what a caller can do about them", codecErrors},
		{"an error inside a stream is an error", codecStreamErrors},
		{"nonsense is an error and no more", codecNonsense},
		{"an endless line is given up", codecEndless},
		{"one codec serves many at once", codecConcurrent},
	} {
		t.Run(p.promise, func(t *testing.T) { p.check(t, c) })
	}
}

// same compares the parts that codecs must keep. State and Extra belong to the
// format, which may add to them.
var same = cmp.Options{
	cmpopts.EquateEmpty(),
	cmpopts.IgnoreTypes(llm.State{}, llm.Extra{}),
	cmp.FilterValues(func(a, b json.RawMessage) bool { return len(a)+len(b) > 0 }, cmp.Comparer(func(a, b json.RawMessage) bool { return js.Equal(a, b) })),
}

func codecProperties(t *testing.T, c wire.Codec) {
	p := c.Properties()
	if p.Name == "" || p.Path == "" || p.StreamType == "" {
		t.Errorf("the name, the path and the type of streams must be there: %q, %q, %q", p.Name, p.Path, p.StreamType)
	}
	if c.Own != nil && slices.Contains(wire.Formats(), p.Name) {
		t.Errorf("%q is the name of a format of package wire", p.Name)
	}
	for i, f := range p.Features {
		if slices.Contains(p.Features[:i], f) {
			t.Errorf("the feature %s stands there twice", f)
		}
		if !slices.ContainsFunc(features, func(s featureSample) bool { return s.feature == f }) {
			t.Errorf("no feature is called %q", f)
		}
	}
	if p.ModelInPath() {
		path := "/" + strings.SplitN(c.Path("m", false), "?", 2)[0]
		if model, _, ok := c.SplitPath(path); !ok || model != "m" {
			t.Errorf("the path %s names the model %q", path, model)
		}
	}
}

// carried encodes and decodes a request. It returns the decoded request or the
// error, and the warnings.
func carried(t *testing.T, c wire.Codec, req *llm.Request, stream bool) (*llm.Request, []llm.Warning, error) {
	t.Helper()
	body, warnings, err := c.EncodeRequest(req, stream)
	if err != nil {
		if k := llm.KindOf(err); k != llm.Unsupported && k != llm.Invalid {
			t.Errorf("a request that cannot be encoded is an error of kind unsupported or invalid, not %s: %v", k, err)
		}
		return nil, warnings, err
	}
	for _, w := range warnings {
		if w.Code == "" || w.Feature == "" || w.Detail == "" {
			t.Errorf("a warning must say what and why: %+v", w)
		}
	}
	got, streams, err := c.DecodeRequest(body)
	if err != nil {
		t.Fatalf("what was encoded cannot be decoded: %v\n%s", err, body)
	}
	p := c.Properties()
	if streams != stream && !p.StreamInPath() {
		t.Errorf("stream %v became %v:\n%s", stream, streams, body)
	}
	if p.ModelInPath() {
		got.Model = req.Model
	}
	for i, def := range got.Tools { // some formats always state whether a tool is strict
		if i < len(req.Tools) && req.Tools[i].Strict == nil && def.Strict != nil && !*def.Strict {
			got.Tools[i].Strict = nil
		}
	}
	return got, warnings, nil
}

func codecConversation(t *testing.T, c wire.Codec) {
	for _, stream := range []bool{false, true} {
		req := conversation()
		got, warnings, err := carried(t, c, req, stream)
		if err != nil || len(warnings) > 0 {
			t.Fatalf("every format carries text, calls and results: %v %v", err, warnings)
		}
		if diff := cmp.Diff(req, got, same); diff != "" {
			t.Errorf("stream=%v (-want +got):\n%s", stream, diff)
		}
	}
}

// new are the warnings that a plain conversation does not have.
func newWarnings(t *testing.T, c wire.Codec, warnings []llm.Warning) []llm.Warning {
	t.Helper()
	_, usual, _ := carried(t, c, conversation(), false)
	return slices.DeleteFunc(slices.Clone(warnings), func(w llm.Warning) bool { return slices.Contains(usual, w) })
}

func codecFeatures(t *testing.T, c wire.Codec) {
	p := c.Properties()
	for _, f := range features {
		req := conversation()
		f.ask(req)
		if f.feature == format.ReasoningSummary && len(p.Thinking.Summaries) > 0 {
			req.Reasoning.Summary = p.Thinking.Summaries[0]
		}
		got, warnings, err := carried(t, c, req, false)
		said := newWarnings(t, c, warnings)
		switch {
		case err != nil && p.Has(f.feature):
			t.Errorf("%s: the properties say that the format has it, but: %v", f.feature, err)
		case err != nil:
		case p.Has(f.feature) && len(said) > 0:
			t.Errorf("%s: the properties say that the format has it, but: %v", f.feature, said)
		case !cmp.Equal(f.of(req), f.of(got), same) && (p.Has(f.feature) || len(said) == 0):
			t.Errorf("%s: lost in silence (-want +got):\n%s", f.feature, cmp.Diff(f.of(req), f.of(got), same))
		}
	}
}

func codecContent(t *testing.T, c wire.Codec) {
	for _, s := range contents {
		req := conversation()
		s.change(req)
		got, warnings, err := carried(t, c, req, false)
		if err != nil || len(newWarnings(t, c, warnings)) > 0 {
			continue // a warning names it
		}
		if diff := cmp.Diff(req, got, same); diff != "" {
			t.Errorf("%s: lost in silence (-want +got):\n%s", s.name, diff)
		}
	}
	req := conversation()
	req.Extra = llm.Extra{"a format that nobody has": {"field": json.RawMessage(`1`)}}
	if _, warnings, err := carried(t, c, req, false); err == nil && len(newWarnings(t, c, warnings)) == 0 {
		t.Error("a field that only another format has is lost in silence")
	}
}

func codecForeignState(t *testing.T, c wire.Codec) {
	const secret = "c2VjcmV0LXNpZ25hdHVyZQ"
	state := llm.State{Vendor: "somebody else", Data: json.RawMessage(`{"signature":"` + secret + `"}`)}
	req := conversation()
	req.Messages[1].Parts = []llm.Part{
		llm.Thinking{Text: "hm", State: state}, llm.Thinking{Redacted: true, State: state}, llm.Text{Text: "Let me look.", State: state},
		llm.Text{State: state}, llm.Call{ID: "call_1", Name: "get_weather", Args: json.RawMessage(`{}`), State: state},
		llm.Call{ID: "call_2", Name: "get_time", Args: json.RawMessage(`{}`), State: state},
	}
	body, _, err := c.EncodeRequest(req, false)
	if err != nil || strings.Contains(string(body), secret) {
		t.Errorf("%v\n%s", err, body)
	}
}

func codecKeepsRequests(t *testing.T, c wire.Codec) {
	changes := []func(*llm.Request){func(*llm.Request) {}}
	for _, f := range features {
		changes = append(changes, f.ask)
	}
	for _, s := range contents {
		changes = append(changes, s.change)
	}
	for _, change := range changes {
		before, after := conversation(), conversation()
		change(before)
		change(after)
		_, _, _ = c.EncodeRequest(after, true)
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("EncodeRequest changes the request (-before +after):\n%s", diff)
		}
	}
}

func codecConcurrent(t *testing.T, c wire.Codec) {
	stream := encodedStream(t, c, answers[len(answers)-1].response)
	want := transcript(c.DecodeStream(strings.NewReader(stream)))
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			if _, _, err := c.EncodeRequest(conversation(), true); err != nil {
				t.Error(err)
			}
			if got := transcript(c.DecodeStream(strings.NewReader(stream))); got != want {
				t.Errorf("side by side:\n%s\nalone:\n%s", got, want)
			}
		})
	}
	running.Wait()
}

// conversation is a request that every format can carry: a system prompt,
// tools, calls and results.
func conversation() *llm.Request {
	object := json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)
	return &llm.Request{
		Model: "model-1", System: "Be brief.", MaxTokens: 99,
		Tools: []llm.ToolDef{
			{Name: "get_weather", Description: "The weather in a city", Schema: object},
			{Name: "get_time", Description: "The time in a city", Schema: object},
		},
		Messages: []llm.Message{
			llm.User("How is it in Rome?\n\"Über\" \\ 日本 😀 </tool_call> data: [DONE]"),
			llm.Assistant(llm.Text{Text: "Let me look."},
				llm.Call{ID: "call_1", Name: "get_weather", Args: json.RawMessage(`{"city":"Rome \"\\ \u2028 😀"}`)},
				llm.Call{ID: "call_2", Name: "get_time", Args: json.RawMessage(`{}`)}),
			llm.Results(
				llm.Result{CallID: "call_1", Name: "get_weather", Parts: []llm.Part{llm.Text{Text: "17 degrees\nand {hail}"}}},
				llm.Result{CallID: "call_2", Name: "get_time", Parts: []llm.Part{llm.Text{Text: "noon"}}}),
			llm.Assistant(llm.Text{Text: "Cold."}),
			llm.User("And now?"),
		},
	}
}

// featureSample asks for a feature and holds the expected result.
type featureSample struct {
	feature format.Feature
	ask     func(*llm.Request)
	of      func(*llm.Request) any
}

func toolsOf(r *llm.Request) any     { return r.Tools }
func choiceOf(r *llm.Request) any    { return r.Choice }
func reasoningOf(r *llm.Request) any { return r.Reasoning }
func outputOf(r *llm.Request) any    { return r.Output }

func ptr[T any](v T) *T { return &v }

var numberSchema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`)

var features = []featureSample{
	{format.StrictTools, func(r *llm.Request) { r.Tools[0].Strict, r.Tools[1].Strict = ptr(true), ptr(true) }, toolsOf},
	{format.ToolExamples, func(r *llm.Request) { r.Tools[0].Examples = []json.RawMessage{json.RawMessage(`{"city":"Oslo"}`)} }, toolsOf},
	{format.FreeTextTools, func(r *llm.Request) { r.Tools[0].Kind, r.Tools[0].Schema = llm.FreeTool, nil }, func(r *llm.Request) any { return r.Tools[0].Kind }},
	{format.ToolGrammars, func(r *llm.Request) {
		r.Tools[0].Kind, r.Tools[0].Schema, r.Tools[0].Grammar = llm.FreeTool, nil, &llm.Grammar{Syntax: "regex", Definition: "a+"}
	}, func(r *llm.Request) any { return r.Tools[0].Grammar }},
	{format.HostedSearch, func(r *llm.Request) {
		r.Tools = append(r.Tools, llm.ToolDef{Kind: llm.HostedTool, Name: llm.WebSearch})
	}, func(r *llm.Request) any {
		return slices.ContainsFunc(r.Tools, func(d llm.ToolDef) bool { return d.Kind == llm.HostedTool && d.Name == llm.WebSearch })
	}},
	{format.ChoiceRequired, func(r *llm.Request) { r.Choice.Mode = llm.MustCall }, choiceOf},
	{format.ChoiceNamed, func(r *llm.Request) { r.Choice = llm.ToolChoice{Mode: llm.MustCall, Name: "get_time"} }, choiceOf},
	{format.ChoiceNone, func(r *llm.Request) { r.Choice.Mode = llm.MustNotCall }, choiceOf},
	{format.ChoiceAllowed, func(r *llm.Request) { r.Choice.Allowed = []string{"get_time"} }, choiceOf},
	{format.OneCall, func(r *llm.Request) { r.OneCall = true }, func(r *llm.Request) any { return r.OneCall }},
	{format.OutputSchema, func(r *llm.Request) { r.Output = &llm.OutputFormat{Schema: numberSchema} }, func(r *llm.Request) any {
		if r.Output == nil {
			return nil
		}
		return r.Output.Schema
	}},
	{format.OutputAnyJSON, func(r *llm.Request) { r.Output = &llm.OutputFormat{} }, outputOf},
	{format.OutputBesideTools, func(*llm.Request) {}, func(*llm.Request) any { return nil }}, // about hosts, not about codecs
	{format.MaxTokens, func(r *llm.Request) { r.MaxTokens = 77 }, func(r *llm.Request) any { return r.MaxTokens }},
	{format.Temperature, func(r *llm.Request) { r.Temperature = ptr(0.5) }, func(r *llm.Request) any { return r.Temperature }},
	{format.TopP, func(r *llm.Request) { r.TopP = ptr(0.25) }, func(r *llm.Request) any { return r.TopP }},
	{format.TopK, func(r *llm.Request) { r.TopK = ptr(5) }, func(r *llm.Request) any { return r.TopK }},
	{format.FrequencyPenalty, func(r *llm.Request) { r.FrequencyPenalty = ptr(0.5) }, func(r *llm.Request) any { return r.FrequencyPenalty }},
	{format.PresencePenalty, func(r *llm.Request) { r.PresencePenalty = ptr(0.5) }, func(r *llm.Request) any { return r.PresencePenalty }},
	{format.Seed, func(r *llm.Request) { r.Seed = ptr(int64(7)) }, func(r *llm.Request) any { return r.Seed }},
	{format.SeveralAnswers, func(r *llm.Request) { r.N = 3 }, func(r *llm.Request) any { return r.N }},
	{format.StopSequences, func(r *llm.Request) { r.Stop = []string{"END", "\n\n"} }, func(r *llm.Request) any { return r.Stop }},
	{format.ReasoningOff, func(r *llm.Request) { r.Reasoning = &llm.Reasoning{Off: true} }, reasoningOf},
	{format.ReasoningEffort, func(r *llm.Request) { r.Reasoning = &llm.Reasoning{Effort: "high"} }, reasoningOf},
	{format.ReasoningTokens, func(r *llm.Request) { r.Reasoning, r.MaxTokens = &llm.Reasoning{Tokens: 2048}, 9000 }, reasoningOf},
	{format.ReasoningSummary, func(r *llm.Request) { r.Reasoning = &llm.Reasoning{Effort: "high", Summary: "detailed"} }, reasoningOf},
}

// contents are the parts of messages besides text, calls and results.
var contents = []struct {
	name   string
	change func(*llm.Request)
}{
	{"an image", addPart(llm.Media{Kind: llm.Image, MIME: "image/png", Data: []byte("\x89PNG\r\n\x1a\n1")})},
	{"an image by address", addPart(llm.Media{Kind: llm.Image, URL: "https://example.org/a.png"})},
	{"a document", addPart(llm.Media{Kind: llm.Document, MIME: "application/pdf", Name: "a.pdf", Data: []byte("%PDF-1")})},
	{"a sound", addPart(llm.Media{Kind: llm.Audio, MIME: "audio/wav", Data: []byte("RIFF1")})},
	{"a film", addPart(llm.Media{Kind: llm.Video, MIME: "video/mp4", Data: []byte("mp4")})},
	{"two texts in one message", addPart(llm.Text{Text: "And Oslo?"})},
	{"a failed result", changeResult(func(r *llm.Result) { r.Failed = true })},
	{"an image in a result", changeResult(func(r *llm.Result) {
		r.Parts = append(r.Parts, llm.Media{Kind: llm.Image, MIME: "image/png", Data: []byte("\x89PNG\r\n\x1a\n2")})
	})},
	{"a result in two parts", changeResult(func(r *llm.Result) { r.Parts = append(r.Parts, llm.Text{Text: "more"}) })},
	{"thinking", changeAnswer(func(parts []llm.Part) []llm.Part { return append([]llm.Part{llm.Thinking{Text: "Hm."}}, parts...) })},
	{"a refusal", changeAnswer(func([]llm.Part) []llm.Part { return []llm.Part{llm.Text{Text: "No.", Refusal: true}} })},
	{"text after a call", changeAnswer(func(parts []llm.Part) []llm.Part { return append(parts, llm.Text{Text: "There."}) })},
	{"a developer's message", insertMessage(llm.Message{Role: llm.RoleDeveloper, Parts: []llm.Part{llm.Text{Text: "In metres."}}})},
	{"an instruction among the messages", insertMessage(llm.System("In metres."))},
}

func addPart(p llm.Part) func(*llm.Request) {
	return func(r *llm.Request) { r.Messages[0].Parts = append(r.Messages[0].Parts, p) }
}

func changeResult(change func(*llm.Result)) func(*llm.Request) {
	return func(r *llm.Request) {
		result := r.Messages[2].Parts[0].(llm.Result)
		change(&result)
		r.Messages[2].Parts[0] = result
	}
}

func changeAnswer(change func([]llm.Part) []llm.Part) func(*llm.Request) {
	return func(r *llm.Request) {
		m := change(r.Messages[1].Parts)
		r.Messages[1].Parts = m
		if len(r.Messages[1].Calls()) == 0 { // results need a call
			r.Messages = slices.Delete(r.Messages, 2, 4)
		}
	}
}

func insertMessage(m llm.Message) func(*llm.Request) {
	return func(r *llm.Request) { r.Messages = slices.Insert(r.Messages, 4, m) }
}

// sample is an answer with the reason it is tried.
type sample struct {
	name     string
	response *llm.Response
}

func answered(reason llm.Reason, parts ...llm.Part) *llm.Response {
	return &llm.Response{
		Message: llm.Message{Role: llm.RoleAssistant, Parts: parts},
		Finish:  llm.Finish{Reason: reason, Model: "model-1", ID: "id-1", Usage: llm.Usage{Input: 12, Output: 34}},
	}
}

func call(n int, name, args string) llm.Call {
	return llm.Call{ID: fmt.Sprintf("call_%d", n), Name: name, Args: json.RawMessage(args)}
}

// answers are sample answers of models. The last is the richest.
var answers = []sample{
	{"text", answered(llm.Stop, llm.Text{Text: "It is\n\"cold\" \\ 日本 😀 \u2028 data: [DONE]"})},
	{"a call", answered(llm.ToolCalls, call(1, "get_weather", `{"city":"Rome"}`))},
	{"a call without arguments", answered(llm.ToolCalls, call(1, "get_time", `{}`))},
	{"a cut text", answered(llm.Length, llm.Text{Text: "It is co"})},
	{"a filtered text", answered(llm.ContentFilter, llm.Text{Text: "It is"})},
	{"thinking", answered(llm.Stop, llm.Thinking{Text: "Hm. Rome"}, llm.Text{Text: "Cold."})},
	{"a refusal", answered(llm.Stop, llm.Text{Text: "No.", Refusal: true})},
	{"text and two calls of one tool", answered(llm.ToolCalls, llm.Text{Text: "Let me look."},
		call(1, "get_weather", `{"city":"Rome \"\\ \u2028 😀","days":[1,2.50,null],"deep":{"a":{"b":"}{"}}}`), call(2, "get_weather", `{"city":"Oslo"}`))},
}
