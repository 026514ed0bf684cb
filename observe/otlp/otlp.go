// Package otlp sends the steps of package observe to a collector, with OpenTelemetry's protocol OTLP over HTTP in JSON: each step
// as a span, and model calls as metrics. It adds 20 kB to a program; OpenTelemetry's SDK adds 12 MB. Package observe/otelobserve is
// for programs that link the SDK anyway.
//
// Spans and metrics hold names, ids, counts and kinds of errors: nothing that people, models or tools wrote.
package otlp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolpost/toolpost/internal/observe/observing"
	"github.com/toolpost/toolpost/internal/outbound"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
	"github.com/toolpost/toolpost/observe/internal/pairs"
)

// Options are where spans and metrics go.
type Options struct {
	// Endpoint is the address that takes traces, like http://127.0.0.1:4318/v1/traces; "" sends none.
	Endpoint string
	// Metrics is the address that takes metrics, like http://127.0.0.1:4318/v1/metrics; "" sends none. The histograms
	// gen_ai.client.token.usage, gen_ai.client.operation.duration and gen_ai.client.operation.time_to_first_chunk are
	// sent once a minute and at the end.
	Metrics string
	// Headers go with every request. They may hold a key.
	Headers map[string]string
	// Service is the name of the program; "" means toolpost.
	Service string
	// Resource are more attributes of the program.
	Resource map[string]string
	// Sampling selects the recorded traces; nil follows the client's decision, and records all traces that begin here.
	Sampling *Sampling
	// Failed is called when spans could not be sent, at most once a minute, if it is not nil. The error contains no headers.
	Failed func(error)
}

// The bounds of an exporter.
const (
	maxQueue  = 4096 // spans that wait
	maxBatch  = 512  // spans of one request
	sendEvery = 5 * time.Second
	sendTime  = 10 * time.Second
)

// FromEnv reads the options from the variables that OpenTelemetry names for them: OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or
// OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_HEADERS or OTEL_EXPORTER_OTLP_HEADERS, OTEL_SERVICE_NAME,
// OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG. OTEL_EXPORTER_OTLP_METRICS_ENDPOINT is another
// address for metrics. OTEL_TRACES_EXPORTER and OTEL_METRICS_EXPORTER with the value none send no spans, or no metrics. Without
// an address nothing is meant to be sent, and it returns nil.
func FromEnv(getenv func(string) string) (*Options, error) {
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	endpoint := func(signal, path string) string {
		if getenv("OTEL_"+signal+"_EXPORTER") == "none" {
			return ""
		}
		if own := getenv("OTEL_EXPORTER_OTLP_" + signal + "_ENDPOINT"); own != "" {
			return own
		}
		if base := getenv("OTEL_EXPORTER_OTLP_ENDPOINT"); base != "" {
			return strings.TrimRight(base, "/") + path
		}
		return ""
	}
	o := &Options{Endpoint: endpoint("TRACES", "/v1/traces"), Metrics: endpoint("METRICS", "/v1/metrics"), Service: getenv("OTEL_SERVICE_NAME"), Headers: map[string]string{}}
	if o.Endpoint == "" && o.Metrics == "" {
		return nil, nil
	}
	for _, address := range []string{o.Endpoint, o.Metrics} {
		if u, err := url.Parse(address); address != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
			return nil, errors.New("OTEL_EXPORTER_OTLP_ENDPOINT is not an address; write http://HOST:4318") // it may hold a password
		}
	}
	if p := cmp.Or(getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), getenv("OTEL_EXPORTER_OTLP_PROTOCOL")); p == "grpc" {
		return nil, errors.New("OTEL_EXPORTER_OTLP_PROTOCOL is grpc, and traces are sent over HTTP in JSON: name the collector's address for HTTP, and leave the variable out")
	}
	for _, pair := range strings.Split(cmp.Or(getenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS"), getenv("OTEL_EXPORTER_OTLP_HEADERS")), ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		text, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil || strings.ContainsAny(name, "\r\n\x00: \t") || strings.ContainsAny(text, "\r\n\x00") {
			return nil, errors.New("OTEL_EXPORTER_OTLP_HEADERS is not a list like name=value,other=value")
		}
		o.Headers[name] = text
	}
	return o, errors.Join(o.sample(getenv("OTEL_TRACES_SAMPLER"), getenv("OTEL_TRACES_SAMPLER_ARG")), o.describe(getenv("OTEL_RESOURCE_ATTRIBUTES")))
}

// Exporter is an observer that sends spans. It never waits for the collector: spans that find no room are dropped and counted.
type Exporter struct {
	options Options
	client  *http.Client
	queue   chan *span
	stop    chan struct{}
	done    chan struct{}
	once    sync.Once
	metrics metrics
	dropped atomic.Int64
	said    time.Time // of the last failure that was told
}

