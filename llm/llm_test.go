package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/llm"
)

// stream yields evs and then err, if there is one.
func stream(err error, evs ...llm.Event) llm.Model {
	return llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			for _, ev := range evs {
				if !yield(ev, nil) {
					return
				}
			}
			if err != nil {
				yield(nil, err)
			}
		}
	})
}

var signed = llm.State{Vendor: "messages", Data: json.RawMessage(`"sig"`)}

// answer has every kind of part, and neighbours that must stay apart.
var answer = llm.Response{
	Message: llm.Assistant(
		llm.Thinking{Text: "hm", State: signed},
		llm.Thinking{Redacted: true, State: signed},
		llm.Text{Text: "one"},
		llm.Text{Text: "two", Citations: []llm.Citation{{URL: "https://example.org", Start: 1, End: 2, Raw: signed}}},
		llm.Text{Text: "no", Refusal: true, Extra: llm.Extra{"responses": {"logprobs": json.RawMessage(`[1]`)}}},
		llm.Media{Kind: llm.Image, MIME: "image/png", Data: []byte{1, 2}},
		llm.Call{ID: "s1", Name: llm.WebSearch, Args: json.RawMessage(`{"query":"x"}`), Hosted: true},
		llm.Result{CallID: "s1", Parts: []llm.Part{llm.Text{Text: "found"}}, Hosted: true},
		llm.Call{ID: "c1", Name: "f", Args: json.RawMessage(`{"n":12345678901234567890}`), State: signed,
			Provenance: llm.Provenance{Dialect: "hermes_json", Repairs: []llm.Repair{{Rule: "trailing-comma", Class: llm.Syntax, Start: 3, End: 4}}}},
		llm.Call{ID: "c2", Name: "g", Kind: llm.FreeTool, Args: json.RawMessage(`"text"`)},
	),
	Invalid:  []llm.InvalidCall{{ID: "c3", Name: "h", Raw: "<tool_call>{", Reason: llm.CutOff, Problem: "cut off", Provenance: llm.Provenance{Truncated: true}}},
	Warnings: []llm.Warning{{Code: llm.Ignored, Feature: "seed", Detail: "no such option"}},
	Finish:   llm.Finish{Reason: llm.ToolCalls, Raw: "tool_use", Usage: llm.Usage{Input: 3, Output: 4, Hosted: map[string]int{llm.WebSearch: 1}}},
}

func TestGenerateRebuildsEvents(t *testing.T) {
	got, err := llm.Generate(t.Context(), stream(nil, answer.Events()...), &llm.Request{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&answer, got); diff != "" {
		t.Errorf("rebuilt (-want +got):\n%s", diff)
	}
}

func TestGenerateEnds(t *testing.T) {
	broken := errors.New("broken")
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name  string
		ctx   context.Context
		model llm.Model
		want  func(error) bool
	}{
		{"an error ends it", t.Context(), stream(broken, llm.TextDelta{Text: "half"}), func(err error) bool { return errors.Is(err, broken) }},
		{"no finish is incomplete", t.Context(), stream(nil, llm.TextDelta{Text: "half"}), func(err error) bool { return llm.KindOf(err) == llm.Incomplete }},
		{"no finish after cancel is canceled", canceled, stream(nil, llm.TextDelta{Text: "half"}), func(err error) bool { return llm.KindOf(err) == llm.Canceled }},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := llm.Generate(c.ctx, c.model, &llm.Request{})
			if !c.want(err) {
				t.Errorf("err = %v", err)
			}
			if got.Message.Text() != "half" {
				t.Errorf("text so far = %q", got.Message.Text())
			}
		})
	}
}

