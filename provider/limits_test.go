package provider_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
	"github.com/toolpost/toolpost/wire/format"
)

// endless writes answers of one format that never end.
type endless struct {
	format string
	events iter.Seq[llm.Event] // after the start; it has no end
	pause  time.Duration       // between two of them
}

// body returns the answer as a reader whose stream nobody ever ends.
func (e endless) body(ctx context.Context) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		enc := wire.Codec{Format: e.format}.NewStream(w, format.Head{ID: "a", Model: "m"})
		for ev := range e.events {
			select {
			case <-ctx.Done():
				w.CloseWithError(ctx.Err())
				return
			case <-time.After(e.pause):
			}
			if err := enc.Write(ev); err != nil {
				w.CloseWithError(err)
				return
			}
		}
	}()
	return r
}

func (e endless) RoundTrip(r *http.Request) (*http.Response, error) {
	codec := wire.Codec{Format: e.format}
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {codec.StreamType()}}, Body: e.body(r.Context()), Request: r}, nil
}

// forever repeats an event.
func forever(events ...llm.Event) iter.Seq[llm.Event] {
	return func(yield func(llm.Event) bool) {
		for {
			for _, ev := range events {
				if !yield(ev) {
					return
				}
			}
		}
	}
}

// first puts an event before others.
func first(ev llm.Event, others iter.Seq[llm.Event]) iter.Seq[llm.Event] {
	return func(yield func(llm.Event) bool) {
		if yield(ev) {
			others(yield)
		}
	}
}

// Every limit ends an answer that does not end by itself, in every format, with
// an error of its own kind, and what came before it has arrived.
func TestLimits(t *testing.T) {
	long := strings.Repeat("word ", 200)
	few := llm.Limits{Bytes: 1 << 20, Text: 64 << 10, Thinking: 64 << 10, Events: 1000, Time: 10 * time.Minute, Idle: time.Minute}
	for _, c := range []struct {
		name   string
		events iter.Seq[llm.Event]
		pause  time.Duration
		limits llm.Limits
		kind   llm.Kind
		not    []string // formats that cannot say it
	}{
		{"text", forever(llm.TextDelta{Text: long}), 0, few, llm.TextLimit, nil},
		{"thinking", forever(llm.ThinkingDelta{Text: long}), 0, few, llm.ThinkingLimit, nil},
		{"arguments", first(llm.CallStart{ID: "c1", Name: "f"}, first(llm.CallDelta{ID: "c1", Args: `{"a":"`}, forever(llm.CallDelta{ID: "c1", Args: long}))), 0, few, llm.TextLimit, []string{wire.Gemini, wire.Ollama}},
		{"tiny pieces", forever(llm.TextDelta{Text: "a"}), 0, few, llm.EventLimit, nil},
		{"bytes", forever(llm.TextDelta{Text: long}), 0, llm.Limits{Bytes: 32 << 10}, llm.ByteLimit, nil},
		{"keep-alives", first(llm.TextDelta{Text: "Hello"}, forever(llm.KeepAlive{})), 10 * time.Second, few, llm.Stalled, []string{wire.Ollama, wire.Converse}},
		{"keep-alives from the start", forever(llm.KeepAlive{}), 10 * time.Second, few, llm.Stalled, []string{wire.Ollama, wire.Converse}},
		{"a word now and then", forever(llm.TextDelta{Text: "word "}), 30 * time.Second, few, llm.TimeLimit, nil},
	} {
		for _, format := range wire.Formats() {
			if strings.Contains(fmt.Sprint(c.not), format) {
				continue
			}
			t.Run(c.name+"/"+format, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					client := &provider.Client{
						HTTP:    &http.Client{Transport: endless{format, c.events, c.pause}},
						Vendors: map[string]provider.Vendor{"own": {BaseURL: "http://host/v1", Wires: []string{format}}},
						Limits:  c.limits, Retry: provider.RetryPolicy{Attempts: 1},
					}
					var got llm.Builder
					var failed error
					for ev, err := range open(t, client, "own/m").Stream(ctx, hi) {
						if failed = err; err == nil {
							got.Add(ev)
						}
					}
					if llm.KindOf(failed) != c.kind {
						t.Errorf("%v, want %v", failed, c.kind)
					}
					if n := len(got.Response().Message.Text()); int64(n) > 64<<10 {
						t.Errorf("%d bytes of text arrived", n)
					}
				})
			})
		}
	}
}

