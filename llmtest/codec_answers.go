package llmtest

import (
	"errors"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
	"github.com/toolpost/toolpost/wire/format"
)

// kept are the parts of an answer that every format must keep.
type kept struct {
	Parts  []llm.Part
	Reason llm.Reason
	Usage  llm.Usage
	ID     string
	Model  string
}

func keptOf(p format.Properties, r *llm.Response) kept {
	k := kept{r.Message.Parts, r.Finish.Reason, r.Finish.Usage, r.Finish.ID, r.Finish.Model}
	if !p.AnswerIDs {
		k.ID = ""
	}
	return k
}

func codecAnswers(t *testing.T, c wire.Codec) {
	for _, s := range answers {
		body, warnings, err := c.EncodeResponse(s.response)
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		got, err := c.DecodeResponse(body)
		if err != nil {
			t.Fatalf("%s: %v\n%s", s.name, err, body)
		}
		compareAnswers(t, c, s, got, warnings, string(body))
	}
}

func codecStreams(t *testing.T, c wire.Codec) {
	for _, s := range answers {
		stream, warnings := encoded(t, c, s.response)
		got, err := collect(c.DecodeStream(strings.NewReader(stream)))
		if err != nil {
			t.Fatalf("%s: %v\n%s", s.name, err, stream)
		}
		compareAnswers(t, c, s, got, warnings, stream)
	}
}

func compareAnswers(t *testing.T, c wire.Codec, s sample, got *llm.Response, warnings []llm.Warning, body string) {
	t.Helper()
	p := c.Properties()
	want, have := keptOf(p, s.response), keptOf(p, got)
	if diff := cmp.Diff(want, have, same); diff != "" && len(warnings) == 0 {
		t.Errorf("%s: lost in silence (-want +got):\n%s\n%s", s.name, diff, body)
	}
	if diff := cmp.Diff(s.response.Message.Calls(), got.Message.Calls(), same); diff != "" {
		t.Errorf("%s: every format carries calls (-want +got):\n%s\n%s", s.name, diff, body)
	}
	if want, have := s.response.Message.Text(), got.Message.Text(); want != have {
		t.Errorf("%s: every format carries text: %q became %q\n%s", s.name, want, have, body)
	}
	if want.Reason != have.Reason {
		t.Errorf("%s: every format says why the model stopped: %s became %s\n%s", s.name, want.Reason, have.Reason, body)
	}
}

// encoded writes an answer as a stream, its longer pieces in two.
func encoded(t *testing.T, c wire.Codec, r *llm.Response) (string, []llm.Warning) {
	t.Helper()
	var b strings.Builder
	w := c.NewStream(&b, format.Head{ID: r.Finish.ID, Model: r.Finish.Model, Created: 1700000000})
	for _, ev := range r.Events() {
		for _, piece := range halves(ev) {
			if err := w.Write(piece); err != nil {
				t.Fatal(err)
			}
		}
	}
	return b.String(), w.Warnings()
}

func encodedStream(t *testing.T, c wire.Codec, r *llm.Response) string {
	t.Helper()
	s, _ := encoded(t, c, r)
	return s
}

// halves splits a piece of text or arguments in two.
func halves(ev llm.Event) []llm.Event {
	switch ev := ev.(type) {
	case llm.TextDelta:
		if i := strings.IndexByte(ev.Text, ' ') + 1; i > 0 && ev.Part == nil {
			return []llm.Event{llm.TextDelta{Text: ev.Text[:i]}, llm.TextDelta{Text: ev.Text[i:]}}
		}
	case llm.CallDelta:
		if i := len(ev.Args) / 2; i > 1 {
			return []llm.Event{llm.CallDelta{ID: ev.ID, Args: ev.Args[:1]}, llm.CallDelta{ID: ev.ID, Args: ev.Args[1:]}}
		}
	}
	return []llm.Event{ev}
}

func collect(events iter.Seq2[llm.Event, error]) (*llm.Response, error) {
	var b llm.Builder
	for ev, err := range events {
		if err != nil {
			return b.Response(), err
		}
		b.Add(ev)
	}
	return b.Response(), nil
}

// transcript writes down all events.
func transcript(events iter.Seq2[llm.Event, error]) string {
	var b strings.Builder
	for ev, err := range events {
		if err != nil {
			b.WriteString("error " + llm.KindOf(err).String() + "\n")
			continue
		}
		line, err := llm.MarshalEvent(ev)
		if err != nil {
			line = []byte(err.Error())
		}
		b.Write(append(line, '\n'))
	}
	return b.String()
}

