package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/names"
	"github.com/toolpost/toolpost/llm"
	wireformat "github.com/toolpost/toolpost/wire/format"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

// sharedSamples are requests that have one member of the table each, by the format in which they are written: the place
// where the member stands, as a path, and its value.
var sharedSamples = map[string][]struct{ Format, at, value string }{
	"user":                   {{Chat, "user", `"u1"`}, {Responses, "user", `"u1"`}},
	"prompt_cache_key":       {{Chat, "prompt_cache_key", `"k"`}, {Responses, "prompt_cache_key", `"k"`}},
	"prompt_cache_retention": {{Chat, "prompt_cache_retention", `"24h"`}, {Responses, "prompt_cache_retention", `"24h"`}},
	"service_tier":           {{Chat, "service_tier", `"flex"`}, {Responses, "service_tier", `"flex"`}},
	"include_obfuscation":    {{Chat, "stream_options.include_obfuscation", `false`}, {Responses, "stream_options.include_obfuscation", `false`}},
	"verbosity":              {{Chat, "verbosity", `"low"`}, {Responses, "text.verbosity", `"low"`}},
	"metadata":               {{Chat, "metadata", `{"a":"b"}`}, {Responses, "metadata", `{"a":"b"}`}},
	"store":                  {{Chat, "store", `false`}, {Responses, "store", `false`}},
	"safety_identifier":      {{Chat, "safety_identifier", `"s1"`}, {Responses, "safety_identifier", `"s1"`}, {Messages, "metadata.user_id", `"s1"`}},
	"logprobs":               {{Chat, "logprobs", `true`}, {Responses, "include.0", `"message.output_text.logprobs"`}},
	"top_logprobs":           {{Chat, "top_logprobs", `3`}, {Responses, "top_logprobs", `3`}},
	"detail":                 {{Chat, "messages.0.content.0.image_url.detail", `"low"`}, {Responses, "input.0.content.0.detail", `"low"`}},
	"cache_control": {
		{Chat, "messages.0.content.1.cache_control", `{"ttl":"1h","type":"ephemeral"}`}, {Messages, "messages.0.content.1.cache_control", `{"ttl":"1h","type":"ephemeral"}`},
		{Converse, "messages.0.content.2.cachePoint", `{"ttl":"1h","type":"default"}`},
	},
	"cache_control of tools": {
		{Chat, "tools.0.cache_control", `{"type":"ephemeral"}`}, {Messages, "tools.0.cache_control", `{"type":"ephemeral"}`},
		{Converse, "toolConfig.tools.1.cachePoint", `{"type":"default"}`},
	},
	"citations":      {{Messages, "messages.0.content.2.citations", `{"enabled":true}`}, {Converse, "messages.0.content.2.document.citations", `{"enabled":true}`}},
	"context":        {{Messages, "messages.0.content.2.context", `"c"`}, {Converse, "messages.0.content.2.document.context", `"c"`}},
	"anthropic_beta": {{Messages, "anthropic_beta", `["b"]`}, {Converse, "additionalModelRequestFields.anthropic_beta", `["b"]`}},
	"effort":         {{Messages, "output_config.effort", `"low"`}, {Converse, "outputConfig.effort", `"low"`}},
}

// sampleBodies are requests to which the samples are added: an image, a text, a document and a tool.
var sampleBodies = map[string]string{
	Chat:      `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},{"type":"text","text":"hi"},{"type":"file","file":{"filename":"f","file_data":"data:application/pdf;base64,AAAA"}}]}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}}]}`,
	Responses: `{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AAAA"},{"type":"input_text","text":"hi"},{"type":"input_file","filename":"f","file_data":"data:application/pdf;base64,AAAA"}]}],"tools":[{"type":"function","name":"f","parameters":{"type":"object","properties":{}}}]}`,
	Messages:  `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}},{"type":"text","text":"hi"},{"type":"document","title":"f","source":{"type":"base64","media_type":"application/pdf","data":"AAAA"}}]}],"tools":[{"name":"f","input_schema":{"type":"object","properties":{}}}]}`,
	Converse:  `{"messages":[{"role":"user","content":[{"image":{"format":"png","source":{"bytes":"AAAA"}}},{"text":"hi"},{"document":{"format":"pdf","name":"f","source":{"bytes":"AAAA"}}}]}],"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object","properties":{}}}}}]}}`,
}

