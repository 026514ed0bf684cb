package mcpbridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/internal/bridge"
	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/tool"
)

// dial connects a client of the SDK to a bridge, and keeps what goes over the line.
func dial(t *testing.T, b *bridge.Bridge) (*mcp.ClientSession, *bytes.Buffer) {
	t.Helper()
	server, err := b.Server()
	if err != nil {
		t.Fatal(err)
	}
	theirs, ours := mcp.NewInMemoryTransports()
	serving, err := server.Connect(t.Context(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	var line bytes.Buffer
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), &mcp.LoggingTransport{Transport: ours, Writer: &line}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); serving.Wait() })
	return client, &line
}

func bridged(t *testing.T, client *mcp.ClientSession, name string, args any) *mcp.CallToolResult {
	t.Helper()
	res, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return res
}

func oneText(t *testing.T, res *mcp.CallToolResult) string {
	t.Helper()
	if len(res.Content) != 1 {
		t.Fatalf("%d pieces of content", len(res.Content))
	}
	text, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("the content is a %T", res.Content[0])
	}
	return text.Text
}

func echoTool() tool.Tool {
	return tool.Func("echo", "Says it again", func(_ context.Context, in struct {
		Text string `json:"text"`
	}) (string, error) {
		return in.Text, nil
	})
}

// Each function tool is one MCP tool of a server that belongs to one question.
func TestABridgeOffersEveryToolOnce(t *testing.T) {
	bare := tool.New("bare", "", nil, func(context.Context, json.RawMessage) (tool.Output, error) { return tool.Text("ran"), nil })
	b := &bridge.Bridge{Tools: tool.MustSet(echoTool(), bare), Others: []llm.ToolDef{{Name: "theirs", Description: "Run by the caller"}}}
	client, _ := dial(t, b)
	list, err := client.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	said := make(map[string]string)
	for _, d := range list.Tools {
		said[d.Name] = d.Description
	}
	if want := map[string]string{"echo": "Says it again", "bare": "No description", "theirs": "Run by the caller"}; !reflect.DeepEqual(said, want) {
		t.Errorf("%v, want %v", said, want)
	}
	if name := client.InitializeResult().ServerInfo.Name; name != "toolpost" {
		t.Errorf("the server is called %s", name)
	}
	if c := client.InitializeResult().Capabilities; c.Prompts != nil || c.Resources != nil || c.Completions != nil {
		t.Errorf("it offers more than tools: %+v", c)
	}
}