func TestMessageJSONRoundTrip(t *testing.T) {
	b, err := json.Marshal(answer.Message)
	if err != nil {
		t.Fatal(err)
	}
	var got llm.Message
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	if diff := cmp.Diff(answer.Message, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEventJSONRoundTrip(t *testing.T) {
	for _, ev := range append(answer.Events(), llm.PartEnd{}) {
		b, err := llm.MarshalEvent(ev)
		if err != nil {
			t.Fatal(err)
		}
		got, err := llm.UnmarshalEvent(b)
		if err != nil {
			t.Fatalf("%v in %s", err, b)
		}
		if diff := cmp.Diff(ev, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", b, diff)
		}
	}
}

// A delta is one flat object, whatever is known about its part: records are
// read by other programs.
func TestDeltaJSON(t *testing.T) {
	for want, ev := range map[string]llm.Event{
		`{"event":"text_delta","text":"a"}`:                llm.TextDelta{Text: "a"},
		`{"event":"text_delta","text":""}`:                 llm.TextDelta{},
		`{"event":"text_delta","text":"a","refusal":true}`: llm.TextDelta{Text: "a", Part: &llm.Text{Refusal: true}},
		`{"event":"text_delta","text":"","citations":[{"url":"u"}],"state":{"vendor":"messages","data":"sig"},"extra":{"chat":{"x":1}}}`: llm.TextDelta{Part: &llm.Text{
			Citations: []llm.Citation{{URL: "u"}}, State: signed, Extra: llm.Extra{"chat": {"x": json.RawMessage("1")}},
		}},
		`{"event":"thinking_delta","text":"a"}`:                                                           llm.ThinkingDelta{Text: "a"},
		`{"event":"thinking_delta","text":"","redacted":true,"state":{"vendor":"messages","data":"sig"}}`: llm.ThinkingDelta{Part: &llm.Thinking{Redacted: true, State: signed}},
	} {
		got, err := llm.MarshalEvent(ev)
		if err != nil || string(got) != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
		back, err := llm.UnmarshalEvent([]byte(want))
		if diff := cmp.Diff(ev, back); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", want, err, diff)
		}
	}
}

// foreignEvent is an event of another package.
type foreignEvent struct {
	N    int    `json:"n"`
	Text string `json:"text"`
}

func (foreignEvent) EventType() string { return "foreign" }

func TestEveryEventIsReadBack(t *testing.T) {
	for _, ev := range []llm.Event{llm.TextRead{Promotion: llm.PromoteMarked, Why: "the catalogue"}, llm.KeepAlive{}, llm.Retract{Why: "x"}, llm.PartEnd{}, llm.Start{},
		llm.Alternative{Index: 1, Event: llm.TextRead{}}} {
		b, err := llm.MarshalEvent(ev)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := llm.UnmarshalEvent(b); err != nil || cmp.Diff(ev, got) != "" {
			t.Errorf("%s: %v %v", b, got, err)
		}
	}
	for _, ev := range []llm.Event{foreignEvent{1 << 60, "a"}, llm.Alternative{Index: 2, Event: foreignEvent{N: 1}}} {
		b, err := llm.MarshalEvent(ev)
		if err != nil {
			t.Fatal(err)
		}
		got, err := llm.UnmarshalEvent(b)
		if err != nil || got.EventType() != ev.EventType() {
			t.Fatalf("%s: %v %v", b, got, err)
		}
		if again, err := llm.MarshalEvent(got); err != nil || string(again) != string(b) {
			t.Errorf("%s, %v, want %s", again, err, b)
		}
	}
	if b, err := llm.MarshalEvent(nil); err == nil {
		t.Errorf("no event is %s", b)
	}
	if b, err := llm.MarshalEvent(llm.Alternative{}); err == nil {
		t.Errorf("an alternative without an event is %s", b)
	}
	for _, bad := range []string{``, `null`, `[]`, `{}`, `{"event":1}`, `{"event":""}`, `{"event":"alternative"}`} {
		if ev, err := llm.UnmarshalEvent([]byte(bad)); err == nil {
			t.Errorf("%s was read as %v", bad, ev)
		}
	}
}

func TestJSONLosesNothingInSilence(t *testing.T) {
	for _, bad := range []string{
		`{"role":"user","parts":[{"type":"hologram"}]}`,
		`{"role":"user","parts":[{}]}`,
		`{"role":"user","parts":["text"]}`,
		`{"role":"tool","parts":[{"type":"result","parts":[{"type":"?"}]}]}`,
	} {
		var m llm.Message
		if err := json.Unmarshal([]byte(bad), &m); err == nil {
			t.Errorf("%s was read as %+v", bad, m)
		}
	}
	if _, err := llm.UnmarshalEvent([]byte(`{"explosion":1}`)); err == nil {
		t.Error("an unknown event was read")
	}
}

func TestBudgetIsCountedOnce(t *testing.T) {
	b := llm.NewRetryBudget(10)
	var taken sync.Map
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			if b.Take() {
				taken.Store(i, true)
			}
		})
	}
	all.Wait()
	n := 0
	taken.Range(func(any, any) bool { n++; return true })
	if n != 10 || b.Left() != 0 || b.Used() != 10 {
		t.Errorf("taken %d, left %d, used %d", n, b.Left(), b.Used())
	}
}

