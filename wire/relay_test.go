package wire

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/tools/txtar"

	"github.com/toolpost/toolpost/internal/eventstream"
	"github.com/toolpost/toolpost/internal/wire/relay"
	"github.com/toolpost/toolpost/llm"
	wireformat "github.com/toolpost/toolpost/wire/format"
	"github.com/toolpost/toolpost/wire/internal/codec"
	"github.com/toolpost/toolpost/wire/internal/messages"
)

// relayed is a stream that is relayed in tests.
type relayed struct {
	name   string
	c      Codec
	stream string
	step   int // 1: cut at every byte
}

// relayStreams are the golden ones and some that are generated.
func relayStreams(t testing.TB) []relayed {
	t.Helper()
	var all []relayed
	for _, format := range Formats() {
		files, err := filepath.Glob(filepath.Join("testdata", format, "*.txtar"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range ar.Files {
				if f.Name == "stream" {
					all = append(all, relayed{file, Codec{Format: format}, string(streamBytes(t, format, f.Data)), 1})
				}
			}
		}
		for seed := range uint64(4) {
			var b bytes.Buffer
			c := Codec{Format: format}
			enc := c.NewStream(&b, wireformat.Head{ID: "id-1", Model: "m-1", Created: 1700000000})
			for _, ev := range newGen(format, seed).response().Events() {
				if err := enc.Write(ev); err != nil {
					t.Fatal(err)
				}
			}
			all = append(all, relayed{fmt.Sprint(format, " seed ", seed), c, b.String(), 17})
		}
	}
	return all
}

// relay relays a stream and returns what was written and the events.
func relayThrough(t testing.TB, c Codec, src io.Reader, verdict func(i int, ev llm.Event) wireformat.RelayDecision) (out string, events []llm.Event, err error) {
	t.Helper()
	var b bytes.Buffer
	err = c.Relay(&b, src, func(ev llm.Event) wireformat.RelayDecision {
		if _, failed := ev.(wireformat.RelayFailure); failed { // err says it too
			return wireformat.Pass
		}
		events = append(events, ev)
		return verdict(len(events)-1, ev)
	})
	return b.String(), events, err
}

func passAll(int, llm.Event) wireformat.RelayDecision { return wireformat.Pass }

// decodeAll returns the events of a stream and its error.
func decodeAll(c Codec, src io.Reader) (events []llm.Event, failed error) {
	for ev, err := range c.decodeStream(src, true) {
		if err != nil {
			return events, err
		}
		events = append(events, ev)
	}
	return events, nil
}

// TestRelayCopies: what is relayed is what came, byte for byte, however it was
// cut, and the events are those of the decoder.
func TestRelayCopies(t *testing.T) {
	for _, s := range relayStreams(t) {
		want, failed := decodeAll(s.c, strings.NewReader(s.stream))
		check := func(how string, src io.Reader) {
			out, events, err := relayThrough(t, s.c, src, passAll)
			if !reflect.DeepEqual(want, events) {
				t.Fatalf("%s, %s: %s", s.name, how, cmp.Diff(want, events, same))
			}
			if llm.KindOf(err) != llm.KindOf(failed) || (err == nil) != (failed == nil) {
				t.Fatalf("%s, %s: %v, decoded %v", s.name, how, err, failed)
			}
			if err == nil && out != s.stream {
				t.Fatalf("%s, %s: %s", s.name, how, cmp.Diff(s.stream, out))
			}
		}
		check("whole", strings.NewReader(s.stream))
		check("byte by byte", iotest.OneByteReader(strings.NewReader(s.stream)))
		for i := range s.stream {
			if i%s.step != 0 {
				continue
			}
			check(fmt.Sprint("cut at ", i), &twoReads{s.stream[:i], s.stream[i:]})
		}
	}
}

// TestRelayHolds: what is held and then passed is what came.
func TestRelayHolds(t *testing.T) {
	for _, s := range relayStreams(t) {
		events, failed := decodeAll(s.c, strings.NewReader(s.stream))
		if failed != nil {
			continue
		}
		for from := range events {
			for _, length := range []int{1, 3, len(events)} {
				out, _, err := relayThrough(t, s.c, strings.NewReader(s.stream), func(i int, _ llm.Event) wireformat.RelayDecision {
					if i >= from && i < from+length {
						return wireformat.Hold
					}
					return wireformat.Pass
				})
				if err != nil || out != s.stream {
					t.Fatalf("%s, %d events held from %d: %v\n%s", s.name, length, from, err, cmp.Diff(s.stream, out))
				}
			}
		}
	}
}

// sameAnswer compares answers without what a translation cannot know.
func sameAnswer(t *testing.T, what string, c Codec, want []llm.Event, out string) {
	t.Helper()
	var a, b llm.Builder
	for _, ev := range want {
		a.Add(ev)
	}
	got, err := decodeAll(c, strings.NewReader(out))
	if err != nil {
		t.Fatalf("%s: %v\n%s", what, err, out)
	}
	for _, ev := range got {
		b.Add(ev)
	}
	x, y := a.Response(), b.Response()
	for _, r := range []*llm.Response{x, y} {
		r.Warnings = nil
		r.Start.Usage = llm.Usage{}
		if c.Format == Gemini { // which says at the end what cites what
			r.Message.Parts = withoutCitations(r.Message.Parts)
		}
	}
	if x.Start.ID == "" { // the upstream said it too late, or never
		x.Start.ID, x.Finish.ID = y.Start.ID, y.Finish.ID
	}
	if x.Start.Model == "" {
		x.Finish.Model = y.Finish.Model
	}
	if diff := cmp.Diff(x, y, same, cmpopts.IgnoreFields(llm.Finish{}, "Extra"), cmpopts.IgnoreFields(llm.Start{}, "Created"),
		cmpopts.IgnoreFields(llm.Text{}, "State", "Extra"), cmpopts.IgnoreFields(llm.Call{}, "State", "Extra")); diff != "" {
		t.Fatalf("%s: %s\n%s", what, diff, out)
	}
}

func withoutCitations(parts []llm.Part) []llm.Part {
	var out []llm.Part
	for _, p := range parts {
		if t, ok := p.(llm.Text); ok {
			t.Citations = nil
			if p = t; t.Text == "" && t.State.IsZero() {
				continue
			}
		}
		out = append(out, p)
	}
	return out
}

// TestRelayTranslates: at whichever event a relay begins to translate, the
// client reads the same answer if each event is replaced by itself.
func TestRelayTranslates(t *testing.T) {
	for _, s := range relayStreams(t) {
		events, failed := decodeAll(s.c, strings.NewReader(s.stream))
		degraded := slices.ContainsFunc(events, func(ev llm.Event) bool { _, ok := ev.(llm.InvalidCall); return ok }) && !s.c.Properties().StreamedArgs
		if failed != nil || degraded { // where calls come whole, a bad one is shown as text
			continue
		}
		for at := range events {
			out, _, err := relayThrough(t, s.c, strings.NewReader(s.stream), func(i int, ev llm.Event) wireformat.RelayDecision {
				if i == at {
					return wireformat.Replace(ev)
				}
				return wireformat.Pass
			})
			what := fmt.Sprintf("%s, event %d %T", s.name, at, events[at])
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			sameAnswer(t, what, s.c, events, out)
			for from := range at {
				var held []llm.Event
				out, _, err := relayThrough(t, s.c, strings.NewReader(s.stream), func(i int, ev llm.Event) wireformat.RelayDecision {
					if i >= from && i < at {
						held = append(held, ev)
						return wireformat.Hold
					}
					if i == at {
						return wireformat.Replace(append(held, ev)...)
					}
					return wireformat.Pass
				})
				what := fmt.Sprintf("%s, held from %d %T to %d", s.name, from, events[from], at)
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				sameAnswer(t, what, s.c, events, out)
			}
		}
	}
}

// TestRelayTruncated: an upstream that is lost anywhere is reported, and the
// client is told: what it reads fails too, or is nothing at all.
func TestRelayTruncated(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	for _, s := range relayStreams(t) {
		for i := 0; i < len(s.stream); i += s.step {
			attacks++
			_, failed := decodeAll(s.c, strings.NewReader(s.stream[:i]))
			out, _, err := relayThrough(t, s.c, strings.NewReader(s.stream[:i]), passAll)
			if llm.KindOf(err) != llm.KindOf(failed) || (err == nil) != (failed == nil) {
				t.Fatalf("%s, ended at %d: %v, decoded %v", s.name, i, err, failed)
			}
			if err == nil || out == "" {
				continue
			}
			got, failed := decodeAll(s.c, strings.NewReader(out))
			if failed == nil || llm.KindOf(failed) == llm.Malformed && llm.KindOf(err) != llm.Malformed {
				t.Fatalf("%s, ended at %d with %v: the client reads %v and %v from\n%s", s.name, i, err, got, failed, out)
			}
		}
	}
}

// TestRelayHalfFrame: a stream of binary frames that ends within a frame is
// lost, also after the frame that said why the model stopped, and the client
// gets whole frames only.
func TestRelayHalfFrame(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	c := Codec{Format: Converse}
	var b bytes.Buffer
	enc := c.NewStream(&b, wireformat.Head{})
	write(t, enc, llm.TextDelta{Text: "hi"})
	write(t, enc, llm.Finish{Reason: llm.Stop, Usage: llm.Usage{Input: 1, Output: 2}})
	whole := b.String()
	lost := iotest.ErrReader(io.ErrClosedPipe)
	for missing := 1; missing <= 20; missing++ {
		half := whole[:len(whole)-missing]
		for _, src := range []io.Reader{strings.NewReader(half), io.MultiReader(strings.NewReader(half), lost)} {
			attacks++
			out, _, err := relayThrough(t, c, src, passAll)
			if llm.KindOf(err) != llm.Incomplete {
				t.Errorf("%d bytes are missing: %v", missing, err)
			}
			if _, err := decodeAll(c, strings.NewReader(out)); err == nil || llm.KindOf(err) == llm.Malformed {
				t.Errorf("%d bytes are missing: the client reads %v", missing, err)
			}
		}
	}
}

// TestRelayReplaces: text that is taken out is not there, what comes in its
// place is, and a call that was held is replaced as a whole.
func TestRelayReplaces(t *testing.T) {
	for _, format := range Formats() {
		c := Codec{Format: format}
		var b bytes.Buffer
		enc := c.NewStream(&b, wireformat.Head{ID: "i", Model: "m"})
		args := `{"path":"/etc/passwd"}`
		for _, ev := range []llm.Event{
			llm.TextDelta{Text: "Let me "}, llm.TextDelta{Text: "see. "},
			llm.CallStart{ID: "call_1", Name: "read"}, llm.CallDelta{ID: "call_1", Args: args[:9]}, llm.CallDelta{ID: "call_1", Args: args[9:]},
			llm.Call{ID: "call_1", Name: "read", Args: []byte(args)},
			llm.CallStart{ID: "call_2", Name: "now"}, llm.CallDelta{ID: "call_2", Args: "{}"}, llm.Call{ID: "call_2", Name: "now", Args: []byte("{}")},
			llm.Finish{Reason: llm.ToolCalls, Usage: llm.Usage{Input: 1, Output: 2}},
		} {
			write(t, enc, ev)
		}
		out, _, err := relayThrough(t, c, &b, func(_ int, ev llm.Event) wireformat.RelayDecision {
			switch ev := ev.(type) {
			case llm.TextDelta:
				if ev.Text == "see. " {
					return wireformat.Replace(llm.TextDelta{Text: "look. "})
				}
			case llm.CallStart, llm.CallDelta:
				return wireformat.Hold
			case llm.Call:
				if ev.Name == "read" {
					return wireformat.Replace(llm.TextDelta{Text: "(not allowed)"})
				}
			}
			return wireformat.Pass
		})
		if err != nil {
			t.Fatal(format, err)
		}
		got := build(t, c, out)
		var calls []string
		for _, call := range got.Message.Calls() {
			calls = append(calls, call.Name+string(call.Args))
		}
		if text := got.Message.Text(); !slices.Equal(calls, []string{"now{}"}) || strings.ReplaceAll(text, "\n", "") != "Let me look. (not allowed)" || got.Finish.Usage.Output != 2 {
			t.Errorf("%s: %q, calls %q, %+v\n%s", format, text, calls, got.Finish, out)
		}
	}
}

// TestRelayFinishReason: the finish reason is that of the calls the client got,
// whatever the upstream said.
func TestRelayFinishReason(t *testing.T) {
	call := []llm.Event{llm.CallStart{ID: "call_1", Name: "f"}, llm.CallDelta{ID: "call_1", Args: "{}"}, llm.Call{ID: "call_1", Name: "f", Args: []byte("{}")}}
	text := llm.TextDelta{Text: "(not allowed)"}
	withoutCalls := func(_ int, ev llm.Event) wireformat.RelayDecision {
		switch ev.(type) {
		case llm.CallStart, llm.CallDelta:
			return wireformat.Hold
		case llm.Call:
			return wireformat.Replace(text)
		}
		return wireformat.Pass
	}
	withCall := func(_ int, ev llm.Event) wireformat.RelayDecision {
		if d, ok := ev.(llm.TextDelta); ok && d.Text != "" {
			return wireformat.Replace(call...)
		}
		return wireformat.Pass
	}
	second := func(_ int, ev llm.Event) wireformat.RelayDecision { // the first call passes as bytes
		if c, ok := ev.(llm.Call); ok && c.ID != "call_1" {
			return wireformat.Replace(ev)
		}
		return wireformat.Pass
	}
	other := []llm.Event{llm.CallStart{ID: "call_2", Name: "f"}, llm.CallDelta{ID: "call_2", Args: "{}"}, llm.Call{ID: "call_2", Name: "f", Args: []byte("{}")}}
	for name, test := range map[string]struct {
		said    []llm.Event
		reason  llm.Reason
		verdict func(int, llm.Event) wireformat.RelayDecision
		want    llm.Reason
	}{
		"all calls replaced": {call, llm.ToolCalls, withoutCalls, llm.Stop},
		"a call added":       {[]llm.Event{text}, llm.Stop, withCall, llm.ToolCalls},
		"a call as bytes":    {append(slices.Clone(call), other...), llm.ToolCalls, second, llm.ToolCalls},
		"a limit stays":      {call, llm.Length, withoutCalls, llm.Length},
	} {
		for _, c := range []Codec{{Format: Chat}, {Format: Responses}, {Format: Messages}, {Format: Gemini}, {Format: Ollama}, {Format: Converse}, {Format: Messages, Quirks: messages.OnBedrock()}} {
			var b bytes.Buffer
			enc := c.NewStream(&b, wireformat.Head{ID: "i", Model: "m"})
			for _, ev := range append(slices.Clone(test.said), llm.Finish{Reason: test.reason}) {
				write(t, enc, ev)
			}
			out, _, err := relayThrough(t, c, &b, test.verdict)
			if err != nil {
				t.Fatal(c.Format, name, err)
			}
			got := build(t, c, out)
			if got.Finish.Reason != test.want || len(got.Warnings) > 0 {
				t.Errorf("%s, %s: %+v, warnings %v\n%q", c.Format, name, got.Finish, got.Warnings, out)
			}
		}
	}
}

// flushed is a response writer that tells when it is flushed.
type flushed struct {
	bytes.Buffer
	at []int
}

func (f *flushed) Flush() { f.at = append(f.at, f.Len()) }

// TestRelayFlushes: what is decided is with the client before the relay waits
// for more, even if the next frame has begun.
func TestRelayFlushes(t *testing.T) {
	frames := []string{chunks(`{"content":"a"}`), chunks(`{"content":"b"}`), ": hm\n\n", chunks("finish stop"), done}
	pr, pw := io.Pipe()
	var dst flushed
	result := make(chan error, 1)
	go func() { result <- (&Codec{Format: Chat}).Relay(&dst, pr, nil) }()
	for i, f := range frames {
		half := len(f) / 2
		before := strings.Join(frames[:i], "")
		io.WriteString(pw, f[:half]) // returns when the relay has read it
		if i > 0 && i < 3 && !strings.HasPrefix(before, dst.String()) {
			t.Error("bytes that nobody sent")
		}
		io.WriteString(pw, f[half:])
	}
	pw.Close()
	if err := <-result; err != nil {
		t.Fatal(err)
	}
	want := []int{len(frames[0]), len(frames[0] + frames[1])}
	if !slices.Equal(dst.at[:2], want) || dst.String() != strings.Join(frames, "") {
		t.Errorf("flushed at %v, want %v first\n%s", dst.at, want, dst.String())
	}
}

// TestRelayNothingWritten: an upstream that fails before its answer leaves the
// response to the caller.
func TestRelayNothingWritten(t *testing.T) {
	for _, stream := range []string{"", "data: oops\n\n", `data: {"error":{"message":"overloaded","type":"overloaded_error"}}` + "\n\n", `{"error":{"message":"no"}}`, chunks(`{"content":"a`)[:20]} {
		out, _, err := relayThrough(t, Codec{Format: Chat}, strings.NewReader(stream), passAll)
		if err == nil || out != "" {
			t.Errorf("%q: %v, wrote %q", stream, err, out)
		}
	}
}

// TestRelayDocument: a client that asked for a stream gets one.
func TestRelayDocument(t *testing.T) {
	for _, format := range Formats() {
		c := Codec{Format: format}
		body, _, err := c.EncodeResponse(&llm.Response{Message: llm.Assistant(llm.Text{Text: "hi"}), Finish: llm.Finish{Reason: llm.Stop, Model: "m"}})
		if err != nil {
			t.Fatal(err)
		}
		out, _, err := relayThrough(t, c, bytes.NewReader(body), passAll)
		if err != nil || build(t, c, out).Message.Text() != "hi" {
			t.Errorf("%s: %v\n%s", format, err, out)
		}
		if c.StreamType() == "text/event-stream" && !strings.HasPrefix(out, "data: ") && !strings.HasPrefix(out, "event: ") {
			t.Errorf("%s: no stream: %s", format, out)
		}
	}
}

// TestRelayClientGone: a client that is gone ends the relay.
func TestRelayClientGone(t *testing.T) {
	gone := writerFunc(func([]byte) (int, error) { return 0, io.ErrClosedPipe })
	err := (&Codec{Format: Chat}).Relay(gone, iotest.OneByteReader(strings.NewReader(chunks(`{"content":"a"}`, "finish stop")+done)), nil)
	if llm.KindOf(err) != llm.Network || !strings.Contains(err.Error(), "client") {
		t.Error(err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// Whatever stands in the place of its Finish, a stream has an end.
func TestRelayReplacedFinishEnds(t *testing.T) {
	for _, s := range relayStreams(t) {
		for name, events := range map[string][]llm.Event{
			"nothing":        nil,
			"text":           {llm.TextDelta{Text: " Bye."}},
			"another finish": {llm.Finish{Reason: llm.Length}},
		} {
			out, _, err := relayThrough(t, s.c, strings.NewReader(s.stream), func(_ int, ev llm.Event) wireformat.RelayDecision {
				if _, last := codec.Ends(ev); last {
					return wireformat.Replace(events...)
				}
				return wireformat.Pass
			})
			if err != nil {
				continue // the stream itself is broken
			}
			var failed error
			finishes := 0
			for ev, err := range s.c.DecodeStream(strings.NewReader(out)) {
				if failed = err; err == nil {
					if _, ok := ev.(llm.Finish); ok {
						finishes++
					}
				}
			}
			if failed != nil || finishes != 1 {
				t.Errorf("%s, %s: %d ends, %v\n%s", s.name, name, finishes, failed, out)
			}
		}
	}
}

// What follows the end of a message of the converse format does not count: a call
// there is not run.
func TestConverseBlocksAfterTheStop(t *testing.T) {
	event := func(name, payload string) eventstream.Frame {
		return eventstream.Frame{Kind: eventstream.Event, Name: name, Payload: []byte(payload)}
	}
	stream := frames(t,
		event("messageStart", `{"role":"assistant"}`),
		event("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"Done."}}`),
		event("contentBlockStop", `{"contentBlockIndex":0}`),
		event("messageStop", `{"stopReason":"end_turn"}`),
		event("contentBlockStart", `{"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"t1","name":"rm"}}}`),
		event("contentBlockDelta", `{"contentBlockIndex":1,"delta":{"toolUse":{"input":"{}"}}}`),
		event("contentBlockStop", `{"contentBlockIndex":1}`),
		event("metadata", `{"usage":{"inputTokens":1,"outputTokens":1,"totalTokens":2}}`))
	var failed error
	for ev, err := range (Codec{Format: Converse}).DecodeStream(strings.NewReader(stream)) {
		failed = err
		switch ev.(type) {
		case llm.Call, llm.CallStart, llm.Finish:
			t.Errorf("%T after the end", ev)
		}
	}
	if llm.KindOf(failed) != llm.Malformed {
		t.Errorf("%v", failed)
	}
}

// What an upstream says after the end of its answer does not go on, however the stream is cut; blank lines do.
func TestRelayDropsWhatFollowsTheEnd(t *testing.T) {
	tried := map[string]bool{}
	for _, s := range relayStreams(t) {
		want, _, err := relayThrough(t, s.c, strings.NewReader(s.stream), passAll)
		if err != nil || want != s.stream || s.c.Format == Gemini { // it is not passed on as it is, or has no end but that of the bytes
			continue
		}
		tried[s.c.Format] = true
		tail := map[string]string{Converse: s.stream, Ollama: "\n{\"late\":1}\n"}[s.c.Format]
		if tail == "" {
			tail = "\n: late\n\nevent: late\ndata: {\"late\":1}\n\ndata: [DONE]\n\n"
		}
		for _, src := range []io.Reader{strings.NewReader(s.stream + tail), iotest.OneByteReader(strings.NewReader(s.stream + tail)), &twoReads{s.stream, tail}} {
			out, events, err := relayThrough(t, s.c, src, passAll)
			if err != nil || strings.TrimRight(out, "\n") != strings.TrimRight(want, "\n") {
				t.Errorf("%s: %v, %q", s.name, err, out[min(len(out), len(want)):])
			}
			if last, ok := events[len(events)-1].(wireformat.RelayTrailing); !ok || last.Bytes != len(strings.TrimLeft(tail, "\n")) {
				t.Errorf("%s: the last event is %#v, want %d bytes", s.name, events[len(events)-1], len(tail))
			}
		}
	}
	if len(tried) != len(Formats())-1 {
		t.Errorf("only streams of %v were tried", tried)
	}
}

// TestArgumentsOfLaterAnswers: a relay that begins to write a stream anew between two pieces of a call's arguments says each once, in every answer.
func TestArgumentsOfLaterAnswers(t *testing.T) {
	chunk := func(index, delta string) string {
		return `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":` + index + `,"delta":` + delta + `,"finish_reason":null}]}` + "\n\n"
	}
	end := `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n" +
		`data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":1,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n"
	stream := chunk("1", `{"role":"assistant","tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"get","arguments":"{\"a\":89"}}]}`) +
		chunk("0", `{"role":"assistant","tool_calls":[{"index":0,"type":"function","function":{"name":"get","arguments":"{\"b\":1}"}}]}`) + // which has no id, and is written anew
		chunk("1", `{"tool_calls":[{"index":0,"function":{"arguments":"7}"}}]}`) + end
	var out bytes.Buffer
	c := offering("get")
	if err := c.Relay(&out, strings.NewReader(stream), func(llm.Event) wireformat.RelayDecision { return wireformat.Pass }); err != nil {
		t.Fatal(err)
	}
	var args strings.Builder
	for ev, err := range (Codec{Format: Chat}).DecodeStream(bytes.NewReader(out.Bytes())) {
		if err != nil {
			t.Fatal(err)
		}
		if alt, ok := ev.(llm.Alternative); ok {
			if d, ok := alt.Event.(llm.CallDelta); ok {
				args.WriteString(d.Args)
			}
		}
	}
	if args.String() != `{"a":897}` {
		t.Errorf("%s\n%s", args.String(), out.String())
	}
}

// TestRelayHoldsUntilTranslated: what an observer holds when a relay begins to write the stream anew is written if the next event passes,
// and dropped if something is put in its place.
func TestRelayHoldsUntilTranslated(t *testing.T) {
	text := chunkOf(`{"role":"assistant","content":"kept text"}`)
	for name, calls := range map[string]string{
		"no id": chunkOf(`{"tool_calls":[{"index":0,"type":"function","function":{"name":"get","arguments":"{}"}}]}`),
		"a name in pieces": chunkOf(`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"ge","arguments":""}}]}`) +
			chunkOf(`{"tool_calls":[{"index":0,"function":{"name":"t"}}]}`) + chunkOf(`{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}`),
		"a name said twice": chunkOf(`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"get","arguments":"{"}}]}`) +
			chunkOf(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"get","arguments":"}"}}]}`),
	} {
		for _, after := range []wireformat.RelayDecision{wireformat.Pass, wireformat.Replace()} {
			var out bytes.Buffer
			c := offering("get")
			err := c.Relay(&out, strings.NewReader(text+calls+chunksEnd), func(ev llm.Event) wireformat.RelayDecision {
				switch ev.(type) {
				case llm.TextDelta, llm.CallStart, llm.KeepAlive:
					return wireformat.Hold
				case llm.CallDelta, llm.Call: // the whole call would bring back what was dropped
					return after
				}
				return wireformat.Pass
			})
			if kept := after.Action == relay.Pass; err != nil || strings.Contains(out.String(), "kept text") != kept || strings.Contains(out.String(), `"get"`) != kept {
				t.Errorf("%s: kept is to be %v: %v\n%s", name, kept, err, out.String())
			}
		}
	}
}

// A translation that holds one event after the other, each for a moment, holds little at a time, however much it is in all.
func TestRelayHoldsOftenNotLong(t *testing.T) {
	in, out := io.Pipe()
	defer in.Close()
	chunk := func(word string) string { return chunkOf(`{"content":"` + word + strings.Repeat("x", 20<<10) + `"}`) }
	rounds := 3 * codec.MaxHeld / (2 * len(chunk("P"))) // more than may be held at once
	go func() {
		defer out.Close()
		text := chunkOf(`{"role":"assistant","content":""}`) + chunk("R") + chunk("H")
		for range rounds {
			if _, err := io.WriteString(out, text); err != nil {
				return
			}
			text = chunk("P") + chunk("H") // each read ends with an event that is held
		}
		_, _ = io.WriteString(out, chunksEnd)
	}()
	err := (&Codec{Format: Chat}).Relay(io.Discard, in, func(ev llm.Event) wireformat.RelayDecision {
		if text, ok := ev.(llm.TextDelta); ok && text.Text[0] == 'R' {
			return wireformat.Replace(ev)
		} else if ok && text.Text[0] == 'H' {
			return wireformat.Hold
		}
		return wireformat.Pass
	})
	if err != nil {
		t.Error(err)
	}
}

// Where a relay writes anew inside reasoning_details, what it does for each delta does not grow with those before: as many as may come
// took an hour.
func TestManyDetailsAfterARewrite(t *testing.T) {
	const n = 40000
	var b strings.Builder
	b.WriteString(chunkOf(`{"role":"assistant","content":""}`))
	for i := range n {
		b.WriteString(chunkOf(fmt.Sprintf(`{"reasoning":"w%d ","reasoning_details":[{"type":"reasoning.text","index":0,"text":"w%d "}]}`, i, i)))
	}
	b.WriteString(chunkOf(`{"content":"said"}`) + chunksEnd)
	var out bytes.Buffer
	err := (&Codec{Format: Chat}).Relay(&out, strings.NewReader(b.String()), func(ev llm.Event) wireformat.RelayDecision {
		if x, ok := ev.(llm.ThinkingDelta); ok && x.Text == "w3 " {
			return wireformat.Replace(ev)
		}
		return wireformat.Pass
	})
	if err != nil || !strings.Contains(out.String(), fmt.Sprintf("w%d ", n-1)) || !strings.Contains(out.String(), "said") {
		t.Errorf("%v, %d bytes", err, out.Len())
	}
}
