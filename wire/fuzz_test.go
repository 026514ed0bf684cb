package wire

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	wireformat "github.com/toolpost/toolpost/wire/format"
	"golang.org/x/tools/txtar"
)

// addSeeds gives a fuzz target the golden files and generated conversations.
func addSeeds(f *testing.F, section string, gen func(format string, seed uint64) []byte) {
	f.Helper()
	for i, format := range Formats() {
		files, err := filepath.Glob(filepath.Join("testdata", format, "*.txtar"))
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			for _, part := range txtar.Parse(b).Files {
				if part.Name == "stream" {
					part.Data = streamBytes(f, format, part.Data)
				}
				if part.Name == section {
					f.Add(uint8(i), part.Data)
				}
			}
		}
		for seed := range uint64(3) {
			f.Add(uint8(i), gen(format, seed))
		}
	}
}

func codecOf(format uint8) Codec {
	return Codec{Format: Formats()[int(format)%len(Formats())]}
}

// FuzzDecodeRequest: whatever a client sends, it is an error of kind Invalid
// or a request; and a request that goes on means the same when it comes back.
func FuzzDecodeRequest(f *testing.F) {
	addSeeds(f, "request", func(format string, seed uint64) []byte {
		body, _, _ := (Codec{Format: format}).EncodeRequest(newGen(format, seed).request(), false)
		return body
	})
	f.Fuzz(func(t *testing.T, format uint8, body []byte) {
		c := codecOf(format)
		req, stream, err := c.DecodeRequest(body)
		if err != nil {
			if llm.KindOf(err) != llm.Invalid {
				t.Fatalf("%s: kind %s: %v", c.Format, llm.KindOf(err), err)
			}
			return
		}
		again, _, err := c.EncodeRequest(req, stream)
		if err != nil {
			return // a tool without a legal form, a number JSON has no word for
		}
		if !json.Valid(again) {
			t.Fatalf("%s: %q became %q", c.Format, body, again)
		}
		twice, _, err := c.DecodeRequest(again)
		if err != nil {
			t.Fatalf("%s: %q became %q: %v", c.Format, body, again, err)
		}
		if diff := cmp.Diff(storyOf(req), storyOf(twice)); diff != "" {
			t.Fatalf("%s: %q became %q:\n%s", c.Format, body, again, diff)
		}
	})
}

// FuzzDecodeResponse: whatever a vendor sends, it is an llm.Error or an answer
// whose calls have arguments that are JSON.
func FuzzDecodeResponse(f *testing.F) {
	addSeeds(f, "answer", func(format string, seed uint64) []byte {
		body, _, _ := (Codec{Format: format}).EncodeResponse(newGen(format, seed).response())
		return body
	})
	f.Fuzz(func(t *testing.T, format uint8, body []byte) {
		c := codecOf(format)
		r, err := c.DecodeResponse(body)
		checkError(t, c, err)
		checkParts(t, c, r)
		if err != nil {
			return
		}
		if again, _, err := c.EncodeResponse(r); err == nil && !json.Valid(again) {
			t.Fatalf("%s: %q became %q", c.Format, body, again)
		}
		checkError(t, c, c.DecodeError(500, nil, body))
	})
}

func checkError(t *testing.T, c Codec, err error) {
	t.Helper()
	if err == nil {
		return
	}
	if _, ok := err.(*llm.Error); !ok || err.Error() == "" {
		t.Fatalf("%s: %v is no llm.Error", c.Format, err)
	}
}

func checkParts(t *testing.T, c Codec, r *llm.Response) {
	t.Helper()
	ids := map[string]bool{}
	for _, call := range r.Message.Calls() {
		if !json.Valid(call.Args) || call.Name == "" || call.ID == "" || ids[call.ID] {
			t.Fatalf("%s: the call %+v", c.Format, call)
		}
		ids[call.ID] = true
	}
}