func codecCutAnywhere(t *testing.T, c wire.Codec) {
	for _, s := range answers[len(answers)-3:] {
		stream := encodedStream(t, c, s.response)
		want := transcript(c.DecodeStream(strings.NewReader(stream)))
		if got := transcript(c.DecodeStream(iotest.OneByteReader(strings.NewReader(stream)))); got != want {
			t.Fatalf("%s, byte by byte:\n%s\nwhole:\n%s", s.name, got, want)
		}
		for i := range len(stream) {
			src := io.MultiReader(strings.NewReader(stream[:i]), strings.NewReader(stream[i:]))
			if got := transcript(c.DecodeStream(src)); got != want {
				t.Fatalf("%s, cut at %d:\n%s\nwhole:\n%s", s.name, i, got, want)
			}
		}
	}
}

// codecTruncated ends streams early at every byte, and with an error of the
// connection.
func codecTruncated(t *testing.T, c wire.Codec) {
	lost := errors.New("the connection is gone")
	for _, s := range answers {
		stream := encodedStream(t, c, s.response)
		for i := range len(stream) {
			for _, src := range []io.Reader{strings.NewReader(stream[:i]), io.MultiReader(strings.NewReader(stream[:i]), iotest.ErrReader(lost))} {
				if problem := truncated(c.DecodeStream(src), s.response); problem != "" {
					t.Fatalf("%s, ended after %d of %d bytes: %s\n%q", s.name, i, len(stream), problem, stream[:i])
				}
			}
		}
	}
	for _, s := range answers {
		body, _, err := c.EncodeResponse(s.response)
		if err != nil {
			t.Fatal(err)
		}
		for i := range len(body) {
			if r, err := c.DecodeResponse(body[:i]); err == nil {
				t.Fatalf("%s: %d of %d bytes of a whole answer are taken for one: %v", s.name, i, len(body), r.Message.Parts)
			}
		}
	}
}

// truncated describes the error in the events of a stream that ended early; empty if there is none.
func truncated(events iter.Seq2[llm.Event, error], whole *llm.Response) string {
	var h observed
	for ev, err := range events {
		h.add(ev, err)
	}
	if h.end(); h.broken != "" {
		return h.broken
	}
	if problem := h.openCalls(); problem != "" {
		return problem
	}
	var b llm.Builder
	for _, ev := range h.events {
		b.Add(ev)
	}
	got := b.Response()
	switch k := llm.KindOf(h.err); {
	case h.err == nil && !cmp.Equal(whole.Message.Calls(), got.Message.Calls(), same):
		return "a finish says that the answer is whole, but a call is missing"
	case h.err != nil && k != llm.Incomplete && k != llm.Malformed:
		return "the error is of kind " + k.String() + ", not incomplete"
	case !strings.HasPrefix(whole.Message.Text(), got.Message.Text()):
		return "the text is another"
	}
	for _, call := range got.Message.Calls() {
		if !slices.ContainsFunc(whole.Message.Calls(), func(w llm.Call) bool { return cmp.Equal(w, call, same) }) {
			return "there is a call that nobody made: " + call.Name + " " + string(call.Args)
		}
	}
	return ""
}

// openCalls describes truncated calls that were handled wrongly; empty if there are none.
func (h observed) openCalls() string {
	open := map[string]bool{}
	for _, ev := range h.events {
		switch ev := ev.(type) {
		case llm.CallStart:
			open[ev.ID] = true
		case llm.Call:
			delete(open, ev.ID)
		case llm.InvalidCall:
			delete(open, ev.ID)
			if !ev.Provenance.Truncated {
				return "a call that was cut off is not marked as truncated"
			}
		}
	}
	if len(open) > 0 {
		return "a call that began is neither a call nor an invalid call"
	}
	return ""
}

func codecStops(t *testing.T, c wire.Codec) {
	stream := encodedStream(t, c, answers[len(answers)-1].response)
	for limit := 1; ; limit++ {
		heard, after := 0, 0
		c.DecodeStream(strings.NewReader(stream))(func(llm.Event, error) bool {
			if heard++; heard > limit {
				after++
			}
			return heard < limit
		})
		if after > 0 {
			t.Fatalf("the stream yielded %[2]d events after the caller stopped at %[1]d", limit, after)
		}
		if heard < limit {
			return
		}
	}
}

