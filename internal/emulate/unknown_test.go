package emulate_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/internal/emulate/smallmodel"
	"github.com/toolpost/toolpost/internal/losses"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// unknownWays are the ways in which a model is told about tools in words: every style, and the one for small models.
func unknownWays() map[string]emulate.Emulation {
	ways := map[string]emulate.Emulation{"small": {Size: 1e9, Decider: smallmodel.Wording{}, Host: emulate.OutputHost}}
	for _, style := range emulate.Styles() {
		ways[style] = emulate.Emulation{Style: style}
	}
	return ways
}

// planned is what a server makes of requests for a model that is told about tools in words.
func planned(e emulate.Emulation) losses.Change {
	return func(req *llm.Request) (*llm.Request, []llm.Warning, error) {
		req, left := loss.WithoutHosted(req, func(llm.ToolDef) error { return fmt.Errorf("nobody runs it") })
		untold := 0
		for i, m := range req.Messages {
			req.Messages[i].Parts = slices.DeleteFunc(slices.Clone(m.Parts), hosted)
			untold += len(m.Parts) - len(req.Messages[i].Parts)
		}
		left = append(left, llm.Warning{Code: llm.Ignored, Feature: "history", Detail: fmt.Sprintf("%d hosted calls and results", untold)})
		plan, err := e.Plan(req)
		if err != nil {
			return nil, nil, err
		}
		return plan.Request, append(left, plan.Warnings...), nil
	}
}

// hosted reports whether a part is a call that the provider ran, or its result: those are not told.
func hosted(p llm.Part) bool {
	c, _ := p.(llm.Call)
	r, _ := p.(llm.Result)
	return c.Hosted || r.Hosted
}

// toolRequests are the golden requests with tools.
func toolRequests(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("../../wire/testdata/*/*.txtar")
	if err != nil || len(files) < 30 {
		t.Fatal(files, err)
	}
	list := map[string][]byte{}
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range ar.Files {
			format := part.Name
			if format == "request" {
				format = filepath.Base(filepath.Dir(file))
			}
			if _, ok := wire.For(format); ok && bytes.Contains(part.Data, []byte(`"tools"`)) && len(part.Data) < 10000 {
				list[format+" "+filepath.Base(file)] = part.Data
			}
		}
	}
	return list
}

// toldOtherwise are members whose value is no object of the format, and what becomes of it.
var toldOtherwise = map[string]string{
	"parameters": schemaInWords, "input_schema": schemaInWords, "inputSchema": schemaInWords, "parametersJsonSchema": schemaInWords,
	"schema": schemaInWords, "responseJsonSchema": schemaInWords, "format": schemaInWords,
	"input": argsAsShown, "args": argsAsShown, "arguments": argsAsShown,
}

const (
	schemaInWords = "a schema: the prompt describes the parameters in words"
	argsAsShown   = "data of the model: it is written as it is, or not shown to small models at all"
)

// TestUnknownMembersOfTaughtRequests adds a member that no format knows to each object of requests whose tools, calls and
// results become text: it is sent on, or a warning names it.
func TestUnknownMembersOfTaughtRequests(t *testing.T) {
	for name, body := range toolRequests(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			format, _, _ := strings.Cut(name, " ")
			for way, e := range unknownWays() {
				silent, err := losses.UnknownAfter(wire.Codec{Format: format}, format, body, planned(e))
				if err != nil {
					t.Errorf("%s: %v", way, err)
				}
				for _, object := range silent {
					if !slices.ContainsFunc(strings.Split(object, "."), func(member string) bool { return toldOtherwise[member] != "" }) {
						t.Errorf("%s: %s", way, object)
					}
				}
			}
		})
	}
}

// What is lost is named by the words of package wire, once, and in a bounded number of warnings; a request without such
// members has none, and is not changed.
func TestUnknownMembersAreNamedOnce(t *testing.T) {
	body := func(member string) []byte {
		return []byte(strings.ReplaceAll(`{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"a"},
			{"role":"assistant","content":[{"type":"text","text":"b"},{"type":"tool_use","id":"c1","name":"f","input":{}ZQ}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"r"ZQ}]}],
			"tools":[{"name":"f","input_schema":{"type":"object"}ZQ},{"name":"g","input_schema":{"type":"object"}ZQ}]}`, "ZQ", member))
	}
	var many strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&many, `,"zq%d":1`, i)
	}
	for _, tt := range []struct {
		member string
		want   int
	}{{"", 0}, {`,"zq_x":1`, 1}, {`,"zq_x":1,"zq_y":{"a":1}`, 2}, {many.String(), 1000}} {
		req, _, err := wire.Codec{Format: wire.Messages}.DecodeRequest(body(tt.member))
		if err != nil {
			t.Fatal(err)
		}
		for way, e := range unknownWays() {
			plan, err := e.Plan(req)
			if err != nil {
				t.Fatal(way, err)
			}
			named := slices.DeleteFunc(slices.Clone(plan.Warnings), func(w llm.Warning) bool { return w.Code != llm.Ignored })
			if len(named) != tt.want {
				t.Errorf("%s, %.30s: %d warnings: %.300v", way, tt.member, len(named), named)
			}
			if tt.want > 0 && tt.want < 3 && (named[0] != llm.Warning{Code: llm.Ignored, Feature: "zq_x", Detail: "what it stood in is not sent"}) {
				t.Errorf("%s: %v", way, named)
			}
		}
	}
}

// Planning changes nothing of a request whose answer must match a schema.
func TestPlanKeepsTheOutput(t *testing.T) {
	req := &llm.Request{Messages: []llm.Message{llm.User("a")}, Output: new(llm.OutputFormat), Tools: []llm.ToolDef{{Name: "f"}}}
	if _, err := (emulate.Emulation{}).Plan(req); err != nil {
		t.Fatal(err)
	}
	if req.Output == nil || len(req.Tools) != 1 || req.System != "" || req.Choice.Mode != llm.MayCall {
		t.Errorf("%+v", req)
	}
}
