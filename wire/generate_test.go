package wire

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

// traits are what a format can carry, so that one generator serves all: it
// makes conversations that the format carries whole.
type traits struct {
	noID         bool // answers have no id
	noModel      bool // answers do not name the model
	noNone       bool // a choice cannot forbid calls
	interleave   bool // text may follow calls
	texts        bool // several texts side by side stay apart
	oneText      bool // an answer has one text
	signedText   bool // text and calls have a state
	noStop       bool // no stop sequences
	strictAlways bool
	allowedMay   bool // only a choice that does not force can name tools
	developer    bool
	systemMid    bool // instructions between messages
	failed       bool // results can be marked as failed
	richResult   bool // results hold images and several parts
	document     bool
	docName      string // a name that the format takes as it is; empty if it has none
	mediaURL     bool
	audio        bool
	free         bool // free-text tools
	search       *llm.HostedConfig
	refusal      bool
	strict       bool
	examples     bool
	allowed      bool
	choice       bool
	oneCall      bool
	penalties    bool
	seed         bool
	topK         bool
	maxTokens    bool // always there
	schema       bool // every tool has a schema
	outputName   bool
	plainJSON    bool // an output without a schema
	noThinking   bool // of earlier turns
	thinking     func(g *gen) llm.Thinking
	citation     func(g *gen) llm.Citation
	reasoning    []llm.Reasoning
	extras       []string // fields of a request that only this format knows
	partExtra    string
	usage        func(g *gen) llm.Usage
	cutCalls     bool // an answer can carry a call that was cut off
	raws         map[llm.Reason][]string
	hostedPart   func(g *gen) []llm.Part
}

// gen makes conversations out of a seed.
type gen struct {
	*rand.Rand
	format string
	traits
	calls       int
	hostedCalls int
	documents   int
}

func newGen(format string, seed uint64) *gen {
	return &gen{Rand: rand.New(rand.NewPCG(seed, 7)), format: format, traits: formatTraits[format]}
}

func (g *gen) maybe() bool { return g.IntN(3) == 0 }

func (g *gen) word() string { return genWords[g.IntN(len(genWords))] }

func (g *gen) extra() llm.Extra { return g.extraOf(g.partExtra, `{"type":"ephemeral"}`) }

func (g *gen) text() llm.Text { return llm.Text{Text: g.sentence()} }

func (g *gen) float() *float64 { f := float64(g.IntN(20)) / 10; return &f }

func (g *gen) raw(s string) json.RawMessage { return json.RawMessage(s) }

var genWords = []string{"Florence", "über", "日本", "a\"b\\c", "line\nbreak", "tab\t", "😀", "</tool_call>", "{", "x", "\u2028", "data: [DONE]", "null"}

func (g *gen) sentence() string {
	s := g.word()
	for range g.IntN(3) {
		s += " " + g.word()
	}
	return s
}

func (g *gen) extraOf(key, value string) llm.Extra {
	if key == "" || !g.maybe() {
		return nil
	}
	return llm.Extra{g.format: {key: g.raw(value)}}
}

func (g *gen) object() json.RawMessage {
	b, err := json.Marshal(map[string]any{"city": g.word(), "days": g.IntN(9), "deep": map[string]any{"list": []any{g.word(), nil, 1.5}}})
	if err != nil {
		panic(err)
	}
	return b
}

func (g *gen) request() *llm.Request {
	req := &llm.Request{Model: "m-" + fmt.Sprint(g.IntN(9))}
	if g.maybe() {
		req.System = g.sentence()
	} else if g.maybe() && g.texts {
		req.Messages = append(req.Messages, llm.Message{Role: llm.RoleSystem, Parts: []llm.Part{g.text(), g.text()}})
	}
	g.tools(req)
	for range 1 + g.IntN(3) {
		g.turn(req)
	}
	g.options(req)
	return req
}

