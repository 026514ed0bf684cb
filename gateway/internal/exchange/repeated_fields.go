package exchange

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// A Responses answer repeats fields of its request. If the upstream uses another format, the gateway adds them from the
// request. A relayed answer already has them.

// repeatedNames are the request fields that the answer repeats. Fields that only the vendor knows, such as the service
// tier, are not included.
var repeatedNames = []string{
	"instructions", "max_output_tokens", "max_tool_calls", "metadata", "parallel_tool_calls", "prompt_cache_key", "prompt_cache_retention", "reasoning",
	"safety_identifier", "store", "temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p", "truncation", "user",
}

// maxFirstFields limits each field that the first two events of a stream repeat. The tools of an agent can take tens of
// kilobytes, and the last event contains them all.
const maxFirstFields = 4 << 10

// repeatedFields returns the request fields that the answer repeats, each up to a size, and the id of the previous answer, or
// null.
func (r *Response) repeatedFields(most int) map[string]json.RawMessage {
	if r.Asked == nil {
		return nil
	}
	before := r.Codec.Properties().Previous
	out := map[string]json.RawMessage{before: json.RawMessage("null")}
	for key, v := range js.Members(js.Trim(r.Asked)) {
		if len(v) > most || js.Kind(v) == 'n' || string(key) != before && !slices.Contains(repeatedNames, string(key)) {
			continue
		}
		if string(key) == "tools" {
			v = redactTools(v)
		}
		out[string(key)] = v
	}
	return out
}

// redactTools removes the credentials of MCP servers from tools, because answers are stored and visible to every key of
// the team. Only the host of an address is kept, because its path may contain a secret.
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

// hostOf returns the scheme and host of an address as a JSON string, or null.
func hostOf(address string) []byte {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return []byte("null")
	}
	return js.AppendQuoted(nil, u.Scheme+"://"+u.Host)
}

// firstRepeated returns the request fields that the first events of a stream repeat.
func (r *Response) firstRepeated() map[string]json.RawMessage {
	return r.repeatedFields(maxFirstFields)
}

// AddRepeatedFields adds the repeated request fields to the end of an answer. They replace those of the upstream, which describe
// the request that the upstream got.
func (r *Response) AddRepeatedFields(f llm.Finish) llm.Finish {
	if r.Asked == nil || r.Relaying {
		return f
	}
	own := maps.Clone(f.Extra[r.Codec.Format])
	if own == nil {
		own = make(map[string]json.RawMessage)
	}
	maps.Copy(own, r.repeatedFields(len(r.Asked)))
	if len(own) > 0 {
		f.Extra = maps.Clone(f.Extra)
		if f.Extra == nil {
			f.Extra = llm.Extra{}
		}
		f.Extra[r.Codec.Format] = own
	}
	return f
}

// isDoneHere reports whether a warning is about a field that the upstream ignores and the gateway implements: storing
// the answer with its metadata.
func (r *Response) isDoneHere(w llm.Warning) bool {
	return r.Asked != nil && w.Code == llm.Ignored && (w.Feature == "store" || w.Feature == "metadata") && js.Kind(js.Get(r.Asked, "store")) != 'f'
}