// The request's own limits are stronger than the client's, and less than 0 is
// none.
func TestLimitsOfARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		client := &provider.Client{
			HTTP:    &http.Client{Transport: endless{wire.Chat, forever(llm.TextDelta{Text: "word "}), 0}},
			Vendors: map[string]provider.Vendor{"own": {BaseURL: "http://host/v1", Wires: []string{wire.Chat}}},
			Limits:  llm.Limits{Text: 100},
		}
		m := open(t, client, "own/m")
		for _, c := range []struct {
			limits llm.Limits
			kind   llm.Kind
		}{
			{llm.Limits{}, llm.TextLimit},
			{llm.Limits{Text: 10_000, Events: 50}, llm.EventLimit},
			{llm.Limits{Text: -1, Events: -1, Bytes: 50_000}, llm.ByteLimit},
		} {
			req := *hi
			req.Limits = c.limits
			if _, err := llm.Generate(ctx, m, &req); llm.KindOf(err) != c.kind {
				t.Errorf("%+v: %v, want %v", c.limits, err, c.kind)
			}
		}
	})
}

// A whole answer is bounded before it is decoded, and so is one that dribbles.
func TestLimitsOfWholeAnswers(t *testing.T) {
	for _, format := range wire.Formats() {
		answer := &llm.Response{Message: llm.Assistant(llm.Thinking{Text: strings.Repeat("hm ", 30_000)}, llm.Text{Text: strings.Repeat("word ", 30_000)}), Finish: llm.Finish{Reason: llm.Stop}}
		whole, _, err := wire.Codec{Format: format}.EncodeResponse(answer)
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(whole) }))
		defer server.Close()
		for limits, kind := range map[llm.Limits]llm.Kind{
			{}:                 llm.Unknown,
			{Bytes: 10_000}:    llm.ByteLimit,
			{Text: 10_000}:     llm.TextLimit,
			{Thinking: 10_000}: llm.ThinkingLimit,
			{Events: 1}:        llm.EventLimit,
		} {
			client := &provider.Client{
				Whole: true, Limits: limits,
				Vendors: map[string]provider.Vendor{"own": {BaseURL: server.URL, Wires: []string{format}}},
			}
			if _, err := llm.Generate(t.Context(), open(t, client, "own/m"), hi); llm.KindOf(err) != kind {
				t.Errorf("%s with %+v: %v, want %v", format, limits, err, kind)
			}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		client := &provider.Client{Whole: true, HTTP: &http.Client{Transport: dribble{}}, Retry: provider.RetryPolicy{Attempts: 1}}
		if _, err := llm.Generate(t.Context(), open(t, client, "http://host/v1#m"), hi); llm.KindOf(err) != llm.Stalled {
			t.Errorf("blanks instead of an answer: %v", err)
		}
	})
}

// TestSlowDocumentIsAwaited checks that a document may take longer than the beginning of a stream: nothing of it comes
// before its end.
func TestSlowDocumentIsAwaited(t *testing.T) {
	for _, test := range []struct {
		whole bool
		takes time.Duration
		kind  llm.Kind
	}{
		{true, 20 * time.Minute, llm.Unknown}, {true, 40 * time.Minute, llm.Timeout}, {false, 20 * time.Minute, llm.Timeout},
	} {
		synctest.Test(t, func(t *testing.T) {
			client := &provider.Client{Whole: test.whole, HTTP: &http.Client{Transport: slowDocument(test.takes)}, Retry: provider.RetryPolicy{Attempts: 1}}
			if _, err := llm.Generate(t.Context(), open(t, client, "http://host/v1#m"), hi); llm.KindOf(err) != test.kind {
				t.Errorf("%+v: %v", test, err)
			}
		})
	}
}

// slowDocument answers with a document after a time.
type slowDocument time.Duration

func (s slowDocument) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPost {
		return &http.Response{StatusCode: 404, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	}
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-time.After(time.Duration(s)):
	}
	const answer = `{"id":"a","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hi"}}]}`
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(answer)), Request: r}, nil
}

// dribble answers with blanks, which some servers send so that nobody gives up.
type dribble struct{}

func (dribble) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(blanks{r.Context()}), Request: r}, nil
}

type blanks struct{ ctx context.Context }

func (b blanks) Read(p []byte) (int, error) {
	select {
	case <-b.ctx.Done():
		return 0, b.ctx.Err()
	case <-time.After(10 * time.Second):
		return copy(p, " "), nil
	}
}

