// Command server is a server of tools that the official conformance suite of MCP asks for. It is served by the same
// package as 'toolpost mcp serve'.
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/serve"
	"github.com/toolpost/toolpost/tool"
)

func data(text string) []byte {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic(err) // a constant
	}
	return b
}

var (
	picture = llm.Media{Kind: llm.Image, MIME: "image/png", Data: data("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==")}
	sound   = llm.Media{Kind: llm.Audio, MIME: "audio/wav", Data: data("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA==")}
	file    = llm.Media{Kind: llm.Document, MIME: "application/pdf", Name: "resource", Data: []byte("%PDF-1.4\n")}
)

// returning is a tool that returns parts.
func returning(name string, parts ...llm.Part) tool.Tool {
	t := tool.New(name, "Return what the suite expects.", nil, func(context.Context, json.RawMessage) (tool.Output, error) {
		return tool.Output{Parts: parts}, nil
	})
	t.Effects = tool.ReadOnly
	return t
}

// asking is a tool that asks the user.
func asking(name, schema string) tool.Tool {
	return tool.New(name, "Ask the user.", json.RawMessage(`{"type":"object","properties":{"message":{"type":"string"}}}`), func(ctx context.Context, args json.RawMessage) (tool.Output, error) {
		var in struct{ Message string }
		if err := json.Unmarshal(args, &in); err != nil || in.Message == "" {
			in.Message = "Please answer."
		}
		v, err := tool.Ask(ctx, tool.Prompt{Message: in.Message, Schema: json.RawMessage(schema), Held: true})
		if err != nil {
			return tool.Text("the user declined"), nil
		}
		return tool.Text("the user answered " + string(v)), nil
	})
}

const draft = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},` +
	`"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},` +
	`"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}`

func tools() *tool.Set {
	fail := tool.New("test_error_handling", "Fail.", nil, func(context.Context, json.RawMessage) (tool.Output, error) {
		return tool.Output{}, errors.New("this tool intentionally returns an error for testing")
	})
	steps := tool.New("test_tool_with_progress", "Report progress.", nil, func(ctx context.Context, _ json.RawMessage) (tool.Output, error) {
		for _, done := range []float64{0, 50, 100} {
			tool.ReportProgress(ctx, tool.Progress{Done: done, Total: 100, Message: fmt.Sprint("completed ", done)})
			time.Sleep(50 * time.Millisecond)
		}
		return tool.Text("done"), nil
	})
	schema := tool.New("json_schema_2020_12_tool", "Take arguments of a schema of draft 2020-12.", json.RawMessage(draft), func(_ context.Context, args json.RawMessage) (tool.Output, error) {
		return tool.Text(string(args)), nil
	})
	return tool.MustSet(fail, steps, schema,
		returning("test_simple_text", llm.Text{Text: "This is a simple text response for testing."}),
		returning("test_image_content", picture), returning("test_audio_content", sound), returning("test_embedded_resource", file),
		returning("test_multiple_content_types", llm.Text{Text: "Multiple content types test:"}, picture, file),
		asking("test_elicitation", `{"type":"object","properties":{"username":{"type":"string"},"email":{"type":"string"}},"required":["username","email"]}`),
		asking("test_elicitation_sep1034_defaults", `{"type":"object","properties":{"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}}}`),
		asking("test_elicitation_sep1330_enums", `{"type":"object","properties":{"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}}}`),
	)
}

func main() {
	s, err := serve.NewService(serve.ServiceOptions{Runner: &invoke.Runner{Tools: tools(), Policy: invoke.AllowAll}})
	if err != nil {
		log.Fatal(err)
	}
	h, err := s.Handler(serve.HTTPAccess{})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	fmt.Println("listening on http://" + os.Args[1] + "/mcp")
	log.Fatal(http.ListenAndServe(os.Args[1], mux))
}
