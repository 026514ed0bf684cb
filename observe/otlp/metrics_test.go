package otlp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	metricsv1 "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
)

// metricsReceiver reads exports of metrics with the schema of the protocol; an unknown field is an error.
func metricsReceiver(t *testing.T, steps func(*Exporter)) map[string]*metricsv1.Histogram {
	t.Helper()
	got := make(map[string]*metricsv1.Histogram)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var export collector.ExportMetricsServiceRequest
		if err := protojson.Unmarshal(body, &export); err != nil || r.URL.Path != "/v1/metrics" {
			t.Errorf("%s: %v\n%s", r.URL.Path, err, body)
			return
		}
		for _, m := range export.ResourceMetrics[0].ScopeMetrics[0].Metrics {
			got[m.Name+" "+m.Unit] = m.GetHistogram()
		}
	}))
	defer server.Close()
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL, "OTEL_TRACES_EXPORTER": "none"}
	o, err := FromEnv(func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	e := New(*o)
	steps(e)
	e.Close()
	return got
}

// labels are the attributes of a data point.
func labels(p *metricsv1.HistogramDataPoint) map[string]string {
	out := make(map[string]string)
	for _, a := range p.Attributes {
		out[a.Key] = a.Value.GetStringValue()
		if a.Value.GetBoolValue() {
			out[a.Key] = "true"
		}
	}
	return out
}

func TestMetricsOfModelCalls(t *testing.T) {
	got := metricsReceiver(t, func(e *Exporter) {
		for _, in := range []int{10, 100} {
			call := &observe.ModelCall{Vendor: "openai", Name: "gpt-5", Host: "api.openai.com", Answered: "gpt-5-1", First: 300 * time.Millisecond, Usage: llm.Usage{Input: in, Output: 4}}
			call.Took = 2 * time.Second
			e.End(e.Begin(context.Background(), call), call)
		}
		failed := &observe.ModelCall{Vendor: "openai", Name: "gpt-5"}
		failed.Err = &llm.Error{Kind: llm.RateLimited, Err: errors.New("slow down")}
		e.End(e.Begin(context.Background(), failed), failed)
	})
	if len(got) != 3 {
		t.Fatalf("metrics: %v", got)
	}
	tokens := got["gen_ai.client.token.usage {token}"]
	for _, p := range tokens.DataPoints {
		l := labels(p)
		if l["gen_ai.operation.name"] != "chat" || l["gen_ai.provider.name"] != "openai" || l["gen_ai.request.model"] != "gpt-5" || l["gen_ai.response.model"] != "gpt-5-1" || l["server.address"] != "api.openai.com" {
			t.Errorf("attributes %v", l)
		}
		want := map[string]float64{"input": 110, "output": 8}[l["gen_ai.token.type"]]
		if p.Count != 2 || p.GetSum() != want || want == 0 {
			t.Errorf("%v: %d values, sum %v", l, p.Count, p.GetSum())
		}
		var n uint64
		for _, b := range p.BucketCounts {
			n += b
		}
		if n != p.Count || len(p.BucketCounts) != len(p.ExplicitBounds)+1 || p.StartTimeUnixNano == 0 || p.TimeUnixNano < p.StartTimeUnixNano {
			t.Errorf("buckets %v of %d values", p.BucketCounts, p.Count)
		}
		if l["gen_ai.token.type"] == "output" && p.BucketCounts[1] != 2 { // 4 is in the bucket (1, 4]
			t.Errorf("the value of a bound is in the bucket that ends there: %v", p.BucketCounts)
		}
	}
	if tokens.AggregationTemporality != metricsv1.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE {
		t.Error(tokens.AggregationTemporality)
	}
	durations := got["gen_ai.client.operation.duration s"].DataPoints
	kinds := make(map[string]uint64)
	for _, p := range durations {
		kinds[labels(p)["error.type"]] += p.Count
	}
	if len(durations) != 2 || kinds[""] != 2 || kinds[llm.RateLimited.String()] != 1 {
		t.Errorf("durations by error: %v", kinds)
	}
	if first := got["gen_ai.client.operation.time_to_first_chunk s"].DataPoints; len(first) != 1 || first[0].Count != 2 || first[0].GetMax() != 0.3 {
		t.Errorf("time to first chunk: %v", first)
	}
}

// Upstreams choose the names of models, so the number of series has a bound.
func TestMetricsHaveABoundedNumberOfSeries(t *testing.T) {
	const calls = maxSeries + 50
	got := metricsReceiver(t, func(e *Exporter) {
		for n := range calls {
			call := &observe.ModelCall{Vendor: "v", Name: "m", Answered: fmt.Sprint("model-", n)}
			e.End(e.Begin(context.Background(), call), call)
		}
	})
	points := got["gen_ai.client.operation.duration s"].DataPoints
	var all, overflow uint64
	for _, p := range points {
		all += p.Count
		if labels(p)["otel.metric.overflow"] == "true" {
			overflow = p.Count
		}
	}
	if len(points) != maxSeries+1 || all != calls || overflow != 50 {
		t.Errorf("%d series, %d values, %d in the overflow", len(points), all, overflow)
	}
}
