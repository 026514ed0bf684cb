package otelobserve_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe/otelobserve"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/tool"
)

// receiver takes spans as an OTLP collector does, over HTTP and as protobuf.
type receiver struct {
	mu       sync.Mutex
	raw      []byte
	spans    []*trace.Span
	schemas  []string
	problems []string
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	b, err := io.ReadAll(req.Body)
	var in collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(b, &in)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil || req.URL.Path != "/v1/traces" || req.Header.Get("Content-Type") != "application/x-protobuf" {
		r.problems = append(r.problems, req.URL.Path+" "+req.Header.Get("Content-Type"))
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.raw = append(r.raw, b...)
	for _, rs := range in.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			r.spans = append(r.spans, ss.Spans...)
			r.schemas = append(r.schemas, ss.SchemaUrl)
		}
	}
	out, _ := proto.Marshal(&collector.ExportTraceServiceResponse{})
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(out)
}

// actor calls three tools in its first answer and is done in the second.
func actor(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	r := &llm.Response{Message: llm.Assistant(llm.Text{Text: "All is known."}), Finish: llm.Finish{Reason: llm.Stop, Usage: llm.Usage{Input: 30, Output: 5}}}
	if req.Messages[len(req.Messages)-1].Role == llm.RoleUser {
		r.Finish = llm.Finish{Reason: llm.ToolCalls, Usage: llm.Usage{Input: 20, Output: 10}}
		r.Message = llm.Assistant(
			llm.Call{ID: "call_a", Name: "weigh", Args: json.RawMessage(`{"n":"3"}`)},
			llm.Call{ID: "call_b", Name: "weigh", Args: json.RawMessage(`{"n":4}`)},
			llm.Call{ID: "call_c", Name: "burn", Args: json.RawMessage(`{}`)})
	}
	return func(yield func(llm.Event, error) bool) {
		for _, ev := range r.Events() {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

const key = "sk-proj-Zm9vYmFyMTIzNDU2Nzg5MGFiY2RlZmdoaWprbG1ub3A"

// play runs an agent on a simulated vendor that fails once, with a tool that fails
// once, and returns what the collector got and the record.
func play(t *testing.T, o otelobserve.Options) (*receiver, *journal.Memory) {
	t.Helper()
	got := new(receiver)
	collected := httptest.NewServer(got)
	defer collected.Close()
	exporter, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpointURL(collected.URL+"/v1/traces"))
	if err != nil {
		t.Fatal(err)
	}
	traces := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))

	var once sync.Once
	behind := &sim.Server{Model: llm.ModelFunc(actor)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		failed := false
		if strings.Contains(r.URL.Path, "completions") {
			once.Do(func() { failed = true })
		}
		if failed {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		behind.ServeHTTP(w, r)
	}))
	defer server.Close()
	id := "openai+" + server.URL + "/v1#sim/native"
	info := catalog.Default().Lookup(id)
	info.NativeTools = catalog.Answer{Support: catalog.Yes}
	client := &provider.Client{HTTP: server.Client(), Catalog: catalog.Default().With(info), Retry: provider.RetryPolicy{Initial: time.Millisecond}}
	m, err := client.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	var attempts sync.Map
	weigh := tool.Func("weigh", "Weighs something.", func(ctx context.Context, in struct {
		N int `json:"n"`
	}) (string, error) {
		if _, again := attempts.LoadOrStore(in.N, true); !again && in.N == 4 {
			return "", tool.Errorf(tool.Network, "the scales do not answer")
		}
		return "It weighs 12 kg; the key of the scales is " + key, nil
	})
	weigh.Effects = tool.ReadOnly | tool.Idempotent
	burn := tool.Func("burn", "Burns something.", func(context.Context, struct{}) (string, error) { return "", errors.New("no") })
	store := new(journal.Memory)
	a := agent.Agent{Model: m, ID: id, Store: store, Observer: otelobserve.New(traces, o), NewRun: func() string { return "run1" },
		Tools: &invoke.Runner{Tools: tool.MustSet(weigh, burn), Backoff: invoke.Backoff{Initial: time.Millisecond},
			Policy: func(_ context.Context, tl tool.Tool, _ llm.Call) (invoke.Decision, error) {
				if tl.Name == "burn" {
					return invoke.Decision{Verdict: invoke.Refuse, Reason: "nothing is burnt"}, nil
				}
				return invoke.Decision{Verdict: invoke.Allow}, nil
			}}}
	if _, err := a.Ask(t.Context(), llm.User("How heavy is the marble?")); err != nil {
		t.Fatal(err)
	}
	if err := traces.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	got.mu.Lock()
	defer got.mu.Unlock()
	if len(got.problems) > 0 {
		t.Fatal(got.problems)
	}
	return got, store
}

// value returns an attribute of a span as text.
func value(s *trace.Span, name string) string {
	for _, a := range s.GetAttributes() {
		if a.Key != name {
			continue
		}
		switch v := a.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			return v.StringValue
		case *common.AnyValue_IntValue:
			return strconv.FormatInt(v.IntValue, 10)
		case *common.AnyValue_ArrayValue:
			var words []string
			for _, w := range v.ArrayValue.Values {
				words = append(words, w.GetStringValue())
			}
			return strings.Join(words, " ")
		}
	}
	return ""
}

