package sim_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/internal/leaks"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
	"github.com/toolpost/toolpost/wire/format"
)

func TestMain(m *testing.M) { leaks.VerifyTestMain(m) }

// client asks a simulator in one format.
type client struct {
	base   string
	codec  wire.Codec
	stream bool
}

// roots is where each vendor's API begins.
var roots = map[string]string{wire.Chat: "/v1/", wire.Responses: "/v1/", wire.Messages: "/v1/", wire.Gemini: "/v1beta/", wire.Ollama: "/api/", wire.Converse: "/"}

// ask sends req over a real connection and decodes the answer.
func (c client) ask(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	body, _, err := c.codec.EncodeRequest(req, c.stream)
	if err != nil {
		return nil, err
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+roots[c.codec.Format]+c.codec.Path(req.Model, c.stream), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(post)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(resp.Body)
		return nil, c.codec.DecodeError(resp.StatusCode, resp.Header, b)
	}
	if !c.stream {
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, &llm.Error{Kind: llm.Incomplete, Err: err}
		}
		return c.codec.DecodeResponse(b)
	}
	var built llm.Builder
	for ev, err := range c.codec.DecodeStream(resp.Body) {
		if err != nil {
			return built.Response(), err
		}
		built.Add(ev)
	}
	return built.Response(), nil
}

// everyClient runs a test in all formats, streaming and not.
func everyClient(t *testing.T, model llm.Model, test func(t *testing.T, c client)) {
	for _, format := range wire.Formats() {
		codec, _ := wire.For(format)
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stream=%v", format, stream), func(t *testing.T) {
				server := httptest.NewServer(&sim.Server{Model: model})
				defer func() {
					http.DefaultClient.CloseIdleConnections()
					server.Close()
				}()
				test(t, client{server.URL, codec, stream})
			})
		}
	}
}

func weather(model string) *llm.Request {
	return &llm.Request{Model: model, MaxTokens: 1000, Tools: tools,
		Messages: []llm.Message{llm.User("What is the weather in Rome? What is the weather in Paris?")}}
}

// described puts an answer into one line.
func described(r *llm.Response, err error) string {
	if err != nil {
		return "error " + llm.KindOf(err).String()
	}
	var b strings.Builder
	for _, c := range r.Message.Calls() {
		fmt.Fprintf(&b, "%s %s; ", c.Name, c.Args)
	}
	for _, c := range r.Invalid {
		fmt.Fprintf(&b, "invalid %s (%s); ", c.Name, c.Reason)
	}
	fmt.Fprint(&b, r.Finish.Reason)
	return b.String()
}

const bothCalls = `get_weather {"city":"Rome"}; get_weather {"city":"Paris"}; tool_calls`

func TestEveryFormatAnswers(t *testing.T) {
	everyClient(t, nil, func(t *testing.T, c client) {
		if got := described(c.ask(t.Context(), weather("sim/native"))); got != bothCalls {
			t.Error(got)
		}
		plain := &llm.Request{Model: "sim/native", MaxTokens: 100, Messages: []llm.Message{llm.User("Hello")}}
		r, err := c.ask(t.Context(), plain)
		if err != nil || !strings.Contains(r.Message.Text(), "offline") || r.Finish.Usage.Output == 0 {
			t.Errorf("%+v %v", r, err)
		}
	})
}

// TestFaults has one row per fault, with the correct reaction of a client of any format.
func TestFaults(t *testing.T) {
	everyClient(t, nil, func(t *testing.T, c client) {
		for fault, want := range map[string]string{
			"429=2s":       "error rate_limited",
			"500":          "error server",
			"503":          "error overloaded",
			"401":          "error auth",
			"no-tools":     "error unsupported",
			"wrong-index":  bothCalls,
			"wrong-finish": bothCalls,
			"slow-args":    bothCalls,
			"slow=1ms":     bothCalls,
			"huge=300000":  bothCalls,
			"500+times=1":  "error server",
		} {
			if got := described(c.ask(t.Context(), weather("sim/native+"+fault))); got != want {
				t.Errorf("%s: %s, want %s", fault, got, want)
			}
		}
		if got := described(c.ask(t.Context(), weather("sim/native+500+times=1"))); got != bothCalls {
			t.Errorf("after its one fault: %s", got)
		}
	})
}

