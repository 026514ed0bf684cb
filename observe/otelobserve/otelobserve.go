// Package otelobserve makes OpenTelemetry spans of the steps of package observe: a
// run, its turns, and in each turn the model calls and tool calls.
//
// Names follow the semantic conventions for generative AI, version 1.41.0. Names
// that the conventions lack begin with "toolpost.". Text of people, models and tools is not in the
// spans unless [Options.Content] is set, and then without secrets.
//
// The package needs the program's TracerProvider. It links neither the SDK nor an
// exporter.
package otelobserve

import (
	"context"
	"net"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolpost/toolpost/internal/observe/observing"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
	"github.com/toolpost/toolpost/observe/internal/pairs"
)

// Options are how spans are made. The zero value is a safe choice.
type Options struct {
	// Content puts messages, arguments, results and the texts of errors into the
	// spans.
	Content bool
	// Secrets are removed from content, like those of a *journal.Secrets. Values in the
	// form of a secret are removed without it, too.
	Secrets interface {
		Redact(text string) (clean string, rules []string)
	}
}

// New returns an observer that makes spans with p.
func New(p trace.TracerProvider, o Options) observe.Observer {
	return &observer{o, p.Tracer("github.com/toolpost/toolpost", trace.WithSchemaURL(semconv.SchemaURL))}
}

type observer struct {
	Options
	tracer trace.Tracer
}

// Begin starts a span.
func (o *observer) Begin(ctx context.Context, s observe.Step) context.Context {
	name, kind := pairs.Name(title(s)), trace.SpanKindInternal
	switch s.(type) {
	case *observe.ModelCall:
		kind = trace.SpanKindClient
	case *observe.Request:
		kind = trace.SpanKindServer
	}
	ctx = parent(ctx)
	ctx, span := o.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithTimestamp(s.Timing().Began), trace.WithAttributes(first(s)...))
	if at := span.SpanContext(); at.IsValid() {
		ctx = observing.WithTrace(ctx, observing.Trace{ID: at.TraceID(), Span: at.SpanID(), Flags: byte(at.TraceFlags()), State: at.TraceState().String()})
	}
	return ctx
}

// parent makes the trace of a client's request the parent of the first span.
func parent(ctx context.Context) context.Context {
	t, ok := observing.TraceOf(ctx)
	if !ok || trace.SpanContextFromContext(ctx).IsValid() {
		return ctx
	}
	state, _ := trace.ParseTraceState(t.State)
	return trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{TraceID: t.ID, SpanID: t.Span, TraceFlags: trace.TraceFlags(t.Flags), TraceState: state, Remote: true}))
}

// End ends the span that Begin started.
func (o *observer) End(ctx context.Context, s observe.Step) {
	span, t := trace.SpanFromContext(ctx), s.Timing()
	if span.IsRecording() {
		switch s := s.(type) {
		case *observe.Request:
			a := attrs{semconv.HTTPResponseStatusCode(s.Status)}
			a.text("toolpost.team", s.Team, "toolpost.gateway.route", s.Route, "gen_ai.request.model", s.Model, "toolpost.upstream", s.Upstream)
			a.usage(s.Usage)
			span.SetAttributes(a...)
		case *observe.Run:
			span.SetAttributes(run(s)...)
		case *observe.Turn:
			span.SetAttributes(semconv.GenAIRequestModel(pairs.Name(s.Model)))
		case *observe.ModelCall:
			span.SetName(pairs.Name(title(s)))
			span.SetAttributes(o.modelCall(s)...)
			retries(span, s.Retries)
		case *observe.ToolCall:
			span.SetAttributes(o.toolCall(s)...)
			retries(span, s.Retries)
		}
		o.failed(span, s)
	}
	span.End(trace.WithTimestamp(t.Began.Add(t.Took)))
}

