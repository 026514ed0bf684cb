// Otel sends the spans and metrics of a run to a collector of OpenTelemetry. This one is in the
// same program and prints the names that arrive.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"regexp"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe/otlp"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/tool"
)

func weather(_ context.Context, in struct{ City string }) (string, error) {
	return "sunny in " + in.City, nil
}

var names = regexp.MustCompile(`"name":"([^"]+)"`)

func collect(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range names.FindAllSubmatch(body, -1) {
		fmt.Println(r.URL.Path, string(name[1]))
	}
}

func main() {
	collector := httptest.NewServer(http.HandlerFunc(collect))
	defer collector.Close()
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL} // or os.Getenv
	o, err := otlp.FromEnv(func(name string) string { return env[name] })
	if err != nil {
		log.Fatal(err)
	}
	exporter := otlp.New(*o)
	look := tool.Func("get_weather", "Current weather in a city.", weather)
	a := &agent.Agent{Model: sim.Offline{}, ID: "sim/offline", Observer: exporter,
		Tools: &invoke.Runner{Tools: tool.MustSet(look)}}
	if _, err := a.Ask(context.Background(), llm.User("Weather in Rome?")); err != nil {
		log.Fatal(err)
	}
	exporter.Close() // sends what waits
}