// TestSeedsRepeat asks twice with each seed: the same bytes, and the same
// meaning as without one.
func TestSeedsRepeat(t *testing.T) {
	server := httptest.NewServer(new(sim.Server))
	defer func() {
		http.DefaultClient.CloseIdleConnections()
		server.Close()
	}()
	codec, _ := wire.For(wire.Chat)
	capture := func(seed int) string {
		body, _, _ := codec.EncodeRequest(weather(fmt.Sprintf("sim/native+seed=%d", seed)), true)
		resp, err := http.Post(server.URL+"/v1/chat/completions", "application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return string(b)
	}
	first, again, other := capture(1), capture(1), capture(2)
	if first != again || first == other {
		t.Error("seeds do not decide the pieces")
	}
	for seed := 1; seed < 20; seed++ {
		if got := described(client{server.URL, codec, true}.ask(t.Context(), weather(fmt.Sprintf("sim/native+seed=%d", seed)))); got != bothCalls {
			t.Errorf("seed %d: %s", seed, got)
		}
	}
}

// TestWrongIndexIsOnTheWire makes sure that the fault happens where a format
// has an index to get wrong: TestFaults checks that it does not mislead
// clients.
func TestWrongIndexIsOnTheWire(t *testing.T) {
	server := httptest.NewServer(new(sim.Server))
	defer func() {
		http.DefaultClient.CloseIdleConnections()
		server.Close()
	}()
	for _, format := range []string{wire.Chat, wire.Responses, wire.Messages, wire.Converse} {
		codec, _ := wire.For(format)
		for fault, want := range map[string]bool{"": true, "+wrong-index": false} {
			req := weather("sim/native" + fault)
			body, _, _ := codec.EncodeRequest(req, true)
			resp, err := http.Post(server.URL+roots[format]+codec.Path(req.Model, true), "application/json", bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			b, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if got := strings.Contains(string(b), `ndex":1`); got != want {
				t.Errorf("%s%s: an index above 0: %v", format, fault, got)
			}
		}
	}
}

func TestRetryAfterReachesTheClient(t *testing.T) {
	everyClient(t, nil, func(t *testing.T, c client) {
		_, err := c.ask(t.Context(), weather("sim/native+429=2s"))
		var known *llm.Error
		if !errors.As(err, &known) || known.RetryAfter != 2*time.Second || known.Status != 429 {
			t.Errorf("%+v", known)
		}
	})
}

// TestCutAnswersRunNothing cuts the body everywhere and the answer by length:
// no call may come out whole that the cut went through.
func TestCutAnswersRunNothing(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	everyClient(t, nil, func(t *testing.T, c client) {
		for n := 1; n < 6000; n += 97 {
			attacks++
			r, err := c.ask(t.Context(), weather(fmt.Sprintf("sim/native+cut=%d", n)))
			if err == nil {
				if got := described(r, nil); got != bothCalls { // the cut was after the end
					t.Errorf("cut at %d: %s", n, got)
				}
				break
			}
			if r != nil {
				for _, call := range r.Message.Calls() {
					if s := string(call.Args); s != `{"city":"Rome"}` && s != `{"city":"Paris"}` {
						t.Errorf("cut at %d: a call with %s", n, s)
					}
				}
			}
		}
		r, err := c.ask(t.Context(), weather("sim/native+length"))
		if err != nil || r.Finish.Reason != llm.Length {
			t.Fatalf("length: %s %v", described(r, err), err)
		}
		// Some formats do not identify the truncated call: a codec may doubt
		// the last one it sees, and must not trust more than the first.
		if calls := r.Message.Calls(); len(calls) > 1 || len(calls) == 1 && string(calls[0].Args) != `{"city":"Rome"}` || len(calls)+len(r.Invalid) == 0 {
			t.Errorf("length: %s", described(r, nil))
		}
	})
}

func TestGarbageIsNoticed(t *testing.T) {
	everyClient(t, nil, func(t *testing.T, c client) {
		r, err := c.ask(t.Context(), weather("sim/native+garbage"))
		if err == nil && (!c.stream || described(r, nil) != bothCalls) {
			t.Errorf("%s", described(r, err))
		}
		if err != nil && llm.KindOf(err) != llm.Malformed && llm.KindOf(err) != llm.Incomplete {
			t.Errorf("%v", err)
		}
	})
}

func TestStalledServersCanBeLeft(t *testing.T) {
	everyClient(t, nil, func(t *testing.T, c client) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := c.ask(ctx, weather("sim/native+stall=10s")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

func TestChoiceAndThinking(t *testing.T) {
	everyClient(t, nil, func(t *testing.T, c client) {
		req := weather("sim/native")
		req.Choice.Mode = llm.MustNotCall
		if got := described(c.ask(t.Context(), req)); got != "stop" {
			t.Errorf("none: %s", got)
		}
		req.Model = "sim/native+ignore-choice"
		forbids := c.codec.Properties().Has(format.ChoiceNone) // elsewhere the tools were withheld
		if got := described(c.ask(t.Context(), req)); got != bothCalls && forbids {
			t.Errorf("none, ignored: %s", got)
		}
		r, err := c.ask(t.Context(), weather("sim/native+think-call"))
		if err != nil || len(r.Message.Calls()) > 0 || !strings.Contains(thinking(r), "get_weather") {
			t.Errorf("in thinking: %s, thinking %q", described(r, err), thinking(r))
		}
	})
}

// TestSignedThinking: thinking comes with the signature of its vendor, goes back
// with it, and is refused where it was changed.
func TestSignedThinking(t *testing.T) {
	everyClient(t, nil, func(t *testing.T, c client) {
		req := weather("sim/native+think")
		r, err := c.ask(t.Context(), req)
		if err != nil || thinking(r) == "" || len(r.Message.Calls()) != 2 {
			t.Fatalf("%s %v", described(r, err), err)
		}
		results := llm.Message{Role: llm.RoleTool}
		for _, call := range r.Message.Calls() {
			results.Parts = append(results.Parts, llm.Result{CallID: call.ID, Name: call.Name, Parts: []llm.Part{llm.Text{Text: "sunny"}}})
		}
		req.Messages = append(req.Messages, r.Message, results)
		if got := described(c.ask(t.Context(), req)); got != "stop" {
			t.Errorf("sent back: %s", got)
		}
		part, ok := r.Message.Parts[0].(llm.Thinking)
		if !ok || part.State.IsZero() && c.codec.Properties().Signature != "" {
			t.Fatalf("thinking %+v", r.Message.Parts[0])
		}
		part.Text += " Changed."
		r.Message.Parts[0] = part
		if got := described(c.ask(t.Context(), req)); c.codec.Properties().Signature != "" && got != "error invalid" {
			t.Errorf("changed and sent back: %s", got)
		}
	})
}

func thinking(r *llm.Response) string {
	var b strings.Builder
	for _, p := range r.Message.Parts {
		if t, ok := p.(llm.Thinking); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// TestDialectsArriveAsText writes every dialect through one format and reads
// it back with package dialect.
func TestDialectsArriveAsText(t *testing.T) {
	server := httptest.NewServer(new(sim.Server))
	defer func() {
		http.DefaultClient.CloseIdleConnections()
		server.Close()
	}()
	codec, _ := wire.For(wire.Chat)
	for _, d := range dialect.Builtin().All() {
		r, err := client{server.URL, codec, true}.ask(t.Context(), weather("sim/"+d.Name))
		if err != nil {
			t.Errorf("%s: %v", d.Name, err)
			continue
		}
		var got []string
		parser := dialect.Parser{Tools: tools}
		for ev, err := range parser.Parse(dialect.Whole(r.Message.Text())) {
			if err != nil {
				t.Errorf("%s: %v", d.Name, err)
			}
			if call, ok := ev.(llm.Call); ok {
				got = append(got, call.Name+" "+compact(call.Args))
			}
		}
		if want := `get_weather {"city":"Rome"}; get_weather {"city":"Paris"}`; strings.Join(got, "; ") != want {
			t.Errorf("%s: %q from\n%s", d.Name, got, r.Message.Text())
		}
	}
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

func TestWrongNamesAreExplained(t *testing.T) {
	for name, want := range map[string]string{
		"gpt-4o":                "use sim/native",
		"sim/native+explode":    `no fault is called "explode"`,
		"sim/native+cut":        "takes a number",
		"sim/native+cut=-1":     "takes a number",
		"sim/native+garbage=1":  "takes no value",
		"sim/native+stall=soon": "takes a duration",
	} {
		if err := sim.CheckModel(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	everyClient(t, nil, func(t *testing.T, c client) {
		if got := described(c.ask(t.Context(), weather("gpt-4o"))); got != "error not_found" {
			t.Error(got)
		}
	})
}

func TestBadRequestsAreNotServerErrors(t *testing.T) {
	server := httptest.NewServer(new(sim.Server))
	defer server.Close()
	for _, path := range []string{"/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1beta/models/native:generateContent", "/api/chat", "/api/show"} {
		for _, body := range []string{"", "{", "[]", `{"messages":7}`, "null", strings.Repeat("[", 100000)} {
			resp, err := http.Post(server.URL+path, "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if resp.StatusCode < 400 || resp.StatusCode > 499 {
				t.Errorf("%s %.20q: %s", path, body, resp.Status)
			}
		}
	}
	resp, err := http.Get(server.URL + "/nowhere")
	if err != nil || resp.StatusCode != http.StatusNotFound {
		t.Errorf("%v %v", resp, err)
	}
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
}

func TestScriptedServer(t *testing.T) {
	script, err := sim.ParseScript([]byte("-- 1 --\ncall get_weather {\"city\":\"Oslo\"}\n-- 2 --\ntext Cold.\n"))
	if err != nil {
		t.Fatal(err)
	}
	everyClient(t, script, func(t *testing.T, c client) {
		req := weather("sim/native")
		r, err := c.ask(t.Context(), req)
		if got := described(r, err); got != `get_weather {"city":"Oslo"}; tool_calls` {
			t.Fatal(got)
		}
		call := r.Message.Calls()[0]
		req.Messages = append(req.Messages, r.Message, llm.Results(llm.Result{CallID: call.ID, Name: call.Name, Parts: []llm.Part{llm.Text{Text: "-3"}}}))
		if r, err := c.ask(t.Context(), req); err != nil || r.Message.Text() != "Cold." {
			t.Errorf("%s %v", described(r, err), err)
		}
	})
}
