package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/toolpost/toolpost/internal/wire/names"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

const seeds = 120

var same = cmp.Options{
	cmpopts.EquateEmpty(),
	cmp.FilterValues(func(a, b json.RawMessage) bool { return len(a)+len(b) > 0 },
		cmp.Transformer("json", func(r json.RawMessage) string { return string(r) })),
}

// TestRequestRoundTrip: decode(encode(x)) = x, and nothing was lost.
func TestRequestRoundTrip(t *testing.T) {
	for _, format := range Formats() {
		c := Codec{Format: format}
		for seed := range uint64(seeds) {
			req := newGen(format, seed).request()
			p := c.Properties()
			if p.ModelInPath() {
				req.Model = ""
			}
			stream := seed%2 == 0
			body, warnings, err := c.EncodeRequest(req, stream)
			if err != nil || len(warnings) > 0 || !json.Valid(body) {
				t.Fatalf("%s %d: %v %v\n%s", format, seed, err, warnings, body)
			}
			got, gotStream, err := c.DecodeRequest(body)
			if err != nil {
				t.Fatalf("%s %d: %v\n%s", format, seed, err, body)
			}
			if diff := cmp.Diff(req, got, same); diff != "" {
				t.Fatalf("%s %d:\n%s\n%s", format, seed, diff, body)
			}
			if gotStream != stream && !p.StreamInPath() {
				t.Errorf("%s %d: stream %v became %v", format, seed, stream, gotStream)
			}
		}
	}
}

// TestEmptyFailure: a failed result without words gets some for the converse
// format, which refuses it otherwise, and they are not taken for the tool's.
func TestEmptyFailure(t *testing.T) {
	req := &llm.Request{Messages: []llm.Message{
		llm.User("hi"), llm.Assistant(llm.Call{ID: "call_1", Name: "f", Args: json.RawMessage(`{}`)}),
		llm.Results(llm.Result{CallID: "call_1", Name: "f", Failed: true}),
	}}
	c := Codec{Format: Converse}
	body, _, err := c.EncodeRequest(req, false)
	if err != nil || !bytes.Contains(body, []byte(codec.NoOutput)) {
		t.Errorf("%v\n%s", err, body)
	}
	if diff := cmp.Diff(req, carry(t, c, req).req, same); diff != "" {
		t.Error(diff)
	}
}

// TestModelFields: what the converse format leaves to each maker is written in
// the maker's words and read back, and nothing is lost in silence.
func TestModelFields(t *testing.T) {
	k := 5
	options := []func(*llm.Request){
		func(r *llm.Request) { r.TopK = &k },
		func(r *llm.Request) { r.Reasoning = &llm.Reasoning{Off: true} },
		func(r *llm.Request) { r.Reasoning = &llm.Reasoning{Effort: "high"} },
		func(r *llm.Request) { r.Reasoning = &llm.Reasoning{Tokens: 2000} },
		func(r *llm.Request) { r.Reasoning = &llm.Reasoning{Tokens: 2000, Effort: "low", Summary: "omitted"} },
		func(r *llm.Request) {
			r.Extra = llm.Extra{Converse: {"additionalModelRequestFields": json.RawMessage(`{"other":1}`)}}
		},
	}
	for _, maker := range []string{"", names.AnthropicFields, names.AmazonFields, names.OpenAIFields} {
		c := Codec{Format: Converse, Quirks: format.Quirks{ModelFields: maker}}
		lost := 0
		for i, set := range options {
			req := &llm.Request{Messages: []llm.Message{llm.User("hi")}}
			set(req)
			got := carry(t, c, req)
			if len(got.warnings) > 0 {
				lost++
			} else if diff := cmp.Diff(req, got.req, same); diff != "" {
				t.Errorf("%q, option %d:\n%s", maker, i, diff)
			}
		}
		if want := map[string]int{"": 4, names.AnthropicFields: 0, names.AmazonFields: 2, names.OpenAIFields: 4}[maker]; lost != want {
			t.Errorf("%q cannot carry %d of the options, not %d", maker, lost, want)
		}
	}
}

