package otlp

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/observe/observing"
	"github.com/toolpost/toolpost/observe"
)

// TestSamplers checks which traces are recorded, and that what cannot be honoured is refused.
func TestSamplers(t *testing.T) {
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}
	for _, test := range []struct {
		name, arg      string
		begun, yes, no bool // those that begin here, and those that clients record or do not
		refused        string
	}{
		{"", "", true, true, false, ""},
		{"always_on", "", true, true, true, ""},
		{"always_off", "", false, false, false, ""},
		{"traceidratio", "0", false, false, false, ""},
		{"traceidratio", "1", true, true, true, ""},
		{"parentbased_always_on", "", true, true, false, ""},
		{"parentbased_always_off", "", false, true, false, ""},
		{"parentbased_traceidratio", "0", false, true, false, ""},
		{"traceidratio", "2", false, false, false, "OTEL_TRACES_SAMPLER_ARG"},
		{"jaeger_remote", "", false, false, false, "OTEL_TRACES_SAMPLER"},
	} {
		env["OTEL_TRACES_SAMPLER"], env["OTEL_TRACES_SAMPLER_ARG"] = test.name, test.arg
		o, err := FromEnv(func(name string) string { return env[name] })
		if test.refused != "" || err != nil {
			if err == nil || test.refused == "" || !strings.Contains(err.Error(), test.refused) {
				t.Errorf("%s: %v", test.name, err)
			}
			continue
		}
		e := &Exporter{options: *o}
		recorded := func(ctx context.Context) bool {
			trace, _ := observing.TraceOf(e.Begin(ctx, nil))
			return trace.Flags&observing.Sampled != 0
		}
		of := func(flags byte) context.Context {
			return observing.WithTrace(t.Context(), observing.Trace{ID: [16]byte{1, 15: 1}, Span: [8]byte{1}, Flags: flags})
		}
		if got := []bool{recorded(t.Context()), recorded(of(observing.Sampled)), recorded(of(0))}; fmt.Sprint(got) != fmt.Sprint([]bool{test.begun, test.yes, test.no}) {
			t.Errorf("%s %s: %v", test.name, test.arg, got)
		}
	}
}

// TestResource checks the attributes of the program, and that spans name no method that a client made up.
func TestResource(t *testing.T) {
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318", "OTEL_RESOURCE_ATTRIBUTES": "service.name=a,deployment.environment=one%20two", "OTEL_SERVICE_NAME": "b"}
	o, err := FromEnv(func(name string) string { return env[name] })
	if got := fmt.Sprint(o.resource()); err != nil || got != "[{service.name {b  false}} {deployment.environment {one two  false}}]" {
		t.Error(got, err)
	}
	env["OTEL_RESOURCE_ATTRIBUTES"] = "nothing"
	if _, err := FromEnv(func(name string) string { return env[name] }); err == nil || !strings.Contains(err.Error(), "OTEL_RESOURCE_ATTRIBUTES") {
		t.Error(err)
	}
	var s span
	s.describe(&observe.Request{Method: "MYSECRET", Path: "/v1/mysecret"})
	if text := fmt.Sprint(s); strings.Contains(strings.ToLower(text), "mysecret") {
		t.Error(text)
	}
}
