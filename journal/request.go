package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/observe/observing"
	"github.com/toolpost/toolpost/llm"
)

// Request is a question to a model as the journal holds it. A conversation
// grows by a few messages per turn, so an entry holds only what the request
// before it did not: a run is as long as its conversation, not as its square.
type Request struct {
	// Hash is the hash of the whole request: of the canonical JSON of
	// {"messages":[…],"settings":…,"tools":…} with the hash of its canonical
	// form in place of each message, the settings and the tools.
	Hash Hash `json:"hash"`
	// Keep is how many messages of the request before still stand, in front.
	Keep     int               `json:"keep"`
	Messages []json.RawMessage `json:"messages,omitempty"`
	// Tools and Settings are left out if they are as in the request before.
	Tools    json.RawMessage `json:"tools,omitempty"`
	Settings json.RawMessage `json:"settings,omitempty"`
}

// Answer is what a model said to a request: all that an [llm.Response] holds.
type Answer struct {
	Request   int64             `json:"request"`        // the Seq of the request's entry
	Start     llm.Start         `json:"start,omitzero"` // what the vendor said before it answered
	Message   llm.Message       `json:"message"`
	Invalid   []llm.InvalidCall `json:"invalid,omitempty"`
	Warnings  []llm.Warning     `json:"warnings,omitempty"`
	Finish    *llm.Finish       `json:"finish,omitempty"` // nil if the answer broke off
	Error     *AnswerError      `json:"error,omitempty"`
	LatencyMS int64             `json:"latency_ms"`
	// Others are the answers after the first, where several were asked for.
	// Their Request and LatencyMS are 0.
	Others []Answer `json:"others,omitempty"`
	// Unknown are the unknown events of the vendor's stream.
	Unknown []llm.UnknownEvent `json:"unknown,omitempty"`
}

// fill takes over what a response says.
func (a *Answer) fill(resp *llm.Response) {
	a.Start, a.Message, a.Invalid, a.Warnings, a.Unknown = resp.Start, resp.Message, resp.Invalid, resp.Warnings, resp.Unknown
	if resp.Finish.Reason != "" {
		a.Finish = &resp.Finish
	}
	for _, other := range resp.Alternatives {
		var o Answer
		o.fill(other)
		a.Others = append(a.Others, o)
	}
}

// response returns the answer in its recorded form.
func (a *Answer) response() *llm.Response {
	resp := &llm.Response{Start: a.Start, Message: a.Message, Invalid: a.Invalid, Warnings: a.Warnings, Unknown: a.Unknown}
	if a.Finish != nil {
		resp.Finish = *a.Finish
	}
	for i := range a.Others {
		resp.Alternatives = append(resp.Alternatives, a.Others[i].response())
	}
	return resp
}

// AnswerError is why an answer broke off.
type AnswerError struct {
	Kind    llm.Kind `json:"kind"`
	Status  int      `json:"status,omitempty"`
	Code    string   `json:"code,omitempty"`
	Message string   `json:"message"`
}

// requestForm is a whole request in canonical pieces.
type requestForm struct {
	messages        []json.RawMessage
	tools, settings json.RawMessage
}