// FuzzDecodeStream: a stream keeps the promises of package llm, however it is
// cut.
func FuzzDecodeStream(f *testing.F) {
	addSeeds(f, "stream", func(format string, seed uint64) []byte {
		var b bytes.Buffer
		c := Codec{Format: format}
		enc := c.NewStream(&b, wireformat.Head{ID: "i", Model: "m"})
		for _, ev := range newGen(format, seed).response().Events() {
			if enc.Write(ev) != nil {
				break
			}
		}
		return b.Bytes()
	})
	f.Fuzz(func(t *testing.T, format uint8, body []byte) {
		c := codecOf(format)
		want := checkStream(t, c, bytes.NewReader(body))
		half := len(body) / 2
		got := checkStream(t, c, io.MultiReader(bytes.NewReader(body[:half]), bytes.NewReader(body[half:])))
		if diff := cmp.Diff(want, got, same); diff != "" {
			t.Fatalf("%s: cut in two, %q means something else:\n%s", c.Format, body, diff)
		}
	})
}

// checkStream holds a stream to the contract: one start, before the answer; one
// finish or one error, last; deltas join to arguments; every call that begins ends.
func checkStream(t *testing.T, c Codec, src io.Reader) *llm.Response {
	t.Helper()
	var b llm.Builder
	deltas := map[string]string{}
	open := map[string]bool{}
	ended, begun := false, false
	for ev, err := range c.DecodeStream(src) {
		if ended {
			t.Fatalf("%s: something after the end: %v %v", c.Format, ev, err)
		}
		if err != nil {
			checkError(t, c, err)
			ended = true
			continue
		}
		b.Add(ev)
		if _, start := ev.(llm.Start); start && begun || !start && !begun && llm.Begins(ev) {
			t.Fatalf("%s: %T at the wrong place", c.Format, ev)
		} else if start {
			begun = true
		}
		switch ev := ev.(type) {
		case llm.CallStart:
			open[ev.ID] = true
		case llm.CallDelta:
			if !open[ev.ID] {
				t.Fatalf("%s: a piece of %q, which is not open", c.Format, ev.ID)
			}
			deltas[ev.ID] += ev.Args
		case llm.Call:
			if deltas[ev.ID] != string(ev.Args) {
				t.Fatalf("%s: deltas %q, arguments %q", c.Format, deltas[ev.ID], ev.Args)
			}
			delete(open, ev.ID)
		case llm.InvalidCall:
			delete(open, ev.ID)
		case llm.Finish:
			ended = true
		}
	}
	if !ended || len(open) > 0 {
		t.Fatalf("%s: ended %v, open calls %v", c.Format, ended, open)
	}
	r := b.Response()
	checkParts(t, c, r)
	return r
}

// FuzzRelay: a relay that passes everything writes what it read and shows the
// events of the decoder; one that translates from some event on writes a stream
// that can be read, or reports an error.
func FuzzRelay(f *testing.F) {
	addSeeds(f, "stream", func(format string, seed uint64) []byte {
		var b bytes.Buffer
		enc := Codec{Format: format}.NewStream(&b, wireformat.Head{ID: "i", Model: "m"})
		for _, ev := range newGen(format, seed).response().Events() {
			if enc.Write(ev) != nil {
				break
			}
		}
		return b.Bytes()
	})
	f.Fuzz(func(t *testing.T, format uint8, body []byte) {
		c := codecOf(format)
		want, failed := decodeAll(c, bytes.NewReader(body))
		half := len(body) / 2
		src := io.MultiReader(bytes.NewReader(body[:half]), bytes.NewReader(body[half:]))
		out, events, err := relayThrough(t, c, src, passAll)
		if diff := cmp.Diff(want, events, same); diff != "" || llm.KindOf(err) != llm.KindOf(failed) {
			t.Fatalf("%s: %q relayed means something else: %v, %v\n%s", c.Format, body, err, failed, diff)
		}
		entire := len(js.Trim(bytes.TrimPrefix(body, []byte("\ufeff")))) > 0 && js.Trim(bytes.TrimPrefix(body, []byte("\ufeff")))[0] == '{' && c.Format != Ollama
		mended := slices.ContainsFunc(events, func(ev llm.Event) bool {
			w, is := ev.(llm.Warning)
			return is && w.Code == llm.Corrected && w.Feature != "finish reason"
		})
		if err == nil && !entire && !mended && c.Format != Ollama && out != string(body) {
			t.Fatalf("%s: %q became %q", c.Format, body, out)
		}
		at := half % max(1, len(want))
		out, _, err = relayThrough(t, c, bytes.NewReader(body), func(i int, ev llm.Event) wireformat.RelayDecision {
			if i == at {
				return wireformat.Replace(ev)
			}
			return wireformat.Pass
		})
		if err == nil {
			checkStream(t, c, strings.NewReader(out))
		}
	})
}
