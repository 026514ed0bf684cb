package otelobserve_test

import (
	"context"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/toolpost/toolpost/observe"
	"github.com/toolpost/toolpost/observe/otelobserve"
)

// TestNamesOfOthers: what upstreams and models call themselves, their calls and tools is short and harmless in a span.
func TestNamesOfOthers(t *testing.T) {
	spans := new(kept)
	o := otelobserve.New(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)), otelobserve.Options{})
	long := "evil\x1b[31m\n" + strings.Repeat("x", 1000)
	for _, step := range []observe.Step{&observe.ModelCall{Name: long, Answered: long, ID: long, Model: long}, &observe.ToolCall{ID: long, Tool: long}, &observe.Request{Model: long, Upstream: long}} {
		o.End(o.Begin(t.Context(), step), step)
	}
	for _, s := range spans.list {
		texts := []string{s.Name()}
		for _, a := range s.Attributes() {
			texts = append(texts, a.Value.String())
		}
		for _, text := range texts {
			if len(text) > 256 || strings.ContainsAny(text, "\x1b\n") {
				t.Errorf("%s has a text of %d bytes: %.40q", s.Name()[:20], len(text), text)
			}
		}
	}
	if len(spans.list) != 3 {
		t.Errorf("%d spans", len(spans.list))
	}
}

// kept keeps spans.
type kept struct{ list []sdktrace.ReadOnlySpan }

func (k *kept) ExportSpans(_ context.Context, list []sdktrace.ReadOnlySpan) error {
	k.list = append(k.list, list...)
	return nil
}

func (k *kept) Shutdown(context.Context) error { return nil }
