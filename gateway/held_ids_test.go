package gateway

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/llm"
)

// TestHeldOfChangedConversations: where a client changes what it asked before it sends its results, what is held is found by the ids of its
// calls. Where these may be another conversation's, or the calls were changed too, the client and the log are told of the loss. Others hear nothing.
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
		x.settings.Log = slog.New(slog.NewTextHandler(&log, nil))
		id := c.asked[len(c.asked)-1].Calls()[0].ID
		got := x.merge(append(c.asked, llm.Results(llm.Result{CallID: id, Name: "theirs"})), anyTool)
		if merged := len(got) == len(c.asked)+3; merged != c.merged {
			t.Errorf("%s: merged %v: %+v", name, merged, got)
		}
		header := strings.Contains(strings.Join(x.w.Header()[WarningHeader], "\n"), "may be missing in 1 turns")
		if logged := strings.Contains(log.String(), "are not put back"); header != c.warned || logged != c.warned {
			t.Errorf("%s: told the client %v and the log %v", name, header, logged)
		}
	}
}

// TestHeldOfChangedConversationsAlike: of two turns with the same call each is found by its own id.
func TestHeldOfChangedConversationsAlike(t *testing.T) {
	h := holder(t, nil)
	ids := []string{"call_Ab3dE5fG7hI9", "toolu_01AbCdEfGhIjKl"}
	for _, id := range ids {
		h.of("me", id).keepTurn(heldFor(id, "found "+id))
	}
	for _, id := range ids {
		got := h.of("me", "3").merge(conversation("b", id, `{"a":1,"b":2}`), anyTool)
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

// TestHeldOfChangedConversationsTwice: of two turns of one conversation with the same question and call, each is put back at its own place, where both
// questions were changed.
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
		for _, m := range h.of("me", "3").merge(asked, anyTool) {
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

// TestHeldLinks: a call with a counted id leads to a turn only together with its name and arguments, and calls of the gateway do not lead there.
func TestHeldLinks(t *testing.T) {
	if linkKey(llm.Call{ID: "call_1", Name: "a"}) == linkKey(llm.Call{ID: "call_1", Name: "b"}) {
		t.Error("two calls of a counted id have one link")
	}
	if _, turn := heldFor("c1", "x"); len(turn.links(state.Kept{}, false)) != 1 {
		t.Error("the calls of the gateway lead to a turn, too")
	}
}