// New returns an exporter. The caller closes it.
func New(o Options) *Exporter {
	e := &Exporter{options: o, client: outbound.New(outbound.Rules{Timeout: sendTime}), queue: make(chan *span, maxQueue), stop: make(chan struct{}), done: make(chan struct{}), metrics: metrics{start: time.Now()}}
	go e.work()
	return e
}

// Dropped counts the spans that were not sent because the queue was full or the collector refused them.
func (e *Exporter) Dropped() int64 { return e.dropped.Load() }

// Close sends what waits and ends. Spans that end later are dropped.
func (e *Exporter) Close() {
	e.once.Do(func() { close(e.stop) })
	<-e.done
}

// span is a span in the words of the protocol.
type span struct {
	TraceID    string      `json:"traceId"`
	SpanID     string      `json:"spanId"`
	TraceState string      `json:"traceState,omitempty"`
	ParentID   string      `json:"parentSpanId,omitempty"`
	Name       string      `json:"name"`
	Kind       int         `json:"kind"` // 1 internal, 2 server, 3 client
	Start      string      `json:"startTimeUnixNano"`
	End        string      `json:"endTimeUnixNano"`
	Attributes []attribute `json:"attributes,omitempty"`
	Status     status      `json:"status"`
}

type status struct {
	Code    int    `json:"code,omitempty"` // 2 is an error
	Message string `json:"message,omitempty"`
}

type attribute struct {
	Key   string `json:"key"`
	Value value  `json:"value"`
}

type value struct {
	Text  string `json:"stringValue,omitempty"`
	Whole string `json:"intValue,omitempty"` // numbers of 64 bits are texts in JSON
	Bool  bool   `json:"boolValue,omitempty"`
}

type parentKey struct{}

// Begin makes the step a part of the trace of ctx, or the first of a new one.
func (e *Exporter) Begin(ctx context.Context, _ observe.Step) context.Context {
	t, ok := observing.TraceOf(ctx)
	parent := ""
	if ok {
		parent = hex.EncodeToString(t.Span[:])
	} else {
		_, _ = rand.Read(t.ID[:]) // which never fails
	}
	t.Flags = e.options.Sampling.flags(t, ok)
	_, _ = rand.Read(t.Span[:])
	return context.WithValue(observing.WithTrace(ctx, t), parentKey{}, parent)
}

