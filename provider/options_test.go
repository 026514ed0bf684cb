package provider

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
	"github.com/toolpost/toolpost/wire/format"
)

var update = flag.Bool("update", false, "write docs/reference/vendors.md")

func ptr[T any](v T) *T { return &v }

// samples ask for each option.
var samples = map[string]func(*llm.Request){
	"model":           func(r *llm.Request) { r.Model = "other" },
	"system":          func(r *llm.Request) { r.System = "Be brief." },
	"messages":        func(r *llm.Request) { r.Messages = append(r.Messages, llm.User("more")) },
	"tools":           func(r *llm.Request) { r.Tools = append(r.Tools, llm.ToolDef{Name: "g"}) },
	"tools.strict":    func(r *llm.Request) { r.Tools[0].Strict = ptr(true) },
	"tools.examples":  func(r *llm.Request) { r.Tools[0].Examples = []json.RawMessage{[]byte(`{"a":"b"}`)} },
	"tools.free_text": func(r *llm.Request) { r.Tools[0] = llm.ToolDef{Name: "f", Kind: llm.FreeTool} },
	"tools.grammar": func(r *llm.Request) {
		r.Tools[0] = llm.ToolDef{Name: "f", Kind: llm.FreeTool, Grammar: &llm.Grammar{Syntax: "regex", Definition: "a+"}}
	},
	"tools.web_search": func(r *llm.Request) {
		r.Tools = append(r.Tools, llm.ToolDef{Kind: llm.HostedTool, Name: llm.WebSearch})
	},
	"tool_choice.required": func(r *llm.Request) { r.Choice.Mode = llm.MustCall },
	"tool_choice.named":    func(r *llm.Request) { r.Choice = llm.ToolChoice{Mode: llm.MustCall, Name: "f"} },
	"tool_choice.none":     func(r *llm.Request) { r.Choice.Mode = llm.MustNotCall },
	"tool_choice.allowed":  func(r *llm.Request) { r.Choice.Allowed = []string{"f"} },
	"one_call":             func(r *llm.Request) { r.OneCall = true },
	"output":               func(r *llm.Request) { r.Tools, r.Output = nil, sampleOutput },
	"output.beside_tools":  func(r *llm.Request) { r.Output = sampleOutput },
	"max_tokens":           func(r *llm.Request) { r.MaxTokens = 77 },
	"temperature":          func(r *llm.Request) { r.Temperature = ptr(0.5) },
	"top_p":                func(r *llm.Request) { r.TopP = ptr(0.5) },
	"top_k":                func(r *llm.Request) { r.TopK = ptr(5) },
	"frequency_penalty":    func(r *llm.Request) { r.FrequencyPenalty = ptr(0.5) },
	"presence_penalty":     func(r *llm.Request) { r.PresencePenalty = ptr(0.5) },
	"seed":                 func(r *llm.Request) { r.Seed = ptr(int64(5)) },
	"stop":                 func(r *llm.Request) { r.Stop = []string{"END"} },
	"n":                    func(r *llm.Request) { r.N = 3 },
	"reasoning.off":        func(r *llm.Request) { r.Reasoning = &llm.Reasoning{Off: true} },
	"reasoning.effort":     func(r *llm.Request) { r.Reasoning = &llm.Reasoning{Effort: "high"} },
	"reasoning.budget":     func(r *llm.Request) { r.Reasoning = &llm.Reasoning{Tokens: 2000}; r.MaxTokens = 9000 },
	"reasoning.summary":    func(r *llm.Request) { r.Reasoning = &llm.Reasoning{Summary: "detailed"} },
	"budget":               func(r *llm.Request) { r.RetryBudget = llm.NewRetryBudget(1) },
	"text_calls":           func(r *llm.Request) { r.Promotion = llm.PromoteAll },
	"allow_echoes":         func(r *llm.Request) { r.AllowEchoes = true },
	"echoes":               func(r *llm.Request) { r.Echoes = &llm.EchoMemory{Full: true} },
	"hold_doubtful":        func(r *llm.Request) { r.HoldDoubtful = true },
	"limits":               func(r *llm.Request) { r.Limits.Text = 1000 },
	"extra":                func(*llm.Request) {}, // see handled: it depends on the format
}

var sampleOutput = &llm.OutputFormat{Schema: []byte(`{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]}`)}

// unsent are fields that are for us, not for the vendor.
var unsent = []string{"model", "budget", "text_calls", "allow_echoes", "echoes", "hold_doubtful", "limits"}

// wireVendor is the vendor who made a format.
var wireVendor = map[string]string{wire.Chat: "openai", wire.Responses: "openai", wire.Messages: "anthropic", wire.Gemini: "gemini", wire.Ollama: "ollama", wire.Converse: "bedrock"}

func propertiesOf(format string) format.Properties { return wire.Codec{Format: format}.Properties() }

// ables are vendors that do all that their format can, where its maker does not
// for all models.
var ables = map[string]Vendor{wire.Converse: {Strict: true, Both: true}}

// capable opens a model that can do all its vendor can. A row changes the
// vendor's.
func capable(t *testing.T, vendor, format string, row ...Vendor) *Model {
	t.Helper()
	yes := catalog.Answer{Support: catalog.Yes}
	id := vendor + "/capable"
	c := &Client{Catalog: catalog.Default().With(catalog.Model{ID: catalog.ID{Raw: id}, Kind: "chat", Wire: format, NativeTools: yes, ParallelTools: yes,
		ToolChoiceRequired: yes, JSONMode: yes, JSONSchema: yes, Reasoning: yes, Efforts: strings.Join(efforts, " ")})}
	if len(row) > 0 {
		c.Vendors = map[string]Vendor{vendor: row[0]}
	}
	t.Setenv("AZURE_OPENAI_ENDPOINT", "https://x.example")
	t.Setenv("AWS_REGION", "us-east-1")
	t.Setenv("GOOGLE_CLOUD_LOCATION", "global")
	t.Setenv("GOOGLE_CLOUD_PROJECT", "demo")
	m, err := c.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	return m.(*Model)
}