func (g *gen) tools(req *llm.Request) {
	for i := range g.IntN(4) {
		t := llm.ToolDef{Name: fmt.Sprintf("tool_%d", i), Description: g.sentence()}
		if g.free && g.maybe() {
			t.Kind = llm.FreeTool
			if g.maybe() {
				t.Grammar = &llm.Grammar{Syntax: "lark", Definition: "start: \"x\"\n"}
			}
		} else if g.schema || !g.maybe() {
			t.Schema = g.raw(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)
		}
		if g.strict && t.Kind == llm.FunctionTool && (g.strictAlways || g.maybe()) {
			yes := g.maybe()
			t.Strict = &yes
		}
		if g.examples && t.Kind == llm.FunctionTool && g.maybe() {
			t.Examples = []json.RawMessage{g.object()}
		}
		req.Tools = append(req.Tools, t)
	}
	if g.search != nil && g.maybe() {
		h := *g.search
		req.Tools = append(req.Tools, llm.ToolDef{Kind: llm.HostedTool, Name: llm.WebSearch, Hosted: &h})
	}
	functions := slices.DeleteFunc(slices.Clone(req.Tools), func(t llm.ToolDef) bool { return t.Kind == llm.HostedTool })
	if len(functions) == 0 || !g.choice {
		return
	}
	name := functions[g.IntN(len(functions))].Name
	choices := []llm.ToolChoice{{}, {}, {Mode: llm.MustCall}, {Mode: llm.MustCall, Name: name}}
	if !g.noNone {
		choices = append(choices, llm.ToolChoice{Mode: llm.MustNotCall})
	}
	if g.allowed {
		choices = append(choices, llm.ToolChoice{Allowed: []string{name}})
		if !g.allowedMay {
			choices = append(choices, llm.ToolChoice{Mode: llm.MustCall, Allowed: []string{name}})
		}
	}
	req.Choice = choices[g.IntN(len(choices))]
	req.OneCall = g.oneCall && req.Choice.Mode != llm.MustNotCall && g.maybe()
}

// turn adds a question, and an answer with calls and results.
func (g *gen) turn(req *llm.Request) {
	user := llm.Message{Role: llm.RoleUser, Parts: []llm.Part{g.text()}}
	if g.maybe() {
		user.Parts = append(user.Parts, g.mediaPart())
	}
	if g.texts && g.maybe() {
		t := g.text()
		t.Extra = g.extra()
		user.Parts = append(user.Parts, t)
	}
	if g.systemMid && g.maybe() {
		req.Messages = append(req.Messages, user, llm.System(g.sentence()))
	} else {
		req.Messages = append(req.Messages, user)
	}
	if g.developer && g.maybe() {
		req.Messages = append(req.Messages, llm.Message{Role: llm.RoleDeveloper, Parts: []llm.Part{g.text()}})
	}
	m := llm.Message{Role: llm.RoleAssistant, Parts: g.answerParts(false)}
	req.Messages = append(req.Messages, m)
	if calls := m.Calls(); len(calls) > 0 {
		req.Messages = append(req.Messages, g.results(calls))
		if g.maybe() {
			parts := []llm.Part{g.text()}
			if g.signedText {
				g.sign(parts)
			}
			req.Messages = append(req.Messages, llm.Message{Role: llm.RoleAssistant, Parts: parts})
		}
	}
}

func (g *gen) mediaPart() llm.Part {
	kinds := []llm.Media{{Kind: llm.Image, MIME: "image/png", Data: append([]byte("\x89PNG\r\n\x1a\n"), byte(g.IntN(256)))}}
	if g.mediaURL {
		kinds = append(kinds, llm.Media{Kind: llm.Image, URL: "https://example.org/a.png"})
	}
	if g.document {
		name := g.docName
		if g.documents++; name != "" {
			name = strconv.Itoa(g.documents) + "-" + name // a vendor refuses a name that stands twice
		}
		kinds = append(kinds, llm.Media{Kind: llm.Document, MIME: "application/pdf", Name: name, Data: []byte("%PDF")})
	}
	if g.audio {
		kinds = append(kinds, llm.Media{Kind: llm.Audio, MIME: "audio/wav", Data: []byte("RIFF")})
	}
	return kinds[g.IntN(len(kinds))]
}

