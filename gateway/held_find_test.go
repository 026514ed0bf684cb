package gateway

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// oursIn returns what the gateway's tools returned, in a conversation, each of the two results of a turn of heldFor once.
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

// missing returns how many turns a client is told that results may be missing in.
func missing(x *exchange) (turns int) {
	for _, text := range x.w.Header()[WarningHeader] {
		if _, rest, ok := strings.Cut(text, "missing in "); ok {
			_, _ = fmt.Sscanf(rest, "%d turns", &turns)
		}
	}
	return turns
}

const heldArgs = `{"a":1,"b":2}`

// heldBehind is heldFor behind another question.
func heldBehind(question, call, text string) (state.Hash, heldTurn) {
	_, turn := heldFor(call, text)
	hash, _ := callsOf(turn.theirs())
	return heldKey(askedBefore([]llm.Message{llm.User(question)}), hash), turn
}

// TestHeldOfOtherConversations: what is held for a call with a random id is never put back at another call with one, though question and arguments are the
// same; each call gets its own, or the client is told.
func TestHeldOfOtherConversations(t *testing.T) {
	t.Run("nothing was run", func(t *testing.T) {
		h := holder(t, nil)
		h.of("me", "1").keepTurn(heldFor("call_Ab3dE5fG7hI9", "of another"))
		x := h.of("me", "2")
		if got := oursIn(x.merge(conversation("a", "call_Zz9xY8wV7uT6", heldArgs), anyTool)); len(got) > 0 || missing(x) != 1 {
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
			got := oursIn(x.merge(conversation("a", id(i), heldArgs), anyTool))
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
		if got := oursIn(x.merge(conversation("a", "call_Zz9xY8wV7uT6", heldArgs), anyTool)); !slices.Equal(got, []string{"own"}) || missing(x) != 0 {
			t.Errorf("put back %q, told of %d", got, missing(x))
		}
	})
	t.Run("a counted id became that of another", func(t *testing.T) { // its turn would fit, but the call has one of its own
		h := holder(t, nil)
		h.of("me", "1").keepTurn(heldFor("call_1", "of another"))
		h.of("me", "2").keepTurn(heldBehind("a [12:00]", "call_Zz9xY8wV7uT6", "own"))
		if got := oursIn(h.of("me", "3").merge(conversation("a", "call_Zz9xY8wV7uT6", heldArgs), anyTool)); !slices.Equal(got, []string{"own"}) {
			t.Errorf("put back %q", got)
		}
	})
}

// TestHeldOnce: a turn is put back once in a conversation, at its own place, and nobody is told of places that only look like it.
func TestHeldOnce(t *testing.T) {
	const drawn1, drawn2 = "call_Ab3dE5fG7hI9", "call_Zz9xY8wV7uT6"
	for name, c := range map[string]struct {
		held []string // ids
		sent []string
		want []string // by the places
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
		for _, m := range x.merge(asked, anyTool) {
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

// TestHeldMoreThanAreKept: where a question is asked so often that the oldest turns are dropped, and ids do not tell them apart, the client is told.
func TestHeldMoreThanAreKept(t *testing.T) {
	h := holder(t, nil)
	var asked []llm.Message
	for i := range mostAlike + 2 {
		key, turn := heldFor("call_1", fmt.Sprint(i))
		asked = append(asked, conversation("a", "call_1", heldArgs)...)
		turn.Before = saidBefore(asked)
		h.of("me", fmt.Sprint(i)).keepTurn(key, turn)
	}
	x := h.of("me", "x")
	if got := oursIn(x.merge(asked, anyTool)); len(got) != mostAlike || got[0] != "2" || missing(x) != 2 {
		t.Errorf("put back %q, told of %d", got, missing(x))
	}
}

// TestHeldWork: what is put back is bounded, and so is the work, however often a conversation has the question and call of a turn.
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
		got := h.of("me", "x").merge(asked, anyTool)
		if took := time.Since(begin); took > 10*time.Second { // it was minutes
			t.Errorf("%s: %s", id, took)
		}
		if n := len(strings.Join(oursIn(got), "")); n > mostAlike*size {
			t.Errorf("%s: %d bytes are put back", id, n)
		}
	}
}

// TestHeldTooMuch: of more than fits into a conversation the newest is put back, and the client is told of the rest.
func TestHeldTooMuch(t *testing.T) {
	h := holder(t, nil)
	var asked []llm.Message
	for i := range 3 {
		id := fmt.Sprint("call_Ab3dE5fG7hI", i)
		h.of("me", id).keepTurn(heldBehind(id, id, strings.Repeat(fmt.Sprint(i), 3<<20+1<<19)))
		asked = append(asked, conversation(id, id, heldArgs)...)
	}
	x := h.of("me", "x")
	if got := oursIn(x.merge(asked, anyTool)); len(got) != 2 || got[0][0] != '1' || got[1][0] != '2' || missing(x) != 1 {
		t.Errorf("%d turns are put back, told of %d", len(got), missing(x))
	}
}

// TestHeldWithoutIDs: clients of formats in which calls need no ids are told where what is held may be missing; it is put back only where question and call
// are as they were.
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
		of := func(id string) *exchange {
			x := h.begin(httptest.NewRecorder(), httptest.NewRequest("POST", "/api/chat", nil))
			if x.Codec.Format != wire.Ollama {
				t.Fatalf("the format is %q", x.Codec.Format)
			}
			x.owner, x.id = "me", id
			return x
		}
		of("1").keepTurn(heldFor(c.held, "found"))
		x := of("2")
		if got := oursIn(x.merge(conversation(c.question, c.id, c.args), anyTool)); (len(got) == 1) != c.merged || missing(x) != c.lost {
			t.Errorf("%s: put back %q, told of %d", name, got, missing(x))
		}
	}
}

// TestHeldEntries: a turn takes few entries of the store, whatever calls it has: all teams share them.
func TestHeldEntries(t *testing.T) {
	turn := heldTurn{Messages: []llm.Message{{Role: llm.RoleAssistant}}}
	for i := range 20 {
		id := fmt.Sprintf("call_Ab3dE5fG7h%02d", i)
		turn.IDs = append(turn.IDs, id)
		turn.Messages[0].Parts = append(turn.Messages[0].Parts, llm.Call{ID: id, Name: "theirs"})
	}
	for _, optional := range []bool{false, true} {
		if n := len(turn.links(state.Kept{}, optional)); n != maxLinks {
			t.Errorf("%d links lead to a turn", n)
		}
	}
}

// TestHeldOfOtherHistories: with ids that are only counted, a turn is put back behind the history it was held for, and nowhere else: the same question and
// call of another conversation would get what was run for this one.
func TestHeldOfOtherHistories(t *testing.T) {
	h := holder(t, nil)
	history := func(first string) []llm.Message {
		return append([]llm.Message{llm.User(first), {Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: "Yes?"}}}}, conversation("a", "call_1", heldArgs)...)
	}
	key, turn := heldFor("call_1", "of the first")
	turn.Before = saidBefore(history("one")[:3])
	h.of("me", "1").keepTurn(key, turn)
	for first, want := range map[string][]string{"one": {"of the first"}, "two": nil} {
		x := h.of("me", "2")
		if got := oursIn(x.merge(history(first), anyTool)); !slices.Equal(got, want) || (missing(x) > 0) != (want == nil) {
			t.Errorf("%s: put back %q, told of %d", first, got, missing(x))
		}
	}
}
