package gateway

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/llm"
)

// conversation is a question and an answer that calls a tool of the client.
func conversation(question, call, args string) []llm.Message {
	return []llm.Message{llm.User(question), llm.Assistant(llm.Call{ID: call, Name: "theirs", Args: []byte(args)})}
}

// heldFor is a turn in which the gateway ran a call, then another beside one of the client's.
func heldFor(call, text string) (state.Hash, heldTurn) {
	own := func(id string) llm.Call { return llm.Call{ID: id, Name: "ours", Args: []byte("{}")} }
	result := func(id string) llm.Result {
		return llm.Result{CallID: id, Name: "ours", Parts: []llm.Part{llm.Text{Text: text}}}
	}
	theirs := llm.Call{ID: call, Name: "theirs", Args: []byte(`{"a":1,"b":2}`)}
	t := heldTurn{Results: []llm.Result{result("own2")}, Messages: []llm.Message{
		llm.Assistant(own("own1")), llm.Results(result("own1")), llm.Assistant(own("own2"), theirs)}}
	hash, ids := callsOf([]llm.Call{theirs})
	t.IDs = ids
	return heldKey(askedBefore([]llm.Message{llm.User("a")}), hash), t
}

// holder is a gateway with a clock.
func holder(t *testing.T, clock func() time.Time) *Gateway {
	t.Helper()
	g, err := New(Setup{State: &state.Memory{Now: clock}, Routes: []ModelRoute{{Model: "m", Upstreams: []Upstream{{Model: "m"}}}},
		Open: func(string, Way) (llm.Model, error) { return llm.ModelFunc(nil), nil }})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// of is a request of an owner.
func (g *Gateway) of(owner, id string) *exchange {
	r := httptest.NewRequest("POST", "/v1/chat/completions", nil)
	x := g.begin(httptest.NewRecorder(), r)
	x.owner, x.id = owner, id
	return x
}

func anyTool(string) bool { return true }

// TestHeldTurns: what is held is found by its owner, by the calls and by what they answer, until its
// time is over; ids may be others.
func TestHeldTurns(t *testing.T) {
	at := time.Now()
	h := holder(t, func() time.Time { return at })
	h.of("me", "1").keepTurn(heldFor("c1", "found"))
	result := llm.Results(llm.Result{CallID: "c1", Name: "theirs"})
	full := append(conversation("a", "c1", `{"b": 2, "a": 1}`), result)
	for _, c := range []struct {
		why, owner string
		messages   []llm.Message
		want       int // messages
	}{
		{"as it was", "me", full, 5},
		{"other ids", "me", append(conversation("a", "call_1", `{"a":1,"b":2}`), llm.Results(llm.Result{CallID: "call_1", Name: "theirs"})), 5},
		{"without results", "me", full[:2], 5},
		{"of another", "you", full, 3},
		{"another question", "me", append(conversation("b", "c1", `{"a":1,"b":2}`), result), 3},
		{"other arguments", "me", append(conversation("a", "c1", `{"a":1,"b":3}`), result), 3},
		{"a call more", "me", []llm.Message{full[0], llm.Assistant(append(full[1].Parts, llm.Call{ID: "c2", Name: "theirs"})...), result}, 3},
	} {
		got := h.of(c.owner, "2").merge(c.messages, anyTool)
		if len(got) != c.want {
			t.Errorf("%s: %+v", c.why, got)
		}
		if calls := got[len(got)-2].Calls(); c.want == 5 && (len(calls) != 2 || calls[1].ID != c.messages[1].Calls()[0].ID) {
			t.Errorf("%s: calls %+v", c.why, calls)
		}
	}
	if len(full) != 3 || len(full[2].Parts) != 1 {
		t.Error("the conversation was changed")
	}
	at = at.Add(heldLife + time.Second)
	if got := h.of("me", "2").merge(full, anyTool); len(got) != 3 {
		t.Errorf("what is over is found: %+v", got)
	}
}

// TestHeldIDs: no two calls of a conversation have one id, whatever ids the client has for its own.
func TestHeldIDs(t *testing.T) {
	for _, id := range []string{"own1", "own2", "c1"} {
		h := holder(t, nil)
		h.of("me", "1").keepTurn(heldFor("c1", "found"))
		got := h.of("me", "2").merge(append(conversation("a", id, `{"a":1,"b":2}`), llm.Results(llm.Result{CallID: id, Name: "theirs"})), anyTool)
		open, seen := map[string]string{}, map[string]bool{}
		for _, m := range got {
			for _, c := range m.Calls() {
				if seen[c.ID] {
					t.Errorf("%s: two calls are %s", id, c.ID)
				}
				open[c.ID], seen[c.ID] = c.Name, true
			}
			for _, p := range m.Parts {
				if r, ok := p.(llm.Result); ok {
					if open[r.CallID] != r.Name {
						t.Errorf("%s: the result of %s is that of %s", id, open[r.CallID], r.Name)
					}
					delete(open, r.CallID)
				}
			}
		}
		if len(open) > 0 || len(seen) != 3 {
			t.Errorf("%s: %+v", id, got)
		}
	}
}

// TestHeldAlike: of two conversations that ask the same, each has its own.
func TestHeldAlike(t *testing.T) {
	h := holder(t, nil)
	for i, c := range []string{"c1", "c2"} {
		key, turn := heldFor(c, "found "+c)
		turn.Before = saidBefore([]llm.Message{llm.User(fmt.Sprint(i)), llm.User("a")})
		h.of("me", c).keepTurn(key, turn)
	}
	for i, id := range []string{"c1", "c2"} {
		for _, sent := range []string{id, "call_9"} { // by the id of the call, or by what was said before
			asked := []llm.Message{llm.User(fmt.Sprint(i)), llm.Assistant(llm.Text{Text: "?"})}
			got := h.of("me", "2").merge(append(asked, conversation("a", sent, `{"a":1,"b":2}`)...), anyTool)
			if !strings.Contains(fmt.Sprint(got), "found "+id) {
				t.Errorf("%s as %s: %+v", id, sent, got)
			}
		}
	}
}

// TestHeldBounds: a turn that is too long is not kept, and the client is told.
func TestHeldBounds(t *testing.T) {
	h := holder(t, nil)
	x := h.of("me", "1")
	x.keepTurn(heldFor("c1", strings.Repeat("x", 10<<20)))
	if got := x.w.Header().Get(WarningHeader); !strings.Contains(got, "too long to be kept") {
		t.Errorf("the client is told %q", got)
	}
	if got := h.of("me", "2").merge(conversation("a", "c1", `{"a":1,"b":2}`), anyTool); len(got) != 2 {
		t.Errorf("it is kept: %+v", got)
	}
}

// TestCanonical: however a request is written, it is the same; what means something else is not.
func TestCanonical(t *testing.T) {
	want := string(canonical([]byte(`{"a":[1,2.5,"x\u0041"],"b":{"c":null,"d":1e2}}`), "stream"))
	for text, same := range map[string]bool{
		`{ "b": {"d": 100, "c": null}, "a": [1.0, 25e-1, "xA"] }`:                   true,
		`{"stream":true,"a":[1,2.5,"xA"],"b":{"c":null,"d":100.00}}`:                true,
		`{"a":[1,2.5,"xA"],"b":{"c":null,"d":100,"stream":true}}`:                   false,
		`{"a":[2.5,1,"xA"],"b":{"c":null,"d":100}}`:                                 false,
		`{"a":[1,2.5,"xA"],"b":{"d":100}}`:                                          false,
		`{"a":[1,2.5,"xA"],"b":{"c":null,"d":-100}}`:                                false,
		`{"a":[1,2.5,"xA"],"b":{"c":null,"d":"100"}}`:                               false,
		`{"a":[1,2.50000000000000000000000001,"xA"],"b":{"c":null,"d":100}}`:        false,
		`{"a":[1,2.5,"xA"],"b":{"c":null,"d":1e99999999999999999999}}`:              false,
		`{"a":[1,2.5,"xA"],"b":{"c":null,"d":100}} {}`:                              false,
		`{"a":[10e-1,0.25e+1,"\u0078A"],"b":{"c":null,"d":0.001e5},"stream":false}`: true,
	} {
		if got := string(canonical([]byte(text), "stream")); (got == want) != same {
			t.Errorf("%s: %s, and the other %s", text, got, want)
		}
	}
}