// answerParts makes the parts of an answer: thinking, text, calls.
func (g *gen) answerParts(response bool) []llm.Part {
	var parts []llm.Part
	if g.thinking != nil && g.maybe() && (response || !g.noThinking) {
		parts = append(parts, g.thinking(g))
	}
	if !g.maybe() {
		t := g.text()
		if g.citation != nil && response && g.maybe() {
			t.Citations = []llm.Citation{g.citation(g)}
		}
		parts = append(parts, t)
	}
	if g.texts && !(response && g.oneText) && g.maybe() {
		parts = append(parts, g.text())
	}
	if g.refusal && g.maybe() {
		parts = append(parts, llm.Text{Text: g.sentence(), Refusal: true})
	}
	if g.hostedPart != nil && g.maybe() {
		parts = append(parts, g.hostedPart(g)...)
	}
	for range g.IntN(3) {
		parts = append(parts, g.call())
		if g.interleave && g.maybe() {
			parts = append(parts, g.text())
		}
	}
	if len(parts) == 0 {
		parts = []llm.Part{g.text()}
	}
	if g.signedText {
		g.sign(parts)
	}
	return parts
}

// sign gives text and calls the state that their vendor gave them.
func (g *gen) sign(parts []llm.Part) {
	for i, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			p.State = state(g.format, fmt.Sprintf(`{"id":"msg_%d","status":"completed"}`, i))
			parts[i] = p
		case llm.Call:
			if !p.Hosted {
				p.State = state(g.format, fmt.Sprintf(`{"id":"fc_%d","status":"completed"}`, i))
				parts[i] = p
			}
		}
	}
}

func (g *gen) call() llm.Call {
	g.calls++
	c := llm.Call{ID: "call_" + strconv.Itoa(g.calls), Name: fmt.Sprintf("tool_%d", g.IntN(4)), Args: g.object()}
	if g.free && g.maybe() {
		c.Kind = llm.FreeTool
		c.Args = js.AppendQuoted(nil, g.sentence())
	} else if g.maybe() {
		c.Args = g.raw(`{}`)
	}
	return c
}

func (g *gen) results(calls []llm.Call) llm.Message {
	m := llm.Message{Role: llm.RoleTool}
	for _, c := range calls {
		r := llm.Result{CallID: c.ID, Name: c.Name, Parts: []llm.Part{g.text()}, Failed: g.failed && g.maybe()}
		if g.richResult && g.maybe() {
			r.Parts = append(r.Parts, llm.Media{Kind: llm.Image, MIME: "image/png", Data: []byte("png")})
		}
		m.Parts = append(m.Parts, r)
	}
	return m
}

func (g *gen) options(req *llm.Request) {
	if g.maxTokens || g.maybe() {
		req.MaxTokens = 1 + g.IntN(9999)
	}
	if g.maybe() {
		req.Temperature, req.TopP = g.float(), g.float()
	}
	if g.penalties && g.maybe() {
		req.FrequencyPenalty, req.PresencePenalty = g.float(), g.float()
	}
	if g.seed && g.maybe() {
		n := g.Int64N(1 << 31)
		req.Seed = &n
	}
	if (Codec{Format: g.format}).Properties().Has(format.SeveralAnswers) && g.IntN(8) == 0 {
		req.N = 2 + g.IntN(3)
	}
	if g.topK && g.maybe() {
		n := g.IntN(100)
		req.TopK = &n
	}
	if !g.noStop && g.maybe() {
		req.Stop = []string{"END", g.word()}
	}
	if len(g.reasoning) > 0 && g.maybe() {
		r := g.reasoning[g.IntN(len(g.reasoning))]
		req.Reasoning = &r
	}
	if g.maybe() {
		req.Output = &llm.OutputFormat{Schema: g.raw(`{"type":"object","properties":{"n":{"type":"integer"}}}`)}
		if g.outputName {
			req.Output.Name, req.Output.Description, req.Output.Strict = "answer", g.sentence(), g.maybe()
		}
		if g.plainJSON && g.maybe() {
			req.Output = &llm.OutputFormat{}
		}
	}
	for _, key := range g.extras {
		if g.maybe() {
			if req.Extra == nil {
				req.Extra = llm.Extra{g.format: {}}
			}
			req.Extra[g.format][key] = g.raw(`{"a":[1,"b"]}`)
		}
	}
}

