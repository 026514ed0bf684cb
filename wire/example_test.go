package wire_test

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
	"github.com/toolpost/toolpost/wire/format"
)

// A request in one format goes on in another. What it cannot carry there is a
// warning.
func ExampleCodec_EncodeRequest() {
	req, _, err := wire.Codec{Format: wire.Chat}.DecodeRequest([]byte(`{
		"model": "m", "seed": 7, "max_tokens": 50,
		"messages": [{"role": "user", "content": "Weather in Rome?"}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	body, warnings, err := wire.Codec{Format: wire.Messages}.EncodeRequest(req, false)
	fmt.Println(string(body), err)
	for _, w := range warnings {
		fmt.Println(w.Code, w.Feature)
	}
	// Output:
	// {"model":"m","max_tokens":50,"messages":[{"role":"user","content":"Weather in Rome?"}]} <nil>
	// ignored seed
}

// A stream whose parallel calls all have the index 0 is still two calls.
func ExampleCodec_DecodeStream() {
	stream := `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"weather","arguments":"{\"city\":\"Rome\"}"}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]}}]}

data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}

data: [DONE]
`
	for ev, err := range (wire.Codec{Format: wire.Chat}).DecodeStream(strings.NewReader(stream)) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if call, ok := ev.(llm.Call); ok {
			fmt.Println(call.ID, call.Name, string(call.Args))
		}
	}
	// Output:
	// a weather {"city":"Rome"}
	// b weather {"city":"Oslo"}
}

// Detect finds out what was captured.
func ExampleDetect() {
	capture := "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\"}}\n\n"
	found, ok := wire.Detect([]byte(capture))
	fmt.Println(found.Format, found.Framing, ok)
	// Output: messages sse true
}

// A gateway whose client and upstream speak the same format copies the bytes
// and watches the events. Calls are held until they are whole; one that must
// not reach the client is replaced, and only then is the stream written anew.
func ExampleCodec_Relay() {
	upstream := strings.NewReader(`data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"content":"I will clean up."}}]}

data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"delete_all","arguments":"{}"}}]}}]}

data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: [DONE]

`)
	codec, _ := wire.For(wire.Chat)
	var client bytes.Buffer
	err := codec.Relay(&client, upstream, func(ev llm.Event) format.RelayDecision {
		switch ev := ev.(type) {
		case llm.CallStart, llm.CallDelta:
			return format.Hold
		case llm.Call:
			if ev.Name == "delete_all" {
				return format.Replace(llm.TextDelta{Text: " (That was not allowed.)"})
			}
		}
		return format.Pass
	})
	fmt.Println(err)
	for ev, err := range codec.DecodeStream(&client) {
		switch ev := ev.(type) {
		case llm.TextDelta:
			fmt.Print(ev.Text)
		case llm.Call:
			fmt.Print(ev.Name)
		}
		if err != nil {
			fmt.Print(err)
		}
	}
	// Output:
	// <nil>
	// I will clean up. (That was not allowed.)
}