// TestSharedMembers sends each member from each format that has it to every other: it arrives at its place there, with no
// warning about it, or a warning says why not.
func TestSharedMembers(t *testing.T) {
	// What does not arrive although the target has it, and why.
	kept := map[string]string{
		"metadata responses → chat":                  "only for answers that the vendor stores",
		"cache_control messages → chat":              "only the hosts",
		"cache_control converse → chat":              "only the hosts",
		"cache_control of tools messages → chat":     "only the hosts",
		"cache_control of tools converse → chat":     "only the hosts",
		"anthropic_beta converse → messages":         "only the hosts",
		"top_logprobs responses → chat":              "only with logprobs",
		"service_tier chat → messages":               "not the same",
		"service_tier responses → messages":          "not the same",
		"metadata chat → messages":                   "mean different things",
		"metadata responses → messages":              "mean different things",
		"service_tier chat → converse":               "not the same",
		"service_tier responses → converse":          "not the same",
		"safety_identifier messages → gemini":        "only the formats",
		"prompt_cache_retention responses → gemini":  "only the formats chat and responses have it",
		"cache_control of tools messages → converse": "",
	}
	for name, samples := range sharedSamples {
		for _, from := range samples {
			for _, format := range Formats() {
				if format == from.Format {
					continue
				}
				where := name + " " + from.Format + " → " + format
				to := slices.IndexFunc(samples, func(s struct{ Format, at, value string }) bool { return s.Format == format })
				out, warnings := translated(t, from.Format, format, from.at, from.value, names.AnthropicFields)
				about := about(warnings, from.at)
				why, listed := kept[where]
				switch {
				case listed && why != "", to < 0:
					if !strings.Contains(about, why) || about == "" {
						t.Errorf("%s: the warning is %q, and not about %q", where, about, why)
					}
				default:
					if got := string(at(out, samples[to].at)); got != samples[to].value {
						t.Errorf("%s: %q arrived at %s in %s", where, got, samples[to].at, out)
					}
					if about != "" {
						t.Errorf("%s: it arrived, and yet: %s", where, about)
					}
				}
			}
		}
	}
	for _, m := range codec.SharedMembers {
		if sharedSamples[m.Name] == nil {
			t.Errorf("there is no sample of %s", m.Name)
		}
	}
}

// TestMembersOfHosts: what a member means is one thing, who takes it another.
func TestMembersOfHosts(t *testing.T) {
	long, mark := `"`+strings.Repeat("x", 65)+`"`, `{"ttl":"1h","type":"ephemeral"}`
	for _, c := range []struct {
		from, at, value string
		to              Codec
		want            string // path and value, or nothing
		warns           string
	}{
		{Responses, "user", `"u"`, Codec{Format: Chat, Quirks: wireformat.Quirks{Members: "detail"}}, "", "only the hosts"},
		{Responses, "user", `"u"`, Codec{Format: Chat, Quirks: wireformat.Quirks{Members: "detail user"}}, `user "u"`, ""},
		{Responses, "input.0.content.0.detail", `"low"`, Codec{Format: Chat, Quirks: wireformat.Quirks{Members: "detail user"}}, `messages.0.content.0.image_url.detail "low"`, ""},
		{Messages, "messages.0.content.1.cache_control", mark, Codec{Format: Chat, Quirks: wireformat.Quirks{Members: "cache_control"}}, `messages.0.content.1.cache_control ` + mark, ""},
		{Messages, "messages.0.content.1.cache_control", mark, Codec{Format: Converse}, "", "only the models"},
		{Messages, "messages.0.content.1.cache_control", mark, Codec{Format: Converse, Quirks: wireformat.Quirks{ModelFields: names.AmazonFields}}, `messages.0.content.2.cachePoint {"type":"default"}`, "five minutes"},
		{Messages, "tools.0.cache_control", mark, Codec{Format: Converse, Quirks: wireformat.Quirks{ModelFields: names.AmazonFields}}, "", "only the models"},
		{Messages, "metadata.user_id", long, Codec{Format: Chat}, "", "longer than the vendor takes"},
		{Chat, "safety_identifier", `"a@b.c"`, Codec{Format: Messages}, "", "address of a person"},
		{Chat, "store", `true`, Codec{Format: Responses}, "", "go on from"},
		{Responses, "store", `true`, Codec{Format: Chat}, "", "own products"},
		{Chat, "metadata", `{"a":{"b":1}}`, Codec{Format: Responses}, "", "only the chat format"},
		{Chat, "service_tier", `{"a":1}`, Codec{Format: Responses}, "", "only the chat format"},
	} {
		req := sampled(t, c.from, c.at, c.value)
		out, warnings, err := c.to.EncodeRequest(req, false)
		if err != nil {
			t.Fatal(err)
		}
		where, value, _ := strings.Cut(c.want, " ")
		if got := string(at(out, where)); where != "" && got != value {
			t.Errorf("%s %s → %+v: %q is at %s of %s", c.at, c.value, c.to, got, where, out)
		}
		if got := about(warnings, c.at); !strings.Contains(got, c.warns) || c.warns == "" && got != "" {
			t.Errorf("%s %s → %+v: the warning is %q, not %q", c.at, c.value, c.to, got, c.warns)
		}
	}
}