func codecSideBySide(t *testing.T, c wire.Codec) {
	var b strings.Builder
	w := c.NewStream(&b, format.Head{ID: "i", Model: "m"})
	rome, oslo := call(1, "get_weather", `{"city":"Rome"}`), call(2, "get_weather", `{"city":"Oslo"}`)
	for _, ev := range []llm.Event{
		llm.CallStart{ID: rome.ID, Name: rome.Name}, llm.CallStart{ID: oslo.ID, Name: oslo.Name},
		llm.CallDelta{ID: rome.ID, Args: string(rome.Args[:5])}, llm.CallDelta{ID: oslo.ID, Args: string(oslo.Args[:8])},
		llm.CallDelta{ID: rome.ID, Args: string(rome.Args[5:])}, llm.CallDelta{ID: oslo.ID, Args: string(oslo.Args[8:])},
		oslo, rome, llm.Finish{Reason: llm.ToolCalls},
	} {
		if err := w.Write(ev); err != nil {
			t.Fatal(err)
		}
	}
	got, err := collect(c.DecodeStream(strings.NewReader(b.String())))
	calls := got.Message.Calls()
	slices.SortFunc(calls, func(a, b llm.Call) int { return strings.Compare(string(b.Args), string(a.Args)) })
	for i := range calls {
		calls[i].ID = "" // formats without ids count calls in their order
	}
	rome.ID, oslo.ID = "", ""
	if diff := cmp.Diff([]llm.Call{rome, oslo}, calls, same); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s\n%s", err, diff, b.String())
	}
}

func codecPieceBorders(t *testing.T, c wire.Codec) {
	pieces := []string{`{"city": "New`, ` `, `York `, `City", "note":`, ` " a\n`, ` "`, `}`}
	want := call(1, "get_weather", strings.Join(pieces, ""))
	events := []llm.Event{llm.CallStart{ID: want.ID, Name: want.Name}}
	for _, p := range pieces {
		events = append(events, llm.CallDelta{ID: want.ID, Args: p})
	}
	stream := strings.Join(written(t, c, append(events, want, llm.Finish{Reason: llm.ToolCalls})...), "")
	got, err := collect(c.DecodeStream(strings.NewReader(stream)))
	if diff := cmp.Diff([]llm.Call{want}, got.Message.Calls(), same); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s\n%s", err, diff, stream)
	}
}

// codecKeepAlive writes keep-alives before, within and after the answer.
func codecKeepAlive(t *testing.T, c wire.Codec) {
	want := call(1, "get_weather", `{"city":"Rome"}`)
	stream := strings.Join(written(t, c, llm.KeepAlive{}, llm.Start{ID: "i", Model: "m"}, llm.KeepAlive{}, llm.TextDelta{Text: "Let me "}, llm.KeepAlive{}, llm.TextDelta{Text: "look."},
		llm.CallStart{ID: want.ID, Name: want.Name}, llm.KeepAlive{}, llm.CallDelta{ID: want.ID, Args: string(want.Args)}, llm.KeepAlive{}, want, llm.KeepAlive{}, llm.Finish{Reason: llm.ToolCalls}), "")
	got, err := collect(c.DecodeStream(strings.NewReader(stream)))
	if diff := cmp.Diff([]llm.Call{want}, got.Message.Calls(), same); err != nil || diff != "" || got.Message.Text() != "Let me look." {
		t.Errorf("%v, text %q (-want +got):\n%s\n%s", err, got.Message.Text(), diff, stream)
	}
}

// codecUnreadable puts unreadable data into requests and between the events of
// a stream.
func codecUnreadable(t *testing.T, c wire.Codec) {
	for _, body := range []string{"{bad", `{"model":`} {
		if _, _, err := c.DecodeRequest([]byte(body)); llm.KindOf(err) != llm.Invalid {
			t.Errorf("request %q: the error is not of kind invalid: %v", body, err)
		}
	}
	bad := "{bad\n"
	if c.StreamType() == "text/event-stream" {
		bad = "data: {bad\n\n"
	}
	events := written(t, c, llm.Start{ID: "i", Model: "m"}, llm.TextDelta{Text: "Let me "}, llm.TextDelta{Text: "look."}, llm.Finish{Reason: llm.Stop})
	for i := range events {
		stream := strings.Join(slices.Insert(slices.Clone(events), i, bad), "")
		if _, err := collect(c.DecodeStream(strings.NewReader(stream))); err == nil {
			t.Errorf("a piece that cannot be read is passed over:\n%s", stream)
		}
	}
}

// written returns the encoded form of each event of a stream.
func written(t *testing.T, c wire.Codec, events ...llm.Event) []string {
	t.Helper()
	var b strings.Builder
	var out []string
	w := c.NewStream(&b, format.Head{ID: "i", Model: "m"})
	for _, ev := range events {
		if err := w.Write(ev); err != nil {
			t.Fatal(err)
		}
		if b.Len() > 0 {
			out = append(out, b.String())
		}
		b.Reset()
	}
	return out
}

// unknown is an event that no format has heard of.
type unknown struct{}

// EventType returns "unknown".
func (unknown) EventType() string { return "unknown" }

