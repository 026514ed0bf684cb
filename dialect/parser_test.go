package dialect_test

import (
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
)

// What may not be held ends the stream with an error, which is the last thing
// said, wherever the limit is noticed.
func TestLimits(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	long := strings.Repeat("a", 5000)
	for _, text := range []string{
		`<tool_call>{"arguments":{"path":"` + long + `"},"name":"write_file"}</tool_call>`,
		`<tool_call>{"name":"write_file","arguments":{"path":"` + long + `"}}</tool_call>`,
		"<tool_call>\n<function=write_file>\n<parameter=path>\n" + long + "\n</parameter>\n</function>\n</tool_call>",
		`[write_file(path="` + long + `")]`,
		"<think>" + `<tool_call>{"name":"write_file","arguments":{"path":"a"}}</tool_call>` + long,
	} {
		for _, chunk := range []int{1, 16, 300} {
			attacks++
			p := dialect.Parser{Tools: writeFile, MaxCall: 1000}
			var failed error
			read := 0
			for ev, err := range p.Parse(counted(dialect.Cut(text, chunk), &read)) {
				if failed != nil {
					t.Errorf("after the error: %v %v", ev, err)
				}
				if _, ok := ev.(llm.Call); ok {
					t.Errorf("a call that is too long in chunks of %d: %.80s", chunk, text)
				}
				failed = err
			}
			if llm.KindOf(failed) != llm.Malformed {
				t.Errorf("in chunks of %d: %v: %.80s", chunk, failed, text)
			}
			if read > 3000 {
				t.Errorf("in chunks of %d: read %d bytes: %.80s", chunk, read, text)
			}
		}
	}
}

// counted passes chunks on and counts their bytes.
func counted(chunks iter.Seq2[string, error], n *int) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for s, err := range chunks {
			if *n += len(s); !yield(s, err) {
				return
			}
		}
	}
}

// Text, thinking and short calls are not limited.
func TestNoLimits(t *testing.T) {
	call := `<tool_call>{"name":"write_file","arguments":{"path":"a"}}</tool_call>`
	text := "<think>" + strings.Repeat("why? ", 1000) + "</think>" + strings.Repeat("so. ", 1000) + strings.Repeat(call, 100)
	for _, chunk := range []int{1, 16, 300} {
		p := dialect.Parser{Tools: writeFile, MaxCall: 500}
		for _, err := range p.Parse(dialect.Cut(text, chunk)) {
			if err != nil {
				t.Fatalf("in chunks of %d: %v", chunk, err)
			}
		}
	}
}

// The error of the chunks comes last, after what was open is cut off.
func TestChunksFail(t *testing.T) {
	lost := errors.New("the connection was lost")
	chunks := func(yield func(string, error) bool) {
		_ = yield(`Sure. <tool_call>{"name":"write_file","arguments":{"pa`, nil) && yield("", lost)
	}
	var types []string
	var last error
	p := dialect.Parser{Tools: writeFile}
	for ev, err := range p.Parse(chunks) {
		if last = err; err == nil {
			types = append(types, ev.EventType())
		}
	}
	if got := strings.Join(types, " "); got != "text_delta call_start call_delta invalid_call" || !errors.Is(last, lost) {
		t.Errorf("%s, then %v", got, last)
	}
}

// A consumer that goes away in the middle ends the chunks too, at whatever
// event it goes.
func TestStopEarly(t *testing.T) {
	for _, s := range streams {
		text := s.make(2000)
		for stop := 1; stop < 40; stop++ {
			ended := false
			n := 0
			p := dialect.Parser{Tools: writeFile}
			for range p.Parse(ending(dialect.Cut(text, 7), &ended)) {
				if n++; n == stop {
					break
				}
			}
			if !ended {
				t.Fatalf("%s: the chunks go on after %d events", s.name, n)
			}
		}
	}
}

// ending passes chunks on and notes that their loop has ended.
func ending(chunks iter.Seq2[string, error], ended *bool) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		defer func() { *ended = true }()
		for s, err := range chunks {
			if !yield(s, err) {
				return
			}
		}
	}
}

// What is certain leaves with the chunk that makes it so: long text of every
// kind is never held.
func TestNothingIsHeld(t *testing.T) {
	for _, s := range streams[:4] {
		text := s.make(2000)
		at, said := 0, 0
		p := dialect.Parser{Tools: writeFile}
		chunks := func(yield func(string, error) bool) {
			for c := range dialect.Cut(text, 10) {
				if at > 200 && said < at/2 {
					t.Errorf("%s: after %d bytes %d have left", s.name, at, said)
				}
				at += len(c)
				if !yield(c, nil) {
					return
				}
			}
		}
		for ev := range p.Parse(chunks) {
			switch ev := ev.(type) {
			case llm.TextDelta:
				said += len(ev.Text)
			case llm.CallDelta:
				said += len(ev.Args)
			}
		}
	}
}
