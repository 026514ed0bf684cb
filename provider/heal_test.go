package provider_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/toolpost/toolpost/internal/wire/history"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
	"golang.org/x/tools/txtar"
)

// readHistory reads a conversation: a line is "role part part …", with the parts
// text:…, call:id:name:args, result:id:text, thinking:vendor:text, cut:id:name:args.
func readHistory(t *testing.T, src string) []llm.Message {
	t.Helper()
	var out []llm.Message
	for line := range strings.Lines(src) {
		role, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if role == "" {
			continue
		}
		m := llm.Message{Role: llm.Role(role)}
		for _, p := range strings.Split(rest, " | ") {
			if p != "" {
				m.Parts = append(m.Parts, part(t, p))
			}
		}
		out = append(out, m)
	}
	return out
}

func part(t *testing.T, s string) llm.Part {
	t.Helper()
	kind, rest, _ := strings.Cut(s, ":")
	f := append(strings.SplitN(rest, ":", 3), "", "", "")
	switch kind {
	case "text":
		return llm.Text{Text: rest}
	case "call":
		return llm.Call{ID: f[0], Name: f[1], Args: json.RawMessage(f[2])}
	case "cut":
		return llm.Call{ID: f[0], Name: f[1], Args: json.RawMessage(f[2]), Provenance: llm.Provenance{Truncated: true}}
	case "result":
		return llm.Result{CallID: f[0], Parts: []llm.Part{llm.Text{Text: f[1]}}}
	case "thinking":
		th := llm.Thinking{Text: f[1]}
		if f[0] != "" {
			th.State = llm.State{Vendor: f[0], Data: json.RawMessage(`{"signature":"s"}`)}
		}
		return th
	}
	t.Fatalf("no part is called %q", kind)
	return nil
}

// shown writes a conversation as history reads it.
func shown(messages []llm.Message) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(string(m.Role))
		for i, p := range m.Parts {
			if i > 0 {
				b.WriteString(" |")
			}
			switch p := p.(type) {
			case llm.Text:
				fmt.Fprintf(&b, " text:%s", strings.ReplaceAll(p.Text, "\n", "⏎"))
			case llm.Call:
				fmt.Fprintf(&b, " call:%s:%s:%s", p.ID, p.Name, p.Args)
			case llm.Result:
				fmt.Fprintf(&b, " result:%s:%s", p.CallID, strings.Replace(p.Text(), history.Interrupted, "INTERRUPTED", 1))
			case llm.Thinking:
				fmt.Fprintf(&b, " thinking:%s:%s", p.State.Vendor, p.Text)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// mirror is a server that remembers the conversation it was sent.
func mirror(t *testing.T, format string) (*httptest.Server, func() *llm.Request) {
	var last *llm.Request
	codec, _ := wire.For(format)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			last, _, err = codec.DecodeRequest(body)
		}
		if err != nil {
			t.Errorf("%s: %v in %s", format, err, body)
		}
		answer, _, err := codec.EncodeResponse(&llm.Response{Message: llm.Assistant(llm.Text{Text: "ok"}), Finish: llm.Finish{Reason: llm.Stop}})
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(answer)
	}))
	t.Cleanup(server.Close)
	return server, func() *llm.Request { return last }
}

// Every history in testdata/heal is one that vendors refuse; what is sent
// instead is in the same file.
func TestHeal(t *testing.T) {
	files, err := os.ReadDir("testdata/heal")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		t.Run(f.Name(), func(t *testing.T) {
			a, err := txtar.ParseFile("testdata/heal/" + f.Name())
			if err != nil {
				t.Fatal(err)
			}
			in := readHistory(t, string(a.Files[0].Data))
			for _, want := range a.Files[1:] {
				h := hostOf(want.Name)
				server, sent := mirror(t, h.wire)
				c := cell{host: h, route: provider.Native, whole: true}
				req := &llm.Request{Messages: in, Tools: []llm.ToolDef{weather}}
				before := shown(in)
				if _, err := llm.Generate(t.Context(), c.open(t, server), req); err != nil {
					t.Fatalf("%s: %v", want.Name, err)
				}
				if diff := cmp.Diff(strings.TrimSpace(string(want.Data)), strings.TrimSpace(shown(sent().Messages))); diff != "" {
					t.Errorf("%s: -want +got\n%s", want.Name, diff)
				}
				if shown(in) != before {
					t.Error("the caller's history was changed")
				}
			}
		})
	}
}

func hostOf(format string) host {
	for _, h := range hosts {
		if h.wire == format {
			return h
		}
	}
	return host{}
}