// TestResponseRoundTrip: the same for answers, in one piece and as a stream.
func TestResponseRoundTrip(t *testing.T) {
	for _, format := range Formats() {
		c := Codec{Format: format}
		for seed := range uint64(seeds) {
			r := newGen(format, seed).response()
			body, warnings, err := c.EncodeResponse(r)
			if err != nil || len(warnings) > 0 || !json.Valid(body) {
				t.Fatalf("%s %d: %v %v\n%s", format, seed, err, warnings, body)
			}
			got, err := c.DecodeResponse(body)
			if err != nil {
				t.Fatalf("%s %d: %v\n%s", format, seed, err, body)
			}
			ignoreCreated(got)
			if diff := cmp.Diff(r, got, same); diff != "" {
				t.Fatalf("%s %d:\n%s\n%s", format, seed, diff, body)
			}
			stream := encodeStream(t, c, r)
			got = build(t, c, stream)
			ignoreCreated(got)
			if diff := cmp.Diff(r, got, same); diff != "" {
				t.Fatalf("%s %d, streamed:\n%s\n%s", format, seed, diff, stream)
			}
		}
	}
}

// ignoreCreated removes the time of an answer, which the encoder had to write.
func ignoreCreated(r *llm.Response) {
	for _, fields := range r.Finish.Extra {
		for _, key := range []string{"created", "created_at"} {
			delete(fields, key)
		}
	}
	for format, fields := range r.Finish.Extra {
		if len(fields) == 0 {
			delete(r.Finish.Extra, format)
		}
	}
}

func encodeStream(t *testing.T, c Codec, r *llm.Response) string {
	t.Helper()
	var b bytes.Buffer
	enc := c.NewStream(&b, format.Head{ID: r.Finish.ID, Model: r.Finish.Model})
	for _, ev := range r.Events() {
		if inv, ok := ev.(llm.InvalidCall); ok {
			write(t, enc, llm.CallStart{ID: inv.ID, Name: inv.Name})
			write(t, enc, llm.CallDelta{ID: inv.ID, Args: inv.Raw})
		}
		write(t, enc, ev)
	}
	if w := enc.Warnings(); len(w) > 0 {
		t.Fatalf("%s: %v", c.Format, w)
	}
	return b.String()
}

func write(t *testing.T, enc *StreamEncoder, ev llm.Event) {
	t.Helper()
	if err := enc.Write(ev); err != nil {
		t.Fatal(err)
	}
}

// TestCutAnywhere: the meaning of a stream does not depend on how it is cut.
func TestCutAnywhere(t *testing.T) {
	for _, format := range Formats() {
		c := Codec{Format: format}
		for seed := range uint64(1) {
			stream := encodeStream(t, c, newGen(format, seed).response())
			want := transcript(t, c, strings.NewReader(stream))
			for i := range len(stream) {
				if got := transcript(t, c, &twoReads{stream[:i], stream[i:]}); got != want {
					t.Fatalf("%s %d cut at %d:\n%s\nwhole:\n%s", format, seed, i, got, want)
				}
			}
		}
	}
}

// TestNothingLeft: a message of which a format can carry nothing is left out
// or says so, since vendors refuse messages without content.
func TestNothingLeft(t *testing.T) {
	req := &llm.Request{MaxTokens: 1, Messages: []llm.Message{
		llm.User("hi"),
		llm.Assistant(llm.Thinking{Text: "hm", State: state("elsewhere", `{"signature":"x"}`)}),
		llm.User("and?"),
	}}
	for format, empty := range map[string]string{Messages: `"content":[]`, Gemini: `"parts":[]`, Chat: `"content":null`} {
		body, warnings, err := (Codec{Format: format}).EncodeRequest(req, false)
		if err != nil || bytes.Contains(body, []byte(empty)) || len(warnings) == 0 {
			t.Errorf("%s: %v %v\n%s", format, err, warnings, body)
		}
	}
}

// TestNoUsage: a chat client that did not ask for the usage gets no chunk
// without choices.
func TestNoUsage(t *testing.T) {
	var b bytes.Buffer
	enc := Codec{Format: Chat}.NewStream(&b, format.Head{NoUsage: true})
	write(t, enc, llm.TextDelta{Text: "hi"})
	write(t, enc, llm.Finish{Reason: llm.Stop})
	if strings.Contains(b.String(), `"choices":[]`) || !strings.HasSuffix(b.String(), done) {
		t.Error(b.String())
	}
}