// failed records the error of a step.
func (o *observer) failed(span trace.Span, s observe.Step) {
	err := s.Timing().Err
	if err == nil {
		return
	}
	kind := llm.KindOf(err).String()
	if c, ok := s.(*observe.ToolCall); ok && c.Code != "" {
		kind = c.Code
	}
	span.SetAttributes(semconv.ErrorTypeKey.String(kind))
	text := kind
	if o.Content {
		text = o.redact(err.Error())
	}
	span.SetStatus(codes.Error, text)
}

// title is the name of a span.
func title(s observe.Step) string {
	switch s := s.(type) {
	case *observe.Request:
		return s.Name()
	case *observe.Run:
		return "invoke_agent"
	case *observe.Turn:
		return "turn " + strconv.Itoa(s.N)
	case *observe.ModelCall:
		if s.Name != "" {
			return "chat " + s.Name
		}
		return "chat " + s.Model
	case *observe.ToolCall:
		return "execute_tool " + s.Tool
	}
	return "step"
}

// first returns the attributes that are known when a step begins, for samplers.
func first(s observe.Step) []attribute.KeyValue {
	var a attrs
	switch s := s.(type) {
	case *observe.Request:
		a = attrs{semconv.HTTPRequestMethodKey.String(s.KnownMethod()), attribute.String("toolpost.request", s.ID)}
		a.text("http.route", s.Endpoint)
	case *observe.Run:
		a = attrs{semconv.GenAIOperationNameInvokeAgent, semconv.GenAIConversationID(s.ID), attribute.Bool("toolpost.run.resumed", s.Resumed)}
		a.text("toolpost.run.parent", s.Parent)
	case *observe.Turn:
		a = attrs{semconv.GenAIConversationID(s.Run), attribute.Int("toolpost.turn", s.N)}
	case *observe.ModelCall:
		a = attrs{semconv.GenAIOperationNameChat, semconv.GenAIRequestModel(pairs.Name(s.Model))}
		a.where(s.Run, s.Turn)
	case *observe.ToolCall:
		a = attrs{semconv.GenAIOperationNameExecuteTool, semconv.GenAIToolName(pairs.Name(s.Tool)), semconv.GenAIToolCallID(pairs.Name(s.ID)), semconv.GenAIToolType("function")}
		a.where(s.Run, s.Turn)
	}
	return a
}

func run(s *observe.Run) []attribute.KeyValue {
	a := attrs{attribute.Int("toolpost.run.turns", s.Turns), attribute.Int("toolpost.run.calls", s.Calls)}
	a.text("toolpost.run.status", s.Status, "gen_ai.request.model", s.Model)
	a.usage(s.Usage)
	return a
}

// vendors are the names of the conventions for vendors that have another one here.
var vendors = map[string]attribute.KeyValue{
	"gemini": semconv.GenAIProviderNameGCPGemini, "google": semconv.GenAIProviderNameGCPGemini, "vertex": semconv.GenAIProviderNameGCPVertexAI,
	"bedrock": semconv.GenAIProviderNameAWSBedrock, "azure": semconv.GenAIProviderNameAzureAIOpenAI, "mistral": semconv.GenAIProviderNameMistralAI,
	"xai": semconv.GenAIProviderNameXAI,
}

func (o *observer) modelCall(s *observe.ModelCall) []attribute.KeyValue {
	var a attrs
	if s.Vendor != "" {
		v, ok := vendors[s.Vendor]
		if !ok {
			v = semconv.GenAIProviderNameKey.String(s.Vendor)
		}
		a = append(a, v)
	}
	a.text("gen_ai.request.model", s.Name, "gen_ai.response.id", s.ID, "gen_ai.response.model", s.Answered,
		"toolpost.wire", s.Wire, "toolpost.route", s.Route, "toolpost.entry.request", s.Asked, "toolpost.entry.answer", s.Recorded)
	a.host(s.Host)
	a.number("toolpost.attempts", s.Attempts, "toolpost.calls.invalid", s.Invalid)
	if s.Finish != "" {
		a = append(a, semconv.GenAIResponseFinishReasons(string(s.Finish)))
	}
	if s.First > 0 {
		a = append(a, semconv.GenAIResponseTimeToFirstChunk(s.First.Seconds()))
	}
	a.usage(s.Usage)
	a.settings(s.Request)
	if o.Content {
		a = append(a, o.content(s)...)
	}
	return a
}

