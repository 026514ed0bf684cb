// Package otel sends the spans and metrics of a run to the receiver of OpenTelemetry's collector. It is a separate module, because
// the collector has many dependencies.
package otel

import (
	"context"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/semconv/v1.41.0/genaiconv"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe/otlp"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/tool"
)

// collector is the receiver of a collector, and what it passed on.
type collector struct {
	url     string
	traces  *consumertest.TracesSink
	metrics *consumertest.MetricsSink
}

func startCollector(t *testing.T) *collector {
	t.Helper()
	var failed error
	for range 20 { // another program may take the free port
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := l.Addr().String()
		l.Close()
		c := &collector{url: "http://" + address, traces: new(consumertest.TracesSink), metrics: new(consumertest.MetricsSink)}
		factory := otlpreceiver.NewFactory()
		config := factory.CreateDefaultConfig()
		if err := confmap.NewFromStringMap(map[string]any{"protocols": map[string]any{"http": map[string]any{"endpoint": address}}}).Unmarshal(config); err != nil {
			t.Fatal(err)
		}
		settings := receivertest.NewNopSettings(factory.Type())
		traces, err := factory.CreateTraces(t.Context(), settings, config, c.traces)
		if err != nil {
			t.Fatal(err)
		}
		metrics, err := factory.CreateMetrics(t.Context(), settings, config, c.metrics)
		if err != nil {
			t.Fatal(err)
		}
		if failed = traces.Start(t.Context(), componenttest.NewNopHost()); failed != nil {
			continue
		}
		if err := metrics.Start(t.Context(), componenttest.NewNopHost()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := traces.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
			if err := metrics.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
		})
		return c
	}
	t.Fatal(failed)
	return nil
}

// TestRunAtTheCollectorsReceiver sends a run with two model calls and a tool call.
func TestRunAtTheCollectorsReceiver(t *testing.T) {
	c := startCollector(t)
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.url, "OTEL_SERVICE_NAME": "weather service"}
	options, err := otlp.FromEnv(func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	options.Failed = func(err error) { t.Error(err) }
	exporter := otlp.New(*options)
	vendor := httptest.NewServer(&sim.Server{})
	defer vendor.Close()
	model, err := (&provider.Client{HTTP: vendor.Client()}).Open("openai+" + vendor.URL + "/v1#sim/native")
	if err != nil {
		t.Fatal(err)
	}
	look := tool.Func("get_weather", "Current weather in a city.", func(_ context.Context, in struct{ City string }) (string, error) { return "sunny in " + in.City, nil })
	a := &agent.Agent{Model: model, Observer: exporter, Tools: &invoke.Runner{Tools: tool.MustSet(look)}}
	done, err := a.Ask(t.Context(), llm.User("What is the weather in Rome?"))
	if err != nil {
		t.Fatal(err)
	}
	exporter.Close()
	if exporter.Dropped() != 0 {
		t.Errorf("%d spans were dropped", exporter.Dropped())
	}
	checkSpans(t, c.traces.AllTraces())
	checkMetrics(t, c.metrics.AllMetrics(), done.Usage)
}

func text(m pcommon.Map, key string) string {
	if v, ok := m.Get(key); ok {
		return v.AsString()
	}
	return ""
}

