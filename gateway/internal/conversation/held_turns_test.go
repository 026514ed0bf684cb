package conversation

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/gateway/internal/metrics"
	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/internal/vendorapi"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// conversation returns a question and an answer that calls a tool of the client.
func conversation(question, call, args string) []llm.Message {
	return []llm.Message{llm.User(question), llm.Assistant(llm.Call{ID: call, Name: "theirs", Args: []byte(args)})}
}

// heldFor returns a turn in which the gateway ran a call, then another in the same answer as a call of the client.
func heldFor(call, text string) (question state.Hash, calls []llm.Call, t heldTurn) {
	own := func(id string) llm.Call { return llm.Call{ID: id, Name: "ours", Args: []byte("{}")} }
	result := func(id string) llm.Result {
		return llm.Result{CallID: id, Name: "ours", Parts: []llm.Part{llm.Text{Text: text}}}
	}
	theirs := llm.Call{ID: call, Name: "theirs", Args: []byte(`{"a":1,"b":2}`)}
	t = heldTurn{Results: []llm.Result{result("own2")}, Messages: []llm.Message{
		llm.Assistant(own("own1")), llm.Results(result("own1")), llm.Assistant(own("own2"), theirs)}}
	return questionOf("a"), []llm.Call{theirs}, t
}

func questionOf(text string) state.Hash { return NewHistory([]llm.Message{llm.User(text)}).question(1) }

// sentIn returns the hash of all that the client sent in a conversation.
func sentIn(messages ...llm.Message) state.Hash {
	return NewHistory(messages).sentBefore(len(messages))
}

// holder is a store with a clock.
func holder(t *testing.T, clock func() time.Time) *Store {
	t.Helper()
	return &Store{backend: &state.Memory{Now: clock}, Metrics: metrics.New(), Log: slog.New(slog.DiscardHandler)}
}

// of returns a request of an owner.
func (r *Store) of(owner, id string) *Scope { return r.at("/v1/chat/completions", owner, id) }

// at returns a request of an owner to an endpoint.
func (r *Store) at(path, owner, id string) *Scope {
	h := httptest.NewRequest("POST", path, nil)
	req := &exchange.Request{Endpoint: vendorapi.Find(h), HTTP: h, ID: id, Owner: owner, Services: exchange.Services{Log: r.Log, Metrics: r.Metrics}}
	return &Scope{exchange.NewResponse(req, httptest.NewRecorder(), 0, 0), r}
}

func anyTool(string) bool { return true }

