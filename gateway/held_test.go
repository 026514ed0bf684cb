package gateway

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/llm"
)

// conversation is a question and an answer that calls a tool of the client.
func conversation(question, call string) []llm.Message {
	return []llm.Message{llm.User(question), llm.Assistant(llm.Call{ID: call, Name: "theirs", Args: []byte("{}")})}
}

func heldFor(call, text string) heldTurn {
	said := llm.Assistant(llm.Call{ID: "own", Name: "ours", Args: []byte("{}")}, llm.Call{ID: call, Name: "theirs", Args: []byte("{}")})
	return heldTurn{messages: []llm.Message{said}, calls: []string{call}, until: time.Now().Add(time.Hour),
		results: []llm.Result{{CallID: "own", Name: "ours", Parts: []llm.Part{llm.Text{Text: text}}}}}
}

// TestHeldTurns: what is held is found by its owner, by the call and by what it answers, until its
// time is over, and only where the message has the calls that it had.
func TestHeldTurns(t *testing.T) {
	var h heldTurns
	asked := conversation("a", "c1")
	key := heldKey{"me", "c1", askedBefore(asked[:1])}
	if !h.keep(key, heldFor("c1", "found")) {
		t.Fatal("not kept")
	}
	more := append(asked, llm.Results(llm.Result{CallID: "c1", Name: "theirs"}))
	for _, c := range []struct {
		why, owner string
		messages   []llm.Message
		parts      int // of the last message
	}{
		{"as it was", "me", more, 2},
		{"of another", "you", more, 1},
		{"another question", "me", append(conversation("b", "c1"), more[2]), 1},
		{"another call", "me", append(conversation("a", "c2"), more[2]), 1},
		{"a call more", "me", []llm.Message{asked[0], llm.Assistant(append(asked[1].Parts, llm.Call{ID: "c2", Name: "theirs"})...), more[2]}, 1},
		{"without results", "me", asked, 1},
	} {
		got := h.merge(c.owner, c.messages)
		if last := got[len(got)-1]; len(last.Parts) != c.parts {
			t.Errorf("%s: %+v", c.why, got)
		}
	}
	if len(more) != 3 || len(more[2].Parts) != 1 {
		t.Error("the conversation was changed")
	}
	late := heldFor("c1", "found")
	late.until = time.Now()
	h.keep(key, late)
	if got := h.merge("me", more); len(got[2].Parts) != 1 {
		t.Errorf("what is over is found: %+v", got)
	}
}

// TestHeldBounds: one owner's turns push out no others', and one that is too long is not kept.
func TestHeldBounds(t *testing.T) {
	var h heldTurns
	mine := heldKey{"me", "c1", askedBefore(conversation("a", "c1")[:1])}
	h.keep(mine, heldFor("c1", "found"))
	long := strings.Repeat("x", 1<<20)
	for i := range 40 {
		h.keep(heldKey{"you", fmt.Sprint("c", i), mine.asked}, heldFor(fmt.Sprint("c", i), long))
	}
	if h.sizes["you"] > maxHeldOwner || h.size != h.sizes["you"]+h.sizes["me"] || len(h.kept) != len(h.order) {
		t.Errorf("%v, %d in all, %d kept, %d in order", h.sizes, h.size, len(h.kept), len(h.order))
	}
	if _, ok := h.kept[mine]; !ok {
		t.Error("another's turn was forgotten")
	}
	if _, ok := h.kept[heldKey{"you", "c39", mine.asked}]; !ok {
		t.Error("the newest is gone")
	}
	if h.keep(heldKey{"you", "d", mine.asked}, heldFor("d", strings.Repeat("x", maxHeldOwner))) {
		t.Error("a turn that is too long is kept")
	}
	for i := range maxHeld + 10 {
		h.keep(heldKey{fmt.Sprint("o", i%50), fmt.Sprint(i), mine.asked}, heldFor(fmt.Sprint(i), "x"))
	}
	if len(h.order) > maxHeld {
		t.Errorf("%d are kept", len(h.order))
	}
}
