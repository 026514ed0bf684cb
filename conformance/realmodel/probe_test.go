package realmodel

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/provider"
)

// The server takes tools and drops them without a word. A probe finds that out
// by asking, within its budget, and what it writes down changes the next route.
func TestProbeFindsThatToolsAreIgnored(t *testing.T) {
	id := serve(t) + "/v1#any" // a server that is not known to be llama.cpp
	model, err := (&provider.Client{HTTP: Client}).Open(id)
	if err != nil {
		t.Fatal(err)
	}
	p, err := model.(*provider.Model).Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p.Requests > provider.MaxProbe {
		t.Errorf("it asked %d times", p.Requests)
	}
	found := map[string]catalog.Support{}
	for _, f := range p.Findings {
		found[f.Name] = f.Answer
		t.Logf("%s: %v, %s", f.Name, f.Answer, f.Because)
	}
	if found["tools"] != catalog.No {
		t.Errorf("tools: %v, and the model never calls any", found["tools"])
	}
	if route := explain(t, id, p.Record); route.Kind != provider.Constrained {
		t.Errorf("with what was found the route is %s: %q", route, route.Why)
	}
}

// explain returns the route of a model about which a record was written.
func explain(t *testing.T, id string, r provider.Record) provider.Route {
	t.Helper()
	var file strings.Builder
	fmt.Fprintf(&file, "models:\n  %q:\n", r.ID)
	for field, value := range r.Values {
		fmt.Fprintf(&file, "    %s: %s\n", field, value)
	}
	cat, err := catalog.Default().Load("models.yaml", []byte(file.String()))
	if err != nil {
		t.Fatalf("%v in\n%s", err, file.String())
	}
	model, err := (&provider.Client{HTTP: Client, Catalog: cat}).Open(id)
	if err != nil {
		t.Fatal(err)
	}
	route, err := model.(*provider.Model).Explain(nil)
	if err != nil {
		t.Fatal(err)
	}
	return route
}