// TestSharedMembersKeepOwnWords: what a program says in the words of the target counts, and the request is not changed.
func TestSharedMembersKeepOwnWords(t *testing.T) {
	req := &llm.Request{Model: "m", Messages: []llm.Message{llm.User("hi")}, Extra: llm.Extra{
		Chat:      {"verbosity": json.RawMessage(`"low"`), "logprobs": json.RawMessage("true"), "user": json.RawMessage(`"u"`)},
		Responses: {"text": json.RawMessage(`{"verbosity":"high"}`), "include": json.RawMessage(`["reasoning.encrypted_content"]`)},
	}}
	before := fmt.Sprint(req.Extra)
	out, warnings, err := Codec{Format: Responses}.EncodeRequest(req, false)
	if err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	for path, want := range map[string]string{
		"text.verbosity": `"high"`, "include": `["reasoning.encrypted_content","message.output_text.logprobs"]`, "user": `"u"`,
	} {
		if got := string(at(out, path)); got != want {
			t.Errorf("%s is %s, not %s", path, got, want)
		}
	}
	if after := fmt.Sprint(req.Extra); after != before {
		t.Errorf("the request is changed: %s became %s", before, after)
	}
}

// TestCacheMarksInResults: a cache mark inside of a result has no place in the converse format.
func TestCacheMarksInResults(t *testing.T) {
	req, _, err := Codec{Format: Messages}.DecodeRequest([]byte(`{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"hi"},
		{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","cache_control":{"type":"ephemeral"},"content":[{"type":"text","text":"ok","cache_control":{"type":"ephemeral"}}]}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	out, warnings, err := Codec{Format: Converse, Quirks: wireformat.Quirks{ModelFields: names.AnthropicFields}}.EncodeRequest(req, false)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(out), codec.CachePoint); n != 1 || string(at(out, "messages.2.content.1.cachePoint")) != `{"type":"default"}` {
		t.Errorf("%d cache points in %s", n, out)
	}
	if got := about(warnings, "cache_control"); !strings.Contains(got, "does not have it here") {
		t.Errorf("the warning is %q", got)
	}
}

// TestSharedEnds: what an answer says at its end, too.
func TestSharedEnds(t *testing.T) {
	for _, c := range []struct{ from, to, body, want string }{
		{Chat, Responses, `{"id":"x","object":"chat.completion","model":"m","service_tier":"flex","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hi"}}]}`, `"flex"`},
		{Responses, Chat, `{"id":"x","object":"response","model":"m","status":"completed","service_tier":"flex","output":[{"type":"message","id":"i","role":"assistant","content":[{"type":"output_text","text":"hi"}]}]}`, `"flex"`},
	} {
		r, err := Codec{Format: c.from}.DecodeResponse([]byte(c.body))
		if err != nil {
			t.Fatal(err)
		}
		to := Codec{Format: c.to}
		body, warnings, err := to.EncodeResponse(r)
		if got := string(at(body, "service_tier")); err != nil || got != c.want || about(warnings, "service_tier") != "" {
			t.Errorf("%s → %s: service_tier is %s in %s: %v %v", c.from, c.to, got, body, warnings, err)
		}
		stream := encodeLossy(t, to, r)
		if !strings.Contains(stream, `"service_tier":`+c.want) {
			t.Errorf("%s → %s: no service_tier in %s", c.from, c.to, stream)
		}
	}
}

// translated sends a request with one member to another format.
func translated(t *testing.T, from, to, path, value, maker string) ([]byte, []llm.Warning) {
	t.Helper()
	c := Codec{Format: to, Quirks: wireformat.Quirks{ModelFields: maker}}
	out, warnings, err := c.EncodeRequest(sampled(t, from, path, value), true)
	if err != nil {
		t.Fatal(err)
	}
	return out, warnings
}

// sampled decodes the request of a format with a member added at a path.
func sampled(t *testing.T, format, path, value string) *llm.Request {
	t.Helper()
	var doc any
	if err := json.Unmarshal([]byte(sampleBodies[format]), &doc); err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal([]byte(value), &v); err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(put(doc, strings.Split(path, "."), v))
	if err != nil {
		t.Fatal(err)
	}
	req, _, err := Codec{Format: format, Quirks: wireformat.Quirks{ModelFields: names.AnthropicFields}}.DecodeRequest(body)
	if err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return req
}

// put sets a member. In a list it is inserted if it is an element of its own, as a cache point is.
func put(doc any, path []string, v any) any {
	if len(path) == 0 {
		return v
	}
	if list, ok := doc.([]any); ok {
		n := int(path[0][0] - '0')
		if n == len(list) || len(path) > 1 && path[1] == codec.CachePoint {
			return slices.Insert(slices.Clone(list), n, put(map[string]any{}, path[1:], v))
		}
		list[n] = put(list[n], path[1:], v)
		return list
	}
	object, ok := doc.(map[string]any)
	if !ok {
		if path[0] == "0" {
			return []any{put(nil, path[1:], v)}
		}
		object = map[string]any{}
	}
	object[path[0]] = put(object[path[0]], path[1:], v)
	return object
}

// at returns what stands at a path.
func at(doc []byte, path string) []byte {
	doc = js.Trim(doc)
	for word := range strings.SplitSeq(path, ".") {
		doc = codec.Child(doc, word)
	}
	var v any
	if json.Unmarshal(doc, &v) == nil {
		doc, _ = json.Marshal(v)
	}
	return doc
}

// about returns what warnings say of a member.
func about(warnings []llm.Warning, path string) string {
	var said []string
	for _, w := range warnings {
		for _, word := range strings.Split(w.Feature, ".") {
			if slices.Contains(strings.Split(path, "."), word) || word == "logprobs" && path == "include.0" {
				said = append(said, w.Detail)
				break
			}
		}
	}
	return strings.Join(said, "; ")
}

// TestMembersThatWouldBeRefused: a member is not carried into a request that the vendor refuses for it.
func TestMembersThatWouldBeRefused(t *testing.T) {
	for _, test := range []struct {
		name, to, body   string
		stream           bool
		OmitFields, with string
	}{
		{"counts of likely tokens without them", Chat, `{"model":"m","input":"x","top_logprobs":5}`, true, "top_logprobs", ""},
		{"counts of likely tokens", Chat, `{"model":"m","input":"x","top_logprobs":5,"include":["message.output_text.logprobs"]}`, true, "", `"top_logprobs":5`},
		{"options of a stream without one", Chat, `{"model":"m","input":"x","stream_options":{"include_obfuscation":false}}`, false, "stream_options", ""},
		{"a word for images that chat lacks", Chat, `{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"https://a.test/a.png","detail":"original"}]}]}`, true, "original", ""},
		{"a word for images", Chat, `{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"https://a.test/a.png","detail":"low"}]}]}`, true, "", `"detail":"low"`},
	} {
		req, _, err := Codec{Format: Responses}.DecodeRequest([]byte(test.body))
		if err != nil {
			t.Fatal(err)
		}
		out, _, err := Codec{Format: test.to}.EncodeRequest(req, test.stream)
		if err != nil || test.OmitFields != "" && strings.Contains(string(out), test.OmitFields) || !strings.Contains(string(out), test.with) {
			t.Errorf("%s: %v %s", test.name, err, out)
		}
	}
}

// TestCallsBesideAMalformedOne: a call of Gemini comes in one piece, so that one that the vendor could not read says nothing about the others.
// A limit and a filter still may have cut the last.
func TestCallsBesideAMalformedOne(t *testing.T) {
	for word, whole := range map[string]int{"MALFORMED_FUNCTION_CALL": 2, "TOO_MANY_TOOL_CALLS": 2, "OTHER": 2, "STOP": 2, "MAX_TOKENS": 1, "SAFETY": 1} {
		r, err := Codec{Format: Gemini}.DecodeResponse([]byte(`{"candidates":[{"index":0,"finishReason":"` + word + `","content":{"role":"model","parts":[{"functionCall":{"name":"a","args":{}}},{"functionCall":{"name":"b","args":{"city":"Rome"}}}]}}]}`))
		if err != nil || len(r.Message.Calls()) != whole {
			t.Errorf("%s: %v, calls %v, invalid %v", word, err, r.Message.Calls(), r.Invalid)
		}
		if word == "MALFORMED_FUNCTION_CALL" && (len(r.Invalid) != 1 || r.Invalid[0].Reason != llm.BadArguments) {
			t.Errorf("%s: %v", word, r.Invalid)
		}
	}
}