// The names that a program may use are exactly those of the bridge.
func TestAllowedNamesAreExactlyTheBridges(t *testing.T) {
	for name, prefix := range map[string]string{"": "mcp__toolpost__", "ai_sdk_tool_bridge": "mcp__ai_sdk_tool_bridge__"} {
		b := &bridge.Bridge{Name: name, Tools: tool.MustSet(echoTool()), Others: []llm.ToolDef{{Name: "theirs"}}}
		if got, want := b.Allowed(), []string{prefix + "echo", prefix + "theirs"}; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		if got := b.WireName("echo"); got != prefix+"echo" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := (&bridge.Bridge{}).Allowed(); got == nil || len(got) != 0 {
		t.Errorf("without tools %v is allowed; it must be an empty list, not none", got)
	}
}

// Every name has a way back, also those that a tool should not have.
func TestNamesMapBackTotally(t *testing.T) {
	const prefix = "mcp__ai_sdk_tool_bridge__"
	b := &bridge.Bridge{Name: "ai_sdk_tool_bridge", Others: []llm.ToolDef{{Name: "x"}, {Name: prefix + "y"}, {Name: prefix + "x"}, {Name: "mcp__z"}}}
	for name, want := range map[string]struct {
		original string
		known    bool
	}{
		"x":                       {"x", true},
		prefix + "x":              {"x", true}, // what the program calls x
		prefix + "y":              {prefix + "y", true},
		prefix + prefix + "y":     {prefix + "y", true},
		prefix + prefix + "x":     {prefix + "x", true},
		prefix + "mcp__z":         {"mcp__z", true},
		prefix + "unknown":        {"unknown", false},
		prefix:                    {prefix, false},
		"":                        {"", false},
		"Bash":                    {"Bash", false},
		"mcp__other__x":           {"mcp__other__x", false},
		"mcp__ai_sdk_tool_bridge": {"mcp__ai_sdk_tool_bridge", false},
	} {
		if got, known := b.Original(name); got != want.original || known != want.known {
			t.Errorf("%q is %q, %v; want %q, %v", name, got, known, want.original, want.known)
		}
	}
	for _, d := range b.Others {
		if got, known := b.Original(b.WireName(d.Name)); got != d.Name || !known {
			t.Errorf("%s comes back as %s", d.Name, got)
		}
	}
}

// Names that would collide are refused instead of hiding one of two tools.
func TestABridgeRefusesWhatItCannotOffer(t *testing.T) {
	for why, b := range map[string]*bridge.Bridge{
		"two tools are called echo":  {Tools: tool.MustSet(echoTool()), Others: []llm.ToolDef{{Name: "echo"}}},
		"two tools are called b":     {Others: []llm.ToolDef{{Name: "b"}, {Name: "b"}}},
		"is not a name for a bridge": {Name: "a__b"},
		"they are an object":         {Others: []llm.ToolDef{{Name: "list", Schema: json.RawMessage(`{"type":"array"}`)}}},
		"is not a JSON object":       {Others: []llm.ToolDef{{Name: "list", Schema: json.RawMessage(`true`)}}},
		"cannot be offered":          {Others: []llm.ToolDef{{Name: "h", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"array","x-mcp-header":"A"}}}`)}}},
		"which MCP cannot offer":     {Others: []llm.ToolDef{{Name: "patch", Kind: llm.FreeTool}}},
	} {
		if _, err := b.Server(); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%v, want one that says: %s", err, why)
		}
	}
}

// schemas are what a translation into other schemas would lose.
var schemas = map[string]string{
	"unions":     `{"type":"object","properties":{"v":{"anyOf":[{"type":["string","null"],"pattern":"^<a&b>$"},{"type":"integer","minimum":12345678901234567890}]}},"required":["v"]}`,
	"references": `{"$schema":"http://json-schema.org/draft-07/schema#","$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}}}},"type":"object","properties":{"n":{"$ref":"#/$defs/n"}}}`,
	"order":      `{"zeta":1,"type":"object","alpha":1.0,"properties":{"b":{"const":1e2},"a":{"oneOf":[{"type":"string"}]}},"additionalProperties":false}`,
	"spaces":     "{ \"type\" : \"object\",\n \"properties\" : { } }",
	"no type":    `{"properties":{"q":{"type":"string"}}}`,
	"empty":      `{}`,
}

// Schemas pass as they are, byte for byte; only white space between tokens goes, and a
// schema without a type is said to be one of an object.
func TestSchemasPassUntouched(t *testing.T) {
	var b bridge.Bridge
	want := make(map[string]string)
	for name, text := range schemas {
		b.Others = append(b.Others, llm.ToolDef{Name: strings.ReplaceAll(name, " ", "_"), Schema: json.RawMessage(text)})
		var compact bytes.Buffer
		if err := json.Compact(&compact, []byte(text)); err != nil {
			t.Fatal(err)
		}
		want[name] = compact.String()
	}
	want["no type"], want["empty"] = `{"type":"object","properties":{"q":{"type":"string"}}}`, `{"type":"object"}`
	client, line := dial(t, &b)
	if _, err := client.ListTools(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for name, text := range want {
		if !strings.Contains(line.String(), `"inputSchema":`+text) {
			t.Errorf("%s: %s is not what the client got", name, text)
		}
	}
}

// A tool without a function is offered, and says that it is not run here.
func TestToolsWithoutAFunctionSaySo(t *testing.T) {
	client, _ := dial(t, &bridge.Bridge{Others: []llm.ToolDef{{Name: "theirs"}}})
	res := bridged(t, client, "theirs", map[string]any{})
	if text := oneText(t, res); !res.IsError || text != "Provider-side execution is disabled for AI SDK bridge tools." {
		t.Errorf("error %v: %s", res.IsError, text)
	}
}

// What a tool returns is one text, and what goes wrong is a result, never an error of
// the protocol.
func TestWhatABridgedToolReturns(t *testing.T) {
	var got string
	raw := func(name string, fn func(json.RawMessage) (tool.Output, error)) tool.Tool {
		return tool.New(name, "d", schema.Schema(`{"type":"object"}`), func(_ context.Context, args json.RawMessage) (tool.Output, error) {
			got = string(args)
			return fn(args)
		})
	}
	set := tool.MustSet(echoTool(),
		tool.Func("sum", "Adds", func(_ context.Context, in struct{ A, B int }) (map[string]int, error) {
			return map[string]int{"sum": in.A + in.B}, nil
		}),
		raw("fails", func(json.RawMessage) (tool.Output, error) { return tool.Output{}, errors.New("the disk is full") }),
		raw("panics", func(json.RawMessage) (tool.Output, error) { panic("secret state") }),
		raw("any", func(json.RawMessage) (tool.Output, error) { return tool.Text("ok"), nil }),
		raw("pictures", func(json.RawMessage) (tool.Output, error) {
			return tool.Output{Parts: []llm.Part{llm.Media{Kind: llm.Image, MIME: "image/png", Data: []byte("PNG")}}}, nil
		}),
	)
	client, _ := dial(t, &bridge.Bridge{Tools: set})
	if res := bridged(t, client, "echo", map[string]any{"text": `a "b" <c>`}); res.IsError || oneText(t, res) != `a "b" <c>` {
		t.Errorf("a string: %+v", res)
	}
	if res := bridged(t, client, "sum", map[string]any{"A": 2, "B": 3}); res.IsError || oneText(t, res) != `{"sum":5}` {
		t.Errorf("a value: %s", oneText(t, res))
	}
	if res := bridged(t, client, "fails", map[string]any{}); !res.IsError || !strings.Contains(oneText(t, res), "the disk is full") {
		t.Errorf("an error: %s", oneText(t, res))
	}
	if res := bridged(t, client, "panics", map[string]any{}); !res.IsError {
		t.Error("a panic is no error")
	}
	if res := bridged(t, client, "echo", map[string]any{"text": 7, "more": 1}); !res.IsError && oneText(t, res) != "7" {
		t.Errorf("wrong arguments: %s", oneText(t, res))
	}
	for _, args := range []any{nil, "text", 7, []any{1}} {
		client, _ := dial(t, &bridge.Bridge{Tools: set}) // whose loop guard has seen nothing
		if res := bridged(t, client, "any", args); res.IsError || got != "{}" {
			t.Errorf("arguments %v became %s", args, got)
		}
	}
	if res := bridged(t, client, "pictures", nil); len(res.Content) != 1 || string(res.Content[0].(*mcp.ImageContent).Data) != "PNG" {
		t.Errorf("a picture: %+v", res.Content)
	}
}

// Calls go through the runtime: it validates them, and decides about tools of others.
func TestBridgedCallsGoThroughTheRuntime(t *testing.T) {
	ran := 0
	foreign := tool.Tool{Name: "foreign", Description: "d", Origin: tool.MCP, Call: func(context.Context, json.RawMessage) (tool.Output, error) {
		ran++
		return tool.Text("done"), nil
	}}
	strict := tool.New("strict", "d", schema.Schema(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`), func(context.Context, json.RawMessage) (tool.Output, error) {
		ran++
		return tool.Text("done"), nil
	})
	client, _ := dial(t, &bridge.Bridge{Tools: tool.MustSet(foreign, strict)})
	for _, name := range []string{"foreign", "strict"} {
		if res := bridged(t, client, name, map[string]any{}); !res.IsError || ran != 0 {
			t.Errorf("%s ran %d times: %s", name, ran, oneText(t, res))
		}
	}
	if _, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "unknown"}); err == nil {
		t.Error("a tool that nobody offers was called")
	}
}

// The id by which a program knows a call reaches whoever runs it.
func TestTheIDOfACallIsPassedOn(t *testing.T) {
	for name, row := range map[string]struct{ meta, want any }{
		"said":     {"toolu_1", "toolu_1"},
		"none":     {nil, ""},
		"a number": {7, ""},
		"control":  {"a\x1bb", ""},
		"too long": {strings.Repeat("x", 500), ""},
	} {
		var got string
		client, _ := dial(t, &bridge.Bridge{Tools: tool.MustSet(echoTool()), Do: func(_ context.Context, c llm.Call) (llm.Result, error) {
			got = c.ID
			return llm.Result{}, nil
		}})
		params := &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "x"}}
		if row.meta != nil {
			params.Meta = mcp.Meta{"claudecode/toolUseId": row.meta}
		}
		if _, err := client.CallTool(t.Context(), params); err != nil || got != row.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
