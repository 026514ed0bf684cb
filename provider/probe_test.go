package provider_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
	wireformat "github.com/toolpost/toolpost/wire/format"
)

// probe asks the simulator's model of a name.
func probe(t *testing.T, h host, model string) (*provider.Probe, error) {
	t.Helper()
	server := serve(t, new(sim.Server))
	id := h.vendor + "+" + server.URL + h.root + "#" + model
	c := &provider.Client{
		HTTP: server.Client(), Retry: provider.RetryPolicy{Initial: time.Millisecond, Max: 2 * time.Millisecond}, Timeouts: provider.Timeouts{First: 10 * time.Second},
		Catalog: catalog.Default().With(catalog.Model{ID: catalog.ID{Raw: id}, Wire: h.wire}),
	}
	if strings.Contains(model, "stall") {
		c.Timeouts.First = 50 * time.Millisecond
	}
	return open(t, c, id).(*provider.Model).Probe(t.Context())
}

// found is the answers of a probe by name.
func found(p *provider.Probe) map[string]catalog.Support {
	out := map[string]catalog.Support{}
	for _, f := range p.Findings {
		out[f.Name] = f.Answer
	}
	return out
}

// A probe finds what is true of the simulator's models, with every fault, in
// every format.
func TestProbeFindsTheTruth(t *testing.T) {
	const yes, no, unknown = catalog.Yes, catalog.No, catalog.Unknown
	type facts map[string]catalog.Support
	covered := map[string]bool{}
	for _, c := range []struct {
		model string
		kind  llm.Kind // of the error; Unknown for none
		facts facts
		value string // "field value" of the record
	}{
		{"sim/native", 0, facts{"tools": yes, "forced call": yes, "forbidden call": yes, "several calls": yes, "results": yes, "calls have their own index": yes, "the reason fits the answer": yes}, "native_tools true"},
		{"sim/native+429=1s", llm.RateLimited, nil, ""},
		{"sim/native+429+times=1", 0, facts{"tools": yes}, "native_tools true"},
		{"sim/native+500", llm.Server, nil, ""},
		{"sim/native+503", llm.Overloaded, nil, ""},
		{"sim/native+401", llm.Auth, nil, ""},
		{"sim/native+window=4", llm.TooLong, nil, ""},
		{"sim/native+no-tools", 0, facts{"tools": no}, "native_tools false"},
		{"sim/native+cut=20", llm.Network, nil, ""},
		{"sim/native+stall=1h", llm.Timeout, nil, ""},
		{"sim/native+slow-args=1ms", 0, facts{"tools": yes}, "native_tools true"},
		{"sim/native+wrong-index", 0, facts{"tools": yes, "several calls": yes, "calls have their own index": no}, "native_tools true"},
		{"sim/native+wrong-finish", 0, facts{"tools": yes, "the reason fits the answer": no}, "native_tools true"},
		{"sim/native+length", 0, facts{"says when cut off": yes}, ""},
		{"sim/native+ignore-choice", 0, facts{"tools": yes, "forced call": no, "forbidden call": no}, "tool_choice_required false"},
		{"sim/native+slow=1ms", 0, facts{"tools": yes}, "native_tools true"},
		{"sim/native+fail=3", llm.Overloaded, nil, ""},
		{"sim/native+garbage", llm.Malformed, facts{"tools": yes}, ""}, // some formats pass over it
		{"sim/native+think-call", 0, facts{"tools": yes}, "dialect hermes_json"},
		{"sim/native+strict", 0, facts{"tools": yes}, "native_tools true"},
		{"sim/native+think", 0, facts{"tools": yes}, "native_tools true"},
		{"sim/native+huge=3000", 0, facts{"tools": yes}, "native_tools true"},
		{"sim/native+seed=7", 0, facts{"tools": yes}, "native_tools true"},
		{"sim/hermes_json", 0, facts{"tools": yes, "several calls": yes}, "dialect hermes_json"},
		{"sim/mistral_json", 0, facts{"tools": yes}, "native_tools true"},
	} {
		for _, one := range strings.Split(c.model, "+") {
			name, _, _ := strings.Cut(one, "=")
			covered[name] = true
		}
		for _, h := range hosts {
			p, err := probe(t, h, c.model)
			if c.kind != llm.Unknown && (err != nil || c.facts == nil) {
				want := c.kind
				if h.wire == "ollama" && strings.Contains(c.model, "fail") {
					want = llm.Server // its streams have no codes
				}
				if llm.KindOf(err) != want {
					t.Errorf("%s in %s: %v, want %s", c.model, h.wire, err, want)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s in %s: %v", c.model, h.wire, err)
				continue
			}
			if p.Requests > provider.MaxProbe {
				t.Errorf("%s in %s: %d requests", c.model, h.wire, p.Requests)
			}
			got := found(p)
			for name, want := range c.facts {
				if skip(h.wire, name) {
					continue
				}
				if got[name] != want {
					t.Errorf("%s in %s: %s is %s, want %s: %+v", c.model, h.wire, name, got[name], want, p.Findings)
				}
			}
			field, value, _ := strings.Cut(c.value, " ")
			if field != "" && p.Record.Values[field] != value {
				t.Errorf("%s in %s: the record says %v, want %s", c.model, h.wire, p.Record.Values, c.value)
			}
		}
	}
	for _, f := range sim.Faults() {
		if !covered[f.Name] {
			t.Errorf("no model with the fault %s is probed", f.Name)
		}
	}
}

// skip are the questions that a format has no words for.
func skip(format, name string) bool {
	can := wire.Codec{Format: format}.Properties()
	switch name {
	case "forced call":
		return !can.Has(wireformat.ChoiceRequired)
	case "forbidden call":
		return !can.Has(wireformat.ChoiceNone)
	case "calls have their own index", "the reason fits the answer":
		return format != "chat"
	}
	return false
}

// What a probe records changes the next route.
func TestProbeChangesTheRoute(t *testing.T) {
	for model, want := range map[string]provider.RouteKind{"sim/native": provider.Native, "sim/native+no-tools": provider.Constrained} {
		server := serve(t, new(sim.Server))
		id := server.URL + "/v1#" + model
		before := open(t, &provider.Client{HTTP: server.Client()}, id).(*provider.Model)
		p, err := before.Probe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var file strings.Builder
		fmt.Fprintf(&file, "models:\n  %q: {", id)
		for field, value := range p.Record.Values {
			fmt.Fprintf(&file, "%s: %s, ", field, value)
		}
		file.WriteString("}\n")
		cat, err := catalog.Default().Load("models.yaml", []byte(file.String()))
		if err != nil {
			t.Fatalf("%v in %s", err, file.String())
		}
		route, err := open(t, &provider.Client{HTTP: server.Client(), Catalog: cat}, id).(*provider.Model).Explain(nil)
		if err != nil || route.Kind != want {
			t.Errorf("%s: %s %v, want %s", model, route, err, want)
		}
	}
}

// Nothing is learnt from a probe that is interrupted, wherever that happens, and
// nothing from a question that got no answer.
func TestProbeInterrupted(t *testing.T) {
	for stop := 1; stop <= 8; stop++ {
		ctx, cancel := context.WithCancel(t.Context())
		asked := 0
		inner := new(sim.Server)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if asked++; asked == stop {
				cancel()
				http.Error(w, "too late", http.StatusServiceUnavailable)
				return
			}
			inner.ServeHTTP(w, r)
		}))
		t.Cleanup(server.Close)
		c := &provider.Client{HTTP: server.Client(), Catalog: catalog.Default()}
		p, err := open(t, c, server.URL+"/v1#sim/native").(*provider.Model).Probe(ctx)
		if llm.KindOf(err) != llm.Canceled || p != nil {
			t.Errorf("stopped at question %d: %v %+v", stop, err, p)
		}
		cancel()
	}
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "colour_name") {
			http.Error(w, "later", http.StatusServiceUnavailable)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		new(sim.Server).ServeHTTP(w, r)
	}))
	t.Cleanup(broken.Close)
	c := &provider.Client{HTTP: broken.Client(), Catalog: catalog.Default(), Retry: provider.RetryPolicy{Initial: time.Millisecond, Max: 2 * time.Millisecond}}
	p, err := open(t, c, broken.URL+"/v1#sim/native").(*provider.Model).Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if value, ok := p.Record.Values["json_schema"]; ok {
		t.Errorf("json_schema: %s, from a question that was not answered", value)
	}
}