// With the default limits an answer without end holds a bounded part of the
// memory, over a real connection.
func TestEndlessAnswersFitTheMemory(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		piece := []byte(`data: {"choices":[{"index":0,"delta":{"content":"` + strings.Repeat("word ", 1000) + `"}}]}` + "\n\n")
		for {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	var text bytes.Buffer
	var failed error
	for ev, err := range open(t, &provider.Client{}, server.URL+"/v1#m").Stream(t.Context(), hi) {
		failed = err
		if d, ok := ev.(llm.TextDelta); ok {
			text.WriteString(d.Text)
		}
	}
	runtime.ReadMemStats(&after)
	grown := int64(after.HeapSys) - int64(before.HeapSys)
	t.Logf("%d MiB of text in %v, %d MiB of memory more", text.Len()>>20, time.Since(start).Round(time.Millisecond), grown>>20)
	if llm.KindOf(failed) != llm.TextLimit || text.Len() > 4<<20 || grown > 300<<20 {
		t.Errorf("%v after %d bytes, %d bytes of memory more", failed, text.Len(), grown)
	}
}

// filler is a reader that repeats a byte without end and counts what was taken.
type filler struct {
	head  string
	taken *atomic.Int64
}

func (f *filler) Read(p []byte) (int, error) {
	n := copy(p, f.head)
	f.head = f.head[n:]
	for i := n; i < len(p); i++ {
		p[i] = 'a'
	}
	f.taken.Add(int64(len(p)))
	return len(p), nil
}

func (f *filler) Close() error { return nil }

type fill struct {
	head  string
	taken atomic.Int64
}

func (f *fill) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: &filler{f.head, &f.taken}, Request: r}, nil
}

// An answer that is one document without end is given up after a part of what a
// stream may have in all: nothing of it is known before it is whole, and reading
// it cannot be interrupted.
func TestDocumentsWithoutEnd(t *testing.T) {
	heads := map[string][]string{
		wire.Chat: {`{"choices":[{"index":0,"message":{"role":"assistant","content":"`}, wire.Responses: {`{"output":[{"type":"message","content":[{"type":"output_text","text":"`},
		wire.Messages: {`{"type":"message","content":[{"type":"text","text":"`}, wire.Gemini: {`{"candidates":[{"content":{"parts":[{"text":"`, `[{"candidates":[{"content":{"parts":[{"text":"`},
		wire.Ollama: {`{"message":{"role":"assistant","content":"`, "{\n" + `"message":{"role":"assistant","content":"`}, wire.Converse: {`{"output":{"message":{"role":"assistant","content":[{"text":"`},
	}
	for _, format := range wire.Formats() {
		if len(heads[format]) == 0 {
			t.Errorf("no answers in the %s format", format)
		}
		for _, head := range heads[format] {
			for _, whole := range []bool{false, true} {
				server := &fill{head: head}
				client := &provider.Client{
					Whole: whole, HTTP: &http.Client{Transport: server}, Retry: provider.RetryPolicy{Attempts: 1},
					Vendors: map[string]provider.Vendor{"own": {BaseURL: "http://host/v1", Wires: []string{format}}},
				}
				_, err := llm.Generate(t.Context(), open(t, client, "own/m"), hi)
				if kind := llm.KindOf(err); kind != llm.ByteLimit && kind != llm.Malformed {
					t.Errorf("%s %.10q, whole %v: %v", format, head, whole, err)
				}
				if n := server.taken.Load(); n > 66<<20 {
					t.Errorf("%s %.10q, whole %v: %d bytes were taken", format, head, whole, n)
				}
			}
		}
	}
}

// What a compressed answer becomes is what counts.
func TestCompressedAnswersAreCountedAsTheyAre(t *testing.T) {
	var bomb bytes.Buffer
	z, _ := gzip.NewWriterLevel(&bomb, gzip.BestCompression)
	io.WriteString(z, `{"choices":[{"index":0,"message":{"role":"assistant","content":"`)
	for range 100 {
		z.Write(bytes.Repeat([]byte("a"), 1<<20))
	}
	io.WriteString(z, `"},"finish_reason":"stop"}]}`)
	z.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(bomb.Bytes())
	}))
	defer server.Close()
	for _, whole := range []bool{false, true} {
		for limit, kind := range map[int64]llm.Kind{0: llm.ByteLimit, 1 << 20: llm.ByteLimit} {
			client := &provider.Client{Whole: whole, Limits: llm.Limits{Bytes: limit}, Retry: provider.RetryPolicy{Attempts: 1}}
			if _, err := llm.Generate(t.Context(), open(t, client, server.URL+"/v1#m"), hi); llm.KindOf(err) != kind {
				t.Errorf("%d bytes that become 100 MiB, limit %d, whole %v: %v", bomb.Len(), limit, whole, err)
			}
		}
	}
}