func TestZeroBudgetsAllowNothing(t *testing.T) {
	var zero llm.RetryBudget
	var none *llm.RetryBudget
	if zero.Take() || none.Take() || llm.NewRetryBudget(-1).Take() {
		t.Error("a question was allowed")
	}
	if none.Left() != 0 || none.Used() != 0 {
		t.Error("a nil budget counts")
	}
}

func TestWorstRepair(t *testing.T) {
	for want, p := range map[llm.RepairClass]llm.Provenance{
		llm.Intact:     {},
		llm.Completion: {Repairs: []llm.Repair{{Class: llm.Syntax}, {Class: llm.Completion}, {Class: llm.Coercion}}},
		llm.Truncation: {Truncated: true, Repairs: []llm.Repair{{Class: llm.Syntax}}},
	} {
		if got := p.Worst(); got != want {
			t.Errorf("%+v: %v, want %v", p, got, want)
		}
	}
}

func TestUnknownRepairClassRunsNothing(t *testing.T) {
	var c llm.RepairClass
	if err := json.Unmarshal([]byte(`"harmless-i-promise"`), &c); err != nil || c != llm.Truncation {
		t.Errorf("%v, %v", c, err)
	}
}

func TestToolChoicePermits(t *testing.T) {
	for _, c := range []struct {
		choice llm.ToolChoice
		want   bool
	}{
		{llm.ToolChoice{}, true},
		{llm.ToolChoice{Mode: llm.MustCall}, true},
		{llm.ToolChoice{Mode: llm.MustNotCall}, false},
		{llm.ToolChoice{Mode: llm.MustCall, Name: "f"}, true},
		{llm.ToolChoice{Mode: llm.MustCall, Name: "g"}, false},
		{llm.ToolChoice{Allowed: []string{"e", "f"}}, true},
		{llm.ToolChoice{Allowed: []string{"e"}}, false},
		{llm.ToolChoice{Allowed: []string{}}, false},
	} {
		if got := c.choice.Permits("f"); got != c.want {
			t.Errorf("%+v: %v", c.choice, got)
		}
	}
}

func TestErrors(t *testing.T) {
	err := fmt.Errorf("asking: %w", &llm.Error{Op: "chat.Stream", Kind: llm.RateLimited, Status: 429, Code: "slow_down", Err: errors.New("later")})
	if llm.KindOf(err) != llm.RateLimited || !llm.KindOf(err).Transient() {
		t.Errorf("kind %v", llm.KindOf(err))
	}
	if got, want := err.Error(), "asking: chat.Stream: rate limited (HTTP 429) [slow_down]: later"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if llm.KindOf(fmt.Errorf("x: %w", context.DeadlineExceeded)) != llm.Timeout || llm.KindOf(errors.New("x")) != llm.Unknown {
		t.Error("kinds of other errors")
	}
	var k llm.Kind
	for want := llm.Unknown; want <= llm.Stalled; want++ {
		b, _ := want.MarshalText()
		if k.UnmarshalText(b); k != want {
			t.Errorf("%v came back as %v", want, k)
		}
	}
}

