package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/codec"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write what the codecs make of the golden files")

// TestGolden reads what vendors send. A file is an archive: a request with
// what it means, an answer or a stream with its events. What a client sent to
// us goes on to the same vendor as it came; "again" shows where it is written
// otherwise.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(strings.TrimPrefix(file, "testdata/"), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(bytes.TrimSpace(ar.Comment)) == 0 {
				t.Error("a golden file opens with the reason it is there for")
			}
			g := &golden{t: t, c: Codec{Format: filepath.Base(filepath.Dir(file))}, ar: ar}
			for _, f := range ar.Files {
				g.check(f.Name, f.Data)
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(g.ar), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

type golden struct {
	t  *testing.T
	c  Codec
	ar *txtar.Archive
}

// want compares a section, or writes it.
func (g *golden) want(name, got string) {
	g.t.Helper()
	for i, f := range g.ar.Files {
		if f.Name != name {
			continue
		}
		if *update {
			g.ar.Files[i].Data = []byte(got)
		} else if diff := cmp.Diff(string(f.Data), got); diff != "" {
			g.t.Errorf("%s:\n%s", name, diff)
		}
		return
	}
	if *update {
		g.ar.Files = append(g.ar.Files, txtar.File{Name: name, Data: []byte(got)})
		return
	}
	g.t.Errorf("there is no section %q; it would be\n%s", name, got)
}

func (g *golden) check(name string, data []byte) {
	switch name {
	case "request":
		g.request(data)
	case "answer":
		var b strings.Builder
		r, err := g.c.DecodeResponse(data)
		g.asEvents(data, r, err)
		for _, ev := range r.Events() {
			fmt.Fprintln(&b, line(g.t, ev))
		}
		if err != nil {
			fmt.Fprintf(&b, "error %v\n", err)
		} else {
			g.answerAgain(r, data)
		}
		g.want("answer events", b.String())
	case "stream":
		g.stream(streamBytes(g.t, g.c.Format, data))
	}
}

// asEvents checks that the events of an answer build it.
func (g *golden) asEvents(data []byte, want *llm.Response, failed error) {
	events, _, err := g.c.DecodeEvents(data)
	var b llm.Builder
	finished := false
	for _, ev := range events {
		b.Add(ev)
		_, finished = ev.(llm.Finish)
	}
	if diff := cmp.Diff(want, b.Response()); diff != "" || (err == nil) != (failed == nil) || finished != (err == nil) {
		g.t.Errorf("events: %v, and the answer %v, finished %t\n%s", err, failed, finished, diff)
	}
}

func line(t *testing.T, ev llm.Event) string {
	b, err := llm.MarshalEvent(ev)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// request decodes a request, shows it, and sends it on.
func (g *golden) request(data []byte) {
	req, stream, err := g.c.DecodeRequest(data)
	if err != nil {
		g.want("means", "error "+err.Error()+"\n")
		return
	}
	g.want("means", showRequest(g.t, req, stream))
	body, warnings, err := g.c.EncodeRequest(req, stream)
	if err != nil || len(warnings) > 0 {
		g.t.Errorf("on the way back: %v %v", err, warnings)
	}
	g.again("again", data, body)
}

func (g *golden) answerAgain(r *llm.Response, data []byte) {
	if r.Start.ID == "" && codec.NewAnswerID(g.c.Properties()) != "" {
		r.Start.ID = "made"
	}
	if r.Start.Created.IsZero() {
		r.Start.Created = time.Unix(1, 0)
	}
	body, warnings, err := g.c.EncodeResponse(r)
	if err != nil || len(warnings) > 0 {
		g.t.Errorf("on the way back: %v %v", err, warnings)
	}
	g.again("answer again", data, body)
}

// again compares what came with what goes on. A difference is shown in a
// section of its own.
func (g *golden) again(name string, was, is []byte) {
	diff := cmp.Diff(parsed(g.t, was), parsed(g.t, is))
	if diff == "" {
		return
	}
	var b bytes.Buffer
	if err := json.Indent(&b, is, "", " "); err != nil {
		g.t.Fatal(err)
	}
	g.want(name, b.String()+"\n")
}

func parsed(t *testing.T, b []byte) any {
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return withoutNull(v)
}

// withoutNull removes members that say nothing.
func withoutNull(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, val := range v {
			if val == nil {
				delete(v, k)
			} else {
				v[k] = withoutNull(val)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutNull(v[i])
		}
	}
	return v
}

// stream decodes a stream whole, cut at every byte, and ended at every byte.
func (g *golden) stream(data []byte) {
	want := transcript(g.t, g.c, bytes.NewReader(data))
	g.want("stream events", want)
	for i := range len(data) {
		if got := transcript(g.t, g.c, &twoReads{string(data[:i]), string(data[i:])}); got != want {
			g.t.Fatalf("cut at %d:\n%s", i, cmp.Diff(want, got))
		}
	}
	for i := range len(data) {
		g.endsAt(data, i)
	}
}

// endsAt: a stream that is lost ends with an error, or it was whole but for
// what nobody needs.
func (g *golden) endsAt(data []byte, i int) {
	finished, failed := false, false
	open := map[string]bool{}
	for ev, err := range g.c.DecodeStream(bytes.NewReader(data[:i])) {
		var known *llm.Error
		switch {
		case err != nil && !errors.As(err, &known):
			g.t.Fatalf("ended at %d: %v is no llm.Error", i, err)
		case err != nil:
			failed = true
			continue
		}
		switch ev := ev.(type) {
		case llm.CallStart:
			open[ev.ID] = true
		case llm.Call:
			delete(open, ev.ID)
		case llm.InvalidCall:
			delete(open, ev.ID)
		case llm.Finish:
			finished = true
		}
	}
	if finished == failed {
		g.t.Fatalf("ended at %d: finished %v, failed %v", i, finished, failed)
	}
	if len(open) > 0 {
		g.t.Fatalf("ended at %d: calls that began and never ended: %v", i, open)
	}
}

// showRequest writes a request for people.
func showRequest(t *testing.T, r *llm.Request, stream bool) string {
	var b strings.Builder
	show := func(name string, v any) {
		j, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if s := string(j); s != "null" && s != `""` && s != "0" && s != "false" && s != "[]" {
			fmt.Fprintf(&b, "%s %s\n", name, s)
		}
	}
	show("model", r.Model)
	show("stream", stream)
	show("system", r.System)
	for _, m := range r.Messages {
		show("message", m)
	}
	for _, d := range r.Tools {
		show("tool", showTool(t, d))
	}
	if r.Choice.Mode != llm.MayCall || r.Choice.Allowed != nil {
		show("choice", fmt.Sprint(r.Choice.Mode, " ", r.Choice.Name, r.Choice.Allowed))
	}
	show("one call", r.OneCall)
	show("output", r.Output)
	show("max tokens", r.MaxTokens)
	show("temperature", r.Temperature)
	show("top p", r.TopP)
	show("top k", r.TopK)
	show("stop", r.Stop)
	show("seed", r.Seed)
	show("reasoning", r.Reasoning)
	show("extra", r.Extra)
	return b.String()
}

// showTool drops the empty fields of a tool.
func showTool(t *testing.T, d llm.ToolDef) any {
	j, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return dropEmpty(parsed(t, j))
}

func dropEmpty(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	for k, val := range m {
		if val = dropEmpty(val); val == "" || val == 0.0 || val == nil {
			delete(m, k)
		}
	}
	return m
}