// TestOTLP: what a collector receives is the tree of the run, with the ids of the
// record, and without content.
func TestOTLP(t *testing.T) {
	got, store := play(t, otelobserve.Options{})
	byID, names := make(map[string]*trace.Span), make(map[string][]*trace.Span)
	for _, s := range got.spans {
		byID[hex.EncodeToString(s.SpanId)] = s
		name := strings.Fields(s.Name)[0]
		names[name] = append(names[name], s)
	}
	for name, n := range map[string]int{"invoke_agent": 1, "turn": 2, "chat": 2, "execute_tool": 3} {
		if len(names[name]) != n {
			t.Errorf("%d spans %s, not %d", len(names[name]), name, n)
		}
		for _, s := range names[name] {
			parent := map[string]string{"turn": "invoke_agent", "chat": "turn", "execute_tool": "turn"}[name]
			p := byID[hex.EncodeToString(s.ParentSpanId)]
			if (p == nil) != (parent == "") || p != nil && strings.Fields(p.Name)[0] != parent {
				t.Errorf("%s is inside %v, not %s", s.Name, p, parent)
			}
			if value(s, "gen_ai.conversation.id") != "run1" || s.EndTimeUnixNano < s.StartTimeUnixNano || s.StartTimeUnixNano == 0 {
				t.Errorf("%s: %v", s.Name, s)
			}
		}
	}
	if t.Failed() {
		return
	}
	for _, s := range got.schemas {
		if s != "https://opentelemetry.io/schemas/1.41.0" {
			t.Errorf("the schema is %s", s)
		}
	}
	var chat *trace.Span
	for _, s := range names["chat"] {
		if len(s.Events) > 0 {
			chat = s
		}
	}
	if chat == nil || chat.Kind != trace.Span_SPAN_KIND_CLIENT || value(chat, "gen_ai.provider.name") != "openai" || value(chat, "gen_ai.request.model") != "sim/native" ||
		value(chat, "toolpost.attempts") != "2" || value(chat, "toolpost.route") != "native" || value(chat, "server.address") != "127.0.0.1" ||
		value(chat, "gen_ai.usage.input_tokens") == "" || chat.Events[0].Name != "retry" {
		t.Errorf("the question is %v", chat)
	}
	receipts := make(map[string]journal.Entry)
	answers := make(map[string]bool)
	for e, err := range store.Read(t.Context(), "run1", 0) {
		if err != nil {
			t.Fatal(err)
		}
		switch e.Kind {
		case journal.KindReceipt, journal.KindRefusal:
			var r journal.Receipt
			if err := e.Decode(&r); err != nil {
				t.Fatal(err)
			}
			receipts[r.Call] = e
		case journal.KindAnswer:
			answers[string(e.Hash)] = true
		}
	}
	if !answers[value(chat, "toolpost.entry.answer")] {
		t.Errorf("the entry %q is not in the record", value(chat, "toolpost.entry.answer"))
	}
	for _, s := range names["execute_tool"] {
		id := value(s, "gen_ai.tool.call.id")
		if e, ok := receipts[id]; !ok || value(s, "toolpost.receipt") != string(e.Hash) {
			t.Errorf("%s has the receipt %s, not %s", id, value(s, "toolpost.receipt"), e.Hash)
		}
		switch id {
		case "call_a":
			if !strings.Contains(value(s, "toolpost.repairs"), "coercion") || s.Status.GetCode() == trace.Status_STATUS_CODE_ERROR {
				t.Errorf("%v", s)
			}
		case "call_b":
			if value(s, "toolpost.attempts") != "2" || len(s.Events) != 1 {
				t.Errorf("%v", s)
			}
		case "call_c":
			if value(s, "toolpost.call.decided_by") != "policy" || value(s, "toolpost.call.status") != "refused" || value(s, "error.type") != "permission" {
				t.Errorf("%v", s)
			}
		}
	}
	for _, said := range []string{"marble", "12 kg", "All is known", key, "nothing is burnt", "scales"} {
		if bytes.Contains(got.raw, []byte(said)) {
			t.Errorf("%q went to the collector", said)
		}
	}
}

// TestContent: content is there if it is asked for, without secrets.
func TestContent(t *testing.T) {
	got, _ := play(t, otelobserve.Options{Content: true})
	for _, said := range []string{"marble", "12 kg", "All is known", "nothing is burnt", "tool_call_response"} {
		if !bytes.Contains(got.raw, []byte(said)) {
			t.Errorf("%q is missing", said)
		}
	}
	if bytes.Contains(got.raw, []byte(key)) {
		t.Error("a key went to the collector")
	}
}

// TestNobodyLinksItUnasked: neither the command nor a package of the library links
// OpenTelemetry, except this one; and this one links no SDK.
func TestNobodyLinksItUnasked(t *testing.T) {
	for _, c := range []struct{ pkg, never string }{
		{"github.com/toolpost/toolpost/cmd/toolpost", "go.opentelemetry.io/"},
		{"github.com/toolpost/toolpost/agent", "go.opentelemetry.io/"},
		{"github.com/toolpost/toolpost/observe", "go.opentelemetry.io/"},
		{"github.com/toolpost/toolpost/observe/otelobserve", "go.opentelemetry.io/otel/sdk"},
		{"github.com/toolpost/toolpost/observe/otelobserve", "google.golang.org/"},
	} {
		out, err := exec.Command("go", "list", "-deps", c.pkg).Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			if strings.HasPrefix(line, c.never) {
				t.Errorf("%s links %s", c.pkg, strings.TrimSpace(line))
			}
		}
	}
}
