package wire

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

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