// sent is what a request becomes: its body, and what was said about it.
func sent(m *Model, change func(*llm.Request)) (string, []llm.Warning, error) {
	req := &llm.Request{Messages: []llm.Message{llm.User("hi")}, Tools: []llm.ToolDef{{Name: "f", Schema: sampleOutput.Schema}, {Name: "h"}}}
	change(req)
	j, err := m.plan(req)
	if err != nil {
		return "", nil, err
	}
	body, warnings, err := j.codec.EncodeRequest(j.req, true)
	return string(body), append(j.warnings, warnings...), err
}

// handled finds out what becomes of an option by asking for it.
func handled(m *Model, name string) (Handling, error) {
	before, base, err := sent(m, func(*llm.Request) {})
	if err != nil {
		return 0, err
	}
	change := samples[name]
	switch name { // what the request would be without the option
	case "output":
		before, base, _ = sent(m, func(r *llm.Request) { r.Tools = nil })
	case "tools.strict":
		before, base, _ = sent(m, func(r *llm.Request) { r.Tools[0].Strict = ptr(false) })
	case "reasoning.summary": // in a word of the format, where it has some
		if words := m.format().Thinking.Summaries; len(words) > 0 {
			change = func(r *llm.Request) { r.Reasoning = &llm.Reasoning{Summary: words[0]} }
		}
	case "extra":
		change = func(r *llm.Request) { r.Extra = llm.Extra{m.wire: {"custom": []byte("1")}} }
	}
	body, warnings, err := sent(m, change)
	if err != nil {
		return Refused, nil
	}
	worst := Mapped
	for _, w := range warnings {
		if slices.Contains(base, w) {
			continue
		}
		switch w.Code {
		case llm.Ignored:
			return Ignored, nil
		case llm.Degraded, llm.Emulated:
			worst = Degraded
		}
	}
	if worst == Mapped && body == before && !slices.Contains(unsent, name) {
		return 0, fmt.Errorf("it is ignored in silence: %s", body)
	}
	return worst, nil
}

// The table says of every option what becomes of it, and that is what becomes
// of it.
func TestOptions(t *testing.T) {
	for _, format := range wire.Formats() {
		m := capable(t, wireVendor[format], format, ables[format])
		for _, o := range options {
			got, err := handled(m, o.Name)
			if err != nil || got != o.On(propertiesOf(format)) {
				t.Errorf("%s in %s: the table says %s, it is %s (%v)", o.Name, format, o.On(propertiesOf(format)), got, err)
			}
		}
	}
	for _, o := range options {
		if samples[o.Name] == nil {
			t.Errorf("no request asks for %s", o.Name)
		}
	}
}

// A field of a request without a row fails here: say what becomes of it.
func TestEveryFieldIsAnOption(t *testing.T) {
	fields := reflect.TypeFor[llm.Request]()
	for i := range fields.NumField() {
		name := fields.Field(i).Name
		if !slices.ContainsFunc(options, func(o requestOption) bool { return o.Field == name }) {
			t.Errorf("llm.Request.%s is in no row of the table of options", name)
		}
	}
	for field, want := range map[reflect.Type]int{reflect.TypeFor[llm.Reasoning](): 4, reflect.TypeFor[llm.ToolChoice](): 3, reflect.TypeFor[llm.ToolDef](): 10} {
		if field.NumField() != want {
			t.Errorf("%s has %d fields, not %d: give what is new a row in the table of options, and count again", field, field.NumField(), want)
		}
	}
}

// Vendors that differ from the format they speak say so, and it is so.
func TestVendorOptions(t *testing.T) {
	for _, v := range builtin {
		if v.Name == compatible || len(v.Wires) == 0 {
			continue
		}
		vendorOptions(t, v.Name, capable(t, v.Name, v.Wires[0]))
		for family, quirks := range v.Families {
			m := capable(t, v.Name, v.Wires[0])
			m.vendor.Quirks, m.vendor.Families = quirks, nil
			vendorOptions(t, family+" on "+v.Name, m)
		}
	}
}

func vendorOptions(t *testing.T, who string, m *Model) {
	t.Helper()
	for _, o := range options {
		got, err := handled(m, o.Name)
		if want := m.vendor.handling(o, *m.format()); err != nil || got != want {
			t.Errorf("%s: %s: the tables say %s, it is %s (%v)", who, o.Name, want, got, err)
		}
	}
}

// docs/reference/vendors.md is made of the tables.
func TestProvidersPage(t *testing.T) {
	const file = "../docs/reference/vendors.md"
	page := providersPage()
	if *update {
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(page, "\n"), strings.Split(string(old), "\n")); diff != "" {
		t.Errorf("%s is not what the tables say; run go test ./provider -run ProvidersPage -update\n%s", file, diff)
	}
}

// A feature of a format that no row speaks of fails here.
func TestEveryFeatureIsAnOption(t *testing.T) {
	inside := []format.Feature{format.OutputAnyJSON} // part of the row "output"
	for _, format := range wire.Formats() {
		for _, f := range propertiesOf(format).Features {
			if !slices.Contains(inside, f) && !slices.ContainsFunc(options, func(o requestOption) bool { return o.Name == string(f) }) {
				t.Errorf("%s: the feature %s is in no row of the table of options", format, f)
			}
		}
	}
}
