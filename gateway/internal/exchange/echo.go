package exchange

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// An answer of the responses format repeats what was asked for. Of an answer in another format only the request knows that; a relayed one
// says it itself.

// echoedMembers are the members of a request that its answer repeats. What only the vendor can say, such as the service tier, is not among them.
var echoedMembers = []string{
	"instructions", "max_output_tokens", "max_tool_calls", "metadata", "parallel_tool_calls", "prompt_cache_key", "prompt_cache_retention", "reasoning",
	"safety_identifier", "store", "temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p", "truncation", "user",
}

// maxFirstEcho bounds a member that the first two events of a stream repeat: the tools of an agent have tens of kilobytes, and the last event
// has them all.
const maxFirstEcho = 4 << 10

// echoOf returns the fields of the request that the answer repeats, each up to a size, and the id of the previous
// answer, or null.
func (r *Response) echoOf(most int) map[string]json.RawMessage {
	if r.Asked == nil {
		return nil
	}
	before := r.Codec.Properties().Previous
	out := map[string]json.RawMessage{before: json.RawMessage("null")}
	for key, v := range js.Members(js.Trim(r.Asked)) {
		if len(v) > most || js.Kind(v) == 'n' || string(key) != before && !slices.Contains(echoedMembers, string(key)) {
			continue
		}
		if string(key) == "tools" {
			v = redactTools(v)
		}
		out[string(key)] = v
	}
	return out
}

// redactTools returns tools without what lets the vendor in at MCP servers: answers are kept, and shown to every key of the team. An
// address may have a secret in its path, so that only the host is left.
func redactTools(tools []byte) []byte {
	if js.Kind(tools) != '[' {
		return tools
	}
	var w js.Writer
	w.Array()
	for tool := range js.Elements(tools) {
		if !js.Is(js.Get(tool, "type"), "mcp") {
			w.Raw(tool)
			continue
		}
		w.Object()
		for key, v := range js.Members(tool) {
			switch string(key) {
			case "authorization", "headers":
				continue
			case "server_url":
				v = hostOf(js.Text(v))
			}
			w.AnyKey(string(key))
			w.Raw(v)
		}
		w.End()
	}
	w.EndArray()
	return w.Buf
}

// hostOf returns the host of an address as a value of JSON.
func hostOf(address string) []byte {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return []byte("null")
	}
	return js.AppendQuoted(nil, u.Scheme+"://"+u.Host)
}

// firstEcho returns the fields that the first events of a stream repeat.
func (r *Response) firstEcho() map[string]json.RawMessage { return r.echoOf(maxFirstEcho) }

// AddEcho adds what the client asked for to the end of an answer. What the upstream says of that is about the request that it got.
func (r *Response) AddEcho(f llm.Finish) llm.Finish {
	if r.Asked == nil || r.Relaying {
		return f
	}
	own := maps.Clone(f.Extra[r.Codec.Format])
	if own == nil {
		own = make(map[string]json.RawMessage)
	}
	maps.Copy(own, r.echoOf(len(r.Asked)))
	if len(own) > 0 {
		f.Extra = maps.Clone(f.Extra)
		if f.Extra == nil {
			f.Extra = llm.Extra{}
		}
		f.Extra[r.Codec.Format] = own
	}
	return f
}

// isDoneHere reports whether a warning says that the upstream ignores what the gateway does in its place: it keeps the answer, with its metadata.
func (r *Response) isDoneHere(w llm.Warning) bool {
	return r.Asked != nil && w.Code == llm.Ignored && (w.Feature == "store" || w.Feature == "metadata") && js.Kind(js.Get(r.Asked, "store")) != 'f'
}