// End has the span sent, unless the client's trace is not recorded.
func (e *Exporter) End(ctx context.Context, s observe.Step) {
	if call, ok := s.(*observe.ModelCall); ok && e.options.Metrics != "" {
		e.metrics.modelCall(call)
	}
	if e.options.Endpoint == "" {
		return
	}
	t, ok := observing.TraceOf(ctx)
	if !ok || t.Flags&observing.Sampled == 0 {
		return
	}
	parent, _ := ctx.Value(parentKey{}).(string)
	at := s.Timing()
	out := &span{
		TraceID: hex.EncodeToString(t.ID[:]), SpanID: hex.EncodeToString(t.Span[:]), TraceState: t.State, ParentID: parent, Kind: 1,
		Start: nanos(at.Began), End: nanos(at.Began.Add(at.Took)),
	}
	out.describe(s)
	out.Name = pairs.Name(out.Name)
	if at.Err != nil { // its text may quote people
		out.Status = status{2, llm.KindOf(at.Err).String()}
		out.text("error.type", llm.KindOf(at.Err).String())
	}
	select {
	case <-e.stop:
		e.dropped.Add(1)
	case e.queue <- out:
	default:
		e.dropped.Add(1)
	}
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

// text adds names and non-empty values.
func (s *span) text(list ...string) {
	for i := 0; i+1 < len(list); i += 2 {
		if v := pairs.Name(list[i+1]); v != "" {
			s.Attributes = append(s.Attributes, attribute{list[i], value{Text: v}})
		}
	}
}

func (s *span) number(name string, n int64) {
	if n != 0 {
		s.Attributes = append(s.Attributes, attribute{name, value{Whole: strconv.FormatInt(n, 10)}})
	}
}

func (s *span) usage(u llm.Usage) {
	s.number("gen_ai.usage.input_tokens", int64(u.Input))
	s.number("gen_ai.usage.output_tokens", int64(u.Output))
}

// named is the model of an id, without the address in it, which may hold a password.
func named(id string) string {
	if at, name, ok := strings.Cut(id, "#"); ok && strings.Contains(at, "://") {
		return name
	}
	return id
}

// describe fills in the attributes of a step, with the names of the semantic conventions where they exist.
func (s *span) describe(step observe.Step) {
	switch x := step.(type) {
	case *observe.Request:
		s.Name, s.Kind = x.Name(), 2
		s.text("http.request.method", x.KnownMethod(), "http.route", x.Endpoint, "toolpost.request", x.ID, "toolpost.team", x.Team,
			"toolpost.gateway.route", x.Route, "gen_ai.request.model", x.Model, "toolpost.upstream", named(x.Upstream))
		s.number("http.response.status_code", int64(x.Status))
		s.usage(x.Usage)
	case *observe.Run:
		s.Name = "invoke_agent"
		s.text("gen_ai.operation.name", "invoke_agent", "gen_ai.conversation.id", x.ID, "toolpost.run.status", x.Status)
		s.usage(x.Usage)
	case *observe.Turn:
		s.Name = "turn " + strconv.Itoa(x.N)
	case *observe.ModelCall:
		s.Name, s.Kind = "chat "+cmp.Or(x.Name, named(x.Model)), 3
		s.text("gen_ai.operation.name", "chat", "gen_ai.request.model", cmp.Or(x.Name, named(x.Model)), "gen_ai.provider.name", x.Vendor, "server.address", x.Host,
			"gen_ai.response.model", x.Answered, "toolpost.finish", string(x.Finish), "toolpost.wire", x.Wire, "toolpost.route", x.Route)
		s.number("toolpost.attempts", int64(x.Attempts))
		s.number("toolpost.first_ms", x.First.Milliseconds())
		s.usage(x.Usage)
	case *observe.ToolCall:
		s.Name = "execute_tool " + x.Tool
		s.text("gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", x.Tool, "gen_ai.tool.call.id", x.ID, "toolpost.call.status", x.Status, "toolpost.call.decided_by", x.By)
		s.number("toolpost.attempts", int64(x.Attempts))
	default:
		s.Name = "step"
	}
}

// work sends what waits, when there is enough of it or some time has passed.
func (e *Exporter) work() {
	defer close(e.done)
	tick := time.NewTicker(sendEvery)
	defer tick.Stop()
	batch := make([]*span, 0, maxBatch)
	flush := func() {
		if len(batch) > 0 {
			e.send(batch)
			batch = batch[:0]
		}
	}
	measured := time.NewTicker(metricsEvery)
	defer measured.Stop()
	defer e.sendMetrics()
	for {
		select {
		case s := <-e.queue:
			if batch = append(batch, s); len(batch) == maxBatch {
				flush()
			}
		case <-tick.C:
			flush()
		case <-measured.C:
			e.sendMetrics()
		case <-e.stop:
			for {
				select {
				case s := <-e.queue:
					if batch = append(batch, s); len(batch) == maxBatch {
						flush()
					}
				default:
					flush()
					return
				}
			}
		}
	}
}

// send sends spans once. Spans that the collector refuses are lost: repeating them would fill the queue.
func (e *Exporter) send(batch []*span) {
	if err := e.post(e.options.Endpoint, "resourceSpans", "scopeSpans", "spans", batch); err != nil {
		e.dropped.Add(int64(len(batch)))
		e.failed(fmt.Errorf("%d spans were not sent: %w", len(batch), err))
	}
}

// sendMetrics sends the metrics if a value is new. They are cumulative, so the next export has what this one failed to send.
func (e *Exporter) sendMetrics() {
	list := e.metrics.export(time.Now())
	if len(list) == 0 {
		return
	}
	if err := e.post(e.options.Metrics, "resourceMetrics", "scopeMetrics", "metrics", list); err != nil {
		e.failed(fmt.Errorf("metrics were not sent: %w", err))
	}
}

// failed reports an error, at most once a minute.
func (e *Exporter) failed(err error) {
	if e.options.Failed != nil && time.Since(e.said) > time.Minute {
		e.said = time.Now()
		e.options.Failed(err)
	}
}

// post sends a list of spans or metrics below the names that the protocol has for its levels.
func (e *Exporter) post(endpoint, resources, scopes, name string, list any) error {
	body, err := json.Marshal(map[string]any{resources: []any{map[string]any{
		"resource": map[string]any{"attributes": e.options.resource()},
		scopes:     []any{map[string]any{"scope": map[string]any{"name": "github.com/toolpost/toolpost"}, name: list}},
	}}})
	if err != nil {
		return err
	}
	req, err := http.NewRequest(http.MethodPost, endpoint, bytes.NewReader(body))
	if err != nil {
		return errors.New("the address is none")
	}
	for name, text := range e.options.Headers {
		req.Header.Set(name, text)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "toolpost")
	resp, err := e.client.Do(req)
	if err != nil {
		var at *url.Error
		if errors.As(err, &at) {
			err = at.Err // without the address, which may hold a password
		}
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	if resp.StatusCode >= 300 {
		return fmt.Errorf("the collector answers with status %d", resp.StatusCode)
	}
	return nil
}