func (o *observer) toolCall(s *observe.ToolCall) []attribute.KeyValue {
	a := attrs{attribute.Bool("toolpost.call.allowed", s.Allowed), attribute.Bool("toolpost.call.cached", s.Cached), attribute.Bool("toolpost.call.truncated", s.Truncated)}
	a.text("toolpost.call.status", s.Status, "toolpost.call.decided_by", s.By, "toolpost.call.effects", s.Effects, "toolpost.call.dialect", s.Dialect,
		"toolpost.call.source", string(s.Source), "toolpost.params_hash", s.ParamsHash, "toolpost.output_hash", s.OutputHash, "toolpost.receipt", s.Receipt)
	a.number("toolpost.attempts", s.Attempts, "toolpost.output.bytes", int(s.OutputBytes))
	a = append(a, attribute.Float64("toolpost.call.waited", s.Waited.Seconds()))
	if classes := s.Classes(); len(classes) > 0 {
		a = append(a, attribute.StringSlice("toolpost.repairs", classes))
	}
	if s.ExitCode != nil {
		a = append(a, attribute.Int("process.exit.code", *s.ExitCode))
	}
	a.usage(s.Usage)
	if o.Content {
		a = pairs.Content(a, attribute.String, "gen_ai.tool.call.arguments", o.redact(string(s.Args)), "gen_ai.tool.call.result", o.redact(s.Result.Text()), "toolpost.call.reason", o.redact(s.Reason))
	}
	return a
}

// retries are the attempts that failed, as events of the span.
func retries(span trace.Span, list []observe.Retry) {
	for _, r := range list {
		span.AddEvent("retry", trace.WithTimestamp(r.At), trace.WithAttributes(
			attribute.Int("toolpost.attempt", r.Attempt), attribute.Float64("toolpost.wait", r.Wait.Seconds()), semconv.ErrorTypeKey.String(r.Why)))
	}
}

// attrs are the attributes of a span.
type attrs []attribute.KeyValue

// text adds names and non-empty values.
func (a *attrs) text(list ...string) { *a = pairs.Text(*a, attribute.String, list...) }

// number adds names and non-zero numbers.
func (a *attrs) number(list ...any) { *a = pairs.Number(*a, attribute.Int, list...) }

// where adds the run and the turn of a call.
func (a *attrs) where(run string, turn int) {
	a.text("gen_ai.conversation.id", run)
	a.number("toolpost.turn", turn)
}

// host adds the address of a server.
func (a *attrs) host(host string) {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		a.text("server.address", host)
		return
	}
	a.text("server.address", name)
	if n, err := strconv.Atoi(port); err == nil {
		a.number("server.port", n)
	}
}

func (a *attrs) usage(u llm.Usage) {
	a.number("gen_ai.usage.input_tokens", u.Input, "gen_ai.usage.output_tokens", u.Output, "gen_ai.usage.cache_read.input_tokens", u.CacheRead,
		"gen_ai.usage.cache_creation.input_tokens", u.CacheWrite, "gen_ai.usage.reasoning.output_tokens", u.Reasoning)
}

// settings adds the settings of a request, without its content.
func (a *attrs) settings(r *llm.Request) {
	if r == nil {
		return
	}
	a.number("gen_ai.request.max_tokens", r.MaxTokens)
	for name, v := range map[string]*float64{"gen_ai.request.temperature": r.Temperature, "gen_ai.request.top_p": r.TopP,
		"gen_ai.request.frequency_penalty": r.FrequencyPenalty, "gen_ai.request.presence_penalty": r.PresencePenalty} {
		if v != nil {
			*a = append(*a, attribute.Float64(name, *v))
		}
	}
	if r.Seed != nil {
		*a = append(*a, attribute.Int64("gen_ai.request.seed", *r.Seed))
	}
	if r.Output != nil {
		*a = append(*a, semconv.GenAIOutputTypeJSON)
	}
}