func TestCloneIsIndependent(t *testing.T) {
	req := &llm.Request{
		Messages:    []llm.Message{llm.User("a")},
		Tools:       []llm.ToolDef{{Name: "f"}},
		Stop:        []string{"x"},
		Choice:      llm.ToolChoice{Allowed: []string{"f"}},
		Extra:       llm.Extra{"chat": {"user": json.RawMessage(`"u"`)}},
		RetryBudget: llm.NewRetryBudget(1),
	}
	c := req.Clone()
	c.Messages[0].Parts[0] = llm.Text{Text: "b"}
	c.Tools[0].Name, c.Stop[0], c.Choice.Allowed[0] = "g", "y", "g"
	c.Extra["chat"]["user"] = json.RawMessage(`"v"`)
	if req.Messages[0].Text() != "a" || req.Tools[0].Name != "f" || req.Stop[0] != "x" || req.Choice.Allowed[0] != "f" || string(req.Extra["chat"]["user"]) != `"u"` {
		t.Errorf("the original changed: %+v", req)
	}
	if c.RetryBudget != req.RetryBudget {
		t.Error("the budget was copied: it would be counted twice")
	}
}

// TestUser: attached parts precede the text, as vendors advise for images and documents. Without a text they are alone,
// because vendors refuse an empty text.
func TestUser(t *testing.T) {
	image := llm.Media{Kind: llm.Image, MIME: "image/png", Data: []byte{1}}
	for _, c := range []struct {
		got  llm.Message
		want []llm.Part
	}{
		{llm.User("Hello"), []llm.Part{llm.Text{Text: "Hello"}}},
		{llm.User(""), []llm.Part{llm.Text{}}},
		{llm.User("What is this?", image, llm.Text{Text: "A note."}), []llm.Part{image, llm.Text{Text: "A note.", Origin: llm.OriginDocument}, llm.Text{Text: "What is this?"}}},
		{llm.User("What is this?", image, llm.Text{Text: "A note."}), []llm.Part{image, llm.Text{Text: "A note.", Origin: llm.OriginDocument}, llm.Text{Text: "What is this?"}}},
		{llm.User("", image), []llm.Part{image}},
		{llm.User("Look", &image, nil, &llm.Text{Text: "A note."}, (*llm.Media)(nil)), []llm.Part{image, llm.Text{Text: "A note.", Origin: llm.OriginDocument}, llm.Text{Text: "Look"}}},
		{llm.User("", nil), []llm.Part{llm.Text{}}},
	} {
		if diff := cmp.Diff(llm.Message{Role: llm.RoleUser, Parts: c.want}, c.got); diff != "" {
			t.Error(diff)
		}
	}
	with := make([]llm.Part, 1, 2)
	with[0] = image
	if llm.User("one", with...); with[:2][1] != nil {
		t.Error("the caller's slice was written to")
	}
}

func TestMediaCheck(t *testing.T) {
	for _, c := range []struct {
		media llm.Media
		ok    bool
	}{
		{llm.Media{Kind: llm.Image, MIME: "image/png"}, true},
		{llm.Media{Kind: llm.Image}, true},
		{llm.Media{Kind: llm.Document, MIME: "text/plain; charset=utf-8"}, true},
		{llm.Media{Kind: llm.Document, MIME: "application/pdf"}, true},
		{llm.Media{MIME: "font/woff"}, true},
		{llm.Media{Kind: llm.Image, MIME: "application/pdf"}, false},
		{llm.Media{Kind: llm.Image, MIME: "png"}, false},
		{llm.Media{Kind: llm.Audio, MIME: "image/png"}, false},
		{llm.Media{Kind: llm.Document, MIME: "video/mp4"}, false},
		{llm.Media{Kind: llm.Image, MIME: "image/"}, false},
		{llm.Media{Kind: llm.Image, MIME: "image/png; ;"}, false},
	} {
		if err := c.media.Check(); (err == nil) != c.ok {
			t.Errorf("%s %q: %v", c.media.Kind, c.media.MIME, err)
		}
	}
}

func TestWarningString(t *testing.T) {
	w := llm.Warning{Code: llm.Ignored, Feature: "seed", Detail: "there is no field for it"}
	if got := fmt.Sprint(w); got != "ignored seed: there is no field for it" {
		t.Error(got)
	}
	if got := (llm.Warning{Code: llm.Degraded, Detail: "so"}).String(); got != "degraded: so" {
		t.Error(got)
	}
}
