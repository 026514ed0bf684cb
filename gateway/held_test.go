package gateway

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/llm"
)

// conversation is a question and an answer that calls a tool of the client.
func conversation(question, call, args string) []llm.Message {
	return []llm.Message{llm.User(question), llm.Assistant(llm.Call{ID: call, Name: "theirs", Args: []byte(args)})}
}

// heldFor is a turn in which the gateway ran a call, then another beside one of the client's.
func heldFor(call, text string) (heldKey, heldTurn) {
	own := func(id string) llm.Call { return llm.Call{ID: id, Name: "ours", Args: []byte("{}")} }
	result := func(id string) llm.Result {
		return llm.Result{CallID: id, Name: "ours", Parts: []llm.Part{llm.Text{Text: text}}}
	}
	theirs := llm.Call{ID: call, Name: "theirs", Args: []byte(`{"a":1,"b":2}`)}
	t := heldTurn{until: time.Now().Add(time.Hour), results: []llm.Result{result("own2")}, messages: []llm.Message{
		llm.Assistant(own("own1")), llm.Results(result("own1")), llm.Assistant(own("own2"), theirs)}}
	key := heldKey{owner: "me", asked: askedBefore([]llm.Message{llm.User("a")})}
	key.calls, t.ids = callsOf([]llm.Call{theirs})
	return key, t
}

func anyTool(string) bool { return true }

// TestHeldTurns: what is held is found by its owner, by the calls and by what they answer, until its
// time is over; ids may be others.
func TestHeldTurns(t *testing.T) {
	var h heldTurns
	if !h.keep(heldFor("c1", "found")) {
		t.Fatal("not kept")
	}
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
		got := h.merge(c.owner, c.messages, anyTool)
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
	key, late := heldFor("c1", "found")
	late.until = time.Now()
	var over heldTurns
	over.keep(key, late)
	if got := over.merge("me", full, anyTool); len(got) != 3 {
		t.Errorf("what is over is found: %+v", got)
	}
}

// TestHeldIDs: no two calls of a conversation have one id, whatever ids the client has for its own.
func TestHeldIDs(t *testing.T) {
	for _, id := range []string{"own1", "own2", "c1"} {
		var h heldTurns
		h.keep(heldFor("c1", "found"))
		got := h.merge("me", append(conversation("a", id, `{"a":1,"b":2}`), llm.Results(llm.Result{CallID: id, Name: "theirs"})), anyTool)
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
	var h heldTurns
	for i, c := range []string{"c1", "c2"} {
		key, turn := heldFor(c, "found "+c)
		turn.before = saidBefore([]llm.Message{llm.User(fmt.Sprint(i)), llm.User("a")})
		h.keep(key, turn)
	}
	for i, id := range []string{"c1", "c2"} {
		for _, sent := range []string{id, "call_9"} { // by the id of the call, or by what was said before
			asked := []llm.Message{llm.User(fmt.Sprint(i)), llm.Assistant(llm.Text{Text: "?"})}
			got := h.merge("me", append(asked, conversation("a", sent, `{"a":1,"b":2}`)...), anyTool)
			if !strings.Contains(fmt.Sprint(got), "found "+id) {
				t.Errorf("%s as %s: %+v", id, sent, got)
			}
		}
	}
}

// TestHeldBounds: one owner's turns push out no others', and one that is too long is not kept.
func TestHeldBounds(t *testing.T) {
	var h heldTurns
	mine, turn := heldFor("c1", "found")
	h.keep(mine, turn)
	yours := mine
	yours.owner = "you"
	_, long := heldFor("c", strings.Repeat("x", 1<<20))
	for i := range 40 {
		yours.asked[0] = byte(i)
		h.keep(yours, long)
	}
	if h.sizes["you"] > maxHeldOwner || h.size != h.sizes["you"]+h.sizes["me"] {
		t.Errorf("%v, %d in all", h.sizes, h.size)
	}
	if h.kept[mine] == nil || h.kept[yours] == nil {
		t.Error("another's turn was forgotten, or the newest")
	}
	for range 2 * maxAlike {
		h.keep(mine, turn)
	}
	if n := len(h.kept[mine]); n != maxAlike {
		t.Errorf("%d turns of one kind are held", n)
	}
	_, tooLong := heldFor("d", strings.Repeat("x", maxHeldOwner))
	if h.keep(mine, tooLong) {
		t.Error("a turn that is too long is kept")
	}
	for i := range maxHeld + 10 {
		key := mine
		key.owner, key.asked[0], key.asked[1] = fmt.Sprint("o", i%50), byte(i), byte(i>>8)
		h.keep(key, turn)
	}
	if n := len(h.order); n > maxHeld {
		t.Errorf("%d are kept", n)
	}
}
