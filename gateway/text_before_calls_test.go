package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
	wireformat "github.com/toolpost/toolpost/wire/format"
)

// heldTexts end in text that may begin a call, or that was once taken for the beginning of one.
var heldTexts = []string{"a", "Now I run `ls`", "See [1]", "I use <", "Result: {", "I call the function", "go to", "```", "this is <tool", "x <|", "Let me check:\n\n", "get_weather(", "Köln 😀"}

// remarks are stream comments that warn of text that looks like a call.
var remarks = regexp.MustCompile(`(?m)^: .*\n\n`)

// turn is an answer with text before each of its calls, if the formats of client and upstream keep the order of parts,
// otherwise before the first. In streams, each character is a delta.
func turn(text string, inOrder, pieces bool) (events []llm.Event, want []string) {
	said := func(text string) {
		want = append(want, "text "+text)
		for text != "" {
			n := len(text)
			if pieces {
				_, n = utf8.DecodeRuneInString(text)
			}
			events = append(events, llm.TextDelta{Text: text[:n]})
			text = text[n:]
		}
	}
	call := func(id, args string) {
		want = append(want, "call "+args)
		c := llm.Call{ID: id, Name: "get_weather", Args: json.RawMessage(args)}
		events = append(events, llm.CallStart{ID: id, Name: c.Name}, llm.CallDelta{ID: id, Args: args}, c)
	}
	events = append(events, llm.Start{ID: "answer_1", Model: "m", Created: time.Unix(1, 0)})
	said(text)
	call("call_a", `{"city":"Rome"}`)
	if inOrder {
		said("b " + text)
		call("call_b", `{"city":"Oslo"}`)
	}
	return append(events, llm.Finish{Reason: llm.ToolCalls, ID: "answer_1", Model: "m"}), want
}

// Text before a call stays before it, however it ends: in streams and documents, translated, and relayed byte for byte.
func TestTextBeforeCallsKeepsItsPlace(t *testing.T) {
	t.Parallel()
	ordered := []string{wire.Messages, wire.Gemini, wire.Converse, wire.Responses}
	var said []byte
	var streams bool
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		format := strings.Split(r.URL.Path, "/")[1]
		codec, _ := wire.For(format)
		w.Header().Set("Content-Type", map[bool]string{true: codec.StreamType(), false: "application/json"}[streams])
		w.Write(said)
	}))
	defer up.Close()
	vendors := map[string]provider.Vendor{}
	var routes []gateway.ModelRoute
	for format := range roots {
		vendors["up-"+format] = provider.Vendor{BaseURL: up.URL + "/" + format, Wires: []string{format}}
		routes = append(routes, to("m-"+format, "up-"+format+"/some-model"))
	}
	url := serve(t, gateway.Setup{Open: opening(&provider.Client{Vendors: vendors, Route: provider.Native}), Routes: routes})
	for upstream := range roots {
		for format := range roots {
			for _, pieces := range []bool{false, true} {
				for _, streams = range []bool{false, true} {
					for _, text := range heldTexts {
						events, want := turn(text, slices.Contains(ordered, upstream) && slices.Contains(ordered, format), pieces)
						said = answerIn(t, upstream, events, streams)
						name := fmt.Sprintf("%s over %s, stream=%t, pieces=%t, %q", format, upstream, streams, pieces, text)
						if got := ask(t, url, format, question("m-"+upstream), streams); got.err != nil {
							t.Errorf("%s: %v", name, got.err)
						} else if lines := partsOf(got.Message); !slices.Equal(lines, want) {
							t.Errorf("%s:\ngot  %q\nwant %q", name, lines, want)
						}
						if format != upstream {
							continue
						}
						codec, _ := wire.For(format)
						codec.Quirks.MaxTokens = "max_tokens"
						body, _, _ := codec.EncodeRequest(question("m-"+upstream), streams)
						relayed := raw(t, url, format, "m-"+upstream, body, streams)
						if relayed = remarks.ReplaceAll(relayed, nil); !bytes.Equal(relayed, said) {
							t.Errorf("%s: relayed\n%s\nof\n%s", name, relayed, said)
						}
					}
				}
			}
		}
	}
}

// answerIn writes an answer in a format.
func answerIn(t *testing.T, format string, events []llm.Event, stream bool) []byte {
	t.Helper()
	codec, _ := wire.For(format)
	if !stream {
		var build llm.Builder
		for _, ev := range events {
			build.Add(ev)
		}
		b, _, err := codec.EncodeResponse(build.Response())
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var out bytes.Buffer
	enc := codec.NewStream(&out, wireformat.Head{})
	for _, ev := range events {
		if err := enc.Write(ev); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// partsOf returns the texts and calls of a message as lines.
func partsOf(m llm.Message) (lines []string) {
	for _, p := range m.Parts {
		switch p := p.(type) {
		case llm.Text:
			lines = append(lines, "text "+p.Text)
		case llm.Call:
			lines = append(lines, "call "+string(p.Args))
		}
	}
	return lines
}