// TestHeldTurns checks that a turn is found by its owner, its calls and the messages before it, until it expires, even
// with other ids.
func TestHeldTurns(t *testing.T) {
	at := time.Now()
	h := holder(t, func() time.Time { return at })
	h.of("me", "1").keepTurn(heldFor("c1", "found"))
	result := llm.Results(llm.Result{CallID: "c1", Name: "theirs"})
	full := append(conversation("a", "c1", `{"b": 2, "a": 1}`), result)
	for _, c := range []struct {
		why, owner string
		messages   []llm.Message
		want       int // number of messages
	}{
		{"as it was", "me", full, 5},
		{"other ids", "me", append(conversation("a", "call_1", `{"a":1,"b":2}`), llm.Results(llm.Result{CallID: "call_1", Name: "theirs"})), 5},
		{"without results", "me", full[:2], 5},
		{"of another", "you", full, 3},
		{"another question", "me", append(conversation("b", "c1", `{"a":1,"b":2}`), result), 3},
		{"other arguments", "me", append(conversation("a", "c1", `{"a":1,"b":3}`), result), 3},
		{"a call more", "me", []llm.Message{full[0], llm.Assistant(append(full[1].Parts, llm.Call{ID: "c2", Name: "theirs"})...), result}, 3},
	} {
		got := h.of(c.owner, "2").MergeHeld(c.messages, anyTool)
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
	at = at.Add(turnLife + time.Second)
	if got := h.of("me", "2").MergeHeld(full, anyTool); len(got) != 3 {
		t.Errorf("what is over is found: %+v", got)
	}
}

// TestHeldIDs checks that no two calls of a conversation share an id, whatever ids the client uses.
func TestHeldIDs(t *testing.T) {
	for _, id := range []string{"own1", "own2", "c1"} {
		h := holder(t, nil)
		h.of("me", "1").keepTurn(heldFor("c1", "found"))
		got := h.of("me", "2").MergeHeld(append(conversation("a", id, `{"a":1,"b":2}`), llm.Results(llm.Result{CallID: id, Name: "theirs"})), anyTool)
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

// TestHeldAlike checks that two conversations with the same question each get their own turn.
func TestHeldAlike(t *testing.T) {
	h := holder(t, nil)
	for i, c := range []string{"c1", "c2"} {
		question, calls, turn := heldFor(c, "found "+c)
		turn.Before = sentIn(llm.User(fmt.Sprint(i)), llm.User("a"))
		h.of("me", c).keepTurn(question, calls, turn)
	}
	for i, id := range []string{"c1", "c2"} {
		for _, sent := range []string{id, "call_9"} { // found by call id, or by the messages before it
			asked := []llm.Message{llm.User(fmt.Sprint(i)), llm.Assistant(llm.Text{Text: "?"})}
			got := h.of("me", "2").MergeHeld(append(asked, conversation("a", sent, `{"a":1,"b":2}`)...), anyTool)
			if !strings.Contains(fmt.Sprint(got), "found "+id) {
				t.Errorf("%s as %s: %+v", id, sent, got)
			}
		}
	}
}

// TestHeldBounds checks that a turn that is too long is not stored, and that the client is warned.
func TestHeldBounds(t *testing.T) {
	h := holder(t, nil)
	x := h.of("me", "1")
	x.keepTurn(heldFor("c1", strings.Repeat("x", 10<<20)))
	if got := x.W.Header().Get(exchange.WarningHeader); !strings.Contains(got, "too long to be stored") {
		t.Errorf("the client is told %q", got)
	}
	if got := h.of("me", "2").MergeHeld(conversation("a", "c1", `{"a":1,"b":2}`), anyTool); len(got) != 2 {
		t.Errorf("it is kept: %+v", got)
	}
}

// TestCanonical checks that equal requests are equal in any notation, and different ones are not.
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

// oursIn returns the results of the gateway's tools in a conversation, each of the two results of a heldFor turn once.
func oursIn(list []llm.Message) (found []string) {
	for _, m := range list {
		for _, p := range m.Parts {
			if r, ok := p.(llm.Result); ok && r.Name == "ours" && strings.HasPrefix(r.CallID, "own2") {
				found = append(found, r.Text())
			}
		}
	}
	return found
}

// missing returns the number of turns in warnings about missing results.
func missing(x *Scope) (turns int) {
	for _, text := range x.W.Header()[exchange.WarningHeader] {
		if _, rest, ok := strings.Cut(text, "missing in "); ok {
			_, _ = fmt.Sscanf(rest, "%d turns", &turns)
		}
	}
	return turns
}

const heldArgs = `{"a":1,"b":2}`

// heldBehind is heldFor after another question.
func heldBehind(question, call, text string) (state.Hash, []llm.Call, heldTurn) {
	_, calls, turn := heldFor(call, text)
	return questionOf(question), calls, turn
}

// TestHeldOfOtherConversations checks that a turn of a call with a random id is never put back at a call with another
// random id, even if question and arguments are equal. Each call gets its own turn, or the client is warned.
func TestHeldOfOtherConversations(t *testing.T) {
	t.Run("nothing was run", func(t *testing.T) {
		h := holder(t, nil)
		h.of("me", "1").keepTurn(heldFor("call_Ab3dE5fG7hI9", "of another"))
		x := h.of("me", "2")
		if got := oursIn(x.MergeHeld(conversation("a", "call_Zz9xY8wV7uT6", heldArgs), anyTool)); len(got) > 0 || missing(x) != 1 {
			t.Errorf("put back %q, told of %d", got, missing(x))
		}
	})
	t.Run("more at once than are kept", func(t *testing.T) {
		h := holder(t, nil)
		id := func(i int) string { return fmt.Sprintf("call_Ab3dE5fG7hI%d", i) }
		for i := range mostAlike + 1 {
			h.of("me", fmt.Sprint(i)).keepTurn(heldFor(id(i), id(i)))
		}
		for i := range mostAlike + 1 {
			x := h.of("me", "x")
			got := oursIn(x.MergeHeld(conversation("a", id(i), heldArgs), anyTool))
			if own := slices.Equal(got, []string{id(i)}); own != (i > 0) || !own && len(got) > 0 || (missing(x) == 0) != own {
				t.Errorf("%d: put back %q, told of %d", i, got, missing(x))
			}
		}
	})
	t.Run("the question became that of another", func(t *testing.T) {
		h := holder(t, nil)
		h.of("me", "1").keepTurn(heldFor("call_Ab3dE5fG7hI9", "of another"))
		h.of("me", "2").keepTurn(heldBehind("a [12:00]", "call_Zz9xY8wV7uT6", "own"))
		x := h.of("me", "3")
		if got := oursIn(x.MergeHeld(conversation("a", "call_Zz9xY8wV7uT6", heldArgs), anyTool)); !slices.Equal(got, []string{"own"}) || missing(x) != 0 {
			t.Errorf("put back %q, told of %d", got, missing(x))
		}
	})
	t.Run("a counted id became that of another", func(t *testing.T) { // its turn would fit, but the call has its own
		h := holder(t, nil)
		h.of("me", "1").keepTurn(heldFor("call_1", "of another"))
		h.of("me", "2").keepTurn(heldBehind("a [12:00]", "call_Zz9xY8wV7uT6", "own"))
		if got := oursIn(h.of("me", "3").MergeHeld(conversation("a", "call_Zz9xY8wV7uT6", heldArgs), anyTool)); !slices.Equal(got, []string{"own"}) {
			t.Errorf("put back %q", got)
		}
	})
}

// TestHeldOnce checks that a turn is put back once in a conversation, at its own place, and that similar places cause
// no warning.
func TestHeldOnce(t *testing.T) {
	const drawn1, drawn2 = "call_Ab3dE5fG7hI9", "call_Zz9xY8wV7uT6"
	for name, c := range map[string]struct {
		held []string // ids
		sent []string
		want []string // by place
		lost int
	}{
		"random ids":                  {[]string{drawn2}, []string{drawn1, drawn2}, []string{"", drawn2}, 0},
		"a message twice":             {[]string{drawn1}, []string{drawn1, drawn1}, []string{"", drawn1}, 0},
		"counted ids":                 {[]string{"call_2"}, []string{"call_1", "call_2", "call_3"}, []string{"", "call_2", ""}, 0},
		"two, by their ids":           {[]string{"call_2", "call_1"}, []string{"call_1", "call_2"}, []string{"call_1", "call_2"}, 0},
		"two, of ids that do not say": {[]string{"x", "y"}, []string{"call_7", "call_8"}, []string{"x", "y"}, 0},
		"one of two is not there":     {[]string{drawn1, "call_Qq9xY8wV7uT6"}, []string{drawn1, drawn2}, []string{drawn1, ""}, 1},
	} {
		h := holder(t, nil)
		for i, id := range c.held {
			h.of("me", fmt.Sprint(i)).keepTurn(heldFor(id, id))
		}
		var asked []llm.Message
		for _, id := range c.sent {
			asked = append(asked, conversation("a", id, heldArgs)...)
		}
		x := h.of("me", "x")
		got := make([]string, len(c.sent))
		place := -1
		for _, m := range x.MergeHeld(asked, anyTool) {
			if m.Role == llm.RoleUser {
				place++
			}
			if own := oursIn([]llm.Message{m}); len(own) > 0 {
				got[place] += strings.Join(own, ",")
			}
		}
		if !slices.Equal(got, c.want) || missing(x) != c.lost {
			t.Errorf("%s: %q, want %q; told of %d", name, got, c.want, missing(x))
		}
	}
}

// TestHeldMoreThanAreKept checks that the client is warned if a question is asked so often that the oldest turns are
// dropped, and ids do not distinguish them.
func TestHeldMoreThanAreKept(t *testing.T) {
	h := holder(t, nil)
	var asked []llm.Message
	for i := range mostAlike + 2 {
		question, calls, turn := heldFor("call_1", fmt.Sprint(i))
		asked = append(asked, conversation("a", "call_1", heldArgs)...)
		turn.Before = sentIn(asked...)
		h.of("me", fmt.Sprint(i)).keepTurn(question, calls, turn)
	}
	x := h.of("me", "x")
	if got := oursIn(x.MergeHeld(asked, anyTool)); len(got) != mostAlike || got[0] != "2" || missing(x) != 2 {
		t.Errorf("put back %q, told of %d", got, missing(x))
	}
}

// TestHeldWork checks that the restored data and the work are limited, however often a conversation has the question
// and call of a turn.
func TestHeldWork(t *testing.T) {
	h := holder(t, nil)
	const size = 1 << 20
	for i := range mostAlike {
		h.of("me", fmt.Sprint(i)).keepTurn(heldFor(fmt.Sprint("call_Ab3dE5fG7hI", i), strings.Repeat("x", size/2)))
	}
	for _, id := range []string{"call_Zz9xY8wV%06d", "c%d"} {
		var asked []llm.Message
		for i := range 3000 {
			asked = append(asked, conversation("a", fmt.Sprintf(id, i), heldArgs)...)
		}
		begin := time.Now()
		got := h.of("me", "x").MergeHeld(asked, anyTool)
		if took := time.Since(begin); took > 10*time.Second { // it was minutes
			t.Errorf("%s: %s", id, took)
		}
		if n := len(strings.Join(oursIn(got), "")); n > mostAlike*size {
			t.Errorf("%s: %d bytes are put back", id, n)
		}
	}
}

// TestHeldTooMuch checks that the newest turns are put back if not all fit into a conversation, and that the client is
// warned about the rest.
func TestHeldTooMuch(t *testing.T) {
	h := holder(t, nil)
	var asked []llm.Message
	for i := range 3 {
		id := fmt.Sprint("call_Ab3dE5fG7hI", i)
		h.of("me", id).keepTurn(heldBehind(id, id, strings.Repeat(fmt.Sprint(i), 3<<20+1<<19)))
		asked = append(asked, conversation(id, id, heldArgs)...)
	}
	x := h.of("me", "x")
	if got := oursIn(x.MergeHeld(asked, anyTool)); len(got) != 2 || got[0][0] != '1' || got[1][0] != '2' || missing(x) != 1 {
		t.Errorf("%d turns are put back, told of %d", len(got), missing(x))
	}
}

// TestHeldWithoutIDs checks formats in which calls need no ids: turns are put back only if question and call are
// unchanged, and the client is warned of turns that may be missing.
func TestHeldWithoutIDs(t *testing.T) {
	for name, c := range map[string]struct {
		held, question, id, args string
		merged                   bool
		lost                     int
	}{
		"as it was":             {"call_Ab3dE5fG7hI9", "a", "call_3", heldArgs, true, 0},
		"changed":               {"call_Ab3dE5fG7hI9", "b", "call_3", heldArgs, false, 1},
		"changed, counted":      {"call_1", "b", "call_3", heldArgs, false, 1},
		"changed, with the id":  {"call_Ab3dE5fG7hI9", "b", "call_Ab3dE5fG7hI9", heldArgs, true, 0},
		"changed, with another": {"call_Ab3dE5fG7hI9", "b", "call_Zz9xY8wV7uT6", heldArgs, false, 0},
		"another call":          {"call_Ab3dE5fG7hI9", "b", "call_3", `{"a":2}`, false, 0},
	} {
		h := holder(t, nil)
		of := func(id string) *Scope {
			x := h.at("/api/chat", "me", id)
			if x.Codec.Format != wire.Ollama {
				t.Fatalf("the format is %q", x.Codec.Format)
			}
			return x
		}
		of("1").keepTurn(heldFor(c.held, "found"))
		x := of("2")
		if got := oursIn(x.MergeHeld(conversation(c.question, c.id, c.args), anyTool)); (len(got) == 1) != c.merged || missing(x) != c.lost {
			t.Errorf("%s: put back %q, told of %d", name, got, missing(x))
		}
	}
}

// TestHeldEntries checks that a turn uses few store entries, whatever calls it has, because all teams share them.
func TestHeldEntries(t *testing.T) {
	h := holder(t, nil)
	var calls []llm.Call
	for i := range 20 {
		calls = append(calls, llm.Call{ID: fmt.Sprintf("call_Ab3dE5fG7h%02d", i), Name: "theirs"})
	}
	for _, path := range []string{"/v1/chat/completions", "/api/chat"} { // clients of the second may omit ids
		kept, err := h.at(path, "me", "1").keptTurn(questionOf("a"), calls, heldTurn{})
		if err != nil || len(kept) != 1+maxLinks {
			t.Errorf("%s: %d entries for a turn: %v", path, len(kept), err)
		}
	}
}

// TestHeldOfOtherHistories checks that a turn with counted ids is put back only after its own history. The same
// question and call of another conversation must not get its results.
func TestHeldOfOtherHistories(t *testing.T) {
	h := holder(t, nil)
	history := func(first string) []llm.Message {
		return append([]llm.Message{llm.User(first), {Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: "Yes?"}}}}, conversation("a", "call_1", heldArgs)...)
	}
	question, calls, turn := heldFor("call_1", "of the first")
	turn.Before = sentIn(history("one")[:3]...)
	h.of("me", "1").keepTurn(question, calls, turn)
	for first, want := range map[string][]string{"one": {"of the first"}, "two": nil} {
		x := h.of("me", "2")
		if got := oursIn(x.MergeHeld(history(first), anyTool)); !slices.Equal(got, want) || (missing(x) > 0) != (want == nil) {
			t.Errorf("%s: put back %q, told of %d", first, got, missing(x))
		}
	}
}

// TestHeldOfChangedConversations checks that a turn is found by the ids of its calls if the client changed its
// question. If these ids may belong to another conversation, or the calls were changed too, the client and the log get
// a warning. Other clients do not.
func TestHeldOfChangedConversations(t *testing.T) {
	const vendors, counted = "call_Ab3dE5fG7hI9", "call_1"
	const args = `{"a":1,"b":2}`
	call := func(id, args string) llm.Call { return llm.Call{ID: id, Name: "theirs", Args: []byte(args)} }
	for name, c := range map[string]struct {
		held, owner string
		asked       []llm.Message
		merged      bool
		warned      bool
	}{
		"as it was":                 {vendors, "me", conversation("a", vendors, args), true, false},
		"as it was, counted":        {counted, "me", conversation("a", counted, args), true, false},
		"changed":                   {vendors, "me", conversation("b", vendors, args), true, false},
		"changed, counted":          {counted, "me", conversation("b", counted, args), false, true},
		"left out":                  {vendors, "me", conversation("b", vendors, args)[1:], true, false},
		"more was said":             {vendors, "me", append([]llm.Message{llm.User("now it is noon")}, conversation("a", vendors, args)...), true, false},
		"other arguments":           {vendors, "me", conversation("b", vendors, `{"a":2}`), false, true},
		"other arguments, the same": {vendors, "me", conversation("a", vendors, `{"a":2}`), false, true},
		"a call more":               {vendors, "me", []llm.Message{llm.User("a"), llm.Assistant(call(vendors, args), call("call_Zz3dE5fG7hI9", args))}, false, true},
		"another's":                 {vendors, "you", conversation("b", vendors, args), false, false},
		"another call":              {vendors, "me", conversation("b", "call_Zz3dE5fG7hI9", args), false, false},
		"another call, counted":     {counted, "me", conversation("b", counted, `{"a":2}`), false, false},
	} {
		var log bytes.Buffer
		h := holder(t, nil)
		h.of("me", "1").keepTurn(heldFor(c.held, "found"))
		x := h.of(c.owner, "2")
		x.Log = slog.New(slog.NewTextHandler(&log, nil))
		id := c.asked[len(c.asked)-1].Calls()[0].ID
		got := x.MergeHeld(append(c.asked, llm.Results(llm.Result{CallID: id, Name: "theirs"})), anyTool)
		if merged := len(got) == len(c.asked)+3; merged != c.merged {
			t.Errorf("%s: merged %v: %+v", name, merged, got)
		}
		header := strings.Contains(strings.Join(x.W.Header()[exchange.WarningHeader], "\n"), "may be missing in 1 turns")
		if logged := strings.Contains(log.String(), "are not put back"); header != c.warned || logged != c.warned {
			t.Errorf("%s: told the client %v and the log %v", name, header, logged)
		}
	}
}

// TestHeldOfChangedConversationsAlike checks that two turns with the same call are found by their own ids.
func TestHeldOfChangedConversationsAlike(t *testing.T) {
	h := holder(t, nil)
	ids := []string{"call_Ab3dE5fG7hI9", "toolu_01AbCdEfGhIjKl"}
	for _, id := range ids {
		h.of("me", id).keepTurn(heldFor(id, "found "+id))
	}
	for _, id := range ids {
		got := h.of("me", "3").MergeHeld(conversation("b", id, `{"a":1,"b":2}`), anyTool)
		text := ""
		for _, m := range got {
			for _, p := range m.Parts {
				if r, ok := p.(llm.Result); ok {
					text += r.Text() + ";"
				}
			}
		}
		if want := strings.Repeat("found "+id+";", 2); text != want {
			t.Errorf("%s: the results are %q", id, text)
		}
	}
}

// TestHeldOfChangedConversationsTwice checks two turns of one conversation with the same question and call: each is put
// back at its own place, even if both questions were changed.
func TestHeldOfChangedConversationsTwice(t *testing.T) {
	h := holder(t, nil)
	ids := []string{"call_Ab3dE5fG7hI9", "toolu_01AbCdEfGhIjKl"}
	var asked []llm.Message
	for _, id := range ids {
		h.of("me", id).keepTurn(heldFor(id, "found "+id))
		asked = append(append(asked, conversation("b", id, `{"a":1,"b":2}`)...), llm.Results(llm.Result{CallID: id, Name: "theirs"}))
	}
	for range 20 {
		var found []string
		for _, m := range h.of("me", "3").MergeHeld(asked, anyTool) {
			for _, p := range m.Parts {
				if r, ok := p.(llm.Result); ok && r.Name == "ours" {
					found = append(found, strings.TrimPrefix(r.Text(), "found "))
				}
			}
		}
		if want := []string{ids[0], ids[0], ids[1], ids[1]}; !slices.Equal(found, want) {
			t.Fatalf("the results are of %q, not %q", found, want)
		}
	}
}

// TestHeldLinks checks that a call with a counted id links to a turn only together with its name and arguments, and
// that calls of the gateway do not link to it.
func TestHeldLinks(t *testing.T) {
	x := holder(t, nil).of("me", "1")
	if x.callKey(llm.Call{ID: "call_1", Name: "a"}) == x.callKey(llm.Call{ID: "call_1", Name: "b"}) {
		t.Error("two calls of a counted id have one link")
	}
	if kept, err := x.keptTurn(heldFor("c1", "x")); err != nil || len(kept) != 2 {
		t.Errorf("%d entries for a turn with one call of the client: %v", len(kept), err)
	}
}