// response makes a whole answer.
func (g *gen) response() *llm.Response {
	r := &llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Parts: g.answerParts(true)}}
	r.Finish = llm.Finish{Reason: llm.Stop, ID: "id-1", Model: "m-1", Usage: llm.Usage{Input: g.IntN(99), Output: g.IntN(99)}}
	if g.usage != nil && g.maybe() {
		r.Finish.Usage = g.usage(g)
	}
	if g.noID {
		r.Finish.ID = ""
	}
	if g.noModel {
		r.Finish.Model = ""
	}
	r.Start = llm.Start{ID: r.Finish.ID, Model: r.Finish.Model}
	if g.format == Chat || g.format == Responses || g.format == Ollama {
		r.Start.Created = time.Unix(1700000000, 0).UTC()
	}
	calls := len(r.Message.Calls())
	switch {
	case calls > 0 && g.cutCalls && g.maybe():
		r.Invalid = []llm.InvalidCall{{
			ID: "call_cut", Name: "tool_0", Raw: `{"city":"Flor`, Reason: llm.CutOff,
			Problem: codec.Problems[llm.CutOff], Provenance: llm.Provenance{Truncated: true},
		}}
		r.Finish.Reason = llm.Length
	case calls > 0:
		r.Finish.Reason = llm.ToolCalls
	case g.maybe():
		r.Finish.Reason = llm.Length
	case g.maybe():
		r.Finish.Reason = llm.ContentFilter
	}
	r.Finish.Raw = g.raws[r.Finish.Reason][0]
	return r
}

func usageWithCache(g *gen) llm.Usage {
	return llm.Usage{Input: 100 + g.IntN(99), Output: 50, CacheRead: g.IntN(50), CacheWrite: g.IntN(50), Reasoning: g.IntN(9)}
}

func state(format, data string) llm.State {
	return llm.State{Vendor: format, Data: json.RawMessage(data)}
}