func checkSpans(t *testing.T, list []ptrace.Traces) {
	t.Helper()
	spans := make(map[string]ptrace.Span)
	ids := make(map[pcommon.SpanID]ptrace.Span)
	var names []string
	for _, traces := range list {
		for _, resource := range traces.ResourceSpans().All() {
			if got := text(resource.Resource().Attributes(), string(semconv.ServiceNameKey)); got != "weather service" {
				t.Errorf("the service is %q", got)
			}
			for _, scope := range resource.ScopeSpans().All() {
				for _, s := range scope.Spans().All() {
					names = append(names, s.Name())
					spans[s.Name()], ids[s.SpanID()] = s, s
				}
			}
		}
	}
	slices.Sort(names)
	if got := strings.Join(names, ", "); got != "chat sim/native, chat sim/native, execute_tool get_weather, invoke_agent, turn 1, turn 2" {
		t.Fatalf("spans: %s", got)
	}
	run, chat, call := spans["invoke_agent"], spans["chat sim/native"], spans["execute_tool get_weather"]
	for _, want := range []struct {
		span       ptrace.Span
		key, value string
	}{
		{run, string(semconv.GenAIOperationNameKey), semconv.GenAIOperationNameInvokeAgent.Value.AsString()},
		{chat, string(semconv.GenAIOperationNameKey), semconv.GenAIOperationNameChat.Value.AsString()},
		{chat, string(semconv.GenAIRequestModelKey), "sim/native"},
		{chat, string(semconv.GenAIProviderNameKey), semconv.GenAIProviderNameOpenAI.Value.AsString()},
		{call, string(semconv.GenAIOperationNameKey), semconv.GenAIOperationNameExecuteTool.Value.AsString()},
		{call, string(semconv.GenAIToolNameKey), "get_weather"},
	} {
		if got := text(want.span.Attributes(), want.key); got != want.value {
			t.Errorf("%s: %s is %q, not %q", want.span.Name(), want.key, got, want.value)
		}
	}
	for _, key := range []string{string(semconv.GenAIUsageInputTokensKey), string(semconv.GenAIUsageOutputTokensKey)} {
		if v, ok := chat.Attributes().Get(key); !ok || v.Int() <= 0 {
			t.Errorf("chat has no %s", key)
		}
	}
	if chat.Kind() != ptrace.SpanKindClient || !run.ParentSpanID().IsEmpty() {
		t.Errorf("the kind of chat is %s, the parent of the run is %s", chat.Kind(), run.ParentSpanID())
	}
	for _, s := range spans {
		top := s
		for !top.ParentSpanID().IsEmpty() {
			parent, known := ids[top.ParentSpanID()]
			if !known || parent.TraceID() != s.TraceID() || s.StartTimestamp() < parent.StartTimestamp() || s.EndTimestamp() > parent.EndTimestamp() {
				t.Fatalf("%s is not within its parent", s.Name())
			}
			top = parent
		}
		if top.SpanID() != run.SpanID() || s.Status().Code() == ptrace.StatusCodeError {
			t.Errorf("%s: top %s, status %s", s.Name(), top.Name(), s.Status().Code())
		}
	}
}

func checkMetrics(t *testing.T, list []pmetric.Metrics, usage llm.Usage) {
	t.Helper()
	got := make(map[string]pmetric.Metric)
	for _, metrics := range list {
		for _, resource := range metrics.ResourceMetrics().All() {
			for _, scope := range resource.ScopeMetrics().All() {
				for _, m := range scope.Metrics().All() {
					got[m.Name()] = m
				}
			}
		}
	}
	for name, unit := range map[string]string{
		genaiconv.ClientTokenUsage{}.Name():                genaiconv.ClientTokenUsage{}.Unit(),
		genaiconv.ClientOperationDuration{}.Name():         genaiconv.ClientOperationDuration{}.Unit(),
		genaiconv.ClientOperationTimeToFirstChunk{}.Name(): genaiconv.ClientOperationTimeToFirstChunk{}.Unit(),
	} {
		m, ok := got[name]
		if !ok || m.Unit() != unit || m.Type() != pmetric.MetricTypeHistogram || m.Histogram().AggregationTemporality() != pmetric.AggregationTemporalityCumulative {
			t.Errorf("%s: unit %q, type %s", name, m.Unit(), m.Type())
			continue
		}
		for _, p := range m.Histogram().DataPoints().All() {
			tokens := name == genaiconv.ClientTokenUsage{}.Name()
			kind := text(p.Attributes(), string(semconv.GenAITokenTypeKey))
			switch {
			case p.Count() != 2 || p.BucketCounts().Len() != p.ExplicitBounds().Len()+1:
				t.Errorf("%s: %d values in %d buckets", name, p.Count(), p.BucketCounts().Len())
			case tokens && kind == string(genaiconv.TokenTypeInput) && p.Sum() != float64(usage.Input), tokens && kind == "output" && p.Sum() != float64(usage.Output):
				t.Errorf("%s of %s: %v, usage %+v", name, kind, p.Sum(), usage)
			case text(p.Attributes(), string(semconv.GenAIProviderNameKey)) != "openai" || text(p.Attributes(), string(semconv.GenAIOperationNameKey)) != "chat":
				t.Errorf("%s: %v", name, p.Attributes().AsRaw())
			}
		}
	}
	if len(got) != 3 {
		t.Errorf("%d metrics", len(got))
	}
}