// The shapes of a request in JSON: the fields of llm.Request, without the
// budget, which counts and says nothing about the question.
type (
	settingsJSON struct {
		Model            string      `json:"model,omitempty"`
		System           string      `json:"system,omitempty"`
		Choice           *choiceJSON `json:"choice,omitempty"`
		OneCall          bool        `json:"one_call,omitempty"`
		N                int         `json:"n,omitempty"`
		Output           *outputJSON `json:"output,omitempty"`
		MaxTokens        int         `json:"max_tokens,omitempty"`
		Temperature      *float64    `json:"temperature,omitempty"`
		TopP             *float64    `json:"top_p,omitempty"`
		TopK             *int        `json:"top_k,omitempty"`
		FrequencyPenalty *float64    `json:"frequency_penalty,omitempty"`
		PresencePenalty  *float64    `json:"presence_penalty,omitempty"`
		Seed             *int64      `json:"seed,omitempty"`
		Stop             []string    `json:"stop,omitempty"`
		Reasoning        *reasonJSON `json:"reasoning,omitempty"`
		Promotion        string      `json:"text_calls,omitempty"`
		AllowEchoes      bool        `json:"allow_echoes,omitempty"`
		Extra            llm.Extra   `json:"extra,omitempty"`
	}
	choiceJSON struct {
		Mode    string    `json:"mode"`
		Name    string    `json:"name,omitempty"`
		Allowed *[]string `json:"allowed,omitempty"` // none is not the same as all
	}
	outputJSON struct {
		Name        string          `json:"name,omitempty"`
		Description string          `json:"description,omitempty"`
		Schema      json.RawMessage `json:"schema,omitempty"`
		Strict      bool            `json:"strict,omitempty"`
	}
	reasonJSON struct {
		Off     bool   `json:"off,omitempty"`
		Effort  string `json:"effort,omitempty"`
		Tokens  int    `json:"budget,omitempty"`
		Summary string `json:"summary,omitempty"`
	}
	toolJSON struct {
		Kind        llm.ToolKind      `json:"kind,omitempty"`
		Name        string            `json:"name"`
		Description string            `json:"description,omitempty"`
		Schema      json.RawMessage   `json:"schema,omitempty"`
		Strict      *bool             `json:"strict,omitempty"`
		Grammar     *llm.Grammar      `json:"grammar,omitempty"`
		Examples    []json.RawMessage `json:"examples,omitempty"`
		Hosted      *llm.HostedConfig `json:"hosted,omitempty"`
		Origin      llm.TextOrigin    `json:"origin,omitempty"`
		Extra       llm.Extra         `json:"extra,omitempty"`
	}
)

// formOf takes a request apart.
func formOf(req *llm.Request) (*requestForm, error) {
	form := &requestForm{messages: make([]json.RawMessage, len(req.Messages))}
	for i, m := range req.Messages {
		b, err := encodeLoose(m)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		form.messages[i] = b
	}
	tools := make([]toolJSON, len(req.Tools))
	for i, t := range req.Tools {
		tools[i] = toolJSON(t)
	}
	settings := settingsJSON{
		Model: req.Model, System: req.System, OneCall: req.OneCall, N: req.N, Output: (*outputJSON)(req.Output), MaxTokens: req.MaxTokens,
		Temperature: req.Temperature, TopP: req.TopP, TopK: req.TopK, FrequencyPenalty: req.FrequencyPenalty,
		PresencePenalty: req.PresencePenalty, Seed: req.Seed, Stop: req.Stop, Reasoning: (*reasonJSON)(req.Reasoning), Extra: req.Extra,
		Promotion: string(req.Promotion), AllowEchoes: req.AllowEchoes,
	}
	if c := req.Choice; c.Mode != llm.MayCall || c.Name != "" || c.Allowed != nil {
		settings.Choice = &choiceJSON{Mode: c.Mode.String(), Name: c.Name}
		if c.Allowed != nil {
			settings.Choice.Allowed = &c.Allowed
		}
	}
	var err error
	if form.tools, err = encodeLoose(tools); err != nil {
		return nil, fmt.Errorf("tools: %w", err)
	}
	if form.settings, err = encodeLoose(settings); err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	return form, nil
}

func (f *requestForm) hash() Hash {
	messages := func(yield func(Hash) bool) {
		for _, m := range f.messages {
			if !yield(hashBytes(m)) {
				return
			}
		}
	}
	return requestHash(messages, hashBytes(f.settings), hashBytes(f.tools))
}

// requestHash is the hash of {"messages":[hash, …],"settings":hash,"tools":hash}.
func requestHash(messages iter.Seq[Hash], settings, tools Hash) Hash {
	b := []byte(`{"messages":[`)
	for m := range messages {
		if b[len(b)-1] != '[' {
			b = append(b, ',')
		}
		b = js.AppendShortest(b, string(m))
	}
	b = append(b, `],"settings":`...)
	b = js.AppendShortest(b, string(settings))
	b = append(b, `,"tools":`...)
	b = js.AppendShortest(b, string(tools))
	return hashBytes(append(b, '}'))
}

// since returns f as an entry that follows one for last, which may be nil.
func (f *requestForm) since(last *requestForm) Request {
	r := Request{Hash: f.hash(), Messages: f.messages, Tools: f.tools, Settings: f.settings}
	if last == nil {
		return r
	}
	for r.Keep < min(len(f.messages), len(last.messages)) && bytes.Equal(f.messages[r.Keep], last.messages[r.Keep]) {
		r.Keep++
	}
	r.Messages = f.messages[r.Keep:]
	if bytes.Equal(f.tools, last.tools) {
		r.Tools = nil
	}
	if bytes.Equal(f.settings, last.settings) {
		r.Settings = nil
	}
	return r
}

