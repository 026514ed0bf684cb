package layers

import (
	"slices"
	"strings"
	"testing"
)

// mechanisms are dependencies with one home each. Another package that imports one of them begins a second mechanism
// for the same promise.
var mechanisms = []struct {
	path  string   // or the beginning of it
	homes []string // packages that may import it, with their subfolders
	why   string
}{
	{"github.com/santhosh-tekuri/jsonschema", []string{"schema"}, "package schema is the only validator of JSON Schema"},
	{"github.com/google/jsonschema-go", nil, "package schema is the only validator of JSON Schema; this one is only linked by the SDK for MCP"},
	{"go.opentelemetry.io/otel/sdk", []string{"docs/examples"}, "observe/otlp is the only exporter; observe/otelobserve needs no more than the API"},
	{"go.opentelemetry.io/otel/exporters", nil, "observe/otlp is the only exporter"},
	{"github.com/rivo/uniseg", nil, "internal/clip shortens text for people"},
}

func TestOneMechanism(t *testing.T) {
	for _, p := range list(t) {
		name, ok := local(p.ImportPath)
		if !ok {
			continue
		}
		for _, path := range p.Imports {
			for _, m := range mechanisms {
				home := func(h string) bool { return name == h || strings.HasPrefix(name, h+"/") }
				if strings.HasPrefix(path, m.path) && !slices.ContainsFunc(m.homes, home) {
					t.Errorf("%s imports %s, but %s", name, path, m.why)
				}
			}
		}
	}
}