// formatTraits is what each format carries.
var formatTraits = map[string]traits{
	Chat: {
		texts: true, oneText: true, developer: true, systemMid: true, document: true, docName: "a.pdf", mediaURL: true, audio: true,
		free: true, refusal: true, strict: true, allowed: true, choice: true, oneCall: true, penalties: true, seed: true,
		outputName: true, plainJSON: true, noThinking: true, cutCalls: true,
		search:    &llm.HostedConfig{ContextSize: "low", Location: &llm.Location{City: "Paris", Country: "FR"}},
		thinking:  func(g *gen) llm.Thinking { return llm.Thinking{Text: g.sentence()} },
		citation:  func(g *gen) llm.Citation { return llm.Citation{URL: "https://a.b", Title: g.word(), Start: 1, End: 2} },
		reasoning: []llm.Reasoning{{Effort: "low"}, {Off: true}},
		extras:    []string{"logit_bias", "prompt_cache_key"}, partExtra: "cache_control",
		usage: usageWithCache,
		raws: map[llm.Reason][]string{
			llm.Stop: {"stop"}, llm.ToolCalls: {"tool_calls"}, llm.Length: {"length"}, llm.ContentFilter: {"content_filter"},
		},
	},
	Responses: {
		interleave: true, signedText: true, developer: true, systemMid: true, richResult: true, document: true, docName: "a.pdf", mediaURL: true,
		free: true, refusal: true, strict: true, allowed: true, choice: true, oneCall: true, schema: true, strictAlways: true,
		outputName: true, plainJSON: true, cutCalls: true, noStop: true,
		search: &llm.HostedConfig{
			Type: "web_search", AllowedDomains: []string{"a.b"}, ContextSize: "low", Location: &llm.Location{City: "Paris"},
			Options: map[string]json.RawMessage{"external_web_access": json.RawMessage(`true`)},
		},
		thinking: func(g *gen) llm.Thinking {
			return llm.Thinking{Text: "a\n\nb", State: state(Responses,
				`{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}],"encrypted_content":"gAAA"}`)}
		},
		citation:  func(g *gen) llm.Citation { return llm.Citation{URL: "https://a.b", Title: g.word(), Start: 1, End: 2} },
		reasoning: []llm.Reasoning{{Effort: "low", Summary: "auto"}, {Off: true}},
		extras:    []string{"previous_response_id", "include", "metadata"}, partExtra: "prompt_cache_breakpoint",
		usage: usageWithCache,
		hostedPart: func(g *gen) []llm.Part {
			return []llm.Part{
				llm.Call{
					ID: "ws_1", Name: llm.WebSearch, Hosted: true, Args: json.RawMessage(`{"type":"search","query":"x"}`),
					State: state(Responses, `{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"x"}}`),
				},
				llm.Call{
					ID: "ci_1", Name: "code_execution", Hosted: true, Args: json.RawMessage(`{"code":"1+1"}`),
					State: state(Responses, `{"type":"code_interpreter_call","id":"ci_1","status":"completed","code":"1+1","container_id":"c","outputs":[{"type":"logs","logs":"2"}]}`),
				},
				llm.Result{CallID: "ci_1", Name: "code_execution", Hosted: true, Parts: []llm.Part{llm.Text{Text: "2"}}},
			}
		},
		raws: map[llm.Reason][]string{
			llm.Stop: {"completed"}, llm.ToolCalls: {"completed"}, llm.Length: {"max_output_tokens"}, llm.ContentFilter: {"content_filter"},
		},
	},
	Messages: {
		interleave: true, texts: true, systemMid: true, failed: true, richResult: true, document: true, docName: "a.pdf", mediaURL: true,
		strict: true, examples: true, choice: true, oneCall: true, topK: true, maxTokens: true, schema: true,
		search: &llm.HostedConfig{
			Type: "web_search_20250305", MaxUses: 3, AllowedDomains: []string{"a.b"}, BlockedDomains: []string{"c.d"},
			Location: &llm.Location{City: "Paris", Region: "IDF", Country: "FR", Timezone: "Europe/Paris"},
			Options:  map[string]json.RawMessage{"cache_control": json.RawMessage(`{"type":"ephemeral"}`)},
		},
		thinking: func(g *gen) llm.Thinking {
			if g.maybe() {
				return llm.Thinking{Redacted: true, State: state(Messages, `{"data":"opaque"}`)}
			}
			return llm.Thinking{Text: g.sentence(), State: state(Messages, `{"signature":"EqQBCg=="}`)}
		},
		citation: func(g *gen) llm.Citation {
			return llm.Citation{URL: "https://a.b", Title: "T", Quote: "q", Raw: state(Messages,
				`{"type":"web_search_result_location","url":"https://a.b","title":"T","encrypted_index":"x","cited_text":"q"}`)}
		},
		reasoning: []llm.Reasoning{{Tokens: 1024}, {Effort: "high", Summary: "summarized"}, {Off: true}, {Tokens: 99, Effort: "low"}},
		extras:    []string{"metadata", "container"}, partExtra: "cache_control",
		usage: func(g *gen) llm.Usage {
			u := usageWithCache(g)
			u.Hosted = map[string]int{"web_search": 2}
			return u
		},
		hostedPart: func(g *gen) []llm.Part {
			return []llm.Part{
				llm.Call{
					ID: "srvtoolu_1", Name: "web_search", Hosted: true, Args: json.RawMessage(`{"query":"x"}`),
					State: state(Messages, `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}}`),
				},
				llm.Result{
					CallID: "srvtoolu_1", Name: "web_search", Hosted: true, Parts: []llm.Part{llm.Text{Text: "T\nhttps://a.b"}},
					State: state(Messages, `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://a.b","title":"T","encrypted_content":"E"}]}`),
				},
			}
		},
		raws: map[llm.Reason][]string{
			llm.Stop: {"end_turn"}, llm.ToolCalls: {"tool_use"}, llm.Length: {"max_tokens"}, llm.ContentFilter: {"refusal"},
		},
	},
	Gemini: {
		interleave: true, texts: true, oneText: true, failed: true, richResult: true, document: true, audio: true,
		choice: true, allowed: true, allowedMay: true, penalties: true, seed: true, topK: true, plainJSON: true,
		search: &llm.HostedConfig{Type: "googleSearch", BlockedDomains: []string{"c.d"}},
		thinking: func(g *gen) llm.Thinking {
			return llm.Thinking{Text: g.sentence(), State: state(Gemini, `{"thoughtSignature":"c2ln"}`)}
		},
		reasoning: []llm.Reasoning{{Effort: "low"}, {Off: true}, {Tokens: 100}, {Tokens: 5, Summary: "none"}},
		extras:    []string{"safetySettings", "cachedContent"}, partExtra: "partMetadata",
		usage: func(g *gen) llm.Usage {
			return llm.Usage{Input: 100 + g.IntN(99), Output: 50, CacheRead: g.IntN(50), Reasoning: g.IntN(9)}
		},
		hostedPart: func(g *gen) []llm.Part {
			g.hostedCalls++
			id := fmt.Sprintf("hosted_%d", g.hostedCalls)
			return []llm.Part{
				llm.Call{
					ID: id, Name: "code_execution", Hosted: true, Args: json.RawMessage(`{"language":"PYTHON","code":"1+1"}`),
					State: state(Gemini, `{"executableCode":{"language":"PYTHON","code":"1+1"}}`),
				},
				llm.Result{
					CallID: id, Name: "code_execution", Hosted: true, Parts: []llm.Part{llm.Text{Text: "2"}},
					State: state(Gemini, `{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"2"}}`),
				},
			}
		},
		raws: map[llm.Reason][]string{
			llm.Stop: {"STOP"}, llm.ToolCalls: {"STOP"}, llm.Length: {"MAX_TOKENS"}, llm.ContentFilter: {"SAFETY"},
		},
	},
	Converse: {
		interleave: true, texts: true, systemMid: true, failed: true, richResult: true, document: true, audio: true, docName: "report (2) [a-b]",
		strict: true, choice: true, noNone: true, schema: true, noID: true, noModel: true,
		search: &llm.HostedConfig{Type: "systemTool"},
		thinking: func(g *gen) llm.Thinking {
			if g.maybe() {
				return llm.Thinking{Redacted: true, State: state(Converse, `{"redactedContent":"b3BhcXVl"}`)}
			}
			return llm.Thinking{Text: g.sentence(), State: state(Converse, `{"signature":"EqQBCg=="}`)}
		},
		citation: func(g *gen) llm.Citation {
			return llm.Citation{URL: "https://a.b", Title: "T", Quote: "q", Raw: state(Converse,
				`{"title":"T","sourceContent":[{"text":"q"}],"location":{"web":{"url":"https://a.b","domain":"a.b"}}}`)}
		},
		reasoning: []llm.Reasoning{{Effort: "high"}, {Effort: "low"}},
		extras: []string{
			"guardrailConfig", "requestMetadata", "performanceConfig", "serviceTier", "inferenceConfig", "outputConfig", "additionalModelRequestFields",
		},
		partExtra: "cachePoint",
		usage: func(g *gen) llm.Usage {
			return llm.Usage{Input: 100 + g.IntN(99), Output: 50, CacheRead: g.IntN(50), CacheWrite: g.IntN(50)}
		},
		hostedPart: func(g *gen) []llm.Part {
			return []llm.Part{
				llm.Call{
					ID: "tooluse_h", Name: "code_execution", Hosted: true, Args: json.RawMessage(`{"snippet":"1+1"}`),
					State: state(Converse, `{"toolUse":{"toolUseId":"tooluse_h","name":"nova_code_interpreter","type":"server_tool_use","input":{"snippet":"1+1"}}}`),
				},
				llm.Result{
					CallID: "tooluse_h", Name: "code_execution", Hosted: true, Parts: []llm.Part{llm.Text{Text: `{"stdOut":"2"}`}},
					State: state(Converse, `{"toolResult":{"toolUseId":"tooluse_h","type":"nova_code_interpreter_result","status":"success","content":[{"json":{"stdOut":"2"}}]}}`),
				},
			}
		},
		raws: map[llm.Reason][]string{
			llm.Stop: {"end_turn"}, llm.ToolCalls: {"tool_use"}, llm.Length: {"max_tokens"}, llm.ContentFilter: {"content_filtered"},
		},
	},
	Ollama: {
		systemMid: true, oneText: true, schema: true, penalties: true, seed: true, topK: true, plainJSON: true, noID: true,
		thinking:  func(g *gen) llm.Thinking { return llm.Thinking{Text: g.sentence()} },
		reasoning: []llm.Reasoning{{Effort: "low"}, {Off: true}, {}},
		extras:    []string{"keep_alive"},
		raws: map[llm.Reason][]string{
			llm.Stop: {"stop"}, llm.ToolCalls: {"stop"}, llm.Length: {"length"}, llm.ContentFilter: {"content_filter"},
		},
	},
}