// apply returns the whole request that r encodes as a change of last.
func (r Request) apply(last *requestForm) (*requestForm, error) {
	if last == nil {
		last = &requestForm{tools: json.RawMessage("[]"), settings: json.RawMessage("{}")}
	}
	if r.Keep < 0 || r.Keep > len(last.messages) {
		return nil, fmt.Errorf("journal: a request keeps %d messages of %d", r.Keep, len(last.messages))
	}
	f := &requestForm{tools: last.tools, settings: last.settings}
	f.messages = append(last.messages[:r.Keep:r.Keep], r.Messages...)
	if r.Tools != nil {
		f.tools = r.Tools
	}
	if r.Settings != nil {
		f.settings = r.Settings
	}
	return f, nil
}

// Request records a question before it is asked and returns the entry that the
// answer must name.
func (r *Recorder) Request(ctx context.Context, req *llm.Request) (Entry, error) {
	form, err := formOf(req)
	if err != nil {
		return Entry{}, fmt.Errorf("journal: request: %w", err)
	}
	// The lock is held while writing: each entry is the difference to the one
	// before it in the journal.
	r.asking.Lock()
	defer r.asking.Unlock()
	e, err := r.Write(ctx, KindRequest, form.since(r.lastRequest))
	if err == nil {
		r.lastRequest = form
	}
	return e, err
}

// Answer records the answer to the request of entry asked: a whole answer or, with
// err, the part that arrived. It writes even if ctx has been cancelled.
func (r *Recorder) Answer(ctx context.Context, asked Entry, resp *llm.Response, took time.Duration, err error) (Entry, error) {
	a := Answer{Request: asked.Seq, LatencyMS: took.Milliseconds()}
	if resp != nil {
		a.fill(resp)
	}
	if err != nil {
		a.Error = answerError(err)
	}
	return r.Write(context.WithoutCancel(ctx), KindAnswer, a)
}

// Model returns m with every request recorded before it is asked and every
// answer after. A question that cannot be recorded is not asked; an answer that
// cannot be recorded ends the stream with an error. The stream itself passes
// through untouched.
func (r *Recorder) Model(m llm.Model) llm.Model {
	return llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) { r.stream(ctx, m, req, yield) }
	})
}

func (r *Recorder) stream(ctx context.Context, m llm.Model, req *llm.Request, yield func(llm.Event, error) bool) {
	asked, err := r.Request(ctx, req)
	if err != nil {
		yield(nil, err)
		return
	}
	seen := observing.CallOf(ctx)
	if seen != nil {
		seen.Asked = string(asked.Hash)
	}
	var (
		b       llm.Builder
		failed  error
		stopped bool
		finish  *llm.Finish
		begun   = time.Now()
	)
	for ev, err := range m.Stream(ctx, req) {
		if err != nil {
			failed = err
			break
		}
		b.Add(ev)
		if f, last := ev.(llm.Finish); last { // on record before anybody acts on it
			finish = &f
			break
		}
		if !yield(ev, nil) {
			stopped, failed = true, context.Canceled
			break
		}
	}
	answered, err := r.Answer(ctx, asked, b.Response(), time.Since(begun), failed)
	if seen != nil {
		seen.Recorded = string(answered.Hash)
	}
	switch {
	case stopped:
	case failed != nil:
		yield(nil, failed)
	case err != nil:
		yield(nil, err)
	case finish != nil:
		yield(*finish, nil)
	}
}

// answerError keeps of an error what a replay can give back.
func answerError(err error) *AnswerError {
	a := &AnswerError{Kind: llm.KindOf(err), Message: err.Error()}
	var e *llm.Error
	if errors.As(err, &e) {
		a.Status, a.Code = e.Status, e.Code
	}
	return a
}

// Error returns the recorded text.
func (e *AnswerError) Error() string { return e.Message }

// Unwrap returns the error in its original kind, for llm.KindOf.
func (e *AnswerError) Unwrap() error {
	return &llm.Error{Op: "replay", Kind: e.Kind, Status: e.Status, Code: e.Code, Err: errors.New(e.Message)}
}
