package otelobserve_test

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe/otelobserve"
	"github.com/toolpost/toolpost/sim"
)

func ExampleNew() {
	ctx := context.Background()
	exporter, err := otlptracehttp.New(ctx) // to where OTEL_EXPORTER_OTLP_ENDPOINT says
	if err != nil {
		fmt.Println(err)
		return
	}
	traces := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))
	defer traces.Shutdown(ctx)
	a := agent.Agent{Model: sim.Offline{}, ID: "sim/offline", Observer: otelobserve.New(traces, otelobserve.Options{})}
	done, err := a.Ask(ctx, llm.User("Hello!"))
	fmt.Println(done.Text, err)
}