func codecUnknownEvents(t *testing.T, c wire.Codec) {
	var b strings.Builder
	w := c.NewStream(&b, format.Head{ID: "i", Model: "m"})
	events := []llm.Event{unknown{}, llm.TextDelta{Text: "hi"}, llm.Warning{Code: llm.Ignored, Feature: "f", Detail: "d"}, unknown{}, llm.Finish{Reason: llm.Stop}, llm.TextDelta{Text: "late"}}
	for _, ev := range events {
		if err := w.Write(ev); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := collect(c.DecodeStream(strings.NewReader(b.String()))); err != nil || got.Message.Text() != "hi" {
		t.Errorf("%q, %v\n%s", got.Message.Text(), err, b.String())
	}
}

// codecErrors checks the facts that a status alone can express: whether another
// attempt may help, and the message.
func codecErrors(t *testing.T, c wire.Codec) {
	p := c.Properties()
	for _, kind := range []llm.Kind{llm.Invalid, llm.Auth, llm.NotFound, llm.TooLong, llm.RateLimited, llm.Overloaded, llm.Server, llm.Timeout} {
		status, body := c.EncodeError(&llm.Error{Kind: kind, Err: errors.New("it went wrong")})
		got := c.DecodeError(status, nil, body)
		if status < 400 || status > 599 || !strings.Contains(got.Error(), "it went wrong") || got.Kind.Transient() != kind.Transient() {
			t.Errorf("%s became HTTP %d %s, which is %s: %v", kind, status, body, got.Kind, got)
		}
	}
	for kind, code := range p.Errors {
		if code == "" {
			t.Errorf("the code of %s is empty", kind)
		}
	}
	for status, want := range map[int]llm.Kind{401: llm.Auth, 429: llm.RateLimited, 503: llm.Overloaded, 502: llm.Server} {
		for _, body := range []string{"", "<html>no</html>", "{", "null", "[1]"} {
			if got := c.DecodeError(status, nil, []byte(body)); got == nil || got.Kind != want || got.Err == nil {
				t.Errorf("HTTP %d %q is %v", status, body, got)
			}
		}
	}
}

func codecStreamErrors(t *testing.T, c wire.Codec) {
	for _, events := range [][]llm.Event{nil, {llm.TextDelta{Text: "half"}}, {llm.CallStart{ID: "call_1", Name: "f"}, llm.CallDelta{ID: "call_1", Args: `{"a`}}} {
		var b strings.Builder
		w := c.NewStream(&b, format.Head{ID: "i", Model: "m"})
		for _, ev := range events {
			if err := w.Write(ev); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Fail(&llm.Error{Kind: llm.Overloaded, Err: errors.New("too busy")}); err != nil {
			t.Fatal(err)
		}
		got, err := collect(c.DecodeStream(strings.NewReader(b.String())))
		if err == nil || !strings.Contains(err.Error(), "too busy") || !llm.KindOf(err).Transient() || len(got.Message.Calls()) > 0 {
			t.Errorf("after %v: %v, calls %v\n%s", events, err, got.Message.Calls(), b.String())
		}
	}
}

func codecNonsense(t *testing.T, c wire.Codec) {
	deep := strings.Repeat(`{"a":[`, 20_000)
	for _, body := range []string{
		"", " ", "null", "[]", "{}", `"x"`, "{", "not JSON", "\x00\xff\xfe", "data: ", "data: {\n\n", "event: x\n\n", "\n\n\n",
		`{"messages":1,"contents":1,"input":1}`, `{"messages":[[]]}`, deep, "data: " + deep + "\n\n", deep + strings.Repeat("]}", 20_000),
	} {
		if req, _, err := c.DecodeRequest([]byte(body)); err != nil && llm.KindOf(err) != llm.Invalid || err == nil && req == nil {
			t.Errorf("request %.40q: %v", body, err)
		}
		if _, err := c.DecodeResponse([]byte(body)); err == nil {
			t.Errorf("answer %.40q: no error", body)
		}
		heard, last := 0, error(nil)
		for _, err := range c.DecodeStream(strings.NewReader(body)) {
			if last != nil {
				t.Errorf("stream %.40q: something follows the error", body)
			}
			heard, last = heard+1, err
		}
		if last == nil {
			t.Errorf("stream %.40q: %d events and no error", body, heard)
		}
		if err := c.DecodeError(400, nil, []byte(body)); err == nil || err.Err == nil || len(err.Error()) > 4096 {
			t.Errorf("error %.40q: %v", body, err)
		}
	}
}

// endless is a line without an end.
type endless struct{ read int }

const maxLine = 512 << 20

func (e *endless) Read(p []byte) (int, error) {
	if e.read += len(p); e.read > maxLine {
		return 0, io.EOF
	}
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func codecEndless(t *testing.T, c wire.Codec) {
	src := new(endless)
	if _, err := collect(c.DecodeStream(src)); err == nil || src.read > maxLine {
		t.Errorf("%d MiB of one line were read, and the error was %v", src.read>>20, err)
	}
}
